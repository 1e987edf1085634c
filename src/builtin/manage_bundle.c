/* nb__manage_bundle - the agent adds and removes bundles, with the user's permission. */
#include <assert.h>
#include <errno.h>

#include "auth/identity.h"
#include "builtin/internal.h"
#include "bundle/change.h"
#include "bundle/entry/install_rules.h"

static void on_bundle_cancel(struct builtin_call *c)
{
    bundle_change_cancel(c->state);
}

static void on_added(void *ctx, struct bundle *b, const struct err *err)
{
    struct builtin_call *c = ctx;
    c->on_cancel = NULL;
    if (err && (err->code == -ECONNABORTED || err->code == -ETIMEDOUT)) {
        /* The reason may quote output of the server, which must not appear in a conversation. */
        builtin_fail(
            c, "Nothing was installed: the bundle did not start. Admins see the reason on the "
               "page or with `nb bundle add`; it may need values (`nb config set`).");
        return;
    }
    if (err) {
        builtin_fail(c, "Nothing was installed: %s", err->msg);
        return;
    }
    const struct bundle_info *i = bundle_info(b);
    builtin_reply(c, arena_printf(&c->call.arena,
                                  "'%.*s' is installed and running with %zu tool%s. "
                                  "nb__discover_tools finds them.",
                                  STR_ARG(i->name), i->ntools, i->ntools == 1 ? "" : "s"));
}

static void on_bundle_removed(void *ctx, struct bundle *b, const struct err *err)
{
    struct builtin_call *c = ctx;
    c->on_cancel = NULL;
    if (err)
        builtin_fail(c, "Nothing was removed: %s", err->msg);
    else
        builtin_reply(c, STR("The bundle is removed. Its data directory is kept."));
}

static void wait_for(struct builtin_call *c, struct bundle_change_op *op)
{
    assert(!c->on_cancel && !c->result.content); /* one change per call */
    c->state = op;
    c->on_cancel = on_bundle_cancel;
}

static str bundle_name(const struct builtin_call *c)
{
    return json_get_string(c->call.args, "name");
}

/* Answers the call when there is none. */
static bool has_changer(struct builtin_call *c)
{
    if (!c->builtin->changer)
        builtin_fail(c, "Bundles cannot be changed here.");
    return c->builtin->changer != NULL;
}

/* As in the HTTP API: the limits of admins do not apply to the owner of the server. */
static enum install_rights rights_of(const struct builtin_call *c)
{
    return actor_is_owner(c->call.who.actor) ? INSTALL_AS_OWNER : INSTALL_AS_ADMIN;
}

static void install(struct builtin_call *c)
{
    struct json *entry = json_new(&c->call.arena, JSON_OBJECT);
    struct err e = {0};
    if (!has_changer(c))
        return;
    json_set(&c->call.arena, entry, STR("name"), json_of_str(bundle_name(c)));
    if (install_check(entry, rights_of(c), &c->builtin->changer->allow_install, &e) < 0) {
        builtin_refuse(c, "Nothing was installed: %s", e.msg);
        return;
    }
    wait_for(c, bundle_add(c->builtin->changer, entry, builtin_doer(c), on_added, c));
}

static void uninstall(struct builtin_call *c)
{
    if (has_changer(c))
        wait_for(c, bundle_remove(c->builtin->changer, bundle_name(c), builtin_doer(c),
                                  on_bundle_removed, c));
}

/* ---- values ---- */

static void on_options(void *ctx, struct bundle *b, const struct err *err)
{
    struct builtin_call *c = ctx;
    c->on_cancel = NULL;
    if (err)
        builtin_fail(c, "%s.", err->msg);
    else
        builtin_reply(c, bundle_change_text(c->state));
}

static void on_bundle_checked(void *ctx, struct bundle *b, const struct err *err)
{
    struct builtin_call *c = ctx;
    c->on_cancel = NULL;
    if (err && err->code == -EPERM)
        builtin_refuse(c, "Nothing was set: %s.", err->msg);
    else if (err)
        builtin_fail(c, "Nothing was set: %s.", err->msg);
    else
        builtin_reply(c, STR_NONE);
}

static void on_configured(void *ctx, struct bundle *b, const struct err *err)
{
    struct builtin_call *c = ctx;
    if (err || !b) {
        on_bundle_checked(ctx, b, err);
        return;
    }
    const struct bundle_info *i = bundle_info(b);
    c->on_cancel = NULL;
    builtin_reply(c, arena_printf(&c->call.arena, "The values are stored. '%.*s' is %s%s%.*s.",
                                  STR_ARG(i->name), bundle_state_name(i->state),
                                  i->fault.n > 0 ? ": " : "", STR_ARG(i->fault)));
}

static struct bundle_configure configure_spec(const struct builtin_call *c)
{
    return (struct bundle_configure){.server_name = bundle_name(c),
                                     .values = json_get(c->call.args, "values"),
                                     .rights = rights_of(c),
                                     .is_check = c->call.is_probe};
}

/* Answers the call when there are none. */
static bool has_values(struct builtin_call *c)
{
    const struct json *v = json_get(c->call.args, "values");
    bool is_given = json_is(v, JSON_OBJECT) && v->len > 0;
    if (!is_given)
        builtin_fail(c, "values: expected the values to set, like {\"key\": \"value\"}. The action "
                        "\"options\" lists them.");
    return is_given;
}

static void configure(struct builtin_call *c)
{
    struct bundle_configure spec = configure_spec(c);
    if (has_changer(c) && has_values(c))
        wait_for(c,
                 bundle_configure(c->builtin->changer, &spec, builtin_doer(c), on_configured, c));
}

/* A secret is refused before anybody is asked: a question would show it. */
static void probe_configure(struct builtin_call *c)
{
    struct bundle_configure spec = configure_spec(c);
    if (has_changer(c) && has_values(c))
        wait_for(c, bundle_configure(c->builtin->changer, &spec, NULL, on_bundle_checked, c));
}

static void options(struct builtin_call *c)
{
    struct bundle_configure spec = {.server_name = bundle_name(c), .rights = rights_of(c)};
    if (has_changer(c))
        wait_for(c, bundle_configure(c->builtin->changer, &spec, NULL, on_options, c));
}

static const struct builtin_action ACTIONS[] = {
    {.name = "install", .call = install, .audited = "bundle.install"},
    {.name = "uninstall", .call = uninstall, .audited = "bundle.remove"},
    {.name = "configure",
     .call = configure,
     .probe = probe_configure,
     .audited = "bundle.credential_set"},
    {.name = "options", .call = options, .is_read_only = true},
};

const struct builtin_tool BUILTIN_MANAGE_BUNDLE = {
    .name = "manage_bundle",
    .title = "Manage bundles",
    .description =
        "Install a bundle (MCP server) from the registry by its name, uninstall one, list "
        "the values that it can be given (options), or set some (configure; not "
        "secrets: the user types those). Asks the user first.",
    .schema = "{\"type\":\"object\",\"properties\":{\"action\":{\"type\":\"string\",\"enum\":["
              "\"install\",\"uninstall\",\"configure\",\"options\"]},\"name\":{\"type\":\"string\","
              "\"minLength\":"
              "1,\"description\":\"install: the package, like @scope/name; otherwise the bundle's "
              "name\"},\"values\":{\"type\":\"object\",\"description\":\"configure: key and new "
              "value of each "
              "setting; null forgets "
              "one\"}},\"required\":[\"action\",\"name\"],\"additionalProperties\":false}",
    .rule = {.scope = SCOPE_ADMIN, .space = WS_ADMIN},
    .is_destructive = true,
    .is_workspace_change = true,
    .feature = BUILTIN_FEATURE(bundle_management),
    .timeout_ms = BUNDLE_CHANGE_MS + 10000,
    .actions = ACTIONS,
    .nactions = ARRAY_LEN(ACTIONS),
};
