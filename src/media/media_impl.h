/* media_impl.h - shared by the files of this floor that do not run in the helper.
 *
 *   media.c        calls, and files as models get them
 *   media_show.c   calls for the page: previews, pages and words of PDFs
 *   media_picture.c  `nb media` as a program
 *   pdf_tool.c     programs of poppler in a sandbox; pdf.c: which, and why
 *   pdf_output.c   what they print
 *   media_child.c  runs either */
#pragma once

#include "media/media.h"
#include "media/media_child.h"
#include "media/refused.h"

/* Calls of one kind, which wait for threads of their own. Loop thread. */
struct media_queue {
    struct pool *pool;
    size_t npending, max;
};

struct media {
    struct media_queue files, pages; /* pages: of PDFs; a PDF that takes long holds up no message */
    struct media_conf conf;
    atomic_bool is_stopping;
    struct refused refused; /* pictures that cannot be made */
    struct pdf_sandbox *pdf_sandbox;
};

/* ---- calls ---- */

struct media_op {
    struct job job;
    struct media *media;
    struct media_queue *queue;
    struct arena arena;
    struct attach *library; /* held; NULL: the call adds nothing to it */
    const char *dir;
    const struct file_place *place; /* of the library */
    uint64_t added;                 /* to the library */
    struct attached *files;
    size_t n;
    uint32_t side;
    struct media_view *views;

    str sha256, type; /* of the file that is shown */
    struct media_want want;
    int fd; /* its bytes, then those of the preview */
    bool may_keep;
    uint64_t kept; /* bytes of a picture of a page */
    const char *mime;
    struct media_pages pages;
    struct media_words words;

    struct err err;
    atomic_bool is_cancelled;
    void (*answer)(struct media_op *op, const struct err *err);
    media_view_fn on_views;
    media_thumb_fn on_thumb;
    media_pages_fn on_pages;
    media_words_fn on_words;
    void *ctx;
};

/* A call whose work has to be given to the pool of its queue (media_op_run). `answer` has the
 * callback called, or frees what it would have got when the call was cancelled. */
struct media_op *media_op_new(struct media *m, struct media_queue *q, struct attach *library,
                              void (*answer)(struct media_op *op, const struct err *err),
                              void *ctx);
void media_op_run(struct media_op *op, void (*work)(struct job *j));

/* ---- programs; pool threads. Errors as in media.h, as sentences about "it" ---- */

struct picture_job {
    int in;
    uint32_t side;
    size_t bytes;
    const atomic_bool *is_cancelled;
};
/* A new file with the pixels of this one. */
int media_picture(struct arena *a, const struct media *m, const struct picture_job *job,
                  struct media_result *ret, struct err *e);

struct pdf_job {
    const char *const *argv; /* of a program of poppler that reads its standard input */
    int in, out;             /* out: as in struct media_job */
    size_t out_max;
    uint64_t timeout_ms;
    const atomic_bool *is_cancelled;
};
/* What the sandbox of PDFs can be made of; any thread. Freed when no tool runs. */
struct pdf_sandbox *pdf_sandbox_new(void);
void pdf_sandbox_free(struct pdf_sandbox *s);
/* -EINVAL: broken, or protected; -ENOENT: no such page; -ENOSYS: there is no tool or no sandbox. A
 * tool that writes more than out_max was ended; that is not an error here. */
int media_pdf_run(struct arena *a, const struct media *m, const struct pdf_job *job,
                  struct media_output *ret, struct err *e);
/* Also -ENODATA: it has no text. */
int media_pdf_text(struct arena *a, const struct media *m, int fd, str *ret, struct err *e);

struct pdf_source {
    int fd;
    uint32_t page; /* from 1 */
    const atomic_bool *is_cancelled;
};
int media_pdf_pages(struct arena *a, const struct media *m, const struct pdf_source *from,
                    struct media_pages *ret, struct err *e);
int media_pdf_words(struct arena *a, const struct media *m, const struct pdf_source *from,
                    struct media_words *ret, struct err *e);
int media_pdf_page(struct arena *a, const struct media *m, const struct pdf_source *from,
                   uint32_t side, size_t bytes, struct media_result *ret, struct err *e);
