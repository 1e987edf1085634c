/* Views of files count to the limit of the workspace. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include "loop/loop.h"
#include "media/helper/helper.h"
#include "media/media.h"
#include "media/refused.h"
#include "os/file.h"
#include "support/tempdir.h"
#include "support/unit.h"

#define PATIENCE_MS 60000

struct prepared {
    bool is_done;
    int code;
};

static void on_prepared(void *ctx, const struct err *err, const struct media_view *views)
{
    struct prepared *p = ctx;
    p->is_done = true;
    p->code = err ? err->code : 0;
    assert_true(err || views);
}

static int prepare(struct loop *l, struct media *m, struct attach *library)
{
    struct prepared p = {0};
    const struct attached text = {.id = STR("file_x"), .name = STR("a"), .mime = STR("text/plain")};
    media_prepare(m, library, &text, 1, 100, on_prepared, &p);
    assert_true(loop_run_until(l, &p.is_done, PATIENCE_MS));
    return p.code;
}

struct desk {
    struct tempdir dir;
    struct loop *loop;
    struct pool *pool;
    struct attach *library;
    struct media *media;
};

static int set_up(void **state)
{
    static struct desk d;
    *state = &d;
    int r = tempdir_make(&d.dir);
    d.loop = loop_new(NULL);
    d.pool = pool_new(d.loop, "test", 1);
    d.library = attach_new(d.loop, d.pool, &(struct attach_conf){d.dir.path, 100, 100});
    d.media = media_new(d.pool, d.pool, &(struct media_conf){"/bin/false", d.dir.path, "/"});
    return r;
}

static int tear_down(void **state)
{
    struct desk *d = *state;
    attach_close(d->library);
    pool_free(d->pool);
    media_free(d->media);
    loop_free(d->loop);
    return tempdir_drop(&d->dir);
}

TEST_WITH(a_full_workspace_gets_no_more_views, set_up, tear_down)
{
    struct desk *d = *state;
    assert_int_equal(prepare(d->loop, d->media, d->library), 0);
    attach_count(d->library, 101);
    assert_int_equal(prepare(d->loop, d->media, d->library), -EDQUOT);
    attach_count(d->library, -1);
    assert_int_equal(prepare(d->loop, d->media, d->library), 0);
}

static void on_made(void *ctx, const struct err *err, const char *mime, int fd)
{
    struct prepared *p = ctx;
    p->is_done = true;
    p->code = err ? err->code : 0;
    assert_int_equal(fd, -1);
}

static const struct media_want SMALL = {MEDIA_THUMB, 1};

/* Decoders that leave a line for each time they are started. */
static const char *make_decoder(struct desk *d, int code)
{
    struct err e = {0};
    static char path[256], text[512];
    snprintf(path, sizeof path, "%s/decoder", d->dir.path);
    snprintf(text, sizeof text, "#!/bin/sh\necho >>'%s/starts'\necho it is cut off >&2\nexit %d\n",
             d->dir.path, code);
    assert_int_equal(file_write_atomic(path, str_from(text), 0700, &e), 0);
    return path;
}

static uint64_t starts(const struct desk *d)
{
    struct stat st;
    char path[256];
    snprintf(path, sizeof path, "%s/starts", d->dir.path);
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static int thumb_of(struct desk *d, struct media *m, str sha256)
{
    struct prepared p = {0};
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    media_thumb(m, d->library, &SMALL, sha256, STR("image/png"), fd, on_made, &p);
    assert_true(loop_run_until(d->loop, &p.is_done, PATIENCE_MS));
    return p.code;
}

#define PICTURE "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"

TEST_WITH(a_broken_picture_is_decoded_once, set_up, tear_down)
{
    struct desk *d = *state;
    const char *program = make_decoder(d, MEDIA_BROKEN);
    struct media *m = media_new(d->pool, d->pool, &(struct media_conf){program, d->dir.path, "/"});
    for (int i = 0; i < 3; i++)
        assert_int_equal(thumb_of(d, m, STR(PICTURE "1")), -EINVAL);
    assert_int_equal(starts(d), 1);
    assert_int_equal(thumb_of(d, m, STR(PICTURE "2")), -EINVAL); /* another one */
    assert_int_equal(starts(d), 2);
    (void)make_decoder(d, MEDIA_NO_LIBRARY); /* may be installed at any moment */
    for (int i = 0; i < 2; i++)
        assert_int_equal(thumb_of(d, m, STR(PICTURE "3")), -ENOSYS);
    assert_int_equal(starts(d), 4);
    media_free(m);
}

TEST_WITH(the_oldest_refusal_makes_room_and_none_lasts_for_ever, set_up, tear_down)
{
    static struct refused r;
    struct err e = {.code = -EFBIG, .msg = "too large"}, found = {0};
    for (unsigned i = 0; i <= REFUSED_MAX; i++) {
        char sha256[SHA256_HEX_LEN + 1];
        snprintf(sha256, sizeof sha256, "%064u", i);
        refused_note(&r, str_from(sha256), 0, &e);
        refused_note(&r, str_from(sha256), 0, &e); /* takes no second place */
        assert_int_equal(refused_find(&r, str_from(sha256), 0, &found), -EFBIG);
        assert_string_equal(found.msg, "too large");
        assert_int_equal(refused_find(&r, str_from(sha256), 1, &found), 0); /* a page of it */
    }
    char first[SHA256_HEX_LEN + 1];
    snprintf(first, sizeof first, "%064u", 0u);
    assert_int_equal(refused_find(&r, str_from(first), 0, &found), 0);
    snprintf(first, sizeof first, "%064u", 1u);
    assert_int_equal(refused_find(&r, str_from(first), 0, &found), -EFBIG);
    for (size_t i = 0; i < REFUSED_MAX; i++)
        r.items[i].until_ms = 1;
    assert_int_equal(refused_find(&r, str_from(first), 0, &found), 0);
}

static struct media_op *thumb(struct desk *d, int fd, struct prepared *ret)
{
    str sha256 = STR("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    return media_thumb(d->media, d->library, &SMALL, sha256, STR("image/png"), fd, on_made, ret);
}

/* ---- pictures of results ---- */

struct made {
    bool is_done;
    char first[32], second[64], third[64];
    uint32_t width;
};

static void on_results(void *ctx, const struct media_made *m)
{
    struct made *p = ctx;
    p->is_done = true;
    p->width = m[0].width;
    snprintf(p->first, sizeof p->first, "%.*s%.*s", STR_ARG(m[0].data), STR_ARG(m[0].problem));
    snprintf(p->second, sizeof p->second, "%.*s", STR_ARG(m[1].problem));
    snprintf(p->third, sizeof p->third, "%.*s", STR_ARG(m[2].problem));
}

#define GIF_BASE64 "R0lGODlhAQABAAAAACw=" /* as much of one as its type needs */

TEST_WITH(pictures_of_results_are_made_new_one_by_one, set_up, tear_down)
{
    struct desk *d = *state;
    struct made p = {0};
    struct err e = {0};
    char path[256];
    snprintf(path, sizeof path, "%s/decoder", d->dir.path);
    str script = STR("#!/bin/sh\ncat >/dev/null\nprintf new\nprintf 'image/png 7 8' >&2\n");
    assert_int_equal(file_write_atomic(path, script, 0700, &e), 0);
    struct media *m = media_new(d->pool, d->pool, &(struct media_conf){path, d->dir.path, "/"});
    const str given[] = {STR(GIF_BASE64), STR("!!"), STR("dGV4dA==")};
    media_prepare_results(m, given, 3, 100, on_results, &p);
    assert_true(loop_run_until(d->loop, &p.is_done, PATIENCE_MS));
    assert_string_equal(p.first, "bmV3");
    assert_int_equal(p.width, 7);
    assert_string_equal(p.second, "its bytes are not base64, or too many");
    assert_string_equal(p.third, "it is not a picture of a known type");
    p = (struct made){0};
    media_results_cancel(media_prepare_results(m, given, 3, 100, on_results, &p));
    assert_int_equal(prepare(d->loop, m, d->library), 0); /* behind it in the pool */
    assert_false(p.is_done);
    (void)make_decoder(d, MEDIA_NO_LIBRARY); /* says nothing about the picture */
    media_prepare_results(m, (const str[]){STR(GIF_BASE64), STR(GIF_BASE64), STR(GIF_BASE64)}, 3,
                          100, on_results, &p);
    assert_true(loop_run_until(d->loop, &p.is_done, PATIENCE_MS));
    assert_true(p.first[0] == '\0' && p.second[0] == '\0');
    media_free(m);
}

static size_t count_problems;

static void on_many(void *ctx, const struct media_made *m)
{
    for (size_t i = 0; i < MEDIA_RESULTS_MAX + 1; i++)
        count_problems += str_find(m[i].problem, STR("more than"), 0) >= 0;
    *(bool *)ctx = true;
}

TEST_WITH(a_result_with_too_many_pictures_shows_the_first, set_up, tear_down)
{
    struct desk *d = *state;
    str given[MEDIA_RESULTS_MAX + 1];
    bool is_done = false;
    count_problems = 0;
    for (size_t i = 0; i < ARRAY_LEN(given); i++)
        given[i] = STR("AAAA");
    media_prepare_results(d->media, given, ARRAY_LEN(given), 100, on_many, &is_done);
    assert_true(loop_run_until(d->loop, &is_done, PATIENCE_MS));
    assert_int_equal(count_problems, 1);
}

/* Somebody may ask for many previews and not wait for them. */
TEST_WITH(calls_that_pile_up_are_refused_and_hold_no_file, set_up, tear_down)
{
    struct desk *d = *state;
    struct prepared last = {0};
    int ends[2];
    for (size_t i = 0; i < MEDIA_PENDING_MAX; i++)
        media_cancel(thumb(d, open("/dev/null", O_RDONLY | O_CLOEXEC), &last));
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    thumb(d, ends[0], &last);
    /* A decoder that was forked just now has a copy until it executes: POLLERR is waited for. */
    struct pollfd written = {.fd = ends[1], .events = 0};
    assert_int_equal(poll(&written, 1, PATIENCE_MS), 1);
    assert_true(written.revents & POLLERR); /* nobody has the other end any more */
    close(ends[1]);
    assert_true(loop_run_until(d->loop, &last.is_done, PATIENCE_MS));
    assert_int_equal(last.code, -EAGAIN);
    assert_int_equal(prepare(d->loop, d->media, d->library), 0);
}

TEST_WITH(pictures_of_pages_have_room_of_their_own, set_up, tear_down)
{
    struct desk *d = *state;
    assert_true(attach_may_keep_page(d->library));
    attach_count_pages(d->library, ATTACH_PAGES_MAX);
    assert_false(attach_may_keep_page(d->library));
    assert_int_equal(prepare(d->loop, d->media, d->library), 0); /* it is not that of files */
}

/* PDFs that take long must not keep pictures and messages from being prepared. */
TEST_WITH(pages_wait_separately, set_up, tear_down)
{
    struct desk *d = *state;
    struct prepared last = {0};
    static const struct media_want FIRST = {MEDIA_PAGE, 1};
    str sha256 = STR("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    for (size_t i = 0; i <= MEDIA_PAGES_PENDING_MAX; i++) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        struct media_op *op = media_thumb(d->media, d->library, &FIRST, sha256,
                                          STR("application/pdf"), fd, on_made, &last);
        if (i < MEDIA_PAGES_PENDING_MAX)
            media_cancel(op);
    }
    assert_int_equal(prepare(d->loop, d->media, d->library), 0);
    assert_true(loop_run_until(d->loop, &last.is_done, PATIENCE_MS));
    assert_int_equal(last.code, -EAGAIN);
}
