/* /v1/apps, /v1/bundles/health - the bundles of a workspace: list, start, stop, add, remove. */
#include "api/apps/apps.h"

#include <assert.h>
#include <errno.h>

#include "api/apps/app_trust.h"
#include "api/bodies.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "api/trail.h"
#include "bundle/change.h"
#include "bundle/entry/import.h"
#include "bundle/entry/install_rules.h"

/* ---- listing ---- */

/* Values below 0 are unknown. */
static void write_or_null(struct json_writer *w, const char *key, int64_t v)
{
    jw_key(w, key);
    if (v < 0)
        jw_null(w);
    else
        jw_int(w, v);
}

/* Admins also get the reason in the server's own words, and file names of this machine. */
static void write_members(struct json_writer *w, struct bundle *b, const struct http_req *r)
{
    const struct bundle_info *i = bundle_info(b);
    bool is_for_admin = api_is_admin(r);
    jw_kstr(w, "name", i->name);
    jw_kstr(w, "bundleName", i->is_path && !is_for_admin ? i->name : i->package);
    jw_kstr(w, "version", i->version);
    jw_kstr(w, "status", str_from(bundle_state_name(i->state)));
    jw_kstr_or_null(w, "reason", is_for_admin ? i->reason : i->fault);
    jw_kstr(w, "kind", str_from(bundle_kind_name(i->kind)));
    jw_kstr(w, "type", i->is_upjack ? STR("upjack") : STR("plain"));
    jw_kint(w, "toolCount", (int64_t)i->ntools);
    jw_kint(w, "quarantinedCount", (int64_t)i->nheld);
    write_or_null(w, "trustScore", i->trust_score);
    jw_kbool(w, "protected", i->is_protected);
    jw_kstr_or_null(w, "title", i->title);
    jw_kstr_or_null(w, "description", i->description);
    jw_kval(w, "ui", i->ui);
    if (!bundle_entry(b)->oauth.is_on)
        return;
    jw_key(w, "auth"); /* it supports a sign-in */
    jw_object(w);
    jw_kstr(w, "type", STR("oauth"));
    jw_kstr(w, "per", bundle_is_per_person(b) ? STR("person") : STR("workspace"));
    jw_kbool(w, "needsSignIn", bundle_needs_sign_in(b, api_user(r)));
    jw_end(w);
}

static void write_app(struct json_writer *w, struct bundle *b, const struct http_req *r)
{
    jw_object(w);
    write_members(w, b, r);
    jw_end(w);
}

static void write_apps_tools(struct json_writer *w, struct arena *a, const struct bundle *b)
{
    size_t n;
    const struct json *const *tools = bundle_tools(b, &n), *const *raw = bundle_raw_tools(b, &n);
    jw_karray(w, "tools");
    for (size_t i = 0; i < n; i++) {
        jw_object(w);
        jw_kstr(w, "name", json_get_string(tools[i], "name"));
        jw_kstr(w, "description", json_get_string(tools[i], "description"));
        jw_kstr(w, "effect", str_from(api_tool_effect(json_get(tools[i], "annotations"))));
        api_write_strs(w, "warnings", pin_warnings(a, pin_definition(a, raw[i])));
        jw_end(w);
    }
    jw_end(w);
}

/* All details of one bundle. */
static void write_detail(struct json_writer *w, struct arena *a, struct bundle *b,
                         const struct http_req *r)
{
    bool is_for_admin = api_is_admin(r);
    jw_object(w);
    write_members(w, b, r);
    const struct bundle_info *i = bundle_info(b);
    jw_kstr_or_null(w, "author", i->author);
    write_or_null(w, "uptimeMs", i->uptime_ms);
    write_or_null(w, "rssBytes", i->rss_bytes);
    jw_kint(w, "restartCount", i->restarts);
    jw_kint(w, "failures", i->failures);
    write_or_null(w, "pid", i->pid > 0 && is_for_admin ? i->pid : -1);
    jw_kstr_or_null(w, "sandbox", is_for_admin ? i->sandbox : STR_NONE);
    jw_kstr_or_null(w, "protocolVersion", i->protocol_version);
    write_apps_tools(w, a, b);
    if (is_for_admin)
        api_write_quarantine(w, a, b);
    jw_end(w);
}

static size_t apps_count(const struct api_space *s)
{
    return s->bundles ? bundles_count(s->bundles) : 0;
}

void api_apps_list(void *ctx, struct http_req *r)
{
    struct api_space *s = api_space(r);
    struct api_json j;
    api_json_begin(&j);
    jw_karray(&j.w, "apps");
    for (size_t i = 0; i < apps_count(s); i++) {
        struct bundle *b = bundles_at(s->bundles, i);
        if (api_token_sees(r, bundle_info(b)->name))
            write_app(&j.w, b, r);
    }
    jw_end(&j.w);
    api_json_send(&j, r);
}

void api_bundles_health(void *ctx, struct http_req *r)
{
    struct api_space *s = api_space(r);
    struct api_json j;
    api_json_value(&j);
    jw_array(&j.w);
    for (size_t k = 0; k < apps_count(s); k++) {
        const struct bundle_info *i = bundle_info(bundles_at(s->bundles, k));
        if (!api_token_sees(r, i->name))
            continue;
        jw_object(&j.w);
        jw_kstr(&j.w, "name", i->name);
        jw_kstr(&j.w, "state", str_from(bundle_state_name(i->state)));
        write_or_null(&j.w, "uptime", i->uptime_ms);
        jw_kint(&j.w, "restartCount", i->restarts);
        jw_end(&j.w);
    }
    jw_end(&j.w);
    api_json_send(&j, r);
}

/* The bundle that the path names; replies with 404 if there is none. */
struct bundle *api_apps_find(struct http_req *r)
{
    struct api_space *s = api_space(r);
    struct bundle *b = s->bundles ? bundles_find(s->bundles, r->params[0]) : NULL;
    if (b && api_token_sees(r, bundle_info(b)->name))
        return b;
    api_not_found(r, "bundle");
    return NULL;
}

void api_apps_get(void *ctx, struct http_req *r)
{
    struct bundle *b = api_apps_find(r);
    struct api_json j;
    if (!b)
        return;
    api_json_value(&j);
    write_detail(&j.w, &r->arena, b, r);
    api_json_send(&j, r);
}

/* ---- starting and stopping ---- */

/* The rule of the route has checked the right. Replies with 403 when bundles cannot be changed. */
bool api_apps_may_change(struct http_req *r)
{
    if (api_space(r)->config->features.bundle_management)
        return true;
    http_reply_error(r, 403, "feature_disabled",
                     "Bundles cannot be changed: features.bundleManagement is off in the settings.",
                     NULL);
    return false;
}

void api_apps_logs(void *ctx, struct http_req *r)
{
    struct api_json j;
    if (!api_apps_may_change(r)) /* servers may print anything to stderr, secrets included */
        return;
    struct bundle *b = api_apps_find(r);
    if (!b)
        return;
    api_json_begin(&j);
    jw_kstr(&j.w, "name", bundle_info(b)->name);
    jw_kstr(&j.w, "logs", bundle_logs(b, &r->arena));
    api_json_send(&j, r);
}

static void set_state(struct http_req *r, void (*set)(struct bundle *b))
{
    struct bundle *b = api_apps_may_change(r) ? api_apps_find(r) : NULL;
    struct api_json j;
    if (!b)
        return;
    set(b);
    api_json_begin(&j);
    jw_kstr(&j.w, "name", bundle_info(b)->name);
    jw_kstr(&j.w, "status", str_from(bundle_state_name(bundle_info(b)->state)));
    api_json_send(&j, r);
}

void api_apps_start(void *ctx, struct http_req *r)
{
    set_state(r, bundle_start);
}

void api_apps_stop(void *ctx, struct http_req *r)
{
    set_state(r, bundle_stop);
}

void api_apps_restart(void *ctx, struct http_req *r)
{
    set_state(r, bundle_restart);
}

/* ---- adding and removing ---- */

struct app_wait { /* in the request's arena */
    struct http_req *req;
    struct bundle_change_op *op;
    str name;
};

static void on_apps_gone(struct http_req *r)
{
    bundle_change_cancel(((struct app_wait *)r->user)->op);
}

static struct app_wait *wait_new(struct http_req *r)
{
    struct app_wait *w = ARENA_NEW(&r->arena, struct app_wait);
    assert(!r->user && !r->on_gone);
    w->req = r;
    r->user = w;
    r->on_gone = on_apps_gone;
    return w;
}

/* The message about a missing value says how to set it. */
static bool needs_values(const struct err *err)
{
    return strstr(err->msg, "nb config set") != NULL;
}

static void refuse_change(struct http_req *r, enum api_origin from, const struct err *err)
{
    if (needs_values(err))
        http_reply_error(r, 400, "credentials_required", err->msg, NULL);
    else
        api_fail(r, from, err);
}

static void on_installed(void *ctx, struct bundle *b, const struct err *err)
{
    struct app_wait *w = ctx;
    struct api_json j;
    assert(!b == !!err);
    if (err) {
        refuse_change(w->req, FROM_INSTALL, err);
        return;
    }
    api_json_value(&j);
    write_app(&j.w, b, w->req);
    api_json_send(&j, w->req);
}

static enum install_rights rights_of(const struct http_req *r)
{
    const struct actor *who = api_actor(r);
    return actor_is_operator(who) ? INSTALL_ON_MACHINE
           : actor_is_owner(who)  ? INSTALL_AS_OWNER
                                  : INSTALL_AS_ADMIN;
}

static int check_apps_entry(struct http_req *r, const struct json *entry, struct err *e)
{
    static const struct json_strs UNSET;
    const struct bundle_changer *c = api_space(r)->changer;
    return install_check(entry, rights_of(r), c ? &c->allow_install : &UNSET, e);
}

void api_apps_install(void *ctx, struct http_req *r)
{
    struct api_space *s = api_space(r);
    struct json *entry;
    struct err e = {0};
    if (!api_apps_may_change(r))
        return;
    if (json_parse(&r->arena, r->body, JSON_COPY | JSON_UNIQUE, &entry, &e) < 0 ||
        entry->type != JSON_OBJECT) {
        api_bad_request(r, e.code ? e.msg : "The body must be a JSON object.");
        return;
    }
    if (check_apps_entry(r, entry, &e) < 0) {
        api_forbidden(r, e.msg);
        return;
    }
    if (!s->changer) {
        api_forbidden(r, "Bundles cannot be added here.");
        return;
    }
    struct app_wait *w = wait_new(r);
    w->op = bundle_add(s->changer, entry, trail_doer(ctx, r), on_installed, w);
}

static void on_uninstalled(void *ctx, struct bundle *b, const struct err *err)
{
    struct app_wait *w = ctx;
    struct api_json j;
    if (err) {
        refuse_change(w->req, FROM_UNINSTALL, err);
        return;
    }
    api_json_begin(&j);
    jw_kstr(&j.w, "name", w->name);
    jw_kbool(&j.w, "uninstalled", true);
    jw_kbool(&j.w, "dataPreserved", true);
    jw_kstr(
        &j.w, "dataPath",
        arena_printf(&w->req->arena, "%s/data/%.*s", api_space(w->req)->root, STR_ARG(w->name)));
    api_json_send(&j, w->req);
}

void api_apps_uninstall(void *ctx, struct http_req *r)
{
    struct api_space *s = api_space(r);
    if (!api_apps_may_change(r) || !api_apps_find(r))
        return;
    if (!s->changer) {
        api_forbidden(r, "Bundles cannot be removed here.");
        return;
    }
    struct app_wait *w = wait_new(r);
    w->name = r->params[0];
    w->op = bundle_remove(s->changer, w->name, trail_doer(ctx, r), on_uninstalled, w);
}

/* ---- importing settings of another program ---- */

#define SOURCE_SHOWN 300 /* bytes */

static str source_of(struct arena *a, const struct bundle_entry *b)
{
    struct buf text;
    buf_init(&text, SOURCE_SHOWN);
    int r = buf_add_str(&text, b->kind == BUNDLE_REMOTE ? b->url : b->command);
    for (size_t i = 0; r == 0 && i < b->args.len; i++)
        r = buf_printf(&text, " %.*s", STR_ARG(b->args.items[i]));
    str shown = arena_printf(a, "%.*s%s", STR_ARG(buf_str(&text)), r < 0 ? " ..." : "");
    buf_done(&text);
    return shown;
}

static void write_server(struct json_writer *w, struct http_req *r, const struct import_server *s)
{
    bool is_for_owner = s->entry && check_apps_entry(r, s->entry, NULL) < 0;
    jw_object(w);
    jw_kstr(w, "name", s->name);
    jw_kval(w, "entry", is_for_owner ? NULL : s->entry);
    jw_kbool(w, "isForOwner", is_for_owner); /* only on the machine itself: nb bundle import */
    jw_kstr_or_null(w, "source", s->entry ? source_of(&r->arena, &s->bundle) : STR_NONE);
    api_write_strs(w, "notes", s->notes);
    jw_end(w);
}

const struct json_field API_APP_IMPORT_FIELDS[] = {
    {"text", JF_STR, 0, JF_REQUIRED, NULL, 0,
     "The configuration of another program: JSON with `mcpServers`, or a command line."},
    {0}};

/* Only lists the entries; each is then added separately, by a person who has seen it. */
void api_apps_import(void *ctx, struct http_req *r)
{
    struct import_list list;
    struct api_json j;
    struct err e = {0};
    str text = STR_NONE;
    if (!api_apps_may_change(r) || !api_decode_body(r, API_APP_IMPORT_FIELDS, &text))
        return;
    if (import_parse(&r->arena, text, "/", NULL, &list, &e) < 0) {
        api_bad_request(r, e.msg);
        return;
    }
    api_json_begin(&j);
    jw_karray(&j.w, "servers");
    for (size_t i = 0; i < list.len; i++)
        write_server(&j.w, r, &list.items[i]);
    jw_end(&j.w);
    api_json_send(&j, r);
}
