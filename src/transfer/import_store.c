/* import_store.c - writes the batches of an importer into a store.
 *
 * Either a job or a store call is pending: a job on a reader thread reads the next batch (or a
 * blob), then store calls write it. A conversation that cannot be completed is deleted, so that a
 * later import does not find half of it and skip it. */
#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "base/bytes/hash.h"
#include "os/file.h"
#include "store/backend/backend.h"
#include "store/event/blobs.h"
#include "transfer/import.h"
#include "transfer/import_impl.h"

/* Of one copy of a blob. File systems limit the links of a file (ext4: 65000, NTFS: 1024), and a
 * store copies the bytes behind that: so that they are counted, the import makes the copy. */
#define COPY_USES_MAX 1000u

struct stored_blob {
    const char *id; /* of a conversation that has the copy */
    unsigned uses;
};

struct import {
    struct store *store;
    struct arena arena; /* of the strings given */
    const char *path;
    enum import_kind kind;
    str owner_id;
    struct import_views views;
    void (*progress)(void *ctx, const struct import_report *r, double share);
    import_done_fn fn;
    void *ctx;

    struct import_report report;
    struct importer *importer;
    struct import_batch batch;
    struct arena conv_arena; /* the id of the current conversation */
    str id;
    size_t next_blob;

    /* sha256 of a blob -> struct stored_blob; later conversations refer to the same bytes. At most
     * IMPORT_TOTAL_FILES, also of logs */
    struct map stored;
    uint64_t max_bytes, max_files, bytes, files;

    struct job job; /* either this is pending, or op */
    bool is_working, is_cancelled, must_skip;
    bool is_unfinished; /* a conversation was created and may be incomplete */
    int status;
    struct err err;
    struct arena scratch; /* a blob */
    str blob, blob_sha;
    struct arena held_arena; /* shared blobs that the store keeps until their batch is written */
    str *held;
    size_t nheld, held_cap;
    struct store_op *op;
};

static void release_held(struct import *im)
{
    while (im->nheld > 0)
        store_release_shared(im->store, im->held[--im->nheld]);
    im->held = NULL;
    im->held_cap = 0;
    arena_reset(&im->held_arena);
}

static void import_free(struct import *im)
{
    release_held(im);
    importer_close(im->importer);
    map_done(&im->stored);
    import_report_done(&im->report);
    arena_done(&im->arena);
    arena_done(&im->conv_arena);
    arena_done(&im->scratch);
    arena_done(&im->held_arena);
    free(im);
}

static void import_finish(struct import *im, const struct err *err)
{
    im->fn(im->ctx, err, &im->report);
    import_free(im);
}

static void start_job(struct import *im, void (*work)(struct job *j), void (*done)(struct job *j))
{
    assert(!im->is_working && !im->op);
    im->is_working = true;
    pool_run(im->store->env->readers, &im->job, work, done);
}

/* False when the import was cancelled meanwhile; it is freed then. */
static bool job_ended(struct import *im)
{
    assert(im->is_working && !im->op);
    im->is_working = false;
    if (!im->is_cancelled)
        return true;
    import_free(im);
    return false;
}

/* ---- batches ---- */

static void next_step(struct import *im);

static int open_importer(struct import *im)
{
    int r = importer_open(im->path, im->kind, &im->report, &im->importer, &im->err);
    if (r == 0)
        importer_use_owner(im->importer, im->owner_id);
    if (r == 0 && im->views.make)
        importer_use_views(im->importer, &im->views);
    return r;
}

static void next_batch(struct job *j)
{
    struct import *im = CONTAINER_OF(j, struct import, job);
    im->status = im->importer ? 0 : open_importer(im);
    if (im->status == 0 && im->must_skip)
        importer_skip(im->importer);
    if (im->status == 0)
        im->status = importer_next(im->importer, &im->batch);
    im->must_skip = false;
    im->next_blob = 0;
}

static void on_old_found(void *ctx, const struct err *err, const struct conv *old);
static void create_conv(struct import *im);

static void on_batch(struct job *j)
{
    struct import *im = CONTAINER_OF(j, struct import, job);
    if (!job_ended(im))
        return;
    if (im->status == 0 && im->report.conversations + im->report.existing == 0)
        im->status = err_set(&im->err, -ENODATA, "%s contains no conversation", im->path);
    if (im->status <= 0) {
        import_finish(im, im->status < 0 ? &im->err : NULL);
        return;
    }
    if (im->progress)
        im->progress(im->ctx, &im->report, importer_progress(im->importer));
    if (!im->batch.is_new) {
        next_step(im);
        return;
    }
    im->is_unfinished = false;
    if (im->batch.old_id.n > 0)
        im->op = store_get(im->store, im->batch.old_id, on_old_found, im);
    else
        create_conv(im);
}

static void skip_existing(struct import *im)
{
    im->report.existing++;
    im->must_skip = true;
    start_job(im, next_batch, on_batch);
}

/* One that somebody else imported says nothing about this import. */
static void on_old_found(void *ctx, const struct err *err, const struct conv *old)
{
    struct import *im = ctx;
    im->op = NULL;
    if (!err && str_eq(old->acl.owner_id, im->owner_id))
        skip_existing(im);
    else
        create_conv(im);
}

static void on_created(void *ctx, const struct err *err, const struct conv *conv);

static void create_conv(struct import *im)
{
    struct conv_create spec = im->batch.conv;
    if (im->owner_id.n)
        spec.owner_id = im->owner_id;
    arena_reset(&im->conv_arena);
    im->id = arena_str(&im->conv_arena, spec.id);
    im->op = store_create(im->store, &spec, on_created, im);
}

static void on_created(void *ctx, const struct err *err, const struct conv *conv)
{
    struct import *im = ctx;
    im->op = NULL;
    assert(!im->is_unfinished);
    if (!err) {
        im->report.conversations++;
        im->is_unfinished = true;
        next_step(im);
    } else if (err->code == -EEXIST) {
        skip_existing(im);
    } else {
        import_finish(im, err);
    }
}

/* ---- taking back ---- */

static void on_taken_back(void *ctx, const struct err *err)
{
    struct import *im = ctx;
    im->op = NULL;
    im->report.conversations--;
    import_finish(im, &im->err);
}

static void take_back(struct import *im, const struct err *err)
{
    im->err = *err;
    im->op = store_delete(im->store, im->id, true, NULL, NULL, on_taken_back, im);
}

/* The pending store call of a conversation has ended. False: it failed, and the conversation is
 * taken back. */
static bool import_step(struct import *im, const struct err *err)
{
    assert(im->op && im->is_unfinished && !im->is_working);
    im->op = NULL;
    if (err)
        take_back(im, err);
    return !err;
}

/* ---- blobs, then events ---- */

static void name_blob(struct import *im)
{
    char hex[SHA256_HEX_LEN + 1];
    sha256_hex(im->blob, hex);
    im->blob_sha = arena_str(&im->scratch, str_from(hex));
}

static void read_blob(struct job *j)
{
    struct import *im = CONTAINER_OF(j, struct import, job);
    const struct import_blob *b = &im->batch.blobs[im->next_blob];
    arena_reset(&im->scratch);
    im->status = 0;
    im->blob = b->bytes;
    str path = str_from(b->path ? b->path : "");
    if (b->is_file)
        im->status = file_read(&im->scratch, path.p, IMPORT_FILE_BYTES, &im->blob, &im->err);
    if (!b->path || b->is_file) {
        if (im->status == 0)
            name_blob(im);
        return;
    }
    size_t slash = (size_t)str_rfind_char(path, '/');
    const char *dir = arena_cstr(&im->scratch, str_slice(path, 0, slash));
    im->blob_sha = str_skip(path, slash + 1);
    im->status = blobs_get(&im->scratch, dir, im->blob_sha, &im->blob, &im->err);
}

/* Logs of nb are not counted: their import needs what they need already. */
static bool may_store(struct import *im, uint64_t bytes, uint64_t files)
{
    struct err e = {0};
    if (!im->batch.is_export)
        return true;
    im->bytes += bytes;
    im->files += files;
    if (im->bytes <= im->max_bytes && im->files <= im->max_files)
        return true;
    bool is_large = im->bytes > im->max_bytes;
    err_set(&e, -E2BIG,
            "one import stores at most %llu %s, and this export has more; what was imported stays: "
            "import it again to continue, or remove files from it",
            (unsigned long long)(is_large ? im->max_bytes >> 20 : im->max_files),
            is_large ? "MiB" : "files");
    take_back(im, &e);
    return false;
}

/* A conversation that has the blob, and whose copy may be used once more; NULL: there is none. */
static const char *stored_in(const struct import *im, str sha256)
{
    const struct stored_blob *b = map_get(&im->stored, sha256);
    return b && b->uses < COPY_USES_MAX ? b->id : NULL;
}

static void note_stored(struct import *im, str sha256)
{
    struct stored_blob *b = map_get(&im->stored, sha256);
    if (b && b->uses < COPY_USES_MAX) {
        b->uses++;
        return;
    }
    if (!b && map_len(&im->stored) >= IMPORT_TOTAL_FILES)
        return;
    if (!b)
        map_put(&im->stored, sha256, b = ARENA_NEW(&im->arena, struct stored_blob));
    *b = (struct stored_blob){.id = arena_cstr(&im->arena, im->id), .uses = 1};
}

static void put_blob(struct import *im);

/* Somebody may have deleted the conversation that had the blob: then this one gets a copy, which
 * counts. */
static void on_blob_written(void *ctx, const struct err *err, str sha256)
{
    struct import *im = ctx;
    if (err && err->code == -ESTALE && map_del(&im->stored, im->blob_sha)) {
        im->op = NULL;
        put_blob(im);
        return;
    }
    if (!import_step(im, err))
        return;
    note_stored(im, sha256);
    im->next_blob++;
    next_step(im);
}

static void on_shared_written(void *ctx, const struct err *err, str sha256)
{
    struct import *im = ctx;
    if (!err) {
        ARENA_GROW(&im->held_arena, im->held, im->nheld, im->held_cap);
        im->held[im->nheld++] = arena_str(&im->held_arena, sha256);
    }
    on_blob_written(ctx, err, sha256);
}

static void put_blob(struct import *im)
{
    const char *from = stored_in(im, im->blob_sha);
    if (!may_store(im, from ? 0 : im->blob.n, 0))
        return;
    if (im->batch.blobs[im->next_blob].is_shared)
        im->op = store_put_shared(im->store, im->id, im->blob, im->blob_sha, on_shared_written, im);
    else
        im->op = store_put_blob_from(im->store, im->id, im->blob, str_from(from ? from : ""),
                                     on_blob_written, im);
}

static void on_blob_read(struct job *j)
{
    struct import *im = CONTAINER_OF(j, struct import, job);
    if (!job_ended(im))
        return;
    if (im->status < 0) {
        import_lose(&im->report, "%s", im->err.msg);
        im->next_blob++;
        next_step(im);
        return;
    }
    if (may_store(im, 0, 1))
        put_blob(im);
}

static void on_appended(void *ctx, const struct err *err, const store_pos *pos, size_t n)
{
    struct import *im = ctx;
    release_held(im);
    if (!import_step(im, err))
        return;
    im->report.events += (int64_t)n;
    start_job(im, next_batch, on_batch);
}

static uint64_t bytes_of_events(const struct import_batch *b)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < b->n; i++)
        bytes += b->events[i].n;
    return bytes;
}

static void next_step(struct import *im)
{
    assert(im->is_unfinished && im->next_blob <= im->batch.nblobs);
    if (im->next_blob < im->batch.nblobs)
        start_job(im, read_blob, on_blob_read);
    else if (may_store(im, bytes_of_events(&im->batch), 0))
        im->op = store_append(im->store, im->id, im->batch.events, im->batch.n, on_appended, im);
}

struct import *import_run(struct store *s, const struct import_spec *spec, import_done_fn fn,
                          void *ctx)
{
    struct import *im = xcalloc(1, sizeof(*im));
    im->store = s;
    arena_init(&im->arena);
    arena_init(&im->conv_arena);
    arena_init(&im->scratch);
    arena_init(&im->held_arena);
    im->path = arena_cstr(&im->arena, str_from(spec->path));
    im->kind = spec->kind;
    im->owner_id = arena_str(&im->arena, spec->owner_id);
    im->views = spec->views;
    im->max_bytes = spec->max_bytes > 0 ? spec->max_bytes : IMPORT_TOTAL_BYTES;
    im->max_files = spec->max_files > 0 ? spec->max_files : IMPORT_TOTAL_FILES;
    im->progress = spec->progress;
    im->fn = fn;
    im->ctx = ctx;
    import_report_init(&im->report);
    start_job(im, next_batch, on_batch);
    return im;
}

static void on_dropped(void *ctx, const struct err *err)
{
    (void)ctx;
}

void import_cancel(struct import *im)
{
    assert(!im->is_cancelled);
    im->is_cancelled = true;
    if (im->is_unfinished)
        store_delete(im->store, im->id, true, NULL, NULL, on_dropped, NULL);
    if (im->is_working)
        return; /* on_batch or on_blob_read frees it */
    store_op_cancel(im->op);
    import_free(im);
}
