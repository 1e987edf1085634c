#include "cli/permit.h"

#include <assert.h>

#include "cli/styled.h"
#include "cli/text.h"
#include "runtime/runtime.h"

#define INPUT_MAX (64u * 1024)

void permit_init(struct permit *p, const struct json *ask)
{
    *p = (struct permit){0};
    arena_init(&p->arena);
    const struct json *copy = json_clone(&p->arena, ask), *calls = json_get(copy, "calls");
    p->ask_id = json_get_string(copy, "askId");
    p->calls = json_is(calls, JSON_ARRAY) ? calls : json_new(&p->arena, JSON_ARRAY);
    p->decisions = json_new(&p->arena, JSON_OBJECT);
}

void permit_done(struct permit *p)
{
    arena_done(&p->arena);
}

bool permit_is_complete(const struct permit *p)
{
    return p->at == p->calls->len;
}

str permit_tool(const struct permit *p)
{
    return json_get_string(json_at(p->calls, p->at), "name");
}

void permit_add_question(const struct permit *p, struct buf *out, size_t width, bool has_color)
{
    const struct json *call = json_at(p->calls, p->at), *input = json_get(call, "input");
    str choice = json_get_bool(call, "canRemember", true) ? STR("? [y]es / [N]o / [a]lways ")
                                                          : STR("? [y]es / [N]o ");
    struct buf raw, safe, name, clipped;
    buf_init(&raw, INPUT_MAX);
    buf_init(&safe, 4 * INPUT_MAX);
    buf_init(&name, INPUT_MAX);
    buf_init(&clipped, 4 * INPUT_MAX);
    if (input)
        (void)json_write(&raw, input);
    text_add_line(&safe, buf_str(&raw));
    text_add_line(&name, permit_tool(p));
    size_t used = strlen("Allow  ") + text_width(buf_str(&name)) + choice.n;
    text_clip(&clipped, buf_str(&safe), width > used ? width - used : 0);
    buf_add_lit(out, "Allow ");
    style_add(out, has_color, STYLE_BOLD, buf_str(&name));
    buf_add_char(out, ' ');
    style_add(out, has_color, STYLE_DIM, buf_str(&clipped));
    buf_add_str(out, choice);
    buf_done(&raw);
    buf_done(&safe);
    buf_done(&name);
    buf_done(&clipped);
}

enum permit_answer permit_of_key(char key)
{
    switch (key) {
    case 'y':
    case 'Y':
        return PERMIT_YES;
    case 'n':
    case 'N':
    case '\r':
    case '\n':
        return PERMIT_NO;
    case 'a':
    case 'A':
        return PERMIT_ALWAYS;
    default:
        return PERMIT_UNCLEAR;
    }
}

void permit_decide(struct permit *p, enum permit_answer answer)
{
    assert(!permit_is_complete(p) && answer != PERMIT_UNCLEAR);
    str id = json_get_string(json_at(p->calls, p->at), "id");
    struct json v =
        answer == PERMIT_ALWAYS ? json_of_str(STR("always")) : json_of_bool(answer == PERMIT_YES);
    json_set(&p->arena, p->decisions, id, v);
    p->at++;
}

size_t permit_refused(const struct json *report, str *ret, size_t max)
{
    const struct json *calls = json_get(report, "toolCalls");
    size_t n = 0;
    for (size_t i = 0; json_is(calls, JSON_ARRAY) && i < calls->len && n < max; i++) {
        const struct json *call = json_at(calls, i);
        str name = json_get_string(call, "name");
        bool is_known = false;
        if (str_find(json_get_string(call, "output"), STR(TURN_NOBODY_TO_ASK), 0) < 0)
            continue;
        for (size_t k = 0; k < n; k++)
            is_known = is_known || str_eq(ret[k], name);
        if (!is_known)
            ret[n++] = name;
    }
    return n;
}
