#include "api/files/download.h"

#include <assert.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/admit.h"
#include "api/api_impl.h"
#include "api/exchange.h"
#include "api/files/range.h"
#include "attach/file_name.h"
#include "attach/sniff.h"
#include "http/stream.h"
#include "os/file.h"

enum { PIECE_BYTES = 128 * 1024 };

struct file_download {
    struct api *api;
    struct actor *actor; /* held */
    struct http_stream *stream;
    int fd;
    uint64_t at, end;
    struct job job;
    bool is_reading, is_closed;
    ssize_t n; /* bytes read, or -errno */
    char piece[PIECE_BYTES];
};

static void download_free(struct file_download *d)
{
    actor_unref(d->actor);
    file_close(d->fd);
    free(d);
}

static void read_piece(struct job *j)
{
    struct file_download *d = CONTAINER_OF(j, struct file_download, job);
    uint64_t left = d->end - d->at;
    d->n = pread(d->fd, d->piece, left < PIECE_BYTES ? left : PIECE_BYTES, (off_t)d->at);
}

/* A client may read for hours: a person who has lost access gets no further piece. */
static void on_piece_read(struct job *j)
{
    struct file_download *d = CONTAINER_OF(j, struct file_download, job);
    d->is_reading = false;
    if (d->is_closed) {
        download_free(d);
        return;
    }
    if (d->n <= 0 || !admit_is_current(d->api, d->actor)) {
        http_stream_fail(d->stream);
        return;
    }
    d->at += (uint64_t)d->n;
    http_stream_write(d->stream, str_make(d->piece, (size_t)d->n));
}

static void on_download_wanted(void *ctx)
{
    struct file_download *d = ctx;
    assert(!d->is_reading);
    if (d->at == d->end) {
        http_stream_end(d->stream);
        return;
    }
    d->is_reading = true;
    pool_run(d->api->deps.pool, &d->job, read_piece, on_piece_read);
}

static void on_download_closed(void *ctx)
{
    struct file_download *d = ctx;
    d->is_closed = true;
    if (!d->is_reading)
        download_free(d);
}

static void add_headers(struct http_req *r, const struct attached *file)
{
    http_add_header(r, "Content-Disposition", file_name_disposition(&r->arena, file->name));
    http_add_header(r, "Content-Security-Policy", STR("sandbox; default-src 'none'"));
    http_add_header(r, "Accept-Ranges", STR("bytes"));
}

static bool refuse_range(struct http_req *r, uint64_t size)
{
    http_add_header(r, "Content-Range",
                    arena_printf(&r->arena, "bytes */%llu", (unsigned long long)size));
    http_reply_error(r, 416, NULL, "The file has no such range of bytes.", NULL);
    return false;
}

/* Which bytes are wanted; false: the request was answered. */
static bool choose_range(struct http_req *r, uint64_t size, struct http_stream_maker *m,
                         struct file_download *d)
{
    switch (range_parse(http_get_header(r, "range"), size, &d->at, &d->end)) {
    case RANGE_BEYOND:
        return refuse_range(r, size);
    case RANGE_PART:
        m->status = 206;
        http_add_header(r, "Content-Range",
                        arena_printf(&r->arena, "bytes %llu-%llu/%llu", (unsigned long long)d->at,
                                     (unsigned long long)d->end - 1, (unsigned long long)size));
        break;
    case RANGE_WHOLE:
        break;
    }
    m->has_length = true;
    m->length = d->end - d->at;
    return true;
}

static const char *content_type(const struct attached *file)
{
    return sniff_is_text(file->mime) ? "text/plain; charset=utf-8" : sniff_known(file->mime);
}

void download_reply(struct api *api, struct http_req *r, const struct attached *file, int fd)
{
    struct stat st;
    struct file_download *d = xcalloc(1, sizeof *d);
    struct http_stream_maker m = {on_download_wanted, on_download_closed, d, 0, false, 0};
    *d = (struct file_download){.api = api, .actor = actor_ref(api_actor(r)), .fd = fd};
    r->on_gone = NULL;
    add_headers(r, file);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        http_reply_error(r, 500, "storage_error", "The file cannot be read.", NULL);
        download_free(d);
    } else if (!choose_range(r, (uint64_t)st.st_size, &m, d)) {
        download_free(d);
    } else {
        d->stream = http_stream_open(r, content_type(file), &m);
    }
}
