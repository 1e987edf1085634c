/* compat_parts.c - forms that the bodies of all routes have in common. */
#include <errno.h>

#include "api/compat/compat.h"
#include "base/bytes/base64.h"
#include "base/utf8.h"

struct compat_place compat_place(const char *in, const char *list, size_t i)
{
    struct compat_place p;
    const char *dot = in[0] && list[0] ? "." : "";
    (void)snprintf(p.text, sizeof p.text, "%s%s%s[%zu]", in, dot, list, i);
    return p;
}

int compat_need(const struct json *v, const char *key, const char *where, str *ret, struct err *e)
{
    const struct json *s = json_get(v, key);
    if (!json_is(s, JSON_STRING) || s->s.n == 0)
        return err_set(e, -EINVAL, "%s.%s: expected a string that is not empty", where, key);
    *ret = s->s;
    return 0;
}

/* ---- parts ---- */

static int read_part(struct compat_request *q, struct compat_message *m, const struct json *part,
                     const struct compat_part_type *types, const char *where, struct err *e)
{
    str type = json_get_string(part, "type");
    for (; types->type; types++)
        if (str_eq(type, str_from(types->type)))
            return types->read ? types->read(q, m, part, where, e) : 0;
    return err_set(e, -EINVAL, "%s.type: '%.*s' is not supported here", where,
                   STR_ARG(utf8_truncate(type, 40)));
}

int compat_read_parts(struct compat_request *q, struct compat_message *m,
                      const struct json *content, const struct compat_part_type *types,
                      const char *where, struct err *e)
{
    int r = 0;
    if (!content || content->type == JSON_NULL)
        return 0;
    if (content->type == JSON_STRING)
        return compat_add_text(q, m, content->s, e);
    if (content->type != JSON_ARRAY)
        return err_set(e, -EINVAL, "%s.content: expected a string or an array", where);
    for (size_t i = 0; i < content->len && r == 0; i++)
        r = read_part(q, m, &content->items[i], types, compat_place(where, "content", i).text, e);
    return r;
}

int compat_read_text_part(struct compat_request *q, struct compat_message *m,
                          const struct json *part, const char *where, struct err *e)
{
    const struct json *text = json_get(part, "text");
    if (!json_is(text, JSON_STRING))
        return err_set(e, -EINVAL, "%s.text: expected a string", where);
    return compat_add_text(q, m, text->s, e);
}

int compat_join_text(struct compat_request *q, const struct json *content, const char *where,
                     str *ret, struct err *e)
{
    static const struct compat_part_type NONE[] = {{0}};
    return compat_read_result(q, NULL, content, NONE, where, ret, e);
}

int compat_read_result(struct compat_request *q, struct compat_message *m,
                       const struct json *content, const struct compat_part_type *others,
                       const char *where, str *ret, struct err *e)
{
    *ret = json_string(content, STR_NONE);
    if (!content || content->type == JSON_STRING || content->type == JSON_NULL)
        return 0;
    if (content->type != JSON_ARRAY)
        return err_set(e, -EINVAL, "%s: expected a string or an array", where);
    struct buf b;
    buf_init(&b, 2 * COMPAT_TEXT_MAX);
    int r = 0;
    for (size_t i = 0; i < content->len && r == 0; i++) {
        const struct json *part = &content->items[i], *text = json_get(part, "text");
        if (json_is(text, JSON_STRING))
            buf_printf(&b, "%s%.*s", b.n > 0 ? "\n" : "", STR_ARG(text->s));
        else
            r = read_part(q, m, part, others, compat_place(where, "", i).text, e);
    }
    if (buf_failed(&b) && r == 0)
        r = err_set(e, -EINVAL, "%s: more than %u bytes", where, 2 * COMPAT_TEXT_MAX);
    *ret = buf_keep(&b, q->arena);
    return r;
}

int compat_read_base64(str text, const char *where, struct err *e)
{
    struct buf last;
    size_t end = text.n >= 4 ? text.n - 4 : 0;
    buf_init(&last, 4);
    bool is_valid = text.n >= 4 && text.n % 4 == 0 &&
                    str_is_made_of(str_slice(text, 0, end), "+/") &&
                    base64_decode(&last, str_skip(text, end)) == 0;
    buf_done(&last);
    return is_valid ? 0 : err_set(e, -EINVAL, "%s: the bytes are not valid base64", where);
}

int compat_read_url(str url, const char *where, str name, struct compat_file *ret, struct err *e)
{
    ptrdiff_t comma = str_find(url, STR(","), 0);
    str head = comma < 0 ? STR_NONE : str_slice(url, 0, (size_t)comma);
    if (!str_starts_nocase(url, STR("data:")))
        return err_set(e, -EINVAL,
                       "%s: nb does not fetch addresses. Send the bytes as a data: URL, or upload "
                       "the file (POST /v1/files) and send its id.",
                       where);
    if (!str_ends(head, STR(";base64")) || (size_t)comma + 1 == url.n)
        return err_set(e, -EINVAL, "%s: expected data:<type>;base64,<bytes>", where);
    *ret = (struct compat_file){.base64 = str_skip(url, (size_t)comma + 1), .name = name};
    return compat_read_base64(ret->base64, where, e);
}

int compat_read_file(struct compat_request *q, struct compat_message *m, const char *where, str id,
                     str url, str name, struct err *e)
{
    struct compat_file f = {.id = id};
    str shown = name.n > 0 ? name : STR("file");
    int r = id.n > 0 ? 0 : compat_read_url(url, where, shown, &f, e);
    return r < 0 ? r : compat_add_file(q, m, f, e);
}

/* ---- parameters ---- */

bool compat_is_absent(const struct json *v)
{
    if (v->type == JSON_ARRAY || v->type == JSON_OBJECT)
        return v->len == 0;
    return v->type == JSON_NULL || (v->type == JSON_BOOL && !v->boolean);
}

int compat_refuse(const struct json *body, const struct compat_refusal *rows, struct err *e)
{
    for (; rows->key; rows++) {
        const struct json *v = json_get(body, rows->key);
        if (v && v->type != JSON_NULL && !rows->is_harmless(v))
            return err_set(e, -EINVAL, "%s: %s", rows->key, rows->why);
    }
    return 0;
}

int compat_read_choice(struct compat_request *q, const struct json *choice, struct err *e)
{
    str name = json_is(choice, JSON_OBJECT) ? json_get_string(choice, "type")
                                            : json_string(choice, STR_NONE);
    if (!choice || choice->type == JSON_NULL || str_eq(name, STR("auto")))
        return 0;
    if (!str_eq(name, STR("none")))
        return err_set(e, -EINVAL,
                       "tool_choice: nb supports \"auto\" and \"none\"; it cannot force a call");
    q->is_toolless = true;
    return 0;
}

#define ONLY_JSON "Answer with one JSON object and nothing else: no text around it, no code fence."

/* The model is told; nb does not check its answer. */
int compat_read_format(struct compat_request *q, const struct json *format, const char *where,
                       struct err *e)
{
    str type = json_get_string(format, "type");
    const struct json *named = json_get(format, "json_schema"); /* chat completions nest it */
    const struct json *schema = json_get(named ? named : format, "schema");
    if (!format || format->type == JSON_NULL || str_eq(type, STR("text")))
        return 0;
    bool has_schema = str_eq(type, STR("json_schema"));
    if (!has_schema && !str_eq(type, STR("json_object")))
        return err_set(e, -EINVAL, "%s.type: expected text, json_object or json_schema", where);
    if (has_schema && !json_is(schema, JSON_OBJECT))
        return err_set(e, -EINVAL, "%s: expected a schema", where);
    str text = has_schema ? json_to_str(q->arena, schema) : STR_NONE;
    if (text.n > COMPAT_SCHEMA_MAX)
        return err_set(e, -EINVAL, "%s: the schema has more than %u bytes", where,
                       COMPAT_SCHEMA_MAX);
    compat_instruct(q, STR(ONLY_JSON));
    if (has_schema)
        compat_instruct(
            q, arena_printf(q->arena, "It must match this JSON Schema:\n%.*s", STR_ARG(text)));
    return 0;
}
