/* get_response.c - GET /v1/responses/:response: an answer that was given before, from the log.
 *
 * Reads the log from its end back to the start of the run, and makes of the events of the run what
 * the request got: text, calls, usage. Whoever may see the conversation may read it. */
#include <errno.h>

#include "api/api_impl.h"
#include "api/compat/compat.h"
#include "api/handlers.h"
#include "base/json/json_scan.h"
#include "bus/vocabulary.h"
#include "runtime/history/replay.h"
#include "store/event/event.h"
#include "tools/result.h"

#define PAGE_EVENTS 2000
#define PAGE_BYTES  (2u * 1024 * 1024)
#define PAGES_MAX   16 /* a run that is further back is not found */
#define RUN_BYTES   (16u * 1024 * 1024)

struct stored_response { /* in the arena of the request */
    str run_id;
    struct store_range range;
    unsigned pages;
    str *lines; /* of the run, newest first */
    size_t n, cap, bytes;
    int64_t started_ms;
    str model, error; /* of run.start and run.error */
    bool is_hidden, has_start, has_end;
};

/* ---- the answer ---- */

static enum run_stop stop_of(str name)
{
    for (enum run_stop s = RUN_STOP_COMPLETE; s < RUN_STOP_ERROR; s++)
        if (str_eq(name, str_from(run_stop_name(s))))
            return s;
    return RUN_STOP_ERROR;
}

static str text_of_result(struct arena *a, const struct json *result)
{
    const struct tool_result r = {.content = json_get(result, "content")};
    str preview = json_get_string(result, "preview"); /* of a result that is a blob */
    return preview.n > 0 ? preview : tool_result_to_text(a, &r);
}

/* A call without a result is one that the program executes. */
static void add_call(struct arena *a, struct run_result *ret, struct run_tool_record *tools,
                     struct run_client_call *calls, const struct replay_tool *t)
{
    str args = json_is(t->input, JSON_OBJECT) ? json_to_str(a, t->input) : STR("{}");
    if (t->result)
        tools[ret->ntools++] = (struct run_tool_record){
            t->id, t->name, args, text_of_result(a, t->result), t->ok, (uint64_t)t->ms};
    else if (ret->stop == RUN_STOP_CLIENT_TOOLS)
        calls[ret->nclient_calls++] = (struct run_client_call){t->id, t->name, args};
}

static void read_run(struct arena *a, const struct replay *h, struct run_result *ret)
{
    str *texts = arena_array(a, h->n, sizeof *texts);
    size_t ntexts = 0, max = 0;
    ret->stop = h->n > 0 ? stop_of(h->messages[h->n - 1].stop_reason) : RUN_STOP_ERROR;
    for (size_t i = 0; i < h->n; i++)
        max += h->messages[i].ntools;
    struct run_tool_record *tools = arena_array(a, max, sizeof *tools);
    struct run_client_call *calls = arena_array(a, max, sizeof *calls);
    for (size_t i = 0; i < h->n; i++) {
        const struct replay_message *m = &h->messages[i];
        str text = replay_text(a, m);
        if (text.n > 0)
            texts[ntexts++] = text;
        conv_usage_add(&ret->usage, &m->usage);
        for (size_t k = 0; k < m->ntools; k++)
            add_call(a, ret, tools, calls, &m->tools[k]);
    }
    ret->tools = tools;
    ret->client_calls = calls;
    ret->response = compat_join(a, texts, ntexts);
}

static void reply_response(struct api_wait *w, const struct stored_response *s)
{
    struct arena *a = &w->req->arena;
    str *lines = arena_array(a, s->n, sizeof *lines);
    for (size_t i = 0; i < s->n; i++)
        lines[i] = s->lines[s->n - 1 - i];
    struct replay h = replay_lines(a, lines, NULL, s->n);
    struct run_result run = {0};
    read_run(a, &h, &run);
    if (!s->has_end) {
        http_reply_error(w->req, 409, "run_in_progress", "The answer is not complete.", NULL);
        return;
    }
    struct compat_answer answer = {.created_s = s->started_ms / 1000, .is_listed = !s->is_hidden};
    snprintf(answer.conversation_id, sizeof answer.conversation_id, "%.*s", STR_ARG(w->id));
    snprintf(answer.run_id, sizeof answer.run_id, "%.*s", STR_ARG(s->run_id));
    snprintf(answer.model, sizeof answer.model, "%.*s", STR_ARG(s->model));
    struct api_json j;
    api_json_value(&j);
    compat_write_stored(&j.w, &answer, &run, s->error);
    api_json_send(&j, w->req);
}

/* ---- reading ---- */

static void read_answers(struct api_wait *w);

/* The run ends with this event: what follows belongs to later requests. */
static bool is_end(enum event_type type)
{
    return type == EV_RUN_DONE || type == EV_RUN_ERROR;
}

static void take_line(struct arena *a, struct stored_response *s, str line)
{
    enum event_type type = event_type_of(json_scan_plain(json_scan_field(line, STR("type"))));
    struct json *event = NULL;
    s->has_start = type == EV_RUN_START;
    if (is_end(type) || s->has_start)
        (void)json_parse(a, line, JSON_COPY, &event, NULL);
    if (is_end(type)) {
        s->n = s->bytes = 0;
        s->has_end = true;
        s->error = json_get_string(event, "error");
    }
    if (s->has_start) {
        (void)event_time(event, &s->started_ms);
        s->model = json_get_string(event, "model");
    }
    ARENA_GROW(a, s->lines, s->n, s->cap);
    s->lines[s->n++] = arena_str(a, line);
    s->bytes += line.n;
}

static void on_response_page(void *ctx, const struct err *err, const struct store_page *page)
{
    struct api_wait *w = ctx;
    struct stored_response *s = w->data;
    w->op = NULL;
    if (err) {
        api_fail(w->req, FROM_STORE, err);
        return;
    }
    for (size_t i = page->n; i > 0 && !s->has_start && s->bytes <= RUN_BYTES; i--) {
        str line = page->events[i - 1].line;
        if (str_eq(json_scan_plain(json_scan_field(line, STR("runId"))), s->run_id))
            take_line(&w->req->arena, s, line);
    }
    if (s->has_start)
        reply_response(w, s);
    else if (page->reached_start || page->n == 0 || ++s->pages == PAGES_MAX || s->bytes > RUN_BYTES)
        api_not_found(w->req, "response");
    else {
        s->range.before = page->start;
        read_answers(w);
    }
}

static void read_answers(struct api_wait *w)
{
    struct stored_response *s = w->data;
    w->op = store_read(w->space->store, w->id, &s->range, on_response_page, w);
}

/* One that the caller may not see does not exist for them. */
static void on_response_conv(void *ctx, const struct err *err, const struct conv *c)
{
    struct api_wait *w = ctx;
    struct stored_response *s = w->data;
    w->op = NULL;
    if (err && err->code != -ENOENT) {
        api_fail(w->req, FROM_STORE, err);
    } else if (err || !api_may(w, c, CONV_VIEW)) {
        api_not_found(w->req, "response");
    } else {
        s->is_hidden = c->is_hidden;
        read_answers(w);
    }
}

void api_compat_response_get(void *ctx, struct http_req *r)
{
    struct stored_response *s = ARENA_NEW(&r->arena, struct stored_response);
    str conversation_id;
    s->range =
        (struct store_range){.backwards = true, .max_events = PAGE_EVENTS, .max_bytes = PAGE_BYTES};
    if (!compat_parse_response_id(&r->arena, r->params[0], &conversation_id, &s->run_id)) {
        api_not_found(r, "response");
        return;
    }
    struct api_wait *w = api_wait_new(ctx, r);
    w->id = conversation_id;
    w->data = s;
    w->op = store_get(w->space->store, w->id, on_response_conv, w);
}
