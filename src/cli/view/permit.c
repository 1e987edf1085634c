#include "cli/view/permit.h"

#include <assert.h>

#include "base/utf8.h"
#include "cli/term/styled.h"
#include "cli/term/text.h"
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
    assert(!permit_is_complete(p));
    return json_get_string(json_at(p->calls, p->at), "name");
}

static str choice_of(const struct permit *p)
{
    return json_get_bool(json_at(p->calls, p->at), "canRemember", true)
               ? STR("? [y]es / [N]o / [a]lways ")
               : STR("? [y]es / [N]o ");
}

static bool has_lines(const struct json *input)
{
    for (size_t i = 0; json_is(input, JSON_OBJECT) && i < input->len; i++)
        if (str_find_char(json_string(&input->members[i].value, STR_NONE), '\n') >= 0)
            return true;
    return false;
}

bool permit_is_shell(str tool)
{
    return str_starts(tool, STR("bash__"));
}

/* " in /home/me/project", or nothing when the tool does not run commands. */
static void add_directory(const struct permit *p, struct buf *out)
{
    str own = json_get_string(json_at(p->calls, p->at), "directory");
    str directory = own.n > 0                         ? own
                    : permit_is_shell(permit_tool(p)) ? p->shell_directory
                                                      : STR_NONE;
    if (directory.n == 0)
        return;
    buf_add_lit(out, " in ");
    text_add_line(out, directory);
}

/* In a narrow terminal the directory is shown with the details. */
static bool has_room_for_directory(const struct permit *p, size_t width)
{
    struct buf text;
    buf_init(&text, INPUT_MAX);
    buf_add_lit(&text, "Allow ");
    text_add_line(&text, permit_tool(p));
    add_directory(p, &text);
    bool has_room = text_width(buf_str(&text)) + choice_of(p).n <= width;
    buf_done(&text);
    return has_room;
}

/* The input on one line; false when it does not fit beside the rest of the question. */
static bool add_short_input(const struct permit *p, struct buf *out, size_t width)
{
    const struct json *input = json_get(json_at(p->calls, p->at), "input");
    struct buf raw, name;
    buf_init(&raw, INPUT_MAX);
    buf_init(&name, INPUT_MAX);
    text_add_line(&name, permit_tool(p));
    add_directory(p, &name);
    bool fits = !input || json_write(&raw, input) >= 0;
    text_add_line(out, buf_str(&raw));
    size_t used = strlen("Allow  ") + text_width(buf_str(&name)) + choice_of(p).n;
    fits =
        fits && !buf_failed(&raw) && !has_lines(input) && used + text_width(buf_str(out)) <= width;
    buf_done(&raw);
    buf_done(&name);
    return fits;
}

void permit_add_question(const struct permit *p, struct buf *out, size_t width, bool has_color)
{
    struct buf name, input;
    buf_init(&name, INPUT_MAX);
    buf_init(&input, 4 * INPUT_MAX);
    text_add_line(&name, permit_tool(p));
    buf_add_lit(out, "Allow ");
    style_add(out, has_color, STYLE_BOLD, buf_str(&name));
    if (has_room_for_directory(p, width))
        add_directory(p, out);
    if (add_short_input(p, &input, width) && input.n > 0) {
        buf_add_char(out, ' ');
        style_add(out, has_color, STYLE_DIM, buf_str(&input));
    }
    if (strlen("Allow ") + text_width(buf_str(&name)) + choice_of(p).n <= width) {
        buf_add_str(out, choice_of(p));
    } else { /* the possible answers must stay visible */
        buf_add_lit(out, "?\n");
        buf_add_str(out, str_skip(choice_of(p), strlen("? ")));
    }
    buf_done(&name);
    buf_done(&input);
}

/* "  key: value", further lines of the value below the first. */
static void add_value(struct arena *a, struct buf *out, str key, const struct json *value,
                      bool has_color)
{
    str all = value->type == JSON_STRING ? value->s : json_to_str(a, value), line;
    str shown = utf8_truncate(all, PERMIT_VALUE_MAX), rest = shown;
    struct buf text;
    buf_init(&text, 8 * PERMIT_VALUE_MAX);
    for (size_t i = 0; str_split(&rest, '\n', &line); i++) {
        buf_clear(&text);
        text_add_line(&text, i == 0 ? key : STR_NONE);
        style_add(out, has_color, STYLE_DIM, i == 0 ? STR("  ") : STR("    "));
        style_add(out, has_color, STYLE_DIM, buf_str(&text));
        buf_add_lit(out, i == 0 ? ": " : "");
        text_add(out, line);
        buf_add_char(out, '\n');
    }
    if (shown.n < all.n)
        buf_printf(out, "    (%zu more bytes are not shown)\n", all.n - shown.n);
    buf_done(&text);
}

void permit_add_details(const struct permit *p, struct buf *out, size_t width, bool has_color)
{
    const struct json *input = json_get(json_at(p->calls, p->at), "input");
    struct arena a;
    struct buf line;
    buf_init(&line, 4 * INPUT_MAX);
    arena_init(&a);
    bool fits = add_short_input(p, &line, width);
    if (!has_room_for_directory(p, width)) {
        buf_clear(&line);
        add_directory(p, &line);
        if (line.n > 0)
            buf_printf(out, " %.*s\n", STR_ARG(buf_str(&line)));
    }
    if (!fits && json_is(input, JSON_OBJECT)) {
        for (size_t i = 0; i < input->len; i++)
            add_value(&a, out, input->members[i].key, &input->members[i].value, has_color);
    } else if (!fits) {
        add_value(&a, out, STR("input"), input, has_color);
    }
    arena_done(&a);
    buf_done(&line);
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
