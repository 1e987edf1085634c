/* Conversations: summaries, and operations on a whole conversation. */
#include "api/conversations/conversations.h"

#include <assert.h>
#include <errno.h>

#include "api/bodies.h"
#include "api/handlers.h"
#include "api/projects/projects.h"
#include "api/routes.h"
#include "api/trail.h"
#include "attach/attach.h"
#include "store/event/derive.h"

#define LIST_LIMIT     20
#define LIST_LIMIT_MAX 1000

/* Writes the members of a summary, without the braces. */
static void write_conv(struct json_writer *w, const struct conv *c)
{
    jw_kstr(w, "id", c->id);
    jw_kstr(w, "createdAt", c->created_at);
    jw_kstr(w, "updatedAt", c->updated_at);
    jw_kstr_or_null(w, "title", c->title);
    jw_kstr(w, "preview", c->preview);
    jw_kint(w, "messageCount", c->message_count);
    jw_kint(w, "totalInputTokens", c->usage.input_tokens);
    jw_kint(w, "totalOutputTokens", c->usage.output_tokens);
    jw_key(w, "totalCostUsd");
    if (c->is_cost_known)
        jw_double(w, c->cost_usd);
    else
        jw_null(w);
    jw_kstr_or_null(w, "lastModel", c->last_model);
    jw_kstr(w, "workspaceId", c->workspace_id);
    jw_kstr_or_null(w, "ownerId", c->acl.owner_id);
    jw_kstr(w, "visibility", c->acl.is_shared ? STR("shared") : STR("private"));
    api_write_strs(w, "participants", c->acl.participants);
    if (c->acl.readers.len > 0)
        api_write_strs(w, "readers", c->acl.readers);
    if (c->channel.n > 0)
        jw_kstr(w, "channel", c->channel);
    if (c->forked_from.n > 0)
        jw_kstr(w, "forkedFrom", c->forked_from);
    if (c->branch) {
        jw_kstr(w, "forkKind", STR("branch"));
        jw_kval(w, "branch", c->branch);
    }
    if (c->metadata)
        jw_kval(w, "metadata", c->metadata);
    if (c->bad_lines > 0)
        jw_kint(w, "badLines", c->bad_lines);
}

/* The last run of the log has no end although nothing runs: the server stopped during the run. With
 * several servers a different server runs it, or will end it soon (runtime/queue/hold.c). */
static void write_run(struct json_writer *w, struct runtime *rt, const struct conv *c)
{
    bool is_open = str_eq(c->last_run, STR("open"));
    bool is_running = runtime_active_run(rt, c->id).n > 0 ||
                      (is_open && store_has_leases(runtime_deps(rt)->store));
    jw_kbool(w, "isRunning", is_running);
    jw_kstr_or_null(w, "lastRun",
                    is_running ? STR("running")
                    : is_open  ? STR("interrupted")
                               : c->last_run);
}

/* What a page offers, and the route behind it: the table of routes says who is let through. */
static const struct {
    const char *name;
    api_handler *handle;
} OFFERS[] = {
    {"send", api_chat_start},
    {"rename", api_conversations_rename},
    {"delete", api_conversations_delete},
    {"share", api_sharing_set},
    {"leave", api_sharing_leave},
    {"branch", api_conversations_fork}, /* of the kind branch */
};

struct offers {
    const struct access_rule *rules[ARRAY_LEN(OFFERS)];
};

static struct offers offers_of_routes(void)
{
    struct offers found = {0};
    size_t n;
    const struct route *routes = api_routes(&n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < ARRAY_LEN(OFFERS); k++)
            if (routes[i].handle == OFFERS[k].handle)
                found.rules[k] = api_rule(&routes[i]);
    return found;
}

/* A person with the right that the route requires, and with a token that it admits. */
static bool is_admitted(const struct api_wait *wait, const struct conv *c,
                        const struct access_rule *rule)
{
    assert(rule && rule->conv != RULE_CONV_NONE);
    return api_may(wait, c, (enum conv_right)(rule->conv - 1)) &&
           !rule_refuses_token(rule, api_actor(wait->req));
}

/* A branch is hidden behind a conversation of the same owner. Others, also those with whom it is
 * shared, fork it into one of their own. */
static bool may_branch(const struct api_wait *wait, const struct conv *c)
{
    return c->acl.owner_id.n > 0 && str_eq(c->acl.owner_id, api_user(wait->req)) && !c->parent;
}

/* What the caller may do, so that a page offers nothing that would be refused. */
static void write_may(struct json_writer *w, const struct api_wait *wait,
                      const struct offers *offers, const struct conv *c)
{
    jw_kobject(w, "may");
    for (size_t i = 0; i < ARRAY_LEN(OFFERS); i++)
        jw_kbool(w, OFFERS[i].name,
                 is_admitted(wait, c, offers->rules[i]) &&
                     (OFFERS[i].handle != api_conversations_fork || may_branch(wait, c)));
    jw_end(w);
}

void api_write_mark(struct json_writer *w, const struct mark_state *s)
{
    jw_kbool(w, "isPinned", s->is_pinned);
    jw_kbool(w, "isArchived", s->is_archived);
    jw_kbool(w, "isUnread", s->is_unread);
}

static void reply_marked(struct api_wait *wait, const struct conv *c, const struct mark_state *s)
{
    struct api_json j;
    api_json_begin(&j);
    write_conv(&j.w, c);
    write_run(&j.w, wait->space->runtime, c);
    struct offers offers = offers_of_routes();
    write_may(&j.w, wait, &offers, c);
    api_write_project_of(&j.w, wait->req, c);
    if (s)
        api_write_mark(&j.w, s);
    api_json_send(&j, wait->req);
}

void api_reply_conv(void *ctx, const struct err *err, const struct conv *c)
{
    struct api_wait *wait = ctx;
    if (err) {
        api_fail(wait->req, FROM_STORE, err);
        return;
    }
    reply_marked(wait, c, NULL);
}

/* ---- GET /v1/conversations ---- */

/* Contains paths, so only people who can repair it get it. */
static void write_unreadable(struct json_writer *w, const struct store_listing *l)
{
    jw_kstrs(w, "unreadable", l->unreadable, l->nunreadable);
}

static void on_conv_listed(void *ctx, const struct err *err, const struct store_listing *l)
{
    struct api_wait *wait = ctx;
    if (err) {
        api_fail(wait->req, FROM_STORE, err);
        return;
    }
    struct offers offers = offers_of_routes();
    struct api_json j;
    api_json_begin(&j);
    jw_karray(&j.w, "conversations");
    for (size_t i = 0; i < l->n; i++) {
        jw_object(&j.w);
        write_conv(&j.w, &l->convs[i]);
        write_run(&j.w, wait->space->runtime, &l->convs[i]);
        write_may(&j.w, wait, &offers, &l->convs[i]);
        api_write_project_of(&j.w, wait->req, &l->convs[i]);
        api_write_mark(&j.w, &l->convs[i].mark);
        jw_end(&j.w);
    }
    jw_end(&j.w);
    jw_kstr_or_null(&j.w, "nextCursor", l->next_cursor);
    jw_kint(&j.w, "totalCount", l->total);
    api_write_indexing(&j.w, wait->req, &l->counting);
    if (l->nunreadable > 0 && api_is_admin(wait->req))
        write_unreadable(&j.w, l);
    api_json_send(&j, wait->req);
}

static bool parse_only(struct http_req *r, const char *name, enum store_only *ret)
{
    bool is;
    if (!api_query_flag(r, name, false, &is))
        return false;
    *ret = api_query(r, name).n == 0 ? STORE_ANY : is ? STORE_YES : STORE_NO;
    return true;
}

static bool parse_sort(struct http_req *r, enum store_sort *ret)
{
    str by = api_query(r, "sortBy");
    *ret = str_eq(by, STR("createdAt")) ? STORE_BY_CREATED : STORE_BY_UPDATED;
    if (by.n == 0 || str_eq(by, STR("createdAt")) || str_eq(by, STR("updatedAt")))
        return true;
    return api_bad_request(r, "sortBy: expected createdAt or updatedAt");
}

void api_conversations_list(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    int64_t limit;
    struct store_query q = {
        .cursor = api_query(r, "cursor"),
        .search = api_query(r, "search"),
        .takes_part = true,
    };
    if (!api_query_flag(r, "hidden", false, &q.with_hidden) ||
        !parse_only(r, "pinned", &q.pinned) || !parse_only(r, "archived", &q.archived) ||
        !parse_only(r, "unread", &q.unread) || !parse_only(r, "own", &q.own) ||
        !parse_only(r, "shared", &q.shared) ||
        !api_query_int(r, "limit", LIST_LIMIT, LIST_LIMIT_MAX, &limit) || !parse_sort(r, &q.sort))
        return;
    struct json_strs in_project;
    str project = api_query(r, "project");
    if (project.n > 0 && !api_conversations_in(r, project, &in_project))
        return;
    q.only = project.n > 0 ? &in_project : NULL;
    struct api_wait *w = api_wait_new(api, r);
    q.viewer = api_viewer(w->req);
    q.marks_of = api_user(r);
    q.limit = (size_t)limit;
    w->op = store_list(w->space->store, &q, on_conv_listed, w);
}

/* ---- GET, PATCH /v1/conversations/:id ---- */

static void on_marks_read(void *ctx, const struct err *err, const struct mark_state *s)
{
    struct api_wait *w = ctx;
    reply_marked(w, w->data, err ? NULL : s); /* the conversation is there without them too */
}

static void reply_found(struct api_wait *w, const struct conv *c)
{
    w->data = conv_clone(&w->req->arena, c);
    w->op = store_mark(w->space->store, api_user(w->req), c, NULL, on_marks_read, w);
}

void api_conversations_get(void *ctx, struct http_req *r)
{
    api_find_conv(ctx, r, NULL, reply_found);
}

struct rename_body {
    str title;
};

const struct json_field API_TITLE_FIELDS[] = {
    {"title", JF_STR, offsetof(struct rename_body, title), JF_REQUIRED, NULL, 0, "The new title."},
    {0}};

static void rename_found(struct api_wait *w, const struct conv *c)
{
    const struct rename_body *body = w->data;
    w->op = store_set_title(w->space->store, w->id, body->title, api_reply_conv, w);
}

void api_conversations_rename(void *ctx, struct http_req *r)
{
    struct rename_body *body = ARENA_NEW(&r->arena, struct rename_body);
    if (!api_decode_body(r, API_TITLE_FIELDS, body))
        return;
    if (str_trim(body->title).n == 0)
        api_bad_request(r, "title: must not be empty");
    else
        api_find_conv(ctx, r, body, rename_found);
}

/* ---- POST /v1/conversations/:id/fork ---- */

struct fork_body {
    const struct json *at_message;
    str kind;
};

struct fork {
    int64_t at_message; /* -1 = all */
    bool is_branch;
};

const struct json_field API_FORK_FIELDS[] = {
    {"atMessage", JF_JSON, offsetof(struct fork_body, at_message), JF_NULLABLE, NULL, 0,
     "How many messages the copy gets; absent: all.", "integer(0..)"},
    {"kind", JF_STR, offsetof(struct fork_body, kind), 0, NULL, 0,
     "branch: another course of this conversation, not listed; for its owner. Absent: a "
     "conversation of its own.",
     "'branch'"},
    {0}};

/* In the body or in the query: clients use both. -1 = all messages. */
static bool parse_fork(struct http_req *r, struct fork *f)
{
    struct fork_body body = {0};
    str in_query = api_query(r, "atMessage");
    int64_t *ret = &f->at_message;
    if (r->body.n > 0 && !api_decode_body(r, API_FORK_FIELDS, &body))
        return false;
    f->is_branch = str_eq(body.kind, STR("branch"));
    if (body.kind.p && !f->is_branch)
        return api_bad_request(r, "kind: expected branch");
    if (!body.at_message && in_query.n == 0) {
        *ret = -1;
        return true;
    }
    *ret = body.at_message && body.at_message->type == JSON_INT ? body.at_message->i : -1;
    if (*ret >= 0 || (!body.at_message && parse_i64(in_query, ret) == 0 && *ret >= 0))
        return true;
    return api_bad_request(r, "atMessage: expected a whole number, 0 or more");
}

/* {of, at, rootAt}: of which conversation, and how many messages are those of `forkedFrom` and of
 * the conversation at the root. */
static const struct json *branch_of(struct arena *a, const struct conv *c, int64_t at)
{
    struct json *v = json_new(a, JSON_OBJECT);
    str of = c->branch ? json_get_string(c->branch, "of") : c->id;
    int64_t root_at = json_get_int(c->branch, "rootAt", at);
    json_set(a, v, STR("of"), json_of_str(arena_str(a, of)));
    json_set(a, v, STR("at"), json_of_int(at));
    json_set(a, v, STR("rootAt"), json_of_int(root_at < at ? root_at : at));
    return v;
}

static void fork_found(struct api_wait *w, const struct conv *c)
{
    const struct fork *f = w->data;
    struct arena *a = &w->req->arena;
    int64_t at = f->at_message < 0 ? c->message_count : f->at_message;
    assert(f->at_message >= -1 && !w->op);
    if (at > c->message_count) {
        str msg =
            arena_printf(a, "atMessage: there are only %lld messages", (long long)c->message_count);
        api_bad_request(w->req, msg.p);
    } else if (f->is_branch && !may_branch(w, c)) {
        api_forbidden(w->req,
                      "Only the owner of a conversation may branch it. Without kind, a fork "
                      "makes a conversation of your own.");
    } else {
        w->op = store_fork(w->space->store, w->id, f->at_message, api_user(w->req),
                           f->is_branch ? branch_of(a, c, at) : NULL, api_reply_conv, w);
    }
}

void api_conversations_fork(void *ctx, struct http_req *r)
{
    struct fork *f = ARENA_NEW(&r->arena, struct fork);
    if (parse_fork(r, f))
        api_find_conv(ctx, r, f, fork_found);
}

/* ---- GET .../branches, POST .../promote ---- */

/* Only those of the owner: somebody else's log says what it likes. */
static void on_branches_listed(void *ctx, const struct err *err, const struct store_listing *l)
{
    struct api_wait *w = ctx;
    const str *root_and_owner = w->data;
    if (err) {
        api_fail(w->req, FROM_STORE, err);
        return;
    }
    struct api_json j;
    api_json_begin(&j);
    jw_kstr(&j.w, "conversationId", root_and_owner[0]);
    jw_karray(&j.w, "branches");
    for (size_t i = 0; i < l->n; i++) {
        const struct conv *c = &l->convs[i];
        if (!str_eq(c->acl.owner_id, root_and_owner[1]))
            continue;
        jw_object(&j.w);
        jw_kstr(&j.w, "id", c->id);
        jw_kstr(&j.w, "forkedFrom", c->forked_from);
        jw_kint(&j.w, "at", json_get_int(c->branch, "at", 0));
        jw_kint(&j.w, "rootAt", json_get_int(c->branch, "rootAt", 0));
        jw_kstr(&j.w, "createdAt", c->created_at);
        jw_kstr(&j.w, "updatedAt", c->updated_at);
        jw_end(&j.w);
    }
    jw_end(&j.w);
    api_json_send(&j, w->req);
}

static void branches_found(struct api_wait *w, const struct conv *c)
{
    str *root_and_owner = arena_array(&w->req->arena, 2, sizeof(str));
    root_and_owner[0] =
        arena_str(&w->req->arena, c->branch ? json_get_string(c->branch, "of") : c->id);
    root_and_owner[1] = arena_str(&w->req->arena, c->acl.owner_id);
    w->data = root_and_owner;
    struct store_query q = {.viewer = api_viewer(w->req),
                            .branches_of = root_and_owner[0],
                            .with_hidden = true,
                            .sort = STORE_BY_CREATED,
                            .limit = LIST_LIMIT_MAX};
    w->op = store_list(w->space->store, &q, on_branches_listed, w);
}

void api_conversations_branches(void *ctx, struct http_req *r)
{
    api_find_conv(ctx, r, NULL, branches_found);
}

static void promote_found(struct api_wait *w, const struct conv *c)
{
    w->op = store_promote(w->space->store, w->id, api_reply_conv, w);
}

void api_conversations_promote(void *ctx, struct http_req *r)
{
    api_find_conv(ctx, r, NULL, promote_found);
}

/* ---- DELETE /v1/conversations/:id, POST .../restore ---- */

static void on_deleted(void *ctx, const struct err *err)
{
    struct api_wait *wait = ctx;
    if (err) {
        api_fail(wait->req, FROM_STORE, err);
        return;
    }
    if (wait->data)
        attach_sweep(wait->space->files);
    struct api_json j;
    api_json_begin(&j);
    jw_kstr(&j.w, "id", wait->id);
    jw_kbool(&j.w, "deleted", true);
    jw_kbool(&j.w, "purged", wait->data != NULL);
    api_json_send(&j, wait->req);
}

static void delete_now(struct api_wait *w)
{
    assert(!w->op);
    w->op = store_delete(w->space->store, w->id, w->data != NULL, api_viewer(w->req),
                         trail_doer(w->api, w->req), on_deleted, w);
}

/* Runs in progress are cancelled (runtime.h). Streams end with the deletion. A conversation in the
 * trash is purged by people who may delete it: the store reads the owner from the log. */
static void on_delete_found(void *ctx, const struct err *err, const struct conv *c)
{
    struct api_wait *w = ctx;
    bool is_trashed = err && err->code == -ENOENT && w->data;
    w->op = NULL;
    if (is_trashed)
        delete_now(w);
    else if (err)
        api_fail(w->req, FROM_STORE, err);
    else if (api_check_right(w, c))
        delete_now(w);
}

void api_conversations_delete(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    bool is_purge;
    if (!api_query_flag(r, "purge", false, &is_purge))
        return;
    struct api_wait *w = api_wait_new(api, r);
    w->id = r->params[0];
    w->data = is_purge ? r : NULL;
    w->op = store_get(w->space->store, w->id, on_delete_found, w);
}

void api_conversations_restore(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct api_wait *w = api_wait_new(api, r);
    w->id = r->params[0];
    w->op = store_restore(w->space->store, w->id, api_viewer(w->req), trail_doer(api, r),
                          api_reply_conv, w);
}

/* ---- POST /v1/conversations/:id/cancel ---- */

static void reply_cancelled(struct http_req *r, bool was_running)
{
    http_reply(r, 200, "application/json",
               was_running ? STR("{\"cancelled\":true}") : STR("{\"cancelled\":false}"));
}

static void cancel_found(struct api_wait *w, const struct conv *c)
{
    reply_cancelled(w->req, runtime_cancel_anywhere(w->space->runtime, c));
}

/* The person who started a run may cancel it, even when its log is gone and its rights cannot be
 * read. */

void api_conversations_cancel(void *ctx, struct http_req *r)
{
    struct runtime *rt = api_space(r)->runtime;
    bool is_own = runtime_has_run_of(rt, r->params[0], api_user(r));
    if (is_own || (actor_is_operator(api_actor(r)) && runtime_active_run(rt, r->params[0]).n > 0))
        reply_cancelled(r, runtime_cancel(rt, r->params[0]));
    else
        api_find_conv(ctx, r, NULL, cancel_found);
}
