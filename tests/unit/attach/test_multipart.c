#include <errno.h>

#include "attach/multipart.h"
#include "support/unit.h"

static struct {
    struct buf text;
    bool is_refusing;
} seen;

static bool on_part(void *ctx, str name, str file_name, bool is_file)
{
    buf_printf(&seen.text, "[%.*s|%.*s|%d]", STR_ARG(name), STR_ARG(file_name), is_file);
    return !seen.is_refusing;
}

static bool on_data(void *ctx, str data)
{
    buf_add_str(&seen.text, data);
    return true;
}

static bool on_part_end(void *ctx)
{
    buf_add_lit(&seen.text, ".");
    return true;
}

static const struct multipart_events EVENTS = {on_part, on_data, on_part_end};

#define FORM                                                                                       \
    "--xy\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n--xy\r\n"                    \
    "content-type: image/png\r\nContent-Disposition: form-data; name=file; filename=\"p;q.png\""   \
    "\r\n\r\n\r\n--x\r\n--xz\r\n--xy--\r\n"

static int feed(str form, size_t piece, const char **ret_problem, bool *ret_done)
{
    struct multipart m;
    int r = 0;
    buf_init(&seen.text, 1 << 20);
    multipart_init(&m, STR("xy"), &EVENTS, NULL);
    for (; form.n > 0 && r == 0; form = str_skip(form, piece))
        r = multipart_feed(&m, str_slice(form, 0, piece));
    *ret_problem = m.problem;
    *ret_done = multipart_is_done(&m);
    multipart_done(&m);
    return r;
}

TEST(a_form_is_the_same_in_pieces_of_any_size)
{
    const char *problem;
    bool is_done;
    for (size_t piece = 1; piece <= sizeof FORM; piece++) {
        assert_int_equal(feed(STR(FORM), piece, &problem, &is_done), 0);
        assert_true(is_done);
        assert_string_equal(buf_cstr(&seen.text), "[a||0]one.[file|p;q.png|1]\r\n--x\r\n--xz.");
        buf_done(&seen.text);
    }
}

TEST(a_form_that_is_cut_is_not_done)
{
    const char *problem;
    bool is_done;
    for (size_t n = 0; n < sizeof FORM - 1 - 4; n++) {
        assert_int_equal(feed(str_make(FORM, n), 7, &problem, &is_done), 0);
        assert_false(is_done);
        buf_done(&seen.text);
    }
}

TEST(malformed_forms_are_refused)
{
    static const str BAD[] = {
        STR_INIT("preamble\r\n--xy\r\n"),
        STR_INIT("--xy\n\n"),
        STR_INIT("--xy\r\nno colon\r\n\r\n"),
        STR_INIT("--xy\r\nContent-Type: text/plain\r\n\r\n"),
        STR_INIT("--xy\r\nContent-Disposition: attachment; name=a\r\n\r\n"),
        STR_INIT("--xy\r\nContent-Disposition: form-data; filename=a\r\n\r\n"),
        STR_INIT("--xy\r\nContent-Disposition: form-data; name=\"a\r\n\r\n"),
        STR_INIT("--xy\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n--xyzz"),
        STR_INIT("--xy\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n--xy--more"),
    };
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        const char *problem;
        bool is_done;
        assert_int_equal(feed(BAD[i], 5, &problem, &is_done), -EINVAL);
        assert_non_null(problem);
        buf_done(&seen.text);
    }
}

TEST(parts_and_their_headers_have_ceilings)
{
    const char *problem;
    bool is_done;
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_add_lit(&b, "--xy");
    for (unsigned i = 0; i <= MULTIPART_PARTS_MAX; i++)
        buf_add_lit(&b, "\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n--xy");
    buf_add_lit(&b, "--");
    assert_int_equal(feed(buf_str(&b), 1000, &problem, &is_done), -EINVAL);
    assert_string_equal(problem, "too many parts");
    buf_done(&seen.text);
    buf_clear(&b);
    buf_add_lit(&b, "--xy\r\n");
    for (unsigned i = 0; i < MULTIPART_HEADERS_MAX; i++)
        buf_add_lit(&b, "aa");
    assert_int_equal(feed(buf_str(&b), 1 << 20, &problem, &is_done), -EINVAL);
    assert_string_equal(problem, "the headers of a part are too large");
    buf_done(&seen.text);
    buf_done(&b);
}

TEST(a_callback_may_end_it)
{
    const char *problem;
    bool is_done;
    seen.is_refusing = true;
    assert_int_equal(feed(STR(FORM), 1000, &problem, &is_done), -ECANCELED);
    assert_null(problem);
    seen.is_refusing = false;
    buf_done(&seen.text);
}

TEST(the_boundary_is_in_the_content_type)
{
    str b;
    assert_true(multipart_boundary(STR("multipart/form-data; boundary=abc"), &b));
    assert_true(str_eq(b, STR("abc")));
    assert_true(multipart_boundary(STR("Multipart/Form-Data; charset=x; Boundary=\"a:b\""), &b));
    assert_true(str_eq(b, STR("a:b")));
    assert_false(multipart_boundary(STR("multipart/form-data"), &b));
    assert_false(multipart_boundary(STR("multipart/form-data; boundary="), &b));
    assert_false(multipart_boundary(STR("multipart/form-data; boundary=a b"), &b));
    assert_false(multipart_boundary(STR("multipart/mixed; boundary=a"), &b));
    assert_false(multipart_boundary(STR(""), &b));
}
