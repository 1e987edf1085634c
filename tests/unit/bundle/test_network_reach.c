#include <errno.h>
#include <stdlib.h>

#include "bundle/sandbox/network_reach.h"
#include "sandbox_rig.h"

static struct sandbox_offer offer = {.kind = SANDBOX_BUBBLEWRAP, .has_network = true};

static bool lists(const struct json_strs *l, const char *dest)
{
    for (size_t i = 0; i < l->len; i++) {
        if (str_eq(l->items[i], str_from(dest)))
            return true;
    }
    return false;
}

static struct sandbox_want want(const struct bundle_sandbox *declared, const char *program,
                                const char *const *env)
{
    const char **argv = arena_array(&rig.arena, 2, sizeof(*argv));
    argv[0] = program;
    struct sandbox_want w = {
        .offer = &offer, .declared = declared, .argv = argv, .env = env, .home_dir = at("home")};
    struct err e = {0};
    assert_int_equal(network_prepare(&rig.arena, &w, &e), 0);
    return w;
}

TEST_WITH(without_network_there_is_nothing, rig_open, rig_close)
{
    struct bundle_sandbox none = {0};
    assert_int_equal(want(&none, "npx", NULL).reach.len, 0);
}

TEST_WITH(true_is_public_and_a_list_is_the_list, rig_open, rig_close)
{
    struct bundle_sandbox all = {.network = true};
    struct sandbox_want w = want(&all, "node", NULL);
    assert_true(w.reach.len == 1 && lists(&w.reach, "public"));
    str one = STR("db.example.com:5432");
    struct bundle_sandbox list = {.network = true, .reach = {&one, 1}};
    w = want(&list, "node", NULL);
    assert_true(w.reach.len == 1 && lists(&w.reach, "db.example.com:5432"));
}

TEST_WITH(programs_that_download_reach_their_registry, rig_open, rig_close)
{
    str one = STR("db.example.com:5432");
    struct bundle_sandbox list = {.network = true, .reach = {&one, 1}};
    const char *const env[] = {"npm_config_registry=http://10.0.0.7:4873/", NULL};
    struct sandbox_want w = want(&list, "/usr/bin/npx", env);
    assert_true(lists(&w.reach, "10.0.0.7:4873") && lists(&w.reach, "db.example.com:5432"));
    assert_true(lists(&w.reach, "registry.npmjs.org:443") && !lists(&w.reach, "public"));
    assert_true(w.env == env);
    w = want(&list, "uvx", NULL);
    assert_true(lists(&w.reach, "pypi.org:443") && !lists(&w.reach, "registry.npmjs.org:443"));
}

TEST_WITH(the_registry_of_the_home_directory_is_handed_on, rig_open, rig_close)
{
    struct bundle_sandbox all = {.network = true};
    make_file("home/.npmrc",
              "fund=false\n@a:registry=https://[fd00::7]:4874\n"
              " registry = http://localhost:4873/x\n//localhost/:_authToken=SECRET\n",
              0600);
    struct sandbox_want w = want(&all, "npx", NULL);
    assert_true(lists(&w.reach, "localhost:4873") && lists(&w.reach, "[fd00::7]:4874"));
    assert_string_equal(w.env[0], "npm_config_registry=http://localhost:4873/x");
    make_file("home/.npmrc", "registry=http://me:SECRET@localhost:4873/\n", 0600);
    w = want(&all, "npx", NULL);
    assert_null(w.env);
}

TEST_WITH(a_package_adds_no_registry, rig_open, rig_close)
{
    struct bundle_sandbox all = {.network = true};
    const char *argv[] = {"npx", NULL};
    const char *const env[] = {"npm_config_registry=http://10.0.0.7:4873/", NULL};
    struct sandbox_want w = {.offer = &offer,
                             .declared = &all,
                             .argv = argv,
                             .env = env,
                             .home_dir = at("home"),
                             .package_dir = at("app")};
    struct err e = {0};
    assert_int_equal(network_prepare(&rig.arena, &w, &e), 0);
    assert_int_equal(w.reach.len, 1);
}

TEST_WITH(without_a_namespace_it_is_refused, rig_open, rig_close)
{
    struct bundle_sandbox all = {.network = true};
    struct sandbox_offer poor = {.kind = SANDBOX_LANDLOCK, .why_no_network = "no such thing"};
    const char *argv[] = {"node", NULL};
    struct sandbox_want w = {.offer = &poor, .declared = &all, .argv = argv, .home_dir = "/x"};
    struct err e = {0};
    assert_int_equal(network_prepare(&rig.arena, &w, &e), -ENOSYS);
    assert_non_null(strstr(e.msg, "no such thing"));
}

int main(void)
{
    unsetenv("npm_config_registry");
    unsetenv("NPM_CONFIG_REGISTRY");
    return run_unit_tests("tests", NULL);
}
