/* Who takes part in a conversation. Only its owner and workspace admins decide that; the owner
 * always takes part. */
#include "api/internal.h"
#include "api/trail.h"

#define PARTICIPANTS_MAX 1000
#define USER_ID_MAX      256

struct sharing_body {
    str visibility;
    const struct json *participants;
};

static const struct json_field SHARING_FIELDS[] = {
    {"visibility", JF_STR, offsetof(struct sharing_body, visibility), 0, NULL, 0},
    {"participants", JF_JSON, offsetof(struct sharing_body, participants), JF_NULLABLE, NULL, 0},
    {0}};

/* Ids are printed in lists and compared byte by byte: nothing in them may be invisible. */
static bool is_user_id(str id)
{
    bool ok = id.n > 0 && id.n <= USER_ID_MAX;
    for (size_t i = 0; ok && i < id.n; i++)
        ok = (unsigned char)id.p[i] > ' ' && id.p[i] != 0x7f;
    return ok;
}

static bool parse_participants(struct http_req *r, const struct json *v, struct json_strs *ret)
{
    *ret = (struct json_strs){arena_array(&r->arena, v->len + 1, sizeof(str)), 0};
    bool ok = v->type == JSON_ARRAY && v->len <= PARTICIPANTS_MAX;
    for (size_t i = 0; ok && i < v->len; i++) {
        str id = json_string(json_at(v, i), STR_NONE);
        ok = is_user_id(id);
        ret->items[ret->len++] = id;
    }
    if (!ok)
        http_reply_error(
            r, 400, "bad_request",
            "participants: expected an array of user ids (no spaces, no control characters)", NULL);
    return ok;
}

/* People are shared with by being members; what others are called is nobody's business. */
static bool are_members(const struct api_wait *w, const struct json_strs *who)
{
    const struct roster *all = directory_roster(w->api->deps.directory);
    const struct workspace *ws = roster_workspace(all, w->space->id);
    for (size_t i = 0; i < who->len; i++) {
        if (ws && workspace_role(ws, who->items[i]) != WS_NONE)
            continue;
        str msg = arena_printf(&w->req->arena,
                               "participants: '%.*s' is not a member of this "
                               "workspace",
                               STR_ARG(who->items[i]));
        http_reply_error(w->req, 400, "bad_request", msg.p, NULL);
        return false;
    }
    return true;
}

/* ---- POST .../share, .../unshare ---- */

struct sharing {
    bool is_shared, has_participants;
    struct json_strs participants;
};

static void set_sharing(struct api_wait *w, const struct conv *c)
{
    const struct sharing *s = w->data;
    if (s->is_shared && s->has_participants && !are_members(w, &s->participants))
        return;
    w->op = store_set_sharing(w->space->store, w->id, s->is_shared,
                              s->has_participants ? &s->participants : NULL,
                              trail_doer(w->api, w->req), api_reply_conv, w);
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
        http_reply_error(r, 400, "bad_request", "visibility: expected shared or private", NULL);
    else if (!body.participants || parse_participants(r, body.participants, &s->participants))
        api_find_conv(ctx, r, s, set_sharing);
}

void api_sharing_end(void *ctx, struct http_req *r)
{
    api_find_conv(ctx, r, ARENA_NEW(&r->arena, struct sharing), set_sharing);
}

/* ---- .../participants ---- */

static void set_participants(struct api_wait *w, const struct json_strs *who)
{
    w->op = store_set_sharing(w->space->store, w->id, true, who, trail_doer(w->api, w->req),
                              api_reply_conv, w);
}

static void add_participant(struct api_wait *w, const struct conv *c)
{
    struct json_strs who = {arena_array(&w->req->arena, c->acl.participants.len + 1, sizeof(str)),
                            0};
    for (size_t i = 0; i < c->acl.participants.len; i++)
        who.items[who.len++] = c->acl.participants.items[i];
    who.items[who.len++] = *(const str *)w->data;
    struct json_strs added = {w->data, 1};
    if (are_members(w, &added))
        set_participants(w, &who);
}

static const struct json_field PARTICIPANT_FIELDS[] = {{"userId", JF_STR, 0, JF_REQUIRED, NULL, 0},
                                                       {0}};

void api_participants_add(void *ctx, struct http_req *r)
{
    str *user = ARENA_NEW(&r->arena, str);
    if (!api_decode_body(r, PARTICIPANT_FIELDS, user))
        return;
    if (!is_user_id(*user))
        http_reply_error(r, 400, "bad_request",
                         "userId: must not be empty, too long, or contain spaces or control "
                         "characters",
                         NULL);
    else
        api_find_conv(ctx, r, user, add_participant);
}

static void remove_participant(struct api_wait *w, const struct conv *c)
{
    str user = w->req->params[1];
    struct json_strs who = {arena_array(&w->req->arena, c->acl.participants.len, sizeof(str)), 0};
    for (size_t i = 0; i < c->acl.participants.len; i++)
        if (!str_eq(c->acl.participants.items[i], user))
            who.items[who.len++] = c->acl.participants.items[i];
    if (str_eq(user, c->acl.owner_id))
        http_reply_error(w->req, 400, "bad_request", "The owner cannot be removed.", NULL);
    else if (who.len == c->acl.participants.len)
        api_not_found(w->req, "participant");
    else
        set_participants(w, &who);
}

void api_participants_remove(void *ctx, struct http_req *r)
{
    api_find_conv(ctx, r, NULL, remove_participant);
}
