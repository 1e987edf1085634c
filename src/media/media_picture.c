#include <errno.h>
#include <sys/mman.h>

#include "base/json/json.h"
#include "base/utf8.h"
#include "media/helper/helper.h"
#include "media/helper/sixel.h"
#include "media/media_child.h"
#include "media/media_impl.h"
#include "os/file.h"

#define TIMEOUT_MS (60 * 1000)

/* "image/png 640 480" */
static bool read_report(str line, struct media_result *ret)
{
    static const char *const TYPES[] = {"image/png", "image/jpeg", SIXEL_TYPE};
    str mime = STR_NONE, width = STR_NONE;
    uint64_t w, h;
    bool is_split = str_split(&line, ' ', &mime) && str_split(&line, ' ', &width);
    ptrdiff_t type = STR_INDEX(mime, TYPES);
    if (!is_split || type < 0 || parse_u64(width, &w) < 0 || parse_u64(line, &h) < 0 ||
        w > UINT16_MAX || h > UINT16_MAX)
        return false;
    ret->mime = TYPES[type];
    ret->width = (uint32_t)w;
    ret->height = (uint32_t)h;
    return true;
}

/* The process may have been taken over by what it decoded: its words are shown only with the codes
 * of its own errors, and cut. */
static int explain_exit(const struct media_output *o, struct err *e)
{
    str why = utf8_truncate(str_trim(o->err), 300);
    if (o->is_late)
        return err_set(e, -EINVAL, "it took too long to decode");
    if (!utf8_valid(why) || why.n == 0)
        why = STR("it is broken or incomplete");
    switch (o->exit_code) {
    case MEDIA_TOO_LARGE:
        return err_set(e, -EFBIG, "%.*s", STR_ARG(why));
    case MEDIA_NO_LIBRARY:
    case MEDIA_NO_SANDBOX:
        return err_set(e, -ENOSYS, "%.*s", STR_ARG(why));
    case MEDIA_BROKEN:
        return err_set(e, -EINVAL, "%.*s", STR_ARG(why));
    }
    return err_set(e, -EINVAL, "it is broken: its decoder ended without a result");
}

static int run_helper(struct arena *a, const char *program, const char *form,
                      const struct picture_job *job, const atomic_bool *is_stopping,
                      struct media_result *ret, struct err *e)
{
    const char *const argv[] = {
        program, "media", arena_printf(a, "%u", job->side).p, arena_printf(a, "%zu", job->bytes).p,
        form,    NULL};
    struct media_output out;
    const struct media_job child = {.spec = {.argv = argv},
                                    .in = job->in,
                                    .out_max = job->bytes,
                                    .timeout_ms = TIMEOUT_MS,
                                    .is_stopping = is_stopping,
                                    .is_cancelled = job->is_cancelled};
    int rc = media_child_run(a, &child, &out, e);
    if (rc < 0)
        return rc;
    if (out.exit_code != MEDIA_DONE || out.is_late || out.is_too_long ||
        !read_report(out.err, ret) || out.out.n == 0)
        return explain_exit(&out, e);
    ret->bytes = out.out;
    return 0;
}

int media_picture(struct arena *a, const struct media *m, const struct picture_job *job,
                  struct media_result *ret, struct err *e)
{
    int rc = run_helper(a, m->conf.program, NULL, job, &m->is_stopping, ret, e);
    if (rc == 0 && strcmp(ret->mime, SIXEL_TYPE) == 0)
        return err_set(e, -EINVAL, "it is broken: its decoder ended without a result");
    return rc;
}

int media_sixels(struct arena *a, const char *program, str file, uint32_t side, size_t max,
                 str *ret, struct err *e)
{
    static const atomic_bool NEVER;
    struct media_result made = {0};
    struct picture_job job = {.side = side, .bytes = max};
    job.in = memfd_create("nb-picture", MFD_CLOEXEC);
    if (job.in < 0)
        return err_set(e, -errno, "there is no memory for it: %s", err_reason(-errno));
    int rc = file_write_all(job.in, file);
    rc = rc < 0 ? err_set(e, rc, "there is no memory for it")
                : run_helper(a, program, MEDIA_AS_SIXELS, &job, &NEVER, &made, e);
    file_close(job.in);
    *ret = made.bytes;
    return rc;
}
