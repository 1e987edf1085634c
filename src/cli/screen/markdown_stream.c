/* Finds where a growing text can be cut: at a blank line outside of code, when the next line does
 * not continue a list. Only complete lines are examined, so the cuts depend on the text alone and
 * never on the pieces in which it arrived. */
#include <assert.h>

#include "base/utf8.h"
#include "cli/screen/markdown.h"

#define PENDING_MAX (2 * MARKDOWN_BLOCK_MAX + 256) /* a block, one feed, a repeated fence */

void markdown_stream_init(struct markdown_stream *m)
{
    *m = (struct markdown_stream){0};
    buf_init(&m->pending, PENDING_MAX);
}

void markdown_stream_done(struct markdown_stream *m)
{
    buf_done(&m->pending);
}

static str without_indent(str line)
{
    while (line.n > 0 && (line.p[0] == ' ' || line.p[0] == '\t'))
        line = str_skip(line, 1);
    return line;
}

static bool is_list_marker(str line)
{
    size_t digits = 0;
    while (digits < line.n && digits < 9 && line.p[digits] >= '0' && line.p[digits] <= '9')
        digits++;
    bool is_number = digits > 0 && digits < line.n && strchr(".)", line.p[digits]);
    bool is_bullet = digits == 0 && line.n > 0 && strchr("-*+", line.p[0]);
    size_t after = is_number ? digits + 1 : 1;
    return (is_number || is_bullet) && (line.n == after || strchr(" \t\r", line.p[after]));
}

static size_t fence_length(str line)
{
    size_t n = 0;
    if (line.n > 0 && (line.p[0] == '`' || line.p[0] == '~'))
        while (n < line.n && line.p[n] == line.p[0])
            n++;
    return n >= 3 ? n : 0;
}

/* The first line of a code block, kept so that the rest of a cut block is still rendered as
 * code. */
static void open_fence(struct markdown_stream *m, str line, size_t len)
{
    str info = str_skip(line, len);
    if (line.p[0] == '`' && str_find_char(info, '`') >= 0)
        return; /* code within a line, not a block */
    str head = utf8_truncate(str_trim(line), sizeof m->fence - 1);
    memcpy(m->fence, head.p, head.n);
    m->fence[head.n] = '\0';
    m->fence_len = len;
}

static bool closes_fence(const struct markdown_stream *m, str line, size_t len)
{
    return len >= m->fence_len && line.p[0] == m->fence[0] && str_trim(line).n == len;
}

static void render_piece(struct markdown_stream *m, str text, const struct markdown_style *style,
                         struct buf *out)
{
    size_t start = out->n;
    if (m->has_output)
        buf_add_char(out, '\n');
    size_t blank = out->n;
    markdown_block(out, text, style);
    if (out->n == blank)
        buf_truncate(out, start);
    else
        m->has_output = true;
}

static void md_stream_take(struct markdown_stream *m, size_t n, const struct markdown_style *style,
                           struct buf *out)
{
    assert(n <= m->pending.n && m->carried <= m->pending.n);
    render_piece(m, str_slice(buf_str(&m->pending), 0, n), style, out);
    buf_consume(&m->pending, n);
    m->scanned = m->carried = 0;
    m->is_list = m->is_gap = false;
}

/* A block beyond the limit is cut; if it was code, the next block starts as code again. */
static void take_oversized(struct markdown_stream *m, const struct markdown_style *style,
                           struct buf *out)
{
    str all = buf_str(&m->pending);
    bool has_lines = m->scanned > m->carried;
    md_stream_take(m, has_lines ? m->scanned : utf8_truncate(all, MARKDOWN_BLOCK_MAX).n, style,
                   out);
    if (!m->fence[0])
        return;
    struct buf rest = m->pending;
    buf_init(&m->pending, PENDING_MAX);
    buf_printf(&m->pending, "%s\n", m->fence);
    m->scanned = m->carried = m->pending.n;
    buf_add_str(&m->pending, buf_str(&rest));
    buf_done(&rest);
}

/* Whether a new block begins with this line, which is not blank. */
static bool begins_block(const struct markdown_stream *m, str body, size_t indent)
{
    return m->is_gap && !(m->is_list && (indent >= 2 || is_list_marker(body)));
}

/* Examines the line at m->scanned; cuts before it if possible. */
static void scan_line(struct markdown_stream *m, str line, const struct markdown_style *style,
                      struct buf *out)
{
    str body = without_indent(line);
    size_t indent = line.n - body.n, fence = fence_length(body);
    assert(m->scanned + line.n < m->pending.n); /* the line has its end */
    size_t after = line.n + 1;
    if (m->fence[0]) {
        if (fence > 0 && closes_fence(m, body, fence))
            m->fence[0] = '\0';
    } else if (str_trim(body).n == 0) {
        m->is_gap = true;
    } else {
        bool is_list = is_list_marker(body), is_new = begins_block(m, body, indent);
        if (fence > 0)
            open_fence(m, body, fence);
        if (is_new)
            md_stream_take(m, m->scanned, style, out); /* `line` is no longer valid */
        m->is_list = m->is_list || is_list;
        m->is_gap = false;
    }
    m->scanned += after;
}

static void md_stream_advance(struct markdown_stream *m, const struct markdown_style *style,
                              struct buf *out)
{
    for (;;) {
        str all = buf_str(&m->pending);
        ptrdiff_t end = str_find(all, STR("\n"), m->scanned);
        size_t upto = end < 0 ? all.n : (size_t)end + 1;
        if (upto > MARKDOWN_BLOCK_MAX)
            take_oversized(m, style, out);
        else if (end >= 0)
            scan_line(m, str_slice(all, m->scanned, (size_t)end), style, out);
        else
            return;
    }
}

void markdown_stream_feed(struct markdown_stream *m, str text, const struct markdown_style *style,
                          struct buf *out)
{
    while (text.n > 0) {
        str part = str_slice(text, 0, MARKDOWN_BLOCK_MAX);
        buf_add_str(&m->pending, part);
        md_stream_advance(m, style, out);
        text = str_skip(text, part.n);
    }
}

void markdown_stream_peek(const struct markdown_stream *m, const struct markdown_style *style,
                          struct buf *out)
{
    struct markdown_stream copy = {.has_output = m->has_output};
    render_piece(&copy, buf_str(&m->pending), style, out);
}

void markdown_stream_end(struct markdown_stream *m, const struct markdown_style *style,
                         struct buf *out)
{
    md_stream_take(m, m->pending.n, style, out);
    m->fence[0] = '\0';
    m->has_output = false;
}

void markdown_render(struct buf *out, str text, const struct markdown_style *style)
{
    struct markdown_stream m;
    markdown_stream_init(&m);
    markdown_stream_feed(&m, text, style, out);
    markdown_stream_end(&m, style, out);
    markdown_stream_done(&m);
}
