/* /v1/import - importing conversations from files of this machine.
 *
 * The path is a path on the server's machine, so only its own user may send it, through the Unix
 * socket; for everybody else the route does not exist. import_given.c has the route for a file that
 * a person has given, which may be an archive. One import at a time; it continues when the client
 * disconnects, and its progress can be polled until it has ended. */
#include "api/conversations/import.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/api_impl.h"
#include "api/bodies.h"
#include "api/conversations/chat_files.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "bundle/package/archive.h"
#include "os/file.h"
#include "store/event/io.h"

#define TREE_DEPTH (ARCHIVE_DEPTH_MAX + 2)

struct api_import {
    struct import *job; /* NULL before it runs and after it has ended */
    struct arena arena;
    str path, owner_id;
    double share;
    /* Of a given file: */
    struct api *api;         /* NULL after the API was freed */
    struct api_space *space; /* held until it has ended */
    struct import_spec spec;
    int fd;
    char *dir; /* where an archive is unpacked */
    bool is_unpacking;
    struct job unpacking;
    int64_t conversations, existing, events, lost;
    struct json_strs losses;
    struct err err;
};

/* Closes and removes what a given file needed. */
static void import_clean(struct api_import *im)
{
    file_close(im->fd);
    if (im->dir)
        (void)io_remove_tree(&store_io_system, im->dir, TREE_DEPTH);
    if (im->space)
        api_release(im->api, im->space);
    im->fd = -1;
    im->dir = NULL;
    im->space = NULL;
}

static void import_end(struct api_import *im)
{
    import_clean(im);
    arena_done(&im->arena);
    free(im);
}

void api_import_free(struct api_import *im)
{
    if (!im)
        return;
    if (im->job)
        import_cancel(im->job);
    if (im->is_unpacking && im->space) /* the job ends it; it does not use the workspace */
        api_release(im->api, im->space);
    if (im->is_unpacking)
        im->api = NULL, im->space = NULL;
    else
        import_end(im);
}

static void import_note(struct api_import *im, const struct import_report *r)
{
    im->conversations = r->conversations;
    im->existing = r->existing;
    im->events = r->events;
    im->lost = r->lost;
}

static void on_import_progress(void *ctx, const struct import_report *r, double share)
{
    struct api_import *im = ctx;
    im->share = share;
    import_note(im, r);
}

/* A person who has given a file is told its name, not where the server has put it. */
static str without_path(struct api_import *im, str text)
{
    str at = str_from(im->spec.path);
    ptrdiff_t i = im->fd >= 0 ? str_find(text, at, 0) : -1;
    if (i < 0)
        return arena_str(&im->arena, text);
    return arena_printf(&im->arena, "%.*s%.*s%.*s", (int)i, text.p, STR_ARG(im->path),
                        STR_ARG(str_skip(text, (size_t)i + at.n)));
}

static void import_fail(struct api_import *im, const struct err *err)
{
    str text = without_path(im, str_from(err->msg));
    err_set(&im->err, err->code, "%.*s", STR_ARG(text));
}

static void on_import_done(void *ctx, const struct err *err, const struct import_report *r)
{
    struct api_import *im = ctx;
    assert(im->job);
    im->job = NULL;
    im->share = 1;
    import_note(im, r);
    im->losses.items = arena_array(&im->arena, r->nlosses, sizeof(str));
    for (; im->losses.len < r->nlosses; im->losses.len++)
        im->losses.items[im->losses.len] = without_path(im, r->losses[im->losses.len]);
    if (err)
        import_fail(im, err);
    import_clean(im);
}

void api_import_reply(struct http_req *r, const struct api_import *im)
{
    struct api_json j;
    api_json_begin(&j);
    jw_kstr(&j.w, "path", im->path);
    jw_kbool(&j.w, "isRunning", im->job || im->is_unpacking);
    jw_kdouble(&j.w, "share", im->share);
    jw_kint(&j.w, "conversations", im->conversations);
    jw_kint(&j.w, "existing", im->existing);
    jw_kint(&j.w, "events", im->events);
    jw_kint(&j.w, "lost", im->lost);
    api_write_strs(&j.w, "losses", im->losses);
    jw_kcstr(&j.w, "error", im->err.code ? im->err.msg : NULL);
    api_json_send(&j, r);
}

struct import_body {
    const char *path;
    str kind;
};

const struct json_field API_IMPORT_FIELDS[] = {
    {"path", JF_CSTR, offsetof(struct import_body, path), JF_REQUIRED, NULL, 0,
     "The whole path of a file or directory on the server's machine."},
    {"kind", JF_STR, offsetof(struct import_body, kind), JF_NULLABLE, NULL, 0,
     "What it is, when that cannot be seen from the file."},
    {0}};

/* On the thread of the importer. */
static int make_view(void *media, uint32_t side, struct arena *a, str picture,
                     struct import_view *ret, struct err *e)
{
    struct media_result made;
    int code = media_make_picture(media, a, picture, side, &made, e);
    if (code == 0)
        *ret = (struct import_view){made.bytes, made.mime, made.width, made.height};
    return code;
}

/* Takes the place of the last one, which has ended. */
static struct api_import *import_new(struct api *api, struct http_req *r, enum import_kind kind,
                                     str path)
{
    struct api_import *im = xcalloc(1, sizeof *im);
    assert(!api->import || !api->import->job); /* its callback would write to freed memory */
    arena_init(&im->arena);
    im->api = api;
    im->fd = -1;
    im->path = arena_str(&im->arena, path);
    im->owner_id = arena_str(&im->arena, api_user(r));
    im->spec = (struct import_spec){
        .kind = kind, .owner_id = im->owner_id, .progress = on_import_progress};
    if (api_space(r)->media)
        im->spec.views =
            (struct import_views){make_view, api_space(r)->media, chat_files_side(api, STR_NONE)};
    api_import_free(api->import);
    api->import = im;
    return im;
}

bool api_import_is_busy(const struct api *api, struct http_req *r)
{
    if (!api->import || !(api->import->job || api->import->is_unpacking))
        return false;
    http_reply_error(r, 409, "import_in_progress", "Another import is still in progress.", NULL);
    return true;
}

const struct api_import *api_import_of(const struct api *api, str user_id)
{
    return api->import && str_eq(api->import->owner_id, user_id) ? api->import : NULL;
}

/* ---- a given file ---- */

static void unpack(struct job *j) /* pool thread */
{
    struct api_import *im = CONTAINER_OF(j, struct api_import, unpacking);
    char head[4] = {0};
    if (pread(im->fd, head, sizeof head, 0) != sizeof head ||
        memcmp(head, "PK\x03\x04", sizeof head) != 0)
        return; /* a file that is read as it is */
    char *dir = arena_cstr(&im->arena, arena_printf(&im->arena, "%s/import-XXXXXX", im->spec.path));
    if (!mkdtemp(dir)) {
        int code = errno;
        err_set(&im->err, -code, "cannot create a directory for the export: %s", strerror(code));
        return;
    }
    im->dir = dir;
    im->spec.path = arena_printf(&im->arena, "%s/export", dir).p;
    (void)archive_unpack_fd(im->fd, im->path.p, im->spec.path, &im->err);
}

static void on_unpacked(struct job *j)
{
    struct api_import *im = CONTAINER_OF(j, struct api_import, unpacking);
    im->is_unpacking = false;
    if (!im->api) {
        import_end(im);
        return;
    }
    if (im->err.code < 0) {
        import_clean(im);
        return;
    }
    if (!im->dir)
        im->spec.path = arena_printf(&im->arena, "/proc/self/fd/%d", im->fd).p;
    im->job = import_run(im->space->store, &im->spec, on_import_done, im);
}

void api_import_given_file(struct api *api, struct http_req *r, enum import_kind kind, str name,
                           int fd)
{
    struct api_import *im = import_new(api, r, kind, name);
    im->fd = fd;
    im->space = api_hold(api, api_space(r));
    im->spec.path = arena_printf(&im->arena, "%s", im->space->root).p; /* an archive: below it */
    im->is_unpacking = true;
    pool_run(api->deps.pool, &im->unpacking, unpack, on_unpacked);
    api_import_reply(r, im);
}

/* ---- a path of this machine ---- */

void api_import_start(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct import_body body = {0};
    struct err e = {0};
    enum import_kind kind = IMPORT_ANY;
    if (!api_decode_body(r, API_IMPORT_FIELDS, &body))
        return;
    else if (body.path[0] != '/')
        api_bad_request(r, "path: expected an absolute path");
    else if (body.kind.n > 0 && import_kind_parse(body.kind, &kind, &e) < 0)
        api_bad_request(r, e.msg);
    else if (!api_import_is_busy(api, r)) {
        struct api_import *im = import_new(api, r, kind, str_from(body.path));
        im->spec.path = im->path.p;
        im->job = import_run(api_space(r)->store, &im->spec, on_import_done, im);
        api_import_reply(r, im);
    }
}

void api_import_get(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    if (!api->import)
        api_not_found(r, "import");
    else
        api_import_reply(r, api->import);
}
