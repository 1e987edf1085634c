/* /v1/permissions - what the agent may do without asking: rules, and stored permissions. */
#include <assert.h>

#include "api/bodies.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "bundle/change.h"
#include "engine/permission.h"
#include "tools/tool_selection.h"

/* ---- listing ---- */

static enum permission decide(const struct http_req *r, const struct toolset_item *it)
{
    const struct runtime *rt = api_space(r)->runtime;
    enum permission p = permission_decide(runtime_permissions(rt), it);
    bool is_settled = p == PERMISSION_ASK && runtime_has_consent(rt, actor_user(api_actor(r)), it);
    return is_settled ? PERMISSION_ALLOW : p;
}

static void write_decisions(struct json_writer *w, const struct http_req *r)
{
    const struct api_space *s = api_space(r);
    const struct toolset *all = registry_tools(s->tools);
    jw_karray(w, "tools");
    for (size_t i = 0; i < all->len; i++) {
        const struct toolset_item *it = &all->items[i];
        if (it->tool->is_internal || (it->tool->is_admin_only && !api_is_admin(r)) ||
            !tool_selection_allows_name(api_actor(r), it->name))
            continue;
        jw_object(w);
        jw_kstr(w, "name", it->name);
        jw_kstr(w, "decision", str_from(permission_name(decide(r, it))));
        jw_end(w);
    }
    jw_end(w);
}

static void permissions_reply(struct http_req *r)
{
    const struct runtime *rt = api_space(r)->runtime;
    const struct permission_rules *rules = runtime_permissions(rt);
    struct api_json j;
    api_json_begin(&j);
    jw_kstr(&j.w, "default", rules->is_default_ask ? STR("ask") : STR("allow"));
    api_write_strs(&j.w, "allow", rules->allow);
    api_write_strs(&j.w, "ask", rules->ask);
    api_write_strs(&j.w, "deny", rules->deny);
    api_write_strs(&j.w, "consents", runtime_consents(rt, &r->arena, actor_user(api_actor(r))));
    api_write_strs(&j.w, "workspaceConsents", runtime_consents(rt, &r->arena, STR_NONE));
    jw_kbool(&j.w, "mayChange", api_is_admin(r) && runtime_deps(rt)->settings_path);
    write_decisions(&j.w, r);
    api_json_send(&j, r);
}

void api_permissions_get(void *ctx, struct http_req *r)
{
    permissions_reply(r);
}

/* ---- changing ---- */

static void on_permissions_gone(struct http_req *r)
{
    rule_change_forget(r->user);
}

static void on_permissions_changed(void *ctx, const struct err *err)
{
    struct http_req *r = ctx;
    const struct bundle_changer *c = api_space(r)->changer;
    if (c)
        c->look(c->ctx); /* other watchers of the settings must see the change */
    if (err)
        http_reply_error(r, 500, "not_saved", err->msg, NULL);
    else
        permissions_reply(r);
}

static void await(struct http_req *r, struct rule_change *c)
{
    assert(!r->user);
    r->user = c;
    r->on_gone = on_permissions_gone;
}

/* Replies with 403 when permissions cannot be changed. */
static bool can_change(struct http_req *r)
{
    if (runtime_deps(api_space(r)->runtime)->settings_path)
        return true;
    return api_forbidden(r, "Permissions cannot be changed here.");
}

struct rules_in {
    str fallback;
    struct json_strs allow, ask, deny;
};

const struct json_field API_RULE_FIELDS[] = {
    {"default", JF_STR, offsetof(struct rules_in, fallback), 0, NULL, 0,
     "What holds for tools that no pattern names.", "'ask'|'allow'"},
    {"allow", JF_STRS, offsetof(struct rules_in, allow), 0, NULL, 0,
     "Patterns of tools that run without a question."},
    {"ask", JF_STRS, offsetof(struct rules_in, ask), 0, NULL, 0,
     "Patterns of tools that ask a person first."},
    {"deny", JF_STRS, offsetof(struct rules_in, deny), 0, NULL, 0,
     "Patterns of tools that never run."},
    {0}};

static void set_list(struct arena *a, struct json *section, const char *key, struct json_strs list)
{
    struct json *items = json_new(a, JSON_ARRAY);
    for (size_t i = 0; i < list.len; i++)
        json_push(a, items, json_of_str(list.items[i]));
    json_set(a, section, str_from(key), *items);
}

static struct json *make_section(struct arena *a, const struct rules_in *in)
{
    struct json *section = json_new(a, JSON_OBJECT);
    json_set(a, section, STR("default"), json_of_str(in->fallback));
    set_list(a, section, "allow", in->allow);
    set_list(a, section, "ask", in->ask);
    set_list(a, section, "deny", in->deny);
    return section;
}

void api_permissions_set(void *ctx, struct http_req *r)
{
    struct rules_in in = {.fallback = STR("allow")};
    struct permission_rules rules;
    struct err e = {0};
    if (!can_change(r) || !api_decode_body(r, API_RULE_FIELDS, &in))
        return;
    struct json *section = make_section(&r->arena, &in);
    if (permission_decode(&r->arena, section, &rules, &e) < 0 || permission_check(&rules, &e) < 0) {
        api_bad_request(r, e.msg);
        return;
    }
    await(r, runtime_set_permissions(api_space(r)->runtime, section, on_permissions_changed, r));
}

static void withdraw(struct http_req *r, str user_id)
{
    struct rule_change *c = runtime_withdraw_consent(api_space(r)->runtime, user_id, r->params[0],
                                                     on_permissions_changed, r);
    if (c)
        await(r, c);
    else
        http_reply_error(r, 404, "not_found", "No stored permission for that tool.", NULL);
}

void api_permissions_withdraw(void *ctx, struct http_req *r)
{
    withdraw(r, actor_user(api_actor(r)));
}

void api_permissions_withdraw_all(void *ctx, struct http_req *r)
{
    withdraw(r, STR_NONE);
}
