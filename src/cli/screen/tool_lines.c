#include "cli/screen/tool_lines.h"

#include "base/utf8.h"
#include "cli/term/styled.h"
#include "cli/term/text.h"

#define LINE_BYTES    4096
#define PREVIEW_BYTES 400 /* bytes of an input or output that are examined */
#define INPUT_MAX     (16u * 1024 * 1024)
#define BELOW_MAX     (16u * 1024 * 1024)

static char *safe_copy(str text)
{
    struct buf b;
    buf_init(&b, LINE_BYTES);
    text_add_line(&b, utf8_truncate(text, PREVIEW_BYTES));
    char *copy = str_dup(buf_str(&b));
    buf_done(&b);
    return copy;
}

static void free_line(struct tool_line *l)
{
    free(l->id);
    free(l->name);
    free(l->input);
    free(l->subject);
    free(l->result);
}

void tool_lines_done(struct tool_lines *t)
{
    for (size_t i = 0; i < t->n; i++)
        free_line(&t->items[i]);
    t->n = 0;
}

/* The only value of an input says it all: "ls -la" instead of {"command":"ls -la"}. */
static char *subject_of(const struct json *input, str written)
{
    const struct json *only =
        json_is(input, JSON_OBJECT) && input->len == 1 ? &input->members[0].value : NULL;
    bool is_empty = !input || (json_is(input, JSON_OBJECT) && input->len == 0);
    if (json_is(only, JSON_STRING))
        return safe_copy(only->s);
    return is_empty ? NULL : safe_copy(written);
}

void tool_lines_start(struct tool_lines *t, str id, str name, const struct json *input)
{
    struct buf args;
    if (t->n == TOOL_LINES_MAX)
        return;
    buf_init(&args, INPUT_MAX);
    if (input)
        (void)json_write(&args, input);
    t->items[t->n++] = (struct tool_line){.id = str_dup(id),
                                          .name = safe_copy(name),
                                          .input = safe_copy(buf_str(&args)),
                                          .subject = subject_of(input, buf_str(&args))};
    buf_done(&args);
}

#define ARROW " → " /* three columns */

/* How many columns the input and the output get: the input at most half of what is left beside the
 * name and the tail. */
struct shares {
    size_t subject, output;
};

static struct shares share_line(str name, str subject, bool has_output, str tail, size_t width)
{
    size_t used = text_width(name) + text_width(tail) + 4, left = width > used ? width - used : 0;
    size_t wanted = text_width(subject), most = has_output ? left / 2 : left;
    size_t given = wanted < most ? wanted : most;
    size_t taken = given + (given > 0 && has_output ? 3 : 0);
    return (struct shares){given, left > taken ? left - taken : 0};
}

/* The output is cut so that the text after it stays visible. */
static void add_result(const struct tool_lines *t, struct buf *out, const struct tool_line *l,
                       bool ok, str output, str tail, size_t width)
{
    struct buf subject, clipped;
    str name = str_from(l->name);
    struct shares s = share_line(name, str_from(l->subject), output.n > 0, tail, width);
    buf_init(&subject, LINE_BYTES);
    buf_init(&clipped, LINE_BYTES);
    text_clip(&subject, str_from(l->subject), s.subject);
    text_clip(&clipped, output, s.output);
    style_add(out, t->has_color, ok ? STYLE_GREEN : STYLE_RED, ok ? STR("✓") : STR("✗"));
    buf_printf(out, " %s ", l->name);
    buf_add_str(out, buf_str(&subject));
    buf_add_lit(out, subject.n > 0 && clipped.n > 0 ? ARROW : "");
    style_add(out, t->has_color, ok ? STYLE_DIM : STYLE_RED, buf_str(&clipped));
    buf_add_lit(out, subject.n + clipped.n > 0 && tail.n > 0 ? " " : "");
    style_add(out, t->has_color, STYLE_DIM, tail);
    buf_done(&subject);
    buf_done(&clipped);
}

static char *result_line(const struct tool_lines *t, const struct tool_line *l, bool ok, str output,
                         str tail, size_t width)
{
    struct buf line;
    char *safe = safe_copy(output);
    buf_init(&line, 2 * LINE_BYTES);
    add_result(t, &line, l, ok, str_from(safe), tail, width);
    char *copy = str_dup(buf_str(&line));
    buf_done(&line);
    free(safe);
    return copy;
}

static struct tool_line *find_running(const struct tool_lines *t, str id)
{
    for (size_t i = 0; i < t->n; i++)
        if (!t->items[i].result && str_eq(str_from(t->items[i].id), id))
            return (struct tool_line *)&t->items[i];
    return NULL;
}

#define TAIL_BYTES 64

static void write_tail(char tail[TAIL_BYTES], const struct tool_end *end)
{
    char number[24] = "";
    if (end->number > 0)
        (void)snprintf(number, sizeof number, " [%zu]", end->number);
    (void)snprintf(tail, TAIL_BYTES, "(%lld ms)%s", (long long)end->ms, number);
}

bool tool_lines_is_cut(const struct tool_lines *t, str id, str name, const struct tool_end *end,
                       size_t width)
{
    char tail[TAIL_BYTES];
    str text = str_trim(end->output);
    const struct tool_line *l = find_running(t, id);
    write_tail(tail, end);
    char *safe = safe_copy(text), *shown = safe_copy(name);
    struct shares s = share_line(str_from(shown), str_from(l ? l->subject : NULL), text.n > 0,
                                 str_from(tail), width);
    bool is_cut = str_find_char(text, '\n') >= 0 || text.n > PREVIEW_BYTES ||
                  text_width(str_from(safe)) > s.output;
    free(safe);
    free(shown);
    return is_cut;
}

static void add_below(struct tool_line *l, str below)
{
    struct buf b;
    buf_init(&b, BELOW_MAX);
    buf_printf(&b, "%s\n%.*s", l->result, STR_ARG(below));
    free(l->result);
    l->result = str_dup(buf_str(&b));
    buf_done(&b);
}

void tool_lines_finish(struct tool_lines *t, str id, str name, const struct tool_end *end,
                       size_t width)
{
    char tail[TAIL_BYTES];
    struct tool_line *l = find_running(t, id);
    if (!l && t->n == TOOL_LINES_MAX)
        return;
    if (!l) {
        l = &t->items[t->n++];
        *l = (struct tool_line){.id = str_dup(id), .name = safe_copy(name), .input = safe_copy(id)};
    }
    write_tail(tail, end);
    if (end->below.n > 0) {
        free(l->subject);
        l->subject = NULL;
    }
    l->result = result_line(t, l, end->ok, end->output, str_from(tail), width);
    if (end->below.n > 0)
        add_below(l, end->below);
}

void tool_lines_stop(struct tool_lines *t, size_t width)
{
    for (size_t i = 0; i < t->n; i++)
        if (!t->items[i].result)
            t->items[i].result =
                result_line(t, &t->items[i], false, STR("stopped"), STR_NONE, width);
}

void tool_lines_take(struct tool_lines *t, struct buf *out)
{
    size_t n = 0;
    for (; n < t->n && t->items[n].result; n++) {
        buf_add_lit(out, t->items[n].result);
        buf_add_char(out, '\n');
        free_line(&t->items[n]);
    }
    memmove(t->items, t->items + n, (t->n - n) * sizeof t->items[0]);
    t->n -= n;
}

void tool_lines_draw(const struct tool_lines *t, str spinner, struct buf *out)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct tool_line *l = &t->items[i];
        buf_add_lit(out, i > 0 ? "\n" : "");
        if (l->result) {
            buf_add_lit(out, l->result);
            continue;
        }
        style_add(out, t->has_color, STYLE_CYAN, spinner);
        buf_printf(out, " %s ", l->name);
        style_add(out, t->has_color, STYLE_DIM, str_from(l->input));
    }
}
