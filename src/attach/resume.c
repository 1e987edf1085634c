#include "attach/resume.h"

#include <assert.h>
#include <stdlib.h>

#include "attach/attach_impl.h"
#include "attach/file_name.h"
#include "attach/upload.h"
#include "workspace/roster/roster.h"

struct resume_op {
    struct job job;
    struct attach *attach;
    struct arena arena;
    str user_id, id, name;
    uint64_t bytes;    /* of a new upload; in attach->incoming while its job is busy */
    uint64_t reserved; /* of bytes: on disk now */
    uint64_t freed;
    struct partial found;
    bool has_found, is_cancelled;
    struct err err;
    resume_fn fn;
    void *ctx;
};

static struct resume_op *resume_op_new(struct attach *a, str user_id, resume_fn fn, void *ctx)
{
    struct resume_op *op = xcalloc(1, sizeof *op);
    assert(user_id_ok(user_id));
    attach_hold(a);
    op->attach = a;
    op->fn = fn;
    op->ctx = ctx;
    arena_init(&op->arena);
    op->user_id = arena_str(&op->arena, user_id);
    return op;
}

void resume_cancel(struct resume_op *op)
{
    if (op)
        op->is_cancelled = true;
}

static void resume_answer(struct job *j)
{
    struct resume_op *op = CONTAINER_OF(j, struct resume_op, job);
    bool is_failed = op->err.code < 0;
    assert(op->attach->incoming >= op->bytes);
    attach_explain_part(op->attach, &op->err);
    op->attach->incoming -= op->bytes;
    if (op->reserved != op->freed)
        attach_count(op->attach, (int64_t)op->reserved - (int64_t)op->freed);
    if (!op->is_cancelled)
        op->fn(op->ctx, is_failed ? &op->err : NULL,
               op->has_found && !is_failed ? &op->found : NULL);
    attach_release(op->attach);
    arena_done(&op->arena);
    free(op);
}

static void begin_work(struct job *j)
{
    struct resume_op *op = CONTAINER_OF(j, struct resume_op, job);
    if (op->err.code < 0)
        return;
    op->has_found = true;
    if (partial_make(&op->arena, op->attach->place.dir, op->user_id, op->name, op->bytes,
                     &op->found, &op->freed, &op->err) == 0)
        op->reserved = op->bytes;
}

struct resume_op *resume_begin(struct attach *a, str user_id, str name, uint64_t bytes,
                               resume_fn fn, void *ctx)
{
    struct resume_op *op = resume_op_new(a, user_id, fn, ctx);
    op->name = file_name_clean(&op->arena, name);
    if (upload_check(a, bytes, &op->err) == 0)
        op->bytes = bytes;
    a->incoming += op->bytes;
    pool_run(a->pool, &op->job, begin_work, resume_answer);
    return op;
}

static void look_work(struct job *j)
{
    struct resume_op *op = CONTAINER_OF(j, struct resume_op, job);
    op->has_found = true;
    (void)partial_find(&op->arena, op->attach->place.dir, op->user_id, op->id, &op->found,
                       &op->err);
}

struct resume_op *resume_look(struct attach *a, str user_id, str id, resume_fn fn, void *ctx)
{
    struct resume_op *op = resume_op_new(a, user_id, fn, ctx);
    op->id = arena_str(&op->arena, id);
    pool_run(a->pool, &op->job, look_work, resume_answer);
    return op;
}

static void drop_work(struct job *j)
{
    struct resume_op *op = CONTAINER_OF(j, struct resume_op, job);
    (void)partial_remove(&op->arena, op->attach->place.dir, op->user_id, op->id, &op->freed,
                         &op->err);
}

struct resume_op *resume_drop(struct attach *a, str user_id, str id, resume_fn fn, void *ctx)
{
    struct resume_op *op = resume_op_new(a, user_id, fn, ctx);
    op->id = arena_str(&op->arena, id);
    pool_run(a->pool, &op->job, drop_work, resume_answer);
    return op;
}
