#include "loop/pool.h"

#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "loop/internal.h"

/* `work` has a token for each job in the queue; a worker sleeps on it without the lock. (After a
 * condition variable the lock counts as contended, and releasing it is a system call.) Finished
 * jobs gather on `finished`, and one write to `wake` brings them all to the loop thread, which
 * moves them to `ready` first: that list is its own, so a `done` that frees the pool finds what
 * is left of it. The handles of libuv for wake-ups are not used: the loop thread would wait,
 * spinning, for a sender that has woken it but has not returned from its write yet. */

enum { STACK_BYTES = 256 * 1024, NAME_MAX_BYTES = 16, GIVE_WAY_NICE = 10 };

struct pool {
    struct loop *loop;
    struct list_node node; /* in loop->pools */
    char name[NAME_MAX_BYTES];
    int wake;        /* an eventfd */
    uv_poll_t waker; /* watches it */

    size_t pending;         /* loop thread only */
    struct list_node ready; /* loop thread only */
    pthread_t *threads;     /* loop thread only */
    unsigned nthreads, max_threads;
    bool gives_way; /* set before the first thread starts */

    pthread_mutex_t lock; /* for what follows */
    sem_t work;
    pthread_cond_t finish;
    struct list_node queue, finished;
    size_t queued, idle;
    bool is_awaited; /* pool_free sleeps on `finish`; `wake` is not used */
};

const char *pool_name(const struct list_node *node)
{
    return LIST_ENTRY(node, struct pool, node)->name;
}

/* Waits for a job; NULL when the pool ends. Called with the lock held. */
static struct job *next_job(struct pool *p)
{
    p->idle++;
    pthread_mutex_unlock(&p->lock);
    while (sem_wait(&p->work) < 0)
        assert(errno == EINTR);
    pthread_mutex_lock(&p->lock);
    p->idle--;
    struct list_node *node = list_pop(&p->queue);
    if (!node)
        return NULL;
    p->queued--;
    return LIST_ENTRY(node, struct job, node);
}

/* Cannot fail: the sum of what was written stays far below the limit of an eventfd. */
static void wake_loop(struct pool *p)
{
    uint64_t one = 1;
    ssize_t n;
    do
        n = write(p->wake, &one, sizeof(one));
    while (n < 0 && errno == EINTR);
    assert(n == sizeof(one));
}

static void *run_worker(void *arg)
{
    struct pool *p = arg;
    struct job *j;
    if (p->gives_way) /* on Linux this changes one thread; failure is harmless */
        (void)setpriority(PRIO_PROCESS, (id_t)gettid(), GIVE_WAY_NICE);
    pthread_mutex_lock(&p->lock);
    while ((j = next_job(p))) {
        pthread_mutex_unlock(&p->lock);
        j->work(j);
        pthread_mutex_lock(&p->lock);
        bool is_first = list_empty(&p->finished); /* the others come with it */
        bool is_awaited = p->is_awaited;
        list_push(&p->finished, &j->node);
        pthread_mutex_unlock(&p->lock);
        /* Without the lock, which the loop thread takes as soon as it is awake. The descriptor
         * is there: it is closed only after this thread has ended. */
        if (is_awaited)
            pthread_cond_signal(&p->finish);
        else if (is_first)
            wake_loop(p);
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Calls `done` for the jobs that were finished when it was called, and no more, so that jobs
 * that submit their successor do not keep the loop. */
static void pool_deliver(struct pool *p)
{
    struct loop *l = p->loop; /* a job may free p */
    struct list_node *node;
    pthread_mutex_lock(&p->lock);
    while ((node = list_pop(&p->finished)))
        list_push(&p->ready, node);
    pthread_mutex_unlock(&p->lock);
    while ((node = list_pop(&p->ready))) {
        struct job *j = LIST_ENTRY(node, struct job, node);
        p->pending--;
        l->job_us = clock_mono_us();
        j->done(j);
        l->job_us = 0;
    }
}

static void on_wake(uv_poll_t *h, int status, int events)
{
    struct pool *p = h->data;
    uint64_t sum;
    (void)status, (void)events;
    (void)!read(p->wake, &sum, sizeof(sum)); /* before the jobs are taken: none is missed */
    pool_deliver(p);
}

/* Jobs that nobody would deliver are worse than no server. */
static void pool_must(bool is_done, const char *what)
{
    if (is_done)
        return;
    fprintf(stderr, "nb: cannot create %s for a pool\n", what);
    abort();
}

struct pool *pool_new(struct loop *l, const char *name, unsigned max_threads)
{
    assert(max_threads > 0);
    struct pool *p = xcalloc(1, sizeof(*p));
    p->loop = l;
    p->max_threads = max_threads;
    p->threads = xcalloc(max_threads, sizeof(*p->threads));
    (void)snprintf(p->name, sizeof(p->name), "%s", name);
    list_init(&p->ready);
    list_init(&p->queue);
    list_init(&p->finished);
    pthread_mutex_init(&p->lock, NULL);
    sem_init(&p->work, 0, 0);
    pthread_cond_init(&p->finish, NULL);
    p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pool_must(p->wake >= 0, "an eventfd");
    pool_must(uv_poll_init(&l->uv, &p->waker, p->wake) == 0 &&
                  uv_poll_start(&p->waker, UV_READABLE, on_wake) == 0,
              "a wake-up handle");
    p->waker.data = p;
    list_push(&l->pools, &p->node);
    return p;
}

/* Signals stay with the main thread: a worker inherits a mask that blocks them all. */
static int start_thread(struct pool *p)
{
    sigset_t all, before;
    pthread_attr_t attr;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t *t = &p->threads[p->nthreads];
    int r = pthread_create(t, &attr, run_worker, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (r != 0)
        return -r;
    p->nthreads++;
    (void)pthread_setname_np(*t, p->name);
    return 0;
}

void pool_submit(struct pool *p, struct job *j)
{
    assert(loop_is_mine(p->loop));
    assert(j->work && j->done);
    j->pool = p;
    p->pending++;
    pthread_mutex_lock(&p->lock);
    list_push(&p->queue, &j->node);
    p->queued++;
    bool short_handed = p->queued > p->idle && p->nthreads < p->max_threads;
    pthread_mutex_unlock(&p->lock);
    sem_post(&p->work);
    /* Fewer threads than wanted are only slower; without any thread jobs would never run. */
    if (short_handed && start_thread(p) < 0 && p->nthreads == 0) {
        fputs("nb: cannot start a thread\n", stderr);
        abort();
    }
}

void pool_run(struct pool *p, struct job *j, void (*work)(struct job *j),
              void (*done)(struct job *j))
{
    *j = (struct job){.work = work, .done = done};
    pool_submit(p, j);
}

void pool_give_way(struct pool *p)
{
    assert(p->nthreads == 0);
    p->gives_way = true;
}

static void wait_for_finished(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->is_awaited = true;
    while (list_empty(&p->finished))
        pthread_cond_wait(&p->finish, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

static void end_threads(struct pool *p)
{
    for (unsigned i = 0; i < p->nthreads; i++) /* a token without a job */
        sem_post(&p->work);
    for (unsigned i = 0; i < p->nthreads; i++)
        pthread_join(p->threads[i], NULL);
}

static void on_pool_closed(uv_handle_t *h)
{
    struct pool *p = h->data;
    close(p->wake);
    sem_destroy(&p->work);
    pthread_cond_destroy(&p->finish);
    pthread_mutex_destroy(&p->lock);
    free(p->threads);
    free(p);
}

void pool_free(struct pool *p)
{
    if (!p)
        return;
    assert(loop_is_mine(p->loop));
    while (p->pending > 0) {
        if (list_empty(&p->ready))
            wait_for_finished(p);
        pool_deliver(p);
    }
    end_threads(p);
    list_del(&p->node);
    uv_close((uv_handle_t *)&p->waker, on_pool_closed);
}
