/* folder_write.c - new conversations of the folder store, and notes.
 *
 * A conversation is built in a temporary folder, synced, and renamed: its folder appears with both
 * files in it, or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/bytes/random.h"
#include "base/clock.h"
#include "store/event/lines.h"
#include "store/files/trash.h"
#include "store/folder/folder_impl.h"
#include "store/index/index.h"
#include "store/log/recover.h"

enum { NOTES_MAX = 64 * 1024 * 1024, NAME_TRIES = 100 };

static int folder_write_file(struct store_op *op, const struct store_io *io, const char *path,
                             const str *lines, size_t n)
{
    int fd = io->open(io, path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0600);
    if (fd < 0)
        return fd;
    int r = 0;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = io_write(io, fd, lines[i]);
    if (r == 0 && folder_syncs(op->store))
        r = io->sync(io, fd);
    close(fd);
    return r;
}

/* ---- notes ---- */

static void add_note_line(struct arena *a, struct buf *out, str event)
{
    struct event_head head;
    struct json *v;
    if (event_scan(event, &head) && head.type == EV_NOTE && json_parse(a, event, 0, &v, NULL) == 0)
        buf_add_str(out, folder_note(a, v));
}

/* The lines of notes.jsonl for the notes among op->lines. */
static str notes_among(struct store_op *op, size_t from)
{
    struct buf out;
    buf_init(&out, NOTES_MAX);
    for (size_t i = from; i < op->nlines; i++)
        add_note_line(&op->arena, &out, op->lines[i]);
    return buf_keep(&out, &op->arena);
}

static int append_notes(struct files *f, struct store_op *op, int fd, const char *path, str notes,
                        struct err *e)
{
    struct recovery recovery;
    int r = recover_tail(f->io, fd, path, &recovery, e);
    if (r < 0)
        return r;
    r = io_write(f->io, fd, notes);
    if (r == 0 && folder_syncs(op->store))
        r = f->io->sync(f->io, fd);
    if (r < 0) {
        (void)f->io->truncate(f->io, fd, recovery.length);
        return err_errno(e, r, "cannot write", path);
    }
    return 0;
}

/* Runs under the lock of chat.jsonl and before the events are written: a note that is in the chat
 * is also in notes.jsonl. */
int folder_add_notes(struct files *f, struct store_op *op, struct err *e)
{
    struct folder *d = f->own;
    struct folder_place p;
    str notes = notes_among(op, 0);
    folder_update_meta(f, op);
    if (!notes.n || !catalog_find(&d->catalog, &op->arena, op->id, &p))
        return 0;
    const char *path = arena_printf(&op->arena, "%s/%s/notes.jsonl", d->catalog.dir, p.name.p).p;
    int fd = f->io->open(f->io, path, O_RDWR | O_APPEND, 0);
    if (fd == -ENOENT) {
        struct conv_create none = {0};
        str lines[] = {
            folder_header(&op->arena, op->store, &p, FOLDER_NOTES, &none, clock_now_ms()), notes};
        int r = folder_write_file(op, f->io, path, lines, ARRAY_LEN(lines));
        return r < 0 ? err_errno(e, r, "cannot write", path) : 0;
    }
    if (fd < 0)
        return err_errno(e, fd, "cannot open", path);
    int r = append_notes(f, op, fd, path, notes, e);
    close(fd);
    return r;
}

/* ---- a place for a new conversation ---- */

static struct folder_place new_place(struct store_op *op, int64_t now_ms)
{
    const struct conv_create *spec = &op->in.create;
    str name = folder_name(&op->arena, spec->created_ms ? spec->created_ms : now_ms, op->id);
    return (struct folder_place){
        .name = name, .thread_id = op->id, .conversation_id = name, .channel = spec->channel};
}

/* Two ids may differ only in characters that are not valid in a name. */
static bool reserve(struct store_op *op, struct folder_place *p)
{
    struct catalog *c = &folder_of(op->store)->catalog;
    str first = p->name;
    for (int i = 2; i < NAME_TRIES && !catalog_has(c, op->id); i++) {
        if (catalog_reserve(c, op->id, p))
            return true;
        p->name = p->conversation_id = arena_printf(&op->arena, "%.*s-%d", STR_ARG(first), i);
    }
    return false;
}

/* False, with the error in op, when the conversation cannot be created. */
static bool prepare_place(struct store_op *op, struct folder_place *ret)
{
    struct folder *d = folder_of(op->store);
    int64_t now_ms = clock_now_ms();
    *ret = new_place(op, now_ms);
    if (!reserve(op, ret)) {
        err_set(&op->err, -EEXIST, "this conversation already exists: %.*s", STR_ARG(op->id));
        return false;
    }
    const struct conv_create *spec = &op->in.create;
    op->lines[0] = folder_header(&op->arena, op->store, ret, FOLDER_CHAT, spec, now_ms);
    if (!op->lines[0].n) {
        err_set(&op->err, -E2BIG, "the metadata of a new conversation is too large");
        catalog_remove(&d->catalog, op->id);
        return false;
    }
    op->path = arena_printf(&op->arena, "%s/%s/chat.jsonl", d->catalog.dir, ret->name.p).p;
    return true;
}

/* ---- building it ---- */

struct folder_builder {
    struct store_op *op;
    const struct store_io *io;
    struct folder_place place;
    const char *temp; /* the folder while it is built */
};

static const char *temp_path(const struct folder_builder *b, const char *name)
{
    return arena_printf(&b->op->arena, "%s/%s", b->temp, name).p;
}

static int builder_begin(struct folder_builder *b)
{
    struct folder *d = folder_of(b->op->store);
    char unique[RANDOM_ID_MAX];
    random_id("new", unique);
    b->temp = arena_printf(&b->op->arena, "%s/.%s", d->catalog.dir, unique).p;
    (void)catalog_find(&d->catalog, &b->op->arena, b->op->id, &b->place);
    return b->io->mkdir(b->io, b->temp, 0700);
}

static int write_notes(const struct folder_builder *b, str notes)
{
    str lines[] = {folder_header(&b->op->arena, b->op->store, &b->place, FOLDER_NOTES,
                                 &b->op->in.create, clock_now_ms()),
                   notes};
    return folder_write_file(b->op, b->io, temp_path(b, "notes.jsonl"), lines, ARRAY_LEN(lines));
}

static int put_in_place(const struct folder_builder *b)
{
    struct folder *d = folder_of(b->op->store);
    const char *final = arena_printf(&b->op->arena, "%s/%s", d->catalog.dir, b->place.name.p).p;
    bool syncs = folder_syncs(b->op->store);
    int r = syncs ? io_sync_dir(b->io, b->temp) : 0;
    if (r == 0)
        r = b->io->rename(b->io, b->temp, final);
    if (r == 0 && syncs && (r = io_sync_dir(b->io, d->catalog.dir)) < 0)
        (void)b->io->rename(b->io, final, b->temp);
    return r;
}

/* Removes the folder when it could not be completed. */
static int builder_finish(const struct folder_builder *b, int r)
{
    if (r == 0)
        return 0;
    (void)io_remove_tree(b->io, b->temp, FOLDER_TREE_DEPTH);
    return b->op->task.err.code ? r : err_errno(&b->op->task.err, r, "cannot create", b->op->path);
}

static int run_create(struct log_task *t, const struct store_io *io)
{
    struct folder_builder b = {.op = files_op(t), .io = io};
    struct store_op *op = b.op;
    struct chain chain = {.is_known = true};
    if (trash_has_id(op))
        return err_set(&t->err, -EEXIST, "this conversation already exists: %.*s", STR_ARG(op->id));
    int r = builder_begin(&b);
    t->lines[0] = op->lines[0];
    if (op->store->conf.integrity)
        chain_start(&chain, t->lines[0]);
    if (r == 0)
        r = files_prepare(op, 1, temp_path(&b, "blobs"), &chain);
    if (r == 0)
        r = folder_write_file(op, io, temp_path(&b, "chat.jsonl"), t->lines, t->n);
    if (r == 0)
        r = write_notes(&b, notes_among(op, 1));
    if (r == 0)
        r = put_in_place(&b);
    return builder_finish(&b, r);
}

static void on_made(struct log_task *t)
{
    struct store_op *op = files_op(t);
    struct files *f = op->store->impl;
    struct catalog *c = &folder_of(op->store)->catalog;
    store_pos at = 0;
    op->err = t->err;
    index_touch(f->index, op->id);
    if (op->err.code)
        catalog_remove(c, op->id);
    else
        catalog_confirm(c, op->id);
    for (size_t i = 0; i < t->n && !op->err.code; i++)
        op->pos[i] = at += t->lines[i].n;
    op_done(op);
}

void folder_create(struct store_op *op)
{
    struct folder_place p;
    if (!prepare_place(op, &p)) {
        op_done_later(op);
        return;
    }
    op->task = (struct log_task){.run = run_create, .n = op->nlines};
    op->task.lines = arena_array(&op->arena, op->nlines, sizeof(str));
    for (size_t i = 0; i < op->nlines; i++)
        op->task.bytes += op->lines[i].n;
    files_submit(op, LOG_RUN, on_made);
}

/* ---- forks ---- */

static int copy_chat(const struct folder_builder *b, int from, off_t limit)
{
    struct store_op *op = b->op;
    const struct store_io *io = b->io;
    int to = io->open(io, temp_path(b, "chat.jsonl"), O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0600);
    if (to < 0)
        return to;
    int r = fork_copy_lines(op, io, from, limit, to, op->lines[0]);
    if (r == 0 && folder_syncs(op->store))
        r = io->sync(io, to);
    close(to);
    return r;
}

struct note_copier {
    struct arena *arena;
    struct buf out;
};

static bool copy_note(void *ctx, str line, store_pos end)
{
    struct note_copier *c = ctx;
    add_note_line(c->arena, &c->out, line);
    return true;
}

/* The notes in the chat of the fork. */
static int copy_notes(const struct folder_builder *b)
{
    struct files *f = b->op->store->impl;
    struct note_copier c = {.arena = &b->op->arena};
    off_t limit;
    int64_t overlong;
    int fd = file_store_open_log(temp_path(b, "chat.jsonl"), UINT64_MAX, &limit, NULL);
    if (fd < 0)
        return fd;
    buf_init(&c.out, NOTES_MAX);
    int r = files_each_line(f->layout, fd, 0, limit, true, copy_note, &c, &overlong);
    close(fd);
    if (r == 0)
        r = write_notes(b, buf_str(&c.out));
    buf_done(&c.out);
    return r;
}

static int run_fork(struct log_task *t, const struct store_io *io)
{
    struct folder_builder b = {.op = files_op(t), .io = io};
    struct store_op *op = b.op;
    struct files *f = op->store->impl;
    str source_id = op->in.create.forked_from;
    const char *source = f->layout->path(f, &op->arena, source_id);
    off_t limit;
    int from = source ? file_store_open_log(source, op->limit, &limit, &t->err)
                      : err_set(&t->err, -ENOENT, "no such conversation: %.*s", STR_ARG(source_id));
    if (from < 0)
        return from;
    int r = builder_begin(&b);
    if (r == 0)
        r = copy_chat(&b, from, limit);
    if (r == 0)
        r = copy_notes(&b);
    if (r == 0)
        r = fork_link_blobs(op, io, f->layout->blob_dir(f, &op->arena, source_id),
                            temp_path(&b, "blobs"));
    if (r == 0)
        r = put_in_place(&b);
    close(from);
    return builder_finish(&b, r);
}

static void fork_located(struct store_op *op)
{
    struct folder_place p;
    bool is_there = files_locate(op, op->in.create.forked_from);
    op->lines = arena_array(&op->arena, 1, sizeof(str));
    if (!is_there || !prepare_place(op, &p)) {
        op_done_later(op);
        return;
    }
    op->task = (struct log_task){.run = run_fork};
    files_submit(op, LOG_RUN, on_made);
}

void folder_fork(struct store_op *op)
{
    folder_locate(op, op->in.create.forked_from, fork_located);
}
