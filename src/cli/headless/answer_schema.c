#include "cli/headless/answer_schema.h"

#include <errno.h>

#include "base/schema/schema.h"
#include "os/file.h"

#define FENCE "```"

int answer_schema_open(struct answer_schema *s, const char *path, struct err *e)
{
    str text;
    struct json *schema;
    *s = (struct answer_schema){0};
    arena_init(&s->arena);
    int r = file_read(&s->arena, path, ANSWER_SCHEMA_MAX, &text, e);
    if (r == 0)
        r = json_parse(&s->arena, text, 0, &schema, e);
    if (r == 0 && !json_is(schema, JSON_OBJECT))
        r = err_set(e, -EINVAL, "a JSON Schema is an object");
    if (r < 0) {
        err_prefix(e, "%s", path);
        answer_schema_done(s);
        return r;
    }
    s->schema = schema;
    s->text = json_to_str(&s->arena, schema);
    return 0;
}

void answer_schema_done(struct answer_schema *s)
{
    arena_done(&s->arena);
}

void answer_schema_ask(const struct answer_schema *s, str message, struct buf *out)
{
    buf_printf(out,
               "%.*s\n\nAnswer with one JSON value that fits this JSON Schema, and with nothing "
               "else:\n%.*s",
               STR_ARG(message), STR_ARG(s->text));
}

void answer_schema_again(const char *reason, struct buf *out)
{
    buf_printf(out,
               "Your answer does not fit the JSON Schema: %s. Answer again, with the JSON value "
               "and nothing else.",
               reason);
}

/* What is between the last two fences; the text itself if there are none. */
static str without_fence(str text)
{
    text = str_trim(text);
    if (!str_ends(text, STR(FENCE)))
        return text;
    str inside = str_make(text.p, text.n - strlen(FENCE));
    ptrdiff_t at = -1, next = -1;
    while ((next = str_find(inside, STR(FENCE), (size_t)(next + 1))) >= 0)
        at = next;
    if (at < 0)
        return text;
    str block = str_skip(inside, (size_t)at), info;
    return str_split(&block, '\n', &info) ? str_trim(block) : text;
}

int answer_schema_check(const struct answer_schema *s, struct arena *a, str answer,
                        struct json **ret, struct err *e)
{
    struct err why = {0};
    if (json_parse(a, without_fence(answer), JSON_COPY, ret, &why) < 0)
        return err_set(e, -EINVAL, "it is not JSON (%s)", why.msg);
    return schema_validate(s->schema, *ret, "answer", e);
}
