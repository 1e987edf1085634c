/* files.c - files that the caller has given, as resources: nb://files/<id>.
 *
 * The rights are those of the tools files__list and files__read: a token without them, or a
 * workspace that denies them, has no such resources. Addresses of this form never go to a bundle,
 * so that no server can take the place of a file. */
#include <assert.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/sniff.h"
#include "base/bytes/base64.h"
#include "base/utf8.h"
#include "gateway/gateway_impl.h"
#include "gateway/methods/method.h"
#include "os/file.h"
#include "runtime/seen_files.h"

#define RESOURCE_MAX (8u * 1024 * 1024) /* of one file, in one response */

bool gw_files_are_offered(struct gw_request *q, const char *tool)
{
    struct bundle *none;
    if (q->source.n > 0 && !str_eq(q->source, STR("files")))
        return false;
    str name = q->source.n > 0 ? str_from(tool) : arena_printf(&q->arena, "files__%s", tool);
    return q->space->runtime && gw_tools_find(q, name, &none) != NULL;
}

bool gw_files_has(const struct gw_request *q, str uri)
{
    return str_starts(uri, STR(FILE_URI)) && (q->source.n == 0 || str_eq(q->source, STR("files")));
}

/* ---- list ---- */

struct files_listing {
    struct seen_files *seen;
    void (*then)(struct gw_request *q, const struct json *items);
};

static void on_listing_cancel(struct gw_request *q)
{
    struct files_listing *l = q->work;
    seen_files_free(l->seen);
}

static struct json resource_of(struct arena *a, const struct attached *f)
{
    struct json *o = json_new(a, JSON_OBJECT);
    json_set(a, o, STR("uri"), json_of_str(arena_concat(a, STR(FILE_URI), f->id)));
    json_set(a, o, STR("name"), json_of_str(arena_str(a, f->name)));
    json_set(a, o, STR("mimeType"), json_of_str(arena_str(a, f->mime)));
    json_set(a, o, STR("size"), json_of_int((int64_t)f->bytes));
    return *o;
}

/* Files that cannot be listed are left out, as the lists of servers that fail. */
static void on_files_seen(void *ctx, const struct err *err, const struct file_set *set)
{
    struct gw_request *q = ctx;
    struct files_listing *l = q->work;
    struct json *items = json_new(&q->arena, JSON_ARRAY);
    for (size_t i = 0; set && i < set->n; i++)
        json_push(&q->arena, items, resource_of(&q->arena, &set->items[i]));
    seen_files_free(l->seen);
    q->on_cancel = NULL;
    q->work = NULL;
    l->then(q, items);
}

void gw_files_list(struct gw_request *q,
                   void (*then)(struct gw_request *q, const struct json *items))
{
    struct files_listing *l = ARENA_NEW(&q->arena, struct files_listing);
    assert(!q->on_cancel);
    l->then = then;
    q->work = l;
    q->on_cancel = on_listing_cancel;
    l->seen = seen_files_start(q->space->runtime, q->actor, STR_NONE, false, on_files_seen, q);
}

/* ---- read ---- */

/* On the heap: the pool may still read when the request has ended. */
struct resource_read {
    struct job job;
    struct gw_request *q; /* NULL: it has ended */
    struct seen_files *seen;
    bool is_reading;
    int fd;
    const char *mime;
    uint64_t size;
    struct buf bytes; /* the text, or base64 */
    int error;
};

static void resource_free(struct resource_read *r)
{
    seen_files_free(r->seen);
    file_close(r->fd);
    buf_done(&r->bytes);
    free(r);
}

static void on_resource_cancel(struct gw_request *q)
{
    struct resource_read *r = q->work;
    r->q = NULL;
    if (!r->is_reading)
        resource_free(r);
}

static void resource_work(struct job *j)
{
    struct resource_read *r = CONTAINER_OF(j, struct resource_read, job);
    struct stat st;
    r->error = fstat(r->fd, &st) < 0 ? -EIO : 0;
    r->size = r->error < 0 ? 0 : (uint64_t)st.st_size;
    if (r->error < 0 || r->size > RESOURCE_MAX)
        return;
    char *p = xcalloc(1, r->size + 1);
    r->error = file_read_all(r->fd, p, r->size);
    str bytes = str_make(p, r->size);
    r->mime = sniff_type(str_slice(bytes, 0, SNIFF_BYTES));
    if (sniff_is_text(str_from(r->mime)))
        (void)utf8_sanitise(&r->bytes, bytes);
    else
        (void)base64_encode(&r->bytes, bytes);
    free(p);
}

static void reply_resource(struct gw_request *q, struct resource_read *r)
{
    struct arena *a = &q->arena;
    struct json *out = json_new(a, JSON_OBJECT), *contents = json_new(a, JSON_ARRAY);
    struct json *one = json_push(a, contents, *json_new(a, JSON_OBJECT));
    bool is_text = sniff_is_text(str_from(r->mime));
    json_set(a, one, STR("uri"), json_of_str(json_get_string(q->params, "uri")));
    json_set(a, one, STR("mimeType"), json_of_str(str_from(r->mime)));
    json_set(a, one, is_text ? STR("text") : STR("blob"),
             json_of_str(arena_str(a, buf_str(&r->bytes))));
    json_set(a, out, STR("contents"), *contents);
    gw_request_result(q, out, q->era);
}

static void resource_done(struct job *j)
{
    struct resource_read *r = CONTAINER_OF(j, struct resource_read, job);
    struct gw_request *q = r->q;
    if (q) {
        q->on_cancel = NULL;
        q->work = NULL;
    }
    if (q && r->error < 0)
        gw_request_fail(q, RPC_INTERNAL_ERROR, "The file cannot be read.");
    else if (q && r->size > RESOURCE_MAX)
        gw_request_fail(q, RPC_INVALID_PARAMS,
                        "The file has %llu bytes; resources/read returns at most %u. The tool "
                        "files__read reads a text in parts.",
                        (unsigned long long)r->size, RESOURCE_MAX);
    else if (q)
        reply_resource(q, r);
    resource_free(r);
}

static void resource_absent(struct resource_read *r)
{
    struct gw_request *q = r->q;
    q->on_cancel = NULL;
    q->work = NULL;
    resource_free(r);
    gw_resources_not_found(q);
}

static void on_resource_opened(void *ctx, const struct err *err, int fd)
{
    struct resource_read *r = ctx;
    if (err) {
        resource_absent(r);
        return;
    }
    r->fd = fd;
    r->is_reading = true;
    pool_run(runtime_deps(r->q->space->runtime)->pool, &r->job, resource_work, resource_done);
}

static void on_resource_seen(void *ctx, const struct err *err, const struct file_set *set)
{
    struct resource_read *r = ctx;
    str uri = json_get_string(r->q->params, "uri");
    const struct attached *f = err ? NULL : file_set_find(set, uri);
    if (f && str_eq(f->id, str_skip(uri, strlen(FILE_URI)))) /* an address is not a name */
        seen_files_open(r->seen, f, on_resource_opened, r);
    else
        resource_absent(r);
}

void gw_files_read(struct gw_request *q)
{
    if (!gw_files_are_offered(q, "read")) {
        gw_resources_not_found(q);
        return;
    }
    struct resource_read *r = xcalloc(1, sizeof *r);
    assert(!q->on_cancel);
    r->q = q;
    r->fd = -1;
    buf_init(&r->bytes, 4 * RESOURCE_MAX);
    q->work = r;
    q->on_cancel = on_resource_cancel;
    r->seen = seen_files_start(q->space->runtime, q->actor, STR_NONE, false, on_resource_seen, r);
}
