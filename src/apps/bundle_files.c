#include "apps/bundle_files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/file_name.h"
#include "attach/upload.h"
#include "base/bytes/random.h"
#include "base/utf8.h"
#include "os/dir.h"
#include "os/file.h"
#include "runtime/seen_files.h"
#include "tools/result.h"

enum { LOOKED_AT_MAX = 256, TREE_DEPTH = 16, NOTES_MAX = 4096 };

struct file_in {
    struct json *value; /* in `args`: the name, then the path */
    const struct attached *file;
    int fd;
    const char *dir, *path;
};

struct file_out {
    int fd;
    str name;
    uint64_t bytes;
};

/* Lives until both directories are gone, perhaps longer than the call. At most one job at a time.
 */
struct bundle_files {
    struct runtime *rt;
    struct arena arena;
    struct tool_call *call; /* NULL after bundle_files_end */
    struct bundle_dirs dirs;
    char id[RANDOM_ID_MAX];
    struct seen_files *seen;
    struct json *args;
    struct file_in in[BUNDLE_FILES_MAX];
    size_t nin, nopened;
    bool has_outbox;
    int outbox, call_dir; /* {data}/outbox, and the directory of the call in it */
    struct file_out out[BUNDLE_FILES_MAX];
    size_t nout, nkept, nrefused;
    struct upload *upload;
    struct buf notes;
    struct tool_result *res;
    struct job job;
    bool is_busy;
    struct err err;
    bundle_files_fn fn;
    bundle_files_kept_fn kept_fn;
    void *ctx;
    struct deferred later;
};

/* ---- the files that a call names ---- */

static bool want_file(struct bundle_files *f, struct json *value)
{
    if (!json_is(value, JSON_STRING) || f->nin == BUNDLE_FILES_MAX) {
        err_set(&f->err, -EINVAL, "A call takes at most %u files, each by its id or its name.",
                BUNDLE_FILES_MAX);
        return false;
    }
    f->in[f->nin++] = (struct file_in){.value = value, .fd = -1};
    return true;
}

static bool want_files(struct bundle_files *f, const struct json *schema, struct json *value)
{
    bool is_ok = true;
    if (!value || !file_args_in(schema))
        return true;
    if (file_args_is(schema))
        return want_file(f, value);
    for (uint32_t i = 0; is_ok && json_is(value, JSON_ARRAY) && i < value->len; i++)
        is_ok = want_file(f, &value->items[i]);
    return is_ok;
}

static bool find_wanted(struct bundle_files *f, const struct tool *t)
{
    const struct json *properties = json_get(t->input_schema, "properties");
    bool is_ok = true;
    for (uint32_t i = 0; is_ok && json_is(properties, JSON_OBJECT) && i < properties->len; i++) {
        const struct json_member *p = &properties->members[i];
        is_ok = want_files(f, &p->value, (struct json *)json_get_str(f->args, p->key));
    }
    return is_ok;
}

/* ---- directories, on the pool ---- */

static int files_fail(struct bundle_files *f, const char *what)
{
    return err_set(&f->err, -errno, "The files of the call cannot be exchanged: %s: %s.", what,
                   err_reason(-errno));
}

static int copy_in(struct bundle_files *f, const struct file_in *in)
{
    char piece[32 * 1024];
    ssize_t n = 0;
    if (mkdir(in->dir, 0700) < 0)
        return files_fail(f, "inbox");
    int to = open(in->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400), r = 0;
    while (to >= 0 && r == 0 && (n = read(in->fd, piece, sizeof piece)) > 0)
        r = file_write_all(to, str_make(piece, (size_t)n));
    if (to < 0 || n < 0)
        r = -errno;
    file_close(to);
    if (r < 0)
        errno = -r;
    return r < 0 ? files_fail(f, "inbox") : 0;
}

/* The data directory belongs to the bundle, which may have put anything there; its parent does not.
 */
static int make_outbox(struct bundle_files *f)
{
    enum { DIRECTORY = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
    int r = file_make_dirs(f->dirs.data, &f->err); /* it may never have been started */
    int data = r < 0 ? r : open(f->dirs.data, DIRECTORY);
    if (r < 0)
        return r;
    if (data < 0)
        return files_fail(f, "data directory");
    (void)mkdirat(data, "outbox", 0700);
    f->outbox = openat(data, "outbox", DIRECTORY);
    bool is_made = f->outbox >= 0 && mkdirat(f->outbox, f->id, 0700) == 0;
    if (is_made)
        f->call_dir = openat(f->outbox, f->id, DIRECTORY);
    r = f->call_dir < 0 ? files_fail(f, "outbox") : 0;
    file_close(data);
    return r;
}

static void prepare_work(struct job *j)
{
    struct bundle_files *f = CONTAINER_OF(j, struct bundle_files, job);
    int r = f->nin > 0 ? file_make_dirs(f->dirs.inbox, &f->err) : 0;
    for (size_t i = 0; i < f->nin && r == 0; i++)
        r = copy_in(f, &f->in[i]);
    if (r == 0 && f->has_outbox)
        (void)make_outbox(f);
}

static void remove_dirs_work(struct job *j)
{
    struct bundle_files *f = CONTAINER_OF(j, struct bundle_files, job);
    for (size_t i = 0; i < f->nin; i++)
        if (f->in[i].dir)
            (void)dir_remove_tree(AT_FDCWD, f->in[i].dir, 1);
    if (f->outbox >= 0)
        (void)dir_remove_tree(f->outbox, f->id, TREE_DEPTH);
    for (size_t i = 0; i < f->nin; i++)
        file_close(f->in[i].fd);
    for (size_t i = f->nkept; i < f->nout; i++)
        file_close(f->out[i].fd);
    file_close(f->call_dir);
    file_close(f->outbox);
}

/* ---- life ---- */

static void on_removed(struct job *j)
{
    struct bundle_files *f = CONTAINER_OF(j, struct bundle_files, job);
    buf_done(&f->notes);
    arena_done(&f->arena);
    free(f);
}

static void run_job(struct bundle_files *f, void (*work)(struct job *j),
                    void (*done)(struct job *j))
{
    assert(!f->is_busy);
    f->is_busy = true;
    pool_run(runtime_deps(f->rt)->pool, &f->job, work, done);
}

/* After a job: false, the call has ended meanwhile. */
static bool job_over(struct bundle_files *f)
{
    f->is_busy = false;
    if (!f->call)
        run_job(f, remove_dirs_work, on_removed);
    return f->call != NULL;
}

void bundle_files_end(struct bundle_files *f)
{
    if (!f)
        return;
    assert(f->call);
    f->call = NULL;
    if (f->upload)
        upload_cancel(f->upload);
    defer_stop(&f->later);
    seen_files_free(f->seen);
    if (!f->is_busy)
        run_job(f, remove_dirs_work, on_removed);
}

/* ---- before the call ---- */

static void files_ready(struct bundle_files *f)
{
    struct arena *a = &f->call->arena;
    struct json *meta = NULL;
    seen_files_free(f->seen);
    f->seen = NULL;
    if (f->err.code < 0) {
        f->fn(f->ctx, &f->err, NULL, NULL);
        return;
    }
    for (size_t i = 0; i < f->nin; i++)
        *f->in[i].value = json_of_str(arena_str(a, str_from(f->in[i].path)));
    if (f->has_outbox) {
        meta = json_new(a, JSON_OBJECT);
        json_set(a, meta, STR(FILE_ARGS_OUTBOX),
                 json_of_str(arena_printf(a, "%s/outbox/%s", f->dirs.data, f->id)));
    }
    f->fn(f->ctx, NULL, f->args, meta);
}

static void on_files_refused(void *ctx)
{
    files_ready(ctx);
}

static void on_prepared(struct job *j)
{
    struct bundle_files *f = CONTAINER_OF(j, struct bundle_files, job);
    if (job_over(f))
        files_ready(f);
}

static void place_files(struct bundle_files *f)
{
    for (size_t i = 0; i < f->nin; i++) {
        struct file_in *in = &f->in[i];
        in->dir = arena_printf(&f->arena, "%s/%s-%zu", f->dirs.inbox, f->id, i).p;
        str name = file_name_clean(&f->arena, in->file->name); /* one that is in a log may be odd */
        in->path = arena_printf(&f->arena, "%s/%.*s", in->dir, STR_ARG(name)).p;
    }
    run_job(f, prepare_work, on_prepared);
}

static void open_next(struct bundle_files *f);

static void on_in_opened(void *ctx, const struct err *err, int fd)
{
    struct bundle_files *f = ctx;
    if (err) {
        f->err = *err;
        files_ready(f);
        return;
    }
    f->in[f->nopened++].fd = fd;
    open_next(f);
}

static void open_next(struct bundle_files *f)
{
    if (f->nopened == f->nin)
        place_files(f);
    else
        seen_files_open(f->seen, f->in[f->nopened].file, on_in_opened, f);
}

static void on_wanted_seen(void *ctx, const struct err *err, const struct file_set *set)
{
    struct bundle_files *f = ctx;
    uint64_t bytes = 0;
    if (err)
        f->err = *err;
    for (size_t i = 0; f->err.code == 0 && i < f->nin; i++) {
        str name = json_string(f->in[i].value, STR_NONE);
        f->in[i].file = file_set_find(set, name);
        bytes += f->in[i].file ? f->in[i].file->bytes : 0;
        if (!f->in[i].file)
            err_set(&f->err, -ENOENT,
                    "There is no file '%.*s' that you can read here. files__list lists them.",
                    STR_ARG(utf8_truncate(name, 200)));
        else if (bytes > BUNDLE_FILES_IN_BYTES)
            err_set(&f->err, -EFBIG, "The files of one call have at most %u MiB together.",
                    BUNDLE_FILES_IN_BYTES >> 20);
    }
    if (f->err.code < 0)
        files_ready(f);
    else
        open_next(f);
}

static int check_possible(struct bundle_files *f, struct bundle_source *s)
{
    if (!bundle_dirs(s->bundle, &f->arena, &f->dirs))
        return err_set(&f->err, -ENOTSUP,
                       "%s does not run on this machine: it cannot be given files.",
                       s->source.name);
    if (f->nin > 0 && f->call->who.app.n > 0)
        return err_set(&f->err, -EPERM, "An interface cannot give files to its server.");
    return 0;
}

struct bundle_files *bundle_files_start(struct bundle_source *s, const struct tool *t,
                                        struct tool_call *call, bundle_files_fn fn, void *ctx)
{
    struct bundle_files *f = xcalloc(1, sizeof *f);
    *f = (struct bundle_files){.rt = s->all->rt, .call = call, .fn = fn, .ctx = ctx};
    arena_init(&f->arena);
    buf_init(&f->notes, NOTES_MAX);
    defer_init(&f->later, on_files_refused, f);
    random_id("call", f->id);
    f->outbox = f->call_dir = -1;
    f->has_outbox = file_args_has_outbox(t) && runtime_deps(f->rt)->files != NULL;
    f->args = json_clone(&call->arena, call->args);
    if (!find_wanted(f, t) || check_possible(f, s) < 0)
        defer_start(runtime_deps(f->rt)->loop, &f->later);
    else if (f->nin > 0)
        f->seen = seen_files_start(f->rt, call->who.actor, call->who.conversation_id,
                                   call->who.run_id.n > 0, on_wanted_seen, f);
    else
        run_job(f, prepare_work, on_prepared);
    return f;
}

/* ---- after the call ---- */

static int by_name(const void *x, const void *y)
{
    return str_cmp(((const struct file_out *)x)->name, ((const struct file_out *)y)->name);
}

/* Looked at before it is opened, because opening a device has effects; and again afterwards,
 * because the bundle may still be running. */
static void take_out(struct bundle_files *f, const char *name)
{
    struct stat st;
    int fd = -1;
    if (f->nout < BUNDLE_FILES_MAX && fstatat(f->call_dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(st.st_mode))
        fd = openat(f->call_dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        file_close(fd);
        f->nrefused++;
        return;
    }
    f->out[f->nout++] =
        (struct file_out){fd, file_name_clean(&f->arena, str_from(name)), (uint64_t)st.st_size};
}

static void collect_work(struct job *j)
{
    struct bundle_files *f = CONTAINER_OF(j, struct bundle_files, job);
    struct dir d = dir_open_below(f->call_dir, ".");
    for (size_t i = 0; i < LOOKED_AT_MAX && dir_next(&d); i++)
        take_out(f, d.name);
    dir_close(&d);
    if (f->nout > 1)
        qsort(f->out, f->nout, sizeof(f->out[0]), by_name);
}

static void files_kept(struct bundle_files *f)
{
    struct arena *a = &f->call->arena;
    if (f->nrefused > 0)
        buf_printf(&f->notes,
                   "[%zu entries of the outbox were not kept: at most %u files, and no links, "
                   "directories or devices.]\n",
                   f->nrefused, BUNDLE_FILES_MAX);
    if (f->notes.n > 0) {
        struct tool_result note = tool_result_text(a, arena_str(a, buf_str(&f->notes)));
        struct json *content = json_new(a, JSON_ARRAY);
        for (uint32_t i = 0; json_is(f->res->content, JSON_ARRAY) && i < f->res->content->len; i++)
            json_push(a, content, f->res->content->items[i]);
        json_push(a, content, note.content->items[0]);
        f->res->content = content;
    }
    f->kept_fn(f->ctx);
}

static void keep_next(struct bundle_files *f);

static void on_kept(void *ctx, const struct err *err, const struct attached *file)
{
    struct bundle_files *f = ctx;
    f->upload = NULL;
    if (err)
        buf_printf(&f->notes, "[\"%.*s\" was not kept: %s]\n", STR_ARG(f->out[f->nkept - 1].name),
                   err->msg);
    else
        tool_result_add_file(&f->call->arena, f->res, file);
    keep_next(f);
}

static void on_kept_room(void *ctx) {}

static void keep_next(struct bundle_files *f)
{
    static const struct upload_events EVENTS = {on_kept_room, on_kept};
    if (f->nkept == f->nout) {
        files_kept(f);
        return;
    }
    const struct file_out *out = &f->out[f->nkept++];
    f->upload = upload_new(runtime_deps(f->rt)->files, actor_user(f->call->who.actor), &EVENTS, f);
    upload_name(f->upload, out->name);
    upload_take(f->upload, out->fd, out->bytes);
}

static void on_collected(struct job *j)
{
    struct bundle_files *f = CONTAINER_OF(j, struct bundle_files, job);
    if (job_over(f))
        keep_next(f);
}

void bundle_files_collect(struct bundle_files *f, struct tool_result *res, bundle_files_kept_fn fn,
                          void *ctx)
{
    assert(f->call && !f->is_busy);
    f->res = res;
    f->kept_fn = fn;
    f->ctx = ctx;
    if (f->call_dir >= 0 && user_id_ok(actor_user(f->call->who.actor)))
        run_job(f, collect_work, on_collected);
    else
        fn(ctx);
}
