#include "api/conversations/chat_files.h"

#include <assert.h>
#include <errno.h>

#include "api/exchange.h"
#include "attach/sniff.h"
#include "store/event/blobs.h"

#define PICTURE_SIDE_MAX 8000u

static struct json file_part(struct arena *a, const struct attached *f)
{
    struct json *part = json_new(a, JSON_OBJECT);
    json_set(a, part, STR("type"), json_of_str(str_from(sniff_part(f->mime))));
    json_set(a, part, STR("file"), json_of_str(arena_str(a, f->id)));
    json_set(a, part, STR("name"), json_of_str(arena_str(a, f->name)));
    json_set(a, part, STR("mimeType"), json_of_str(arena_str(a, f->mime)));
    json_set(a, part, STR("bytes"), json_of_int((int64_t)f->bytes));
    return *part;
}

static int check_file(const struct attached *f, struct err *e)
{
    bool is_picture = strcmp(sniff_part(f->mime), "image") == 0;
    if (!is_picture)
        return 0;
    if (f->width > PICTURE_SIDE_MAX || f->height > PICTURE_SIDE_MAX)
        return err_set(
            e, -EFBIG,
            "The picture '%.*s' has %u × %u pixels; models take at most %u on each side. "
            "Send a smaller one.",
            STR_ARG(f->name), f->width, f->height, PICTURE_SIDE_MAX);
    if (f->bytes <= FILE_PICTURE_MAX)
        return 0;
    return err_set(e, -EFBIG,
                   "The picture '%.*s' has %llu bytes; models take at most %u. Send a smaller one.",
                   STR_ARG(f->name), (unsigned long long)f->bytes, FILE_PICTURE_MAX);
}

static void on_chat_files(void *ctx, const struct err *err, const struct attached *files, size_t n)
{
    struct chat_files *w = ctx;
    struct arena *a = &w->req->arena;
    struct json *parts = json_new(a, JSON_ARRAY);
    struct err e = err ? *err : (struct err){0};
    w->op = NULL;
    for (size_t i = 0; e.code == 0 && i < n; i++)
        if (check_file(&files[i], &e) == 0)
            json_push(a, parts, file_part(a, &files[i]));
    w->fn(w->ctx, e.code < 0 ? &e : NULL, e.code < 0 ? NULL : parts);
}

bool chat_files_check(struct http_req *r, struct json_strs ids)
{
    if (ids.len <= TURN_FILES_MAX)
        return true;
    str message = arena_printf(&r->arena, "files: at most %d in one message", TURN_FILES_MAX);
    return api_bad_request(r, message.p);
}

void chat_files_find(struct chat_files *f, struct http_req *r, struct json_strs ids,
                     chat_files_fn fn, void *ctx)
{
    assert(ids.len > 0 && !f->op);
    *f = (struct chat_files){.req = r, .fn = fn, .ctx = ctx};
    f->op = attach_find(api_space(r)->files, api_user(r), ids.items, ids.len, on_chat_files, f);
}

void chat_files_cancel(struct chat_files *f)
{
    attach_cancel(f->op);
    f->op = NULL;
}
