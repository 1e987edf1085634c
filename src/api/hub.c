#include "api/hub.h"

#include <assert.h>

#include "api/internal.h"
#include "base/clock.h"

/* ---- news ---- */

/* Who may hear of a piece of news. */
struct news_filter {
    enum { NEWS_FOR_ALL, NEWS_BY_ACL, NEWS_FOR_USERS } kind;
    struct conv_acl acl;
    struct json_strs users;
};

struct news {
    struct arena arena; /* of the filter */
    struct news_filter filter;
    struct sse_frame *frame;
};

struct room {
    str conv_id; /* the map's key */
    struct list_node seats;
    size_t nseats;
};

struct hub {
    struct api *api;
    str workspace_id; /* the map's key */
    struct bus_sub *sub;
    struct news ring[HUB_RING]; /* number n is at n % HUB_RING */
    uint64_t count;             /* numbers 1 to count were given */
    struct list_node taps;
    unsigned ntaps;
    struct map rooms; /* conversation id -> struct room */
};

static void news_drop(struct news *n)
{
    sse_frame_unref(n->frame);
    arena_done(&n->arena);
    *n = (struct news){0};
}

static struct json_strs strings(struct arena *a, const struct json *list)
{
    size_t n = list && list->type == JSON_ARRAY ? list->len : 0;
    struct json_strs out = {arena_array(a, n + 1, sizeof(str)), 0};
    for (size_t i = 0; i < n; i++)
        out.items[out.len++] = arena_str(a, json_string(json_at(list, i), STR_NONE));
    return out;
}

static void make_filter(struct arena *a, str type, const struct json *data, struct news_filter *ret)
{
    *ret = (struct news_filter){.kind = NEWS_FOR_ALL};
    if (str_eq(type, STR("conversation.hidden"))) {
        ret->kind = NEWS_FOR_USERS;
        ret->users = strings(a, json_get(data, "users"));
    } else if (str_starts(type, STR("conversation."))) {
        ret->kind = NEWS_BY_ACL;
        ret->acl.owner_id = arena_str(a, json_get_string(data, "ownerId"));
        ret->acl.is_shared = str_eq(json_get_string(data, "visibility"), STR("shared"));
        ret->acl.participants = strings(a, json_get(data, "participants"));
    }
}

static bool is_for(const struct news_filter *f, const struct tap *t)
{
    if (f->kind == NEWS_FOR_ALL)
        return true;
    if (f->kind == NEWS_BY_ACL)
        return t->is_operator || access_allows(&t->viewer, &f->acl, CONV_VIEW);
    for (size_t i = 0; i < f->users.len; i++)
        if (str_eq(f->users.items[i], t->viewer.user_id))
            return !t->is_operator && !t->viewer.is_workspace_admin; /* they still see it */
    return false;
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

/* To those who have lost it, it looks deleted. */
static struct sse_frame *make_frame(struct arena *a, const struct bus_msg *msg,
                                    const struct json *data, str id)
{
    if (!str_eq(msg->type, STR("conversation.hidden")))
        return sse_frame_new(msg->type, id, msg->data);
    str conv = json_get_string(data, "conversationId");
    str text = arena_printf(a, "{\"conversationId\":\"%.*s\"}", STR_ARG(conv));
    return sse_frame_new(STR("conversation.deleted"), id, text);
}

/* ---- rooms ---- */

static bool has_other_seat(const struct room *room, const struct seat *s)
{
    LIST_FOREACH (n, &room->seats) {
        const struct seat *other = LIST_ENTRY(n, struct seat, node);
        if (other != s && str_eq(other->tap->viewer.user_id, s->tap->viewer.user_id))
            return true;
    }
    return false;
}

static void write_person(struct api *api, struct json_writer *w, str user_id)
{
    jw_kstr(w, "userId", user_id);
    jw_kstr_or_null(w, "displayName", api_display_name(api, user_id));
}

void hub_write_presence(struct api *api, const struct seat *s, struct json_writer *w)
{
    size_t n = 0;
    struct json_strs seen;
    str ids[HUB_PRESENCE_MAX];
    seen = (struct json_strs){ids, 0};
    jw_object(w);
    jw_key(w, "users");
    jw_array(w);
    LIST_FOREACH (it, &s->room->seats) {
        str user = LIST_ENTRY(it, struct seat, node)->tap->viewer.user_id;
        bool is_known = false;
        for (size_t i = 0; i < seen.len && !is_known; i++)
            is_known = str_eq(ids[i], user);
        if (is_known || ++n > HUB_PRESENCE_MAX)
            continue;
        ids[seen.len++] = user;
        jw_object(w);
        write_person(api, w, user);
        jw_end(w);
    }
    jw_end(w);
    jw_end(w);
}

/* Who comes with a second tab, or leaves it, is still there. */
static void tell_presence(struct hub *h, const struct seat *s, const char *state)
{
    const struct room *room = s->room;
    if (room->nseats < 2 || room->nseats > HUB_PRESENCE_MAX || has_other_seat(room, s))
        return;
    struct api_json j;
    struct arena a;
    arena_init(&a);
    api_json_begin(&j);
    jw_object(&j.w);
    write_person(h->api, &j.w, s->tap->viewer.user_id);
    jw_kstr(&j.w, "state", str_from(state));
    jw_end(&j.w);
    struct bus_msg msg = {
        .topic =
            arena_printf(&a, "conv/%.*s/%.*s", STR_ARG(h->workspace_id), STR_ARG(room->conv_id)),
        .type = STR("presence"),
        .data = buf_str(&j.buf),
    };
    bus_publish(h->api->deps.bus, &msg);
    buf_done(&j.buf);
    arena_done(&a);
}

void hub_sit(struct tap *t, struct seat *s, str conv_id)
{
    struct hub *h = t->hub;
    struct room *room = map_get(&h->rooms, conv_id);
    if (!room) {
        room = xcalloc(1, sizeof *room);
        list_init(&room->seats);
        room->conv_id = str_make(str_dup(conv_id), conv_id.n);
        map_put(&h->rooms, conv_id, room);
    }
    s->tap = t;
    s->room = room;
    list_push(&room->seats, &s->node);
    room->nseats++;
    tell_presence(h, s, "joined");
}

static void room_put(struct hub *h, struct room *room)
{
    if (--room->nseats > 0)
        return;
    map_del(&h->rooms, room->conv_id);
    free((char *)room->conv_id.p);
    free(room);
}

void hub_stand(struct seat *s)
{
    struct room *room = s->room;
    if (!room)
        return;
    tell_presence(s->tap->hub, s, "left");
    list_del(&s->node);
    s->room = NULL;
    room_put(s->tap->hub, room);
}

/* ---- whose access ends ---- */

static void revoke_seat(struct seat *s)
{
    struct tap *t = s->tap;
    hub_stand(s);
    t->ev->on_revoked(t, s);
}

static struct seat *next_denied(struct room *room, const struct conv_acl *acl)
{
    LIST_FOREACH (n, &room->seats) {
        struct seat *s = LIST_ENTRY(n, struct seat, node);
        if (!s->tap->is_operator && !access_allows(&s->tap->viewer, acl, CONV_VIEW))
            return s;
    }
    return NULL;
}

/* The new rules of a conversation are known before its next event is sent. */
static void enforce(struct hub *h, str conv_id, const struct conv_acl *acl)
{
    struct room *room = map_get(&h->rooms, conv_id);
    if (!room)
        return;
    struct seat *s;
    room->nseats++;                              /* it stays while we look around in it */
    while ((s = next_denied(room, acl)) != NULL) /* one end may be the end of others */
        revoke_seat(s);
    room_put(h, room);
}

static void revoke_tap(struct tap *t)
{
    t->ev->on_revoked(t, NULL);
}

void hub_end_user(struct api *api, str workspace_id, str user_id)
{
    struct map_entry *m;
    for (size_t i = 0; (m = map_next(&api->hubs, &i)) != NULL;) {
        struct hub *h = m->value;
        if (workspace_id.n > 0 && !str_eq(workspace_id, h->workspace_id))
            continue;
        LIST_FOREACH (n, &h->taps) {
            struct tap *t = LIST_ENTRY(n, struct tap, node);
            if (!t->is_operator && str_eq(t->viewer.user_id, user_id))
                revoke_tap(t);
        }
    }
}

void hub_end_workspace(struct api *api, str workspace_id)
{
    struct hub *h = map_get(&api->hubs, workspace_id);
    if (!h)
        return;
    LIST_FOREACH (n, &h->taps)
        revoke_tap(LIST_ENTRY(n, struct tap, node));
}

void hub_end_login(struct api *api, str session_id, str token_id)
{
    struct map_entry *m;
    for (size_t i = 0; (m = map_next(&api->hubs, &i)) != NULL;) {
        struct hub *h = m->value;
        LIST_FOREACH (n, &h->taps) {
            struct tap *t = LIST_ENTRY(n, struct tap, node);
            if ((session_id.n > 0 && str_eq(t->session_id, session_id)) ||
                (token_id.n > 0 && str_eq(t->token_id, token_id)))
                revoke_tap(t);
        }
    }
}

void hub_role_changed(struct api *api, str workspace_id, str user_id, bool is_admin)
{
    struct hub *h = map_get(&api->hubs, workspace_id);
    if (!h)
        return;
    LIST_FOREACH (n, &h->taps) {
        struct tap *t = LIST_ENTRY(n, struct tap, node);
        if (!str_eq(t->viewer.user_id, user_id) || t->viewer.is_workspace_admin == is_admin)
            continue;
        t->viewer.is_workspace_admin = is_admin;
        if (t->ev->on_role)
            t->ev->on_role(t);
    }
}

/* ---- the topic ---- */

static void deliver(struct hub *h, const struct news *n)
{
    LIST_FOREACH (it, &h->taps) {
        struct tap *t = LIST_ENTRY(it, struct tap, node);
        if (t->ev->on_news && is_for(&n->filter, t))
            t->ev->on_news(t, n->frame);
    }
}

static void tell_shared(struct hub *h)
{
    LIST_FOREACH (it, &h->taps) {
        struct tap *t = LIST_ENTRY(it, struct tap, node);
        if (t->ev->on_shared)
            t->ev->on_shared(t);
    }
}

static void on_msg(void *ctx, struct bus_msg *msg)
{
    struct hub *h = ctx;
    struct arena a;
    struct json *data;
    arena_init(&a);
    if (json_parse(&a, msg->data, 0, &data, NULL) == 0) {
        char id[48];
        struct news *n = &h->ring[++h->count % HUB_RING];
        news_drop(n);
        arena_init(&n->arena);
        make_filter(&n->arena, msg->type, data, &n->filter);
        n->frame = make_frame(&a, msg, data, make_id(h, h->count, id));
        if (n->filter.kind == NEWS_BY_ACL)
            enforce(h, json_get_string(data, "conversationId"), &n->filter.acl);
        if (str_eq(msg->type, STR("conversation.shared")) ||
            str_eq(msg->type, STR("conversation.deleted")))
            tell_shared(h);
        deliver(h, n);
    }
    arena_done(&a);
}

/* "<boot>-<n>" of this process, with n in the ring or just before it. */
static bool parse_id(const struct hub *h, str id, uint64_t *ret)
{
    ptrdiff_t dash = str_rfind_char(id, '-');
    if (dash < 0 || !str_eq(str_slice(id, 0, (size_t)dash), str_from(h->api->boot_id)))
        return false;
    uint64_t oldest = h->count > HUB_RING ? h->count - HUB_RING : 0;
    return parse_u64(str_skip(id, (size_t)dash + 1), ret) == 0 && *ret <= h->count &&
           *ret >= oldest;
}

bool hub_replay(struct tap *t, str last_id)
{
    uint64_t from;
    if (!parse_id(t->hub, last_id, &from))
        return false;
    for (uint64_t i = from + 1; i <= t->hub->count; i++) {
        const struct news *n = &t->hub->ring[i % HUB_RING];
        if (is_for(&n->filter, t))
            t->ev->on_news(t, n->frame);
    }
    return true;
}

/* ---- life ---- */

void tap_identify(struct tap *t, struct arena *a, const struct api_identity *id)
{
    t->viewer = id->viewer;
    t->viewer.user_id = arena_str(a, id->viewer.user_id);
    t->session_id = arena_str(a, id->who.session_id);
    t->token_id = arena_str(a, id->who.token_id);
    t->expires_ms = id->who.expires_ms;
    t->is_operator = id->is_operator;
}

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
    list_init(&h->taps);
    map_init(&h->rooms);
    h->sub = bus_subscribe(api->deps.bus, store_space_topic(&a, space->store), on_msg, h);
    map_put(&api->hubs, space->id, h);
    arena_done(&a);
    return h;
}

static void hub_free(struct hub *h)
{
    assert(list_empty(&h->taps) && map_len(&h->rooms) == 0);
    for (size_t i = 0; i < HUB_RING; i++)
        news_drop(&h->ring[i]);
    bus_unsubscribe(h->sub);
    map_done(&h->rooms);
    free((char *)h->workspace_id.p);
    free(h);
}

void hubs_free(struct api *api)
{
    struct map_entry *m;
    timer_stop(&api->beat);
    for (size_t i = 0; (m = map_next(&api->hubs, &i)) != NULL;)
        hub_free(m->value);
    map_done(&api->hubs);
    map_init(&api->hubs);
}

/* ---- heartbeats: each second a thirtieth of the streams, all with one frame ---- */

/* What is not asked for again, would otherwise outlive its token. A session that was refreshed
 * meanwhile goes on. */
static bool has_run_out(struct api *api, struct tap *t, int64_t now_ms)
{
    if (t->expires_ms == 0 || now_ms < t->expires_ms)
        return false;
    if (t->session_id.n > 0)
        t->expires_ms = auth_session_until(api->deps.auth, t->session_id);
    bool is_over = now_ms >= t->expires_ms;
    if (is_over)
        t->expires_ms = 0; /* revoked once */
    return is_over;
}

static void on_beat(void *ctx)
{
    struct api *api = ctx;
    struct map_entry *m;
    char now[CLOCK_ISO_LEN + 1], text[64];
    bool is_anybody = false;
    int64_t now_ms = clock_now_ms();
    clock_iso(now_ms, now);
    snprintf(text, sizeof text, "{\"timestamp\":\"%s\"}", now);
    struct sse_frame *f = sse_frame_new(STR("heartbeat"), STR_NONE, str_from(text));
    api->beats++;
    for (size_t i = 0; (m = map_next(&api->hubs, &i)) != NULL;) {
        struct hub *h = m->value;
        LIST_FOREACH (n, &h->taps) {
            struct tap *t = LIST_ENTRY(n, struct tap, node);
            is_anybody = true;
            if (has_run_out(api, t, now_ms))
                revoke_tap(t);
            else if (t->ev->on_beat && t->beat == api->beats % API_BEAT_S)
                t->ev->on_beat(t, f);
        }
    }
    sse_frame_unref(f);
    if (is_anybody)
        timer_start(&api->beat, 1000);
}

void hub_join(struct hub *h, struct tap *t)
{
    struct api *api = h->api;
    t->hub = h;
    t->beat = api->beats % API_BEAT_S; /* its first in 30 s */
    list_push(&h->taps, &t->node);
    h->ntaps++;
    if (!timer_active(&api->beat)) {
        timer_init(&api->beat, api->deps.loop, on_beat, api);
        timer_start(&api->beat, 1000);
    }
}

void hub_leave(struct tap *t)
{
    list_del(&t->node);
    t->hub->ntaps--;
}

struct tap *hub_next_tap(struct hub *h, struct tap *t)
{
    struct list_node *next = t ? t->node.next : h->taps.next;
    return next == &h->taps ? NULL : LIST_ENTRY(next, struct tap, node);
}
