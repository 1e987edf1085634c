/* jsonl.c - one file per conversation: <dir>/<id>.jsonl, blobs in <dir>/<id>.blobs. */
#include <errno.h>

#include "os/dir.h"
#include "store/files/files.h"
#include "store/files/trash.h"
#include "store/index/index.h"
#include "store/log/replay.h"

static const char *jsonl_path(const struct files *f, struct arena *a, str id, str suffix)
{
    const str parts[] = {str_from(f->store->conf.dir), STR("/"), id, suffix};
    return arena_join(a, parts, ARRAY_LEN(parts)).p;
}

static const char *log_path(struct files *f, struct arena *a, str id)
{
    return jsonl_path(f, a, id, STR(".jsonl"));
}

static const char *blob_dir(struct files *f, struct arena *a, str id)
{
    return jsonl_path(f, a, id, STR(".blobs"));
}

static const struct file_layout LAYOUT = {.path = log_path,
                                          .blob_dir = blob_dir,
                                          .is_journalled = true,
                                          .has_shared_blobs = true,
                                          .trash_suffix = ".jsonl",
                                          .trash_depth = TRASH_DEPTH,
                                          .trash_log = trash_log};

static void warn(void *logger, const char *sentence)
{
    log_warn(logger, "store", "%s", sentence);
}

/* Runs before any log is opened: its last events may be in the journal of a process that ended. */
static int replay(struct store *s, struct err *e)
{
    struct replay_report report;
    if (s->conf.read_only)
        return 0;
    int r = replay_journals(appender_io(s->env->appender), s->conf.dir, &report, e);
    replay_tell(&report, s->conf.dir, warn, s->env->log);
    return r;
}

static int jsonl_open(struct store *s, struct err *e)
{
    if (!s->conf.dir || !*s->conf.dir)
        return err_set(e, -EINVAL, "store.dir: the jsonl store needs a directory");
    int r = replay(s, e);
    if (r == 0)
        r = files_open(s, &LAYOUT, e);
    if (r < 0)
        return r;
    struct files *f = s->impl;
    if (s->conf.cache_dir)
        f->index = index_new(s, s->conf.dir);
    trash_sweep(s);
    return 0;
}

/* The directory was created when the store was opened for writing, so it was removed since. */
static int missing_dir(const struct store *s, struct err *e)
{
    if (s->conf.read_only)
        return 0;
    return err_set(e, -EIO, "the directory of conversations is missing: %s", s->conf.dir);
}

static int jsonl_each_id(struct store *s, store_id_fn fn, void *ctx, struct err *e)
{
    struct dir d = dir_open(s->conf.dir);
    if (d.error < 0)
        return d.error == -ENOENT ? missing_dir(s, e)
                                  : err_errno(e, d.error, "cannot list", s->conf.dir);
    bool goes_on = true;
    while (goes_on && dir_next(&d)) {
        str name = str_from(d.name);
        str id = str_ends(name, STR(".jsonl")) ? str_slice(name, 0, name.n - 6) : STR_NONE;
        goes_on = !store_id_valid(id) || fn(ctx, id);
    }
    dir_close(&d);
    return 0;
}

const struct store_ops store_jsonl_ops = {
    .type = "jsonl",
    .has_files = true,
    .open = jsonl_open,
    .close = files_close,
    .create = files_create,
    .append = files_append,
    .fork = files_fork,
    .remove = trash_remove,
    .restore = trash_restore,
    .put_blob = files_put_blob,
    .get_blob = files_get_blob,
    .take_shared = files_take_shared,
    .put_shared = files_put_shared,
    .get_shared = files_get_shared,
    .release_shared = files_release_shared,
    .blob_fd = files_blob_fd,
    .ledger_add = ledger_file_add,
    .ledger_page = ledger_file_page,
    .list_trash = trash_list,
    .peek = person_file_peek,
    .person_read = person_file_read,
    .person_change = person_file_change,
    .get = files_get,
    .read = files_read,
    .list = index_list,
    .search = index_search,
    .scan = files_scan,
    .each_id = jsonl_each_id,
};
