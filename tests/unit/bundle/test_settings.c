#include <errno.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bundle/settings/settings.h"
#include "os/file.h"
#include "support/unit.h"

static struct arena arena;
static char dir[64];
static const char *path;

static struct json *entry(const char *text)
{
    struct json *v;
    assert_int_equal(json_parse(&arena, str_from(text), JSON_COPY, &v, NULL), 0);
    return v;
}

static void write_file(const char *text)
{
    assert_int_equal(file_write_atomic(path, str_from(text), 0640, NULL), 0);
}

static const char *content(void)
{
    str s;
    assert_int_equal(file_read(&arena, path, 1 << 20, &s, NULL), 0);
    return arena_cstr(&arena, s);
}

static int setup(void **state)
{
    arena_init(&arena);
    snprintf(dir, sizeof dir, "/tmp/nb-settings-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    path = arena_printf(&arena, "%s/nimblebrain.json", dir).p;
    return 0;
}

static int teardown(void **state)
{
    unlink(path);
    rmdir(dir);
    arena_done(&arena);
    return 0;
}

TEST_WITH(a_missing_file_is_made, setup, teardown)
{
    struct err e = {0};
    struct stat st;
    struct bundle_entry *all;
    size_t n = 9;
    assert_int_equal(settings_load_bundles(&arena, path, &all, &n, &e), 0);
    assert_int_equal(n, 0);
    assert_int_equal(settings_add_bundle(path, entry("{\"path\":\"./a\"}"), &e), 0);
    assert_int_equal(settings_load_bundles(&arena, path, &all, &n, &e), 0);
    assert_int_equal(n, 1);
    assert_true(str_eq(all[0].path, arena_printf(&arena, "%s/a", dir)));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

TEST_WITH(only_the_entry_changes, setup, teardown)
{
    struct err e = {0};
    struct stat st;
    write_file("{ \"odd\":  1.50,\n  \"bundles\": [\n    {\"path\":\"a\"}\n  ]}");
    assert_int_equal(settings_add_bundle(path, entry("{\"url\":\"https://b.io\"}"), &e), 0);
    assert_int_equal(settings_remove_bundle(path, STR("a"), &e), 0);
    assert_string_equal(content(), "{ \"odd\":  1.50,\n  \"bundles\": [\n    {\n      \"url\": "
                                   "\"https://b.io\"\n    }\n  ]}");
    assert_int_equal(settings_replace_bundle(path, STR("b-io"), entry("{\"path\":\"c\"}"), &e), 0);
    assert_non_null(strstr(content(), "\"path\": \"c\""));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
}

TEST_WITH(what_cannot_be_done_changes_nothing, setup, teardown)
{
    static const char TEXT[] =
        "{\"bundles\":[{\"path\":\"a\",\"protected\":true},{\"path\":\"b\"}]}";
    struct err e = {0};
    write_file(TEXT);
    assert_int_equal(settings_add_bundle(path, entry("{\"path\":\"x/a\"}"), &e), -EEXIST);
    assert_int_equal(settings_add_bundle(path, entry("{\"pth\":\"x\"}"), &e), -EINVAL);
    assert_int_equal(settings_remove_bundle(path, STR("a"), &e), -EPERM);
    assert_int_equal(settings_remove_bundle(path, STR("z"), &e), -ENOENT);
    assert_int_equal(settings_replace_bundle(path, STR("b"), entry("{\"path\":\"a\"}"), &e),
                     -EEXIST);
    assert_string_equal(content(), TEXT);
    write_file("{\"bundles\":[{}]}");
    assert_int_equal(settings_add_bundle(path, entry("{\"path\":\"x\"}"), &e), -EINVAL);
    assert_non_null(strstr(e.msg, "bundles[0]"));
    assert_non_null(strstr(e.msg, path));
}

TEST_WITH(a_link_stays_a_link, setup, teardown)
{
    struct err e = {0};
    struct stat st;
    char link_path[96];
    write_file("{}");
    snprintf(link_path, sizeof link_path, "%s/link.json", dir);
    assert_int_equal(symlink(path, link_path), 0);
    assert_int_equal(settings_add_bundle(link_path, entry("{\"path\":\"/x\"}"), &e), 0);
    assert_int_equal(lstat(link_path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_non_null(strstr(content(), "/x"));
    unlink(link_path);
}

/* Several processes at once: every entry is there in the end. */
TEST_WITH(changes_do_not_overwrite_each_other, setup, teardown)
{
    enum { WRITERS = 4, EACH = 5 };
    pid_t pids[WRITERS];
    struct bundle_entry *all;
    size_t n;
    write_file("{}");
    for (int w = 0; w < WRITERS; w++) {
        pids[w] = fork();
        if (pids[w] == 0) {
            struct arena a;
            arena_init(&a);
            int r = 0;
            for (int i = 0; r == 0 && i < EACH; i++) {
                struct json *v = json_new(&a, JSON_OBJECT);
                json_set(&a, v, STR("path"), json_of_str(arena_printf(&a, "/p/w%d-%d", w, i)));
                r = settings_add_bundle(path, v, NULL);
            }
            arena_done(&a);
            _exit(r == 0 ? 0 : 1);
        }
    }
    for (int w = 0; w < WRITERS; w++) {
        int status;
        assert_int_equal(waitpid(pids[w], &status, 0), pids[w]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(settings_load_bundles(&arena, path, &all, &n, NULL), 0);
    assert_int_equal(n, WRITERS * EACH);
}

TEST_WITH(permissions_are_set_and_what_else_is_in_them_stays, setup, teardown)
{
    struct json *v;
    struct err e = {0};
    write_file("{\n  \"permissions\": {\"note\": \"mine\", \"deny\": [\"a\"]},\n  \"x\": 1.0\n}\n");
    assert_int_equal(
        settings_set_members(path, "permissions", entry("{\"deny\":[],\"ask\":[\"b\"]}"), &e), 0);
    assert_non_null(strstr(content(), "\"x\": 1.0"));
    assert_int_equal(json_parse(&arena, str_from(content()), JSON_COPY, &v, NULL), 0);
    v = json_get(v, "permissions");
    assert_true(str_eq(json_get_string(v, "note"), STR("mine")));
    assert_int_equal(json_get(v, "deny")->len, 0);
    assert_int_equal(json_get(v, "ask")->len, 1);

    write_file("{ broken");
    assert_int_equal(settings_set_members(path, "permissions", entry("{}"), &e), -EINVAL);
    assert_string_equal(content(), "{ broken");
}
