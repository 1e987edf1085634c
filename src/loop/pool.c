#include "loop/pool.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "loop/internal.h"

/* A worker that finds the queue empty sleeps on `work`. Finished jobs gather on `finished`
 * and one wake-up brings them all to the loop thread, which moves them to `ready` first:
 * that list is its own, so a `done` that frees the pool finds what is left of it. */

enum { STACK_BYTES = 256 * 1024, NAME_MAX_BYTES = 16, GIVE_WAY_NICE = 10 };

struct pool {
    struct loop *loop;
    struct list_node node; /* in loop->pools */
    char name[NAME_MAX_BYTES];
    uv_async_t wake;

    size_t pending;         /* loop thread only */
    struct list_node ready; /* loop thread only */
    pthread_t *threads;     /* loop thread only */
    unsigned nthreads, max_threads;
    bool gives_way; /* set before the first thread starts */

    pthread_mutex_t lock; /* for what follows */
    pthread_cond_t work, finish;
    struct list_node queue, finished;
    size_t queued, idle;
    bool is_awaited; /* pool_free sleeps on `finish`; `wake` is not used */
    bool quit;
};

const char *pool_name(const struct list_node *node)
{
    return LIST_ENTRY(node, struct pool, node)->name;
}

/* Waits for a job; NULL when the pool ends. Called with the lock held. */
static struct job *next_job(struct pool *p)
{
    p->idle++;
    while (p->queued == 0 && !p->quit)
        pthread_cond_wait(&p->work, &p->lock);
    p->idle--;
    struct list_node *node = list_pop(&p->queue);
    if (!node)
        return NULL;
    p->queued--;
    return LIST_ENTRY(node, struct job, node);
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
        list_push(&p->finished, &j->node);
        bool is_awaited = p->is_awaited;
        pthread_mutex_unlock(&p->lock);
        /* Without the lock, which the loop thread takes as soon as it is awake. The handle
         * is there: it is closed only after this thread has ended. */
        if (is_awaited)
            pthread_cond_signal(&p->finish);
        else
            uv_async_send(&p->wake);
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

static void on_wake(uv_async_t *h)
{
    pool_deliver(h->data);
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
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->finish, NULL);
    if (uv_async_init(&l->uv, &p->wake, on_wake) != 0) {
        fputs("nb: cannot create a wake-up handle for a pool\n", stderr);
        abort();
    }
    p->wake.data = p;
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
    pthread_cond_signal(&p->work);
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
    pthread_mutex_lock(&p->lock);
    p->quit = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->nthreads; i++)
        pthread_join(p->threads[i], NULL);
}

static void on_pool_closed(uv_handle_t *h)
{
    struct pool *p = h->data;
    pthread_cond_destroy(&p->work);
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
    uv_close((uv_handle_t *)&p->wake, on_pool_closed);
}
