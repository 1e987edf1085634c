/* Participants of a conversation. Only its owner and workspace admins change them; the owner is
 * always a participant. */
#include <assert.h>

#include "api/api_impl.h"
#include "api/conversations/conversations.h"
#include "api/handlers.h"
#include "api/trail.h"
#include "workspace/roster/roster.h"

#define PARTICIPANTS_MAX 1000

struct sharing_body {
    str visibility;
    const struct json *participants;
};

static const struct json_field SHARING_FIELDS[] = {
    {"visibility", JF_STR, offsetof(struct sharing_body, visibility), 0, NULL, 0},
    {"participants", JF_JSON, offsetof(struct sharing_body, participants), JF_NULLABLE, NULL, 0},
    {0}};

static bool parse_participants(struct http_req *r, const struct json *v, struct json_strs *ret)
{
    *ret = (struct json_strs){arena_array(&r->arena, v->len + 1, sizeof(str)), 0};
    bool ok = v->type == JSON_ARRAY && v->len <= PARTICIPANTS_MAX;
    for (size_t i = 0; ok && i < v->len; i++) {
        str typed = json_string(json_at(v, i), STR_NONE);
        ok = typed.n > 0;
        ret->items[ret->len++] = typed;
    }
    if (!ok)
        api_bad_request(r, "participants: expected an array of ids, e-mail addresses or names of "
                           "members");
    return ok;
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
    bool is_shared, has_participants;
    struct json_strs participants;
};

static void change_sharing(struct api_wait *w, const struct sharing_change *change)
{
    assert(!w->op);
    w->op = store_change_sharing(w->space->store, w->id, change, trail_doer(w->api, w->req),
                                 api_reply_conv, w);
}

static void set_sharing(struct api_wait *w, const struct conv *c)
{
    struct sharing *s = w->data;
    if (s->is_shared && s->has_participants && !find_members(w, "participants", &s->participants))
        return;
    change_sharing(w, &(struct sharing_change){
                          .visibility = s->is_shared ? SHARING_SHARED : SHARING_PRIVATE,
                          .participants = s->has_participants ? &s->participants : NULL,
                      });
}

void api_sharing_set(void *ctx, struct http_req *r)
{
    struct sharing_body body = {.visibility = STR("shared")};
    struct sharing *s = ARENA_NEW(&r->arena, struct sharing);
    if (r->body.n > 0 && !api_decode_body(r, SHARING_FIELDS, &body))
        return;
    s->is_shared = str_eq(body.visibility, STR("shared"));
    s->has_participants = body.participants != NULL;
    if (!s->is_shared && !str_eq(body.visibility, STR("private")))
        api_bad_request(r, "visibility: expected shared or private");
    else if (!body.participants || parse_participants(r, body.participants, &s->participants))
        api_find_conv(ctx, r, s, set_sharing);
}

void api_sharing_end(void *ctx, struct http_req *r)
{
    api_find_conv(ctx, r, ARENA_NEW(&r->arena, struct sharing), set_sharing);
}

/* ---- .../participants ---- */

static void add_participant(struct api_wait *w, const struct conv *c)
{
    struct json_strs added = {w->data, 1};
    if (find_members(w, "userId", &added))
        change_sharing(w, &(struct sharing_change){SHARING_SHARED, .add = &added});
}

static const struct json_field PARTICIPANT_FIELDS[] = {{"userId", JF_STR, 0, JF_REQUIRED, NULL, 0},
                                                       {0}};

void api_participants_add(void *ctx, struct http_req *r)
{
    str *user = ARENA_NEW(&r->arena, str);
    if (!api_decode_body(r, PARTICIPANT_FIELDS, user))
        return;
    api_find_conv(ctx, r, user, add_participant);
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
        change_sharing(w, &(struct sharing_change){.remove = &removed});
}

void api_participants_remove(void *ctx, struct http_req *r)
{
    api_find_conv(ctx, r, NULL, remove_participant);
}
