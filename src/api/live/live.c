#include "api/live/live.h"

#include <assert.h>
#include <errno.h>

#include "api/api_impl.h"
#include "bus/vocabulary.h"
#include "runtime/queue/queue.h"

struct live_conv { /* one conversation in a stream */
    struct live_conv *next;
    struct live *stream;
    struct watch watch;
    struct feed *feed;     /* NULL until the right to see it was checked */
    struct store_op *look; /* a check of the right to see it, or NULL */
    store_pos after;
    bool is_child; /* its access is that of its parent conversation */
    char id[STORE_ID_MAX + 1];
};

struct live {
    struct watcher watcher;
    struct api *api;
    const struct live_kind *kind;
    void *owner; /* for the callbacks of the kind */
    struct sse *sse;
    struct live_conv *convs;
    uint64_t number;
    uint16_t nconvs;
    bool is_closing; /* then it has no conversations, and sends nothing */
};

const struct live_kind LIVE_CONVERSATION = {.form = FRAME_OWN};
const struct live_kind LIVE_WORKSPACE = {.form = FRAME_MIXED, .has_news = true};

/* ---- ending ---- */

/* In any state: stopping a watch, closing a feed and cancelling a check all accept "not started".
 */
static void live_conv_free(struct live_conv *lc)
{
    struct live_conv **at = &lc->stream->convs;
    assert(lc->stream->nconvs > 0);
    while (*at != lc)
        at = &(*at)->next;
    *at = lc->next;
    lc->stream->nconvs--;
    hub_watch_stop(&lc->watch);
    feed_close(lc->feed);
    store_op_cancel(lc->look);
    free(lc);
}

static void end_convs(struct live *s)
{
    while (s->convs)
        live_conv_free(s->convs);
    assert(s->nconvs == 0);
}

static void on_live_closed(void *ctx)
{
    struct live *s = ctx;
    if (s->kind->on_closed)
        s->kind->on_closed(s->owner);
    end_convs(s); /* a watcher leaves the hub after its watches */
    hub_leave(&s->watcher);
    api_release(s->api, s->watcher.space);
    free(s);
}

void live_end(struct live *s)
{
    if (s->is_closing)
        return;
    s->is_closing = true;
    end_convs(s);
    sse_close(s->sse);
}

/* The access is gone, not the client: the owner may tell the client why before the end. */
static void live_lose(struct live *s)
{
    if (!s->is_closing && s->kind->on_lost)
        s->kind->on_lost(s->owner);
    live_end(s);
}

static void send_frame(struct live *s, struct sse_frame *f)
{
    if (f && !s->is_closing)
        (void)sse_send(s->sse, f);
}

void live_send(struct live *s, str event, str id, str data)
{
    if (!s->is_closing)
        sse_send_now(s->sse, event, id, data);
}

void live_send_json(struct live *s, str event, struct api_json *j)
{
    str text = api_json_text(j);
    if (buf_failed(&j->buf))
        live_send(s, STR("error"), STR_NONE, STR("{\"error\":\"too_large\"}"));
    else
        live_send(s, event, STR_NONE, text);
    buf_done(&j->buf);
}

static void send_about(struct live_conv *lc, str event, str data)
{
    enum frame_form form = lc->stream->kind->form;
    struct sse_frame *f = frame_of_data(event, data, str_from(lc->id), form);
    send_frame(lc->stream, f);
    sse_frame_unref(f);
}

static void send_json_about(struct live_conv *lc, str event, struct api_json *j)
{
    send_about(lc, event, api_json_text(j));
    buf_done(&j->buf);
}

/* The conversation was deleted, or this person may not see it (any more): clients cannot tell the
 * difference. */
static void live_conv_end(struct live_conv *lc)
{
    struct live *s = lc->stream;
    if (s->kind->form == FRAME_OWN) {
        live_lose(s);
        return;
    }
    send_about(lc, event_name(EV_WATCH_ENDED), STR("{}"));
    live_conv_free(lc);
}

/* ---- messages of a conversation ---- */

static void on_stored_event(void *ctx, store_pos pos, str line)
{
    struct live_conv *lc = ctx;
    if (!hub_allows(&lc->watch))
        return;
    const struct live *s = lc->stream;
    struct sse_frame *f = frame_of_line(pos, line, &s->api->names, str_from(lc->id), s->kind->form);
    send_frame(lc->stream, f);
    sse_frame_unref(f);
}

static bool is_hidden(const struct live_kind *kind, str type)
{
    for (size_t i = 0; i < kind->nhidden; i++)
        if (str_eq(type, event_name(kind->hidden[i])))
            return true;
    return false;
}

/* A frame made for the bus message is shared with all other streams of the conversation. */
static void on_message(void *ctx, struct bus_msg *msg)
{
    struct live_conv *lc = ctx;
    struct live *s = lc->stream;
    if (is_hidden(s->kind, msg->type) || !hub_allows(&lc->watch))
        return;
    if (s->kind->on_message) {
        s->kind->on_message(s->owner, msg); /* which may free the stream */
        return;
    }
    send_frame(s, frame_of_msg(msg, &s->api->names, str_from(lc->id), s->kind->form));
    if (!s->is_closing && sse_is_late(s->sse))
        msg->is_watcher_late = true;
}

static void send_queue(struct live_conv *lc)
{
    struct arena a;
    struct api_json j;
    arena_init(&a);
    api_json_begin(&j);
    jw_kval(&j.w, "messages", queue_json(lc->stream->watcher.space->runtime, str_from(lc->id), &a));
    send_json_about(lc, event_name(EV_QUEUE_SNAPSHOT), &j);
    arena_done(&a);
}

/* A stream that joins during an answer first gets the part that is not in the log yet. */
static void on_live(void *ctx)
{
    struct live_conv *lc = ctx;
    struct runtime *rt = lc->stream->watcher.space->runtime;
    struct api_json j;
    if (!hub_allows(&lc->watch))
        return;
    api_json_begin(&j);
    jw_kstr_or_null(&j.w, "runId", runtime_active_run(rt, str_from(lc->id)));
    jw_kstr(&j.w, "text", runtime_streamed(rt, str_from(lc->id)));
    jw_key(&j.w, "calls");
    runtime_write_drafts(rt, str_from(lc->id), &j.w);
    runtime_write_status(rt, str_from(lc->id), &j.w);
    bool is_here = runtime_active_run(rt, str_from(lc->id)).n > 0;
    struct store *store = lc->stream->watcher.space->store;
    if (!is_here && store_has_leases(store)) /* perhaps; then that server sends the text */
        jw_kbool(&j.w, "elsewhere", true);
    send_json_about(lc, event_name(EV_TEXT_SNAPSHOT), &j);
    api_json_value(&j);
    hub_write_presence(lc->stream->api, &lc->watch, &j.w);
    send_json_about(lc, event_name(EV_PRESENCE_SNAPSHOT), &j);
    send_queue(lc);
}

/* The position of the client does not exist any more; the log follows from its beginning. */
static void on_reset(void *ctx)
{
    send_about(ctx, STR("reset"), STR("{}"));
}

static void on_live_end(void *ctx, const struct err *err)
{
    struct live_conv *lc = ctx;
    assert(lc->feed && lc->watch.conv);
    lc->feed = NULL; /* it frees itself */
    live_conv_end(lc);
}

static const struct feed_events FEED_EVENTS = {
    .on_event = on_stored_event,
    .on_live_event = on_message,
    .on_ephemeral = on_message,
    .on_live = on_live,
    .on_reset = on_reset,
    .on_end = on_live_end,
};

/* The watch comes first: the feed may call back immediately, and every callback asks hub_allows. */
static void live_follow(struct live_conv *lc, const struct conv_acl *acl)
{
    assert(!lc->feed && !lc->watch.conv);
    hub_watch_start(&lc->stream->watcher, &lc->watch, str_from(lc->id), acl);
    lc->feed =
        feed_open(lc->stream->watcher.space->store, str_from(lc->id), lc->after, &FEED_EVENTS, lc);
}

/* ---- the right to see a conversation ---- */

static void on_live_looked(void *ctx, const struct err *err, const struct conv *c)
{
    struct live_conv *lc = ctx;
    assert(lc->look && !lc->stream->is_closing);
    lc->look = NULL;
    lc->is_child = c && c->parent;
    if (err || !actor_allows(lc->stream->watcher.actor, &c->acl, CONV_VIEW))
        live_conv_end(lc);
    else if (lc->feed) /* a repeated check of a conversation that is followed already */
        hub_set_acl(&lc->watch, &c->acl);
    else
        live_follow(lc, &c->acl);
}

/* Only the newest check counts; an older one could return rules from before the change. */
static void live_look(struct live_conv *lc)
{
    store_op_cancel(lc->look);
    lc->look = store_get(lc->stream->watcher.space->store, str_from(lc->id), on_live_looked, lc);
}

/* Conversations whose check is in progress are checked with the new role when they are found. */
static void on_role(struct watcher *watcher)
{
    struct live *s = CONTAINER_OF(watcher, struct live, watcher);
    for (struct live_conv *lc = s->convs, *next; lc && !s->is_closing; lc = next) {
        next = lc->next; /* live_conv_end frees lc */
        if (lc->watch.conv && !hub_allows(&lc->watch))
            live_conv_end(lc);
    }
}

/* The log of a child run may be seen by those who may see its parent, so check it again. */
static void on_shared(struct watcher *watcher)
{
    struct live *s = CONTAINER_OF(watcher, struct live, watcher);
    for (struct live_conv *lc = s->convs; lc; lc = lc->next)
        if (lc->is_child)
            live_look(lc);
}

/* Called by the hub: for one conversation, or for the whole stream (watch NULL). */
static void on_revoked(struct watcher *watcher, struct watch *watch)
{
    struct live *s = CONTAINER_OF(watcher, struct live, watcher);
    if (watch)
        live_conv_end(CONTAINER_OF(watch, struct live_conv, watch));
    else
        live_lose(s);
}

static struct live_conv *find_conv(const struct live *s, str conv_id)
{
    struct live_conv *lc = s->convs;
    while (lc && !str_eq(conv_id, str_from(lc->id)))
        lc = lc->next;
    return lc;
}

void live_unwatch(struct live *s, str conv_id)
{
    struct live_conv *lc = find_conv(s, conv_id);
    if (lc)
        live_conv_free(lc);
}

static struct live_conv *live_conv_new(struct live *s, str conv_id, store_pos after)
{
    assert(!s->is_closing && conv_id.n <= STORE_ID_MAX);
    struct live_conv *lc = xcalloc(1, sizeof *lc);
    lc->stream = s;
    lc->after = after;
    memcpy(lc->id, conv_id.p, conv_id.n);
    lc->next = s->convs;
    s->convs = lc;
    s->nconvs++;
    return lc;
}

int live_watch(struct live *s, str conv_id, store_pos after, const struct conv_acl *acl)
{
    assert(!s->kind->is_answer);
    if (!store_id_valid(conv_id))
        return -EINVAL;
    if (find_conv(s, conv_id) || s->is_closing) /* watching twice is not an error */
        return 0;
    if (s->nconvs >= LIVE_WATCHES_MAX)
        return -ENOSPC;
    struct live_conv *lc = live_conv_new(s, conv_id, after);
    if (acl)
        live_follow(lc, acl);
    else
        live_look(lc);
    return 0;
}

/* The turn has checked the right to send. The watch asks for the right to see before each frame. */
void live_answer(struct live *s, str conv_id)
{
    assert(s->kind->is_answer && !s->convs);
    struct live_conv *lc = live_conv_new(s, conv_id, 0);
    hub_watch_start(&s->watcher, &lc->watch, conv_id, NULL);
}

/* The feed begins here and not in live_answer: events of the run before are not for this stream. */
void live_answer_begin(struct live *s)
{
    struct live_conv *lc = s->convs;
    if (s->is_closing)
        return;
    assert(s->nconvs == 1 && lc->watch.conv && !lc->feed);
    lc->feed = feed_open_live(s->watcher.space->store, str_from(lc->id), &FEED_EVENTS, lc);
}

str live_answer_id(const struct live *s)
{
    return s->convs ? str_from(s->convs->id) : STR_NONE;
}

/* ---- the stream ---- */

static void on_frame(struct watcher *watcher, struct sse_frame *f)
{
    send_frame(CONTAINER_OF(watcher, struct live, watcher), f);
}

static const struct watcher_events EVENTS = {
    .on_revoked = on_revoked, .on_frame = on_frame, .on_role = on_role, .on_shared = on_shared};

struct live *live_open(struct api *api, struct http_req *r, const struct live_kind *kind,
                       void *owner)
{
    struct live *s = xcalloc(1, sizeof *s);
    *s = (struct live){.api = api, .kind = kind, .owner = owner, .number = ++api->nstreams};
    s->watcher.ev = &EVENTS;
    s->watcher.wants_news = kind->has_news;
    s->watcher.wants_heartbeat = !kind->is_answer;
    assert(!kind->is_answer || (kind->on_lost && kind->on_closed));
    hub_join(api, api_hold(api, api_space(r)), &s->watcher, api_actor(r));
    /* the request is freed now */
    s->sse = kind->is_answer ? sse_open(r, on_live_closed, s)
                             : sse_open_watch(r, on_live_closed, NULL, s);
    return s;
}

struct watcher *live_watcher(struct live *s)
{
    return &s->watcher;
}

uint64_t live_number(const struct live *s)
{
    return s->number;
}

/* Only the person who opened a stream may change it; other numbers look as if they did not exist.
 */
struct live *live_find(struct api *api, const struct http_req *r, str number)
{
    uint64_t wanted;
    struct watcher *watcher = NULL;
    if (parse_u64(number, &wanted) < 0)
        return NULL;
    while ((watcher = hub_next_watcher(hub_of(api, api_space(r)), watcher)) != NULL) {
        struct live *s = CONTAINER_OF(watcher, struct live, watcher);
        if (watcher->ev == &EVENTS && s->kind == &LIVE_WORKSPACE && s->number == wanted &&
            str_eq(actor_user(watcher->actor), api_user(r)))
            return s;
    }
    return NULL;
}
