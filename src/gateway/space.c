#include "gateway/space.h"

#include <assert.h>

#include "gateway/http/http.h"
#include "gateway/methods/catalog.h"
#include "gateway/methods/listen.h"
#include "gateway/session.h"
#include "gateway/upstream/private_connections.h"
#include "gateway/upstream/session_connection.h"
#include "gateway/upstream/suspended_calls.h"
#include "gateway/upstream/task_ids.h"

static void on_tools_changed(void *ctx, str source)
{
    gw_space_tell(ctx, GW_TOOLS);
}

static void on_tell(void *space)
{
    struct gw_space *s = space;
    unsigned changed = s->changed;
    assert(changed != 0); /* else nothing would have deferred this */
    s->changed = 0;
    for (int i = 0; i < GW_LISTS; i++) {
        if (changed & (1u << i))
            gw_listen_changed(s, (enum gw_list)i);
    }
}

void gw_space_tell(struct gw_space *s, enum gw_list what)
{
    s->changed |= 1u << what;
    defer_start(s->g->deps.loop, &s->tell);
}

static struct gw_space *space_find(struct gateway *g, const struct registry *tools)
{
    LIST_EACH (s, &g->spaces, struct gw_space, node)
        if (s->tools == tools)
            return s;
    return NULL;
}

struct gw_space *gw_space_of(struct gateway *g, const struct gateway_caller *who)
{
    struct gw_space *s = space_find(g, who->tools);
    if (s) {
        s->bundles = who->bundles;
        s->runtime = who->runtime;
        return s;
    }
    assert(who->tools && who->workspace_id.n > 0);
    s = xcalloc(1, sizeof *s);
    s->g = g;
    s->tools = who->tools;
    s->bundles = who->bundles;
    s->runtime = who->runtime;
    s->id = str_dup(who->workspace_id);
    list_init(&s->requests);
    list_init(&s->listens);
    list_init(&s->ups);
    list_init(&s->suspended);
    list_init(&s->tasks);
    map_init(&s->catalogs);
    map_init(&s->pools);
    map_init(&s->watches);
    defer_init(&s->tell, on_tell, s);
    s->observer = (struct registry_observer){.changed = on_tools_changed, .ctx = s};
    registry_observe(s->tools, &s->observer);
    list_push(&g->spaces, &s->node);
    return s;
}

struct dropped { /* whose sessions and requests end; all empty = everybody's */
    str user_id;
    str session_id, token_id; /* instead of the user: a login or an API token */
};

static bool is_dropped(const struct dropped *d, const struct actor *a)
{
    if (d->session_id.n > 0 || d->token_id.n > 0)
        return actor_has_session(a, d->session_id) || actor_has_token(a, d->token_id);
    return d->user_id.n == 0 || str_eq(actor_user(a), d->user_id);
}

static struct gw_session *next_session(struct gw_space *space, const struct dropped *d)
{
    LIST_EACH (s, &space->g->lru, struct gw_session, node)
        if (s->space == space && is_dropped(d, s->actor))
            return s;
    return NULL;
}

static struct gw_request *next_request(struct gw_space *s, const struct dropped *d)
{
    LIST_EACH (q, &s->requests, struct gw_request, node)
        if (is_dropped(d, q->actor))
            return q;
    return NULL;
}

/* Ending one may end others, so each search starts again from the first. */
static void drop(struct gw_space *space, const struct dropped *d)
{
    struct gw_session *s;
    struct gw_request *q;
    while ((s = next_session(space, d)) != NULL)
        gw_session_end(s);
    while ((q = next_request(space, d)) != NULL)
        gw_request_cancel(q);
}

void gw_space_forget(struct gw_space *s)
{
    drop(s, &(struct dropped){0});
    suspended_drop_all(s, STR_NONE);
    assert(list_empty(&s->requests) && list_empty(&s->listens));
    assert(list_empty(&s->ups) && list_empty(&s->suspended));
    gw_catalogs_done(s);
    private_connections_done(s);
    assert(map_len(&s->watches) == 0); /* each belonged to a session or a stream */
    map_done(&s->watches);
    gw_tasks_done(s);
    gw_headers_done(s);
    defer_stop(&s->tell);
    registry_unobserve(&s->observer);
    list_del(&s->node);
    free(s->id);
    free(s);
}

void gateway_space_gone(struct gateway *g, const struct registry *tools)
{
    struct gw_space *s = space_find(g, tools);
    if (s)
        gw_space_forget(s);
}

void gateway_drop_user(struct gateway *g, str workspace_id, str user_id)
{
    LIST_EACH (s, &g->spaces, struct gw_space, node) {
        if (workspace_id.n > 0 && !str_eq(str_from(s->id), workspace_id))
            continue;
        drop(s, &(struct dropped){.user_id = user_id});
        suspended_drop_all(s, user_id);
    }
}

void gateway_drop_login(struct gateway *g, str session_id, str token_id)
{
    if (session_id.n == 0 && token_id.n == 0) /* else it would mean everybody */
        return;
    LIST_EACH (s, &g->spaces, struct gw_space, node)
        drop(s, &(struct dropped){.session_id = session_id, .token_id = token_id});
}

/* ---- notifications from bundles ---- */

static void bundle_removed(struct gw_space *s, struct bundle *b)
{
    gw_upstream_bundle_gone(s, b);
    LIST_EACH (one, &s->g->lru, struct gw_session, node)
        if (one->space == s)
            session_connection_bundle_gone(one, b);
    private_connection_bundle_gone(s, b);
    gw_catalog_bundle_gone(s, b);
    gw_watch_bundle_gone(s, b);
}

void gateway_bundle_changed(struct gateway *g, struct registry *tools, struct bundle *b,
                            enum bundle_change what)
{
    struct gw_space *s = space_find(g, tools);
    if (!s)
        return;
    if (what == BUNDLE_RESOURCES) {
        gw_catalog_stale(s, b, GW_RESOURCES);
        gw_catalog_stale(s, b, GW_TEMPLATES);
        gw_space_tell(s, GW_RESOURCES);
    } else if (what == BUNDLE_PROMPTS) {
        gw_catalog_stale(s, b, GW_PROMPTS);
        gw_space_tell(s, GW_PROMPTS);
    } else if (what == BUNDLE_STATE && bundle_server_capabilities(b)) {
        for (int i = 0; i < GW_LISTS; i++)
            gw_catalog_stale(s, b, (enum gw_list)i);
        gw_watch_bundle_running(s, b);
    } else if (what == BUNDLE_REMOVED) {
        bundle_removed(s, b);
    }
}

void gateway_bundle_notified(struct gateway *g, struct registry *tools, struct bundle *b,
                             str method, const struct json *params)
{
    struct gw_space *s = space_find(g, tools);
    if (s && str_eq(method, STR("notifications/resources/updated")))
        gw_listen_updated(s, b, params);
}
