/* Participants of a conversation. Only its owner and workspace admins change them; the owner is
 * always a participant. */
#include <assert.h>

#include "api/api_impl.h"
#include "api/bodies.h"
#include "api/conversations/conversations.h"
#include "api/handlers.h"
#include "api/live/notify.h"
#include "api/trail.h"
#include "base/clock.h"
#include "workspace/roster/roster.h"

#define PARTICIPANTS_MAX 1000

struct sharing_body {
    str visibility;
    const struct json *participants, *readers;
};

const struct json_field API_SHARING_FIELDS[] = {
    {"visibility", JF_STR, offsetof(struct sharing_body, visibility), 0, NULL, 0, "Absent: shared.",
     "'private'|'shared'"},
    {"participants", JF_JSON, offsetof(struct sharing_body, participants), JF_NULLABLE, NULL, 0,
     "Ids of the people to share it with; absent: as before.", "string[]"},
    {"readers", JF_JSON, offsetof(struct sharing_body, readers), JF_NULLABLE, NULL, 0,
     "Ids of those of them who may read and not write; absent: as before.", "string[]"},
    {0}};

static bool parse_people(struct http_req *r, const char *key, const struct json *v,
                         struct json_strs *ret)
{
    *ret = (struct json_strs){arena_array(&r->arena, v->len + 1, sizeof(str)), 0};
    bool ok = v->type == JSON_ARRAY && v->len <= PARTICIPANTS_MAX;
    for (size_t i = 0; ok && i < v->len; i++) {
        str typed = json_string(json_at(v, i), STR_NONE);
        ok = typed.n > 0;
        ret->items[ret->len++] = typed;
    }
    str message = arena_printf(
        &r->arena, "%s: expected an array of ids, e-mail addresses or names of members", key);
    return ok || api_bad_request(r, message.p);
}

/* Replaces names and addresses by ids. Conversations are shared with members only. Replies with an
 * error otherwise. */
static bool find_members(const struct api_wait *w, const char *key, struct json_strs *who)
{
    const struct roster *all = directory_roster(w->api->deps.directory);
    const struct workspace *ws = roster_workspace(all, w->space->id);
    for (size_t i = 0; i < who->len; i++) {
        const struct user *u;
        struct err e = {0};
        if (member_find(ws, who->items[i], &u, &e) < 0) {
            err_prefix(&e, "%s", key);
            api_bad_request(w->req, e.msg);
            return false;
        }
        who->items[i] = arena_str(&w->req->arena, u->id);
    }
    return true;
}

/* ---- POST .../share, .../unshare ---- */

struct sharing {
    bool is_shared, has_participants, has_readers;
    struct json_strs participants, readers;
};

static struct json_strs without(struct arena *a, const struct json_strs *people,
                                const struct json_strs *others)
{
    struct json_strs rest = {arena_array(a, people->len + 1, sizeof(str)), 0};
    for (size_t i = 0; i < people->len; i++)
        if (!json_strs_has(others, people->items[i]))
            rest.items[rest.len++] = people->items[i];
    return rest;
}

/* Those who take part now and did not before are told, and those who do not any more. */
static void tell_changes(struct api_wait *w, const struct conv_acl *acl)
{
    const struct json_strs *before = w->data, *now = &acl->participants; /* private: the owner */
    struct json_strs added = without(&w->req->arena, now, before);
    struct json_strs removed = without(&w->req->arena, before, now);
    struct person_notice what = {.kind = NOTICE_ADDED,
                                 .conversation_id = w->id,
                                 .by = actor_user(api_actor(w->req)),
                                 .at_ms = clock_now_ms()};
    if (acl->is_shared)
        notify_people(w->api, w->space, &what, &added, acl);
    what.kind = NOTICE_REMOVED;
    notify_removed(w->api, w->space, &what, &removed);
}

static void on_sharing_changed(void *ctx, const struct err *err, const struct conv *c)
{
    struct api_wait *w = ctx;
    w->op = NULL;
    if (!err)
        tell_changes(w, &c->acl);
    api_reply_conv(w, err, c);
}

static void change_sharing(struct api_wait *w, const struct conv *c,
                           const struct sharing_change *change)
{
    struct json_strs *before = ARENA_NEW(&w->req->arena, struct json_strs);
    if (c->acl.is_shared)
        *before = json_strs_copy(&w->req->arena, c->acl.participants);
    assert(!w->op);
    w->data = before;
    w->op = store_change_sharing(w->space->store, w->id, change, trail_doer(w->api, w->req),
                                 on_sharing_changed, w);
}

static void set_sharing(struct api_wait *w, const struct conv *c)
{
    struct sharing *s = w->data;
    if (s->is_shared &&
        ((s->has_participants && !find_members(w, "participants", &s->participants)) ||
         (s->has_readers && !find_members(w, "readers", &s->readers))))
        return;
    change_sharing(w, c,
                   &(struct sharing_change){
                       .visibility = s->is_shared ? SHARING_SHARED : SHARING_PRIVATE,
                       .participants = s->has_participants ? &s->participants : NULL,
                       .readers = s->has_readers ? &s->readers : NULL,
                   });
}

void api_sharing_set(void *ctx, struct http_req *r)
{
    struct sharing_body body = {.visibility = STR("shared")};
    struct sharing *s = ARENA_NEW(&r->arena, struct sharing);
    if (r->body.n > 0 && !api_decode_body(r, API_SHARING_FIELDS, &body))
        return;
    s->is_shared = str_eq(body.visibility, STR("shared"));
    s->has_participants = body.participants != NULL;
    s->has_readers = body.readers != NULL;
    if (!s->is_shared && !str_eq(body.visibility, STR("private")))
        api_bad_request(r, "visibility: expected shared or private");
    else if ((!body.participants ||
              parse_people(r, "participants", body.participants, &s->participants)) &&
             (!body.readers || parse_people(r, "readers", body.readers, &s->readers)))
        api_find_conv(ctx, r, s, set_sharing);
}

void api_sharing_end(void *ctx, struct http_req *r)
{
    api_find_conv(ctx, r, ARENA_NEW(&r->arena, struct sharing), set_sharing);
}

/* ---- POST .../leave ---- */

/* A user who has left may not see the conversation, so the answer says nothing about it. */
static void on_left(void *ctx, const struct err *err, const struct conv *c)
{
    struct api_wait *w = ctx;
    if (err) {
        api_fail(w->req, FROM_STORE, err);
        return;
    }
    struct api_json j;
    api_json_begin(&j);
    jw_kstr(&j.w, "id", w->id);
    jw_kbool(&j.w, "left", true);
    api_json_send(&j, w->req);
}

static void leave(struct api_wait *w, const struct conv *c)
{
    str me = arena_str(&w->req->arena, actor_user(api_actor(w->req)));
    struct json_strs removed = {&me, 1};
    struct sharing_change change = {.remove = &removed};
    assert(!w->op && me.n > 0);
    w->op = store_change_sharing(w->space->store, w->id, &change, trail_doer(w->api, w->req),
                                 on_left, w);
}

void api_sharing_leave(void *ctx, struct http_req *r)
{
    api_find_conv(ctx, r, NULL, leave);
}

/* ---- .../participants ---- */

struct participant_body {
    str user, role;
};

const struct json_field API_PARTICIPANT_FIELDS[] = {
    {"userId", JF_STR, offsetof(struct participant_body, user), JF_REQUIRED, NULL, 0,
     "The id of a member of the workspace."},
    {"role", JF_STR, offsetof(struct participant_body, role), 0, NULL, 0,
     "What they may do, also if they take part already; absent: write for new people, else as "
     "before.",
     "'write'|'read'"},
    {0}};

static const char *const ROLES[] = {
    [SHARING_AS_BEFORE] = "", [SHARING_READ] = "read", [SHARING_WRITE] = "write"};

static void add_participant(struct api_wait *w, const struct conv *c)
{
    struct participant_body *body = w->data;
    struct json_strs added = {&body->user, 1};
    if (find_members(w, "userId", &added))
        change_sharing(
            w, c,
            &(struct sharing_change){SHARING_SHARED, .add = &added,
                                     .add_as = (enum sharing_role)STR_INDEX(body->role, ROLES)});
}

void api_participants_add(void *ctx, struct http_req *r)
{
    struct participant_body *body = ARENA_NEW(&r->arena, struct participant_body);
    if (!api_decode_body(r, API_PARTICIPANT_FIELDS, body))
        return;
    if (body->role.p && STR_INDEX(body->role, ROLES) <= SHARING_AS_BEFORE)
        api_bad_request(r, "role: expected write or read");
    else
        api_find_conv(ctx, r, body, add_participant);
}

/* A person who has left the workspace can only be named by id. */
static str participant_named(const struct api_wait *w, const struct conv *c, str typed)
{
    const struct roster *all = directory_roster(w->api->deps.directory);
    const struct user *u;
    if (json_strs_has(&c->acl.participants, typed))
        return typed;
    bool is_member = member_find(roster_workspace(all, w->space->id), typed, &u, NULL) == 0;
    return is_member ? arena_str(&w->req->arena, u->id) : typed;
}

static void remove_participant(struct api_wait *w, const struct conv *c)
{
    str user = participant_named(w, c, w->req->params[1]);
    struct json_strs removed = {&user, 1};
    if (str_eq(user, c->acl.owner_id))
        api_bad_request(w->req, "The owner cannot be removed.");
    else if (!json_strs_has(&c->acl.participants, user))
        api_not_found(w->req, "participant");
    else
        change_sharing(w, c, &(struct sharing_change){.remove = &removed});
}

void api_participants_remove(void *ctx, struct http_req *r)
{
    api_find_conv(ctx, r, NULL, remove_participant);
}
