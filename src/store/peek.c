/* peek.c - reads the links of a workspace without opening its store (store_peek_links). */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "store/backend/backend.h"

struct links_peek {
    struct store store; /* not open: of its functions only person_read is called */
    struct arena arena;
    struct job job;
    store_links_fn fn; /* NULL = nobody waits */
    void *ctx;
    struct share_links links;
    struct err err;
};

static void read_links(struct job *j) /* pool thread */
{
    struct links_peek *p = CONTAINER_OF(j, struct links_peek, job);
    str text = STR_NONE;
    if (p->store.ops->person_read(&p->store, STR(LINKS_DOCUMENT), &p->arena, &text, &p->err) == 0)
        (void)links_parse(&p->arena, text, &p->links, &p->err);
}

static void find_nothing(struct job *j)
{
    (void)j; /* such a store has links only while it is open */
}

static void on_links_read(struct job *j)
{
    struct links_peek *p = CONTAINER_OF(j, struct links_peek, job);
    if (p->fn)
        p->fn(p->ctx, p->err.code ? &p->err : NULL, p->err.code ? NULL : &p->links);
    arena_done(&p->arena);
    free(p);
}

struct links_peek *store_peek_links(const struct store_env *env, const struct store_conf *conf,
                                    store_links_fn fn, void *ctx)
{
    struct links_peek *p = xcalloc(1, sizeof *p);
    struct store *s = &p->store;
    assert(fn);
    arena_init(&p->arena);
    p->fn = fn;
    p->ctx = ctx;
    s->env = env;
    s->readers = env->readers;
    s->ops = store_backend(conf->type);
    s->conf.dir = conf->dir ? arena_cstr(&p->arena, str_from(conf->dir)) : NULL;
    s->conf.workspace_id = arena_cstr(&p->arena, str_from(conf->workspace_id));
    bool can_read = s->ops && s->ops->peek && s->ops->peek(s);
    pool_run(s->readers, &p->job, can_read ? read_links : find_nothing, on_links_read);
    return p;
}

void store_peek_cancel(struct links_peek *p)
{
    if (p)
        p->fn = NULL;
}
