/* nb__manage_bundle. The changes themselves are the test's own: bundle/change.h is tested beside
 * its floor. */
#include "bundle/change.h"
#include "bundle/supervise/bundle_impl.h"
#include "unit/builtin/builtin_rig.h"

/* ---- a changer under the test's control ---- */

struct bundle_change_op {
    bundle_changed_fn fn;
    void *ctx;
};

static struct {
    struct bundle_changer changer;
    struct bundle_change_op op;
    char asked[256]; /* "install @a/b usr_ana" */
    bool is_open, is_cancelled, is_check;
    enum install_rights rights;
} world;

static struct bundle_change_op *ask(const char *what, str name, const struct doer *by,
                                    bundle_changed_fn fn, void *ctx)
{
    snprintf(world.asked, sizeof world.asked, "%s %.*s %.*s", what, STR_ARG(name),
             STR_ARG(by ? actor_user(by->actor) : STR("nobody")));
    world.op = (struct bundle_change_op){fn, ctx};
    world.is_open = true;
    return &world.op;
}

struct bundle_change_op *bundle_add(struct bundle_changer *c, const struct json *entry,
                                    const struct doer *by, bundle_changed_fn fn, void *ctx)
{
    return ask("install", json_get_string(entry, "name"), by, fn, ctx);
}

struct bundle_change_op *bundle_remove(struct bundle_changer *c, str server_name,
                                       const struct doer *by, bundle_changed_fn fn, void *ctx)
{
    return ask("remove", server_name, by, fn, ctx);
}

struct bundle_change_op *bundle_configure(struct bundle_changer *c,
                                          const struct bundle_configure *spec,
                                          const struct doer *by, bundle_changed_fn fn, void *ctx)
{
    world.is_check = spec->is_check;
    world.rights = spec->rights;
    return ask(spec->values ? "configure" : "options", spec->server_name, by, fn, ctx);
}

str bundle_change_text(const struct bundle_change_op *op)
{
    return STR("units: metric or imperial");
}

void bundle_change_cancel(struct bundle_change_op *op)
{
    world.is_cancelled = true;
}

static int world_set_up(void **state)
{
    builtin_rig_set_up(state);
    memset(&world, 0, sizeof world);
    builtin_set_bundles(builtin_rig.builtin, NULL, &world.changer);
    return 0;
}

#define WORLD_TEST(name) TEST_WITH(name, world_set_up, builtin_rig_tear_down)

static struct tool_answer *start(struct rig *r, const struct actor *who, const char *args)
{
    struct tool_caller caller = {.actor = who, .via = STR("mcp")};
    return begin(r, &caller, "nb__manage_bundle", args);
}

/* The change ends with this result. */
static struct tool_answer *finish(struct rig *r, struct tool_answer *a, struct bundle *b, int code,
                                  const char *why)
{
    struct err e = {0};
    if (code)
        err_set(&e, code, "%s", why);
    assert_true(world.is_open);
    world.is_open = false;
    world.op.fn(world.op.ctx, b, code ? &e : NULL);
    rig_until(r, a->is_done);
    return a;
}

static struct bundles none;
static struct bundle weather = {
    .set = &none, .entry = {.server_name = STR_INIT("weather")}, .state = BUNDLE_RUNNING};

#define INSTALL   "{\"action\":\"install\",\"name\":\"@a/weather\"}"
#define UNINSTALL "{\"action\":\"uninstall\",\"name\":\"weather\"}"
#define CONFIGURE                                                                                  \
    "{\"action\":\"configure\",\"name\":\"weather\",\"values\":{\"units\":\"metric\"}}"

/* ---- install ---- */

WORLD_TEST(an_installed_bundle_says_how_many_tools_it_has)
{
    struct rig *r = *state;
    struct tool_answer *a = start(r, r->ana, INSTALL);
    assert_string_equal(world.asked, "install @a/weather usr_ana");
    assert_answer(finish(r, a, &weather, 0, NULL),
                  "'weather' is installed and running with 0 tools. nb__discover_tools finds "
                  "them.");
    assert_audited(""); /* the change writes its own record */
}

WORLD_TEST(a_failed_installation_says_why)
{
    struct rig *r = *state;
    struct tool_answer *a = start(r, r->ana, INSTALL);
    assert_refusal(finish(r, a, NULL, -EEXIST, "the name is taken"),
                   "Nothing was installed: the name is taken");
}

/* The reason may quote what the server wrote. */
WORLD_TEST(output_of_a_server_that_did_not_start_is_not_shown)
{
    static const int CODES[] = {-ECONNABORTED, -ETIMEDOUT};
    struct rig *r = *state;
    for (size_t i = 0; i < ARRAY_LEN(CODES); i++) {
        struct tool_answer *a = start(r, r->ana, INSTALL);
        finish(r, a, NULL, CODES[i], "TOKEN=secret");
        assert_true(a->is_error);
        assert_has_not(a->text, "secret");
        assert_has(a->text, "Nothing was installed: the bundle did not start.");
    }
}

/* As over HTTP: what an admin of a workspace may install is the decision of the server's owner. */
WORLD_TEST(an_admin_installs_only_what_the_settings_allow)
{
    struct rig *r = *state;
    bool is_done = false;
    struct change c = {.kind = CHANGE_MEMBER_SET,
                       .workspace_id = STR(RIG_WORKSPACE),
                       .user_id = STR("usr_ben"),
                       .ws_role = WS_ADMIN};
    directory_change(r->directory, &c, on_rig_changed, &is_done);
    rig_until(r, is_done);
    struct tool_answer *a = start(r, r->ben, INSTALL);
    rig_until(r, a->is_done);
    assert_true(a->is_error);
    assert_has(a->text, "Nothing was installed: ");
    assert_has(a->text, "allowInstall");
    assert_audited("usr_ben bundle.install @a/weather denied mcp\n");
    assert_false(world.is_open);
    str allowed = STR("@a/*");
    world.changer.allow_install = (struct json_strs){&allowed, 1};
    a = start(r, r->ben, INSTALL);
    assert_string_equal(world.asked, "install @a/weather usr_ben");
    assert_false(finish(r, a, &weather, 0, NULL)->is_error);
}

/* ---- uninstall ---- */

WORLD_TEST(a_removed_bundle_keeps_its_data)
{
    struct rig *r = *state;
    struct tool_answer *a = start(r, r->ana, UNINSTALL);
    assert_string_equal(world.asked, "remove weather usr_ana");
    assert_answer(finish(r, a, NULL, 0, NULL),
                  "The bundle is removed. Its data directory is kept.");
}

WORLD_TEST(a_failed_removal_says_why)
{
    struct rig *r = *state;
    struct tool_answer *a = start(r, r->ana, UNINSTALL);
    assert_refusal(finish(r, a, NULL, -ENOENT, "no bundle 'weather'"),
                   "Nothing was removed: no bundle 'weather'");
}

/* ---- values ---- */

WORLD_TEST(values_are_stored_and_the_state_told)
{
    struct rig *r = *state;
    struct tool_answer *a = start(r, r->ana, CONFIGURE);
    assert_string_equal(world.asked, "configure weather usr_ana");
    assert_int_equal(world.rights, INSTALL_AS_OWNER);
    assert_false(world.is_check);
    assert_answer(finish(r, a, &weather, 0, NULL), "The values are stored. 'weather' is running.");
}

WORLD_TEST(a_refused_value_says_why)
{
    struct rig *r = *state;
    struct tool_answer *a = start(r, r->ana, CONFIGURE);
    assert_refusal(finish(r, a, NULL, -EINVAL, "units: expected metric"),
                   "Nothing was set: units: expected metric.");
}

WORLD_TEST(values_must_be_given)
{
    static const char *const EMPTY[] = {"", ",\"values\":{}"};
    struct rig *r = *state;
    for (size_t i = 0; i < ARRAY_LEN(EMPTY); i++) {
        const char *args =
            arena_printf(&r->arena, "{\"action\":\"configure\",\"name\":\"weather\"%s}", EMPTY[i])
                .p;
        assert_refusal(use(r, r->ana, "nb__manage_bundle", args),
                       "values: expected the values to set, like {\"key\": \"value\"}. The action "
                       "\"options\" lists them.");
        assert_audited("usr_ana bundle.credential_set weather failed mcp\n");
    }
}

/* A question to a person would show the secret. */
WORLD_TEST(a_secret_is_refused_before_anybody_is_asked)
{
    struct rig *r = *state;
    struct tool_caller who = {.actor = r->ana, .via = STR("mcp")};
    struct tool_answer *a = ARENA_NEW(&r->arena, struct tool_answer);
    a->rig = r;
    a->call = registry_probe(r->tools, STR("nb__manage_bundle"), rig_args(r, CONFIGURE), &who,
                             &BUILTIN_EVENTS, a);
    assert_true(world.is_check);
    assert_string_equal(world.asked, "configure weather nobody"); /* a check is not recorded */
    assert_refusal(finish(r, a, NULL, -EPERM, "key is a secret"),
                   "Nothing was set: key is a secret.");
    assert_audited("usr_ana bundle.credential_set weather denied mcp\n");
}

WORLD_TEST(options_are_listed)
{
    struct rig *r = *state;
    struct tool_answer *a = start(r, r->ana, "{\"action\":\"options\",\"name\":\"weather\"}");
    assert_string_equal(world.asked, "options weather nobody");
    assert_answer(finish(r, a, &weather, 0, NULL), "units: metric or imperial");
    a = start(r, r->ana, "{\"action\":\"options\",\"name\":\"rain\"}");
    assert_refusal(finish(r, a, NULL, -ENOENT, "no bundle 'rain'"), "no bundle 'rain'.");
}

/* ---- others ---- */

WORLD_TEST(members_change_no_bundles)
{
    static const char *const ACTIONS[] = {INSTALL, UNINSTALL, CONFIGURE};
    struct rig *r = *state;
    for (size_t i = 0; i < ARRAY_LEN(ACTIONS); i++)
        assert_refusal(use(r, r->ben, "nb__manage_bundle", ACTIONS[i]),
                       "Manage bundles: only admins of the workspace may use this tool.");
    assert_string_equal(world.asked, "");
}

WORLD_TEST(a_cancelled_change_is_told)
{
    struct rig *r = *state;
    struct tool_answer *a = start(r, r->ana, INSTALL);
    registry_cancel(a->call);
    assert_true(world.is_cancelled);
}

BUILTIN_TEST(without_a_changer_nothing_is_changed)
{
    static const char *const ACTIONS[] = {INSTALL, UNINSTALL, CONFIGURE,
                                          "{\"action\":\"options\",\"name\":\"x\"}"};
    struct rig *r = *state;
    for (size_t i = 0; i < ARRAY_LEN(ACTIONS); i++)
        assert_refusal(use(r, r->ana, "nb__manage_bundle", ACTIONS[i]),
                       "Bundles cannot be changed here.");
}
