#include "http/conn/parse.h"
#include "support/unit.h"

#define HOST "Host: a\r\n"

/* What must be refused, and with which status. Each is complete as it stands, so that a
 * parser that waits for more fails as well. */
static const struct {
    int status;
    const char *name;
    str in;
} REFUSED[] = {
    /* lengths */
    {400, "two equal lengths",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n")},
    {400, "two different lengths",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 6\r\n\r\n")},
    {400, "a list of lengths", STR_INIT("POST / HTTP/1.1\r\n" HOST "Content-Length: 5, 5\r\n\r\n")},
    {400, "length then coding",
     STR_INIT("POST / HTTP/1.1\r\n" HOST
              "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n")},
    {400, "coding then length",
     STR_INIT("POST / HTTP/1.1\r\n" HOST
              "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n")},
    {400, "length zero and coding",
     STR_INIT("POST / HTTP/1.1\r\n" HOST
              "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n")},
    {400, "length with plus", STR_INIT("POST / HTTP/1.1\r\n" HOST "Content-Length: +5\r\n\r\n")},
    {400, "length with minus", STR_INIT("POST / HTTP/1.1\r\n" HOST "Content-Length: -5\r\n\r\n")},
    {400, "length in hex", STR_INIT("POST / HTTP/1.1\r\n" HOST "Content-Length: 0x5\r\n\r\n")},
    {400, "length with a space",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "Content-Length: 5 5\r\n\r\n")},
    {400, "length with a letter",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "Content-Length: 5a\r\n\r\n")},
    {400, "length with a fraction",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "Content-Length: 5.0\r\n\r\n")},
    {400, "empty length", STR_INIT("POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n")},
    {400, "length of 2^64",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "Content-Length: 18446744073709551616\r\n\r\n")},
    {400, "length that overflows",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999999\r\n\r\n")},
    {400, "length in other digits",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "Content-Length: \xd9\xa5\r\n\r\n")},
    {400, "length in another case twice",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "content-length: 5\r\nCONTENT-LENGTH: 5\r\n\r\n")},

    /* hosts */
    {400, "port of six digits", STR_INIT("GET / HTTP/1.1\r\nHost: a:000080\r\n\r\n")},
    {400, "port past 65535", STR_INIT("GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n")},
    {400, "empty port", STR_INIT("GET / HTTP/1.1\r\nHost: a:\r\n\r\n")},
    {400, "port of letters", STR_INIT("GET / HTTP/1.1\r\nHost: a:http\r\n\r\n")},
    {400, "two ports", STR_INIT("GET / HTTP/1.1\r\nHost: a:80:80\r\n\r\n")},
    {400, "bracket without its end", STR_INIT("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n")},
    {400, "text after the bracket", STR_INIT("GET / HTTP/1.1\r\nHost: [::1]80\r\n\r\n")},
    {400, "port past 65535 in the target",
     STR_INIT("GET http://a:99999/ HTTP/1.1\r\nHost: a:99999\r\n\r\n")},

    /* transfer codings */
    {400, "chunked twice",
     STR_INIT("POST / HTTP/1.1\r\n" HOST
              "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n")},
    {400, "chunked then identity",
     STR_INIT("POST / HTTP/1.1\r\n" HOST
              "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n")},
    {501, "chunked in a list with itself",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked, chunked\r\n\r\n")},
    {501, "gzip, chunked",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n")},
    {501, "chunked, gzip",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked, gzip\r\n\r\n")},
    {501, "identity", STR_INIT("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: identity\r\n\r\n")},
    {501, "xchunked", STR_INIT("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n")},
    {501, "quoted chunked",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: \"chunked\"\r\n\r\n")},
    {501, "chunked with parameter",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked;q=1\r\n\r\n")},
    {501, "empty coding", STR_INIT("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding:\r\n\r\n")},
    {501, "chunked and a comma",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked,\r\n\r\n")},
    {400, "vertical tab before chunked",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: \x0b"
              "chunked\r\n\r\n")},
    {400, "coding in HTTP/1.0",
     STR_INIT("POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n")},
    {400, "space before the colon of the coding",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding : chunked\r\n\r\n")},
    {400, "tab before the colon of the coding",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding\t: chunked\r\n\r\n")},
    {400, "folded coding",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding:\r\n chunked\r\n\r\n")},
    {400, "coding hidden behind a bare CR",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "X-Abc: \rxTransfer-Encoding: chunked\r\n\r\n")},
    {400, "coding hidden behind a bare LF",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "X-Abc: x\nTransfer-Encoding: chunked\r\n\r\n")},
    {400, "coding hidden behind a NUL",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "X-Abc: x\0Transfer-Encoding: chunked\r\n\r\n")},
    {400, "NUL in the name",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "Transfer\0-Encoding: chunked\r\n\r\n")},

    /* line ends */
    {400, "LF line ends", STR_INIT("GET / HTTP/1.1\nHost: a\n\n")},
    {400, "LF after the request line", STR_INIT("GET / HTTP/1.1\nHost: a\r\n\r\n")},
    {400, "LF after a header", STR_INIT("GET / HTTP/1.1\r\nHost: a\n\r\n")},
    {400, "LF at the end", STR_INIT("GET / HTTP/1.1\r\nHost: a\r\n\n")},
    {400, "CR in the request line", STR_INIT("GET /\r HTTP/1.1\r\n" HOST "\r\n")},
    {400, "CR before CRLF", STR_INIT("GET / HTTP/1.1\r\r\n" HOST "\r\n")},
    {400, "CR CR LF after a header", STR_INIT("GET / HTTP/1.1\r\nHost: a\r\r\n\r\n")},
    {400, "CR in a header value", STR_INIT("GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n")},
    {400, "CR in a header name", STR_INIT("GET / HTTP/1.1\r\nHost: a\r\nX\rY: a\r\n\r\n")},
    {400, "CR alone on the last line", STR_INIT("GET / HTTP/1.1\r\nHost: a\r\n\r\r\n\r\n")},
    {400, "two empty lines first", STR_INIT("\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n")},
    {400, "LF first", STR_INIT("\nGET / HTTP/1.1\r\n" HOST "\r\n")},
    {400, "CR first", STR_INIT("\rGET / HTTP/1.1\r\n" HOST "\r\n")},
    {400, "space first", STR_INIT(" GET / HTTP/1.1\r\n" HOST "\r\n")},

    /* header names and values */
    {400, "folded header", STR_INIT("GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n")},
    {400, "folded with a tab", STR_INIT("GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n\tb\r\n\r\n")},
    {400, "first header folded", STR_INIT("GET / HTTP/1.1\r\n X: a\r\nHost: a\r\n\r\n")},
    {400, "line of spaces", STR_INIT("GET / HTTP/1.1\r\nHost: a\r\n  \r\n\r\n")},
    {400, "space before a colon", STR_INIT("GET / HTTP/1.1\r\nHost: a\r\nX : a\r\n\r\n")},
    {400, "space before Host's colon", STR_INIT("GET / HTTP/1.1\r\nHost : a\r\n\r\n")},
    {400, "empty name", STR_INIT("GET / HTTP/1.1\r\nHost: a\r\n: a\r\n\r\n")},
    {400, "no colon", STR_INIT("GET / HTTP/1.1\r\nHost: a\r\nnothing\r\n\r\n")},
    {400, "quote in a name", STR_INIT("GET / HTTP/1.1\r\nHost: a\r\n\"X\": a\r\n\r\n")},
    {400, "space in a name", STR_INIT("GET / HTTP/1.1\r\nHost: a\r\nX Y: a\r\n\r\n")},
    {400, "parenthesis in a name", STR_INIT("GET / HTTP/1.1\r\nHost: a\r\nX(Y): a\r\n\r\n")},
    {400, "obs-text in a name", STR_INIT("GET / HTTP/1.1\r\nHost: a\r\nX\x80: a\r\n\r\n")},
    {400, "DEL in a name", STR_INIT("GET / HTTP/1.1\r\nHost: a\r\nX\x7f: a\r\n\r\n")},
    {400, "NUL in a value", STR_INIT("GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n")},
    {400, "DEL in a value", STR_INIT("GET / HTTP/1.1\r\nHost: a\r\nX: a\x7f\r\n\r\n")},
    {400, "escape in a value", STR_INIT("GET / HTTP/1.1\r\nHost: a\r\nX: \x1b[2J\r\n\r\n")},
    {400, "form feed in a value", STR_INIT("GET / HTTP/1.1\r\nHost: a\r\nX: a\x0c\r\n\r\n")},

    /* hosts */
    {400, "no Host", STR_INIT("GET / HTTP/1.1\r\nX: a\r\n\r\n")},
    {400, "no header at all", STR_INIT("GET / HTTP/1.1\r\n\r\n")},
    {400, "two Hosts", STR_INIT("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n")},
    {400, "two Hosts in HTTP/1.0", STR_INIT("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n")},
    {400, "empty Host", STR_INIT("GET / HTTP/1.1\r\nHost:\r\n\r\n")},
    {400, "Host with a path", STR_INIT("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n")},
    {400, "Host with a user", STR_INIT("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n")},
    {400, "Host with a comma", STR_INIT("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n")},
    {400, "Host with a space", STR_INIT("GET / HTTP/1.1\r\nHost: a b\r\n\r\n")},
    {400, "target and Host disagree", STR_INIT("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, "target and Host disagree on the port",
     STR_INIT("GET http://a:1/ HTTP/1.1\r\nHost: a:2\r\n\r\n")},
    {400, "target with a user", STR_INIT("GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, "target with a strange host", STR_INIT("GET http://a{b/ HTTP/1.0\r\n\r\n")},
    {400, "target without a host", STR_INIT("GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n")},

    /* the request line */
    {400, "no version", STR_INIT("GET /\r\n" HOST "\r\n")},
    {400, "no target", STR_INIT("GET HTTP/1.1\r\n" HOST "\r\n")},
    {400, "method only", STR_INIT("GET\r\n" HOST "\r\n")},
    {400, "two spaces", STR_INIT("GET  / HTTP/1.1\r\n" HOST "\r\n")},
    {400, "two spaces before the version", STR_INIT("GET /  HTTP/1.1\r\n" HOST "\r\n")},
    {400, "space at the end", STR_INIT("GET / HTTP/1.1 \r\n" HOST "\r\n")},
    {400, "tab instead of space", STR_INIT("GET\t/\tHTTP/1.1\r\n" HOST "\r\n")},
    {400, "space in the target", STR_INIT("GET /a b HTTP/1.1\r\n" HOST "\r\n")},
    {400, "NUL in the target", STR_INIT("GET /a\0b HTTP/1.1\r\n" HOST "\r\n")},
    {400, "obs-text in the target", STR_INIT("GET /\xc3\xa9 HTTP/1.1\r\n" HOST "\r\n")},
    {400, "fragment in the target", STR_INIT("GET /a#b HTTP/1.1\r\n" HOST "\r\n")},
    {400, "relative target", STR_INIT("GET a HTTP/1.1\r\n" HOST "\r\n")},
    {400, "authority form", STR_INIT("CONNECT a:443 HTTP/1.1\r\n" HOST "\r\n")},
    {400, "asterisk form", STR_INIT("OPTIONS * HTTP/1.1\r\n" HOST "\r\n")},
    {400, "another scheme", STR_INIT("GET ftp://a/ HTTP/1.1\r\n" HOST "\r\n")},
    {400, "lower-case protocol", STR_INIT("GET / http/1.1\r\n" HOST "\r\n")},
    {400, "another protocol", STR_INIT("GET / RTSP/1.0\r\n" HOST "\r\n")},
    {400, "version with more digits", STR_INIT("GET / HTTP/1.10\r\n" HOST "\r\n")},
    {400, "version without a dot", STR_INIT("GET / HTTP/11\r\n" HOST "\r\n")},
    {400, "bad method", STR_INIT("G(T / HTTP/1.1\r\n" HOST "\r\n")},
    {400, "empty method", STR_INIT(" / HTTP/1.1\r\n" HOST "\r\n")},
    {505, "HTTP/2 preface", STR_INIT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")},
    {505, "HTTP/1.2", STR_INIT("GET / HTTP/1.2\r\n" HOST "\r\n")},
    {505, "HTTP/0.9", STR_INIT("GET / HTTP/0.9\r\n" HOST "\r\n")},
    {505, "HTTP/3.0", STR_INIT("GET / HTTP/3.0\r\n" HOST "\r\n")},
    {400, "TLS handshake", STR_INIT("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")},
    {400, "binary", STR_INIT("\0\0\0\0")},
    {400, "a line of JSON", STR_INIT("{\"jsonrpc\":\"2.0\"}\n")},

    {417, "unknown expectation", STR_INIT("POST / HTTP/1.1\r\n" HOST "Expect: 200-maybe\r\n\r\n")},
    {417, "two expectations",
     STR_INIT("POST / HTTP/1.1\r\n" HOST "Expect: 100-continue, x\r\n\r\n")},
};

TEST(refused)
{
    static struct http_head h;
    for (size_t i = 0; i < ARRAY_LEN(REFUSED); i++) {
        size_t scanned = 0;
        enum http_parse got = http_parse_head(REFUSED[i].in, &scanned, &HTTP_LIMITS_DEFAULT, &h);
        if (got != HTTP_PARSE_BAD || h.status != REFUSED[i].status || !h.reason)
            fail_msg("%s: result %d, status %d (%s)", REFUSED[i].name, got, h.status,
                     h.reason ? h.reason : "");
    }
    print_message("%zu malformed or smuggling heads refused\n", ARRAY_LEN(REFUSED));
}

/* However a bad head is cut, it is refused in the end with the same status, and never taken. */
TEST(refused_in_pieces)
{
    static struct http_head h;
    for (size_t i = 0; i < ARRAY_LEN(REFUSED); i++) {
        size_t scanned = 0, n = 0;
        enum http_parse got = HTTP_PARSE_MORE;
        while (got == HTTP_PARSE_MORE && n++ < REFUSED[i].in.n)
            got =
                http_parse_head(str_slice(REFUSED[i].in, 0, n), &scanned, &HTTP_LIMITS_DEFAULT, &h);
        if (got != HTTP_PARSE_BAD || h.status != REFUSED[i].status)
            fail_msg("%s: result %d, status %d", REFUSED[i].name, got, h.status);
    }
}

static void parse_ok(str in, struct http_head *h)
{
    size_t scanned = 0;
    enum http_parse got = http_parse_head(in, &scanned, &HTTP_LIMITS_DEFAULT, h);
    if (got != HTTP_PARSE_DONE)
        fail_msg("%.*s: result %d, status %d (%s)", STR_ARG(in), got, h->status,
                 h->reason ? h->reason : "");
}

static void assert_str(str got, const char *wanted)
{
    if (!str_eq(got, str_from(wanted)))
        fail_msg("got \"%.*s\", wanted \"%s\"", STR_ARG(got), wanted);
}

TEST(parts)
{
    static struct http_head h;
    str in = STR("POST /a/b%20c?x=1&y=?2 HTTP/1.1\r\nHost: example.org:8080\r\n"
                 "content-LENGTH:  12\t\r\nX-Empty:\r\nX-Text: a b\xc3\xa9\tc  \r\n\r\nbody");
    parse_ok(in, &h);
    assert_int_equal(h.bytes, in.n - 4);
    assert_str(h.method, "POST");
    assert_str(h.target, "/a/b%20c?x=1&y=?2");
    assert_str(h.path, "/a/b%20c");
    assert_str(h.query, "x=1&y=?2");
    assert_int_equal(h.minor, 1);
    assert_int_equal(h.nheaders, 4);
    assert_str(h.headers[0].name, "Host");
    assert_str(h.headers[0].value, "example.org:8080");
    assert_str(h.headers[1].value, "12");
    assert_str(h.headers[2].value, "");
    assert_str(h.headers[3].value, "a b\xc3\xa9\tc");
    assert_int_equal(h.framing, HTTP_FRAMING_LENGTH);
    assert_int_equal(h.content_length, 12);
    assert_true(h.has_keep_alive);
    assert_false(h.expects_continue);
}

TEST(accepted)
{
    static struct http_head h;
    parse_ok(STR("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"), &h);
    assert_str(h.path, "/");
    parse_ok(STR("GET http://A.example:80/x?y HTTP/1.1\r\nHost: a.EXAMPLE:80\r\n\r\n"), &h);
    assert_str(h.path, "/x");
    assert_str(h.query, "y");
    assert_str(h.authority, "A.example:80");
    parse_ok(STR("GET / HTTP/1.1\r\nHost: [::1]:27247\r\n\r\n"), &h);
    parse_ok(STR("GET / HTTP/1.0\r\n\r\n"), &h);
    assert_false(h.has_keep_alive);
    parse_ok(STR("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"), &h);
    assert_true(h.has_keep_alive);
    parse_ok(STR("GET / HTTP/1.0\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n"), &h);
    assert_false(h.has_keep_alive);
    parse_ok(STR("GET / HTTP/1.1\r\nHost: a\r\nConnection: x , close\r\n\r\n"), &h);
    assert_false(h.has_keep_alive);
    parse_ok(STR("GET / HTTP/1.1\r\nHost: a\r\nConnection: closed\r\n\r\n"), &h);
    assert_true(h.has_keep_alive);
    parse_ok(STR("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: CHUNKED\r\n\r\n"), &h);
    assert_int_equal(h.framing, HTTP_FRAMING_CHUNKED);
    parse_ok(STR("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\n\r\n"), &h);
    assert_true(h.expects_continue);
    parse_ok(STR("POST / HTTP/1.0\r\nExpect: whatever\r\n\r\n"), &h);
    assert_false(h.expects_continue);
    parse_ok(STR("PATCH / HTTP/1.1\r\nHost: a\r\nContent-Length: 000\r\n\r\n"), &h);
    assert_int_equal(h.content_length, 0);
}

TEST(more_at_every_byte)
{
    static struct http_head h;
    str in = STR("\r\nGET /x HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\nGET");
    size_t scanned = 0, end = in.n - 3;
    for (size_t n = 0; n < end; n++)
        assert_int_equal(http_parse_head(str_slice(in, 0, n), &scanned, &HTTP_LIMITS_DEFAULT, &h),
                         HTTP_PARSE_MORE);
    assert_int_equal(http_parse_head(in, &scanned, &HTTP_LIMITS_DEFAULT, &h), HTTP_PARSE_DONE);
    assert_int_equal(h.bytes, end);
    assert_str(h.path, "/x");
}

/* ---- limits ---- */

static int status_of(const struct buf *b)
{
    static struct http_head h;
    size_t scanned = 0;
    enum http_parse got = http_parse_head(buf_str(b), &scanned, &HTTP_LIMITS_DEFAULT, &h);
    return got == HTTP_PARSE_BAD ? h.status : (int)got;
}

static void fill(struct buf *b, const char *before, size_t n, const char *after)
{
    buf_clear(b);
    buf_add_lit(b, before);
    for (size_t i = 0; i < n; i++)
        buf_add_char(b, 'x');
    buf_add_lit(b, after);
}

TEST(limits)
{
    struct buf b;
    buf_init(&b, 1 << 20);

    fill(&b, "GET /", HTTP_TARGET_MAX - 1, " HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_int_equal(status_of(&b), HTTP_PARSE_DONE);
    fill(&b, "GET /", HTTP_TARGET_MAX, " HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_int_equal(status_of(&b), 414);
    fill(&b, "GET /", HTTP_TARGET_MAX + 100, ""); /* not even a line end yet */
    assert_int_equal(status_of(&b), 414);

    size_t head = HTTP_LIMITS_DEFAULT.head_bytes;
    size_t fixed = strlen("GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n");
    fill(&b, "GET / HTTP/1.1\r\nHost: a\r\nX: ", head - fixed, "\r\n\r\n");
    assert_int_equal(status_of(&b), HTTP_PARSE_DONE);
    fill(&b, "GET / HTTP/1.1\r\nHost: a\r\nX: ", head - fixed + 1, "\r\n\r\n");
    assert_int_equal(status_of(&b), 431);
    fill(&b, "GET / HTTP/1.1\r\nHost: a\r\nX: ", head, "");
    assert_int_equal(status_of(&b), 431);

    for (unsigned n = HTTP_HEADERS_MAX; n <= HTTP_HEADERS_MAX + 1; n++) {
        buf_clear(&b);
        buf_add_lit(&b, "GET / HTTP/1.1\r\nHost: a\r\n");
        for (unsigned i = 1; i < n; i++)
            buf_printf(&b, "X-%u: y\r\n", i);
        buf_add_lit(&b, "\r\n");
        assert_int_equal(status_of(&b), n > HTTP_HEADERS_MAX ? 431 : HTTP_PARSE_DONE);
    }
    buf_done(&b);
}

/* ---- paths ---- */

TEST(paths)
{
    static const struct {
        const char *raw, *decoded; /* NULL: refused */
    } CASES[] = {
        {"/", "/"},
        {"/a/b", "/a/b"},
        {"/a%20b", "/a b"},
        {"/%41%7e", "/A~"},
        {"/%c3%A9", "/\xc3\xa9"},
        {"/a+b", "/a+b"},
        {"/a%2Fb", "/a/b"},
        {"/a//b", "/a//b"},
        {"/...", "/..."},
        {"/..a/a..", "/..a/a.."},
        {"/%", NULL},
        {"/%4", NULL},
        {"/%zz", NULL},
        {"/%4x", NULL},
        {"/%00", NULL},
        {"/a%00b", NULL},
        {"/%0d%0aX:", NULL},
        {"/%7f", NULL},
        {"/%ff", NULL},
        {"/%c0%af", NULL},
        {"/%ed%a0%80", NULL},
        {"/.", NULL},
        {"/..", NULL},
        {"/a/../b", NULL},
        {"/a/./b", NULL},
        {"/a/..", NULL},
        {"/%2e%2e/x", NULL},
        {"/a/.%2e/x", NULL},
        {"/a%2f..%2fb", NULL},
        {"/a%2f%2e%2e", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        char out[64];
        size_t n = 0;
        int rc = http_decode_path(str_from(CASES[i].raw), out, &n);
        if ((rc == 0) != (CASES[i].decoded != NULL))
            fail_msg("%s: %d", CASES[i].raw, rc);
        if (rc == 0)
            assert_str(str_make(out, n), CASES[i].decoded);
    }
}
