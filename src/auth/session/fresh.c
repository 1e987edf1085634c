#include "auth/session/fresh.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "auth/session/session_table.h"

#define BETWEEN_MS 2000

struct fresh {
    struct database *db;
    struct sessions *sessions;
    struct directory *directory;
    struct pool *pool;
    struct timer between;
    struct list_node waiting; /* struct fresh_wait: for the next reading */
    struct list_node served;  /* for the one under way */
    bool is_reading, is_ending;
    bool is_looking; /* the directory has this: it cannot be freed yet */

    struct job job;
    struct arena arena;
    struct session_reading reading;
    struct err err;
};

static int read_state(struct pg_conn *c, void *ctx, struct err *e)
{
    struct fresh *f = ctx;
    return session_table_read(c, &f->reading, e);
}

/* Whatever is wrong with the database, it says nothing about the credentials of a request: -EACCES
 * of the database must not become a 401. */
static void make_plain(struct fresh *f)
{
    if (f->err.code < 0)
        f->err.code = -ENOTCONN;
}

static void fresh_work(struct job *j)
{
    struct fresh *f = CONTAINER_OF(j, struct fresh, job);
    err_clear(&f->err);
    (void)database_read(f->db, read_state, f, &f->err); /* f->err */
    make_plain(f);
}

static void begin_reading(struct fresh *f)
{
    arena_init(&f->arena);
    f->reading = (struct session_reading){.arena = &f->arena};
    session_table_ask(f->sessions, &f->reading);
}

static void take_reading(struct fresh *f)
{
    if (f->err.code == 0)
        session_table_take(f->sessions, &f->reading);
    arena_done(&f->arena);
}

static void start_reading(struct fresh *f);

static void end_reading(struct fresh *f)
{
    struct list_node *n;
    assert(f->is_reading);
    f->is_reading = false;
    while ((n = list_pop(&f->served)) != NULL) {
        struct fresh_wait *w = LIST_ENTRY(n, struct fresh_wait, node);
        w->fn(w->ctx, &f->err);
    }
    if (f->is_reading || f->is_ending)
        return; /* one of them has started the next */
    if (!list_empty(&f->waiting))
        start_reading(f);
    else
        timer_start(&f->between, BETWEEN_MS);
}

static void on_looked(void *ctx, const struct err *err, str id)
{
    struct fresh *f = ctx;
    f->is_looking = false;
    if (f->is_ending) {
        free(f);
        return;
    }
    f->err = *err;
    make_plain(f);
    end_reading(f);
}

static bool is_roster_old(const struct fresh *f)
{
    uint64_t ours = f->directory ? directory_roster(f->directory)->generation : 0;
    return ours > 0 && ours != (uint64_t)f->reading.roster_generation;
}

static void fresh_done(struct job *j)
{
    struct fresh *f = CONTAINER_OF(j, struct fresh, job);
    take_reading(f);
    if (f->err.code < 0 || f->is_ending || !is_roster_old(f)) {
        end_reading(f);
        return;
    }
    f->is_looking = true;
    directory_look(f->directory, on_looked, f);
}

static void start_reading(struct fresh *f)
{
    struct list_node *n;
    assert(!f->is_reading && list_empty(&f->served));
    timer_stop(&f->between);
    f->is_reading = true;
    while ((n = list_pop(&f->waiting)) != NULL)
        list_push(&f->served, n);
    begin_reading(f);
    pool_run(f->pool, &f->job, fresh_work, fresh_done);
}

static void on_between(void *ctx)
{
    struct fresh *f = ctx;
    if (!f->is_reading)
        start_reading(f);
}

void fresh_await(struct fresh *f, struct fresh_wait *w)
{
    list_push(&f->waiting, &w->node);
    if (!f->is_reading)
        start_reading(f);
}

struct fresh *fresh_new(struct loop *l, struct database *db, struct sessions *sessions,
                        struct directory *directory)
{
    struct fresh *f = xcalloc(1, sizeof *f);
    f->db = db;
    f->sessions = sessions;
    f->directory = directory;
    f->pool = pool_new(l, "nb-fresh", 1);
    list_init(&f->waiting);
    list_init(&f->served);
    timer_init(&f->between, l, on_between, f);
    return f;
}

int fresh_open(struct fresh *f, struct err *e)
{
    begin_reading(f);
    fresh_work(&f->job);
    take_reading(f);
    if (f->err.code < 0) {
        *e = f->err;
        return e->code;
    }
    timer_start(&f->between, BETWEEN_MS);
    return 0;
}

void fresh_free(struct fresh *f)
{
    if (!f)
        return;
    f->is_ending = true;
    pool_free(f->pool);
    timer_stop(&f->between);
    while (list_pop(&f->waiting) || list_pop(&f->served))
        continue;
    if (!f->is_looking)
        free(f); /* else on_looked does */
}
