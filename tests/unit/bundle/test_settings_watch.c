#include <stdlib.h>
#include <unistd.h>

#include "bundle/settings/settings.h"
#include "os/file.h"
#include "support/unit.h"

#define LONG_MS  60000
#define SHORT_MS 50

static char dir[64], path[96], reload[96];
static struct loop *loop;
static struct pool *pool;

struct seen {
    int calls;
    bool is_new;
    size_t n;
    int documents;
    int64_t port; /* a setting of the last document */
    char error[ERR_MAX];
    struct settings_watch *free_it;
};

static void on_change(void *ctx, const struct bundle_entry *entries, size_t n,
                      const struct err *err)
{
    struct seen *s = ctx;
    s->calls++;
    s->is_new = true;
    s->n = n;
    snprintf(s->error, sizeof s->error, "%s", err ? err->msg : "");
    settings_watch_free(s->free_it);
}

static void on_document(void *ctx, const struct json *doc)
{
    struct seen *s = ctx;
    s->documents++;
    s->port = json_get_int(doc, "port", 0);
}

static struct settings_watch *watch(struct seen *s)
{
    struct settings_watch_conf conf = {.loop = loop,
                                       .pool = pool,
                                       .path = path,
                                       .reload_path = reload,
                                       .changed = on_change,
                                       .document = on_document,
                                       .ctx = s};
    return settings_watch_new(&conf);
}

static void write_file(const char *text)
{
    assert_int_equal(file_write_atomic(path, str_from(text), 0600, NULL), 0);
}

static void wait_news(struct seen *s)
{
    assert_true(loop_run_until(loop, &s->is_new, LONG_MS));
    s->is_new = false;
}

static int setup(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/nb-watch-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/nimblebrain.json", dir);
    snprintf(reload, sizeof reload, "%s/.reload", dir);
    loop = loop_new(NULL);
    pool = pool_new(loop, "test", 1);
    return 0;
}

static int teardown(void **state)
{
    pool_free(pool);
    loop_free(loop);
    unlink(path);
    unlink(reload);
    rmdir(dir);
    return 0;
}

TEST_WITH(a_change_is_reported_by_itself, setup, teardown)
{
    struct seen s = {0};
    write_file("{}");
    struct settings_watch *w = watch(&s);
    write_file("{\"bundles\":[{\"path\":\"a\"}],\"port\":8}");
    wait_news(&s);
    assert_int_equal(s.n, 1);
    assert_string_equal(s.error, "");
    assert_int_equal(s.port, 8);
    settings_watch_free(w);
}

TEST_WITH(what_did_not_change_is_not_reported, setup, teardown)
{
    struct seen s = {0};
    write_file("{\"bundles\":[{\"path\":\"a\"}]}");
    struct settings_watch *w = watch(&s);
    settings_watch_look(w);
    assert_false(loop_run_until(loop, &s.is_new, SHORT_MS));
    unlink(path);
    settings_watch_look(w);
    wait_news(&s);
    assert_int_equal(s.n, 0);
    assert_int_equal(s.calls, 1);
    assert_int_equal(s.documents, 0);
    settings_watch_free(w);
}

TEST_WITH(a_broken_file_is_an_error_until_it_is_mended, setup, teardown)
{
    struct seen s = {0};
    write_file("{}");
    struct settings_watch *w = watch(&s);
    write_file("{\"bundles\":[");
    settings_watch_look(w);
    wait_news(&s);
    assert_non_null(strstr(s.error, path));
    assert_int_equal(s.documents, 0);
    write_file("{\"bundles\":[{\"path\":\"a\"}]}");
    settings_watch_look(w);
    wait_news(&s);
    assert_string_equal(s.error, "");
    assert_int_equal(s.n, 1);
    settings_watch_free(w);
}

TEST_WITH(a_reload_is_a_change, setup, teardown)
{
    struct seen s = {0};
    write_file("{\"bundles\":[{\"path\":\"a\"}]}");
    struct settings_watch *w = watch(&s);
    assert_int_equal(settings_request_reload(reload, NULL), 0);
    settings_watch_look(w);
    settings_watch_look(w);
    wait_news(&s);
    assert_int_equal(s.n, 1);
    settings_watch_free(w);
}

TEST_WITH(it_may_be_freed_at_any_time, setup, teardown)
{
    struct seen s = {0};
    write_file("{}");
    struct settings_watch *w = watch(&s);
    s.free_it = w;
    write_file("{\"bundles\":[]}");
    settings_watch_look(w);
    wait_news(&s);
    s.free_it = NULL;
    w = watch(&s);
    write_file("{}");
    settings_watch_look(w);
    settings_watch_free(w); /* under way */
    assert_false(loop_run_until(loop, &s.is_new, SHORT_MS));
    settings_watch_free(NULL);
}
