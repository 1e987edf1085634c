/* media.h - files of people in the form that models and pages take them.
 *
 * A picture becomes a new JPEG or PNG of a fitting size, made by a process of its own (helper.h); a
 * PDF becomes text, by pdftotext in a sandbox, and its pages become pictures, by pdftoppm in a
 * sandbox and that process. The server's own process never looks into either. Results for models
 * are files of the library (attach/library.h): content-addressed like what people gave, counted
 * with it, and gone with the conversations that name them. Results for people are kept beside the
 * file.
 *
 * Loop thread; the work is done by the pools that media_new gets, which bound how many programs
 * run at a time. Results come as callbacks, never before the call has returned. */
#pragma once

#include "attach/attach.h"
#include "loop/pool.h"

#define MEDIA_THUMB_SIDE  320u
#define MEDIA_THUMB_BYTES (256u * 1024)
#define MEDIA_TEXT_MAX    (4u * 1024 * 1024) /* of a PDF; the rest is left out */

#define MEDIA_PDF_MAX    (128u * 1024 * 1024) /* of which pages are shown */
#define MEDIA_PAGES_MAX  1000u                /* that are shown */
#define MEDIA_WORDS_MAX  20000u               /* of a page */
#define MEDIA_WORD_BYTES 1000u

#define MEDIA_PENDING_MAX       256u /* calls that wait or run: each has a file open */
#define MEDIA_PAGES_PENDING_MAX 64u  /* of those about pages of PDFs, which wait separately */

struct media;
struct media_op; /* a pending call; valid until its callback */

struct media_conf {
    const char *program;  /* nb */
    const char *work_dir; /* never visible to a tool */
    const char *home_dir;
};

struct media *media_new(struct pool *files, struct pool *pages, const struct media_conf *conf);
void media_stop(struct media *m); /* ends what runs; calls from now on fail */
void media_free(struct media *m); /* when the pools have ended */

/* ---- for models ---- */

/* A new picture. */
struct media_result {
    str bytes; /* in the arena */
    const char *mime;
    uint32_t width, height;
};
/* Makes one of bytes in memory. Blocking: for a pool thread. -EINVAL: broken, or not a picture;
 * -EFBIG; -ENOSYS: a library is missing. */
int media_make_picture(const struct media *m, struct arena *a, str bytes, uint32_t side,
                       struct media_result *ret, struct err *e);

/* A file as models get it. */
struct media_view {
    str id, mime; /* empty: the file itself */
    uint64_t bytes;
    uint32_t width, height;
    str problem; /* a PDF: why it has no text; it may still be sent to a model that reads PDFs */
};

typedef void (*media_view_fn)(void *ctx, const struct err *err, const struct media_view *views);
/* One view for each file. `side`: the longest side of a picture that the model uses. -EINVAL: a
 * file that is broken or not what its name says; -EFBIG; -ENOENT: it was removed; -ENOSYS: a
 * library is missing; -EDQUOT: the files have reached their limit, to which views count. The
 * message names the file. -EAGAIN: MEDIA_PENDING_MAX. */
struct media_op *media_prepare(struct media *m, struct attach *library,
                               const struct attached *files, size_t n, uint32_t side,
                               media_view_fn fn, void *ctx);

/* Pictures in the result of a tool, which a program has sent: base64, each made new like those of
 * people. Without `data`: `problem` says why it cannot be shown, or, when that is empty too, it was
 * not tried. */
struct media_made {
    str data; /* base64 */
    const char *mime;
    uint32_t width, height;
    str problem;
};

#define MEDIA_RESULTS_MAX 32u /* pictures in one result; the others have a problem */

struct media_results; /* a pending call; valid until its callback */
typedef void (*media_made_fn)(void *ctx, const struct media_made *made); /* one for each */
struct media_results *media_prepare_results(struct media *m, const str *base64, size_t n,
                                            uint32_t side, media_made_fn fn, void *ctx);
void media_results_cancel(struct media_results *b); /* no callback; accepts NULL */

/* ---- for pages ---- */

struct media_want {
    enum media_form {
        MEDIA_THUMB,      /* of a picture, or the first page of a PDF */
        MEDIA_PAGE,       /* of a PDF, to be read */
        MEDIA_PAGE_LARGE, /* the same, enlarged */
    } form;
    uint32_t page; /* from 1; of MEDIA_THUMB 1 */
};

typedef void (*media_thumb_fn)(void *ctx, const struct err *err, const char *mime,
                               int fd); /* fd: of the callee, who closes it */
/* A picture of a file of this library. Small ones are kept beside the file; pictures of pages for
 * LIBRARY_PAGES_MS, while there is room for them. Takes over fd, the bytes of the file. The same
 * errors; -ENOENT: no such page; -EINVAL also for a file of another type. */
struct media_op *media_thumb(struct media *m, struct attach *library, const struct media_want *want,
                             str sha256, str mime, int fd, media_thumb_fn fn, void *ctx);

struct media_pages {
    uint64_t count; /* as the PDF says */
    size_t n;       /* of those whose size is known, from page 1 on; at most MEDIA_PAGES_MAX */
    struct media_page_size {
        double width, height; /* in points */
    } * sizes;
};
typedef void (*media_pages_fn)(void *ctx, const struct err *err, const struct media_pages *pages);
/* The pages of a PDF. Takes over fd. */
struct media_op *media_pages(struct media *m, str mime, int fd, media_pages_fn fn, void *ctx);

struct media_words {
    size_t n; /* at most MEDIA_WORDS_MAX; the rest is left out */
    struct media_word {
        double x, y, x_end, y_end; /* in points, from the upper left corner of the page */
        str text;
    } * words;
};
typedef void (*media_words_fn)(void *ctx, const struct err *err, const struct media_words *words);
/* What is written on a page, in reading order. Takes over fd. */
struct media_op *media_words(struct media *m, str mime, uint32_t page, int fd, media_words_fn fn,
                             void *ctx);

/* ---- for terminals ---- */

/* A picture as sixels (sixel.h), no side longer than `side` pixels, at most `max` bytes; by the
 * helper of `program`, nb. Blocking, and any thread. The caller checks what it got: the helper may
 * have been taken over by the file. */
int media_sixels(struct arena *a, const char *program, str file, uint32_t side, size_t max,
                 str *ret, struct err *e);

/* No callback; a program that runs for the call ends. Accepts NULL. */
void media_cancel(struct media_op *op);
