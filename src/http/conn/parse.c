#include "http/conn/parse.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/bytes/base64.h"
#include "base/utf8.h"

enum { TOKEN = 1, VALUE = 2, TARGET = 4, HOST = 8 };

/* RFC 9110 tokens; RFC 9112 field values; targets take any visible ASCII but '#', because
 * clients send more raw characters than RFC 3986 allows and none of them is ambiguous. */
static const uint8_t CLASS[256] = {
    ['\t'] = VALUE,
    [' '] = VALUE,
    ['!'] = TOKEN | VALUE | TARGET,
    ['"'] = VALUE | TARGET,
    ['#'] = TOKEN | VALUE,
    ['$' ... '\''] = TOKEN | VALUE | TARGET,
    ['('] = VALUE | TARGET,
    [')'] = VALUE | TARGET,
    ['*' ... '+'] = TOKEN | VALUE | TARGET,
    [','] = VALUE | TARGET,
    ['-' ... '.'] = TOKEN | VALUE | TARGET | HOST,
    ['/'] = VALUE | TARGET,
    ['0' ... '9'] = TOKEN | VALUE | TARGET | HOST,
    [':'] = VALUE | TARGET | HOST,
    [';' ... '@'] = VALUE | TARGET,
    ['A' ... 'Z'] = TOKEN | VALUE | TARGET | HOST,
    ['['] = VALUE | TARGET | HOST,
    ['\\'] = VALUE | TARGET,
    [']'] = VALUE | TARGET | HOST,
    ['^'] = TOKEN | VALUE | TARGET,
    ['_'] = TOKEN | VALUE | TARGET | HOST,
    ['`'] = TOKEN | VALUE | TARGET,
    ['a' ... 'z'] = TOKEN | VALUE | TARGET | HOST,
    ['{'] = VALUE | TARGET,
    ['|'] = TOKEN | VALUE | TARGET,
    ['}'] = VALUE | TARGET,
    ['~'] = TOKEN | VALUE | TARGET | HOST,
    [0x80 ... 0xff] = VALUE,
};

bool http_is_token_char(char c)
{
    return CLASS[(unsigned char)c] & TOKEN;
}

bool http_is_value_char(char c)
{
    return CLASS[(unsigned char)c] & VALUE;
}

static bool all_of(str s, uint8_t class)
{
    for (size_t i = 0; i < s.n; i++)
        if (!(CLASS[(unsigned char)s.p[i]] & class))
            return false;
    return true;
}

static bool bad(struct http_head *h, int status, const char *reason)
{
    h->status = status;
    h->reason = reason;
    return false;
}

static enum http_parse parse_refuse(struct http_head *h, int status, const char *reason)
{
    (void)bad(h, status, reason);
    return HTTP_PARSE_BAD;
}

/* ---- the request line ---- */

static bool parse_version(struct http_head *h, str v)
{
    if (v.n != 8 || !str_starts(v, STR("HTTP/")) || v.p[6] != '.' || v.p[5] < '0' || v.p[5] > '9' ||
        v.p[7] < '0' || v.p[7] > '9')
        return bad(h, 400, "malformed request line");
    if (v.p[5] != '1' || v.p[7] > '1')
        return bad(h, 505, "only HTTP/1.0 and HTTP/1.1 are supported");
    h->minor = (unsigned)(v.p[7] - '0');
    return true;
}

static bool is_port(str s)
{
    unsigned n = 0;
    for (size_t i = 0; i < s.n && s.n <= 5; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        n = n * 10 + (unsigned)(s.p[i] - '0');
    }
    return s.n >= 1 && s.n <= 5 && n <= 65535;
}

/* "name", "name:port", "[v6]", "[v6]:port". Bounded, because URLs and response headers are built
 * from it. */
static bool is_host(str s)
{
    if (s.n == 0 || s.n > HTTP_HOST_MAX || !all_of(s, HOST))
        return false;
    bool is_v6 = s.p[0] == '[';
    ptrdiff_t end = str_find_char(s, is_v6 ? ']' : ':');
    if (is_v6 && end < 0)
        return false;
    str rest = end < 0 ? STR_NONE : str_skip(s, (size_t)end + (is_v6 ? 1 : 0));
    return rest.n == 0 || (rest.p[0] == ':' && is_port(str_skip(rest, 1)));
}

static bool parse_target(struct http_head *h)
{
    str t = h->target;
    if (t.n > HTTP_TARGET_MAX)
        return bad(h, 414, "the request target is too long");
    if (!all_of(t, TARGET))
        return bad(h, 400, "bad character in the request target");

    bool is_plain = str_starts_nocase(t, STR("http://"));
    if (is_plain || str_starts_nocase(t, STR("https://"))) {
        t = str_skip(t, is_plain ? 7 : 8);
        ptrdiff_t slash = str_find_char(t, '/');
        h->authority = slash > 0 ? str_slice(t, 0, (size_t)slash) : STR_NONE;
        if (!is_host(h->authority))
            return bad(h, 400, "unsupported request target");
        t = str_skip(t, (size_t)slash);
    }
    if (t.n == 0 || t.p[0] != '/')
        return bad(h, 400, "unsupported request target");

    ptrdiff_t mark = str_find_char(t, '?');
    h->path = mark < 0 ? t : str_slice(t, 0, (size_t)mark);
    h->query = mark < 0 ? STR_NONE : str_skip(t, (size_t)mark + 1);
    return true;
}

static bool parse_request_line(struct http_head *h, str line)
{
    str rest = line;
    if (!str_split(&rest, ' ', &h->method) || !str_split(&rest, ' ', &h->target))
        return bad(h, 400, "malformed request line");
    if (h->method.n == 0 || !all_of(h->method, TOKEN))
        return bad(h, 400, "malformed method");
    return parse_version(h, rest) && parse_target(h);
}

/* ---- header fields ---- */

static str trim_ows(str s)
{
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = str_skip(s, 1);
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

static bool parse_header_line(struct http_head *h, str line)
{
    size_t n = 0;
    while (n < line.n && http_is_token_char(line.p[n]))
        n++;
    if (n == 0)
        return bad(h, 400, "a header line has no name");
    if (n == line.n || line.p[n] != ':')
        return bad(h, 400, "malformed header name");
    str value = trim_ows(str_skip(line, n + 1));
    if (!all_of(value, VALUE))
        return bad(h, 400, "control character in a header value");
    h->headers[h->nheaders++] = (struct http_header){str_slice(line, 0, n), value};
    return true;
}

/* The fields that matter here, as far as they were read. */
struct seen_headers {
    bool has_host, says_close, says_keep_alive;
};

static bool take_content_length(struct http_head *h, struct seen_headers *seen, str value)
{
    (void)seen;
    if (h->framing != HTTP_FRAMING_NONE)
        return bad(h, 400, "more than one body length");
    if (value.n == 0 || value.n > 18)
        return bad(h, 400, "malformed Content-Length");
    uint64_t n = 0;
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] < '0' || value.p[i] > '9')
            return bad(h, 400, "malformed Content-Length");
        n = n * 10 + (uint64_t)(value.p[i] - '0');
    }
    h->framing = HTTP_FRAMING_LENGTH;
    h->content_length = n;
    return true;
}

static bool take_transfer_encoding(struct http_head *h, struct seen_headers *seen, str value)
{
    (void)seen;
    if (h->framing != HTTP_FRAMING_NONE)
        return bad(h, 400, "more than one body length");
    if (h->minor == 0)
        return bad(h, 400, "Transfer-Encoding in HTTP/1.0");
    if (!str_eq_nocase(value, STR("chunked")))
        return bad(h, 501, "unknown transfer coding");
    h->framing = HTTP_FRAMING_CHUNKED;
    return true;
}

static bool take_connection(struct http_head *h, struct seen_headers *seen, str value)
{
    (void)h;
    str part;
    while (str_split(&value, ',', &part)) {
        part = trim_ows(part);
        seen->says_close |= str_eq_nocase(part, STR("close"));
        seen->says_keep_alive |= str_eq_nocase(part, STR("keep-alive"));
    }
    return true;
}

static bool take_expect(struct http_head *h, struct seen_headers *seen, str value)
{
    (void)seen;
    if (h->minor == 0)
        return true;
    if (!str_eq_nocase(value, STR("100-continue")))
        return bad(h, 417, "unknown expectation");
    h->expects_continue = true;
    return true;
}

static bool take_host(struct http_head *h, struct seen_headers *seen, str value)
{
    if (seen->has_host)
        return bad(h, 400, "more than one Host");
    if (!is_host(value))
        return bad(h, 400, "malformed Host");
    if (h->authority.n && !str_eq_nocase(h->authority, value))
        return bad(h, 400, "Host and request target disagree");
    seen->has_host = true;
    return true;
}

static const struct {
    str name;
    bool (*take)(struct http_head *h, struct seen_headers *seen, str value);
} SPECIAL[] = {
    {STR_INIT("host"), take_host},
    {STR_INIT("expect"), take_expect},
    {STR_INIT("connection"), take_connection},
    {STR_INIT("content-length"), take_content_length},
    {STR_INIT("transfer-encoding"), take_transfer_encoding},
};

static bool take_header(struct http_head *h, struct seen_headers *seen, const struct http_header *f)
{
    for (size_t i = 0; i < ARRAY_LEN(SPECIAL); i++)
        if (f->name.n == SPECIAL[i].name.n && str_eq_nocase(f->name, SPECIAL[i].name))
            return SPECIAL[i].take(h, seen, f->value);
    return true;
}

static bool understand_headers(struct http_head *h)
{
    struct seen_headers seen = {0};
    for (size_t i = 0; i < h->nheaders; i++)
        if (!take_header(h, &seen, &h->headers[i]))
            return false;
    if (h->minor == 1 && !seen.has_host)
        return bad(h, 400, "no Host header");
    h->has_keep_alive = !seen.says_close && (h->minor == 1 || seen.says_keep_alive);
    return true;
}

/* ---- the head as a whole ---- */

/* The next line of the head without its CRLF. The scan has checked that each line ends in one; a
 * CR elsewhere is refused as a control character. */
static str next_line(str *rest)
{
    const char *lf = memchr(rest->p, '\n', rest->n);
    assert(lf && lf > rest->p && lf[-1] == '\r');
    str line = {rest->p, (size_t)(lf - rest->p) - 1};
    *rest = str_skip(*rest, line.n + 2);
    return line;
}

static bool parse_lines(struct http_head *h, str head, unsigned max_headers)
{
    if (!parse_request_line(h, next_line(&head)))
        return false;
    for (;;) {
        str line = next_line(&head);
        if (line.n == 0)
            return understand_headers(h);
        if (h->nheaders == max_headers)
            return bad(h, 431, "too many headers");
        if (!parse_header_line(h, line))
            return false;
    }
}

/* RFC 9112 2.2: an empty line before the request is left over from the one before. */
static size_t leading_crlf(str in)
{
    if (in.n == 0 || in.p[0] != '\r')
        return 0;
    return in.n == 1 || in.p[1] == '\n' ? 2 : 0;
}

/* Finds the end of the head, line by line. */
static enum http_parse scan(str in, size_t start, size_t *scanned, struct http_head *h)
{
    size_t at = *scanned > start ? *scanned : start;
    for (;;) {
        const char *lf = at < in.n ? memchr(in.p + at, '\n', in.n - at) : NULL;
        if (!lf)
            break;
        size_t i = (size_t)(lf - in.p);
        if (i == start || lf[-1] != '\r')
            return parse_refuse(h, 400, "a line does not end in CRLF");
        if (i == start + 1)
            return parse_refuse(h, 400, "malformed request line");
        at = i + 1;
        if (lf[-2] == '\n') {
            h->bytes = at;
            return HTTP_PARSE_DONE;
        }
    }
    *scanned = in.n;
    return HTTP_PARSE_MORE;
}

/* Checks a head that is not complete yet: it may already be too long or malformed. */
static enum http_parse check_growing(str in, const struct http_limits *limits, struct http_head *h)
{
    size_t line_max = HTTP_TARGET_MAX + 64;
    if (line_max > limits->head_bytes)
        line_max = limits->head_bytes;
    if (in.n > line_max && !memchr(in.p, '\n', line_max))
        return parse_refuse(h, 414, "the request line is too long");
    if (in.n > limits->head_bytes)
        return parse_refuse(h, 431, "the request head is too large");
    return HTTP_PARSE_MORE;
}

static void head_clear(struct http_head *h)
{
    h->method = h->target = h->authority = h->path = h->query = STR_NONE;
    h->bytes = h->nheaders = 0;
    h->minor = 1;
    h->framing = HTTP_FRAMING_NONE;
    h->content_length = 0;
    h->has_keep_alive = h->expects_continue = false;
    h->status = 0;
    h->reason = NULL;
}

enum http_parse http_parse_head(str in, size_t *scanned, const struct http_limits *limits,
                                struct http_head *h)
{
    assert(limits->headers <= HTTP_HEADERS_MAX);
    head_clear(h);

    size_t start = leading_crlf(in);
    if (in.n > start && !http_is_token_char(in.p[start]))
        return parse_refuse(h, 400, "the request is not HTTP");
    enum http_parse found = scan(in, start, scanned, h);
    if (found == HTTP_PARSE_MORE)
        return check_growing(str_skip(in, start), limits, h);
    if (found == HTTP_PARSE_BAD)
        return found;
    if (h->bytes - start > limits->head_bytes)
        return parse_refuse(h, 431, "the request head is too large");
    str head = str_slice(in, start, h->bytes);
    return parse_lines(h, head, limits->headers) ? HTTP_PARSE_DONE : HTTP_PARSE_BAD;
}

/* ---- the path ---- */

static bool has_dot_segment(str path)
{
    str rest = path, part;
    while (str_split(&rest, '/', &part))
        if (str_eq(part, STR(".")) || str_eq(part, STR("..")))
            return true;
    return false;
}

int http_decode_path(str raw, char *out, size_t *ret_n)
{
    size_t n = 0;
    for (size_t i = 0; i < raw.n; i++) {
        char c = raw.p[i];
        if (c == '%') {
            int high = i + 2 < raw.n ? hex_digit(raw.p[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(raw.p[i + 2]) : -1;
            if (low < 0)
                return -EINVAL;
            c = (char)(high * 16 + low);
            i += 2;
        }
        if ((unsigned char)c < 0x20 || c == 0x7f)
            return -EINVAL;
        out[n++] = c;
    }
    str path = {out, n};
    if (!utf8_valid(path) || has_dot_segment(path))
        return -EINVAL;
    *ret_n = n;
    return 0;
}
