/* GET /v1/conversations/:id/history - the messages of a conversation, the newest page first. */
#include "api/conversations/history.h"

#include <assert.h>

#include "api/frames.h"
#include "api/handlers.h"
#include "base/json/json_scan.h"
#include "bus/vocabulary.h"
#include "runtime/others/question_remote.h"

#define HISTORY_EVENTS     2000
#define HISTORY_EVENTS_MAX 20000
/* Ceiling for one page, which is in memory until it is read. Only a single run may make it
 * longer. */
#define HISTORY_BYTES     (1024u * 1024)
#define HISTORY_BYTES_MAX (8u * 1024 * 1024)

static void write_tool(struct json_writer *w, struct arena *a, str conv_id,
                       const struct replay_tool *t)
{
    struct frame_call call = {conv_id, t->id};
    const struct json *structured = t->result ? json_get(t->result, "structuredContent") : NULL;
    str child = structured ? json_get_string(structured, "conversationId") : STR_NONE;
    jw_object(w);
    jw_kstr(w, "id", t->id);
    jw_kstr(w, "name", t->name);
    jw_kval(w, "input", t->input);
    frame_write_result(w, a, &call, t->result);
    jw_kbool(w, "ok", t->ok);
    jw_kbool(w, "isAnswered", t->result != NULL);
    jw_kint(w, "ms", t->ms);
    if (child.n > 0 && str_ends(t->name, STR("delegate")))
        jw_kstr(w, "childId", child);
    if (t->ui_uri.n > 0)
        jw_kstr(w, "resourceUri", t->ui_uri);
    jw_end(w);
}

static void write_usage(struct json_writer *w, const struct replay_message *m)
{
    jw_kstr(w, "model", m->model);
    jw_kint(w, "inputTokens", m->usage.input_tokens);
    jw_kint(w, "outputTokens", m->usage.output_tokens);
    jw_kint(w, "cacheReadTokens", m->usage.cache_read_tokens);
    jw_kint(w, "llmMs", m->llm_ms);
    if (m->thinking_ms > 0)
        jw_kint(w, "thinkingMs", m->thinking_ms);
}

static void write_compaction(struct json_writer *w, const struct json *event)
{
    str why = json_get_string(event, "cutBecause");
    jw_kobject(w, "compacted");
    jw_kstr(w, "summary", json_get_string(event, "summary"));
    jw_kint(w, "summarizedMessageCount", json_get_int(event, "summarizedMessageCount", 0));
    if (why.n > 0)
        jw_kstr(w, "cutBecause", why);
    jw_end(w);
}

static void write_history_message(struct json_writer *w, struct arena *a, str conv_id,
                                  const struct replay_message *m)
{
    bool is_user = m->role == REPLAY_USER;
    jw_object(w);
    jw_kstr(w, "role", is_user ? STR("user") : STR("assistant"));
    jw_kstr(w, "content", replay_text(a, m));
    jw_key(w, "parts");
    frame_write_content(w, a, m->content);
    jw_kstr(w, "timestamp", m->ts);
    jw_kint(w, "position", (int64_t)m->pos);
    if (is_user && m->user_id.n > 0)
        jw_kstr(w, "userId", m->user_id);
    if (m->is_for_people)
        jw_kbool(w, "forPeople", true);
    if (m->app.n > 0)
        jw_kstr(w, "app", m->app);
    if (m->context)
        jw_kval(w, "context", m->context);
    if (!is_user) {
        if (m->run_id.n > 0)
            jw_kstr(w, "runId", m->run_id);
        write_usage(w, m);
        jw_karray(w, "toolCalls");
        for (size_t i = 0; i < m->ntools; i++)
            write_tool(w, a, conv_id, &m->tools[i]);
        jw_end(w);
        if (m->asks)
            jw_kval(w, "asks", m->asks);
    }
    if (m->stop_reason.n > 0)
        jw_kstr(w, "stopReason", m->stop_reason);
    if (m->next_run_id.n > 0)
        jw_kstr(w, "nextRunId", m->next_run_id);
    if (m->next_run_id.n > 0 && m->next_skill.n > 0)
        jw_kstr(w, "nextSkill", m->next_skill);
    if (m->compacted)
        write_compaction(w, m->compacted);
    if (m->error.n > 0)
        jw_kstr(w, "error", m->error);
    if (m->error_type.n > 0)
        jw_kstr(w, "errorType", m->error_type);
    jw_end(w);
}

/* A page begins with a user's message, or with the compaction just before one, so that no run is
 * split: calls and their results stay together. Earlier events belong to the previous page. False:
 * no such message exists. */
static bool first_whole(const struct store_page *page, size_t *ret)
{
    *ret = 0;
    if (page->reached_start)
        return true;
    for (size_t i = 0; i < page->n; i++) {
        str type = json_scan_plain(json_scan_field(page->events[i].line, STR("type")));
        if (str_eq(type, event_name(EV_USER_MESSAGE)) ||
            str_eq(type, event_name(EV_HISTORY_COMPACTED))) {
            *ret = i;
            return true;
        }
    }
    return false;
}

/* The run may be another server's; then the log has its questions. */
struct json *history_questions(const struct api_wait *w, const struct history_page *page)
{
    const struct history_wish *wish = w->data;
    struct arena *a = &w->req->arena;
    bool may_be_elsewhere = store_has_leases(w->space->store) && wish->range.before == 0 &&
                            runtime_active_run(w->space->runtime, w->id).n == 0;
    return may_be_elsewhere ? tool_questions_in_log(a, page->lines, page->nlines)
                            : tool_questions_json(w->space->runtime, w->id, a);
}

static void history_reply(struct api_wait *w, const struct err *err,
                          const struct history_page *page)
{
    struct http_req *r = w->req;
    if (err) {
        api_fail(r, FROM_STORE, err);
        return;
    }
    const struct replay *h = &page->messages;
    struct api_json j;
    api_json_begin(&j);
    jw_kstr(&j.w, "conversationId", w->id);
    jw_karray(&j.w, "messages");
    for (size_t i = 0; i < h->n; i++)
        write_history_message(&j.w, &r->arena, w->id, &h->messages[i]);
    jw_end(&j.w);
    jw_kval(&j.w, "ask", replay_ask_json(&r->arena, h));
    jw_kval(&j.w, "inputs", history_questions(w, page));
    jw_kint(&j.w, "end", (int64_t)page->end);
    history_write_before(&j.w, page);
    api_json_send(&j, r);
}

/* ---- pages ---- */

void history_write_before(struct json_writer *w, const struct history_page *page)
{
    jw_key(w, "before");
    if (page->before > 0)
        jw_int(w, (int64_t)page->before);
    else
        jw_null(w);
}

static void give_page(struct api_wait *w, const struct store_page *read, size_t skip)
{
    struct arena *a = &w->req->arena;
    const struct history_wish *wish = w->data;
    assert(skip <= read->n);
    size_t n = read->n - skip;
    str *lines = arena_array(a, n, sizeof *lines);
    store_pos *pos = arena_array(a, n, sizeof *pos);
    for (size_t i = 0; i < n; i++) {
        lines[i] = read->events[skip + i].line;
        pos[i] = read->events[skip + i].pos;
    }
    struct history_page page = {
        .messages = replay_lines(a, lines, pos, n),
        .lines = lines,
        .nlines = n,
        .end = n > 0 ? pos[n - 1] : 0,
        .before = read->reached_start ? 0
                  : skip > 0          ? read->events[skip - 1].pos
                                      : read->start,
    };
    wish->reply(w, NULL, &page);
}

static size_t twice(size_t n, size_t max)
{
    return n < max / 2 ? n * 2 : max;
}

/* False: the page has reached its ceiling. */
static bool make_longer(struct store_range *range)
{
    if (range->max_events >= HISTORY_EVENTS_MAX && range->max_bytes >= HISTORY_BYTES_MAX)
        return false;
    range->max_events = twice(range->max_events, HISTORY_EVENTS_MAX);
    range->max_bytes = twice(range->max_bytes, HISTORY_BYTES_MAX);
    return true;
}

/* A run may be longer than the requested page: then read a longer one. */
static void on_history_page(void *ctx, const struct err *err, const struct store_page *page)
{
    struct api_wait *w = ctx;
    struct history_wish *wish = w->data;
    size_t skip;
    w->op = NULL;
    if (err)
        wish->reply(w, err, NULL);
    else if (!first_whole(page, &skip) && make_longer(&wish->range))
        history_read(w);
    else
        give_page(w, page, skip);
}

void history_read(struct api_wait *w)
{
    const struct history_wish *wish = w->data;
    assert(!w->op && wish->reply);
    w->op = store_read(w->space->store, w->id, &wish->range, on_history_page, w);
}

struct store_range history_range(int64_t limit, int64_t before)
{
    return (struct store_range){.backwards = true,
                                .before = (store_pos)before,
                                .max_events = (size_t)(limit > 0 ? limit : HISTORY_EVENTS),
                                .max_bytes = HISTORY_BYTES};
}

/* ---- the request ---- */

static void history_found(struct api_wait *w, const struct conv *c)
{
    history_read(w);
}

void api_conversations_history(void *ctx, struct http_req *r)
{
    int64_t limit, before;
    if (!api_query_int(r, "limit", HISTORY_EVENTS, HISTORY_EVENTS_MAX, &limit) ||
        !api_query_int(r, "before", 0, INT64_MAX, &before))
        return;
    struct history_wish *wish = ARENA_NEW(&r->arena, struct history_wish);
    wish->range = history_range(limit, before);
    wish->reply = history_reply;
    api_find_conv(ctx, r, wish, history_found);
}
