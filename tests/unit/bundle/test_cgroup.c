#include <sys/xattr.h>

#include "bundle/confine/cgroup.h"
#include "sandbox_rig.h"

/* Files stand in for the kernel's: what is written to them can be read back. */
static const struct cgroup_place *place(const char *self)
{
    static struct cgroup_place p;
    p.self = make_file("self", self, 0644);
    p.mount = at("fs");
    return &p;
}

static bool holds(const char *path, const char *text)
{
    char buf[256] = {0};
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    size_t n = fread(buf, 1, sizeof(buf) - 1, f);
    fclose(f);
    return n == strlen(text) && strcmp(buf, text) == 0;
}

static const struct cgroup_limits LIMITS = {1 << 20, 100};

static void make_tree(bool is_delegated)
{
    make_file("fs/system.slice/nb.service/cgroup.controllers", "cpu memory pids\n", 0644);
    make_file("fs/system.slice/nb.service/cgroup.subtree_control", "", 0644);
    make_file("fs/system.slice/nb.service/nb/cgroup.procs", "", 0644);
    if (is_delegated && setxattr(at("fs/system.slice/nb.service"), "user.delegate", "1", 1, 0) < 0)
        skip();
}

TEST_WITH(what_is_not_ours_is_left_alone, rig_open, rig_close)
{
    make_tree(false);
    assert_null(cgroup_make(&rig.arena, place("0::/system.slice/nb.service\n"), STR("x"), &LIMITS));
    assert_true(holds(at("fs/system.slice/nb.service/cgroup.subtree_control"), ""));
    assert_null(
        cgroup_make(&rig.arena, place("5:memory:/x\n1:name=systemd:/\n"), STR("x"), &LIMITS));
    assert_null(cgroup_make(&rig.arena, place(""), STR("x"), &LIMITS));
}

/* The files of a new directory are the kernel's to make; here nobody does, so it fails, and the
 * directory is gone again. */
TEST_WITH(a_delegated_one_is_divided, rig_open, rig_close)
{
    make_tree(true);
    const char *selves[] = {"0::/system.slice/nb.service\n",
                            "1:x:/\n0::/system.slice/nb.service/nb\n"};
    for (size_t i = 0; i < ARRAY_LEN(selves); i++) {
        assert_null(cgroup_make(&rig.arena, place(selves[i]), STR("x"), &LIMITS));
        assert_true(holds(at("fs/system.slice/nb.service/nb/cgroup.procs"), "0"));
        /* Each controller is written alone, and a plain file keeps what was written over. */
        assert_true(holds(at("fs/system.slice/nb.service/cgroup.subtree_control"), "+cpusry"));
    }
}

TEST_WITH(controllers_are_named, rig_open, rig_close)
{
    make_tree(true);
    struct arena *a = &rig.arena;
    str all = cgroup_controllers(a, place("0::/system.slice/nb.service\n"));
    assert_true(str_eq(all, STR("memory pids cpu")));
    assert_int_equal(cgroup_controllers(a, place("0::/elsewhere\n")).n, 0);
}

/* The controller of processes of v1 needs no division, and no limit of memory. */
TEST_WITH(root_limits_processes_with_v1, rig_open, rig_close)
{
    make_file("fs/pids/cgroup.procs", "", 0644);
    const struct cgroup_place *p = place("8:pids:/\n4:memory:/x\n0::/\n");
    if (geteuid() != 0) {
        assert_int_equal(cgroup_controllers(&rig.arena, p).n, 0);
        return;
    }
    assert_true(str_eq(cgroup_controllers(&rig.arena, p), STR("pids")));
    const char *group = cgroup_make_group(&rig.arena, p, STR("bash"));
    assert_non_null(group);
    /* Without a kernel that makes its files, a leaf has no limits and is given up. */
    assert_null(cgroup_make_leaf(&rig.arena, str_from(group), &LIMITS));
    cgroup_remove(group);
    assert_int_equal(access(group, F_OK), -1);
}

TEST_WITH(a_refused_process_is_noticed, rig_open, rig_close)
{
    make_file("g/pids.events", "max 2\n", 0644);
    make_file("h/pids.events", "max 0\n", 0644);
    assert_true(cgroup_was_full(at("g")));
    assert_false(cgroup_was_full(at("h")));
    assert_false(cgroup_was_full(at("nothing")));
}

TEST_WITH(the_kernel_says_when_memory_ran_out, rig_open, rig_close)
{
    make_file("g/memory.events", "low 0\nmax 3\noom 1\noom_kill 2\n", 0644);
    make_file("h/memory.events", "low 0\nmax 3\noom 0\noom_kill 0\n", 0644);
    assert_true(cgroup_ran_out(at("g")));
    assert_false(cgroup_ran_out(at("h")));
    assert_false(cgroup_ran_out(at("nothing")));
}
