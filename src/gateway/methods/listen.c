#include "gateway/methods/listen.h"

#include <assert.h>

#include "gateway/methods/method.h"
#include "gateway/write.h"

#define KEY_MAX (8u * 1024) /* bytes of one address */

struct gw_listen {
    struct list_node node;
    struct gw_request *q;
    unsigned lists; /* bits of enum gw_list */
    struct json_strs uris;
    struct gw_watch **watches; /* one for each address, or NULL */
    size_t opened;
    bool is_open; /* the subscription was acknowledged */
};

struct gw_session_watch {
    struct list_node node;
    struct gw_watch *watch;
};

struct gw_watch { /* one address of one bundle */
    struct gw_space *space;
    struct bundle *bundle;
    char *key;
    const char *uri; /* the end of the key */
    size_t users;
};

/* ---- at the server ---- */

static void on_said(void *ctx, const struct mcp_reply *r) {}

static void listen_say(const struct gw_watch *w, const char *method)
{
    static const struct mcp_call_events EVENTS = {.done = on_said};
    struct json params = JSON_ONE("uri", json_of_str(str_from(w->uri)));
    struct mcp_request req = {.method = str_from(method), .params = &params};
    (void)bundle_request(w->bundle, &req, &EVENTS, NULL);
}

static struct gw_watch *watch_take(struct gw_space *s, struct bundle *b, str uri)
{
    struct buf key;
    buf_init(&key, KEY_MAX);
    buf_printf(&key, "%.*s\n%.*s", STR_ARG(bundle_entry(b)->server_name), STR_ARG(uri));
    struct gw_watch *w = map_get(&s->watches, buf_str(&key));
    if (!w && !buf_failed(&key)) {
        w = xcalloc(1, sizeof *w);
        w->space = s;
        w->bundle = b;
        w->key = str_dup(buf_str(&key));
        w->uri = w->key + (key.n - uri.n);
        map_put(&s->watches, buf_str(&key), w);
        listen_say(w, "resources/subscribe");
    }
    if (w)
        w->users++;
    buf_done(&key);
    return w;
}

static void watch_let_go(struct gw_watch *w)
{
    assert(!w || w->users > 0);
    if (!w || --w->users > 0)
        return;
    if (w->bundle) {
        map_del(&w->space->watches, str_from(w->key));
        listen_say(w, "resources/unsubscribe");
    }
    free(w->key);
    free(w);
}

void gw_watch_bundle_running(struct gw_space *s, struct bundle *b)
{
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&s->watches, &i)) != NULL;) {
        struct gw_watch *w = e->value;
        if (w->bundle == b)
            listen_say(w, "resources/subscribe");
    }
}

/* Clients that keep the subscription receive no further notifications for it. */
void gw_watch_bundle_gone(struct gw_space *s, struct bundle *b)
{
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&s->watches, &i)) != NULL;) {
        struct gw_watch *w = e->value;
        if (w->bundle != b)
            continue;
        w->bundle = NULL;
        map_del(&s->watches, e->key);
    }
}

/* ---- sessions ---- */

static struct gw_session_watch *find_watch(struct gw_session *s, str uri)
{
    LIST_EACH (w, &s->watches, struct gw_session_watch, node)
        if (str_eq(str_from(w->watch->uri), uri))
            return w;
    return NULL;
}

static void session_watch(struct gw_request *q, str uri, struct bundle *b)
{
    struct gw_session *s = q->session;
    if (!b) {
        gw_request_fail(q, -32002, "Resource not found");
        return;
    }
    struct gw_watch *w = s->nwatches < GW_SESSION_WATCHES ? watch_take(q->space, b, uri) : NULL;
    if (!w) {
        gw_request_fail(q, RPC_INTERNAL_ERROR, "This session watches too many resources.");
        return;
    }
    struct gw_session_watch *mine = xcalloc(1, sizeof *mine);
    mine->watch = w;
    list_push(&s->watches, &mine->node);
    s->nwatches++;
    gw_request_empty(q);
}

void gw_resources_subscribe(struct gw_request *q)
{
    str uri = json_get_string(q->params, "uri");
    if (!q->session || uri.n == 0)
        gw_request_fail(q, RPC_INVALID_PARAMS, "resources/subscribe requires a session and a uri.");
    else if (find_watch(q->session, uri))
        gw_request_empty(q);
    else
        gw_resources_route(q, uri, session_watch);
}

static void drop_watch(struct gw_session *s, struct gw_session_watch *w)
{
    assert(s->nwatches > 0);
    list_del(&w->node);
    s->nwatches--;
    watch_let_go(w->watch);
    free(w);
}

void gw_resources_unsubscribe(struct gw_request *q)
{
    struct gw_session_watch *w =
        q->session ? find_watch(q->session, json_get_string(q->params, "uri")) : NULL;
    if (w)
        drop_watch(q->session, w);
    gw_request_empty(q);
}

void gw_watch_drop_session(struct gw_session *s)
{
    LIST_FOREACH (n, &s->watches)
        drop_watch(s, LIST_ENTRY(n, struct gw_session_watch, node));
}

/* ---- subscriptions/listen ---- */

static const struct {
    const char *key, *method;
    enum gw_list what;
} KINDS[] = {
    {"toolsListChanged", "notifications/tools/list_changed", GW_TOOLS},
    {"resourcesListChanged", "notifications/resources/list_changed", GW_RESOURCES},
    {"promptsListChanged", "notifications/prompts/list_changed", GW_PROMPTS},
};

static void write_tag(struct json_writer *w, const struct gw_request *q)
{
    jw_kobject(w, "_meta");
    jw_kval(w, META_SUBSCRIPTION, q->id);
    jw_end(w);
}

static void acknowledge(struct gw_listen *l)
{
    struct json_writer w;
    assert(!l->is_open && l->opened == l->uris.len);
    gw_request_notify_begin(l->q, &w, "notifications/subscriptions/acknowledged");
    jw_kobject(&w, "notifications");
    for (size_t i = 0; i < ARRAY_LEN(KINDS); i++) {
        if (l->lists & (1u << KINDS[i].what))
            jw_kbool(&w, KINDS[i].key, true);
    }
    if (l->uris.len > 0) {
        jw_karray(&w, "resourceSubscriptions");
        for (size_t i = 0; i < l->uris.len; i++) {
            if (l->watches[i])
                jw_str(&w, l->uris.items[i]);
        }
        jw_end(&w);
    }
    jw_end(&w);
    write_tag(&w, l->q);
    (void)gw_request_notify_end(l->q, &w);
    l->is_open = true;
}

static void listen_end(struct gw_request *q)
{
    struct gw_listen *l = q->work;
    list_del(&l->node);
    for (size_t i = 0; i < l->opened; i++)
        watch_let_go(l->watches[i]);
}

static void open_next(struct gw_request *q);

static void on_routed(struct gw_request *q, str uri, struct bundle *b)
{
    struct gw_listen *l = q->plan;
    q->work = l;
    q->on_cancel = listen_end;
    assert(!l->is_open && l->opened < l->uris.len);
    l->watches[l->opened++] = b ? watch_take(q->space, b, uri) : NULL;
    open_next(q);
}

/* Route one address after the other, because routing may need answers of bundles. */
static void open_next(struct gw_request *q)
{
    struct gw_listen *l = q->plan;
    if (l->opened < l->uris.len)
        gw_resources_route(q, l->uris.items[l->opened], on_routed);
    else
        acknowledge(l);
}

static void read_filter(struct gw_listen *l, const struct json *wanted, struct arena *a)
{
    const struct json *uris = json_get(wanted, "resourceSubscriptions");
    for (size_t i = 0; i < ARRAY_LEN(KINDS); i++) {
        if (json_get_bool(wanted, KINDS[i].key, false))
            l->lists |= 1u << KINDS[i].what;
    }
    l->uris.items = arena_array(a, GW_LISTEN_URIS, sizeof(str));
    l->watches = arena_array(a, GW_LISTEN_URIS, sizeof *l->watches);
    for (uint32_t i = 0; json_is(uris, JSON_ARRAY) && i < uris->len && i < GW_LISTEN_URIS; i++) {
        if (uris->items[i].type == JSON_STRING)
            l->uris.items[l->uris.len++] = uris->items[i].s;
    }
}

void gw_subscriptions_listen(struct gw_request *q)
{
    const struct json *wanted = json_get(q->params, "notifications");
    if (!json_is(wanted, JSON_OBJECT)) {
        gw_request_fail(q, RPC_INVALID_PARAMS, "subscriptions/listen requires notifications.");
        return;
    }
    if (list_count(&q->space->listens) >= GW_LISTENS_MAX || !q->out->stream(q)) {
        gw_request_fail(q, RPC_INTERNAL_ERROR,
                        "Too many subscriptions are open, or this request cannot become a stream.");
        return;
    }
    struct gw_listen *l = ARENA_NEW(&q->arena, struct gw_listen);
    l->q = q;
    list_push(&q->space->listens, &l->node);
    gw_session_await_expiry(q->g, q->expires_ms);
    read_filter(l, wanted, &q->arena);
    q->plan = l;
    q->work = l;
    q->on_cancel = listen_end;
    open_next(q);
}

static struct gw_listen *next_expired(struct gw_space *s, int64_t now_ms)
{
    LIST_EACH (l, &s->listens, struct gw_listen, node)
        if (gw_login_has_ended(s->g, l->q->actor, &l->q->expires_ms, now_ms))
            return l;
    return NULL;
}

bool gw_listen_expire(struct gw_space *s, int64_t now_ms)
{
    struct gw_listen *expired;
    while ((expired = next_expired(s, now_ms)) != NULL)
        gw_request_cancel(expired->q);
    LIST_EACH (l, &s->listens, struct gw_listen, node)
        if (l->q->expires_ms > 0)
            return true;
    return false;
}

/* ---- notifying ---- */

static void tell_listener(struct gw_listen *l, const char *method, const struct json *params)
{
    struct json_writer w;
    if (!l->is_open)
        return;
    gw_request_notify_begin(l->q, &w, method);
    gw_write_members(&w, params, "_meta");
    write_tag(&w, l->q);
    (void)gw_request_notify_end(l->q, &w);
}

void gw_listen_changed(struct gw_space *s, enum gw_list what)
{
    const char *method = NULL;
    for (size_t i = 0; i < ARRAY_LEN(KINDS); i++) {
        if (KINDS[i].what == what)
            method = KINDS[i].method;
    }
    if (!method)
        return;
    LIST_EACH (one, &s->g->lru, struct gw_session, node)
        if (one->space == s && one->version.n > 0)
            gw_session_notify(one, method, NULL);
    LIST_EACH (l, &s->listens, struct gw_listen, node)
        if (l->lists & (1u << what))
            tell_listener(l, method, NULL);
}

static bool wants(const struct gw_watch *w, const struct bundle *b, str uri)
{
    return w && w->bundle == b && str_eq(str_from(w->uri), uri);
}

void gw_listen_updated(struct gw_space *s, struct bundle *b, const struct json *params)
{
    static const char METHOD[] = "notifications/resources/updated";
    str uri = json_get_string(params, "uri");
    struct json plain = JSON_ONE("uri", json_of_str(uri));
    LIST_EACH (one, &s->g->lru, struct gw_session, node) {
        struct gw_session_watch *w = one->space == s ? find_watch(one, uri) : NULL;
        if (w && wants(w->watch, b, uri))
            gw_session_notify(one, METHOD, &plain);
    }
    LIST_EACH (l, &s->listens, struct gw_listen, node) {
        for (size_t i = 0; i < l->opened; i++) {
            if (wants(l->watches[i], b, uri))
                tell_listener(l, METHOD, &plain);
        }
    }
}
