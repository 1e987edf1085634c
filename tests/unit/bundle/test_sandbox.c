#include <errno.h>

#include "base/json/json.h"
#include "bundle/sandbox/sandbox.h"
#include "sandbox_rig.h"

static const struct sandbox_offer BWRAP = {
    .kind = SANDBOX_BUBBLEWRAP, .bwrap = "/usr/bin/bwrap", .has_network = true};
static const struct sandbox_offer LANDLOCK = {
    .kind = SANDBOX_LANDLOCK, .landlock_abi = 2, .why_not = "bwrap is not installed"};
static const struct sandbox_offer NOTHING = {.why_not = "bwrap is not installed"};

static struct sandbox_plan plan;
static struct err err;

static int make(const struct sandbox_offer *offer, struct bundle_sandbox declared)
{
    static const char *const ARGV[] = {"cat", "-u", NULL}, *const ENV[] = {"PATH=/usr/bin", NULL};
    struct sandbox_want w = {
        .offer = offer,
        .declared = &declared,
        .argv = ARGV,
        .env = ENV,
        .data_dir = at("work/data/me"),
        .work_dir = at("work"),
        .home_dir = at("home"),
        .own_program = "/opt/nb",
    };
    err = (struct err){0};
    return sandbox_plan(&rig.arena, &w, &plan, &err);
}

/* "--bind PATH PATH" in the plan, behind position `from`. */
static int mounted(const char *option, const char *path, int from)
{
    for (int i = from; (i = find(plan.wrap, i, option)) >= 0; i++) {
        if (strcmp(plan.wrap[i + 1], path) == 0 || strcmp(plan.wrap[i + 2], path) == 0)
            return i;
    }
    return -1;
}

static struct json_strs strs(str *items, size_t n)
{
    return (struct json_strs){items, n};
}

TEST_WITH(bubblewrap_shows_the_system_and_its_own, rig_open, rig_close)
{
    assert_int_equal(make(&BWRAP, (struct bundle_sandbox){0}), 0);
    const char *const *v = plan.wrap;
    assert_string_equal(plan.argv[0], "/opt/nb");
    assert_string_equal(plan.argv[1], "launch");
    assert_string_equal(v[0], "/usr/bin/bwrap");
    assert_true(has(v, "--unshare-net") && has(v, "--unshare-pid") && has(v, "--die-with-parent") &&
                has(v, "--new-session"));
    assert_true(has(v, "--unshare-user-try") && !has(v, "--disable-userns"));
    assert_true(mounted("--ro-bind", "/usr", 0) > 0);
    assert_int_equal(mounted("--ro-bind", "/", 0), -1);
    assert_int_equal(mounted("--bind", "/", 0), -1);
    assert_true(mounted("--bind", at("work/data/me"), 0) > 0);
    for (int i = 0; v[i]; i++) {
        assert_string_not_equal(v[i], at("home"));
        assert_string_not_equal(v[i], at("work"));
        assert_string_not_equal(v[i], "/etc");
    }
    assert_string_equal(plan.program[0], "/usr/bin/cat");
    assert_string_equal(plan.program[1], "-u");
    assert_null(plan.program[2]);
    assert_true(str_eq(plan.description,
                       STR("bubblewrap: no network; writes only its own data directory")));
}

TEST_WITH(user_namespaces_are_forbidden_where_bubblewrap_can, rig_open, rig_close)
{
    struct sandbox_offer offer = BWRAP;
    offer.no_userns = true;
    assert_int_equal(make(&offer, (struct bundle_sandbox){0}), 0);
    assert_true(has(plan.wrap, "--unshare-user") && has(plan.wrap, "--disable-userns") &&
                !has(plan.wrap, "--unshare-user-try"));
}

TEST_WITH(what_is_declared_comes_from_outside_in, rig_open, rig_close)
{
    str read[] = {STR("~/notes"), STR("~")};
    str write[] = {STR("~/notes/"), STR("~/.config/gh")};
    struct bundle_sandbox s = {.network = true, .read = strs(read, 2), .write = strs(write, 2)};
    assert_int_equal(make(&BWRAP, s), 0);
    assert_false(has(plan.wrap, "--unshare-net"));
    int home = mounted("--ro-bind", at("home"), 0);
    int notes = mounted("--bind", at("home/notes"), 0);
    int ssh = mounted("--tmpfs", at("home/.ssh"), 0);
    int gh = mounted("--tmpfs", at("home/.config/gh"), 0);
    assert_true(home > 0 && home < notes && notes < ssh && notes < gh);
    assert_true(mounted("--bind", at("home/.config/gh"), gh) > gh); /* it was named itself */
    assert_int_equal(mounted("--bind", at("home/.ssh"), 0), -1);
}

TEST_WITH(the_work_directory_is_hidden_in_what_is_declared, rig_open, rig_close)
{
    str read[] = {str_from(rig.root)};
    assert_int_equal(make(&BWRAP, (struct bundle_sandbox){.read = strs(read, 1)}), 0);
    int hidden = mounted("--tmpfs", at("work"), 0);
    assert_true(hidden > 0);
    assert_true(mounted("--bind", at("work/data/me"), hidden) > hidden);
}

TEST_WITH(some_paths_cannot_be_declared, rig_open, rig_close)
{
    static const struct {
        const char *path, *message;
        int code;
    } CASES[] = {
        {"/", "whole file system", -EINVAL},
        {"/x/..", "whole file system", -EINVAL},
        {"@work", "own work directory", -EINVAL},
        {"@work/data/other", "own work directory", -EINVAL},
        {"@nothing", "does not exist", -ENOENT},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        const char *p = CASES[i].path;
        str path[] = {str_from(p[0] == '@' ? at(p + 1) : p)};
        assert_int_equal(make(&BWRAP, (struct bundle_sandbox){.read = strs(path, 1)}),
                         CASES[i].code);
        assert_non_null(strstr(err.msg, CASES[i].message));
        assert_int_equal(make(&LANDLOCK, (struct bundle_sandbox){.write = strs(path, 1)}),
                         CASES[i].code);
    }
}

/* The message without the variables. */
static str message_json(void)
{
    str rest = plan.message, json = STR_NONE;
    (void)str_split(&rest, 0, &json);
    return json;
}

TEST_WITH(landlock_gets_the_same_rules_as_json, rig_open, rig_close)
{
    str read[] = {STR("~")};
    struct json *spec;
    assert_int_equal(make(&LANDLOCK, (struct bundle_sandbox){.read = strs(read, 1)}), 0);
    assert_int_equal(json_parse(&rig.arena, message_json(), 0, &spec, NULL), 0);
    assert_true(json_get_bool(spec, "confine", false));
    assert_false(json_get_bool(spec, "network", true));
    assert_true(
        str_eq(json_string(json_at(json_get(spec, "read"), 0), STR_NONE), str_from(at("home"))));
    assert_int_equal(json_get(spec, "hide")->len, 2);
    assert_true(str_eq(json_string(json_at(json_get(spec, "ownWrite"), 0), STR_NONE),
                       str_from(at("work/data/me"))));
    assert_null(plan.wrap);
    assert_true(str_find(plan.description, STR("it may end them"), 0) > 0);
    assert_true(str_find(plan.description, STR("bwrap is not installed"), 0) > 0);
}

TEST_WITH(off_goes_through_the_launcher_as_well, rig_open, rig_close)
{
    assert_int_equal(make(&NOTHING, (struct bundle_sandbox){.is_off = true}), 0);
    assert_string_equal(plan.argv[1], "launch");
    assert_null(plan.wrap);
    assert_true(str_eq(message_json(), STR("{\"argv\":[\"/usr/bin/cat\",\"-u\"]}")));
}

TEST_WITH(variables_are_in_the_message_only, rig_open, rig_close)
{
    static const struct sandbox_offer *const OFFERS[] = {&BWRAP, &LANDLOCK, &NOTHING};
    for (size_t i = 0; i < ARRAY_LEN(OFFERS); i++) {
        assert_int_equal(make(OFFERS[i], (struct bundle_sandbox){.is_off = i == 2}), 0);
        assert_true(str_find(plan.message, STR("PATH=/usr/bin"), 0) > 0);
        assert_true(str_find(message_json(), STR("PATH=/usr/bin"), 0) < 0);
        for (const char *const *p = plan.argv; *p; p++)
            assert_null(strstr(*p, "PATH="));
        for (const char *const *p = plan.wrap; p && *p; p++)
            assert_null(strstr(*p, "PATH="));
    }
}

TEST_WITH(no_sandbox_no_command_line, rig_open, rig_close)
{
    assert_int_equal(make(&NOTHING, (struct bundle_sandbox){0}), -ENOSYS);
    assert_non_null(strstr(err.msg, "bwrap is not installed"));
    assert_non_null(strstr(err.msg, "\"sandbox\": \"off\""));
}
