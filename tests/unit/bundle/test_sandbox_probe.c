#include "base/clock.h"
#include "bundle/confine/confine.h"
#include "sandbox_rig.h"

static const struct sandbox_offer *look(const char *path)
{
    static struct sandbox_offer offer;
    setenv("PATH", path, 1);
    sandbox_look(&offer);
    return &offer;
}

static enum sandbox_kind without_bwrap(void)
{
    return confine_landlock_abi() > 0 && confine_has_seccomp() ? SANDBOX_LANDLOCK : SANDBOX_NONE;
}

TEST_WITH(one_that_is_not_there, rig_open, rig_close)
{
    const struct sandbox_offer *o = look(at("empty"));
    assert_int_equal(o->kind, without_bwrap());
    assert_non_null(strstr(o->why_not, "not installed"));
}

/* It is tried: that it is there says nothing where namespaces are forbidden. */
TEST_WITH(one_that_does_not_work, rig_open, rig_close)
{
    make_file("bin/bwrap", "#!/bin/sh\necho 'bwrap: No permissions' >&2\nexit 1\n", 0755);
    const struct sandbox_offer *o = look(at("bin"));
    assert_int_equal(o->kind, without_bwrap());
    assert_non_null(strstr(o->why_not, "does not work here: bwrap: No permissions"));
}

TEST_WITH(one_that_says_nothing, rig_open, rig_close)
{
    make_file("bin/bwrap", "#!/bin/sh\nexit 1\n", 0755);
    assert_non_null(strstr(look(at("bin"))->why_not, "without an error message"));
}

TEST_WITH(one_that_works, rig_open, rig_close)
{
    make_file("bin/bwrap", "#!/bin/sh\nexit 0\n", 0755);
    const struct sandbox_offer *o = look(at("bin"));
    assert_int_equal(o->kind, SANDBOX_BUBBLEWRAP);
    assert_string_equal(o->bwrap, at("bin/bwrap"));
    assert_true(o->no_userns);
}

TEST_WITH(an_older_one_works_as_well, rig_open, rig_close)
{
    make_file(
        "bin/bwrap",
        "#!/bin/sh\ncase \"$*\" in *--disable-userns*) echo Unknown option >&2; exit 1;; esac\n",
        0755);
    const struct sandbox_offer *o = look(at("bin"));
    assert_int_equal(o->kind, SANDBOX_BUBBLEWRAP);
    assert_false(o->no_userns);
}

TEST_WITH(one_that_hangs_is_waited_for_not_longer_than_some_seconds, rig_open, rig_close)
{
    uint64_t began = clock_mono_ms();
    make_file("bin/bwrap", "#!/bin/sh\nexec /bin/sleep 100\n", 0755);
    assert_int_equal(look(at("bin"))->kind, without_bwrap());
    assert_in_range(clock_mono_ms() - began, 1000, 90000);
}

/* ---- asked once ---- */

static int answers;

static void on_offer(void *ctx, const struct sandbox_offer *offer)
{
    answers++;
    *(bool *)ctx = true;
}

TEST_WITH(many_ask_one_looks, rig_open, rig_close)
{
    struct loop *l = loop_new(NULL);
    struct pool *pool = pool_new(l, "test", 1);
    struct sandbox_probe *p = sandbox_probe_new(pool);
    bool done[4] = {0};
    struct sandbox_waiter w[4];
    make_file("bin/bwrap", "#!/bin/sh\necho x >>\"$0.log\"\n", 0755);
    setenv("PATH", at("bin"), 1);
    answers = 0;
    for (int i = 0; i < 3; i++) {
        w[i] = (struct sandbox_waiter){.fn = on_offer, .ctx = &done[i]};
        sandbox_probe_ask(p, &w[i]);
    }
    assert_false(sandbox_probe_idle(p));
    sandbox_probe_forget(&w[1]);
    assert_true(loop_run_until(l, &done[2], 60000));
    assert_int_equal(answers, 2);
    w[3] = (struct sandbox_waiter){.fn = on_offer, .ctx = &done[3]};
    sandbox_probe_ask(p, &w[3]);
    assert_true(done[3] && !done[1] && sandbox_probe_idle(p));
    struct stat st;
    assert_int_equal(stat(at("bin/bwrap.log"), &st), 0);
    assert_int_equal(st.st_size, 4); /* run once for itself, and once in a network of its own */
    sandbox_probe_free(p);
    pool_free(pool);
    loop_free(l);
}
