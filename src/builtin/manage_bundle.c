/* nb__manage_bundle - the agent adds and removes bundles, with the user's permission. */
#include <errno.h>

#include "auth/identity.h"
#include "builtin/internal.h"
#include "bundle/change.h"
#include "bundle/install_rules.h"

static void on_cancel(struct builtin_call *c)
{
    bundle_change_cancel(c->state);
}

static void on_added(void *ctx, struct bundle *b, const struct err *err)
{
    struct builtin_call *c = ctx;
    c->on_cancel = NULL;
    if (err && (err->code == -ECONNABORTED || err->code == -ETIMEDOUT)) {
        /* The reason quotes the server: that is not for a conversation. */
        builtin_fail(c, "Nothing was installed: it did not start. An admin sees why on the page "
                        "or with `nb bundle add`; it may need values (`nb config set`).");
        return;
    }
    if (err) {
        builtin_fail(c, "Nothing was installed: %s", err->msg);
        return;
    }
    const struct bundle_info *i = bundle_info(b);
    builtin_reply(c, arena_printf(&c->arena,
                                  "'%.*s' is installed and running with %zu tool%s. "
                                  "nb__discover_tools finds them.",
                                  STR_ARG(i->name), i->ntools, i->ntools == 1 ? "" : "s"));
}

static void on_removed(void *ctx, struct bundle *b, const struct err *err)
{
    struct builtin_call *c = ctx;
    c->on_cancel = NULL;
    if (err)
        builtin_fail(c, "Nothing was removed: %s", err->msg);
    else
        builtin_reply(c, STR("It is removed. Its data stays where it is."));
}

static void wait_for(struct builtin_call *c, struct bundle_change_op *op)
{
    c->state = op;
    c->on_cancel = on_cancel;
}

static str bundle_name(const struct builtin_call *c)
{
    return json_get_string(c->args, "name");
}

/* Answers when there is none. */
static bool has_changer(struct builtin_call *c)
{
    if (!c->builtin->changer)
        builtin_fail(c, "Bundles cannot be changed here.");
    return c->builtin->changer != NULL;
}

/* As over HTTP: what admins may install does not limit the owner of the server. */
static enum install_rights rights_of(const struct builtin_call *c)
{
    return actor_is_owner(c->actor) ? INSTALL_AS_OWNER : INSTALL_AS_ADMIN;
}

static void install(struct builtin_call *c)
{
    struct json *entry = json_new(&c->arena, JSON_OBJECT);
    struct err e = {0};
    if (!has_changer(c))
        return;
    json_set(&c->arena, entry, STR("name"), json_of_str(bundle_name(c)));
    if (install_check(entry, rights_of(c), &c->builtin->changer->allow_install, &e) < 0) {
        builtin_refuse(c, "Nothing was installed: %s", e.msg);
        return;
    }
    wait_for(c, bundle_add(c->builtin->changer, entry, builtin_doer(c), on_added, c));
}

static void uninstall(struct builtin_call *c)
{
    if (has_changer(c))
        wait_for(
            c, bundle_remove(c->builtin->changer, bundle_name(c), builtin_doer(c), on_removed, c));
}

/* Values may be secret: they never pass through a conversation. */
static void configure(struct builtin_call *c)
{
    if (!has_changer(c))
        return;
    str name = bundle_name(c);
    struct bundle *b = bundles_find(c->builtin->changer->bundles, name);
    if (!b) {
        builtin_fail(c, "There is no bundle '%.*s'. nb__bundle_status lists them.", STR_ARG(name));
        return;
    }
    const struct bundle_info *i = bundle_info(b);
    builtin_reply(c, arena_printf(&c->arena,
                                  "Settings and keys are given outside of the conversation, by the "
                                  "user: `nb config set %.*s KEY=VALUE` in a terminal, or on the "
                                  "page of the bundle.%s%.*s",
                                  STR_ARG(name), i->fault.n > 0 ? " It does not run: " : "",
                                  STR_ARG(i->fault)));
}

static const struct builtin_action ACTIONS[] = {
    {.name = "install", .call = install, .audited = "bundle.install"},
    {.name = "uninstall", .call = uninstall, .audited = "bundle.remove"},
    {.name = "configure", .call = configure, .is_read_only = true}, /* tells where to set values */
};

const struct builtin_tool BUILTIN_MANAGE_BUNDLE = {
    .name = "manage_bundle",
    .title = "Manage bundles",
    .description = "Install a bundle (MCP server) from the registry by its name, uninstall one, or "
                   "learn how the user can configure it. Asks the user first.",
    .schema =
        "{\"type\":\"object\",\"properties\":{\"action\":{\"type\":\"string\",\"enum\":["
        "\"install\",\"uninstall\",\"configure\"]},\"name\":{\"type\":\"string\",\"minLength\":"
        "1,\"description\":\"install: the package, like @scope/name; otherwise the bundle's "
        "name\"}},\"required\":[\"action\",\"name\"],\"additionalProperties\":false}",
    .rule = {.scope = SCOPE_ADMIN, .space = WS_ADMIN},
    .is_destructive = true,
    .is_workspace_change = true,
    .feature = BUILTIN_FEATURE(bundle_management),
    .timeout_ms = BUNDLE_CHANGE_MS + 10000,
    .actions = ACTIONS,
    .nactions = ARRAY_LEN(ACTIONS),
};
