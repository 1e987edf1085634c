#include <stdarg.h>

#include "base/bytes/base64.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "store/event/event.h"
#include "transfer/import_impl.h"

void import_lose(struct import_report *r, const char *fmt, ...)
{
    r->lost++;
    if (r->nlosses == IMPORT_LOSSES_MAX)
        return;
    va_list ap;
    va_start(ap, fmt);
    r->losses[r->nlosses++] = arena_vprintf(&r->arena, fmt, ap);
    va_end(ap);
}

void talk_init(struct talk *t)
{
    *t = (struct talk){0};
    arena_init(&t->out);
    arena_init(&t->pending);
    map_init(&t->tools);
}

static void forget_tools(struct talk *t)
{
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&t->tools, &i)) != NULL;)
        free(e->value);
    map_done(&t->tools);
    map_init(&t->tools);
}

void talk_done(struct talk *t)
{
    forget_tools(t);
    free(t->events);
    arena_done(&t->out);
    arena_done(&t->pending);
}

void talk_clear(struct talk *t)
{
    t->n = t->bytes = 0;
    arena_reset(&t->out);
}

void talk_restart(struct talk *t)
{
    talk_clear(t);
    forget_tools(t);
    arena_reset(&t->pending);
    t->parts = NULL;
    t->is_running = false;
    t->run = 0;
    t->ts[0] = 0;
    t->first_ms = 0;
    t->old_id = STR_NONE;
    t->view_bytes = t->picture_bytes = t->asked = 0;
    t->files = NULL; /* of the arena of the conversation before */
    t->nfiles = t->files_cap = 0;
    memset(t->skips, 0, sizeof(t->skips));
}

void talk_at_ms(struct talk *t, int64_t ms)
{
    if (ms <= 0)
        return;
    clock_iso(ms, t->ts);
    if (!t->first_ms)
        t->first_ms = ms;
}

void talk_at(struct talk *t, str iso)
{
    int64_t ms;
    if (clock_parse_iso(iso, &ms) == 0)
        talk_at_ms(t, ms);
}

void talk_skip(struct talk *t, const char *what)
{
    for (size_t i = 0; i < TALK_SKIPS_MAX; i++) {
        if (t->skips[i].what && t->skips[i].what != what && i < TALK_SKIPS_MAX - 1)
            continue;
        if (!t->skips[i].what)
            t->skips[i].what = what;
        t->skips[i].n++;
        return;
    }
}

void talk_report(struct talk *t, struct import_report *r, str name)
{
    name = utf8_truncate(name, 100);
    for (size_t i = 0; i < TALK_SKIPS_MAX && t->skips[i].what; i++) {
        import_lose(r, "%.*s: %lld x %s", STR_ARG(name), (long long)t->skips[i].n,
                    t->skips[i].what);
        r->lost += t->skips[i].n - 1;
    }
}

/* ---- events ---- */

void talk_event(struct talk *t, str line)
{
    if (line.n > STORE_LINE_MAX) {
        talk_skip(t, "an event that is too large");
        return;
    }
    GROW(t->events, t->n, t->cap);
    t->events[t->n++] = arena_str(&t->out, line);
    t->bytes += line.n;
}

struct talk_line {
    struct buf buf;
    struct json_writer w;
};

static void talk_line_begin(struct talk_line *l, enum event_type type, const char *ts)
{
    jw_start(&l->w, &l->buf, 2 * STORE_LINE_MAX);
    jw_object(&l->w);
    jw_kstr(&l->w, "ts", str_from(ts[0] ? ts : "1970-01-01T00:00:00.000Z"));
    jw_kstr(&l->w, "type", event_name(type));
}

static void talk_line_end(struct talk *t, struct talk_line *l)
{
    jw_end(&l->w);
    if (buf_failed(&l->buf))
        talk_skip(t, "an event that is too large");
    else
        talk_event(t, buf_str(&l->buf));
    buf_done(&l->buf);
}

static void start_run(struct talk *t)
{
    struct talk_line l;
    if (t->is_running)
        return;
    t->is_running = true;
    (void)snprintf(t->run_id, sizeof(t->run_id), "run_import_%d", ++t->run);
    talk_line_begin(&l, EV_RUN_START, t->ts);
    jw_kstr(&l.w, "runId", str_from(t->run_id));
    talk_line_end(t, &l);
}

/* ---- answers ---- */

static void put_usage(struct json_writer *w, const struct conv_usage *u)
{
    if (!u->input_tokens && !u->output_tokens)
        return;
    jw_kint(w, "inputTokens", u->input_tokens);
    jw_kint(w, "outputTokens", u->output_tokens);
    jw_kint(w, "cacheReadTokens", u->cache_read_tokens);
    jw_kint(w, "cacheWrite5mTokens", u->cache_write_5m_tokens);
    jw_kint(w, "cacheWrite1hTokens", u->cache_write_1h_tokens);
}

static void flush_answer(struct talk *t)
{
    struct talk_line l;
    if (!t->parts)
        return;
    if (t->parts->len) {
        talk_line_begin(&l, EV_LLM_RESPONSE, t->answer_ts);
        jw_kstr(&l.w, "runId", str_from(t->run_id));
        jw_kstr_if(&l.w, "model", t->model);
        jw_kval(&l.w, "content", t->parts);
        put_usage(&l.w, &t->usage);
        talk_line_end(t, &l);
    }
    t->parts = NULL;
    t->usage = (struct conv_usage){0};
    t->answer_id = t->model = STR_NONE;
    arena_reset(&t->pending);
}

void talk_answer(struct talk *t, str answer_id, str model)
{
    if (t->parts && !str_eq(answer_id, t->answer_id))
        flush_answer(t);
    start_run(t);
    if (t->parts)
        return;
    t->parts = json_new(&t->pending, JSON_ARRAY);
    t->answer_id = arena_str(&t->pending, answer_id);
    t->model = arena_str(&t->pending, model);
    memcpy(t->answer_ts, t->ts, sizeof(t->ts));
}

static struct json *add_part(struct talk *t, str type)
{
    struct arena *a = &t->pending;
    if (!t->parts)
        talk_answer(t, STR_NONE, STR_NONE);
    struct json *part = json_push(a, t->parts, *json_new(a, JSON_OBJECT));
    json_set(a, part, STR("type"), json_of_str(type));
    return part;
}

void talk_text(struct talk *t, str text)
{
    if (text.n)
        json_set(&t->pending, add_part(t, STR("text")), STR("text"),
                 json_of_str(arena_str(&t->pending, text)));
}

void talk_reasoning(struct talk *t, str text)
{
    if (text.n)
        json_set(&t->pending, add_part(t, STR("reasoning")), STR("text"),
                 json_of_str(arena_str(&t->pending, text)));
}

void talk_call(struct talk *t, str id, str name, const struct json *input)
{
    struct arena *a = &t->pending;
    struct json *part = add_part(t, STR("tool-call"));
    json_set(a, part, STR("toolCallId"), json_of_str(arena_str(a, id)));
    json_set(a, part, STR("toolName"), json_of_str(arena_str(a, name)));
    json_set(a, part, STR("input"), input ? *json_clone(a, input) : *json_new(a, JSON_OBJECT));
    free(map_put(&t->tools, id, str_dup(name)));
}

void talk_usage(struct talk *t, const struct conv_usage *u)
{
    if (t->parts && !t->usage.input_tokens && !t->usage.output_tokens)
        t->usage = *u;
}

static void write_result_view(struct talk *t, struct json_writer *w, size_t part, str base64)
{
    struct arena scratch;
    struct buf bytes, text;
    struct import_view view;
    str problem;
    arena_init(&scratch);
    buf_init(&bytes, IMPORT_FILE_BYTES);
    buf_init(&text, 2 * IMPORT_FILE_BYTES);
    (void)base64_decode(&bytes, base64);
    bool is_made = talk_make_view(t, &scratch, buf_str(&bytes), &view, &problem);
    if (is_made || problem.n > 0) {
        jw_object(w);
        jw_kint(w, "part", (int64_t)part);
        if (is_made) {
            (void)base64_encode(&text, view.bytes);
            jw_kcstr(w, "mimeType", view.mime);
            jw_kstr(w, "data", buf_str(&text));
            jw_kint(w, "width", view.width);
            jw_kint(w, "height", view.height);
        } else {
            jw_kstr(w, "problem", problem);
        }
        jw_end(w);
    }
    buf_done(&text);
    buf_done(&bytes);
    arena_done(&scratch);
}

/* As apps/bundle_pictures.c does with results of nb's own tools. */
static void write_result_views(struct talk *t, struct json_writer *w, const struct json *content)
{
    bool has_begun = false;
    for (size_t i = 0; t->views && json_is(content, JSON_ARRAY) && i < content->len; i++) {
        const struct json *part = &content->items[i];
        str data = json_get_string(part, "data");
        if (!str_eq(json_get_string(part, "type"), STR("image")) || data.n == 0)
            continue;
        if (!has_begun)
            jw_karray(w, "views");
        has_begun = true;
        write_result_view(t, w, i, data);
    }
    if (has_begun)
        jw_end(w);
}

void talk_result(struct talk *t, str id, str name, bool ok, const struct json *content)
{
    struct talk_line l;
    flush_answer(t);
    start_run(t);
    const char *known = map_get(&t->tools, id);
    talk_line_begin(&l, EV_TOOL_DONE, t->ts);
    jw_kstr(&l.w, "runId", str_from(t->run_id));
    jw_kstr(&l.w, "name", known ? str_from(known) : name);
    jw_kstr(&l.w, "id", id);
    jw_kbool(&l.w, "ok", ok);
    jw_kobject(&l.w, "result");
    jw_key(&l.w, "content");
    if (json_is(content, JSON_ARRAY)) {
        jw_value(&l.w, content);
    } else {
        jw_array(&l.w);
        jw_object(&l.w);
        jw_kstr(&l.w, "type", STR("text"));
        jw_kstr(&l.w, "text", json_string(content, STR("")));
        jw_end(&l.w);
        jw_end(&l.w);
    }
    if (!ok)
        jw_kbool(&l.w, "isError", true);
    jw_end(&l.w);
    write_result_views(t, &l.w, content);
    talk_line_end(t, &l);
}

/* ---- people ---- */

void talk_finish(struct talk *t)
{
    struct talk_line l;
    flush_answer(t);
    if (!t->is_running)
        return;
    t->is_running = false;
    talk_line_begin(&l, EV_RUN_DONE, t->ts);
    jw_kstr(&l.w, "runId", str_from(t->run_id));
    jw_kstr(&l.w, "stopReason", STR("complete"));
    talk_line_end(t, &l);
}

void talk_user(struct talk *t, const struct json *parts)
{
    struct talk_line l;
    if (!json_is(parts, JSON_ARRAY) || !parts->len)
        return;
    talk_finish(t);
    talk_line_begin(&l, EV_USER_MESSAGE, t->ts);
    jw_kval(&l.w, "content", parts);
    talk_line_end(t, &l);
}

void talk_title(struct talk *t, str title)
{
    struct talk_line l;
    title = utf8_truncate(str_trim(title), 1000);
    if (!title.n)
        return;
    talk_line_begin(&l, EV_TITLE, t->ts);
    jw_kstr(&l.w, "title", title);
    talk_line_end(t, &l);
}

void talk_add_text(struct arena *a, struct json *parts, str text)
{
    if (!text.n)
        return;
    struct json *part = json_push(a, parts, *json_new(a, JSON_OBJECT));
    json_set(a, part, STR("type"), json_of_str(STR("text")));
    json_set(a, part, STR("text"), json_of_str(text));
}

/* ---- Anthropic's blocks ---- */

static void answer_block(struct talk *t, const struct json *b, str type)
{
    if (str_eq(type, STR("text")))
        talk_text(t, json_get_string(b, "text"));
    else if (str_eq(type, STR("thinking")))
        talk_reasoning(t, json_get_string(b, "thinking"));
    else if (str_eq(type, STR("tool_use")))
        talk_call(t, json_get_string(b, "id"), json_get_string(b, "name"), json_get(b, "input"));
    else
        talk_skip(t, "a content block of an unknown type");
}

static void result_block(struct talk *t, const struct json *b)
{
    str id = json_get_string(b, "tool_use_id");
    bool is_error = json_get_bool(b, "is_error", false);
    talk_result(t, id, json_get_string(b, "name"), !is_error, json_get(b, "content"));
}

void talk_anthropic(struct talk *t, const struct json *content, bool is_user)
{
    struct arena a;
    arena_init(&a);
    struct json *said = json_new(&a, JSON_ARRAY);
    if (json_is(content, JSON_STRING)) {
        if (is_user)
            talk_add_text(&a, said, content->s);
        else
            talk_text(t, content->s);
    }
    for (size_t i = 0; json_is(content, JSON_ARRAY) && i < content->len; i++) {
        const struct json *b = &content->items[i];
        str type = json_get_string(b, "type");
        if (str_eq(type, STR("tool_result")))
            result_block(t, b);
        else if (!is_user)
            answer_block(t, b, type);
        else if (str_eq(type, STR("text")))
            talk_add_text(&a, said, json_get_string(b, "text"));
        else
            talk_skip(t, str_eq(type, STR("image")) ? "an image"
                                                    : "a content block of an unknown type");
    }
    talk_user(t, said);
    arena_done(&a);
}
