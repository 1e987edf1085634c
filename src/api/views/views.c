#include "api/views/views.h"

#include <assert.h>

#include "api/ingress/proxy.h"
#include "api/views/view_open.h"
#include "api/views/view_rpc.h"
#include "api/views/view_tools.h"
#include "base/bytes/base64.h"
#include "base/bytes/random.h"
#include "base/clock.h"
#include "bundle/bundle.h"
#include "bus/vocabulary.h"

#define SWEEP_MS    60000
#define CONTEXT_MAX (TURN_CONTEXT_TEXT_MAX + 1)

/* ---- the end ---- */

static void view_free(struct app_view *v)
{
    struct api *api = v->api;
    struct api_space *space = v->watcher.space;
    assert(list_empty(&v->rpcs) && list_empty(&v->openings));
    list_del(&v->node);
    map_del(&api->views->by_id, str_from(v->id));
    bus_unsubscribe(v->deletion);
    store_op_cancel(v->look);
    registry_unobserve(&v->sources);
    hub_watch_stop(&v->watch);
    hub_leave(&v->watcher);
    map_done(&v->called);
    map_done(&v->tasks);
    buf_done(&v->context);
    arena_done(&v->arena);
    free(v);
    api_release(api, space);
}

void view_end(struct app_view *v)
{
    view_openings_end(v);
    view_rpcs_end(v);
    view_tools_end(v);
    view_free(v);
}

/* ---- watching ---- */

static void on_view_revoked(struct watcher *w, struct watch *s)
{
    view_end(CONTAINER_OF(w, struct app_view, watcher));
}

static void on_view_frame(struct watcher *w, struct sse_frame *f) {}

static void on_view_role(struct watcher *w)
{
    struct app_view *v = CONTAINER_OF(w, struct app_view, watcher);
    bool is_allowed = v->watch.conv ? hub_allows(&v->watch) : actor_role(w->actor) != WS_NONE;
    if (!is_allowed)
        view_end(v);
}

static void on_view_looked(void *ctx, const struct err *err, const struct conv *c)
{
    struct app_view *v = ctx;
    v->look = NULL;
    if (err || !actor_allows(v->watcher.actor, &c->acl, CONV_VIEW))
        view_end(v);
    else
        hub_set_acl(&v->watch, &c->acl);
}

/* A child run may be seen by those who may see its parent. */
static void on_view_shared(struct watcher *w)
{
    struct app_view *v = CONTAINER_OF(w, struct app_view, watcher);
    if (!v->is_child)
        return;
    store_op_cancel(v->look);
    v->look = store_get(w->space->store, v->conversation_id, on_view_looked, v);
}

static void on_conversation(void *ctx, struct bus_msg *msg)
{
    if (str_eq(msg->type, event_name(EV_CONVERSATION_DELETED)))
        view_end(ctx);
}

/* A bundle that gets the name of one that was removed or replaced is another program, which must
 * not get the requests of this interface. */
static bool is_installed(const struct app_view *v)
{
    size_t n;
    const struct bundle *b = view_bundle(v);
    const str *names = registry_sources(v->watcher.space->tools, &n);
    return str_in(v->source, names, n) && (!b || bundle_generation(b) == v->generation);
}

static void on_sources_changed(void *ctx, str source)
{
    struct app_view *v = ctx;
    if (str_eq(source, v->source) && !is_installed(v))
        view_end(v);
}

void view_enter(struct app_view *v, const struct conv *c)
{
    struct store *store = v->watcher.space->store;
    assert(v->conversation_id.n > 0 && !v->watch.conv);
    v->is_child = c->parent != NULL;
    v->model = arena_str(&v->arena, c->last_model.n > 0 ? c->last_model : c->model);
    v->watch.is_quiet = true;
    hub_watch_start(&v->watcher, &v->watch, v->conversation_id, &c->acl);
    v->deletion =
        bus_subscribe(v->api->deps.bus, store_topic(&v->arena, store, c->id), on_conversation, v);
}

/* ---- the set ---- */

static void on_sweep(void *ctx)
{
    struct api *api = ctx;
    struct views *s = api->views;
    uint64_t now = clock_mono_ms();
    LIST_EACH (v, &s->all, struct app_view, node)
        if (v->nrpcs == 0 && v->is_open && now - v->used_ms >= VIEW_IDLE_MS)
            view_end(v);
    if (map_len(&s->by_id) > 0)
        timer_start(&s->sweep, SWEEP_MS);
}

struct views *views_new(struct api *api)
{
    struct views *s = xcalloc(1, sizeof *s);
    list_init(&s->all);
    map_init(&s->by_id);
    timer_init(&s->sweep, api->deps.loop, on_sweep, api);
    return s;
}

void views_end_all(struct views *s)
{
    while (!list_empty(&s->all))
        view_end(LIST_ENTRY(s->all.next, struct app_view, node));
    timer_stop(&s->sweep);
}

void views_free(struct views *s)
{
    assert(map_len(&s->by_id) == 0);
    map_done(&s->by_id);
    free(s);
}

struct app_view *views_find(struct api *api, str id)
{
    return map_get(&api->views->by_id, id);
}

struct bundle *view_bundle(const struct app_view *v)
{
    struct bundles *all = v->watcher.space->bundles;
    return all ? bundles_find(all, v->source) : NULL;
}

static bool is_same_login(const struct actor *a, const struct actor *b)
{
    const struct principal *x = &a->people[0], *y = &b->people[0];
    return str_eq(x->user_id, y->user_id) && str_eq(x->token_id, y->token_id) &&
           str_eq(x->session_id, y->session_id) && x->is_operator == y->is_operator;
}

struct app_view *view_of_request(struct api *api, struct http_req *r)
{
    struct app_view *v = views_find(api, r->params[0]);
    if (!v || !v->is_open || v->watcher.space != api_space(r) ||
        !is_same_login(v->watcher.actor, api_actor(r))) {
        http_reply_error(r, 404, "view_not_found", "No such view; it may have ended.", NULL);
        return NULL;
    }
    v->used_ms = clock_mono_ms();
    list_del(&v->node);
    list_push(&api->views->all, &v->node);
    return v;
}

/* Ends the least recently used views, so that one more fits. */
static void make_room(struct api *api, str user_id)
{
    size_t own = 0;
    LIST_EACH (v, &api->views->all, struct app_view, node)
        own += str_eq(actor_user(v->watcher.actor), user_id);
    LIST_EACH (v, &api->views->all, struct app_view, node) {
        bool is_own = str_eq(actor_user(v->watcher.actor), user_id);
        bool is_full = map_len(&api->views->by_id) >= VIEWS_MAX;
        if (!is_full && own < VIEWS_PER_PERSON)
            break;
        if (!is_full && !is_own)
            continue;
        own -= is_own;
        view_end(v);
    }
}

static void make_id(char out[VIEW_ID_LEN + 1])
{
    uint8_t bytes[24];
    struct buf b;
    random_bytes(bytes, sizeof bytes);
    buf_init(&b, VIEW_ID_LEN);
    buf_add_lit(&b, "view_");
    base64url_encode(&b, str_make((const char *)bytes, sizeof bytes));
    assert(b.n == VIEW_ID_LEN);
    memcpy(out, buf_cstr(&b), VIEW_ID_LEN + 1);
    buf_done(&b);
}

struct app_view *view_new(struct api *api, struct http_req *r)
{
    static const struct watcher_events EVENTS = {.on_revoked = on_view_revoked,
                                                 .on_frame = on_view_frame,
                                                 .on_role = on_view_role,
                                                 .on_shared = on_view_shared};
    make_room(api, api_user(r));
    struct app_view *v = xcalloc(1, sizeof *v);
    v->api = api;
    make_id(v->id);
    arena_init(&v->arena);
    map_init(&v->called);
    map_init(&v->tasks);
    buf_init(&v->context, CONTEXT_MAX);
    list_init(&v->openings);
    list_init(&v->rpcs);
    v->tokens = VIEW_BURST;
    v->used_ms = v->refilled_ms = clock_mono_ms();
    v->watcher.ev = &EVENTS;
    hub_join(api, api_hold(api, api_space(r)), &v->watcher, api_actor(r));
    v->sources = (struct registry_observer){.changed = on_sources_changed, .ctx = v};
    registry_observe(v->watcher.space->tools, &v->sources);
    list_push(&api->views->all, &v->node);
    map_put(&api->views->by_id, str_from(v->id), v);
    if (!timer_active(&api->views->sweep))
        timer_start(&api->views->sweep, SWEEP_MS);
    return v;
}

bool view_take_token(struct app_view *v)
{
    uint64_t now = clock_mono_ms();
    v->tokens += (double)(now - v->refilled_ms) * VIEW_RATE / 1000;
    v->refilled_ms = now;
    if (v->tokens > VIEW_BURST)
        v->tokens = VIEW_BURST;
    if (v->tokens < 1)
        return false;
    v->tokens -= 1;
    return true;
}

/* ---- layout ---- */

static bool is_forwarded(const struct http_req *r)
{
    return http_has_header(r, "x-forwarded-for") || http_has_header(r, "x-forwarded-proto") ||
           http_has_header(r, "x-forwarded-host") || http_has_header(r, "forwarded") ||
           http_has_header(r, "via");
}

/* The guard has checked Host and Origin. A page that is loaded has no Origin yet. */
static str origin_of(const struct config_http *h, struct http_req *r)
{
    str given = http_get_header(r, "origin");
    return given.n > 0 ? given
                       : arena_printf(&r->arena, "%s://%.*s", proxy_is_tls(h, r) ? "https" : "http",
                                      STR_ARG(http_get_header(r, "host")));
}

struct view_layout view_layout(const struct api *api, struct http_req *r, bool is_single_wanted)
{
    const struct config_http *h = &api->deps.config->http;
    struct layout_facts f = {
        .apps_origin = h->apps_origin,
        .base_path = h->base_path,
        .host = http_get_header(r, "host"),
        .page_origin = origin_of(h, r),
        .port = api->port,
        .apps_port = api->apps_port,
        .is_proxied = is_forwarded(r),
        .is_tls = h->tls_cert.n > 0,
        .is_single_wanted = is_single_wanted,
    };
    return layout_choose(&r->arena, &f);
}
