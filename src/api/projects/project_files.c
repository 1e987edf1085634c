/* /v1/projects/:project/files - files that the agent can read in conversations of a project.
 *
 * A person gives a file (POST /v1/files), then adds it here. Members of the project list and
 * download its files; its owner and the admins of the workspace add and remove them, as they write
 * its instructions: the model reads both. The document of the projects says which files there are;
 * the library keeps their bytes for the project. So adding writes there first, and removing, too:
 * what is listed and is not there can be removed again. */
#include <assert.h>
#include <errno.h>

#include "api/api_impl.h"
#include "api/bodies.h"
#include "api/files/files.h"
#include "api/handlers.h"
#include "api/projects/projects.h"
#include "attach/attach.h"

static void write_file(struct json_writer *w, const struct project_file *f)
{
    jw_kstr(w, "id", f->id);
    jw_kstr(w, "name", f->name);
    jw_kstr(w, "mimeType", f->mime);
    jw_kint(w, "bytes", (int64_t)f->bytes);
    jw_key(w, "createdAt");
    api_write_time(w, f->at_ms);
    jw_kstr(w, "addedBy", f->by);
}

/* ---- reading ---- */

void api_project_files_list(void *ctx, struct http_req *r)
{
    struct conv_project p;
    struct api_json j;
    if (!api_see_project(r, &p))
        return;
    api_json_begin(&j);
    jw_karray(&j.w, "files");
    for (size_t i = 0; i < project_file_count(&p); i++) {
        struct project_file f = project_file_at(&p, i);
        jw_object(&j.w);
        write_file(&j.w, &f);
        jw_end(&j.w);
    }
    jw_end(&j.w);
    api_json_send(&j, r);
}

void api_project_files_get(void *ctx, struct http_req *r)
{
    struct conv_project p;
    struct project_file f;
    if (!api_see_project(r, &p))
        return;
    if (project_file_find(&p, r->params[1], &f))
        api_file_send(ctx, r, p.id, f.id);
    else
        api_not_found(r, "file");
}

/* ---- changes: without on_gone, so that the second half follows the first ---- */

struct file_change {
    struct http_req *req;
    struct project_edit edit;
};

static struct file_change *file_change_new(struct http_req *r)
{
    struct file_change *c = ARENA_NEW(&r->arena, struct file_change);
    *c = (struct file_change){.req = r, .edit = {.id = r->params[0], .by = api_user(r)}};
    return c;
}

static bool is_listed(const struct file_change *c)
{
    struct conv_project p;
    struct project_file f;
    return projects_find(api_space(c->req)->projects, c->edit.id, &p) &&
           project_file_find(&p, c->edit.add_file.id, &f);
}

/* The project may be gone, or full. */
static void on_file_listed(void *ctx, const struct err *err)
{
    struct file_change *c = ctx;
    struct http_req *r = c->req;
    struct attach *files = api_space(r)->files;
    struct api_json j;
    if (err && !is_listed(c))
        attach_remove(files, c->edit.id, c->edit.add_file.id, NULL, NULL);
    if (err) {
        api_fail(r, FROM_CHANGE, err);
        return;
    }
    attach_mark_named(files, c->edit.by, c->edit.add_file.id); /* it goes with the project */
    c->edit.add_file.by = c->edit.by;
    api_json_begin(&j);
    write_file(&j.w, &c->edit.add_file);
    api_json_send(&j, r);
}

static void on_file_shared(void *ctx, const struct err *err, const struct attached *files, size_t n)
{
    struct file_change *c = ctx;
    struct http_req *r = c->req;
    if (err) {
        api_fail(r, FROM_FILES, err);
        return;
    }
    assert(n == 1);
    c->edit.add_file = (struct project_file){.id = arena_str(&r->arena, files->id),
                                             .name = arena_str(&r->arena, files->name),
                                             .mime = arena_str(&r->arena, files->mime),
                                             .bytes = files->bytes,
                                             .at_ms = files->at_ms};
    (void)projects_change(api_space(r)->projects, &c->edit, false, on_file_listed, c);
}

struct project_file_body {
    str file;
};

const struct json_field API_PROJECT_FILE_FIELDS[] = {
    {"file", JF_STR, offsetof(struct project_file_body, file), JF_REQUIRED, NULL, 0,
     "The id of a file that you have given (POST /v1/files)."},
    {0}};

void api_project_files_add(void *ctx, struct http_req *r)
{
    struct project_file_body in = {0};
    struct conv_project p;
    if (!api_manage_project(r, &p) || !api_decode_body(r, API_PROJECT_FILE_FIELDS, &in))
        return;
    struct file_change *c = file_change_new(r);
    (void)attach_share(api_space(r)->files, api_user(r), in.file, p.id, on_file_shared, c);
}

static void on_file_unlisted(void *ctx, const struct err *err)
{
    struct file_change *c = ctx;
    if (err)
        api_fail(c->req, FROM_CHANGE, err);
    else
        api_reply_ok(c->req);
}

static void on_file_dropped(void *ctx, const struct err *err)
{
    struct file_change *c = ctx;
    struct http_req *r = c->req;
    if (err && err->code != -ENOENT)
        api_fail(r, FROM_FILES, err);
    else
        (void)projects_change(api_space(r)->projects, &c->edit, false, on_file_unlisted, c);
}

void api_project_files_remove(void *ctx, struct http_req *r)
{
    struct conv_project p;
    struct project_file f;
    if (!api_manage_project(r, &p))
        return;
    if (!project_file_find(&p, r->params[1], &f)) {
        api_not_found(r, "file");
        return;
    }
    struct file_change *c = file_change_new(r);
    c->edit.remove_file = r->params[1];
    (void)attach_remove(api_space(r)->files, p.id, f.id, on_file_dropped, c);
}
