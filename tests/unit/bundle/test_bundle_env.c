#include "bundle/plan/bundle_want.h"
#include "support/unit.h"

static const char *value_of(const char *const *env, const char *name)
{
    size_t n = strlen(name);
    for (; *env; env++) {
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    }
    return NULL;
}

TEST(only_what_is_allowed_and_later_wins)
{
    struct arena a;
    struct bundle_pair own[] = {{STR("TOKEN"), STR("mine")}, {STR("LANG"), STR("xx")}};
    str allowed[] = {STR("WANTED"), STR("NB_API_KEY"), STR("PATH")};
    struct bundle_entry e = {.env = own, .nenv = 2, .allowed_env = {allowed, 3}};
    const char *const package[] = {"TOKEN=packaged", "MODE=fast", NULL};
    arena_init(&a);
    setenv("LANG", "C", 1);
    setenv("WANTED", "w", 1);
    setenv("UNWANTED", "u", 1);
    setenv("NB_API_KEY", "secret", 1);
    setenv("HOME", "/home/me", 1);
    setenv("XDG_CONFIG_HOME", "/home/me/.config", 1);
    struct bundle_env_want w = {&e, package, "/data/x", "/tmp", false};
    const char *const *env = bundle_env(&a, &w);
    assert_string_equal(value_of(env, "TOKEN"), "mine");
    assert_string_equal(value_of(env, "MODE"), "fast");
    assert_string_equal(value_of(env, "LANG"), "xx");
    assert_string_equal(value_of(env, "WANTED"), "w");
    assert_string_equal(value_of(env, "HOME"), "/data/x");
    assert_string_equal(value_of(env, "TMPDIR"), "/tmp");
    assert_string_equal(value_of(env, "MPAK_WORKSPACE"), "/data/x");
    assert_string_equal(value_of(env, "UPJACK_ROOT"), "/data/x");
    assert_non_null(value_of(env, "PATH"));
    assert_null(value_of(env, "UNWANTED"));
    assert_null(value_of(env, "NB_API_KEY"));
    assert_null(value_of(env, "XDG_CONFIG_HOME"));
    arena_done(&a);
}

TEST(without_a_sandbox_the_home_stays)
{
    struct arena a;
    struct bundle_entry e = {0};
    arena_init(&a);
    setenv("HOME", "/home/me", 1);
    setenv("XDG_CONFIG_HOME", "/home/me/.config", 1);
    struct bundle_env_want w = {&e, NULL, "/data/x", NULL, true};
    const char *const *env = bundle_env(&a, &w);
    assert_string_equal(value_of(env, "HOME"), "/home/me");
    assert_string_equal(value_of(env, "XDG_CONFIG_HOME"), "/home/me/.config");
    arena_done(&a);
}

/* An installed package is read-only: the memory server of npm would fail at its first write. */
TEST(a_file_beside_the_program_is_in_the_data_directory)
{
    struct arena a;
    struct bundle_entry e = {.server_name = STR("memory"), .command = STR("npx")};
    struct bundle_place place = {.data_dir = "/ws/data"};
    struct npm_package p = {.pin.name = STR("@modelcontextprotocol/server-memory"),
                            .dir = "/apps/m",
                            .script = "/apps/m/index.js"};
    arena_init(&a);
    struct sandbox_want w = bundle_want(&a, &e, &place);
    bundle_want_npm(&a, &w, &e, &p);
    assert_string_equal(value_of(w.env, "MEMORY_FILE_PATH"), "/ws/data/memory/memory.jsonl");
    p.pin.name = STR("@other/server-memory");
    bundle_want_npm(&a, &w, &e, &p);
    assert_null(value_of(w.env, "MEMORY_FILE_PATH"));
    arena_done(&a);
}
