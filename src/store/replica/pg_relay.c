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
};

static void conv_wait(struct relay_conv *v, const struct bus_msg *msg)
{
    if (v->nwaiting == RELAY_WAITING)
        return;
    struct waiting_event *e = xcalloc(1, sizeof *e);
    arena_init(&e->arena);
    e->msg = (struct bus_msg){.topic = arena_str(&e->arena, msg->topic),
                              .type = arena_str(&e->arena, msg->type),
                              .data = arena_str(&e->arena, msg->data)};
    list_push(&v->waiting, &e->node);
    v->nwaiting++;
}

static struct waiting_event *next_waiting(struct relay_conv *v)
{
    struct list_node *n = list_pop(&v->waiting);
    v->nwaiting -= n != NULL;
    return n ? LIST_ENTRY(n, struct waiting_event, node) : NULL;
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
    while ((e = next_waiting(v)) != NULL)
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

/* Nothing is read any more: what waited is published. A subscriber may end the last stream. */
static void conv_settle(struct relay_conv *v)
{
    struct pg_relay *r = v->relay;
    struct waiting_event *e;
    char key[512];
    str name = conv_key(v->store, v->id, key, sizeof key);
    while (relay_conv_of(r, name) == v && !v->op && (e = next_waiting(v)) != NULL) {
        bus_publish(r->bus, &e->msg);
        waiting_free(e);
    }
}

static void publish_line(struct relay_conv *v, store_pos pos, str line)
{
    struct bus_msg msg = {.topic = v->topic,
                          .type = json_scan_plain(json_scan_field(line, STR("type"))),
                          .data = line,
                          .pos = pos};
    v->known = pos;
    v->is_known = true;
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

/* True if v still exists: a subscriber may have ended the last stream of it. */
static bool is_watched(struct pg_relay *r, str key, const struct relay_conv *v)
{
    return relay_conv_of(r, key) == v;
}

/* Streams that are behind this position read the log. */
static void hint_at(struct relay_conv *v, store_pos pos)
{
    struct bus_msg hint = {.topic = v->topic, .pos = pos};
    if (pos > 0) /* else the log is empty; 0 would mean an event that is not in it */
        bus_publish(v->relay->bus, &hint);
}

/* Nothing was published yet, so nobody knows which lines streams have: those that are behind the
 * end read the log themselves. Lines of this server that could not be published meanwhile follow.
 */
static void publish_end(struct relay_conv *v, store_pos end)
{
    v->known = v->own > 0 ? v->own - 1 : end;
    v->is_known = true;
    v->own = 0;
    /* The end may have been read before lines of others in front of the own one were there. */
    hint_at(v, v->known > end ? v->known : end);
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
        v->is_known = false;
        if (err->code == -ENOENT)
            publish_deleted(v);
        return;
    }
    v->checked = c->end;
    publish_rules(v, c);
    if (is_watched(r, key, v) && !v->is_known)
        publish_end(v, v->checked);
    if (!is_watched(r, key, v))
        return;
    if (v->wanted > v->known)
        conv_read(v);
    else
        conv_settle(v);
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
        if (page->events[i].pos > v->known)
            publish_line(v, page->events[i].pos, page->events[i].line);
        if (!is_watched(r, key, v))
            return;
    }
    if (!page->reached_end || v->wanted > v->known)
        conv_read(v);
    else
        conv_settle(v);
}

static void on_relay_page(void *ctx, const struct err *err, const struct store_page *page)
{
    struct relay_conv *v = ctx;
    v->op = NULL;
    if (err || page->is_beyond_end) {
        v->is_known = false;
        relay_conv_refresh(v);
        return;
    }
    for (size_t i = 0; i < page->n; i++)
        if (page->events[i].pos > v->checked && is_about_sharing(page->events[i].line)) {
            relay_conv_refresh(v); /* the rules first; then the lines are read again */
            return;
        }
    publish_page(v, page);
}

static void conv_read(struct relay_conv *v)
{
    struct store_range range = {
        .after = v->known, .max_events = PAGE_EVENTS, .max_bytes = PAGE_BYTES};
    assert(!v->op && v->is_known);
    v->op = store_read(v->store, v->id, &range, on_relay_page, v);
}

void relay_conv_grown(struct relay_conv *v, store_pos last)
{
    if (last > v->wanted)
        v->wanted = last;
    if (v->op || (v->is_known && last <= v->known))
        return;
    if (!v->is_known)
        relay_conv_refresh(v);
    else
        conv_read(v);
}

/* ---- what happens here ---- */

static void publish_stored(struct pg_relay *r, struct relay_conv *v, struct bus_msg *msg)
{
    if (v->op || (v->is_known && msg->pos > v->known + 1)) {
        if (!v->is_known && v->own == 0)
            v->own = msg->pos;
        relay_conv_grown(v, msg->pos); /* lines of another server come first */
    } else if (!v->is_known || msg->pos > v->known) {
        bool was_known = v->is_known;
        v->known = msg->pos;
        v->is_known = true;
        v->wanted = msg->pos > v->wanted ? msg->pos : v->wanted;
        if (!was_known)
            hint_at(v, msg->pos - 1); /* lines of others may be in front of it */
        bus_publish(r->bus, msg);
    }
}

static bool is_shared_news(str type)
{
    static const enum event_type SHARED[] = {EV_CONVERSATION_CREATED, EV_CONVERSATION_RENAMED,
                                             EV_CONVERSATION_SHARED, EV_CONVERSATION_DELETED,
                                             EV_DATA_CHANGED};
    for (size_t i = 0; i < ARRAY_LEN(SHARED); i++)
        if (str_eq(type, event_name(SHARED[i])))
            return true;
    return false;
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
    if (v && v->op)
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
    if (v && v->op)
        conv_wait(v, msg);
    else
        bus_publish(r->bus, msg);
}
