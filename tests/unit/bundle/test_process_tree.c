#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bundle/confine/process_tree.h"
#include "support/unit.h"

struct seen {
    int pids[16];
    unsigned depths[16];
    size_t n;
};

static void see(void *ctx, const struct process *p, unsigned depth)
{
    struct seen *s = ctx;
    if (s->n == ARRAY_LEN(s->pids))
        return;
    s->pids[s->n] = p->pid;
    s->depths[s->n++] = depth;
}

TEST(walks_from_the_nearest_to_the_farthest)
{
    struct process at[] = {{.pid = 2, .parent = 1}, {.pid = 7, .parent = 1},
                           {.pid = 3, .parent = 2}, {.pid = 4, .parent = 2},
                           {.pid = 5, .parent = 4}, {.pid = 9, .parent = 8}};
    struct process_table t = {at, ARRAY_LEN(at)};
    struct seen s = {0};
    process_tree_walk(&t, 1, see, &s);
    const int expected[] = {2, 7, 3, 4, 5};
    const unsigned depths[] = {1, 1, 2, 2, 3};
    assert_int_equal(s.n, ARRAY_LEN(expected));
    assert_memory_equal(s.pids, expected, sizeof(expected));
    assert_memory_equal(s.depths, depths, sizeof(depths));
}

/* What it sees may change while it looks: ids are used again. */
TEST(a_circle_ends)
{
    struct process at[] = {
        {.pid = 4, .parent = 1}, {.pid = 3, .parent = 2}, {.pid = 2, .parent = 3}};
    struct process_table t = {at, ARRAY_LEN(at)};
    struct seen s = {0};
    process_tree_walk(&t, 2, see, &s);
    assert_int_equal(s.n, 1);
}

TEST(real_processes_are_found)
{
    pid_t child = fork();
    if (child == 0) {
        for (;;)
            pause();
    }
    struct process_table t;
    struct seen s = {0};
    assert_int_equal(process_table_read(&t), 0);
    process_tree_walk(&t, getpid(), see, &s);
    bool is_found = false;
    for (size_t i = 0; i < t.n; i++)
        is_found = is_found || (t.at[i].pid == getpid() && t.at[i].rss_bytes > 100000);
    process_table_done(&t);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_true(is_found);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.pids[0], child);
}

/* A whole family, of which the first process has left its session. */
TEST(a_family_is_killed_but_not_its_head)
{
    int status;
    pid_t head = fork();
    if (head == 0) {
        if (fork() == 0) {
            setsid();
            (void)fork();
            for (;;)
                pause();
        }
        (void)wait(&status);
        _exit(WIFSIGNALED(status) ? WTERMSIG(status) : 99);
    }
    for (struct seen s = {0}; s.n < 3;) {
        struct process_table t;
        s.n = 0;
        assert_int_equal(process_table_read(&t), 0);
        process_tree_walk(&t, getpid(), see, &s);
        if (s.n == 3)
            process_tree_kill(&t, head, 1);
        process_table_done(&t);
    }
    assert_int_equal(waitpid(head, &status, 0), head);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == SIGKILL);
}
