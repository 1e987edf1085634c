#include <errno.h>

#include "base/bytes/hash.h"
#include "bundle/package/manifest.h"
#include "bundle/package/mpak.h"
#include "bundle/package/resolve.h"
#include "os/file.h"
#include "support/unit.h"
#include "unit/bundle/registry_rig.h"
#include "unit/bundle/zip_writer.h"
#include "workspace/secrets/credentials.h"

static struct rig rig;
static struct resolver *resolver;

struct got {
    bool is_done;
    struct err err;
    str line, env, version, chosen;
    const char *dir;
};

static str join(const char *const *list)
{
    str s = STR_NONE;
    for (; list && *list; list++)
        s = arena_printf(&rig.arena, "%.*s%s%s", STR_ARG(s), s.n > 0 ? " " : "", *list);
    return s;
}

static void on_done(void *ctx, const struct resolved *r, const struct err *err)
{
    struct got *g = ctx;
    assert_false(g->is_done);
    g->is_done = true;
    if (err) {
        g->err = *err;
        return;
    }
    g->line = join(r->argv);
    g->env = join(r->env);
    g->version = arena_str(&rig.arena, r->manifest->version);
    g->dir = arena_cstr(&rig.arena, str_from(r->dir));
    g->chosen =
        r->chosen_paths.len > 0 ? arena_str(&rig.arena, r->chosen_paths.items[0]) : STR_NONE;
}

static struct bundle_entry entry(const char *text)
{
    struct json *v;
    struct bundle_entry b;
    struct err e = {0};
    assert_int_equal(json_parse(&rig.arena, str_from(text), 0, &v, NULL), 0);
    if (bundle_entry_decode(&rig.arena, v, rig.dir.path, &b, &e) < 0)
        fail_msg("%s", e.msg);
    return b;
}

static struct got resolve(const char *text)
{
    struct got g = {0};
    struct bundle_entry b = entry(text);
    bundle_resolve(resolver, &b, "/data", on_done, &g);
    assert_false(g.is_done);
    assert_true(loop_run_until(rig.loop, &g.is_done, RIG_WAIT_MS));
    return g;
}

#define HEAD "{\"manifest_version\":\"0.3\",\"name\":\"m\",\"version\":\"%s\","
#define NODE "\"server\":{\"type\":\"node\",\"entry_point\":\"i.js\"%s}}"

static str manifest(const char *version, const char *more)
{
    return arena_printf(&rig.arena, HEAD NODE, version, more);
}

static void make_folder(const char *name, str text)
{
    const char *dir = rig_path(&rig, name);
    assert_int_equal(file_make_dirs(dir, NULL), 0);
    const char *path = arena_printf(&rig.arena, "%s/manifest.json", dir).p;
    assert_int_equal(file_write_atomic(path, text, 0600, NULL), 0);
}

static str archive(str text)
{
    struct zip_test_entry all[] = {{STR("manifest.json"), text, 0100644, 0, 0, 0}};
    struct buf b;
    buf_init(&b, 1 << 20);
    zip_write(&b, all, 1);
    str bytes = arena_str(&rig.arena, buf_str(&b));
    buf_done(&b);
    return bytes;
}

/* The registry has this version of @s/p from now on. */
static void publish(const char *version, str bytes)
{
    char sum[SHA256_HEX_LEN + 1];
    sha256_hex(bytes, sum);
    const char *target =
        arena_printf(&rig.arena, "/v1/bundles/@s/p/versions/latest/download?os=linux&arch=%s",
                     mpak_arch())
            .p;
    rig_answer(&rig, target, 200,
               arena_printf(&rig.arena,
                            "{\"url\":\"%s/f\",\"bundle\":{\"version\":\"%s\",\"sha256\":\"%s\"}}",
                            rig.url, version, sum));
    rig_answer(&rig, "/f", 200, bytes);
}

static void forget_the_check(void)
{
    str text;
    struct json *v;
    const char *path = rig_path(&rig, "apps/s-p/.mpak-meta.json");
    assert_int_equal(file_read(&rig.arena, path, 4096, &text, NULL), 0);
    assert_int_equal(json_parse(&rig.arena, text, JSON_COPY, &v, NULL), 0);
    json_set(&rig.arena, v, STR("lastCheckedAt"), json_of_str(STR("2020-01-01T00:00:00.000Z")));
    file_write_atomic(path, json_to_str(&rig.arena, v), 0600, NULL);
}

static int setup(void **state)
{
    if (rig_make(&rig) < 0)
        return -1;
    struct resolver_conf conf = {
        .loop = rig.loop,
        .fetcher = rig.fetcher,
        .pool = rig.pool,
        .package_dir = rig_path(&rig, "apps"),
        .credentials_dir = rig_path(&rig, "credentials"),
        .registry_url = rig.url,
    };
    resolver = resolver_new(&conf);
    return 0;
}

static int teardown(void **state)
{
    resolver_free(resolver);
    return rig_drop(&rig);
}

TEST_WITH(a_folder, setup, teardown)
{
    make_folder("b", manifest("1.0", ""));
    struct got g = resolve("{\"path\":\"b\"}");
    assert_int_equal(g.err.code, 0);
    assert_true(str_eq(g.line, arena_printf(&rig.arena, "node %s/b/i.js", rig.dir.path)));
    assert_true(str_eq(g.version, STR("1.0")));
    assert_int_equal(resolve("{\"path\":\"none\"}").err.code, -ENOENT);
    make_folder("bad", STR("{"));
    assert_int_equal(resolve("{\"path\":\"bad\"}").err.code, -EINVAL);
}

TEST_WITH(values_come_from_their_places, setup, teardown)
{
    struct err e = {0};
    struct json v = json_of_str(STR("s3cret"));
    make_folder("b",
                arena_printf(&rig.arena,
                             HEAD "\"server\":{\"type\":\"node\",\"entry_point\":\"i.js\","
                                  "\"mcp_config\":{\"command\":\"node\",\"args\":[\"${DATA_DIR}\","
                                  "\"${user_config.d}\"],\"env\":{\"K\":\"${user_config.k}\"}}},"
                                  "\"user_config\":{\"k\":{\"type\":\"string\",\"sensitive\":true,"
                                  "\"required\":true},\"d\":{\"type\":\"directory\"}}}",
                             "1"));
    struct got g = resolve("{\"path\":\"b\"}");
    assert_int_equal(g.err.code, -ENOKEY);
    assert_non_null(strstr(g.err.msg, "not set: k; set it with: nb config set b KEY=VALUE"));
    assert_int_equal(credentials_set(rig_path(&rig, "credentials"), STR("b"), STR("k"), &v, &e), 0);
    g = resolve("{\"path\":\"b\",\"userConfig\":{\"d\":\"/srv/d\"}}");
    assert_int_equal(g.err.code, 0);
    assert_true(str_eq(g.line, STR("node /data /srv/d")));
    assert_true(str_eq(g.env, STR("K=s3cret")));
    assert_true(str_eq(g.chosen, STR("/srv/d")));
}

TEST_WITH(a_package_is_downloaded_once_and_never_replaced_unasked, setup, teardown)
{
    publish("1.0", archive(manifest("1.0", "")));
    struct got g = resolve("{\"name\":\"@s/p\"}");
    if (g.err.code < 0)
        fail_msg("%s", g.err.msg);
    assert_true(str_eq(g.version, STR("1.0")));
    size_t asked = rig.nrequests;
    assert_int_equal(resolve("{\"name\":\"@s/p\"}").err.code, 0);
    assert_int_equal(rig.nrequests, asked);
    publish("2.0", archive(manifest("2.0", "")));
    forget_the_check(); /* a long time later */
    g = resolve("{\"name\":\"@s/p\"}");
    assert_true(str_eq(g.version, STR("1.0")));
    assert_int_equal(rig.nrequests, asked);
}

TEST_WITH(without_the_registry_the_cache_has_to_do, setup, teardown)
{
    assert_int_equal(resolve("{\"name\":\"@s/p\"}").err.code, -ENOENT);
    publish("1.0", archive(manifest("1.0", "")));
    assert_int_equal(resolve("{\"name\":\"@s/p\"}").err.code, 0);
    forget_the_check();
    rig.nanswers = 0;
    struct got g = resolve("{\"name\":\"@s/p\"}");
    assert_int_equal(g.err.code, 0);
    assert_true(str_eq(g.version, STR("1.0")));
    assert_int_equal(resolve("{\"name\":\"@s/p@3.0\"}").err.code, -ENOENT);
}

TEST_WITH(it_can_be_cancelled_at_any_moment, setup, teardown)
{
    publish("1.0", archive(manifest("1.0", "")));
    struct bundle_entry b = entry("{\"name\":\"@s/p\"}");
    for (uint64_t ms = 0; ms < 8; ms++) {
        struct got g = {0};
        struct resolve *r = bundle_resolve(resolver, &b, "/data", on_done, &g);
        if (!loop_run_until(rig.loop, &g.is_done, ms))
            resolve_cancel(r);
    }
    struct got last = {0};
    bundle_resolve(resolver, &b, "/data", on_done, &last);
    resolver_free(resolver);
    resolver = NULL;
    assert_false(loop_run_until(rig.loop, &last.is_done, 50));
}
