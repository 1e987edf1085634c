#include "store/postgres/pg_relay.h"

#include <assert.h>
#include <errno.h>

#include "base/json/json_scan.h"
#include "bus/vocabulary.h"
#include "store/postgres/pg_store.h"
#include "store/replica/pg_relay_impl.h"

enum { PAGE_EVENTS = 256, PAGE_BYTES = 1024 * 1024 };

/* ---- what waits for the lines in front of it ---- */

struct waiting_event {
    struct list_node node;
    struct arena arena;
    struct bus_msg msg;
    store_pos after; /* lines up to here were announced when it arrived */
};

static void conv_wait(struct relay_conv *v, const struct bus_msg *msg)
{
    if (v->nwaiting == RELAY_WAITING)
        return;
    struct waiting_event *e = xcalloc(1, sizeof *e);
    arena_init(&e->arena);
    e->msg = (struct bus_msg){.topic = arena_str(&e->arena, msg->topic),
                              .type = arena_str(&e->arena, msg->type),
                              .data = arena_str(&e->arena, msg->data),
                              .is_of_other_run = msg->is_of_other_run,
                              .heard = msg->heard};
    e->after = v->wanted;
    list_push(&v->waiting, &e->node);
    v->nwaiting++;
}

/* NULL: those that are left belong behind a later line. */
static struct waiting_event *next_waiting(struct relay_conv *v, store_pos published)
{
    struct list_node *n = v->nwaiting > 0 ? v->waiting.next : NULL;
    struct waiting_event *e = n ? LIST_ENTRY(n, struct waiting_event, node) : NULL;
    if (!e || e->after > published)
        return NULL;
    list_del(&e->node);
    v->nwaiting--;
    return e;
}

static void waiting_free(struct waiting_event *e)
{
    arena_done(&e->arena);
    free(e);
}

/* ---- a watched conversation ---- */

static void conv_read(struct relay_conv *v);

struct relay_conv *relay_conv_of(const struct pg_relay *r, str key)
{
    return map_get(&r->convs, key);
}

static str conv_key(const struct store *s, str id, char *place, size_t size)
{
    int n = snprintf(place, size, "%s/%.*s", s->conf.workspace_id, STR_ARG(id));
    return str_make(place, n > 0 && (size_t)n < size ? (size_t)n : 0);
}

static void conv_free(struct relay_conv *v)
{
    struct waiting_event *e;
    store_op_cancel(v->op);
    while ((e = next_waiting(v, UINT64_MAX)) != NULL)
        waiting_free(e);
    arena_done(&v->arena);
    free(v);
}

static void unwatch(struct pg_relay *r, struct relay_conv *v)
{
    if (!v)
        return;
    pg_outbox_watch(r->db, pg_workspace(v->store), v->id, false);
    relay_tell_watch(r, pg_workspace(v->store), v->id, false);
    conv_free(v);
}

/* "conv/<workspace>/<id>": streams of it begin or end here. */
void relay_on_topic(void *ctx, str topic, bool is_watched)
{
    struct pg_relay *r = ctx;
    if (!str_starts(topic, STR("conv/")))
        return;
    str key = str_skip(topic, 5);
    if (!is_watched) {
        unwatch(r, map_del(&r->convs, key));
        return;
    }
    ptrdiff_t slash = str_find_char(key, '/');
    struct store *s = slash > 0 ? relay_store(r, str_slice(key, 0, (size_t)slash)) : NULL;
    if (!s)
        return;
    struct relay_conv *v = xcalloc(1, sizeof *v);
    arena_init(&v->arena);
    list_init(&v->waiting);
    v->relay = r;
    v->store = s;
    v->topic = arena_str(&v->arena, topic);
    v->id = arena_str(&v->arena, str_skip(key, (size_t)slash + 1));
    assert(!map_get(&r->convs, key));
    map_put(&r->convs, key, v);
    pg_outbox_watch(r->db, pg_workspace(s), v->id, true);
    relay_tell_watch(r, pg_workspace(s), v->id, true);
}

/* True if v still exists: a subscriber may have ended the last stream of it. */
static bool is_watched(struct pg_relay *r, str key, const struct relay_conv *v)
{
    return relay_conv_of(r, key) == v;
}

/* Publishes what belongs in front of the line after `published`, unless a reading begins meanwhile.
 * False: nobody watches any more. */
static bool publish_waiting(struct relay_conv *v, store_pos published)
{
    struct pg_relay *r = v->relay;
    struct waiting_event *e;
    char place[512];
    str key = conv_key(v->store, v->id, place, sizeof place);
    while (!v->op && (e = next_waiting(v, published)) != NULL) {
        bus_publish(r->bus, &e->msg);
        waiting_free(e);
        if (!is_watched(r, key, v))
            return false;
    }
    return true;
}

static void publish_line(struct relay_conv *v, store_pos pos, str line)
{
    struct bus_msg msg = {.topic = v->topic,
                          .type = json_scan_plain(json_scan_field(line, STR("type"))),
                          .data = line,
                          .pos = pos};
    v->known = pos;
    bus_publish(v->relay->bus, &msg);
}

/* The rules of the conversation for the streams here, which end if they have to. No news. */
static void publish_rules(struct relay_conv *v, const struct conv *c)
{
    struct arena a;
    arena_init(&a);
    const struct bus_audience audience = {.conversation_id = v->id, .acl = c->acl};
    struct bus_msg msg = {.topic = store_space_topic(&a, v->store),
                          .type = event_name(EV_CONVERSATION_SHARED),
                          .audience = &audience};
    bus_publish(v->relay->bus, &msg);
    arena_done(&a);
}

static void publish_deleted(struct relay_conv *v)
{
    struct bus_msg msg = {.topic = v->topic,
                          .type = event_name(EV_CONVERSATION_DELETED),
                          .data = STR("{\"type\":\"conversation.deleted\"}")};
    bus_publish(v->relay->bus, &msg);
}

/* Lines first; without any to read, what has waited for them. */
static void conv_continue(struct relay_conv *v)
{
    if (v->is_known && v->wanted > v->known)
        conv_read(v);
    else
        (void)publish_waiting(v, UINT64_MAX);
}

static void on_refreshed(void *ctx, const struct err *err, const struct conv *c)
{
    struct relay_conv *v = ctx;
    struct pg_relay *r = v->relay;
    char place[512];
    str key = conv_key(v->store, v->id, place, sizeof place);
    v->op = NULL;
    v->has_failed = err && err->code != -ENOENT;
    if (err) {
        if (err->code == -ENOENT)
            publish_deleted(v);
        return;
    }
    v->checked = c->end;
    publish_rules(v, c);
    if (is_watched(r, key, v))
        conv_continue(v);
}

/* A read that failed has left lines behind: nobody may tell about the log again. */
void relay_conv_retry(struct relay_conv *v)
{
    if (!v->op && v->has_failed)
        relay_conv_refresh(v);
}

void relay_conv_refresh(struct relay_conv *v)
{
    if (!v->op)
        v->op = store_get(v->store, v->id, on_refreshed, v);
}

static bool is_about_sharing(str line)
{
    str type = json_scan_plain(json_scan_field(line, STR("type")));
    return str_eq(type, event_name(EV_VISIBILITY)) || str_eq(type, event_name(EV_PARTICIPANTS));
}

static void publish_page(struct relay_conv *v, const struct store_page *page)
{
    struct pg_relay *r = v->relay;
    char place[512];
    str key = conv_key(v->store, v->id, place, sizeof place);
    for (size_t i = 0; i < page->n; i++) {
        if (page->events[i].pos <= v->known)
            continue;
        if (!publish_waiting(v, page->events[i].pos - 1))
            return;
        publish_line(v, page->events[i].pos, page->events[i].line);
        if (!is_watched(r, key, v))
            return;
    }
    /* An append that was refused has announced lines that do not exist. */
    if (page->reached_end && v->wanted == v->reading_to && v->wanted > v->known)
        v->wanted = v->known;
    conv_continue(v);
}

static void on_relay_page(void *ctx, const struct err *err, const struct store_page *page)
{
    struct relay_conv *v = ctx;
    v->op = NULL;
    if (!err && page->is_beyond_end) /* the database is older than it was: feeds know what is new */
        v->known = v->wanted = 0;
    if (err && err->code != -ENOENT) {
        v->has_failed = true; /* the next pulse reads again (relay_conv_retry) */
        return;
    }
    if (err || page->is_beyond_end) {
        relay_conv_refresh(v);
        return;
    }
    if (v->known < v->reading_after) { /* a feed that has less began meanwhile */
        conv_read(v);
        return;
    }
    for (size_t i = 0; i < page->n; i++)
        if (page->events[i].pos > v->checked && is_about_sharing(page->events[i].line)) {
            relay_conv_refresh(v); /* the rules first; then the lines are read again */
            return;
        }
    publish_page(v, page);
}

/* Not beyond what was announced: events that belong in front of later lines are still under way. */
static void conv_read(struct relay_conv *v)
{
    store_pos more = v->wanted - v->known;
    struct store_range range = {.after = v->known,
                                .max_events = more < PAGE_EVENTS ? (size_t)more : PAGE_EVENTS,
                                .max_bytes = PAGE_BYTES};
    assert(!v->op && v->is_known && v->wanted > v->known);
    v->reading_after = v->known;
    v->reading_to = v->wanted;
    v->op = store_read(v->store, v->id, &range, on_relay_page, v);
}

void relay_conv_grown(struct relay_conv *v, store_pos last)
{
    if (last > v->wanted)
        v->wanted = last;
    if (!v->op && v->is_known && v->wanted > v->known)
        conv_read(v);
}

uint64_t pg_feed_live(struct store *s, str id, store_pos at)
{
    char place[512];
    struct pg_relay *r = pg_database(s)->relay;
    struct relay_conv *v = r ? relay_conv_of(r, conv_key(s, id, place, sizeof place)) : NULL;
    if (!v)
        return 0;
    /* Feeds drop what they have: the one that has least decides where publishing begins. */
    if (!v->is_known || at < v->known) {
        store_pos end = v->is_known ? v->known : at;
        v->known = at;
        v->is_known = true;
        relay_conv_grown(v, end);
    }
    return relay_ask_progress(v);
}

/* ---- what happens here ---- */

/* Events wait while lines that were announced before them are not published. */
static bool is_behind(const struct relay_conv *v)
{
    return v->op || v->nwaiting > 0 || (v->is_known && v->wanted > v->known);
}

static void publish_stored(struct pg_relay *r, struct relay_conv *v, struct bus_msg *msg)
{
    if (!v->is_known) { /* no feed has reported yet: those that read the log find it there */
        v->known = msg->pos - 1;
        v->is_known = true;
    }
    if (msg->pos <= v->known)
        return;
    if (is_behind(v) || msg->pos > v->known + 1) {
        relay_conv_grown(v, msg->pos); /* lines of another server come first */
        return;
    }
    v->known = msg->pos;
    v->wanted = msg->pos > v->wanted ? msg->pos : v->wanted;
    bus_publish(r->bus, msg);
}

static bool is_type_in(str type, const enum event_type *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(type, event_name(list[i])))
            return true;
    return false;
}

static bool is_shared_news(str type)
{
    static const enum event_type SHARED[] = {EV_CONVERSATION_CREATED, EV_CONVERSATION_RENAMED,
                                             EV_CONVERSATION_SHARED, EV_CONVERSATION_DELETED,
                                             EV_DATA_CHANGED};
    return is_type_in(type, SHARED, ARRAY_LEN(SHARED));
}

/* Its meaning depends on the lines in front of it. */
static bool is_of_run(str type)
{
    static const enum event_type OF_RUN[] = {
        EV_TEXT_DELTA, EV_REASONING_DELTA, EV_RUN_RETRY,    EV_TOOL_PREPARING,
        EV_TOOL_INPUT, EV_TOOL_PROGRESS,   EV_TOOL_SETTLED, EV_TEXT_SNAPSHOT};
    return is_type_in(type, OF_RUN, ARRAY_LEN(OF_RUN));
}

bool pg_is_watched_elsewhere(const struct store *s, str id)
{
    char place[512];
    const struct pg_relay *r = pg_database(s)->relay;
    return r && map_get(&r->remote, conv_key(s, id, place, sizeof place)) != NULL;
}

void pg_publish(struct store *s, struct bus_msg *msg)
{
    struct pg_relay *r = pg_database(s)->relay;
    bool is_conv = str_starts(msg->topic, STR("conv/"));
    if (!r) {
        bus_publish(s->env->bus, msg);
        return;
    }
    struct relay_conv *v = is_conv ? relay_conv_of(r, str_skip(msg->topic, 5)) : NULL;
    if (msg->pos > 0 && v) {
        publish_stored(r, v, msg);
        return;
    }
    bool goes_out = false;
    if (msg->pos == 0 && is_conv)
        goes_out = map_get(&r->remote, str_skip(msg->topic, 5)) != NULL ||
                   str_eq(msg->type, event_name(EV_CONVERSATION_DELETED));
    else if (msg->pos == 0)
        goes_out = is_shared_news(msg->type);
    if (goes_out)
        relay_forward(r, pg_workspace(s), msg);
    if (v && is_behind(v))
        conv_wait(v, msg);
    else
        bus_publish(r->bus, msg);
}

/* ---- what happens elsewhere ---- */

/* An event that is not in a log. */
void relay_event(struct pg_relay *r, struct bus_msg *msg)
{
    struct relay_conv *v =
        str_starts(msg->topic, STR("conv/")) ? relay_conv_of(r, str_skip(msg->topic, 5)) : NULL;
    msg->is_of_other_run = v && is_of_run(msg->type);
    msg->heard = r->heard;
    if (msg->is_of_other_run && r->heard < r->stale_until)
        return;
    if (v && is_behind(v))
        conv_wait(v, msg);
    else
        bus_publish(r->bus, msg);
}
