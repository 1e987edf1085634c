#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "loop/loop.h"
#include "loop/pool.h"
#include "loop/timer.h"
#include "support/unit.h"

enum { PATIENCE_MS = 60000 };

struct counter {
    struct loop *loop;
    int calls, wanted;
    bool done;
    struct deferred defer;
};

static void count(void *ctx)
{
    struct counter *c = ctx;
    c->done = ++c->calls == c->wanted;
}

TEST(stop_before_run)
{
    struct loop *l = loop_new(NULL);
    loop_stop(l);
    loop_run(l);
    loop_stop(l);
    loop_run(l);
    loop_free(l);
}

static void stop_it(void *ctx)
{
    loop_stop(ctx);
}

static void *post_stop(void *arg)
{
    loop_post(arg, stop_it, arg);
    return NULL;
}

TEST(run_waits_for_a_stop_from_elsewhere)
{
    struct loop *l = loop_new(NULL);
    pthread_t t;
    pthread_create(&t, NULL, post_stop, l);
    loop_run(l);
    pthread_join(t, NULL);
    loop_free(l);
}

TEST(run_until_gives_up)
{
    struct loop *l = loop_new(NULL);
    bool never = false;
    assert_false(loop_run_until(l, &never, 5));
    assert_false(loop_run_until(l, &never, 0));
    bool already = true;
    assert_true(loop_run_until(l, &already, 0));
    loop_free(l);
}

enum { POSTERS = 4, POSTS = 2000 };

struct poster {
    struct loop *loop;
    pthread_t thread;
    struct counter *all;
    int next;
    bool in_order;
    struct numbered {
        struct poster *from;
        int number;
    } posts[POSTS];
};

static void on_numbered(void *ctx)
{
    struct numbered *n = ctx;
    n->from->in_order &= n->from->next++ == n->number;
    count(n->from->all);
}

static void *post_many(void *arg)
{
    struct poster *p = arg;
    for (int i = 0; i < POSTS; i++) {
        p->posts[i] = (struct numbered){p, i};
        loop_post(p->loop, on_numbered, &p->posts[i]);
    }
    return NULL;
}

/* Wake-ups coalesce: whoever counts them instead of draining the queue loses posts here. */
TEST(posts_from_many_threads_arrive_in_order)
{
    struct loop *l = loop_new(NULL);
    struct counter all = {.wanted = POSTERS * POSTS};
    struct poster *p = xcalloc(POSTERS, sizeof(*p));
    for (int i = 0; i < POSTERS; i++) {
        p[i].loop = l;
        p[i].all = &all;
        p[i].in_order = true;
        pthread_create(&p[i].thread, NULL, post_many, &p[i]);
    }
    assert_true(loop_run_until(l, &all.done, PATIENCE_MS));
    for (int i = 0; i < POSTERS; i++) {
        pthread_join(p[i].thread, NULL);
        assert_true(p[i].in_order);
    }
    free(p);
    loop_free(l);
}

TEST(free_delivers_posts_on_the_way)
{
    struct loop *l = loop_new(NULL);
    struct counter c = {.wanted = 1};
    loop_post(l, count, &c);
    loop_free(l);
    assert_int_equal(c.calls, 1);
}

TEST(defer_runs_once_and_may_be_stopped)
{
    struct loop *l = loop_new(NULL);
    struct counter a = {.wanted = 1}, b = {.wanted = 1};
    defer_init(&a.defer, count, &a);
    defer_init(&b.defer, count, &b);
    defer_stop(&a.defer);
    defer_start(l, &a.defer);
    defer_start(l, &a.defer);
    defer_start(l, &b.defer);
    defer_stop(&b.defer);
    assert_int_equal(a.calls, 0); /* not from inside defer_start */
    assert_true(loop_run_until(l, &a.done, PATIENCE_MS));
    bool never = false;
    assert_false(loop_run_until(l, &never, 5));
    assert_int_equal(a.calls, 1);
    assert_int_equal(b.calls, 0);
    loop_free(l);
}

static void stop_the_other(void *ctx)
{
    struct counter *other = ctx;
    defer_stop(&other->defer);
}

TEST(a_deferred_call_may_stop_the_next)
{
    struct loop *l = loop_new(NULL);
    struct counter other = {.wanted = 1}, last = {.wanted = 1};
    struct deferred first;
    defer_init(&first, stop_the_other, &other);
    defer_init(&other.defer, count, &other);
    defer_init(&last.defer, count, &last);
    defer_start(l, &first);
    defer_start(l, &other.defer);
    defer_start(l, &last.defer);
    assert_true(loop_run_until(l, &last.done, PATIENCE_MS));
    assert_int_equal(other.calls, 0);
    loop_free(l);
}

static void free_itself(void *ctx)
{
    struct counter **slot = ctx;
    free(*slot);
    *slot = NULL;
}

TEST(a_deferred_call_may_free_its_own_struct)
{
    struct loop *l = loop_new(NULL);
    struct counter *c = xcalloc(1, sizeof(*c)), end = {.wanted = 1};
    defer_init(&c->defer, free_itself, &c);
    defer_init(&end.defer, count, &end);
    defer_start(l, &c->defer);
    defer_start(l, &end.defer);
    assert_true(loop_run_until(l, &end.done, PATIENCE_MS));
    assert_null(c);
    loop_free(l);
}

static void count_and_defer(void *ctx)
{
    struct counter *c = ctx;
    c->calls++;
    if (!c->done)
        defer_start(c->loop, &c->defer);
}

static void set_true(void *ctx)
{
    *(bool *)ctx = true;
}

/* The alarm of the timer is armed by the first run and due before the second one begins: libuv
 * calls it first and would sleep afterwards, until the limit of ten seconds. */
TEST(run_until_does_not_sleep_after_the_timer_that_it_waited_for)
{
    struct loop *l = loop_new(NULL);
    struct timer t;
    bool never = false, came = false;
    timer_init(&t, l, set_true, &came);
    timer_start(&t, 5);
    (void)loop_run_until(l, &never, 0);
    usleep(10000);
    uint64_t start = clock_mono_ms();
    assert_true(loop_run_until(l, &came, PATIENCE_MS));
    assert_true(clock_mono_ms() - start < PATIENCE_MS / 2);
    loop_free(l);
}

/* A call that defers itself for ever must let timers, posts and I/O through. */
TEST(endless_deferring_starves_nobody)
{
    struct loop *l = loop_new(NULL);
    struct counter c = {.loop = l};
    bool timer_came = false, post_came = false;
    struct timer t;
    defer_init(&c.defer, count_and_defer, &c);
    timer_init(&t, l, set_true, &timer_came);
    defer_start(l, &c.defer);
    timer_start(&t, 3);
    loop_post(l, set_true, &post_came);
    assert_true(loop_run_until(l, &timer_came, PATIENCE_MS));
    assert_true(post_came);
    assert_true(c.calls > 1);
    c.done = true;
    loop_free(l);
}

struct chain {
    struct loop *loop;
    struct deferred second;
    struct timer timer;
    bool done;
};

static void start_second(void *ctx)
{
    struct chain *c = ctx;
    defer_start(c->loop, &c->second);
}

/* Deferred from each kind of callback, the call comes although nothing else wakes the loop. */
TEST(the_loop_does_not_sleep_over_deferred_calls)
{
    struct loop *l = loop_new(NULL);
    struct chain c = {.loop = l};
    struct deferred first;
    defer_init(&c.second, set_true, &c.done);

    defer_init(&first, start_second, &c);
    defer_start(l, &first);
    assert_true(loop_run_until(l, &c.done, PATIENCE_MS));

    c.done = false;
    timer_init(&c.timer, l, start_second, &c);
    timer_start(&c.timer, 1);
    assert_true(loop_run_until(l, &c.done, PATIENCE_MS));

    c.done = false;
    loop_post(l, start_second, &c);
    assert_true(loop_run_until(l, &c.done, PATIENCE_MS));
    loop_free(l);
}

static void free_handle(uv_handle_t *h)
{
    free(h);
}

TEST(free_runs_close_callbacks)
{
    struct loop *l = loop_new(NULL);
    uv_timer_t *h = xcalloc(1, sizeof(*h));
    uv_timer_init(loop_uv(l), h);
    uv_close((uv_handle_t *)h, free_handle); /* a leak unless the callback comes */
    loop_free(l);
    loop_free(NULL);
}

/* Runs fn in a child whose stderr is a pipe; it must abort and have said `words`. */
static void check_aborts(void (*fn)(void), const char *words)
{
    int fds[2];
    char said[1000] = {0};
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[1], STDERR_FILENO);
        close(fds[0]);
        close(fds[1]);
        signal(SIGABRT, SIG_DFL);
        fn();
        _exit(0);
    }
    close(fds[1]);
    for (ssize_t n, at = 0; (n = read(fds[0], said + at, sizeof(said) - 1 - (size_t)at)) > 0;)
        at += n;
    close(fds[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    assert_non_null(strstr(said, words));
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void free_with_a_timer(void)
{
    struct loop *l = loop_new(NULL);
    struct timer t;
    timer_init(&t, l, set_true, NULL);
    timer_start(&t, 1000);
    loop_free(l);
}

static void free_with_a_handle(void)
{
    struct loop *l = loop_new(NULL);
    uv_pipe_t h;
    uv_pipe_init(loop_uv(l), &h, 0);
    loop_free(l);
}

static void free_with_a_pool(void)
{
    struct loop *l = loop_new(NULL);
    (void)pool_new(l, "hashing", 1);
    loop_free(l);
}

TEST(free_names_what_is_pending)
{
    check_aborts(free_with_a_timer, "1 timers are still running");
    check_aborts(free_with_a_handle, "a pipe handle is still open");
    check_aborts(free_with_a_pool, "the pool \"hashing\" was not freed");
}
