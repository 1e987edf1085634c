/* POST /v1/files - a file is given: as the body itself, or as the one file of a form.
 * PATCH /v1/files/uploads/:upload - the next bytes of one that comes in several requests.
 *
 * The handler runs before the body is read (API_UPLOAD), so that nothing is taken from a client
 * that may not give it; the body goes to disk as it comes. The body is read only as fast as the
 * disk takes it. */
#include <assert.h>
#include <errno.h>

#include "api/admit.h"
#include "api/api_impl.h"
#include "api/exchange.h"
#include "api/files/files.h"
#include "api/handlers.h"
#include "attach/file_name.h"
#include "attach/multipart.h"
#include "attach/upload.h"

#define FORM_EXTRA_MAX (64u * 1024) /* of a form: everything but the file */

struct file_add {
    struct api *api;
    struct http_req *req;
    struct upload *upload; /* NULL: it has ended */
    bool is_form, has_file, is_in_file, is_paused;
    const char *problem; /* of the form */
    struct multipart form;
    bool is_resumed;
    uint64_t offset; /* of a resumed upload: where the next byte goes */
};

static void file_add_free(struct file_add *q)
{
    if (q->upload)
        upload_cancel(q->upload);
    if (q->is_form)
        multipart_done(&q->form);
    free(q);
}

static void on_file_add_gone(struct http_req *r)
{
    file_add_free(r->user);
}

static struct http_req *file_add_end(struct file_add *q)
{
    struct http_req *r = q->req;
    r->on_gone = NULL;
    file_add_free(q);
    return r;
}

/* ---- the upload ---- */

static void on_add_room(void *ctx)
{
    struct file_add *q = ctx;
    if (!q->is_paused)
        return;
    q->is_paused = false;
    http_receive_resume(q->req);
}

static void on_add_done(void *ctx, const struct err *err, const struct attached *file)
{
    struct file_add *q = ctx;
    struct api_json j;
    bool is_resumed = q->is_resumed;
    uint64_t offset = q->offset;
    q->upload = NULL;
    struct http_req *r = file_add_end(q);
    if (err) {
        api_fail(r, FROM_FILES, err);
        return;
    }
    if (!is_resumed) {
        api_json_value(&j);
        api_file_write(&j.w, file);
    } else {
        api_json_begin(&j);
        jw_kint(&j.w, "offset", (int64_t)offset);
        jw_key(&j.w, "file");
        if (file)
            api_file_write(&j.w, file);
        else
            jw_null(&j.w);
    }
    api_json_send(&j, r);
}

static const struct upload_events UPLOAD_EVENTS = {on_add_room, on_add_done};

static bool add_bytes(struct file_add *q, str bytes)
{
    q->offset += bytes.n;
    if (!upload_write(q->upload, bytes) && !q->is_paused) {
        q->is_paused = true;
        http_receive_pause(q->req);
    }
    return true;
}

/* ---- the form ---- */

static bool on_form_part(void *ctx, str name, str file_name, bool is_file)
{
    struct file_add *q = ctx;
    q->is_in_file = is_file;
    if (is_file && q->has_file) {
        q->problem = "The form has several files: send one in each request.";
        return false;
    }
    q->has_file |= is_file;
    if (is_file)
        upload_name(q->upload, file_name);
    return true;
}

static bool on_form_data(void *ctx, str data)
{
    struct file_add *q = ctx;
    return !q->is_in_file || add_bytes(q, data);
}

static bool on_form_part_end(void *ctx)
{
    return true;
}

static const struct multipart_events FORM_EVENTS = {on_form_part, on_form_data, on_form_part_end};

/* ---- the body ---- */

static bool refuse_form(struct file_add *q, const char *problem)
{
    return api_bad_request(file_add_end(q), problem);
}

static bool on_add_piece(struct http_req *r, str piece)
{
    struct file_add *q = r->user;
    if (!q->is_form)
        return add_bytes(q, piece);
    int code = multipart_feed(&q->form, piece);
    if (code == -EINVAL)
        return refuse_form(
            q, arena_printf(&r->arena, "The form is malformed: %s.", q->form.problem).p);
    return code == 0 || refuse_form(q, q->problem);
}

/* Minutes may have passed since the head. */
static void on_add_end(struct http_req *r)
{
    struct file_add *q = r->user;
    if (!admit_is_current(q->api, api_actor(r)))
        api_forbidden(file_add_end(q), "Your rights changed while the file was being sent.");
    else if (q->is_form && !multipart_is_done(&q->form))
        refuse_form(q, "The form is not complete.");
    else if (q->is_form && !q->has_file)
        refuse_form(q, "The form has no file.");
    else
        upload_finish(q->upload);
}

static const struct http_sink SINK = {on_add_piece, on_add_end};

/* ---- the head ---- */

static str given_name(struct http_req *r)
{
    str name = http_get_header(r, "x-file-name");
    return name.n > 0 ? file_name_decode(&r->arena, name) : api_query(r, "name");
}

static bool is_too_large(struct http_req *r, const struct attach *files)
{
    struct err e = {0};
    uint64_t length;
    if (parse_u64(http_get_header(r, "content-length"), &length) < 0)
        return false;
    uint64_t least = length > FORM_EXTRA_MAX ? length - FORM_EXTRA_MAX : 0;
    if (upload_check(files, least, &e) == 0)
        return false;
    api_fail(r, FROM_FILES, &e);
    return true;
}

static void receive_file(struct file_add *q, uint64_t extra)
{
    struct http_req *r = q->req;
    r->user = q;
    r->on_gone = on_file_add_gone;
    r->body_max = (size_t)(attach_conf(api_space(r)->files)->max_bytes + extra);
    http_receive(r, &SINK);
}

void api_uploads_write(void *ctx, struct http_req *r)
{
    uint64_t offset;
    if (parse_u64(http_get_header(r, "upload-offset"), &offset) < 0) {
        api_bad_request(r, "Upload-Offset: expected the number of bytes sent so far.");
        return;
    }
    struct file_add *q = xcalloc(1, sizeof *q);
    *q = (struct file_add){.api = ctx, .req = r, .is_resumed = true, .offset = offset};
    q->upload =
        upload_resume(api_space(r)->files, api_user(r), r->params[0], offset, &UPLOAD_EVENTS, q);
    receive_file(q, 0);
}

void api_files_add(void *ctx, struct http_req *r)
{
    struct attach *files = api_space(r)->files;
    str type = http_get_header(r, "content-type"), boundary = STR_NONE;
    bool is_form = str_starts_nocase(type, STR("multipart/"));
    if (is_form && !multipart_boundary(type, &boundary)) {
        api_bad_request(r, "Content-Type: expected multipart/form-data with a boundary, or any "
                           "other type for a body that is the file itself.");
        return;
    }
    if (is_too_large(r, files))
        return;
    struct file_add *q = xcalloc(1, sizeof *q);
    *q = (struct file_add){.api = ctx, .req = r, .is_form = is_form};
    q->upload = upload_new(files, api_user(r), &UPLOAD_EVENTS, q);
    if (is_form)
        multipart_init(&q->form, boundary, &FORM_EVENTS, q);
    else
        upload_name(q->upload, given_name(r));
    receive_file(q, FORM_EXTRA_MAX);
}
