#include "api/live.h"

#include <errno.h>

#include "runtime/queue.h"

struct watch { /* a conversation in a stream */
    struct watch *next;
    struct live *stream;
    struct seat seat;
    struct feed *feed;     /* NULL until it is known that it may be seen */
    struct store_op *look; /* whether it may be seen, (once more), or NULL */
    store_pos after;
    bool is_child; /* its access is its parent's */
    char id[STORE_ID_MAX + 1];
};

struct live {
    struct tap tap;
    struct api *api;
    struct api_space *space; /* held */
    struct sse *sse;
    struct watch *watches;
    uint64_t number;
    uint16_t nwatches;
    bool is_workspace;
    bool is_closing;
    char names[]; /* what the tap's strings point to */
};

static enum frame_form form(const struct live *s)
{
    return s->is_workspace ? FRAME_MIXED : FRAME_OWN;
}

/* ---- ending ---- */

static void watch_free(struct watch *w)
{
    struct watch **at = &w->stream->watches;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    w->stream->nwatches--;
    hub_stand(&w->seat);
    feed_close(w->feed);
    store_op_cancel(w->look);
    free(w);
}

static void end_watches(struct live *s)
{
    while (s->watches)
        watch_free(s->watches);
}

static void on_closed(void *ctx)
{
    struct live *s = ctx;
    end_watches(s);
    hub_leave(&s->tap);
    api_release(s->api, s->space);
    free(s);
}

/* Nothing more is sent; the rest follows when the connection has ended. */
static void live_end(struct live *s)
{
    if (s->is_closing)
        return;
    s->is_closing = true;
    end_watches(s);
    sse_close(s->sse);
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

static void send_about(struct watch *w, str event, str data)
{
    struct sse_frame *f = frame_of_data(event, data, str_from(w->id), form(w->stream));
    send_frame(w->stream, f);
    sse_frame_unref(f);
}

/* It was deleted, or is not for this person (any more): the two look the same. */
static void watch_end(struct watch *w)
{
    struct live *s = w->stream;
    if (!s->is_workspace) {
        live_end(s);
        return;
    }
    send_about(w, STR("watch.ended"), STR("{}"));
    watch_free(w);
}

/* ---- what a conversation sends ---- */

static void on_event(void *ctx, store_pos pos, str line)
{
    struct watch *w = ctx;
    struct sse_frame *f =
        frame_of_line(pos, line, &w->stream->api->names, str_from(w->id), form(w->stream));
    send_frame(w->stream, f);
    sse_frame_unref(f);
}

static void on_message(void *ctx, struct bus_msg *msg)
{
    struct watch *w = ctx;
    send_frame(w->stream,
               frame_of_msg(msg, &w->stream->api->names, str_from(w->id), form(w->stream)));
}

static void send_queue(struct watch *w)
{
    struct arena a;
    struct api_json j;
    arena_init(&a);
    api_json_begin(&j);
    jw_object(&j.w);
    jw_kval(&j.w, "messages", queue_json(w->stream->space->runtime, str_from(w->id), &a));
    jw_end(&j.w);
    send_about(w, STR("queue.snapshot"), buf_str(&j.buf));
    buf_done(&j.buf);
    arena_done(&a);
}

/* Who joins during an answer first gets all of it that is not in the log yet. */
static void on_live(void *ctx)
{
    struct watch *w = ctx;
    struct runtime *rt = w->stream->space->runtime;
    struct api_json j;
    api_json_begin(&j);
    jw_object(&j.w);
    jw_kstr_or_null(&j.w, "runId", runtime_active_run(rt, str_from(w->id)));
    jw_kstr(&j.w, "text", runtime_streamed(rt, str_from(w->id)));
    jw_end(&j.w);
    send_about(w, STR("text.snapshot"), buf_str(&j.buf));
    buf_done(&j.buf);
    api_json_begin(&j);
    hub_write_presence(w->stream->api, &w->seat, &j.w);
    send_about(w, STR("presence.snapshot"), buf_str(&j.buf));
    buf_done(&j.buf);
    send_queue(w);
}

static void on_reset(void *ctx)
{
    send_about(ctx, STR("reset"), STR("{}"));
}

static void on_end(void *ctx, const struct err *err)
{
    struct watch *w = ctx;
    w->feed = NULL;
    watch_end(w);
}

static void follow(struct watch *w)
{
    static const struct feed_events EVENTS = {
        .on_event = on_event,
        .on_live_event = on_message,
        .on_ephemeral = on_message,
        .on_live = on_live,
        .on_reset = on_reset,
        .on_end = on_end,
    };
    hub_sit(&w->stream->tap, &w->seat, str_from(w->id));
    w->feed = feed_open(w->stream->space->store, str_from(w->id), w->after, &EVENTS, w);
}

/* ---- whether it may be seen ---- */

static void on_looked(void *ctx, const struct err *err, const struct conv *c)
{
    struct watch *w = ctx;
    const struct tap *t = &w->stream->tap;
    w->look = NULL;
    w->is_child = c && c->parent;
    if (err || (!t->is_operator && !access_allows(&t->viewer, &c->acl, CONV_VIEW)))
        watch_end(w);
    else if (!w->feed)
        follow(w);
}

static void look(struct watch *w)
{
    store_op_cancel(w->look);
    w->look = store_get(w->stream->space->store, str_from(w->id), on_looked, w);
}

static void on_role(struct tap *t)
{
    struct live *s = CONTAINER_OF(t, struct live, tap);
    for (struct watch *w = s->watches; w; w = w->next)
        look(w);
}

/* The log of a child run may be looked at by those who see its parent now. */
static void on_shared(struct tap *t)
{
    struct live *s = CONTAINER_OF(t, struct live, tap);
    for (struct watch *w = s->watches; w; w = w->next)
        if (w->is_child)
            look(w);
}

static void on_revoked(struct tap *t, struct seat *seat)
{
    struct live *s = CONTAINER_OF(t, struct live, tap);
    if (seat)
        watch_end(CONTAINER_OF(seat, struct watch, seat));
    else
        live_end(s);
}

static struct watch *find_watch(const struct live *s, str conv_id)
{
    struct watch *w = s->watches;
    while (w && !str_eq(conv_id, str_from(w->id)))
        w = w->next;
    return w;
}

void live_unwatch(struct live *s, str conv_id)
{
    struct watch *w = find_watch(s, conv_id);
    if (w)
        watch_free(w);
}

int live_watch(struct live *s, str conv_id, store_pos after, bool is_checked)
{
    if (!store_id_valid(conv_id))
        return -EINVAL;
    if (find_watch(s, conv_id) || s->is_closing)
        return 0;
    if (s->nwatches >= LIVE_WATCHES_MAX)
        return -ENOSPC;
    struct watch *w = xcalloc(1, sizeof *w);
    w->stream = s;
    w->after = after;
    memcpy(w->id, conv_id.p, conv_id.n);
    w->next = s->watches;
    s->watches = w;
    s->nwatches++;
    if (is_checked)
        follow(w);
    else
        look(w);
    return 0;
}

/* ---- the stream ---- */

static void on_frame(struct tap *t, struct sse_frame *f)
{
    send_frame(CONTAINER_OF(t, struct live, tap), f);
}

static const struct tap_events OWN_EVENTS = {
    .on_revoked = on_revoked, .on_beat = on_frame, .on_role = on_role, .on_shared = on_shared};
static const struct tap_events WORKSPACE_EVENTS = {.on_revoked = on_revoked,
                                                   .on_news = on_frame,
                                                   .on_beat = on_frame,
                                                   .on_role = on_role,
                                                   .on_shared = on_shared};

static char *put(char *at, str *s)
{
    if (s->n > 0)
        memcpy(at, s->p, s->n);
    s->p = at;
    return at + s->n;
}

/* Ten thousand streams wait for something to happen: each is one small block. */
static struct live *live_new(const struct tap *who)
{
    size_t n = who->viewer.user_id.n + who->session_id.n + who->token_id.n;
    struct live *s = xcalloc(1, sizeof *s + n);
    s->tap = *who;
    put(put(put(s->names, &s->tap.viewer.user_id), &s->tap.session_id), &s->tap.token_id);
    return s;
}

struct live *live_open(struct api *api, struct http_req *r, bool is_workspace)
{
    struct tap who = {0};
    tap_identify(&who, &r->arena, api_identity(r));
    struct live *s = live_new(&who);
    s->api = api;
    s->space = api_hold(api, api_space(r));
    s->number = ++api->nstreams;
    s->is_workspace = is_workspace;
    s->tap.ev = is_workspace ? &WORKSPACE_EVENTS : &OWN_EVENTS;
    hub_join(hub_of(api, s->space), &s->tap);
    s->sse = sse_open_watch(r, on_closed, NULL, s); /* the request is gone now */
    return s;
}

struct tap *live_tap(struct live *s)
{
    return &s->tap;
}

uint64_t live_number(const struct live *s)
{
    return s->number;
}

struct live *live_find(struct api *api, const struct http_req *r, str number)
{
    uint64_t wanted;
    const struct viewer *who = &api_identity(r)->viewer;
    struct tap *t = NULL;
    if (parse_u64(number, &wanted) < 0)
        return NULL;
    while ((t = hub_next_tap(hub_of(api, api_space(r)), t)) != NULL) {
        if (t->ev != &WORKSPACE_EVENTS)
            continue;
        struct live *s = CONTAINER_OF(t, struct live, tap);
        if (s->number == wanted && str_eq(t->viewer.user_id, who->user_id))
            return s;
    }
    return NULL;
}
