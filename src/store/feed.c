/* feed.c - the states of a feed: reading pages of the log, then live. Messages that arrive while it
 * reads are dropped: events are published after they are in the log, so that the next page returns
 * them. */
#include "store/feed.h"

#include <assert.h>
#include <errno.h>

#include "bus/vocabulary.h"
#include "store/backend/backend.h"

enum { PAGE_EVENTS = 256, PAGE_BYTES = 1024 * 1024 };

struct feed {
    struct store *store;
    char *id;
    struct feed_events ev;
    void *ctx;
    struct bus_sub *sub;
    struct store_op *op; /* the pending read */
    store_pos at;        /* delivered up to here */
    store_pos published; /* the newest position seen on the bus */
    uint64_t echo;       /* store_ops.feed_live */
    bool is_live;
    bool is_delivering; /* a callback is running: closing must wait until it returns */
    bool is_closed;
};

static void read_on(struct feed *f);

static void let_go(struct feed *f)
{
    store_op_cancel(f->op);
    bus_unsubscribe(f->sub);
    f->op = NULL;
    f->sub = NULL;
    f->is_closed = true;
}

static void feed_free(struct feed *f)
{
    assert(f->is_closed && !f->op && !f->sub);
    free(f->id);
    free(f);
}

void feed_close(struct feed *f)
{
    if (!f)
        return;
    let_go(f);
    if (!f->is_delivering)
        feed_free(f);
}

static void feed_end(struct feed *f, const struct err *err)
{
    void (*on_end)(void *, const struct err *) = f->ev.on_end;
    void *ctx = f->ctx;
    struct err copy = *err;
    let_go(f);
    feed_free(f);
    if (on_end)
        on_end(ctx, &copy);
}

static bool is_deleted(const struct bus_msg *msg)
{
    return msg->pos == 0 && str_eq(msg->type, event_name(EV_CONVERSATION_DELETED));
}

/* It may belong in front of lines that were delivered already, and text.snapshot follows. */
static bool is_stale(const struct feed *f, const struct bus_msg *msg)
{
    return msg->is_of_other_run && msg->heard < f->echo;
}

static void on_msg(void *ctx, struct bus_msg *msg)
{
    struct feed *f = ctx;
    if (is_deleted(msg)) {
        struct err gone = {0};
        err_set(&gone, -ENOENT, "the conversation was deleted");
        feed_end(f, &gone);
        return;
    }
    if (msg->pos > f->published)
        f->published = msg->pos;
    if (!f->is_live)
        return;
    if (msg->pos == 0) {
        if (f->ev.on_ephemeral && !is_stale(f, msg))
            f->ev.on_ephemeral(f->ctx, msg);
    } else if (msg->pos > f->at) {
        f->at = msg->pos;
        if (f->ev.on_live_event)
            f->ev.on_live_event(f->ctx, msg);
        else if (f->ev.on_event)
            f->ev.on_event(f->ctx, msg->pos, msg->data);
    }
}

static void go_live(struct feed *f)
{
    assert(!f->is_live && !f->is_closed && !f->op);
    f->is_live = true;
    if (f->store->ops->feed_live)
        f->echo = f->store->ops->feed_live(f->store, str_from(f->id), f->at);
    if (f->ev.on_live)
        f->ev.on_live(f->ctx);
}

/* After callbacks: false when one of them closed the feed, which is now freed. */
static bool is_still_open(struct feed *f)
{
    assert(f->is_delivering);
    f->is_delivering = false;
    if (!f->is_closed)
        return true;
    feed_free(f);
    return false;
}

static bool feed_deliver(struct feed *f, const struct store_page *page)
{
    assert(!f->is_delivering && !f->is_closed && !f->op);
    f->is_delivering = true;
    for (size_t i = 0; i < page->n && !f->is_closed; i++) {
        f->at = page->events[i].pos;
        if (f->ev.on_event)
            f->ev.on_event(f->ctx, page->events[i].pos, page->events[i].line);
    }
    return is_still_open(f);
}

static void start_over(struct feed *f)
{
    f->is_live = false;
    f->at = 0;
    f->published = 0;
    f->is_delivering = true;
    if (f->ev.on_reset)
        f->ev.on_reset(f->ctx);
    if (is_still_open(f))
        read_on(f);
}

static void on_feed_page(void *ctx, const struct err *err, const struct store_page *page)
{
    struct feed *f = ctx;
    f->op = NULL;
    if (err)
        feed_end(f, err);
    else if (page->is_beyond_end)
        start_over(f);
    else if (!feed_deliver(f, page))
        return;
    else if (!page->reached_end || f->published > f->at)
        read_on(f);
    else
        go_live(f);
}

static void read_on(struct feed *f)
{
    struct store_range range = {.after = f->at, .max_events = PAGE_EVENTS, .max_bytes = PAGE_BYTES};
    f->op = store_read(f->store, str_from(f->id), &range, on_feed_page, f);
}

static void on_conv(void *ctx, const struct err *err, const struct conv *conv)
{
    struct feed *f = ctx;
    f->op = NULL;
    if (err) {
        feed_end(f, err);
        return;
    }
    f->at = conv->end;
    if (f->published > f->at)
        read_on(f);
    else
        go_live(f);
}

static struct feed *feed_new(struct store *s, str id, const struct feed_events *ev, void *ctx)
{
    struct feed *f = xcalloc(1, sizeof(*f));
    *f = (struct feed){.store = s, .id = str_dup(id), .ev = *ev, .ctx = ctx};
    struct arena a;
    arena_init(&a);
    f->sub = bus_subscribe(s->env->bus, store_topic(&a, s, id), on_msg, f);
    arena_done(&a);
    return f;
}

struct feed *feed_open_live(struct store *s, str id, const struct feed_events *ev, void *ctx)
{
    struct feed *f = feed_new(s, id, ev, ctx);
    f->is_live = true;
    return f;
}

struct feed *feed_open(struct store *s, str id, store_pos after, const struct feed_events *ev,
                       void *ctx)
{
    struct feed *f = feed_new(s, id, ev, ctx);
    if (after == STORE_FEED_TAIL) {
        f->op = store_get(s, id, on_conv, f);
    } else {
        f->at = after;
        read_on(f);
    }
    return f;
}
