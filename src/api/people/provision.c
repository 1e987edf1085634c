#include "api/people/provision.h"

#include <assert.h>
#include <errno.h>

#include "api/api_impl.h"
#include "api/identity.h"
#include "api/trail.h"
#include "base/bytes/random.h"
#include "base/clock.h"

/* One workspace that is being created, with the requests that wait for it. */
struct provision {
    struct api *api;
    struct list_node waiting;
    char *user_id;
    struct arena arena;
    struct audit_entry entry; /* of the request that caused it */
};

bool provision_is_allowed(const struct api *api, const struct actor *who)
{
    bool is_first = actor_is_owner(who) && api_roster(api)->nworkspaces == 0;
    return is_first ||
           (api->deps.config->people.own_workspace && actor_bound_workspace(who).n == 0);
}

void provision_refuse(struct http_req *r, const struct actor *who)
{
    const char *what = api_is_org_admin(who)
                           ? "You are not a member of any workspace. Add yourself to one: nb "
                             "workspace add-member, or POST /v1/workspaces/:ws/members."
                           : "You are not a member of any workspace. Ask an administrator of this "
                             "server, or an admin of a workspace, to add you to one.";
    http_reply_error(r, 403, "no_workspace", what, NULL);
}

static void on_provisioned(void *ctx, const struct err *err, str id)
{
    struct provision *p = ctx;
    struct list_node *n;
    struct provision *removed = map_del(&p->api->provisions, str_from(p->user_id));
    assert(removed == p); /* one for each person */
    p->entry.target = id;
    p->entry.outcome = err->code < 0 ? STR("failed") : STR("ok");
    audit_record(p->api->deps.audit, &p->entry);
    while ((n = list_pop(&p->waiting)) != NULL) {
        struct provision_wait *w = LIST_ENTRY(n, struct provision_wait, node);
        w->done(w, err);
    }
    free(p->user_id);
    arena_done(&p->arena);
    free(p);
}

static struct provision *provision_new(struct api *api, struct http_req *r, str user_id)
{
    struct provision *p = xcalloc(1, sizeof *p);
    p->api = api;
    p->user_id = str_dup(user_id);
    list_init(&p->waiting);
    arena_init(&p->arena);
    struct audit_entry e = trail_entry(api, r);
    e.action = STR("workspace.add");
    e.detail = STR("people.ownWorkspace: for a person without a workspace");
    p->entry = audit_entry_copy(&p->arena, &e);
    map_put(&api->provisions, user_id, p);
    return p;
}

static void make_workspace(struct provision *p, str user_id)
{
    struct api *api = p->api;
    char id[RANDOM_ID_MAX];
    const struct user *u = roster_user(api_roster(api), user_id);
    random_id("ws", id);
    struct change c = {
        .kind = CHANGE_WORKSPACE_ADD,
        .workspace_id = str_from(id),
        .name = u && u->display_name.n > 0 ? u->display_name : STR("Personal"),
        .user_id = user_id,
    };
    directory_change(api->deps.directory, &c, on_provisioned, p);
}

void provision_start(struct api *api, struct http_req *r, struct provision_wait *w)
{
    str user_id = api_user(r);
    assert(w->done && list_empty(&w->node));
    struct provision *p = map_get(&api->provisions, user_id);
    if (!p) {
        int wait_s = rates_take(&api->rates, user_id, RATE_WORKSPACES, PROVISIONS_PER_MINUTE,
                                clock_now_ms());
        struct err e = {0};
        if (wait_s > 0) {
            err_set(&e, -EBUSY, "Too many new workspaces. Retry after %d seconds.", wait_s);
            w->done(w, &e);
            return;
        }
        p = provision_new(api, r, user_id);
        make_workspace(p, user_id);
    }
    list_push(&p->waiting, &w->node);
}
