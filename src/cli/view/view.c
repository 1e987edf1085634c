#include <assert.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "cli/term/styled.h"
#include "cli/term/text.h"
#include "cli/view/permit.h"
#include "cli/view/view_impl.h"

#define FINAL_MAX      (64u * 1024 * 1024)
#define DRAW_MS        30
#define SPIN_MS        80
#define SILENCE_MS     700  /* without text, until the spinner is shown again */
#define WIDTH_MAX      100  /* longer lines are hard to read */
#define MESSAGE_BYTES  1000 /* bytes of an error that are shown */
#define LINE_MAX_BYTES 4096

static struct markdown_style style_of(const struct view *v)
{
    size_t width = screen_width(v->screen);
    return (struct markdown_style){.width = width < WIDTH_MAX ? width : WIDTH_MAX,
                                   .has_color = v->has_color};
}

/* ---- printing permanently ---- */

void view_set_apart(struct view *v, enum view_part part)
{
    assert(part != VIEW_NOTHING);
    bool is_more_tools = part == VIEW_TOOLS && v->last == VIEW_TOOLS;
    if (v->last != VIEW_NOTHING && !is_more_tools)
        buf_add_char(&v->final, '\n');
    v->last = part;
}

static void print_text(struct view *v, str rendered)
{
    if (rendered.n == 0)
        return;
    /* A stream separates its own blocks. */
    if (v->last != VIEW_TEXT || rendered.p[0] != '\n')
        view_set_apart(v, VIEW_TEXT);
    buf_add_str(&v->final, rendered);
}

static void end_text(struct view *v)
{
    struct buf out;
    struct markdown_style style = style_of(v);
    buf_init(&out, MARKDOWN_OUTPUT_MAX);
    markdown_stream_end(&v->text, &style, &out);
    print_text(v, buf_str(&out));
    buf_done(&out);
}

static void print_view_tools(struct view *v)
{
    struct buf out;
    buf_init(&out, FINAL_MAX);
    tool_lines_take(&v->tools, &out);
    if (out.n > 0) {
        view_set_apart(v, VIEW_TOOLS);
        buf_add_str(&v->final, buf_str(&out));
    }
    buf_done(&out);
}

static void end_tools(struct view *v)
{
    view_end_thoughts(v);
    tool_lines_stop(&v->tools, screen_width(v->screen));
    print_view_tools(v);
}

/* ---- the region ---- */

static str spinner(uint64_t ms)
{
    static const char *const FRAMES[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
    return str_from(FRAMES[ms / SPIN_MS % ARRAY_LEN(FRAMES)]);
}

static bool is_spinning(const struct view *v, uint64_t now)
{
    return v->tools.n == 0 && (v->text.pending.n == 0 || now - v->heard_ms > SILENCE_MS);
}

static void start_line(const struct view *v, struct buf *out, bool is_blank_wanted)
{
    if (out->n > 0 && out->p[out->n - 1] != '\n')
        buf_add_char(out, '\n');
    if (is_blank_wanted && (out->n > 0 || v->last != VIEW_NOTHING))
        buf_add_char(out, '\n');
}

static void draw_text(const struct view *v, struct buf *out)
{
    struct markdown_style style = style_of(v);
    if (v->text.pending.n == 0)
        return;
    if (v->last != VIEW_NOTHING && !v->text.has_output)
        buf_add_char(out, '\n');
    markdown_stream_peek(&v->text, &style, out);
    if (out->n > 0 && out->p[out->n - 1] == '\n')
        buf_truncate(out, out->n - 1); /* lines of the region are separated, not terminated */
}

static void draw_tools(const struct view *v, struct buf *out, uint64_t now)
{
    if (v->tools.n == 0)
        return;
    start_line(v, out, v->last != VIEW_TOOLS);
    tool_lines_draw(&v->tools, spinner(now), out);
}

static void draw_spinner(const struct view *v, struct buf *out, uint64_t now)
{
    uint64_t seconds = (now - v->started_ms) / 1000;
    struct buf line;
    if (!is_spinning(v, now))
        return;
    start_line(v, out, true);
    buf_init(&line, LINE_MAX_BYTES);
    buf_add_str(&line, spinner(now));
    buf_printf(&line, " %s", v->thought[0] ? v->thought : "thinking…");
    if (seconds >= 3 && !v->thought[0])
        buf_printf(&line, " %llu s, Ctrl-C stops", (unsigned long long)seconds);
    style_add(out, v->has_color, STYLE_DIM, buf_str(&line));
    buf_done(&line);
}

void view_redraw(struct view *v)
{
    struct buf region;
    uint64_t now = clock_mono_ms();
    if ((!v->is_running && v->final.n == 0) || v->is_paused)
        return;
    buf_init(&region, FINAL_MAX);
    if (v->is_running) {
        draw_text(v, &region);
        draw_tools(v, &region, now);
        draw_spinner(v, &region, now);
    }
    struct screen_region r = {.text = buf_str(&region), .row = SCREEN_AT_END};
    screen_update(v->screen, buf_str(&v->final), &r);
    buf_clear(&v->final);
    buf_done(&region);
    v->is_dirty = false;
}

static void on_view_tick(void *ctx)
{
    struct view *v = ctx;
    if (!v->is_running)
        return;
    if (v->is_dirty || v->tools.n > 0 || is_spinning(v, clock_mono_ms()))
        view_redraw(v);
    timer_start(&v->timer, SPIN_MS);
}

static void touch(struct view *v)
{
    v->heard_ms = clock_mono_ms();
    if (v->is_dirty)
        return;
    v->is_dirty = true;
    timer_start(&v->timer, DRAW_MS);
}

/* ---- events of the answer ---- */

static void on_view_text(void *ctx, const struct json *d)
{
    struct view *v = ctx;
    struct buf out;
    struct markdown_style style = style_of(v);
    print_view_tools(v);
    view_end_thoughts(v);
    v->thought[0] = '\0';
    buf_init(&out, MARKDOWN_OUTPUT_MAX);
    markdown_stream_feed(&v->text, json_get_string(d, "text"), &style, &out);
    print_text(v, buf_str(&out));
    buf_done(&out);
    touch(v);
}

/* Keeps the last line that is not empty. */
static void on_view_thinking(void *ctx, const struct json *d)
{
    struct view *v = ctx;
    str delta = json_get_string(d, "text");
    struct buf all;
    view_add_thoughts(v, delta);
    buf_init(&all, 2 * LINE_MAX_BYTES);
    ptrdiff_t cut = str_rfind_char(str_trim(delta), '\n');
    if (cut < 0)
        buf_add_lit(&all, v->thought);
    text_add_line(&all, str_slice(delta, cut < 0 ? 0 : (size_t)cut, MESSAGE_BYTES));
    if (delta.n > 0 && delta.p[delta.n - 1] == ' ')
        buf_add_char(&all, ' ');
    str end = buf_str(&all);
    while (end.n >= sizeof v->thought || (end.n > 0 && ((unsigned char)end.p[0] & 0xc0) == 0x80))
        end = str_skip(end, 1);
    memcpy(v->thought, end.p ? end.p : "", end.n);
    v->thought[end.n] = '\0';
    buf_done(&all);
    touch(v);
}

static void on_view_tool_start(void *ctx, const struct json *d)
{
    struct view *v = ctx;
    str directory = json_get_string(d, "directory");
    end_text(v);
    view_end_thoughts(v);
    view_note_change(v, d);
    v->thought[0] = '\0';
    if (v->tells_directory && directory.n > 0) {
        v->tells_directory = false;
        view_say(v, STYLE_DIM, "commands run in %.*s", STR_ARG(directory));
    }
    tool_lines_start(&v->tools, json_get_string(d, "id"), json_get_string(d, "name"),
                     json_get(d, "input"));
    touch(v);
}

static void on_view_tool_done(void *ctx, const struct json *d)
{
    struct view *v = ctx;
    view_end_call(v, d);
    v->has_interface |= json_get_string(d, "resourceUri").n > 0;
    media_note(&v->media, &v->arena, d);
    print_view_tools(v);
    touch(v);
}

static void on_view_retry(void *ctx, const struct json *d)
{
    struct view *v = ctx;
    struct buf line;
    str message = json_get_string(d, "message");
    end_text(v);
    buf_init(&line, LINE_MAX_BYTES);
    if (str_ends(message, STR(".")))
        message.n--;
    text_add_line(&line, utf8_truncate(message, MESSAGE_BYTES));
    buf_add_lit(&line, "; trying again");
    view_notice(v, STYLE_DIM, buf_str(&line));
    buf_done(&line);
    touch(v);
}

static void view_finish(struct view *v)
{
    v->is_running = v->is_paused = false;
    timer_stop(&v->timer);
    view_redraw(v);
    v->on_end(v->ctx);
}

static void print_footer(struct view *v, const struct json *report)
{
    struct buf line;
    buf_init(&line, LINE_MAX_BYTES);
    footer_add(&line, &v->sum, report);
    view_notice(v, STYLE_DIM, buf_str(&line));
    v->sum = (struct footer_sum){0};
    buf_done(&line);
}

static void explain_refusals(struct view *v, const struct json *report)
{
    str names[PERMIT_NAMES_MAX];
    size_t n = permit_refused(report, names, PERMIT_NAMES_MAX);
    for (size_t i = 0; i < n; i++)
        view_say(v, STYLE_RED, PERMIT_REFUSED_FORMAT, STR_ARG(names[i]), STR_ARG(names[i]));
}

static void on_view_done(void *ctx, const struct json *report)
{
    struct view *v = ctx;
    const char *stopped = footer_stop_words(json_get_string(report, "stopReason"));
    end_tools(v);
    end_text(v);
    if (stopped)
        view_notice(v, STYLE_RED, str_from(stopped));
    explain_refusals(v, report);
    footer_count(&v->sum, report);
    if (json_get(report, "ask"))
        v->ask = json_clone(&v->arena, json_get(report, "ask"));
    else if (v->has_footer)
        print_footer(v, report);
    v->stop = arena_str(&v->arena, json_get_string(report, "stopReason"));
    v->has_failed = str_eq(v->stop, STR("cancelled"));
    view_finish(v);
}

static void on_view_error(void *ctx, const struct json *d)
{
    struct view *v = ctx;
    struct buf line;
    end_tools(v);
    end_text(v);
    buf_init(&line, LINE_MAX_BYTES);
    buf_add_lit(&line, "✗ ");
    text_add_line(&line, utf8_truncate(json_get_string(d, "message"), MESSAGE_BYTES));
    view_notice(v, STYLE_RED, buf_str(&line));
    buf_done(&line);
    v->has_failed = true;
    v->error = arena_str(&v->arena, json_get_string(d, "error"));
    view_finish(v);
}

static void on_view_input(void *ctx, const struct json *question)
{
    struct view *v = ctx;
    if (v->on_input)
        v->on_input(v->ctx, question);
}

static void on_view_input_gone(void *ctx, const struct json *d)
{
    struct view *v = ctx;
    if (v->on_input_gone)
        v->on_input_gone(v->ctx, json_get_string(d, "inputId"));
}

const struct session_events VIEW_EVENTS = {
    .on_text = on_view_text,
    .on_thinking = on_view_thinking,
    .on_tool_start = on_view_tool_start,
    .on_tool_done = on_view_tool_done,
    .on_retry = on_view_retry,
    .on_input = on_view_input,
    .on_input_gone = on_view_input_gone,
    .on_done = on_view_done,
    .on_error = on_view_error,
};

/* ---- life ---- */

void view_init(struct view *v, struct loop *l, struct screen *s, bool has_color)
{
    *v = (struct view){.screen = s, .has_color = has_color, .tools.has_color = has_color};
    timer_init(&v->timer, l, on_view_tick, v);
    markdown_stream_init(&v->text);
    buf_init(&v->final, FINAL_MAX);
    buf_init(&v->thoughts, 2 * FOLD_BYTES_MAX);
    arena_init(&v->arena);
}

void view_done(struct view *v)
{
    timer_stop(&v->timer);
    tool_lines_done(&v->tools);
    markdown_stream_done(&v->text);
    arena_done(&v->arena);
    buf_done(&v->final);
    buf_done(&v->thoughts);
    folds_done(&v->folds);
}

void view_begin(struct view *v, void (*on_end)(void *ctx), void *ctx)
{
    assert(!v->is_running && on_end);
    v->on_end = on_end;
    v->ctx = ctx;
    v->started_ms = v->heard_ms = clock_mono_ms();
    v->is_running = true;
    v->has_failed = v->has_interface = v->is_paused = false;
    v->ask = NULL;
    v->media.n = v->nchanges = 0;
    arena_reset(&v->arena);
    v->stop = v->error = STR_NONE;
    v->thought[0] = '\0';
    view_redraw(v);
    timer_start(&v->timer, SPIN_MS);
}

void view_tell_interface(struct view *v, const struct chat_session *s)
{
    if (!v->has_interface)
        return;
    v->has_interface = false;
    str link = session_page_link(s, &v->arena);
    if (link.n > 0)
        view_say(v, STYLE_DIM, "its interface: %.*s", STR_ARG(link));
    else
        view_say(v, STYLE_DIM, "its interface is shown in a browser: run nb serve");
    view_redraw(v);
}

void view_abandon(struct view *v)
{
    if (!v->is_running)
        return;
    end_tools(v);
    end_text(v);
    v->is_running = false;
    timer_stop(&v->timer);
}

void view_gap(struct view *v)
{
    if (v->last != VIEW_NOTHING)
        buf_add_char(&v->final, '\n');
    v->last = VIEW_NOTHING;
}

void view_set_color(struct view *v, bool has_color)
{
    v->has_color = v->tools.has_color = has_color;
}

void view_wipe(struct view *v)
{
    buf_clear(&v->final);
    v->last = VIEW_NOTHING;
    screen_wipe(v->screen);
}

void view_lines(struct view *v, str lines)
{
    view_set_apart(v, VIEW_NOTICE);
    buf_add_str(&v->final, lines);
}

void view_foreign(struct view *v, str text)
{
    struct buf out;
    buf_init(&out, FINAL_MAX);
    text_add(&out, text);
    buf_add_lit(&out, str_ends(text, STR("\n")) ? "" : "\n");
    view_lines(v, buf_str(&out));
    buf_done(&out);
}

void view_markdown(struct view *v, str text)
{
    struct buf out;
    struct markdown_style style = style_of(v);
    buf_init(&out, MARKDOWN_OUTPUT_MAX);
    markdown_render(&out, text, &style);
    view_lines(v, buf_str(&out));
    buf_done(&out);
}

/* Broken at spaces: a terminal would break words. */
void view_more(struct view *v, unsigned style, str text)
{
    struct styled t;
    struct styled_line line;
    size_t at = 0, width = screen_width(v->screen);
    styled_init(&t, FINAL_MAX);
    styled_add(&t, text, style);
    while (styled_wrap(&t, &at, t.text.n, width, &line)) {
        styled_emit(&v->final, v->has_color, &t, line.from, line.to);
        buf_add_char(&v->final, '\n');
    }
    styled_done(&t);
}

void view_notice(struct view *v, unsigned style, str text)
{
    view_set_apart(v, VIEW_NOTICE);
    view_more(v, style, text);
}

void view_say(struct view *v, unsigned style, const char *fmt, ...)
{
    struct buf raw, safe;
    va_list ap;
    buf_init(&raw, LINE_MAX_BYTES);
    buf_init(&safe, 4 * LINE_MAX_BYTES);
    va_start(ap, fmt);
    (void)buf_vprintf(&raw, fmt, ap);
    va_end(ap);
    text_add_line(&safe, buf_str(&raw));
    view_notice(v, style, buf_str(&safe));
    buf_done(&raw);
    buf_done(&safe);
}
