#include "store/repair.h"

#include <errno.h>
#include <sys/stat.h>

#include "store/files/files.h"

struct repairing {
    struct repair_report report;
    int64_t size; /* before */
};

static int64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

static void measure(struct store_op *op)
{
    op->out.repairing->size = size_of(op->path);
}

/* The log is open and locked: opening has already repaired it. Compares the sizes. */
static int note_repair(struct log_task *t, const struct store_io *io)
{
    struct store_op *op = files_op(t);
    struct repairing *r = op->out.repairing;
    int64_t more = size_of(op->path) - r->size;
    r->report.torn_bytes = more < 0 ? -more : 0;
    r->report.was_terminated = more > 0;
    return 0;
}

static void mend(struct store_op *op)
{
    op->task = (struct log_task){.run = note_repair, .needs_lock = true, .spares_log = true};
    files_submit(op, LOG_RUN, files_done);
}

static void found(struct store_op *op)
{
    op->out.repairing = ARENA_NEW(&op->arena, struct repairing);
    op->out.repairing->report.bad_lines = op->out.conv->bad_lines;
    op->out.repairing->report.lacks_header = op->out.conv->acl.is_sealed;
    if (!files_locate(op, op->id)) {
        op_done_later(op);
        return;
    }
    op->step = mend;
    op_run(op, measure);
}

static void answer_repair(struct store_op *op)
{
    op->fn.repair(op->ctx, op_err(op), op->err.code ? NULL : &op->out.repairing->report);
}

struct store_op *store_repair(struct store *s, str id, repair_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_repair, ctx);
    op->fn.repair = fn;
    if (!op_check(op, true))
        return op;
    if (!s->ops->has_files) {
        err_set(&op->err, -ENOTSUP, "a %s store has no files to repair", s->ops->type);
        op_done_later(op);
        return op;
    }
    op->step = found;
    then_get(op);
    return op;
}
