/* media_results.c - pictures in results of tools, as models get them. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/sniff.h"
#include "base/bytes/base64.h"
#include "base/text/plain.h"
#include "media/helper/helper.h"
#include "media/media_impl.h"
#include "os/file.h"
#include "store/event/blobs.h"

struct media_results {
    struct job job;
    struct media *media;
    struct arena arena;
    str *given; /* base64 */
    struct media_made *made;
    size_t n;
    uint32_t side;
    bool is_refused; /* too many calls: nothing is prepared */
    atomic_bool is_cancelled;
    media_made_fn fn;
    void *ctx;
};

/* The bytes as a file that only this process has. */
static int open_bytes(str bytes, struct err *e)
{
    int fd = memfd_create("picture", MFD_CLOEXEC);
    if (fd < 0)
        return err_errno(e, -errno, "cannot make", "a file in memory");
    int r = file_write_all(fd, bytes);
    if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
        r = -errno;
    if (r < 0)
        file_close(fd);
    return r < 0 ? err_errno(e, r, "cannot write", "a file in memory") : fd;
}

static int make_picture(const struct media *m, struct arena *a, str bytes, uint32_t side,
                        const atomic_bool *is_cancelled, struct media_result *ret, struct err *e)
{
    if (strcmp(sniff_part(str_from(sniff_type(bytes))), "image") != 0)
        return err_set(e, -EINVAL, "it is not a picture of a known type");
    int fd = open_bytes(bytes, e);
    if (fd < 0)
        return fd;
    struct picture_job job = {fd, side, FILE_PICTURE_MAX, is_cancelled};
    int r = media_picture(a, m, &job, ret, e);
    file_close(fd);
    return r;
}

int media_make_picture(const struct media *m, struct arena *a, str bytes, uint32_t side,
                       struct media_result *ret, struct err *e)
{
    return make_picture(m, a, bytes, side, NULL, ret, e);
}

static int prepare_picture(struct media_results *b, struct arena *a, str base64,
                           struct media_made *ret, struct err *e)
{
    struct buf bytes, text;
    struct media_result made;
    buf_init(&bytes, MEDIA_INPUT_MAX);
    int r = base64_decode(&bytes, base64);
    r = r < 0 ? err_set(e, -EINVAL, "its bytes are not base64, or too many")
              : make_picture(b->media, a, buf_str(&bytes), b->side, &b->is_cancelled, &made, e);
    buf_done(&bytes);
    if (r < 0)
        return r;
    buf_init(&text, 2 * FILE_PICTURE_MAX);
    r = base64_encode(&text, made.bytes);
    *ret = (struct media_made){buf_keep_whole(&text, &b->arena), made.mime, made.width, made.height,
                               STR_NONE};
    return r;
}

/* A decoder that is missing says nothing about the picture: then it is sent as it came. */
static void results_work(struct job *j)
{
    struct media_results *b = CONTAINER_OF(j, struct media_results, job);
    for (size_t i = 0; i < b->n && !b->is_refused && !atomic_load(&b->is_cancelled); i++) {
        struct err e = {0};
        struct arena scratch; /* for one picture at a time */
        arena_init(&scratch);
        if (i >= MEDIA_RESULTS_MAX)
            err_set(&e, -EFBIG, "the result has more than %u pictures", MEDIA_RESULTS_MAX);
        else
            (void)prepare_picture(b, &scratch, b->given[i], &b->made[i], &e);
        arena_done(&scratch);
        plain_err(&e);
        if (e.code == -EINVAL || e.code == -EFBIG)
            b->made[i].problem = arena_str(&b->arena, str_from(e.msg));
    }
}

static void results_done(struct job *j)
{
    struct media_results *b = CONTAINER_OF(j, struct media_results, job);
    assert(b->media->files.npending > 0);
    b->media->files.npending--;
    if (!atomic_load(&b->is_cancelled))
        b->fn(b->ctx, b->made);
    arena_done(&b->arena);
    free(b);
}

struct media_results *media_prepare_results(struct media *m, const str *base64, size_t n,
                                            uint32_t side, media_made_fn fn, void *ctx)
{
    struct media_results *b = xcalloc(1, sizeof *b);
    b->media = m;
    b->is_refused = m->files.npending++ >= m->files.max;
    b->n = n;
    b->side = side;
    b->fn = fn;
    b->ctx = ctx;
    arena_init(&b->arena);
    b->given = arena_strs(&b->arena, base64, n);
    b->made = arena_array(&b->arena, n, sizeof *b->made);
    pool_run(m->files.pool, &b->job, results_work, results_done);
    return b;
}

void media_results_cancel(struct media_results *b)
{
    if (b)
        atomic_store(&b->is_cancelled, true);
}
