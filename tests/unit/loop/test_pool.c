#include <pthread.h>
#include <signal.h>

#include "loop/pool.h"
#include "support/unit.h"

enum { PATIENCE_MS = 60000 };

struct order {
    int started[1000], nstarted; /* written by the only worker */
    int ndone, wanted;           /* loop thread */
    bool done;
    pthread_t loop_thread;
    bool on_loop_thread;
};

struct task {
    struct job job;
    struct order *order;
    int number;
    bool off_loop_thread, signals_blocked;
};

static void work(struct job *j)
{
    struct task *t = CONTAINER_OF(j, struct task, job);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    t->signals_blocked = sigismember(&mask, SIGTERM) && sigismember(&mask, SIGINT);
    t->off_loop_thread = !pthread_equal(pthread_self(), t->order->loop_thread);
    t->order->started[t->order->nstarted++] = t->number;
}

static void done(struct job *j)
{
    struct task *t = CONTAINER_OF(j, struct task, job);
    struct order *o = t->order;
    o->on_loop_thread &= (bool)pthread_equal(pthread_self(), o->loop_thread);
    o->done = ++o->ndone == o->wanted;
}

static void task_init(struct task *t, struct order *o, int number)
{
    *t = (struct task){.job = {.work = work, .done = done}, .order = o, .number = number};
}

TEST(jobs_run_elsewhere_and_in_order)
{
    struct loop *l = loop_new(NULL);
    struct pool *p = pool_new(l, "test", 1);
    struct order o = {.wanted = 1000, .loop_thread = pthread_self(), .on_loop_thread = true};
    struct task *t = xcalloc(1000, sizeof(*t));
    for (int i = 0; i < 1000; i++) {
        task_init(&t[i], &o, i);
        pool_submit(p, &t[i].job);
    }
    assert_int_equal(o.ndone, 0); /* not from inside pool_submit */
    assert_true(loop_run_until(l, &o.done, PATIENCE_MS));
    assert_int_equal(o.ndone, 1000);
    assert_true(o.on_loop_thread);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(o.started[i], i);
        assert_true(t[i].off_loop_thread);
        assert_true(t[i].signals_blocked);
    }
    pool_free(p);
    loop_free(l);
    free(t);
}

TEST(free_delivers_what_was_submitted)
{
    struct loop *l = loop_new(NULL);
    struct pool *p = pool_new(l, "test", 1);
    struct order o = {.wanted = 50, .loop_thread = pthread_self(), .on_loop_thread = true};
    struct task t[50];
    for (int i = 0; i < 50; i++) {
        task_init(&t[i], &o, i);
        pool_submit(p, &t[i].job);
    }
    pool_free(p);
    assert_true(o.done);
    assert_true(o.on_loop_thread);
    loop_free(l);
}

TEST(an_unused_pool)
{
    struct loop *l = loop_new(NULL);
    pool_free(pool_new(l, "a name that is longer than threads may have", 4));
    pool_free(NULL);
    loop_free(l);
}

struct meeting {
    pthread_barrier_t barrier;
    int ndone;
    bool all_done;
};

struct guest {
    struct job job;
    struct meeting *meeting;
};

static void meet(struct job *j)
{
    pthread_barrier_wait(&CONTAINER_OF(j, struct guest, job)->meeting->barrier);
}

static void leave(struct job *j)
{
    struct meeting *m = CONTAINER_OF(j, struct guest, job)->meeting;
    m->all_done = ++m->ndone == 3;
}

/* Three jobs that wait for each other need three threads at once. */
TEST(threads_grow_to_the_maximum)
{
    struct loop *l = loop_new(NULL);
    struct pool *p = pool_new(l, "test", 3);
    struct meeting m = {0};
    struct guest g[3];
    pthread_barrier_init(&m.barrier, NULL, 3);
    for (int i = 0; i < 3; i++) {
        g[i] = (struct guest){.job = {.work = meet, .done = leave}, .meeting = &m};
        pool_submit(p, &g[i].job);
    }
    assert_true(loop_run_until(l, &m.all_done, PATIENCE_MS));
    pool_free(p);
    pthread_barrier_destroy(&m.barrier);
    loop_free(l);
}

struct relay {
    struct job job;
    int left;
    bool finished;
};

static void run(struct job *j)
{
    CONTAINER_OF(j, struct relay, job)->left--;
}

static void hand_over(struct job *j)
{
    struct relay *r = CONTAINER_OF(j, struct relay, job);
    if (r->left > 0)
        pool_submit(j->pool, j);
    else
        r->finished = true;
}

TEST(done_may_submit_the_same_job_again)
{
    struct loop *l = loop_new(NULL);
    struct pool *p = pool_new(l, "test", 2);
    struct relay r = {.job = {.work = run, .done = hand_over}, .left = 200};
    pool_submit(p, &r.job);
    assert_true(loop_run_until(l, &r.finished, PATIENCE_MS));

    r.left = 200; /* and the same while the pool is being freed */
    r.finished = false;
    pool_submit(p, &r.job);
    pool_free(p);
    assert_true(r.finished);
    loop_free(l);
}

static void nothing(struct job *j)
{
    (void)j;
}

static void free_job(struct job *j)
{
    free(j);
}

struct ending {
    struct job job;
    bool is_over;
};

static void free_pool(struct job *j)
{
    pool_free(j->pool);
    CONTAINER_OF(j, struct ending, job)->is_over = true;
}

/* The first of several finished jobs ends the pool; the others must still be delivered. */
TEST(done_may_free_the_pool)
{
    for (int round = 0; round < 20; round++) {
        struct loop *l = loop_new(NULL);
        struct pool *p = pool_new(l, "test", 2);
        struct ending first = {.job = {.work = nothing, .done = free_pool}};
        pool_submit(p, &first.job);
        for (int i = 1; i < 10; i++) {
            struct job *j = xcalloc(1, sizeof(*j));
            j->work = nothing;
            j->done = free_job;
            pool_submit(p, j);
        }
        assert_true(loop_run_until(l, &first.is_over, PATIENCE_MS));
        loop_free(l); /* would abort if the pool were still there */
    }
}

TEST(two_pools_and_many_jobs)
{
    struct loop *l = loop_new(NULL);
    struct pool *pools[2] = {pool_new(l, "a", 3), pool_new(l, "b", 2)};
    struct relay r[40];
    for (int i = 0; i < 40; i++) {
        r[i] = (struct relay){.job = {.work = run, .done = hand_over}, .left = 25};
        pool_submit(pools[i % 2], &r[i].job);
    }
    for (int i = 0; i < 40; i++)
        assert_true(loop_run_until(l, &r[i].finished, PATIENCE_MS));
    pool_free(pools[0]);
    pool_free(pools[1]);
    loop_free(l);
}
