#include "store/replica/pg_listen.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "os/file.h"
#include "store/postgres/database.h"

enum {
    RETRY_MS = 500,
    UNABLE_MS = 60000, /* the server does not know LISTEN */
    QUIET_MS = 10000
};

enum heard { HEARD_CONNECTED, HEARD_LOST, HEARD_NOTICE };

struct heard_item {
    struct list_node node;
    enum heard what;
    char *payload;
};

struct pg_listener {
    struct database *db;
    struct listener_events ev;
    void *ctx;
    struct pool *pool;
    struct job job;
    int wake_fd; /* ends a wait */
    atomic_bool is_stopping;

    pthread_mutex_t lock; /* for these two */
    struct list_node heard;
    bool is_posted;
};

/* ---- its thread ---- */

static void drain(void *ctx);

static void hand_over(struct pg_listener *l, enum heard what, const char *payload)
{
    struct heard_item *i = xcalloc(1, sizeof *i);
    i->what = what;
    i->payload = payload ? str_dup(str_from(payload)) : NULL;
    pthread_mutex_lock(&l->lock);
    list_push(&l->heard, &i->node);
    bool must_post = !l->is_posted;
    l->is_posted = true;
    pthread_mutex_unlock(&l->lock);
    if (must_post)
        loop_post(l->db->loop, drain, l);
}

static void wait_ms(const struct pg_listener *l, int fd, int ms)
{
    struct pollfd p[] = {{.fd = l->wake_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    (void)poll(p, fd < 0 ? 1 : 2, ms);
}

/* An idle connection is asked now and then: a network that swallows packets is found so. */
static int hear(struct pg_listener *l, struct pg_conn *c, struct err *e)
{
    struct pg_query ask = {.sql = "SELECT 1", .is_once = true};
    uint64_t asked = clock_mono_ms();
    while (!atomic_load(&l->is_stopping)) {
        PGnotify *n;
        if (!c->api->consumeInput(c->pq))
            return err_set(e, -EHOSTUNREACH, "the connection that listens was lost");
        while ((n = c->api->notifies(c->pq)) != NULL) {
            hand_over(l, HEARD_NOTICE, n->extra);
            c->api->freemem(n);
        }
        if (clock_mono_ms() - asked > QUIET_MS) {
            int r = pg_conn_run(c, &ask, 1, e);
            pg_clear(c, &ask, 1);
            asked = clock_mono_ms();
            if (r < 0)
                return r;
            continue; /* it may have read notifications */
        }
        wait_ms(l, c->api->socket(c->pq), QUIET_MS);
    }
    return 0;
}

/* Returns after how many milliseconds it is worth trying again. */
static int connect_and_hear(struct pg_listener *l, bool *was_connected)
{
    struct pg_query q = {.sql = "LISTEN nb", .is_once = true};
    struct pg_conn *c = NULL;
    struct err e = {0};
    int r = database_connect(l->db, &c, &e), wait = RETRY_MS;
    if (r == 0) {
        r = pg_conn_run(c, &q, 1, &e);
        wait = r < 0 && !c->is_lost ? UNABLE_MS : RETRY_MS;
    }
    if (r == 0) {
        pg_clear(c, &q, 1);
        hand_over(l, HEARD_CONNECTED, NULL);
        *was_connected = true;
        r = hear(l, c, &e);
    }
    pg_conn_close(c);
    if (r < 0 && *was_connected) {
        log_warn(l->db->log, "store", "%s", e.msg);
        hand_over(l, HEARD_LOST, NULL);
        *was_connected = false;
    }
    return wait;
}

static void listen_work(struct job *j)
{
    struct pg_listener *l = CONTAINER_OF(j, struct pg_listener, job);
    bool was_connected = false;
    while (!atomic_load(&l->is_stopping)) {
        int wait = connect_and_hear(l, &was_connected);
        if (!atomic_load(&l->is_stopping))
            wait_ms(l, -1, wait);
    }
}

static void listen_done(struct job *j)
{
    (void)j;
}

/* ---- the loop thread ---- */

static struct heard_item *next_heard(struct pg_listener *l)
{
    pthread_mutex_lock(&l->lock);
    struct list_node *n = list_pop(&l->heard);
    l->is_posted = n != NULL;
    pthread_mutex_unlock(&l->lock);
    return n ? LIST_ENTRY(n, struct heard_item, node) : NULL;
}

static void deliver(struct pg_listener *l, const struct heard_item *i)
{
    if (i->what == HEARD_CONNECTED)
        l->ev.on_connected(l->ctx);
    else if (i->what == HEARD_LOST)
        l->ev.on_lost(l->ctx);
    else
        l->ev.on_notice(l->ctx, str_from(i->payload));
}

static void drain(void *ctx)
{
    struct pg_listener *l = ctx;
    struct heard_item *i;
    while ((i = next_heard(l)) != NULL) {
        if (!atomic_load(&l->is_stopping))
            deliver(l, i);
        free(i->payload);
        free(i);
    }
}

struct pg_listener *listener_new(struct database *db, const struct listener_events *ev, void *ctx)
{
    struct pg_listener *l = xcalloc(1, sizeof *l);
    l->db = db;
    l->ev = *ev;
    l->ctx = ctx;
    l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    assert(l->wake_fd >= 0);
    pthread_mutex_init(&l->lock, NULL);
    list_init(&l->heard);
    l->pool = pool_new(db->loop, "nb-pg-listen", 1);
    pool_run(l->pool, &l->job, listen_work, listen_done);
    return l;
}

static void listener_drop(void *ctx)
{
    struct pg_listener *l = ctx;
    drain(l);
    file_close(l->wake_fd);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* The last post may still be on its way to the loop: the memory goes behind it. */
void listener_free(struct pg_listener *l)
{
    uint64_t one = 1;
    if (!l)
        return;
    atomic_store(&l->is_stopping, true);
    (void)!write(l->wake_fd, &one, sizeof one);
    pool_free(l->pool);
    loop_post(l->db->loop, listener_drop, l);
}
