#include "media/helper/helper.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "attach/sniff.h"
#include "bundle/confine/confine.h"
#include "media/helper/codecs.h"
#include "media/helper/headers.h"
#include "media/helper/ppm.h"
#include "media/helper/sixel.h"

/* Fits a PNG or a progressive JPEG of PICTURE_PIXELS_MAX, and their copies. */
#define MEMORY_MAX  (1024u * 1024 * 1024)
#define CPU_SECONDS 20

static void limit(int what, rlim_t most)
{
    struct rlimit r = {most, most};
    (void)setrlimit(what, &r);
}

static void limit_helper(void)
{
#ifndef __SANITIZE_ADDRESS__ /* which reserves terabytes of addresses */
    limit(RLIMIT_AS, MEMORY_MAX);
#endif
    limit(RLIMIT_CPU, CPU_SECONDS);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_NOFILE, 0);
    limit(RLIMIT_NPROC, 0);
    (void)prctl(PR_SET_DUMPABLE, 0);
}

static int read_input(struct buf *to, struct err *e)
{
    char piece[65536];
    ssize_t n;
    buf_init(to, MEDIA_INPUT_MAX);
    while ((n = read(STDIN_FILENO, piece, sizeof piece)) > 0)
        if (buf_add(to, piece, (size_t)n) < 0)
            return err_set(e, -EFBIG, "it has more than %u MB; send a smaller one",
                           MEDIA_INPUT_MAX >> 20);
    return n < 0 ? err_set(e, -EIO, "it cannot be read") : 0;
}

/* Pictures with sharp edges stay PNG while they are small enough; photos become JPEG. */
static int write_result(const struct codecs *c, str mime, struct picture *p, size_t bytes,
                        struct buf *to, const char **ret_mime, struct err *e)
{
    static const int QUALITIES[] = {88, 75, 50, 25};
    bool is_photo = str_eq(mime, STR("image/jpeg")) || str_eq(mime, STR("image/webp"));
    int rc = -EFBIG;
    *ret_mime = "image/png";
    if (!is_photo || p->has_alpha)
        rc = codecs_write_png(c, p, bytes, to, e);
    if (rc == 0)
        return 0;
    *ret_mime = "image/jpeg";
    picture_on_white(p);
    for (size_t i = 0; i < ARRAY_LEN(QUALITIES) && rc == -EFBIG; i++)
        rc = codecs_write_jpeg(c, p, QUALITIES[i], bytes, to, e);
    return rc;
}

struct helper_want {
    uint32_t side;
    size_t bytes;
    bool as_sixels;
};

static int convert(const struct codecs *c, str mime, str file, const struct helper_want *want,
                   struct buf *to, char line[64], struct err *e)
{
    struct picture p;
    const char *result = SIXEL_TYPE;
    uint32_t width, height;
    if (sniff_size(file, &width, &height) && picture_check(width, height, e) < 0)
        return e->code;
    int rc = codecs_decode(c, mime, file, want->side, &p, e);
    if (rc < 0)
        return rc;
    picture_fit(&p, want->side);
    picture_orient(&p, headers_orientation(file));
    picture_find_alpha(&p);
    rc = want->as_sixels ? sixel_write(&p, to, e)
                         : write_result(c, mime, &p, want->bytes, to, &result, e);
    snprintf(line, 64, "%s %u %u", result, p.width, p.height);
    picture_done(&p);
    return rc;
}

static bool write_whole(int fd, str s)
{
    while (s.n > 0) {
        ssize_t n = write(fd, s.p, s.n);
        if (n <= 0)
            return false;
        s = str_skip(s, (size_t)n);
    }
    return true;
}

static int exit_code(int code)
{
    return code == -EFBIG ? MEDIA_TOO_LARGE : code == -ENOSYS ? MEDIA_NO_LIBRARY : MEDIA_BROKEN;
}

int media_helper_run(uint32_t side, size_t bytes, bool as_sixels)
{
    const struct helper_want want = {side, bytes, as_sixels};
    struct err e = {0};
    struct buf in, out;
    struct codecs codecs;
    char line[64] = "";
    buf_init(&out, bytes);
    int rc = read_input(&in, &e);
    str file = buf_str(&in), mime = str_from(ppm_is(file) ? PPM_TYPE : sniff_type(file));
    if (rc == 0)
        rc = codecs_load(&codecs, mime, &e);
    limit_helper();
    int code = rc < 0 ? exit_code(rc) : confine_to_pipes(&e) < 0 ? MEDIA_NO_SANDBOX : MEDIA_DONE;
    if (code == MEDIA_DONE) {
        rc = convert(&codecs, mime, file, &want, &out, line, &e);
        code = rc < 0 ? exit_code(rc) : MEDIA_DONE;
    }
    bool is_sent = code != MEDIA_DONE || write_whole(STDOUT_FILENO, buf_str(&out));
    (void)write_whole(STDERR_FILENO, str_from(code == MEDIA_DONE ? line : e.msg));
    _exit(is_sent ? code : MEDIA_BROKEN); /* handlers at exit may need what was given up */
}
