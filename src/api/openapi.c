/* GET /v1/openapi.json - the document of the API. It says nothing about people, apps or settings of
 * this server, so it is for everybody who may reach the server. It is written once, on the first
 * request. */
#include "api/api_impl.h"
#include "api/describe/document.h"
#include "api/handlers.h"
#include "base/bytes/hash.h"
#include "http/static.h"

struct api_document {
    struct asset file;
    struct buf text;
    char etag[SHA256_HEX_LEN + 3];
};

static struct api_document *document_new(const struct api *api)
{
    struct api_document *d = xcalloc(1, sizeof *d);
    char hash[SHA256_HEX_LEN + 1];
    buf_init(&d->text, API_DOCUMENT_MAX);
    document_write(&d->text, api->deps.config->http.base_path);
    sha256_hex(buf_str(&d->text), hash);
    snprintf(d->etag, sizeof d->etag, "\"%s\"", hash);
    d->file = (struct asset){.path = STR("/v1/openapi.json"),
                             .mime = STR("application/json"),
                             .etag = str_from(d->etag),
                             .bytes = buf_str(&d->text)};
    return d;
}

void api_openapi_get(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    if (!api->document)
        api->document = document_new(api);
    static_reply(r, &api->document->file, STR_NONE);
}

void api_document_free(struct api_document *d)
{
    if (!d)
        return;
    buf_done(&d->text);
    free(d);
}
