/* Links with which people without an account read a conversation: their owner makes and revokes
 * them, admins of the workspace list and revoke them. shared.c opens them. */
#include <assert.h>
#include <errno.h>

#include "api/bodies.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "base/bytes/base64.h"
#include "base/bytes/hash.h"
#include "base/bytes/random.h"
#include "base/clock.h"

#define DAY_MS       (24 * 3600 * (int64_t)1000)
#define DAYS_MAX     365
#define DAYS         30 /* when the request does not say how many */
#define SECRET_BYTES 32

static void write_link(struct json_writer *w, const struct share_link *l)
{
    jw_kstr(w, "id", l->id);
    jw_kstr(w, "conversationId", l->conv_id);
    jw_kstr(w, "by", l->by);
    jw_key(w, "createdAt");
    api_write_time(w, l->made_ms);
    jw_key(w, "expiresAt");
    api_write_time(w, l->expires_ms);
    jw_kbool(w, "tools", l->has_tools);
}

static bool is_on(const struct api_wait *w)
{
    return w->space->config->features.public_links;
}

static void fail(struct api_wait *w, const struct err *err)
{
    if (err->code == -ENOENT)
        api_not_found(w->req, "link");
    else if (err->code == -E2BIG)
        http_reply_error(w->req, 409, "too_many_links", err->msg, NULL);
    else
        api_fail(w->req, FROM_STORE, err);
}

/* ---- lists: of a conversation (w->id), or of the workspace ---- */

static void on_links(void *ctx, const struct err *err, const struct share_links *links)
{
    struct api_wait *w = ctx;
    int64_t now_ms = clock_now_ms();
    w->op = NULL;
    if (err) {
        fail(w, err);
        return;
    }
    struct api_json j;
    api_json_begin(&j);
    jw_kbool(&j.w, "isOn", is_on(w));
    jw_karray(&j.w, "links");
    for (size_t i = links->n; i > 0; i--) {
        const struct share_link *one = &links->items[i - 1];
        if (one->expires_ms <= now_ms || (w->id.n > 0 && !str_eq(one->conv_id, w->id)))
            continue;
        jw_object(&j.w);
        write_link(&j.w, one);
        jw_end(&j.w);
    }
    jw_end(&j.w);
    api_json_send(&j, w->req);
}

static void list_links(struct api_wait *w, const struct conv *c)
{
    assert(!w->op);
    w->op = store_links(w->space->store, NULL, on_links, w);
}

void api_links_list(void *ctx, struct http_req *r)
{
    api_find_conv(ctx, r, NULL, list_links);
}

void api_links_list_all(void *ctx, struct http_req *r)
{
    list_links(api_wait_new(ctx, r), NULL);
}

/* ---- making one ---- */

struct link_body {
    int64_t days;
    bool has_tools;
};

const struct json_field API_LINK_FIELDS[] = {
    {"expiresInDays", JF_INT, offsetof(struct link_body, days), 0, NULL, 0,
     "1 to 365; absent: 30."},
    {"tools", JF_BOOL, offsetof(struct link_body, has_tools), 0, NULL, 0,
     "Show inputs and results of tools too, not only their names."},
    {0}};

struct new_link {
    struct link_body body;
    struct share_link link;
    str secret;
};

static void on_link_added(void *ctx, const struct err *err, const struct share_links *links)
{
    struct api_wait *w = ctx;
    const struct new_link *made = w->data;
    w->op = NULL;
    if (err) {
        fail(w, err);
        return;
    }
    struct api_json j;
    api_json_begin(&j);
    write_link(&j.w, &made->link);
    jw_kstr(&j.w, "path",
            arena_printf(&w->req->arena, "shared.html#%.*s/%.*s", STR_ARG(w->space->id),
                         STR_ARG(made->secret)));
    api_json_send(&j, w->req);
}

/* Only the secret opens the link, and only the reply has it. */
static void make_secret(struct arena *a, struct new_link *made)
{
    uint8_t bytes[SECRET_BYTES];
    char hash[SHA256_HEX_LEN + 1], id[RANDOM_ID_MAX];
    struct buf b;
    random_bytes(bytes, sizeof bytes);
    buf_init(&b, SECRET_BYTES * 2);
    (void)base64url_encode(&b, str_make((char *)bytes, sizeof bytes));
    made->secret = arena_str(a, buf_str(&b));
    buf_done(&b);
    sha256_hex(made->secret, hash);
    random_id("link", id);
    made->link.hash = arena_str(a, str_from(hash));
    made->link.id = arena_str(a, str_from(id));
}

static void add_link(struct api_wait *w, const struct conv *c)
{
    struct new_link *made = w->data;
    if (!is_on(w)) {
        http_reply_error(w->req, 403, "links_off",
                         "Links for people without an account are off: features.publicLinks in the "
                         "settings of the workspace.",
                         NULL);
        return;
    }
    if (c->acl.owner_id.n == 0 || c->parent) {
        api_bad_request(w->req, "Only a conversation with an owner can have links.");
        return;
    }
    if (c->end == 0 || c->message_count == 0) {
        api_bad_request(w->req,
                        "This conversation has no messages yet, so a link would show nothing.");
        return;
    }
    make_secret(&w->req->arena, made);
    made->link.conv_id = w->id;
    made->link.by = arena_str(&w->req->arena, c->acl.owner_id);
    made->link.made_ms = clock_now_ms();
    made->link.expires_ms = made->link.made_ms + made->body.days * DAY_MS;
    made->link.until = c->end;
    made->link.title = arena_str(&w->req->arena, c->title);
    made->link.has_tools = made->body.has_tools;
    struct link_change change = {.add = &made->link, .now_ms = made->link.made_ms};
    assert(!w->op && made->link.expires_ms > made->link.made_ms);
    w->op = store_links(w->space->store, &change, on_link_added, w);
}

void api_links_add(void *ctx, struct http_req *r)
{
    struct new_link *made = ARENA_NEW(&r->arena, struct new_link);
    made->body.days = DAYS;
    if (r->body.n > 0 && !api_decode_body(r, API_LINK_FIELDS, &made->body))
        return;
    if (made->body.days < 1 || made->body.days > DAYS_MAX)
        api_bad_request(r, "expiresInDays: expected 1 to 365");
    else
        api_find_conv(ctx, r, made, add_link);
}

/* ---- revoking ---- */

static void on_link_removed(void *ctx, const struct err *err, const struct share_links *links)
{
    struct api_wait *w = ctx;
    w->op = NULL;
    if (err)
        fail(w, err);
    else
        api_reply_ok(w->req);
}

static void revoke_link(struct api_wait *w, str id)
{
    struct link_change change = {.remove = id, .conv_id = w->id, .now_ms = clock_now_ms()};
    assert(!w->op);
    w->op = store_links(w->space->store, &change, on_link_removed, w);
}

static void remove_link(struct api_wait *w, const struct conv *c)
{
    revoke_link(w, w->req->params[1]);
}

void api_links_remove(void *ctx, struct http_req *r)
{
    api_find_conv(ctx, r, NULL, remove_link);
}

void api_links_remove_any(void *ctx, struct http_req *r)
{
    revoke_link(api_wait_new(ctx, r), r->params[0]);
}
