#include "api/files/preview.h"

#include <assert.h>

#include "api/exchange.h"
#include "api/failure.h"
#include "api/files/download.h"
#include "attach/attach.h"
#include "media/media.h"

struct preview_wait {
    struct api *api;
    struct http_req *req;
    struct media_op *op;
    str name;
};

/* ---- the query ---- */

static bool read_flag(struct http_req *r, const char *name, str given, bool *ret)
{
    *ret = str_eq(given, STR("1"));
    return given.n == 0 || *ret ||
           api_bad_request(r, arena_printf(&r->arena, "%s: expected 1", name).p);
}

static bool read_size(struct http_req *r, enum media_form *ret)
{
    str size = api_query(r, "size");
    *ret = size.n > 0 ? MEDIA_PAGE_LARGE : MEDIA_PAGE;
    return size.n == 0 || str_eq(size, STR("large")) || api_bad_request(r, "size: expected large");
}

bool preview_query(struct http_req *r, struct file_preview *ret)
{
    bool is_thumb, is_pages;
    int64_t page, words;
    enum media_form form;
    if (!read_flag(r, "thumb", api_query(r, "thumb"), &is_thumb) ||
        !read_flag(r, "pages", api_query(r, "pages"), &is_pages) ||
        !api_query_int(r, "page", 0, MEDIA_PAGES_MAX, &page) ||
        !api_query_int(r, "words", 0, MEDIA_PAGES_MAX, &words) || !read_size(r, &form))
        return false;
    int asked = is_thumb + is_pages + (page > 0) + (words > 0);
    if (asked > 1)
        return api_bad_request(r, "Only one of thumb, pages, page and words can be given.");
    *ret = (struct file_preview){0};
    if (is_thumb)
        *ret = (struct file_preview){PREVIEW_PICTURE, {MEDIA_THUMB, 1}};
    else if (page > 0)
        *ret = (struct file_preview){PREVIEW_PICTURE, {form, (uint32_t)page}};
    else if (asked > 0)
        *ret = (struct file_preview){is_pages ? PREVIEW_PAGES : PREVIEW_WORDS,
                                     {MEDIA_PAGE, (uint32_t)words}};
    return true;
}

/* ---- the answer ---- */

/* False: the answer was sent. */
static bool preview_made(struct preview_wait *w, const struct err *err)
{
    w->op = NULL;
    w->req->on_gone = NULL;
    if (err)
        api_fail(w->req, FROM_FILES, err);
    return !err;
}

static void on_preview_picture(void *ctx, const struct err *err, const char *mime, int fd)
{
    struct preview_wait *w = ctx;
    struct attached small = {.name = w->name, .mime = str_from(mime)};
    if (preview_made(w, err))
        download_reply(w->api, w->req, &small, fd);
}

static void on_preview_pages(void *ctx, const struct err *err, const struct media_pages *pages)
{
    struct preview_wait *w = ctx;
    struct api_json j;
    if (!preview_made(w, err))
        return;
    api_json_begin(&j);
    jw_kint(&j.w, "count", (int64_t)pages->count);
    jw_key(&j.w, "pages");
    jw_array(&j.w);
    for (size_t i = 0; i < pages->n; i++) {
        jw_object(&j.w);
        jw_kdouble(&j.w, "width", pages->sizes[i].width);
        jw_kdouble(&j.w, "height", pages->sizes[i].height);
        jw_end(&j.w);
    }
    jw_end(&j.w);
    api_json_send(&j, w->req);
}

/* Points, with as many digits as a screen can show. */
static void write_points(struct json_writer *w, const char *key, double points)
{
    jw_kdouble(w, key, (double)(int64_t)(points * 100) / 100);
}

static void on_preview_words(void *ctx, const struct err *err, const struct media_words *words)
{
    struct preview_wait *w = ctx;
    struct api_json j;
    if (!preview_made(w, err))
        return;
    api_json_begin(&j);
    jw_key(&j.w, "words");
    jw_array(&j.w);
    for (size_t i = 0; i < words->n; i++) {
        const struct media_word *one = &words->words[i];
        jw_object(&j.w);
        write_points(&j.w, "x", one->x);
        write_points(&j.w, "y", one->y);
        write_points(&j.w, "width", one->x_end - one->x);
        write_points(&j.w, "height", one->y_end - one->y);
        jw_kstr(&j.w, "text", one->text);
        jw_end(&j.w);
    }
    jw_end(&j.w);
    api_json_send(&j, w->req);
}

static void on_preview_gone(struct http_req *r)
{
    struct preview_wait *w = r->user;
    media_cancel(w->op);
}

void preview_reply(struct api *api, struct http_req *r, const struct file_preview *preview,
                   const struct attached *file, str sha256, int fd)
{
    const struct api_space *space = api_space(r);
    const struct media_want *want = &preview->want;
    struct preview_wait *w = ARENA_NEW(&r->arena, struct preview_wait);
    *w = (struct preview_wait){.api = api, .req = r, .name = arena_str(&r->arena, file->name)};
    r->user = w;
    r->on_gone = on_preview_gone;
    if (preview->kind == PREVIEW_PICTURE)
        w->op = media_thumb(space->media, space->files, want, sha256, file->mime, fd,
                            on_preview_picture, w);
    else if (preview->kind == PREVIEW_PAGES)
        w->op = media_pages(space->media, file->mime, fd, on_preview_pages, w);
    else
        w->op = media_words(space->media, file->mime, want->page, fd, on_preview_words, w);
}
