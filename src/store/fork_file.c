/* fork_file.c - store_fork of the file stores: streams the chosen lines into a new log and
 * hard-links the blobs, so that neither memory nor disk depend on how much there is. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "store/blobs.h"
#include "store/files.h"
#include "store/lines.h"

enum { WRITE_BYTES = 1024 * 1024 };

static int flush(const struct store_io *io, int fd, struct buf *out)
{
    int r = io_write(io, fd, buf_str(out));
    buf_clear(out);
    return r;
}

static int copy_lines(const struct store_io *io, struct store_op *op, int from, off_t limit, int to)
{
    struct fork_filter filter = {.at_message = op->at_message};
    enum fork_verdict verdict = FORK_COPY;
    struct lines lines;
    struct line line;
    struct buf out;
    int r = 0;
    buf_init(&out, WRITE_BYTES + LINES_MAX_BYTES + 1);
    lines_init(&lines, from, 0, limit);
    str header = header_line(&op->arena, op->store, op->id, &op->in.create, clock_now_ms());
    buf_add_str(&out, header);
    while (verdict != FORK_COPY_LAST && (r = lines_next(&lines, &line)) > 0) {
        verdict = line.start == 0 ? FORK_SKIP : fork_line(&filter, line.text);
        if (verdict == FORK_STOP)
            break;
        if (verdict == FORK_SKIP)
            continue;
        buf_add_str(&out, line.text);
        buf_add_char(&out, '\n');
        if (out.n >= WRITE_BYTES && (r = flush(io, to, &out)) < 0)
            break;
    }
    if (r >= 0)
        r = flush(io, to, &out);
    lines_done(&lines);
    buf_done(&out);
    return r;
}

static int link_blobs(struct store_op *op, const struct store_io *io)
{
    struct files *f = op->store->impl;
    const char *from = f->layout->blob_dir(f, &op->arena, op->in.create.forked_from);
    const char *to = f->layout->blob_dir(f, &op->arena, op->id);
    DIR *d = opendir(from);
    if (!d)
        return errno == ENOENT ? 0 : -errno;
    struct dirent *entry;
    int r = io_mkdir_all(io, to);
    while (r == 0 && (entry = readdir(d)) != NULL) {
        if (entry->d_name[0] == '.' || strncmp(entry->d_name, "new_", 4) == 0)
            continue;
        r = io->link(io, arena_printf(&op->arena, "%s/%s", from, entry->d_name).p,
                     arena_printf(&op->arena, "%s/%s", to, entry->d_name).p);
    }
    closedir(d);
    return r < 0 ? r : io_sync_dir(io, to);
}

static int write_log(struct store_op *op, const struct store_io *io, int from, off_t limit)
{
    char unique[RANDOM_ID_MAX];
    random_id("new", unique);
    const char *temp = arena_printf(&op->arena, "%s.%s", op->path, unique).p;
    int to = io->open(io, temp, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0600);
    if (to < 0)
        return to;
    int r = copy_lines(io, op, from, limit, to);
    if (r == 0)
        r = io->sync(io, to);
    if (r == 0)
        r = link_blobs(op, io);
    if (r == 0)
        r = io->link(io, temp, op->path);
    if (r == 0 && (r = io_sync_parent(io, op->path)) < 0)
        (void)io->unlink(io, op->path);
    (void)io->unlink(io, temp);
    close(to);
    return r;
}

static int run(struct log_task *t, const struct store_io *io)
{
    struct store_op *op = files_op(t);
    struct files *f = op->store->impl;
    const char *source = f->layout->path(f, &op->arena, op->in.create.forked_from);
    off_t limit;
    int from = files_open_log(source, op->limit, &limit, &t->err);
    if (from < 0)
        return from;
    int r = write_log(op, io, from, limit);
    close(from);
    if (r < 0) {
        (void)io_remove_tree(io, f->layout->blob_dir(f, &op->arena, op->id), 2);
        return err_errno(&t->err, r, "cannot fork into", op->path);
    }
    return 0;
}

static void on_forked(struct log_task *t)
{
    struct store_op *op = files_op(t);
    op->err = t->err;
    op_done(op);
}

void files_fork(struct store_op *op)
{
    op->task = (struct log_task){.run = run};
    if (!files_locate(op, op->in.create.forked_from)) {
        op_done_later(op);
        return;
    }
    uint64_t limit = op->limit;
    files_locate(op, op->id);
    op->limit = limit;
    files_submit(op, LOG_RUN, on_forked);
}
