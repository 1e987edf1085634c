#include "api/exchange.h"

#include <assert.h>
#include <errno.h>

#include "api/describe/describe.h"
#include "api/routes.h"
#include "base/clock.h"
#include "base/nearest.h"
#include "base/text/plain.h"

void api_json_value(struct api_json *j)
{
    jw_start(&j->w, &j->buf, API_JSON_MAX);
}

void api_json_begin(struct api_json *j)
{
    api_json_value(j);
    jw_object(&j->w);
}

str api_json_text(struct api_json *j)
{
    assert(j->w.depth <= 1 && !j->w.has_key);
    if (j->w.depth == 1)
        jw_end(&j->w);
    return buf_str(&j->buf);
}

/* A change that was made is reported even to a person whose rights were reduced meanwhile; only a
 * person who has left the workspace gets no report. */
static bool has_lost_rights(const struct http_req *r, const struct api_identity *id)
{
    const struct actor *who = id->actor;
    bool is_read = api_rule(r->route)->scope == SCOPE_READ || str_eq(r->method, STR("GET"));
    if (id->space && !actor_is_current(who, clock_now_ms()))
        return true;
    return is_read &&
           (actor_role(who) < id->dispatched.role || actor_org_role(who) < id->dispatched.server);
}

bool api_may_answer(struct http_req *r)
{
    const struct api_identity *id = api_identity(r);
    if (!id || !id->actor || !id->is_dispatched ||
        actor_generation(id->actor) == id->dispatched.generation || !has_lost_rights(r, id))
        return true;
    return api_forbidden(r,
                         "Your rights changed while this request was in progress. Send it again.");
}

void api_json_send(struct api_json *j, struct http_req *r)
{
    if (!api_may_answer(r)) {
        buf_done(&j->buf);
        return;
    }
    str text = api_json_text(j);
    if (buf_failed(&j->buf))
        http_reply_error(r, 500, "too_large", "The response is too large; request less.", NULL);
    else
        http_reply(r, 200, "application/json", plain_json(&r->arena, text));
    buf_done(&j->buf);
}

void api_write_indexing(struct json_writer *w, const struct http_req *r,
                        const struct store_counting *c)
{
    if (c->total == 0)
        return;
    jw_kobject(w, "indexing");
    jw_kint(w, "percent", (int64_t)(c->done * 100 / c->total));
    if (api_is_admin(r)) {
        jw_kint(w, "done", (int64_t)c->done);
        jw_kint(w, "total", (int64_t)c->total);
    }
    jw_end(w);
}

void api_reply_ok(struct http_req *r)
{
    http_reply(r, 200, "application/json", STR("{\"ok\":true}"));
}

void api_write_strs(struct json_writer *w, const char *key, struct json_strs list)
{
    jw_kstrs(w, key, list.items, list.len);
}

void api_write_time(struct json_writer *w, int64_t ms)
{
    char text[CLOCK_ISO_LEN + 1];
    if (ms == 0) {
        jw_null(w);
        return;
    }
    clock_iso(ms, text);
    jw_str(w, str_from(text));
}

static void exchange_note_unknown(void *ctx, const char *path, const char *meant)
{
    struct err *first = ctx;
    if (first->code < 0)
        return;
    err_set(first, -EINVAL, "%s: unknown key", path);
    nearest_hint(first, meant);
}

static bool decode_body(struct http_req *r, const struct json_field *fields, void *ret_struct,
                        struct err *unknown)
{
    struct json *body;
    struct err e = {0};
    assert(describe_has_body(r->route, fields)); /* else the document is wrong */
    if (json_parse(&r->arena, r->body, JSON_UNIQUE, &body, &e) < 0) {
        err_prefix(&e, "The body is not valid JSON");
        api_bad_request(r, e.msg);
        return false;
    }
    if (body->type != JSON_OBJECT)
        return api_bad_request(r, "The body must be a JSON object.");
    if (json_decode(&r->arena, body, fields, ret_struct, "", unknown ? exchange_note_unknown : NULL,
                    unknown, &e) < 0)
        return api_bad_request(r, e.msg);
    return true;
}

bool api_decode_open_body(struct http_req *r, const struct json_field *fields, void *ret_struct)
{
    return decode_body(r, fields, ret_struct, NULL);
}

bool api_decode_body(struct http_req *r, const struct json_field *fields, void *ret_struct)
{
    struct err unknown = {0};
    if (!decode_body(r, fields, ret_struct, &unknown))
        return false;
    if (unknown.code < 0)
        api_bad_request(r, unknown.msg);
    return unknown.code == 0;
}

const struct json_field API_DIRECTORY_FIELDS[] = {
    {"path", JF_STR, offsetof(struct dir_grant, path), JF_REQUIRED, NULL, 0,
     "The whole path of the directory."},
    {"id", JF_STR, offsetof(struct dir_grant, id), JF_REQUIRED, NULL, 0,
     "What the file system says about it, so that it cannot be exchanged."},
    {0}};

bool api_may_lend(struct http_req *r, const struct dir_grant *g)
{
    if (!g->path.p || actor_is_operator(api_actor(r)))
        return true;
    return api_forbidden(
        r, "workingDirectory: only a terminal on the server's own machine may set it, "
           "through the server's socket (nb.sock).");
}

str api_query(struct http_req *r, const char *name)
{
    assert(describe_has_query(r->route, name)); /* else the document lacks it */
    return http_query(r, name);
}

bool api_query_int(struct http_req *r, const char *name, int64_t otherwise, int64_t max,
                   int64_t *ret)
{
    str text = api_query(r, name);
    uint64_t v;
    assert(max > 0);
    if (text.n == 0) {
        *ret = otherwise;
        return true;
    }
    if (parse_u64(text, &v) < 0 || v < 1 || v > (uint64_t)max) {
        str msg = arena_printf(&r->arena, "%s: expected a whole number from 1 to %lld", name,
                               (long long)max);
        api_bad_request(r, msg.p);
        return false;
    }
    *ret = (int64_t)v;
    return true;
}

bool api_query_flag(struct http_req *r, const char *name, bool otherwise, bool *ret)
{
    str text = api_query(r, name);
    *ret = text.n == 0 ? otherwise : str_eq(text, STR("true"));
    if (text.n == 0 || *ret || str_eq(text, STR("false")))
        return true;
    return api_bad_request(r, arena_printf(&r->arena, "%s: expected true or false", name).p);
}

static void on_wait_gone(struct http_req *r)
{
    struct api_wait *w = r->user;
    store_op_cancel(w->op);
}

struct api_wait *api_wait_new(struct api *api, struct http_req *r)
{
    struct api_wait *w = ARENA_NEW(&r->arena, struct api_wait);
    assert(!r->user && !r->on_gone); /* a request waits for one thing */
    w->api = api;
    w->space = api_space(r);
    w->req = r;
    r->user = w;
    r->on_gone = on_wait_gone;
    return w;
}

bool api_may(const struct api_wait *w, const struct conv *c, enum conv_right right)
{
    const struct actor *who = api_actor(w->req);
    /* The operator may change every conversation, but takes part only in their own. */
    bool is_operator = right != CONV_LEAVE && actor_is_operator(who);
    return is_operator || actor_allows(who, &c->acl, right);
}

const struct viewer *api_viewer(struct http_req *r)
{
    return actor_query_viewer(api_actor(r), &r->arena);
}

bool api_check_right(const struct api_wait *w, const struct conv *c)
{
    assert(api_rule(w->req->route)->conv != RULE_CONV_NONE);
    enum conv_right right = (enum conv_right)(api_rule(w->req->route)->conv - 1);
    if (api_may(w, c, right))
        return true;
    if (api_may(w, c, CONV_VIEW))
        api_forbidden(w->req, access_reason(right));
    else
        api_not_found(w->req, "conversation");
    return false;
}

static void on_exchange_found(void *ctx, const struct err *err, const struct conv *c)
{
    struct api_wait *w = ctx;
    assert(w->op && w->then);
    w->op = NULL;
    if (err)
        api_fail(w->req, FROM_STORE, err);
    else if (api_check_right(w, c))
        w->then(w, c);
}

struct api_wait *api_find_conv_named(struct api *api, struct http_req *r, str id, void *data,
                                     void (*then)(struct api_wait *w, const struct conv *c))
{
    struct api_wait *w = api_wait_new(api, r);
    w->id = id;
    w->data = data;
    w->then = then;
    w->op = store_get(w->space->store, w->id, on_exchange_found, w);
    return w;
}

struct api_wait *api_find_conv(struct api *api, struct http_req *r, void *data,
                               void (*then)(struct api_wait *w, const struct conv *c))
{
    return api_find_conv_named(api, r, r->params[0], data, then);
}
