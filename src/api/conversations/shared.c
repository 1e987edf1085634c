/* POST /v1/shared - a conversation for somebody who has a link to it, and perhaps no account.
 *
 * The secret is in the body, not in the address: addresses are in logs of proxies and in histories
 * of browsers. Whatever is wrong with a link, the reply is the same. The reply has what people and
 * the agent wrote, up to the moment the link was made; messages for people only, notes, thoughts
 * and names of people are left out. */
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
    struct share_link link;
    str title;
    int64_t before;
};

static struct shared *shared_of(struct api_wait *w)
{
    return CONTAINER_OF(w, struct shared, wait);
}

static void shared_close(struct shared *s)
{
    store_op_cancel(s->wait.op);
    s->wait.op = NULL;
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

static int number_of(str *people, size_t *n, str user_id)
{
    for (size_t i = 0; i < *n; i++)
        if (str_eq(people[i], user_id))
            return (int)i + 1;
    people[(*n)++] = user_id;
    return (int)*n;
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
    str *people = arena_array(a, h->n + 1, sizeof *people);
    size_t npeople = 0;
    struct api_json j;
    api_json_begin(&j);
    jw_kstr_or_null(&j.w, "title", s->title);
    jw_key(&j.w, "createdAt");
    api_write_time(&j.w, s->link.made_ms);
    jw_key(&j.w, "expiresAt");
    api_write_time(&j.w, s->link.expires_ms);
    jw_karray(&j.w, "messages");
    for (size_t i = 0; i < h->n; i++) {
        const struct replay_message *m = &h->messages[i];
        bool is_user = m->role == REPLAY_USER;
        if (!m->is_for_people)
            write_shared_message(&j.w, a, m, is_user ? number_of(people, &npeople, m->user_id) : 0,
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
static bool is_link_valid(const struct shared *s, const struct conv *c)
{
    const struct roster *all = directory_roster(s->wait.api->deps.directory);
    const struct workspace *ws = roster_workspace(all, s->wait.space->id);
    return str_eq(c->acl.owner_id, s->link.by) && !c->parent && ws &&
           workspace_role(ws, s->link.by) != WS_NONE;
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
    s->title = arena_str(&s->wait.req->arena, c->title);
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
    const struct share_link *found = err ? NULL : find_link(links, s->link.hash);
    s->wait.op = NULL;
    if (!found) {
        refuse(shared_end(s));
        return;
    }
    struct arena *a = &s->wait.req->arena;
    s->link = *found;
    s->link.by = arena_str(a, found->by);
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

/* NULL: there is no such workspace, or it has no links. */
static struct api_space *open_shared(struct api *api, str workspace_id)
{
    struct err e = {0};
    if (!workspace_id_ok(workspace_id) ||
        !roster_workspace(directory_roster(api->deps.directory), workspace_id))
        return NULL;
    struct api_space *space = api->deps.open_space(api->deps.space_ctx, workspace_id, &e);
    return space && space->config->features.public_links ? space : NULL;
}

void api_shared_read(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct shared_body body = {0};
    if (!api_decode_body(r, API_SHARED_FIELDS, &body) || !take_rate(api, r))
        return;
    struct api_space *space = body.secret.n > 0 && body.secret.n <= SECRET_MAX
                                  ? open_shared(api, body.workspace_id)
                                  : NULL;
    if (!space) {
        refuse(r);
        return;
    }
    struct shared *s = ARENA_NEW(&r->arena, struct shared);
    assert(!r->user && !r->on_gone);
    s->wait.api = api;
    s->wait.space = api_hold(api, space);
    s->wait.req = r;
    s->before = body.before;
    s->link.hash = body.secret; /* until it is found */
    r->user = s;
    r->on_gone = on_shared_gone;
    s->wait.op = store_links(space->store, NULL, on_shared_links, s);
}
