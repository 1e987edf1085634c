/* /v1/import - importing conversations from files of this machine.
 *
 * The path is a path on the server's machine, so only its own user may send it, through the Unix
 * socket; for everybody else the route does not exist. One import at a time; it continues when the
 * client disconnects, and its progress can be polled until it has ended. */
#include "api/conversations/import.h"

#include <assert.h>

#include "api/api_impl.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "transfer/import.h"

struct api_import {
    struct import *job; /* NULL after it has ended */
    struct arena arena;
    str path;
    double share;
    int64_t conversations, existing, events, lost;
    struct json_strs losses;
    struct err err;
};

void api_import_free(struct api_import *im)
{
    if (!im)
        return;
    if (im->job)
        import_cancel(im->job);
    arena_done(&im->arena);
    free(im);
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

static void on_import_done(void *ctx, const struct err *err, const struct import_report *r)
{
    struct api_import *im = ctx;
    assert(im->job);
    im->job = NULL;
    im->share = 1;
    import_note(im, r);
    im->losses.items = arena_array(&im->arena, r->nlosses, sizeof(str));
    for (; im->losses.len < r->nlosses; im->losses.len++)
        im->losses.items[im->losses.len] = arena_str(&im->arena, r->losses[im->losses.len]);
    if (err)
        im->err = *err;
}

static void import_reply(struct http_req *r, const struct api_import *im)
{
    struct api_json j;
    api_json_begin(&j);
    jw_kstr(&j.w, "path", im->path);
    jw_kbool(&j.w, "isRunning", im->job != NULL);
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

static const struct json_field IMPORT_FIELDS[] = {
    {"path", JF_CSTR, offsetof(struct import_body, path), JF_REQUIRED, NULL, 0},
    {"kind", JF_STR, offsetof(struct import_body, kind), JF_NULLABLE, NULL, 0},
    {0}};

static void import_start(struct api *api, struct http_req *r, const struct import_spec *spec)
{
    struct api_import *im = xcalloc(1, sizeof *im);
    assert(!api->import || !api->import->job); /* its callback would write to freed memory */
    arena_init(&im->arena);
    im->path = arena_str(&im->arena, str_from(spec->path));
    api_import_free(api->import);
    api->import = im;
    im->job = import_run(api_space(r)->store, spec, on_import_done, im);
    import_reply(r, im);
}

void api_import_start(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct import_body body = {0};
    struct err e = {0};
    struct import_spec spec = {.progress = on_import_progress};
    if (!api_decode_body(r, IMPORT_FIELDS, &body))
        return;
    else if (body.path[0] != '/')
        api_bad_request(r, "path: expected an absolute path");
    else if (body.kind.n > 0 && import_kind_parse(body.kind, &spec.kind, &e) < 0)
        api_bad_request(r, e.msg);
    else if (api->import && api->import->job)
        http_reply_error(r, 409, "import_in_progress", "Another import is still in progress.",
                         NULL);
    else {
        spec.path = body.path;
        spec.owner_id = api_user(r);
        import_start(api, r, &spec);
    }
}

void api_import_get(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    if (!api->import)
        api_not_found(r, "import");
    else
        import_reply(r, api->import);
}
