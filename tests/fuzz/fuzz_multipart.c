/* Any bytes as a form: the first byte chooses the size of the pieces. What is handed on does not
 * depend on it, never contains the delimiter, and stays below the ceilings. */
#include <assert.h>

#include "attach/file_name.h"
#include "attach/multipart.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    struct buf text;
    struct buf part;
    unsigned parts;
};

static bool on_part(void *ctx, str name, str file_name, bool is_file)
{
    struct seen *s = ctx;
    struct arena a;
    arena_init(&a);
    str clean = file_name_clean(&a, file_name);
    assert(clean.n > 0 && clean.n <= FILE_NAME_MAX && utf8_valid(clean));
    assert(str_find_char(clean, '/') < 0 && str_find_char(clean, '\n') < 0);
    arena_done(&a);
    assert(++s->parts <= MULTIPART_PARTS_MAX);
    buf_printf(&s->text, "[%.*s|%.*s|%d]", STR_ARG(name), STR_ARG(file_name), is_file);
    return true;
}

static bool on_data(void *ctx, str bytes)
{
    struct seen *s = ctx;
    buf_add_str(&s->text, bytes);
    buf_add_str(&s->part, bytes);
    return true;
}

static bool on_part_end(void *ctx)
{
    struct seen *s = ctx;
    assert(str_find(buf_str(&s->part), STR("\r\n--b"), 0) < 0);
    buf_clear(&s->part);
    buf_add_lit(&s->text, ".");
    return true;
}

static int run(str in, size_t piece, struct seen *s, bool *ret_done)
{
    static const struct multipart_events EVENTS = {on_part, on_data, on_part_end};
    struct multipart m;
    int r = 0;
    *s = (struct seen){0};
    buf_init(&s->text, 1 << 24);
    buf_init(&s->part, 1 << 24);
    multipart_init(&m, STR("b"), &EVENTS, s);
    for (; in.n > 0 && r == 0; in = str_skip(in, piece))
        r = multipart_feed(&m, str_slice(in, 0, piece));
    *ret_done = multipart_is_done(&m);
    multipart_done(&m);
    buf_done(&s->part);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen whole, pieces;
    bool is_done, is_done_too;
    str boundary;
    if (size == 0)
        return 0;
    str in = str_make((const char *)data + 1, size - 1);
    (void)multipart_boundary(in, &boundary);
    int r = run(in, SIZE_MAX / 2, &whole, &is_done);
    int r2 = run(in, 1 + data[0] % 64, &pieces, &is_done_too);
    assert(r == r2 && (r < 0 || (is_done == is_done_too)));
    assert(r < 0 || str_eq(buf_str(&whole.text), buf_str(&pieces.text)));
    buf_done(&whole.text);
    buf_done(&pieces.text);
    return 0;
}
