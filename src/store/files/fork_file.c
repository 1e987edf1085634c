/* fork_file.c - store_fork of the file stores: copies the selected lines into a new log as a stream
 * and hard-links the blobs, so that memory use does not depend on the size of the log. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/bytes/random.h"
#include "base/clock.h"
#include "os/dir.h"
#include "store/event/lines.h"
#include "store/files/files.h"
#include "store/files/shared_blobs.h"

enum { WRITE_BYTES = 1024 * 1024 };

static int fork_flush(const struct store_io *io, int fd, struct buf *out)
{
    int r = io_write(io, fd, buf_str(out));
    buf_clear(out);
    return r;
}

struct copier {
    struct store_op *op;
    struct chain chain;
    struct fork_filter filter;
    struct buf out;
    struct arena scratch;
};

/* A new chain, behind a line 1 that names the head of the chain of the source. */
static int fork_begin(struct copier *c, int from, off_t limit, str header)
{
    struct store_op *op = c->op;
    struct chain source;
    chain_init(&source, from, limit);
    int r = limit ? chain_resume(&source, false) : 0;
    if (r < 0)
        return r;
    if (source.is_on)
        header = arena_printf(&op->arena, "%.*s,\"originHash\":\"%s\"}\n",
                              STR_ARG(str_slice(header, 0, header.n - 2)), source.head);
    if (source.is_on || op->store->conf.integrity)
        chain_start(&c->chain, header);
    buf_add_str(&c->out, header);
    return 0;
}

static enum fork_verdict copy_line(struct copier *c, str line)
{
    struct files *f = c->op->store->impl;
    arena_reset(&c->scratch);
    str event = files_event(f->layout, &c->scratch, line);
    enum fork_verdict verdict = fork_line(&c->filter, event);
    if (verdict == FORK_STOP || verdict == FORK_SKIP)
        return verdict;
    line = arena_concat(&c->scratch, event, STR("\n"));
    if (f->layout->record)
        line = f->layout->record(f, &c->scratch, c->op->id, line);
    chain_seal(&c->chain, &c->scratch, &line);
    buf_add_str(&c->out, line);
    return verdict;
}

int fork_copy_lines(struct store_op *op, const struct store_io *io, int from, off_t limit, int to,
                    str header)
{
    struct copier c = {.op = op, .filter.at_message = op->at_message};
    enum fork_verdict verdict = FORK_COPY;
    struct lines lines;
    struct line line;
    buf_init(&c.out, WRITE_BYTES + 2 * LINES_MAX_BYTES);
    arena_init(&c.scratch);
    lines_init(&lines, from, 0, limit);
    int r = fork_begin(&c, from, limit, header);
    while (r >= 0 && verdict != FORK_COPY_LAST && verdict != FORK_STOP &&
           (r = lines_next(&lines, &line)) > 0) {
        verdict = copy_line(&c, line.text); /* a damaged line 1 may be an event, which is kept */
        if (c.out.n >= WRITE_BYTES)
            r = fork_flush(io, to, &c.out);
    }
    if (r >= 0)
        r = fork_flush(io, to, &c.out);
    lines_done(&lines);
    arena_done(&c.scratch);
    buf_done(&c.out);
    return r;
}

int fork_link_blobs(struct store_op *op, const struct store_io *io, const char *from,
                    const char *to)
{
    struct dir d = dir_open(from);
    if (d.error < 0)
        return d.error == -ENOENT ? 0 : d.error;
    int r = io_mkdir_all(io, to);
    while (r == 0 && dir_next(&d)) {
        if (d.name[0] == '.' || strncmp(d.name, "new_", 4) == 0)
            continue;
        r = io->link(io, arena_printf(&op->arena, "%s/%s", from, d.name).p,
                     arena_printf(&op->arena, "%s/%s", to, d.name).p);
    }
    dir_close(&d);
    return r < 0 ? r : io_sync_dir(io, to);
}

static int write_log(struct store_op *op, const struct store_io *io, int from, off_t limit)
{
    struct files *f = op->store->impl;
    char unique[RANDOM_ID_MAX];
    random_id("new", unique);
    const char *temp = arena_printf(&op->arena, "%s.%s", op->path, unique).p;
    int to = io->open(io, temp, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0600);
    if (to < 0)
        return to;
    str header = header_line(&op->arena, op->store, op->id, &op->in.create, clock_now_ms());
    int r = fork_copy_lines(op, io, from, limit, to, header);
    if (r == 0)
        r = io->sync(io, to);
    if (r == 0)
        r = fork_link_blobs(op, io, f->layout->blob_dir(f, &op->arena, op->in.create.forked_from),
                            f->layout->blob_dir(f, &op->arena, op->id));
    if (r == 0)
        r = io->link(io, temp, op->path);
    if (r == 0 && (r = io_sync_parent(io, op->path)) < 0)
        (void)io->unlink(io, op->path);
    (void)io->unlink(io, temp);
    close(to);
    return r;
}

static int fork_run(struct log_task *t, const struct store_io *io)
{
    struct store_op *op = files_op(t);
    struct files *f = op->store->impl;
    const char *source = f->layout->path(f, &op->arena, op->in.create.forked_from);
    off_t limit;
    int from = file_store_open_log(source, op->limit, &limit, &t->err);
    if (from < 0)
        return from;
    shared_enter(f->shared);
    int r = write_log(op, io, from, limit);
    shared_leave(f->shared);
    close(from);
    if (r < 0) {
        (void)io_remove_tree(io, f->layout->blob_dir(f, &op->arena, op->id), 2);
        return err_errno(&t->err, r, "cannot fork into", op->path);
    }
    return 0;
}

void files_fork(struct store_op *op)
{
    op->task = (struct log_task){.run = fork_run};
    if (!files_locate(op, op->in.create.forked_from)) {
        op_done_later(op);
        return;
    }
    uint64_t limit = op->limit;
    files_locate(op, op->id);
    op->limit = limit;
    files_submit(op, LOG_RUN, files_changed);
}
