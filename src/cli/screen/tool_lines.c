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
    free(l->result);
}

void tool_lines_done(struct tool_lines *t)
{
    for (size_t i = 0; i < t->n; i++)
        free_line(&t->items[i]);
    t->n = 0;
}

void tool_lines_start(struct tool_lines *t, str id, str name, const struct json *input)
{
    struct buf args;
    if (t->n == TOOL_LINES_MAX)
        return;
    buf_init(&args, INPUT_MAX);
    if (input)
        (void)json_write(&args, input);
    t->items[t->n++] = (struct tool_line){
        .id = str_dup(id), .name = safe_copy(name), .input = safe_copy(buf_str(&args))};
    buf_done(&args);
}

/* The output is cut so that the text after it stays visible. */
static void add_result(const struct tool_lines *t, struct buf *out, const char *name, bool ok,
                       str output, str tail, size_t width)
{
    struct buf clipped;
    size_t used = text_width(str_from(name)) + text_width(tail) + 4;
    buf_init(&clipped, LINE_BYTES);
    text_clip(&clipped, output, width > used ? width - used : 0);
    style_add(out, t->has_color, ok ? STYLE_GREEN : STYLE_RED, ok ? STR("✓") : STR("✗"));
    buf_printf(out, " %s ", name);
    style_add(out, t->has_color, ok ? STYLE_DIM : STYLE_RED, buf_str(&clipped));
    buf_add_lit(out, clipped.n > 0 && tail.n > 0 ? " " : "");
    style_add(out, t->has_color, STYLE_DIM, tail);
    buf_done(&clipped);
}

static char *result_line(const struct tool_lines *t, const char *name, bool ok, str output,
                         str tail, size_t width)
{
    struct buf line;
    char *safe = safe_copy(output);
    buf_init(&line, 2 * LINE_BYTES);
    add_result(t, &line, name, ok, str_from(safe), tail, width);
    char *copy = str_dup(buf_str(&line));
    buf_done(&line);
    free(safe);
    return copy;
}

static struct tool_line *find_running(struct tool_lines *t, str id)
{
    for (size_t i = 0; i < t->n; i++)
        if (!t->items[i].result && str_eq(str_from(t->items[i].id), id))
            return &t->items[i];
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

bool tool_lines_is_cut(str name, const struct tool_end *end, size_t width)
{
    char tail[TAIL_BYTES];
    str text = str_trim(end->output);
    write_tail(tail, end);
    char *safe = safe_copy(text), *shown = safe_copy(name);
    size_t used = text_width(str_from(shown)) + strlen(tail) + 4;
    bool is_cut = str_find_char(text, '\n') >= 0 || text.n > PREVIEW_BYTES ||
                  used + text_width(str_from(safe)) > width;
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
    l->result = result_line(t, l->name, end->ok, end->output, str_from(tail), width);
    if (end->below.n > 0)
        add_below(l, end->below);
}

void tool_lines_stop(struct tool_lines *t, size_t width)
{
    for (size_t i = 0; i < t->n; i++)
        if (!t->items[i].result)
            t->items[i].result =
                result_line(t, t->items[i].name, false, STR("stopped"), STR_NONE, width);
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
