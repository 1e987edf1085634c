#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "os/file.h"
#include "skill/watch.h"
#include "support/unit.h"

#define LONG_MS 60000

struct world {
    char root[64], one[80], two[80];
    struct loop *loop;
    struct pool *pool;
    struct skill_watch *watch;
    struct skills *set; /* as it was last told */
    int changes;
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

static void put(const char *dir, const char *name, const char *body)
{
    char path[160], text[300];
    (void)snprintf(path, sizeof(path), "%s/%s.md", dir, name);
    (void)snprintf(text, sizeof(text), "---\nname: %s\ntype: skill\npriority: 20\n---\n%s\n", name,
                   body);
    assert_int_equal(file_write_atomic(path, str_from(text), 0600, NULL), 0);
}

static void on_change(void *ctx, struct skills *fresh)
{
    struct world *w = ctx;
    skills_unref(w->set);
    w->set = fresh;
    w->changes++;
}

static struct skill_places places(const char *dir)
{
    static str list[1]; /* borrowed by the watch */
    list[0] = str_from(dir);
    return (struct skill_places){.skill_dirs = {list, 1}};
}

static int set_up(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    (void)snprintf(w->root, sizeof(w->root), "/tmp/nb-skill-watch-XXXXXX");
    assert_non_null(mkdtemp(w->root));
    (void)snprintf(w->one, sizeof(w->one), "%s/one", w->root);
    (void)snprintf(w->two, sizeof(w->two), "%s/two", w->root);
    assert_int_equal(mkdir(w->one, 0700), 0);
    assert_int_equal(mkdir(w->two, 0700), 0);
    put(w->one, "here", "One.");
    put(w->two, "there", "Two.");
    w->loop = loop_new(NULL);
    w->pool = pool_new(w->loop, "test", 1);
    struct skill_places p = places(w->one);
    w->watch = skill_watch_new(w->loop, w->pool, &p, on_change, w);
    w->set = skill_watch_load(w->watch);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    skill_watch_free(w->watch);
    skills_unref(w->set);
    pool_free(w->pool);
    loop_free(w->loop);
    assert_int_equal(nftw(w->root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    free(w);
    return 0;
}

static void set_true(void *flag)
{
    *(bool *)flag = true;
}

static void check(struct world *w, bool is_forced)
{
    struct skill_check c;
    bool is_over = false;
    skill_watch_check(w->watch, &c, is_forced, set_true, &is_over);
    assert_false(is_over);
    assert_true(loop_run_until(w->loop, &is_over, LONG_MS));
}

static bool has(const struct world *w, const char *name)
{
    return skills_find(w->set, str_from(name)) != NULL;
}

TEST_WITH(looks_when_asked, set_up, tear_down)
{
    struct world *w = *state;
    check(w, true);
    assert_int_equal(w->changes, 0);
    put(w->one, "fresh", "New.");
    check(w, true);
    assert_int_equal(w->changes, 1);
    assert_true(has(w, "here") && has(w, "fresh"));
}

TEST_WITH(other_places, set_up, tear_down)
{
    struct world *w = *state;
    struct skill_places p = places(w->two);
    skill_watch_use(w->watch, &p);
    check(w, false); /* however recent the last look was */
    assert_int_equal(w->changes, 1);
    assert_true(has(w, "there") && !has(w, "here"));
}

/* A look at the places before is under way: who waits for it gets what is in the new ones. */
TEST_WITH(other_places_during_a_look, set_up, tear_down)
{
    struct world *w = *state;
    struct skill_check c;
    bool is_over = false;
    skill_watch_check(w->watch, &c, true, set_true, &is_over);
    struct skill_places p = places(w->two);
    skill_watch_use(w->watch, &p);
    skill_watch_use(w->watch, &p);
    assert_true(loop_run_until(w->loop, &is_over, LONG_MS));
    assert_true(has(w, "there") && !has(w, "here"));
}
