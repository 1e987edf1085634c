/* The text of a PDF for models, by pdftotext. Its pages for people: pictures by pdftoppm, which the
 * media helper decodes and writes again as it does with pictures that people give; sizes by
 * pdfinfo; words by pdftotext. */
#include <errno.h>
#include <sys/mman.h>

#include "media/media_impl.h"
#include "media/pdf_output.h"
#include "os/file.h"

#define OUTPUT_MAX (4u * 1024 * 1024)
#define TEXT_MS    (60 * 1000)
#define PAGE_MS    (30 * 1000) /* somebody looks at an empty page */

int media_pdf_text(struct arena *a, const struct media *m, int fd, str *ret, struct err *e)
{
    static const char *const ARGV[] = {"pdftotext", "-enc", "UTF-8", "-nopgbrk", "-", "-", NULL};
    struct media_output out;
    const struct pdf_job job = {
        .argv = ARGV, .in = fd, .out_max = MEDIA_TEXT_MAX, .timeout_ms = TEXT_MS};
    int rc = media_pdf_run(a, m, &job, &out, e);
    if (rc < 0)
        return rc;
    if (str_trim(out.out).n == 0)
        return err_set(e, -ENODATA, "it has no text: it may be a scan");
    *ret = out.is_too_long ? arena_printf(a, "%.*s\n[Cut here: the text of the PDF is longer.]\n",
                                          STR_ARG(out.out))
                           : out.out;
    return 0;
}

int media_pdf_pages(struct arena *a, const struct media *m, const struct pdf_source *from,
                    struct media_pages *ret, struct err *e)
{
    const char *const argv[] = {
        "pdfinfo", "-enc", "UTF-8", "-f", "1", "-l", arena_printf(a, "%u", MEDIA_PAGES_MAX).p,
        "-",       NULL};
    struct media_output out;
    const struct pdf_job job = {.argv = argv,
                                .in = from->fd,
                                .out_max = OUTPUT_MAX,
                                .timeout_ms = PAGE_MS,
                                .is_cancelled = from->is_cancelled};
    int rc = media_pdf_run(a, m, &job, &out, e);
    if (rc < 0)
        return rc;
    return pdf_output_pages(a, out.out, ret) ? 0
                                             : err_set(e, -EINVAL, "it is broken or incomplete");
}

int media_pdf_words(struct arena *a, const struct media *m, const struct pdf_source *from,
                    struct media_words *ret, struct err *e)
{
    const char *number = arena_printf(a, "%u", from->page).p;
    const char *const argv[] = {"pdftotext", "-enc", "UTF-8", "-bbox", "-cropbox", "-f",
                                number,      "-l",   number,  "-",     "-",        NULL};
    struct media_output out;
    const struct pdf_job job = {.argv = argv,
                                .in = from->fd,
                                .out_max = OUTPUT_MAX,
                                .timeout_ms = PAGE_MS,
                                .is_cancelled = from->is_cancelled};
    int rc = media_pdf_run(a, m, &job, &out, e);
    if (rc == 0)
        pdf_output_words(a, out.out, ret);
    return rc;
}

/* The pixels are as many as `side` allows, whatever size the page has. */
static int draw_page(struct arena *a, const struct media *m, const struct pdf_source *from,
                     uint32_t side, int to, struct err *e)
{
    const char *number = arena_printf(a, "%u", from->page).p;
    const char *const argv[] = {"pdftoppm", "-cropbox", "-f",        number,
                                "-l",       number,     "-scale-to", arena_printf(a, "%u", side).p,
                                NULL};
    struct media_output out;
    const struct pdf_job job = {.argv = argv,
                                .in = from->fd,
                                .out = to,
                                .out_max = (size_t)side * side * 3 + 64,
                                .timeout_ms = PAGE_MS,
                                .is_cancelled = from->is_cancelled};
    int rc = media_pdf_run(a, m, &job, &out, e);
    if (rc < 0)
        return rc;
    return out.is_too_long || out.nout == 0 ? err_set(e, -EINVAL, "it is broken or incomplete") : 0;
}

int media_pdf_page(struct arena *a, const struct media *m, const struct pdf_source *from,
                   uint32_t side, size_t bytes, struct media_result *ret, struct err *e)
{
    int pixels = memfd_create("nb-page", MFD_CLOEXEC);
    if (pixels < 0)
        return err_set(e, -errno, "there is no memory for its pixels: %s", err_reason(-errno));
    int rc = draw_page(a, m, from, side, pixels, e);
    const struct picture_job job = {pixels, side, bytes, from->is_cancelled};
    if (rc == 0)
        rc = media_picture(a, m, &job, ret, e);
    file_close(pixels);
    return rc;
}
