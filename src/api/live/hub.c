#include "api/live/hub.h"

#include <assert.h>

#include "api/api_impl.h"
#include "api/exchange.h"
#include "base/clock.h"
#include "bus/vocabulary.h"
#include "store/others.h"

/* ---- news ---- */

struct news {
    struct arena arena;                  /* holds the audience */
    const struct bus_audience *audience; /* NULL = all members */
    struct sse_frame *frame;
};

struct conv_watchers {
    str conv_id; /* also the key in hub->convs */
    struct arena arena;
    struct conv_acl acl; /* the rules of the conversation, as last read or announced */
    bool has_acl;
    struct list_node watches;
    size_t nwatches, nquiet;
};

/* Of one workspace, from its first stream until the server ends. A client that comes back continues
 * from the ring, if its place is still in it. */
struct hub {
    struct api *api;
    str workspace_id; /* also the key in api->hubs */
    struct bus_sub *sub;
    struct news ring[HUB_RING]; /* message n is at n % HUB_RING */
    uint64_t count;             /* number of the newest message; numbers start at 1 */
    struct list_node watchers;
    unsigned nwatchers;
    struct map convs; /* conversation id -> struct conv_watchers */
};

/* Also for a slot of the ring that was never used. */
static void news_drop(struct news *n)
{
    sse_frame_unref(n->frame);
    arena_done(&n->arena);
    *n = (struct news){0};
}

/* The audience is that of the moment of the message, also in a replay. The watcher's rights are
 * those of now, not those of when the stream was opened. */
static bool is_for(const struct bus_audience *audience, const struct watcher *w)
{
    if (!audience)
        return actor_role(w->actor) != WS_NONE;
    if (!audience->is_for_lost)
        return actor_allows(w->actor, &audience->acl, CONV_VIEW);
    return json_strs_has(&audience->lost, actor_user(w->actor)) && !actor_is_admin(w->actor);
}

static str make_id(const struct hub *h, uint64_t number, char out[48])
{
    int n = snprintf(out, 48, "%s-%llu", h->api->boot_id, (unsigned long long)number);
    return str_make(out, (size_t)n);
}

str hub_last_id(const struct hub *h, char out[48])
{
    return make_id(h, h->count, out);
}

/* ---- the watchers of a conversation ---- */

static bool has_other_watch(const struct conv_watchers *cw, const struct watch *s)
{
    LIST_EACH (other, &cw->watches, const struct watch, node)
        if (other != s && !other->is_quiet &&
            str_eq(actor_user(other->watcher->actor), actor_user(s->watcher->actor)))
            return true;
    return false;
}

static void write_person(struct api *api, struct json_writer *out, str user_id)
{
    jw_kstr(out, "userId", user_id);
    jw_kstr_or_null(out, "displayName", api_display_name(api, user_id));
}

void hub_write_presence(struct api *api, const struct watch *s, struct json_writer *out)
{
    str ids[HUB_PRESENCE_MAX];
    struct json_strs seen = {ids, 0};
    assert(s->conv);
    jw_object(out);
    jw_karray(out, "users");
    LIST_FOREACH (it, &s->conv->watches) {
        const struct watch *other = LIST_ENTRY(it, struct watch, node);
        str user = actor_user(other->watcher->actor);
        if (other->is_quiet || seen.len == HUB_PRESENCE_MAX || json_strs_has(&seen, user))
            continue;
        ids[seen.len++] = user;
        jw_object(out);
        write_person(api, out, user);
        jw_end(out);
    }
    jw_end(out);
    jw_end(out);
}

/* A second tab of the same user is neither a join nor a leave. */
static void tell_presence(const struct watch *s, const char *state)
{
    const struct conv_watchers *cw = s->conv;
    size_t n = cw->nwatches - cw->nquiet;
    n += store_is_watched_elsewhere(s->watcher->space->store, cw->conv_id);
    /* One watch: nobody is there to be notified. Too many: each join would cost a message to all.
     */
    if (s->is_quiet || n < 2 || n > HUB_PRESENCE_MAX || has_other_watch(cw, s))
        return;
    struct api_json j;
    api_json_begin(&j);
    write_person(s->watcher->hub->api, &j.w, actor_user(s->watcher->actor));
    jw_kstr(&j.w, "state", str_from(state));
    store_publish(s->watcher->space->store, cw->conv_id, event_name(EV_PRESENCE),
                  api_json_text(&j));
    buf_done(&j.buf);
}

void hub_forward_presence(struct api *api, str workspace_id, str conv_id)
{
    struct hub *h = map_get(&api->hubs, workspace_id);
    struct conv_watchers *cw = h ? map_get(&h->convs, conv_id) : NULL;
    str ids[HUB_PRESENCE_MAX];
    struct json_strs seen = {ids, 0};
    if (!cw)
        return;
    LIST_EACH (s, &cw->watches, const struct watch, node) {
        str user = actor_user(s->watcher->actor);
        if (s->is_quiet || seen.len == HUB_PRESENCE_MAX || json_strs_has(&seen, user))
            continue;
        ids[seen.len++] = user;
        struct api_json j;
        api_json_begin(&j);
        write_person(api, &j.w, user);
        jw_kstr(&j.w, "state", STR("joined"));
        store_forward(s->watcher->space->store, conv_id, event_name(EV_PRESENCE),
                      api_json_text(&j));
        buf_done(&j.buf);
    }
}

/* The rules belong to the conversation, not to a watch: a new reading applies to all its watches
 * and makes each of them be checked again. */
static void set_acl(struct conv_watchers *cw, const struct conv_acl *acl)
{
    arena_reset(&cw->arena);
    cw->acl = conv_acl_copy(&cw->arena, acl);
    cw->has_acl = true;
    LIST_FOREACH (n, &cw->watches)
        LIST_ENTRY(n, struct watch, node)->allowed_in = 0;
}

void hub_set_acl(struct watch *s, const struct conv_acl *acl)
{
    assert(s->conv);
    set_acl(s->conv, acl);
}

static bool is_allowed_now(const struct watch *s)
{
    return s->conv->has_acl ? hub_may(s, CONV_VIEW) : actor_role(s->watcher->actor) != WS_NONE;
}

bool hub_may(const struct watch *s, enum conv_right right)
{
    return s->conv && s->conv->has_acl && actor_allows(s->watcher->actor, &s->conv->acl, right);
}

/* This runs for every frame of every watcher; while nothing changes it is one comparison. */
bool hub_allows(struct watch *s)
{
    assert(s->conv && s->watcher->actor);
    uint64_t now = actor_generation(s->watcher->actor) + 1;
    if (s->allowed_in != now)
        s->allowed_in = is_allowed_now(s) ? now : 0;
    return s->allowed_in == now;
}

static struct conv_watchers *conv_watchers_of(struct hub *h, str conv_id)
{
    struct conv_watchers *cw = map_get(&h->convs, conv_id);
    if (cw)
        return cw;
    cw = xcalloc(1, sizeof *cw);
    arena_init(&cw->arena);
    list_init(&cw->watches);
    cw->conv_id = str_make(str_dup(conv_id), conv_id.n);
    map_put(&h->convs, conv_id, cw);
    return cw;
}

void hub_watch_start(struct watcher *w, struct watch *s, str conv_id, const struct conv_acl *acl)
{
    assert(w->hub && !s->conv);
    struct conv_watchers *cw = conv_watchers_of(w->hub, conv_id);
    s->watcher = w;
    s->conv = cw;
    s->allowed_in = 0;
    list_push(&cw->watches, &s->node);
    cw->nwatches++;
    cw->nquiet += s->is_quiet;
    w->nwatches++;
    if (acl)
        set_acl(cw, acl);
    tell_presence(s, "joined");
}

/* Frees the list with its last watch. enforce() holds it by counting itself as a watch. */
static void conv_watchers_put(struct hub *h, struct conv_watchers *cw)
{
    assert(cw->nwatches > 0);
    if (--cw->nwatches > 0)
        return;
    map_del(&h->convs, cw->conv_id);
    free((char *)cw->conv_id.p);
    arena_done(&cw->arena);
    free(cw);
}

void hub_watch_stop(struct watch *s)
{
    struct conv_watchers *cw = s->conv;
    if (!cw)
        return;
    assert(s->watcher->hub && s->watcher->nwatches > 0);
    tell_presence(s, "left"); /* while it is still in the list */
    list_del(&s->node);
    s->conv = NULL;
    cw->nquiet -= s->is_quiet;
    s->watcher->nwatches--;
    conv_watchers_put(s->watcher->hub, cw);
}

/* ---- ending access ---- */

static void revoke_watch(struct watch *s)
{
    struct watcher *w = s->watcher;
    hub_watch_stop(s);
    w->ev->on_revoked(w, s); /* may free s */
}

static struct watch *next_denied(struct conv_watchers *cw)
{
    LIST_EACH (s, &cw->watches, struct watch, node)
        if (!hub_allows(s))
            return s;
    return NULL;
}

/* Enforces the new rules of a conversation before its next event is sent. */
static void enforce(struct hub *h, str conv_id, const struct conv_acl *acl)
{
    struct conv_watchers *cw = map_get(&h->convs, conv_id);
    if (!cw)
        return;
    struct watch *s;
    set_acl(cw, acl);
    cw->nwatches++;                       /* keeps cw alive until the loop is over */
    while ((s = next_denied(cw)) != NULL) /* ending one watch may end others */
        revoke_watch(s);
    conv_watchers_put(h, cw);
}

static void revoke_watcher(struct watcher *w)
{
    assert(w->hub);
    w->ev->on_revoked(w, NULL); /* the owner closes its connection and leaves later */
}

void hub_end_user(struct api *api, str workspace_id, str user_id)
{
    struct map_entry *m;
    for (size_t i = 0; (m = map_next(&api->hubs, &i)) != NULL;) {
        struct hub *h = m->value;
        if (workspace_id.n > 0 && !str_eq(workspace_id, h->workspace_id))
            continue;
        LIST_EACH (w, &h->watchers, struct watcher, node)
            if (!actor_is_operator(w->actor) && actor_has_user(w->actor, user_id))
                revoke_watcher(w);
    }
}

void hub_end_workspace(struct api *api, str workspace_id)
{
    struct hub *h = map_get(&api->hubs, workspace_id);
    if (!h)
        return;
    LIST_FOREACH (n, &h->watchers)
        revoke_watcher(LIST_ENTRY(n, struct watcher, node));
}

void hub_end_login(struct api *api, str session_id, str token_id)
{
    struct map_entry *m;
    for (size_t i = 0; (m = map_next(&api->hubs, &i)) != NULL;) {
        struct hub *h = m->value;
        LIST_EACH (w, &h->watchers, struct watcher, node)
            if (actor_has_session(w->actor, session_id) || actor_has_token(w->actor, token_id))
                revoke_watcher(w);
    }
}

void hub_role_changed(struct api *api, str workspace_id, str user_id)
{
    struct hub *h = map_get(&api->hubs, workspace_id);
    if (!h)
        return;
    LIST_EACH (w, &h->watchers, struct watcher, node)
        if (actor_has_user(w->actor, user_id))
            w->ev->on_role(w);
}

/* ---- messages of the topic ---- */

/* All watchers share one frame. A callback may remove its own watcher: LIST_FOREACH allows that. */
static void hub_deliver(struct hub *h, const struct news *n)
{
    assert(n->frame);
    LIST_EACH (w, &h->watchers, struct watcher, node)
        if (w->wants_news && is_for(n->audience, w))
            w->ev->on_frame(w, n->frame);
}

void hub_tell_user(const struct hub *h, str user_id, str type, str data)
{
    struct sse_frame *f = sse_frame_new(type, STR_NONE, data);
    LIST_EACH (w, &h->watchers, struct watcher, node)
        if (w->wants_news && str_eq(actor_user(w->actor), user_id))
            w->ev->on_frame(w, f);
    sse_frame_unref(f);
}

void hub_tell_everywhere(struct api *api, const struct api_space *space, str user_id, str type,
                         str data)
{
    if (!space->is_closing) /* else its streams have ended */
        hub_tell_user(hub_of(api, space), user_id, type, data);
    store_tell_person(space->store, user_id, type, data);
}

void hub_tell_person(const struct watcher *from, str type, str data)
{
    assert(from->hub);
    hub_tell_user(from->hub, actor_user(from->actor), type, data);
}

static void tell_shared(struct hub *h)
{
    LIST_EACH (w, &h->watchers, struct watcher, node)
        w->ev->on_shared(w);
}

static void on_msg(void *ctx, struct bus_msg *msg)
{
    struct hub *h = ctx;
    const struct bus_audience *audience = msg->audience;
    char id[48];
    if (msg->data.n == 0) { /* another server has changed the rules, and told the news itself */
        assert(audience);
        enforce(h, audience->conversation_id, &audience->acl);
        tell_shared(h);
        return;
    }
    struct news *n = &h->ring[++h->count % HUB_RING];
    news_drop(n);
    arena_init(&n->arena);
    n->audience = bus_audience_copy(&n->arena, audience);
    n->frame = sse_frame_new(msg->type, make_id(h, h->count, id), msg->data);
    /* First revoke, then deliver: see the order in hub.h. */
    if (audience && !audience->is_for_lost) {
        enforce(h, audience->conversation_id, &audience->acl);
        if (str_eq(msg->type, event_name(EV_CONVERSATION_SHARED)) ||
            str_eq(msg->type, event_name(EV_CONVERSATION_DELETED)))
            tell_shared(h);
    }
    hub_deliver(h, n);
}

/* Parses "<boot>-<n>" of this process, with n in the ring or directly before it. */
static bool parse_id(const struct hub *h, str id, uint64_t *ret)
{
    ptrdiff_t dash = str_rfind_char(id, '-');
    if (dash < 0 || !str_eq(str_slice(id, 0, (size_t)dash), str_from(h->api->boot_id)))
        return false;
    uint64_t oldest = h->count > HUB_RING ? h->count - HUB_RING : 0;
    return parse_u64(str_skip(id, (size_t)dash + 1), ret) == 0 && *ret <= h->count &&
           *ret >= oldest;
}

bool hub_replay(struct watcher *w, str last_id)
{
    uint64_t from;
    assert(w->wants_news);
    if (!parse_id(w->hub, last_id, &from))
        return false;
    for (uint64_t i = from + 1; i <= w->hub->count; i++) {
        const struct news *n = &w->hub->ring[i % HUB_RING];
        assert(n->frame); /* parse_id has checked that it is still in the ring */
        if (is_for(n->audience, w))
            w->ev->on_frame(w, n->frame);
    }
    return true;
}

/* ---- life ---- */

struct hub *hub_of(struct api *api, const struct api_space *space)
{
    struct hub *h = map_get(&api->hubs, space->id);
    if (h)
        return h;
    struct arena a;
    arena_init(&a);
    h = xcalloc(1, sizeof *h);
    h->api = api;
    h->workspace_id = str_make(str_dup(space->id), space->id.n);
    list_init(&h->watchers);
    map_init(&h->convs);
    /* It stays subscribed without watchers, so that the ring has no gap for streams that reconnect.
     */
    h->sub = bus_subscribe(api->deps.bus, store_space_topic(&a, space->store), on_msg, h);
    map_put(&api->hubs, space->id, h);
    arena_done(&a);
    return h;
}

static void hub_free(struct hub *h)
{
    assert(list_empty(&h->watchers) && map_len(&h->convs) == 0);
    for (size_t i = 0; i < HUB_RING; i++)
        news_drop(&h->ring[i]);
    bus_unsubscribe(h->sub);
    map_done(&h->convs);
    free((char *)h->workspace_id.p);
    free(h);
}

void hubs_free(struct api *api)
{
    struct map_entry *m;
    timer_stop(&api->heartbeat);
    for (size_t i = 0; (m = map_next(&api->hubs, &i)) != NULL;)
        hub_free(m->value);
    map_done(&api->hubs);
    map_init(&api->hubs);
}

/* ---- heartbeats: each second a thirtieth of the streams, all with one frame ---- */

/* Streams are long-lived, so re-check that their credential is still valid. A session that was
 * refreshed meanwhile continues. */
static bool has_run_out(struct api *api, struct watcher *w, int64_t now_ms)
{
    if (w->expires_ms == 0 || now_ms < w->expires_ms)
        return false;
    str session_id = w->actor->people[0].session_id;
    if (session_id.n > 0)
        w->expires_ms = auth_session_until(api->deps.auth, session_id);
    bool is_over = now_ms >= w->expires_ms;
    if (is_over)
        w->expires_ms = 0; /* so that it is revoked only once */
    return is_over;
}

static void on_heartbeat(void *ctx)
{
    struct api *api = ctx;
    struct map_entry *m;
    char now[CLOCK_ISO_LEN + 1], text[64];
    bool is_anybody = false;
    int64_t now_ms = clock_now_ms();
    clock_iso(now_ms, now);
    snprintf(text, sizeof text, "{\"timestamp\":\"%s\"}", now);
    struct sse_frame *f = sse_frame_new(event_name(EV_HEARTBEAT), STR_NONE, str_from(text));
    api->heartbeats++;
    for (size_t i = 0; (m = map_next(&api->hubs, &i)) != NULL;) {
        struct hub *h = m->value;
        LIST_EACH (w, &h->watchers, struct watcher, node) {
            is_anybody = true;
            if (has_run_out(api, w, now_ms))
                revoke_watcher(w);
            else if (w->wants_heartbeat && w->heartbeat_slot == api->heartbeats % HUB_HEARTBEAT_S)
                w->ev->on_frame(w, f);
        }
    }
    sse_frame_unref(f);
    if (is_anybody) /* else hub_join starts the timer again */
        timer_start(&api->heartbeat, 1000);
}

void hub_join(struct api *api, struct api_space *space, struct watcher *w,
              const struct actor *actor)
{
    struct hub *h = hub_of(api, space);
    assert(!w->hub && w->ev && w->nwatches == 0 && space->users > 0);
    w->hub = h;
    w->space = space;
    w->actor = actor_ref(actor);
    w->expires_ms = actor->people[0].expires_ms;
    /* its first heartbeat is 30 s from now */
    w->heartbeat_slot = api->heartbeats % HUB_HEARTBEAT_S;
    list_push(&h->watchers, &w->node);
    h->nwatchers++;
    if (!timer_active(&api->heartbeat)) {
        timer_init(&api->heartbeat, api->deps.loop, on_heartbeat, api);
        timer_start(&api->heartbeat, 1000);
    }
}

void hub_leave(struct watcher *w)
{
    assert(w->hub && w->hub->nwatchers > 0 && w->nwatches == 0);
    list_del(&w->node);
    w->hub->nwatchers--;
    w->hub = NULL;
    w->actor = actor_unref(w->actor);
}

struct watcher *hub_next_watcher(struct hub *h, struct watcher *w)
{
    struct list_node *next = w ? w->node.next : h->watchers.next;
    return next == &h->watchers ? NULL : LIST_ENTRY(next, struct watcher, node);
}
