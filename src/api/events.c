/* GET /v1/conversations/:id/events - a conversation as it happens, from any position on. */
#include "api/frames.h"
#include "api/internal.h"
#include "base/json_scan.h"
#include "http/sse.h"
#include "store/feed.h"

struct watcher {
    struct api *api;
    struct api_space *space; /* held */
    struct sse *sse;
    struct feed *feed;
    struct arena arena;
    str conversation_id;
    struct viewer viewer;
    bool is_operator;
    struct store_op *recheck; /* under way after sharing has changed, or NULL */
};

static void on_closed(void *ctx)
{
    struct watcher *w = ctx;
    if (w->feed)
        feed_close(w->feed);
    if (w->recheck)
        store_op_cancel(w->recheck);
    arena_done(&w->arena);
    api_release(w->api, w->space);
    free(w);
}

/* ---- whose access ends, sees nothing more ---- */

static void on_rechecked(void *ctx, const struct err *err, const struct conv *c)
{
    struct watcher *w = ctx;
    w->recheck = NULL;
    if (err || !access_allows(&w->viewer, &c->acl, CONV_VIEW))
        sse_close(w->sse);
}

static bool changes_access(str line)
{
    str type = json_scan_plain(json_scan_field(line, STR("type")));
    return str_eq(type, STR("metadata.visibility")) || str_eq(type, STR("metadata.participants"));
}

static void recheck(struct watcher *w)
{
    if (w->recheck)
        store_op_cancel(w->recheck);
    w->recheck = store_get(w->space->store, w->conversation_id, on_rechecked, w);
}

/* ---- what is sent ---- */

static void on_event(void *ctx, store_pos pos, str line)
{
    struct watcher *w = ctx;
    struct sse_frame *f = frame_of_line(pos, line);
    if (f)
        (void)sse_send(w->sse, f);
    sse_frame_unref(f);
    if (!w->is_operator && changes_access(line))
        recheck(w);
}

static void on_ephemeral(void *ctx, struct bus_msg *msg)
{
    struct watcher *w = ctx;
    struct sse_frame *f = frame_of_msg(msg);
    if (f)
        (void)sse_send(w->sse, f);
}

/* Who joins during an answer first gets all of it that is not in the log yet. */
static void on_live(void *ctx)
{
    struct watcher *w = ctx;
    struct runtime *rt = w->space->runtime;
    struct api_json j;
    api_json_begin(&j);
    jw_object(&j.w);
    jw_kstr_or_null(&j.w, "runId", runtime_active_run(rt, w->conversation_id));
    jw_kstr(&j.w, "text", runtime_streamed(rt, w->conversation_id));
    jw_end(&j.w);
    api_json_send_event(&j, w->sse, STR("text.snapshot"));
}

static void on_reset(void *ctx)
{
    struct watcher *w = ctx;
    sse_send_now(w->sse, STR("reset"), STR_NONE, STR("{}"));
}

static void on_end(void *ctx, const struct err *err)
{
    struct watcher *w = ctx;
    w->feed = NULL;
    sse_close(w->sse);
}

static void watch(struct api_wait *wait, const struct conv *c)
{
    static const struct feed_events EVENTS = {
        .on_event = on_event,
        .on_ephemeral = on_ephemeral,
        .on_live = on_live,
        .on_reset = on_reset,
        .on_end = on_end,
    };
    struct watcher *w = xcalloc(1, sizeof *w);
    store_pos after = *(const store_pos *)wait->data;
    w->api = wait->api;
    w->space = api_hold(wait->api, wait->space);
    arena_init(&w->arena);
    w->conversation_id = arena_str(&w->arena, c->id);
    w->viewer = wait->viewer;
    w->viewer.user_id = arena_str(&w->arena, wait->viewer.user_id);
    w->is_operator = wait->is_operator;
    w->sse = sse_open(wait->req, on_closed, w); /* the request is gone now */
    w->feed = feed_open(w->space->store, w->conversation_id, after, &EVENTS, w);
}

/* The position to go on from: Last-Event-ID, ?after=, or only what comes. */
static bool parse_after(struct http_req *r, store_pos *ret)
{
    str text = http_get_header(r, "last-event-id");
    if (text.n == 0)
        text = http_query(r, "after");
    *ret = STORE_FEED_TAIL;
    if (text.n == 0 || parse_u64(text, ret) == 0)
        return true;
    http_reply_error(r, 400, "bad_request", "after: expected a position (a whole number)", NULL);
    return false;
}

void api_conversations_events(void *ctx, struct http_req *r)
{
    store_pos *after = ARENA_NEW(&r->arena, store_pos);
    if (parse_after(r, after))
        api_find_conv(ctx, r, CONV_VIEW, after, watch);
}
