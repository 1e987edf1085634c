#include "llm/provider/normalise.h"
#include "support/unit.h"

TEST(the_bytes_decide)
{
    static const struct {
        const char *base64, *mime;
    } CASES[] = {
        {"iVBORw0KGgo=", "image/png"},
        {"iVBORw0KGgoAAAANSUhEUg==", "image/png"},
        {"/9j/4AAQSkZJRg==", "image/jpeg"},
        {"R0lGODlhAQABAA==", "image/gif"},
        {"UklGRgAAAABXRUJQVlA4", "image/webp"},
        {"UklGRgAAAABXQVZF", ""}, /* a sound file */
        {"AAAA", ""},
        {"", ""},
        {"iVBORw0KGgo", ""},       /* no padding */
        {"iVBORw0KGgo=\nAAA", ""}, /* line breaks */
        {"iVBORw0KGgo*AAAA", ""},
        {"====", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        const char *problem = NULL;
        str mime = picture_mime(str_from(CASES[i].base64), &problem);
        if (!str_eq(mime, str_from(CASES[i].mime)))
            fail_msg("%s is '%.*s'", CASES[i].base64, STR_ARG(mime));
        assert_non_null(problem);
    }
}

TEST(size_has_an_end)
{
    (void)state;
    const char *problem = NULL;
    size_t n = PICTURE_BASE64_MAX + 4;
    char *huge = xcalloc(1, n);
    memset(huge, 'A', n);
    memcpy(huge, "iVBORw0KGgoA", 12);
    assert_int_equal(picture_mime(str_make(huge, n), &problem).n, 0);
    assert_string_equal(problem, "it is too large");
    assert_true(str_eq(picture_mime(str_make(huge, n - 4), &problem), STR("image/png")));
    free(huge);
}
