#include "cli/view.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "cli/styled.h"
#include "cli/text.h"

#define FINAL_MAX      (64u * 1024 * 1024)
#define DRAW_MS        30
#define SPIN_MS        80
#define SILENCE_MS     700 /* of the model, until the spinner comes back */
#define WIDTH_MAX      100 /* longer lines are hard to read */
#define PREVIEW_MAX    400 /* bytes of a tool's input or output that are looked at */
#define LINE_MAX_BYTES 4096

static struct markdown_style style_of(const struct view *v)
{
    size_t width = screen_width(v->screen);
    return (struct markdown_style){.width = width < WIDTH_MAX ? width : WIDTH_MAX,
                                   .has_color = v->has_color};
}

/* ---- printing for good ---- */

static void set_apart(struct view *v, enum view_part part)
{
    bool is_more_tools = part == VIEW_TOOLS && v->last == VIEW_TOOLS;
    if (v->last != VIEW_NOTHING && !is_more_tools)
        buf_add_char(&v->final, '\n');
    v->last = part;
}

static void print_text(struct view *v, str rendered)
{
    if (rendered.n == 0)
        return;
    /* A stream sets its own blocks apart. */
    if (v->last != VIEW_TEXT || rendered.p[0] != '\n')
        set_apart(v, VIEW_TEXT);
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

static void print_line(struct view *v, enum view_part part, str line)
{
    set_apart(v, part);
    buf_add_str(&v->final, line);
    buf_add_char(&v->final, '\n');
}

/* ---- tools ---- */

static char *safe_copy(str text)
{
    struct buf b;
    buf_init(&b, LINE_MAX_BYTES);
    text_add_line(&b, utf8_truncate(text, PREVIEW_MAX));
    char *copy = str_dup(buf_str(&b));
    buf_done(&b);
    return copy;
}

static void free_tool(struct view_tool *t)
{
    free(t->id);
    free(t->name);
    free(t->input);
    free(t->result);
}

/* Prints the tools at the front that have ended, so that they stay in the order of calls. */
static void retire_tools(struct view *v)
{
    size_t n = 0;
    for (; n < v->ntools && v->tools[n].result; n++) {
        print_line(v, VIEW_TOOLS, str_from(v->tools[n].result));
        free_tool(&v->tools[n]);
    }
    memmove(v->tools, v->tools + n, (v->ntools - n) * sizeof v->tools[0]);
    v->ntools -= n;
}

static struct view_tool *find_tool(struct view *v, str id)
{
    for (size_t i = 0; i < v->ntools; i++)
        if (!v->tools[i].result && str_eq(str_from(v->tools[i].id), id))
            return &v->tools[i];
    return NULL;
}

/* "✓ name output (3 ms)", the output cut so that the rest stays in sight. */
static void tool_result(const struct view *v, const char *name, bool ok, str output, str tail,
                        struct buf *out)
{
    size_t width = screen_width(v->screen);
    size_t used = text_width(str_from(name)) + text_width(tail) + 4;
    style_add(out, v->has_color, ok ? STYLE_GREEN : STYLE_RED, ok ? STR("✓") : STR("✗"));
    buf_printf(out, " %s ", name);
    struct buf clipped;
    buf_init(&clipped, LINE_MAX_BYTES);
    text_clip(&clipped, output, width > used ? width - used : 0);
    style_add(out, v->has_color, ok ? STYLE_DIM : STYLE_RED, buf_str(&clipped));
    buf_add_lit(out, clipped.n > 0 ? " " : "");
    style_add(out, v->has_color, STYLE_DIM, tail);
    buf_done(&clipped);
}

static char *result_line(const struct view *v, const char *name, bool ok, str output, str tail)
{
    struct buf line;
    char *safe = safe_copy(output);
    buf_init(&line, LINE_MAX_BYTES * 2);
    tool_result(v, name, ok, str_from(safe), tail, &line);
    char *copy = str_dup(buf_str(&line));
    buf_done(&line);
    free(safe);
    return copy;
}

/* ---- the region ---- */

static str spinner(uint64_t ms)
{
    static const char *const FRAMES[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
    return str_from(FRAMES[ms / SPIN_MS % ARRAY_LEN(FRAMES)]);
}

static bool is_spinning(const struct view *v, uint64_t now)
{
    return v->ntools == 0 && (v->text.pending.n == 0 || now - v->heard_ms > SILENCE_MS);
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
        buf_truncate(out, out->n - 1); /* lines of the region are separated, not ended */
}

static void draw_tools(const struct view *v, struct buf *out, uint64_t now)
{
    for (size_t i = 0; i < v->ntools; i++) {
        const struct view_tool *t = &v->tools[i];
        start_line(v, out, i == 0 && v->last != VIEW_TOOLS);
        if (t->result) {
            buf_add_lit(out, t->result);
            continue;
        }
        style_add(out, v->has_color, STYLE_CYAN, spinner(now));
        buf_printf(out, " %s ", t->name);
        style_add(out, v->has_color, STYLE_DIM, str_from(t->input));
    }
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
    if (!v->is_running && v->final.n == 0)
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

static void on_tick(void *ctx)
{
    struct view *v = ctx;
    if (!v->is_running)
        return;
    if (v->is_dirty || v->ntools > 0 || is_spinning(v, clock_mono_ms()))
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

/* ---- the answer's events ---- */

static void on_started(void *ctx, str conversation_id) {}

static void on_text(void *ctx, str delta)
{
    struct view *v = ctx;
    struct buf out;
    struct markdown_style style = style_of(v);
    retire_tools(v);
    v->thought[0] = '\0';
    buf_init(&out, MARKDOWN_OUTPUT_MAX);
    markdown_stream_feed(&v->text, delta, &style, &out);
    print_text(v, buf_str(&out));
    buf_done(&out);
    touch(v);
}

/* Keeps the last line that has anything on it. */
static void on_thinking(void *ctx, str delta)
{
    struct view *v = ctx;
    struct buf all;
    buf_init(&all, 2 * LINE_MAX_BYTES);
    ptrdiff_t cut = str_rfind_char(str_trim(delta), '\n');
    if (cut < 0)
        buf_add_lit(&all, v->thought);
    text_add_line(&all, str_slice(delta, cut < 0 ? 0 : (size_t)cut, LINE_MAX_BYTES / 4));
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

static void on_tool_start(void *ctx, str id, str name, const struct json *input)
{
    struct view *v = ctx;
    struct buf args;
    end_text(v);
    v->thought[0] = '\0';
    if (v->ntools < VIEW_TOOLS_MAX) {
        buf_init(&args, 16u * 1024 * 1024);
        if (input)
            (void)json_write(&args, input);
        v->tools[v->ntools++] = (struct view_tool){
            .id = str_dup(id), .name = safe_copy(name), .input = safe_copy(buf_str(&args))};
        buf_done(&args);
    }
    touch(v);
}

static void on_tool_done(void *ctx, str id, str name, bool ok, int64_t ms, str output)
{
    struct view *v = ctx;
    char tail[48];
    struct view_tool *t = find_tool(v, id);
    char *safe_name = safe_copy(name);
    (void)snprintf(tail, sizeof tail, "(%lld ms)", (long long)ms);
    char *line = result_line(v, safe_name, ok, output, str_from(tail));
    if (t) {
        t->result = line;
    } else {
        print_line(v, VIEW_TOOLS, str_from(line));
        free(line);
    }
    free(safe_name);
    retire_tools(v);
    touch(v);
}

static void on_retry(void *ctx, str message)
{
    struct view *v = ctx;
    struct buf line;
    end_text(v);
    buf_init(&line, LINE_MAX_BYTES);
    text_add_line(&line, utf8_truncate(message, PREVIEW_MAX));
    buf_add_lit(&line, "; trying again");
    view_notice(v, STYLE_DIM, buf_str(&line));
    buf_done(&line);
    touch(v);
}

static void finish(struct view *v)
{
    v->is_running = false;
    timer_stop(&v->timer);
    view_redraw(v);
    v->on_end(v->ctx);
}

static void end_tools(struct view *v)
{
    for (size_t i = 0; i < v->ntools; i++)
        if (!v->tools[i].result)
            v->tools[i].result = result_line(v, v->tools[i].name, false, STR("stopped"), STR_NONE);
    retire_tools(v);
}

static void add_part(struct buf *line, const char *text)
{
    buf_add_lit(line, line->n > 0 ? " · " : "");
    buf_add_lit(line, text);
}

static void add_tokens(struct buf *line, const struct json *report)
{
    char text[96];
    (void)snprintf(text, sizeof text, "%lld in · %lld out",
                   (long long)json_get_int(report, "inputTokens", 0),
                   (long long)json_get_int(report, "outputTokens", 0));
    add_part(line, text);
}

static void add_cost(struct buf *line, const struct json *report)
{
    char text[48];
    double cost = json_double(json_get(json_get(report, "usage"), "costUsd"), -1);
    if (cost <= 0) /* unknown, or free */
        return;
    (void)snprintf(text, sizeof text, cost < 0.01 ? "$%.4f" : "$%.2f", cost);
    add_part(line, text);
}

static void add_time(struct buf *line, const struct json *report)
{
    char text[48];
    int64_t ms = json_get_int(json_get(report, "usage"), "totalMs", -1);
    if (ms < 0)
        return;
    (void)snprintf(text, sizeof text, "%.1f s", (double)ms / 1000);
    add_part(line, text);
}

static void add_skill(struct buf *line, const struct json *report)
{
    str skill = json_get_string(report, "skillName");
    if (skill.n == 0)
        return;
    add_part(line, "skill ");
    text_add_line(line, utf8_truncate(skill, PREVIEW_MAX));
}

static void print_footer(struct view *v, const struct json *report)
{
    struct buf line;
    buf_init(&line, LINE_MAX_BYTES);
    add_tokens(&line, report);
    add_cost(&line, report);
    add_time(&line, report);
    add_skill(&line, report);
    view_notice(v, STYLE_DIM, buf_str(&line));
    buf_done(&line);
}

static void on_done(void *ctx, const struct json *report)
{
    struct view *v = ctx;
    const char *stopped = view_stop_words(json_get_string(report, "stopReason"));
    end_tools(v);
    end_text(v);
    if (stopped)
        view_notice(v, STYLE_RED, str_from(stopped));
    if (v->has_footer)
        print_footer(v, report);
    v->has_failed = str_eq(json_get_string(report, "stopReason"), STR("cancelled"));
    finish(v);
}

static void on_error(void *ctx, str code, str message)
{
    struct view *v = ctx;
    struct buf line;
    end_tools(v);
    end_text(v);
    buf_init(&line, LINE_MAX_BYTES);
    buf_add_lit(&line, "✗ ");
    text_add_line(&line, utf8_truncate(message, LINE_MAX_BYTES / 4));
    view_notice(v, STYLE_RED, buf_str(&line));
    buf_done(&line);
    v->has_failed = true;
    finish(v);
}

const struct session_events VIEW_EVENTS = {on_started,   on_text,  on_thinking, on_tool_start,
                                           on_tool_done, on_retry, on_done,     on_error};

/* ---- life ---- */

void view_init(struct view *v, struct loop *l, struct screen *s, bool has_color)
{
    *v = (struct view){.screen = s, .has_color = has_color};
    timer_init(&v->timer, l, on_tick, v);
    markdown_stream_init(&v->text);
    buf_init(&v->final, FINAL_MAX);
}

void view_done(struct view *v)
{
    timer_stop(&v->timer);
    for (size_t i = 0; i < v->ntools; i++)
        free_tool(&v->tools[i]);
    markdown_stream_done(&v->text);
    buf_done(&v->final);
}

void view_begin(struct view *v, void (*on_end)(void *ctx), void *ctx)
{
    v->on_end = on_end;
    v->ctx = ctx;
    v->started_ms = v->heard_ms = clock_mono_ms();
    v->is_running = true;
    v->has_failed = false;
    v->thought[0] = '\0';
    view_redraw(v);
    timer_start(&v->timer, SPIN_MS);
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

void view_lines(struct view *v, str lines)
{
    set_apart(v, VIEW_NOTICE);
    buf_add_str(&v->final, lines);
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

void view_notice(struct view *v, unsigned style, str text)
{
    struct buf line;
    buf_init(&line, LINE_MAX_BYTES * 2);
    style_add(&line, v->has_color, style, text);
    print_line(v, VIEW_NOTICE, buf_str(&line));
    buf_done(&line);
}

const char *view_stop_words(str stop_reason)
{
    static const struct {
        const char *reason, *words;
    } WORDS[] = {
        {"max_iterations", "stopped: the limit of steps was reached (maxIterations)"},
        {"token_budget", "stopped: the token budget of this run is used up (maxInputTokens)"},
        {"length", "the answer was cut off at its length limit (maxOutputTokens)"},
        {"refusal", "the model declined to answer"},
        {"cancelled", "stopped"},
    };
    for (size_t i = 0; i < ARRAY_LEN(WORDS); i++)
        if (str_eq(stop_reason, str_from(WORDS[i].reason)))
            return WORDS[i].words;
    return NULL;
}
