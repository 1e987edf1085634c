/* mend_header.c - writes a new line 1 for a log whose line 1 is lost or damaged. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/bytes/random.h"
#include "base/clock.h"
#include "store/event/event.h"
#include "store/event/lines.h"
#include "store/files/files.h"
#include "store/repair.h"

struct rest {
    off_t from, end;    /* the part of the log that is kept */
    int64_t created_ms; /* 0 = no line has a time */
};

static bool line_time(struct arena *a, str line, int64_t *ret_ms)
{
    struct event_head head;
    struct json *v;
    arena_reset(a);
    return event_scan(line, &head) && json_parse(a, line, 0, &v, NULL) == 0 &&
           event_time(v, ret_ms);
}

/* A first line that is an event is kept; one that cannot be parsed is not copied. */
static int find_rest(int fd, off_t size, struct rest *ret)
{
    struct arena scratch;
    struct event_head head;
    struct lines lines;
    struct line line;
    bool is_first = true;
    int r;
    *ret = (struct rest){.from = size, .end = size};
    arena_init(&scratch);
    lines_init(&lines, fd, 0, size);
    while ((r = lines_next(&lines, &line)) > 0 && !ret->created_ms) {
        if (is_first)
            ret->from = line.start > 0 || event_scan(line.text, &head) ? line.start : line.end;
        is_first = false;
        (void)line_time(&scratch, line.text, &ret->created_ms);
    }
    lines_done(&lines);
    arena_done(&scratch);
    return r < 0 ? r : 0;
}

static int write_new(struct store_op *op, const struct store_io *io, int from, off_t size,
                     const char *temp)
{
    struct rest rest;
    int r = find_rest(from, size, &rest);
    int to = r == 0 ? io->open(io, temp, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0600) : r;
    if (to < 0)
        return to;
    op->in.create.created_ms = rest.created_ms;
    r = io_write(io, to,
                 header_line(&op->arena, op->store, op->id, &op->in.create, clock_now_ms()));
    if (r == 0)
        r = io_copy(io, from, rest.from, rest.end, to);
    if (r == 0)
        r = io->sync(io, to);
    close(to);
    return r;
}

/* The damaged log is linked to its new name before its old name is replaced. */
static int replace_log(struct store_op *op, const struct store_io *io, const char *temp,
                       const char *unique)
{
    int r = io->link(io, op->path, arena_printf(&op->arena, "%s.damaged", op->path).p);
    if (r == -EEXIST)
        r = io->link(io, op->path, arena_printf(&op->arena, "%s.damaged.%s", op->path, unique).p);
    if (r == 0)
        r = io->rename(io, temp, op->path);
    return r < 0 ? r : io_sync_parent(io, op->path);
}

static int mend_run(struct log_task *t, const struct store_io *io)
{
    struct store_op *op = files_op(t);
    char unique[RANDOM_ID_MAX];
    off_t size;
    random_id("new", unique);
    const char *temp = arena_printf(&op->arena, "%s.%s", op->path, unique).p;
    int from = file_store_open_log(op->path, UINT64_MAX, &size, &t->err);
    if (from < 0)
        return from;
    int r = write_new(op, io, from, size, temp);
    if (r == 0)
        r = replace_log(op, io, temp, unique);
    if (r < 0)
        (void)io->unlink(io, temp);
    close(from);
    return r < 0 ? err_errno(&t->err, r, "cannot repair line 1 of", op->path) : 0;
}

static void found(struct store_op *op)
{
    op->step = NULL;
    if (!op->out.conv->acl.is_sealed) {
        err_set(&op->err, -EALREADY, "line 1 of %.*s is not damaged", STR_ARG(op->id));
        op_done_later(op);
    } else if (!files_locate(op, op->id)) {
        op_done_later(op);
    } else {
        op->task = (struct log_task){.run = mend_run, .needs_lock = true};
        files_submit(op, LOG_RUN, files_changed);
    }
}

static void answer_mend(struct store_op *op)
{
    op->fn.done(op->ctx, op_err(op));
}

struct store_op *store_mend_header(struct store *s, str id, str owner_id, store_done_fn fn,
                                   void *ctx)
{
    struct store_op *op = op_new(s, id, answer_mend, ctx);
    op->fn.done = fn;
    op->in.create = (struct conv_create){.owner_id = arena_str(&op->arena, owner_id)};
    if (!op_check(op, true))
        return op;
    if (s->ops != &store_jsonl_ops) {
        err_set(&op->err, -ENOTSUP, "line 1 can be replaced only in jsonl stores");
        op_done_later(op);
        return op;
    }
    op->step = found;
    then_get(op);
    return op;
}
