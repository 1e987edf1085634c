/* POST /v1/shared - a conversation for somebody who has a link to it, and perhaps no account.
 *
 * The secret is in the body, not in the address: addresses are in logs of proxies and in histories
 * of browsers. Whatever is wrong with a link, the reply is the same. A workspace that nobody uses
 * is opened only for a link that exists: until then, its links are read, and nothing else. One that
 * does not exist is asked for its links too: the ceiling of such readings would otherwise tell
 * which exist. The reply has what people and the agent wrote, up to the moment the link was made,
 * and the title of that moment; messages for people only, notes, thoughts and names of people are
 * left out.
 */
#include <assert.h>

#include "api/api_impl.h"
#include "api/bodies.h"
#include "api/conversations/history.h"
#include "api/handlers.h"
#include "api/ingress/proxy.h"
#include "base/bytes/hash.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "store/event/text.h"

#define SHARED_PER_MINUTE 120 /* requests of one address */
#define LOOKS_MAX         64u /* requests whose link is looked for at the same time */
#define SECRET_MAX        64
#define OUTPUT_MAX        (16u * 1024) /* of one tool */

struct shared_body {
    str workspace_id, secret;
    int64_t before;
};

const struct json_field API_SHARED_FIELDS[] = {
    {"workspaceId", JF_STR, offsetof(struct shared_body, workspace_id), JF_REQUIRED, NULL, 0,
     "The first part of the link."},
    {"secret", JF_STR, offsetof(struct shared_body, secret), JF_REQUIRED, NULL, 0,
     "The second part of the link."},
    {"before", JF_INT, offsetof(struct shared_body, before), 0, NULL, 0,
     "`before` of the page behind."},
    {0}};

struct shared {
    struct history_wish wish; /* first: w->data */
    struct api_wait wait;
    bool has_place;          /* of LOOKS_MAX, until its link is found or refused */
    struct links_peek *peek; /* the workspace is not open */
    str workspace_id, secret;
    struct share_link link;
    struct json_strs people; /* in the order of their first messages, which stays */
    int64_t before;
};

static struct shared *shared_of(struct api_wait *w)
{
    return CONTAINER_OF(w, struct shared, wait);
}

static void leave_place(struct shared *s)
{
    assert(!s->has_place || s->wait.api->link_looks > 0);
    s->wait.api->link_looks -= s->has_place;
    s->has_place = false;
}

static void shared_close(struct shared *s)
{
    leave_place(s);
    store_op_cancel(s->wait.op);
    s->wait.op = NULL;
    store_peek_cancel(s->peek);
    s->peek = NULL;
    if (s->wait.space)
        api_release(s->wait.api, s->wait.space);
    s->wait.space = NULL;
}

static void on_shared_gone(struct http_req *r)
{
    shared_close(r->user);
}

static void refuse(struct http_req *r)
{
    http_reply_error(r, 404, "not_found", "There is no such link, or it has expired.", NULL);
}

/* Ends the wait before the reply. */
static struct http_req *shared_end(struct shared *s)
{
    struct http_req *r = s->wait.req;
    r->user = NULL;
    r->on_gone = NULL;
    shared_close(s);
    return r;
}

/* ---- the page ---- */

/* The same on all pages. Those behind the ceiling of the list (past.h) share a number. */
static int number_of(const struct json_strs *people, str user_id)
{
    size_t i = 0;
    while (i < people->len && !str_eq(people->items[i], user_id))
        i++;
    return (int)i + 1;
}

static void write_shared_tool(struct json_writer *w, struct arena *a, const struct replay_tool *t,
                              bool is_whole)
{
    jw_object(w);
    jw_kstr(w, "name", t->name);
    if (is_whole) {
        jw_kval(w, "input", t->input);
        str output = t->result ? text_of_content(a, json_get(t->result, "content")) : STR_NONE;
        jw_kstr(w, "output", utf8_truncate(output, OUTPUT_MAX));
    }
    jw_end(w);
}

static void write_file_names(struct json_writer *w, const struct json *content)
{
    jw_karray(w, "files");
    for (size_t i = 0; json_is(content, JSON_ARRAY) && i < content->len; i++)
        if (json_get(&content->items[i], "file"))
            jw_str(w, json_get_string(&content->items[i], "name"));
    jw_end(w);
}

static void write_shared_message(struct json_writer *w, struct arena *a,
                                 const struct replay_message *m, int person, bool is_whole)
{
    jw_object(w);
    jw_kstr(w, "role", person > 0 ? STR("user") : STR("assistant"));
    if (person > 0)
        jw_kint(w, "person", person);
    jw_kstr(w, "content", replay_text(a, m));
    jw_kstr(w, "timestamp", m->ts);
    if (person > 0)
        write_file_names(w, m->content);
    jw_karray(w, "tools");
    for (size_t i = 0; i < m->ntools; i++)
        write_shared_tool(w, a, &m->tools[i], is_whole);
    jw_end(w);
    jw_end(w);
}

static void shared_reply(struct api_wait *w, const struct err *err, const struct history_page *page)
{
    struct shared *s = shared_of(w);
    if (err) {
        refuse(shared_end(s));
        return;
    }
    const struct replay *h = &page->messages;
    struct arena *a = &w->req->arena;
    struct api_json j;
    api_json_begin(&j);
    jw_kstr_or_null(&j.w, "title", s->link.title);
    jw_key(&j.w, "createdAt");
    api_write_time(&j.w, s->link.made_ms);
    jw_key(&j.w, "expiresAt");
    api_write_time(&j.w, s->link.expires_ms);
    jw_karray(&j.w, "messages");
    for (size_t i = 0; i < h->n; i++) {
        const struct replay_message *m = &h->messages[i];
        bool is_user = m->role == REPLAY_USER;
        if (!m->is_for_people)
            write_shared_message(&j.w, a, m, is_user ? number_of(&s->people, m->user_id) : 0,
                                 s->link.has_tools);
    }
    jw_end(&j.w);
    history_write_before(&j.w, page);
    struct http_req *r = shared_end(s);
    http_add_header(r, "X-Robots-Tag", STR("noindex, nofollow"));
    api_json_send(&j, r);
}

/* ---- the link ---- */

/* The link dies with the rights of the person who made it. */
static bool is_maker_here(const struct shared *s, str user_id)
{
    return directory_role(s->wait.api->deps.directory, s->workspace_id, user_id) != WS_NONE;
}

/* Position 0 would mean the whole log: a link of an earlier version to one without messages. */
static bool is_link_valid(const struct shared *s, const struct conv *c)
{
    return s->link.until > 0 && str_eq(c->acl.owner_id, s->link.by) && !c->parent && is_maker_here(s, s->link.by);
}

static void on_shared_found(void *ctx, const struct err *err, const struct conv *c)
{
    struct shared *s = ctx;
    s->wait.op = NULL;
    if (err || !is_link_valid(s, c)) {
        refuse(shared_end(s));
        return;
    }
    int64_t until = (int64_t)s->link.until;
    s->people = json_strs_copy(&s->wait.req->arena, c->past.people);
    s->wait.data = &s->wish;
    s->wish.reply = shared_reply;
    s->wish.range = history_range(0, s->before > 0 && s->before < until ? s->before : until);
    history_read(&s->wait);
}

static const struct share_link *find_link(const struct share_links *links, str secret)
{
    char hash[SHA256_HEX_LEN + 1];
    int64_t now_ms = clock_now_ms();
    sha256_hex(secret, hash);
    for (size_t i = 0; i < links->n; i++)
        if (str_eq(links->items[i].hash, str_from(hash)) && links->items[i].expires_ms > now_ms)
            return &links->items[i];
    return NULL;
}

static void on_shared_links(void *ctx, const struct err *err, const struct share_links *links)
{
    struct shared *s = ctx;
    const struct share_link *found = err ? NULL : find_link(links, s->secret);
    s->wait.op = NULL;
    if (!found) {
        refuse(shared_end(s));
        return;
    }
    leave_place(s);
    struct arena *a = &s->wait.req->arena;
    s->link = *found;
    s->link.by = arena_str(a, found->by);
    s->link.title = arena_str(a, found->title);
    s->wait.id = arena_str(a, found->conv_id);
    s->wait.op = store_get(s->wait.space->store, s->wait.id, on_shared_found, s);
}

static bool take_rate(struct api *api, struct http_req *r)
{
    str address = proxy_client(&api->deps.config->http, r);
    int wait_s = address.n > 0 ? rates_take(&api->rates, address, RATE_SHARED, SHARED_PER_MINUTE,
                                            clock_now_ms())
                               : 0;
    if (wait_s == 0)
        return true;
    http_add_header(r, "Retry-After", arena_printf(&r->arena, "%d", wait_s));
    str message = arena_printf(&r->arena, "Too many requests. Retry after %d seconds.", wait_s);
    http_reply_error(r, 429, "rate_limited", message.p, NULL);
    return false;
}

/* ---- the workspace ---- */

static void use_space(struct shared *s, struct api_space *space)
{
    if (!space || !space->config->features.public_links) {
        refuse(shared_end(s));
        return;
    }
    s->wait.space = api_hold(s->wait.api, space);
    s->wait.op = store_links(space->store, NULL, on_shared_links, s);
}

static void on_links_peeked(void *ctx, const struct err *err, const struct share_links *links)
{
    struct shared *s = ctx;
    struct api *api = s->wait.api;
    struct err e = {0};
    const struct share_link *found = err ? NULL : find_link(links, s->secret);
    assert(s->peek && s->has_place);
    s->peek = NULL;
    if (found && is_maker_here(s, found->by))
        use_space(s, api->deps.open_space(api->deps.space_ctx, s->workspace_id, &e));
    else
        refuse(shared_end(s));
}

static void peek_space(struct shared *s)
{
    struct api *api = s->wait.api;
    if (api->deps.peek_links)
        s->peek = api->deps.peek_links(api->deps.space_ctx, s->workspace_id, on_links_peeked, s);
    else
        refuse(shared_end(s));
}

/* Depends on nothing that the caller does not know. */
static bool may_be_link(const struct api *api, const struct shared_body *body)
{
    return body->secret.n > 0 && body->secret.n <= SECRET_MAX &&
           api->deps.config->features.public_links && workspace_id_ok(body->workspace_id);
}

static bool is_busy(const struct api *api, struct http_req *r)
{
    if (api->link_looks < LOOKS_MAX)
        return false;
    http_add_header(r, "Retry-After", STR("1"));
    http_reply_error(r, 503, "busy", "Too many links are being read. Retry in a second.", NULL);
    return true;
}

void api_shared_read(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct shared_body body = {0};
    if (!api_decode_body(r, API_SHARED_FIELDS, &body) || !take_rate(api, r))
        return;
    if (!may_be_link(api, &body)) {
        refuse(r);
        return;
    }
    if (is_busy(api, r))
        return;
    struct shared *s = ARENA_NEW(&r->arena, struct shared);
    assert(!r->user && !r->on_gone);
    s->wait.api = api;
    s->wait.req = r;
    s->before = body.before;
    s->workspace_id = body.workspace_id;
    s->secret = body.secret;
    r->user = s;
    r->on_gone = on_shared_gone;
    s->has_place = true;
    api->link_looks++;
    struct api_space *space = api->deps.find_space(api->deps.space_ctx, s->workspace_id);
    if (space)
        use_space(s, space);
    else
        peek_space(s);
}
