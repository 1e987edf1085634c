/* Files for people: previews, and the pages of PDFs. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/sniff.h"
#include "media/media_impl.h"
#include "os/file.h"

static const struct {
    uint32_t side;
    size_t bytes;
} FORMS[] = {
    [MEDIA_THUMB] = {MEDIA_THUMB_SIDE, MEDIA_THUMB_BYTES},
    [MEDIA_PAGE] = {1600, 1024 * 1024},
    [MEDIA_PAGE_LARGE] = {3200, 4 * 1024 * 1024},
};

static int check_pdf(const struct media_op *op, struct err *e)
{
    struct stat st;
    if (!str_eq(op->type, STR("application/pdf")))
        return err_set(e, -EINVAL, "it is not a PDF; its bytes are %.*s", STR_ARG(op->type));
    if (fstat(op->fd, &st) < 0)
        return err_set(e, -EIO, "it cannot be read");
    return (uint64_t)st.st_size > MEDIA_PDF_MAX
               ? err_set(e, -EFBIG, "it has more than %u MB", MEDIA_PDF_MAX >> 20)
               : 0;
}

/* ---- pictures ---- */

static int draw(struct media_op *op, struct media_result *made, struct err *e)
{
    uint32_t side = FORMS[op->want.form].side;
    size_t bytes = FORMS[op->want.form].bytes;
    if (op->want.form == MEDIA_THUMB && strcmp(sniff_part(op->type), "image") == 0) {
        const struct picture_job job = {op->fd, side, bytes, &op->is_cancelled};
        return media_picture(&op->arena, op->media, &job, made, e);
    }
    const struct pdf_source from = {op->fd, op->want.page, &op->is_cancelled};
    int rc = check_pdf(op, e);
    return rc < 0 ? rc : media_pdf_page(&op->arena, op->media, &from, side, bytes, made, e);
}

static int keep_picture(struct media_op *op, const char *path, str bytes, struct err *e)
{
    str parent = str_slice(str_from(path), 0, (size_t)str_rfind_char(str_from(path), '/'));
    int rc = file_make_dirs(arena_cstr(&op->arena, parent), e);
    if (rc == 0)
        rc = file_write_atomic(path, bytes, 0600, e);
    if (rc == 0 && op->want.form != MEDIA_THUMB)
        op->kept = bytes.n;
    return rc;
}

/* A picture that is not kept is a file without a name. */
static int unnamed_file(str bytes, struct err *e)
{
    int fd = memfd_create("nb-page", MFD_CLOEXEC);
    if (fd >= 0 && file_write_all(fd, bytes) == 0)
        return fd;
    file_close(fd);
    return err_set(e, -EIO, "there is no memory for it");
}

/* The file with the picture, or -errno. */
static int make_picture(struct media_op *op, const char *path, struct err *e)
{
    struct media_result made;
    int rc = draw(op, &made, e);
    if (rc < 0)
        return rc;
    if (!op->may_keep)
        return unnamed_file(made.bytes, e);
    rc = keep_picture(op, path, made.bytes, e);
    if (rc < 0)
        return rc;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? err_set(e, -EIO, "it cannot be read") : fd;
}

static const char *picture_path(struct media_op *op)
{
    return op->want.form == MEDIA_THUMB
               ? library_thumb_path(&op->arena, op->dir, op->sha256)
               : library_page_path(&op->arena, op->dir, op->sha256, op->want.page,
                                   FORMS[op->want.form].side);
}

static void thumb_work(struct job *j)
{
    struct media_op *op = CONTAINER_OF(j, struct media_op, job);
    char head[16];
    if (op->err.code < 0 || atomic_load(&op->is_cancelled))
        return;
    const char *path = picture_path(op);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        (void)futimens(fd, NULL); /* pictures of pages that are looked at stay */
    else
        fd = make_picture(op, path, &op->err);
    file_close(op->fd);
    op->fd = fd;
    ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof head, 0);
    op->mime = sniff_type(str_make(head, n > 0 ? (size_t)n : 0));
    if (op->err.code < 0 && op->want.form == MEDIA_THUMB)
        err_prefix(&op->err, "There is no preview of the file");
    else if (op->err.code < 0)
        err_prefix(&op->err, "Page %u cannot be shown", op->want.page);
}

/* Of a PDF, what one size of a page cannot be drawn in, no other can. */
static uint32_t refused_page(const struct media_want *want)
{
    return want->form == MEDIA_THUMB ? 0 : want->page;
}

static void answer_thumb(struct media_op *op, const struct err *err)
{
    if (err)
        refused_note(&op->media->refused, op->sha256, refused_page(&op->want), err);
    op->on_thumb(op->ctx, err, op->mime, op->fd);
}

/* A call that cannot begin does not hold its file. */
static void take_file(struct media_op *op, str mime, int fd)
{
    op->type = arena_str(&op->arena, mime);
    if (op->err.code < 0)
        file_close(fd);
    else
        op->fd = fd;
}

struct media_op *media_thumb(struct media *m, struct attach *library, const struct media_want *want,
                             str sha256, str mime, int fd, media_thumb_fn fn, void *ctx)
{
    bool is_pdf = str_eq(mime, STR("application/pdf"));
    struct media_op *op =
        media_op_new(m, is_pdf ? &m->pages : &m->files, library, answer_thumb, ctx);
    op->sha256 = arena_str(&op->arena, sha256);
    op->want = *want;
    op->may_keep = want->form == MEDIA_THUMB || attach_may_keep_page(library);
    op->on_thumb = fn;
    if (op->err.code == 0)
        (void)refused_find(&m->refused, sha256, refused_page(want), &op->err);
    take_file(op, mime, fd);
    media_op_run(op, thumb_work);
    return op;
}

/* ---- what is in a PDF ---- */

static void pages_work(struct job *j)
{
    struct media_op *op = CONTAINER_OF(j, struct media_op, job);
    const struct pdf_source from = {op->fd, 0, &op->is_cancelled};
    if (op->err.code < 0 || atomic_load(&op->is_cancelled))
        return;
    if (check_pdf(op, &op->err) < 0 ||
        media_pdf_pages(&op->arena, op->media, &from, &op->pages, &op->err) < 0)
        err_prefix(&op->err, "The file cannot be shown");
    file_close(op->fd);
    op->fd = -1;
}

static void answer_pages(struct media_op *op, const struct err *err)
{
    op->on_pages(op->ctx, err, &op->pages);
}

struct media_op *media_pages(struct media *m, str mime, int fd, media_pages_fn fn, void *ctx)
{
    struct media_op *op = media_op_new(m, &m->pages, NULL, answer_pages, ctx);
    op->on_pages = fn;
    take_file(op, mime, fd);
    media_op_run(op, pages_work);
    return op;
}

static void words_work(struct job *j)
{
    struct media_op *op = CONTAINER_OF(j, struct media_op, job);
    const struct pdf_source from = {op->fd, op->want.page, &op->is_cancelled};
    if (op->err.code < 0 || atomic_load(&op->is_cancelled))
        return;
    if (check_pdf(op, &op->err) < 0 ||
        media_pdf_words(&op->arena, op->media, &from, &op->words, &op->err) < 0)
        err_prefix(&op->err, "The text of page %u cannot be read", op->want.page);
    file_close(op->fd);
    op->fd = -1;
}

static void answer_words(struct media_op *op, const struct err *err)
{
    op->on_words(op->ctx, err, &op->words);
}

struct media_op *media_words(struct media *m, str mime, uint32_t page, int fd, media_words_fn fn,
                             void *ctx)
{
    struct media_op *op = media_op_new(m, &m->pages, NULL, answer_words, ctx);
    op->on_words = fn;
    op->want.page = page;
    take_file(op, mime, fd);
    media_op_run(op, words_work);
    return op;
}
