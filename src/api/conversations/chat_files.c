#include "api/conversations/chat_files.h"

#include <assert.h>

#include "api/api_impl.h"
#include "api/exchange.h"
#include "store/event/blobs.h"

static void add_view(struct arena *a, struct json *part, const struct media_view *v)
{
    struct json *view = json_new(a, JSON_OBJECT);
    if (v->problem.n > 0)
        json_set(a, part, STR("unreadable"), json_of_str(arena_str(a, v->problem)));
    if (v->id.n == 0)
        return;
    json_set(a, view, STR("file"), json_of_str(arena_str(a, v->id)));
    json_set(a, view, STR("mimeType"), json_of_str(arena_str(a, v->mime)));
    json_set(a, view, STR("bytes"), json_of_int((int64_t)v->bytes));
    if (v->width > 0) {
        json_set(a, view, STR("width"), json_of_int(v->width));
        json_set(a, view, STR("height"), json_of_int(v->height));
    }
    json_set(a, part, STR("view"), *view);
}

static void on_chat_views(void *ctx, const struct err *err, const struct media_view *views)
{
    struct chat_files *w = ctx;
    w->making = NULL;
    for (size_t i = 0; !err && i < w->parts->len; i++)
        add_view(&w->req->arena, &w->parts->items[i], &views[i]);
    w->fn(w->ctx, err, err ? NULL : w->parts);
}

static void on_chat_files(void *ctx, const struct err *err, const struct attached *files, size_t n)
{
    struct chat_files *w = ctx;
    struct arena *a = &w->req->arena;
    const struct api_space *space = api_space(w->req);
    w->op = NULL;
    if (err) {
        w->fn(w->ctx, err, NULL);
        return;
    }
    w->parts = json_new(a, JSON_ARRAY);
    for (size_t i = 0; i < n; i++)
        json_push(a, w->parts, file_parts_make(a, &files[i]));
    w->making = media_prepare(space->media, space->files, files, n, w->side, on_chat_views, w);
}

bool chat_files_check(struct http_req *r, struct json_strs ids)
{
    if (ids.len <= TURN_FILES_MAX)
        return true;
    str message = arena_printf(&r->arena, "files: at most %d in one message", TURN_FILES_MAX);
    return api_bad_request(r, message.p);
}

/* The model of a conversation that has one is not known here; its pictures have the size for the
 * default model, which every model takes. */
uint32_t chat_files_side(const struct api *api, str named)
{
    struct llm_model_info info;
    str why;
    str model = named.n > 0 ? named : llm_default_model(api->deps.llm, &why);
    return llm_model_info(api->deps.llm, model, &info) ? info.picture_side : LLM_PICTURE_SIDE;
}

void chat_files_find(struct chat_files *f, const struct api *api, struct http_req *r,
                     struct json_strs ids, str model, chat_files_fn fn, void *ctx)
{
    assert(ids.len > 0 && !f->op);
    *f = (struct chat_files){.req = r, .side = chat_files_side(api, model), .fn = fn, .ctx = ctx};
    f->op = attach_find(api_space(r)->files, api_user(r), ids.items, ids.len, on_chat_files, f);
}

void chat_files_cancel(struct chat_files *f)
{
    attach_cancel(f->op);
    media_cancel(f->making);
    f->op = NULL;
    f->making = NULL;
}
