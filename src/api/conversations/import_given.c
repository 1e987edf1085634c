/* /v1/conversations/import - importing the export of another program from a file that the person
 * has given (POST /v1/files): conversations.json, or the archive as it was downloaded.
 *
 * Only foreign formats: a log of nb names files by their hash, and could name those of others. The
 * conversations belong to the person. */
#include <assert.h>

#include "api/bodies.h"
#include "api/conversations/import.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "attach/attach.h"
#include "os/file.h"

struct given_body {
    str file, kind;
};

const struct json_field API_IMPORT_GIVEN_FIELDS[] = {
    {"file", JF_STR, offsetof(struct given_body, file), JF_REQUIRED, NULL, 0,
     "The id of a file that you have given."},
    {"kind", JF_STR, offsetof(struct given_body, kind), JF_REQUIRED, NULL, 0,
     "The program that it comes from.", "'chatgpt'|'claude'"},
    {0}};

struct given { /* in the arena of the request */
    struct api *api;
    struct http_req *req;
    struct attach_op *op;
    enum import_kind kind;
};

static void on_given_gone(struct http_req *r)
{
    attach_cancel(((struct given *)r->user)->op);
}

static void on_given_opened(void *ctx, const struct err *err, const struct attached *file, int fd)
{
    struct given *g = ctx;
    struct http_req *r = g->req;
    g->op = NULL;
    r->user = NULL;
    r->on_gone = NULL;
    if (err) {
        api_fail(r, FROM_FILES, err);
        return;
    }
    if (api_import_is_busy(g->api, r))
        file_close(fd);
    else
        api_import_given_file(g->api, r, g->kind, file->name, fd);
}

void api_import_given(void *ctx, struct http_req *r)
{
    struct given_body body = {0};
    struct given *g = ARENA_NEW(&r->arena, struct given);
    if (!api_decode_body(r, API_IMPORT_GIVEN_FIELDS, &body))
        return;
    if (import_kind_parse(body.kind, &g->kind, NULL) < 0 ||
        (g->kind != IMPORT_CHATGPT && g->kind != IMPORT_CLAUDE_AI)) {
        api_bad_request(r, "kind: expected chatgpt or claude");
        return;
    }
    assert(!r->user && !r->on_gone);
    g->api = ctx;
    g->req = r;
    r->user = g;
    r->on_gone = on_given_gone;
    g->op = attach_open(api_space(r)->files, api_user(r), body.file, on_given_opened, g);
}

void api_import_given_get(void *ctx, struct http_req *r)
{
    const struct api_import *im = api_import_of(ctx, api_user(r));
    if (im)
        api_import_reply(r, im);
    else
        api_not_found(r, "import");
}
