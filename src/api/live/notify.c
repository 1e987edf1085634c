/* /v1/notices - what people should know although they were not there. */
#include "api/live/notify.h"

#include <assert.h>

#include "api/api_impl.h"
#include "api/bodies.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "api/live/hub.h"
#include "base/clock.h"
#include "bus/vocabulary.h"
#include "workspace/roster/roster.h"

/* ---- telling ---- */

static bool is_member(const struct api *api, const struct api_space *space, str user)
{
    const struct workspace *ws = roster_workspace(api_roster(api), space->id);
    return user.n > 0 && ws && workspace_role(ws, user) != WS_NONE;
}

/* Not every admin of the workspace: somebody who takes part. */
static bool takes_part(const struct api *api, const struct api_space *space, str user,
                       const struct conv_acl *acl)
{
    bool is_in =
        str_eq(user, acl->owner_id) || (acl->is_shared && json_strs_has(&acl->participants, user));
    return is_in && is_member(api, space, user);
}

struct telling { /* a person is told when the notice is stored */
    struct api *api;
    struct api_space *space; /* held */
    char *user;
    enum notice_kind kind;
    struct notices_wait wait;
};

static void on_notice_stored(void *ctx, const struct err *err)
{
    struct telling *t = ctx;
    struct api *api = t->api;
    struct api_space *space = t->space;
    struct api_json j;
    if (!err) {
        api_json_begin(&j);
        jw_kcstr(&j.w, "kind", notice_kind_name(t->kind));
        hub_tell_everywhere(api, space, str_from(t->user), event_name(EV_NOTICE),
                            api_json_text(&j));
        buf_done(&j.buf);
    }
    free(t->user);
    free(t);
    api_release(api, space);
}

static void tell(struct api *api, struct api_space *space, str user,
                 const struct person_notice *what)
{
    if (!notices_add(space->notices, user, what) || space->is_closing)
        return;
    struct telling *t = xcalloc(1, sizeof *t);
    t->api = api;
    t->space = api_hold(api, space);
    t->user = str_dup(user);
    t->kind = what->kind;
    t->wait = (struct notices_wait){.fn = on_notice_stored, .ctx = t};
    notices_await(space->notices, user, &t->wait);
}

void notify_people(struct api *api, struct api_space *space, const struct person_notice *what,
                   const struct json_strs *people, const struct conv_acl *acl)
{
    for (size_t i = 0; space->notices && i < people->len; i++) {
        str user = people->items[i];
        if (!str_eq(user, what->by) && takes_part(api, space, user, acl))
            tell(api, space, user, what);
    }
}

void notify_removed(struct api *api, struct api_space *space, const struct person_notice *what,
                    const struct json_strs *people)
{
    for (size_t i = 0; space->notices && i < people->len; i++)
        if (!str_eq(people->items[i], what->by) && is_member(api, space, people->items[i]))
            tell(api, space, people->items[i], what);
}

struct mention {
    struct api *api;
    struct api_space *space;
    struct arena arena;
    struct person_notice what;
    struct json_strs people;
};

static void on_mention_found(void *ctx, const struct err *err, const struct conv *c)
{
    struct mention *m = ctx;
    struct api *api = m->api;
    struct api_space *space = m->space;
    if (!err)
        notify_people(api, space, &m->what, &m->people, &c->acl);
    arena_done(&m->arena);
    free(m);
    api_release(api, space);
}

void notify_mentioned(struct api *api, struct api_space *space, str conversation_id, str by,
                      const struct json_strs *people)
{
    if (!space->notices || people->len == 0 || space->is_closing)
        return;
    struct mention *m = xcalloc(1, sizeof *m);
    arena_init(&m->arena);
    m->api = api;
    m->space = api_hold(api, space);
    m->people = json_strs_copy(&m->arena, *people);
    m->what = (struct person_notice){.kind = NOTICE_MENTION,
                                     .conversation_id = arena_str(&m->arena, conversation_id),
                                     .by = arena_str(&m->arena, by),
                                     .at_ms = clock_now_ms()};
    store_get(space->store, m->what.conversation_id, on_mention_found, m);
}

/* ---- GET /v1/notices, POST /v1/notices/seen ---- */

struct notices_request {
    struct http_req *req;
    struct notices_wait wait;
};

static void on_notices_gone(struct http_req *r)
{
    struct notices_request *q = r->user;
    notices_cancel(&q->wait);
}

static void on_notices_ready(void *ctx, const struct err *err)
{
    struct notices_request *q = ctx;
    struct api_json j;
    if (err) {
        api_fail(q->req, FROM_STORE, err);
        return;
    }
    api_json_begin(&j);
    jw_key(&j.w, "notices");
    if (api_space(q->req)->notices)
        notices_write(api_space(q->req)->notices, api_user(q->req), &j.w);
    else
        jw_raw(&j.w, STR("[]"));
    api_json_send(&j, q->req);
}

static void reply_notices(struct http_req *r)
{
    struct notices_request *q = ARENA_NEW(&r->arena, struct notices_request);
    struct notices *n = api_space(r)->notices;
    q->req = r;
    q->wait = (struct notices_wait){.fn = on_notices_ready, .ctx = q};
    if (!n) {
        on_notices_ready(q, NULL);
        return;
    }
    r->user = q;
    r->on_gone = on_notices_gone;
    notices_await(n, api_user(r), &q->wait);
}

void api_notices_list(void *ctx, struct http_req *r)
{
    reply_notices(r);
}

struct seen_body {
    str conversation_id;
};

const struct json_field API_SEEN_FIELDS[] = {
    {"conversationId", JF_STR, offsetof(struct seen_body, conversation_id), JF_NULLABLE, NULL, 0,
     "Only those of this conversation; absent: all."},
    {0}};

void api_notices_seen(void *ctx, struct http_req *r)
{
    struct seen_body body = {0};
    if (r->body.n > 0 && !api_decode_body(r, API_SEEN_FIELDS, &body))
        return;
    if (api_space(r)->notices)
        notices_mark_seen(api_space(r)->notices, api_user(r), body.conversation_id);
    reply_notices(r);
}
