/* A model's text on a terminal: whatever it contains, nothing reaches the terminal that it would
 * obey, and how the text arrived does not show. The first byte seeds the sizes of the pieces. */
#include <assert.h>

#include "base/utf8.h"
#include "cli/screen/markdown.h"

enum { INPUT_MAX = 16 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Without colours: printable text and line feeds. With them: also ESC [ digits and ; m. */
static void check_output(str s, bool has_color)
{
    assert(utf8_valid(s));
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool is_c1 = c == 0xc2 && i + 1 < s.n && (unsigned char)s.p[i + 1] < 0xa0;
        assert(!is_c1);
        if (c == 0x1b) {
            assert(has_color && i + 1 < s.n && s.p[i + 1] == '[');
            for (i += 2; i < s.n && s.p[i] != 'm'; i++)
                assert((s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == ';');
            assert(i < s.n);
            continue;
        }
        assert(c == '\n' || (c >= ' ' && c != 127));
    }
    assert(s.n == 0 || s.p[s.n - 1] == '\n');
}

static void render_in_pieces(str text, unsigned seed, const struct markdown_style *style,
                             struct buf *out)
{
    struct markdown_stream m;
    struct buf peek;
    buf_init(&peek, MARKDOWN_OUTPUT_MAX);
    markdown_stream_init(&m);
    for (unsigned random = seed; text.n > 0;) {
        random = random * 1103515245 + 12345;
        str piece = str_slice(text, 0, seed ? 1 + (random >> 16) % (seed % 60 + 1) : text.n);
        markdown_stream_feed(&m, piece, style, out);
        text = str_skip(text, piece.n);
        buf_clear(&peek);
        markdown_stream_peek(&m, style, &peek);
        check_output(buf_str(&peek), style->has_color);
    }
    markdown_stream_end(&m, style, out);
    markdown_stream_done(&m);
    buf_done(&peek);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > INPUT_MAX)
        return 0;
    struct markdown_style style = {.width = 20 + data[0] % 80, .has_color = data[0] & 1};
    str text = str_make((const char *)data + 1, size - 1);
    struct buf cut, whole;
    buf_init(&cut, MARKDOWN_OUTPUT_MAX);
    buf_init(&whole, MARKDOWN_OUTPUT_MAX);
    render_in_pieces(text, data[0] + 1u, &style, &cut);
    render_in_pieces(text, 0, &style, &whole);
    check_output(buf_str(&whole), style.has_color);
    assert(str_eq(buf_str(&cut), buf_str(&whole)));
    buf_clear(&whole);
    markdown_render(&whole, text, &style);
    check_output(buf_str(&whole), style.has_color);
    buf_done(&cut);
    buf_done(&whole);
    return 0;
}
