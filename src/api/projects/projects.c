/* /v1/projects - conversations that belong together.
 *
 * The owner of a project and the admins of the workspace change it. Members see it, and put
 * conversations of their own into it, which gives nobody a right to them. For everybody else a
 * project does not exist. */
#include "api/projects/projects.h"

#include <assert.h>
#include <errno.h>

#include "api/api_impl.h"
#include "api/bodies.h"
#include "api/handlers.h"
#include "attach/attach.h"

/* ---- what other requests ask ---- */

static bool find_seen(const struct http_req *r, str id, struct conv_project *ret)
{
    return projects_find(api_space(r)->projects, id, ret) && project_is_seen_by(ret, api_actor(r));
}

void api_write_project_of(struct json_writer *w, const struct http_req *r, const struct conv *c)
{
    struct conv_project p;
    str of = json_get_string(c->branch, "of"); /* a branch is where its conversation is */
    if (projects_of(api_space(r)->projects, of.n > 0 ? of : c->id, &p) &&
        project_is_seen_by(&p, api_actor(r)))
        jw_kstr(w, "projectId", p.id);
}

bool api_conversations_in(struct http_req *r, str project_id, struct json_strs *ret)
{
    struct conv_project p;
    if (!find_seen(r, project_id, &p))
        return api_not_found(r, "project");
    *ret = projects_conversations(api_space(r)->projects, &r->arena, project_id);
    return true;
}

bool api_may_begin_in(struct http_req *r, str project_id, str conversation_id)
{
    struct conv_project p;
    if (conversation_id.n > 0)
        return api_bad_request(r, "projectId: only a new conversation can begin in a project; PUT "
                                  "/v1/conversations/:id/project moves one");
    return find_seen(r, project_id, &p) || api_not_found(r, "project");
}

/* ---- GET /v1/projects ---- */

static void write_project(struct json_writer *w, const struct http_req *r,
                          const struct conv_project *p)
{
    jw_kstr(w, "id", p->id);
    jw_kstr(w, "name", p->name);
    jw_kstr(w, "ownerId", p->owner_id);
    jw_karray(w, "members");
    for (size_t i = 0; p->members && i < p->members->len; i++)
        jw_str(w, json_string(json_at(p->members, i), STR_NONE));
    jw_end(w);
    jw_kstr(w, "instructions", p->instructions);
    jw_kstr_or_null(w, "instructionsBy", p->instructions_by);
    jw_kstr(w, "createdAt", p->created_at);
    jw_kstr(w, "updatedAt", p->updated_at);
    jw_kint(w, "conversationCount", (int64_t)projects_size(api_space(r)->projects, p->id));
    jw_kint(w, "fileCount", (int64_t)project_file_count(p));
    jw_kbool(w, "mayManage", project_is_managed_by(p, api_actor(r)));
}

void api_projects_list(void *ctx, struct http_req *r)
{
    const struct projects *all = api_space(r)->projects;
    struct conv_project p;
    struct api_json j;
    api_json_begin(&j);
    jw_karray(&j.w, "projects");
    for (size_t i = 0; i < projects_count(all); i++) {
        if (!projects_at(all, i, &p) || !project_is_seen_by(&p, api_actor(r)))
            continue;
        jw_object(&j.w);
        write_project(&j.w, r, &p);
        jw_end(&j.w);
    }
    jw_end(&j.w);
    api_json_send(&j, r);
}

/* ---- changes ---- */

struct project_wait {
    struct http_req *req;
    struct doc_change *change;
    str id; /* of the project to reply with; empty = {"ok": true} */
};

static void on_project_gone(struct http_req *r)
{
    struct project_wait *w = r->user;
    if (w->change)
        doc_change_forget(w->change);
}

static void on_project_changed(void *ctx, const struct err *err)
{
    struct project_wait *w = ctx;
    struct http_req *r = w->req;
    struct conv_project p;
    struct api_json j;
    if (err) {
        api_fail(r, FROM_CHANGE, err);
    } else if (w->id.n == 0) {
        api_reply_ok(r);
    } else if (!projects_find(api_space(r)->projects, w->id, &p)) {
        api_not_found(r, "project");
    } else {
        api_json_begin(&j);
        write_project(&j.w, r, &p);
        api_json_send(&j, r);
    }
}

static struct project_wait *wait_for_change(struct http_req *r, str id)
{
    struct project_wait *w = ARENA_NEW(&r->arena, struct project_wait);
    w->req = r;
    w->id = arena_str(&r->arena, id);
    r->user = w;
    r->on_gone = on_project_gone;
    return w;
}

struct project_body {
    const struct json *name, *instructions, *members;
};

const struct json_field API_PROJECT_FIELDS[] = {
    {"name", JF_JSON, offsetof(struct project_body, name), JF_NULLABLE, NULL, 0,
     "Up to 100 bytes; a new project needs one.", "string|null"},
    {"instructions", JF_JSON, offsetof(struct project_body, instructions), JF_NULLABLE, NULL, 0,
     "Up to 8,000 bytes, part of runs in its conversations; absent: as before.", "string|null"},
    {"members", JF_JSON, offsetof(struct project_body, members), JF_NULLABLE, NULL, 0,
     "Ids, addresses or names of those who see it beside its owner; absent: as before.",
     "string[]|null"},
    {0}};

static bool project_text(struct http_req *r, const char *key, const struct json *v, bool *ret_has,
                         str *ret)
{
    *ret_has = v != NULL;
    *ret = json_string(v, STR_NONE);
    if (!v || v->type == JSON_STRING)
        return true;
    return api_bad_request(r, arena_printf(&r->arena, "%s: expected a string", key).p);
}

/* Names and addresses become ids of members of the workspace. */
static bool read_members(const struct api *api, struct http_req *r, const struct json *v,
                         struct project_edit *x)
{
    const struct roster *all = directory_roster(api->deps.directory);
    const struct workspace *ws = roster_workspace(all, api_space(r)->id);
    x->has_members = v != NULL;
    if (!v)
        return true;
    if (v->type != JSON_ARRAY || v->len > PROJECT_MEMBERS_MAX)
        return api_bad_request(r, "members: expected an array of at most 100 members");
    x->members.items = arena_array(&r->arena, v->len + 1, sizeof(str));
    for (size_t i = 0; i < v->len; i++) {
        const struct user *u;
        struct err e = {0};
        if (member_find(ws, json_string(json_at(v, i), STR_NONE), &u, &e) < 0) {
            err_prefix(&e, "members");
            return api_bad_request(r, e.msg);
        }
        x->members.items[x->members.len++] = u->id;
    }
    return true;
}

static bool read_edit(const struct api *api, struct http_req *r, struct project_edit *x)
{
    struct project_body in = {0};
    *x = (struct project_edit){.by = api_user(r)};
    if (!api_decode_body(r, API_PROJECT_FIELDS, &in) ||
        !project_text(r, "name", in.name, &x->has_name, &x->name) ||
        !project_text(r, "instructions", in.instructions, &x->has_instructions, &x->instructions) ||
        !read_members(api, r, in.members, x))
        return false;
    return api_space(r)->projects || api_forbidden(r, "This workspace is opened for reading only.");
}

void api_projects_add(void *ctx, struct http_req *r)
{
    struct project_edit x;
    char id[PROJECT_ID_MAX];
    if (!read_edit(ctx, r, &x))
        return;
    x.has_name = true; /* a project without a name is refused */
    project_new_id(id);
    x.id = str_from(id);
    struct project_wait *w = wait_for_change(r, x.id);
    w->change = projects_change(api_space(r)->projects, &x, true, on_project_changed, w);
}

bool api_see_project(struct http_req *r, struct conv_project *ret)
{
    return find_seen(r, r->params[0], ret) || api_not_found(r, "project");
}

bool api_manage_project(struct http_req *r, struct conv_project *ret)
{
    return api_see_project(r, ret) &&
           (project_is_managed_by(ret, api_actor(r)) ||
            api_forbidden(
                r, "Only the owner of the project and admins of the workspace may do this."));
}

void api_projects_set(void *ctx, struct http_req *r)
{
    struct project_edit x;
    struct conv_project p;
    if (!api_manage_project(r, &p) || !read_edit(ctx, r, &x))
        return;
    x.id = r->params[0];
    struct project_wait *w = wait_for_change(r, x.id);
    w->change = projects_change(api_space(r)->projects, &x, false, on_project_changed, w);
}

/* A file that was added meanwhile goes, too. */
static void on_project_removed(void *ctx, const struct err *err)
{
    struct project_wait *w = ctx;
    if (!err && api_space(w->req)->files)
        attach_remove_all(api_space(w->req)->files, w->req->params[0], NULL, NULL);
    on_project_changed(ctx, err);
}

static void on_project_emptied(void *ctx, const struct err *err)
{
    struct project_wait *w = ctx;
    struct http_req *r = w->req;
    struct project_edit x = {.id = r->params[0], .by = api_user(r), .is_removal = true};
    if (err)
        api_fail(r, FROM_FILES, err);
    else
        w->change = projects_change(api_space(r)->projects, &x, false, on_project_removed, w);
}

/* Its files first: should the rest fail, the project is still there, and can be removed again. The
 * client may disconnect: all of it is done. */
void api_projects_remove(void *ctx, struct http_req *r)
{
    struct conv_project p;
    if (!api_manage_project(r, &p))
        return;
    struct project_wait *w = wait_for_change(r, STR_NONE);
    r->on_gone = NULL;
    if (api_space(r)->files)
        (void)attach_remove_all(api_space(r)->files, r->params[0], on_project_emptied, w);
    else
        on_project_emptied(w, NULL);
}

/* ---- PUT /v1/conversations/:id/project ---- */

struct move_body {
    str project_id;
};

const struct json_field API_MOVE_FIELDS[] = {{"projectId", JF_STR,
                                              offsetof(struct move_body, project_id), JF_NULLABLE,
                                              NULL, 0, "The project; null: it is in none."},
                                             {0}};

/* Who may read the conversation does not change. */
static void move_found(struct api_wait *w, const struct conv *c)
{
    const struct move_body *in = w->data;
    struct http_req *r = w->req;
    struct conv_project p;
    if (in->project_id.n > 0 && !find_seen(r, in->project_id, &p)) {
        api_not_found(r, "project");
        return;
    }
    if (!api_space(r)->projects) {
        api_forbidden(r, "This workspace is opened for reading only.");
        return;
    }
    struct project_wait *m = wait_for_change(r, STR_NONE);
    m->change =
        projects_assign(api_space(r)->projects, c->id, in->project_id, on_project_changed, m);
}

void api_conversations_move(void *ctx, struct http_req *r)
{
    struct move_body *in = ARENA_NEW(&r->arena, struct move_body);
    if (api_decode_body(r, API_MOVE_FIELDS, in))
        api_find_conv(ctx, r, in, move_found);
}
