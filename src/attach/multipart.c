#include "attach/multipart.h"

#include <assert.h>
#include <errno.h>

enum { FIRST, HEADERS, DATA, DELIMITED, END, FAILED };

enum { FEED_MAX = 64 * 1024, HELD_MAX = FEED_MAX + 2 * MULTIPART_HEADERS_MAX };

/* ---- Content-Type ---- */

static bool is_boundary_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("'()+_,-./:=?", c));
}

static bool is_boundary(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_boundary_char(s.p[i]))
            return false;
    return s.n > 0 && s.n <= MULTIPART_BOUNDARY_MAX;
}

bool multipart_boundary(str content_type, str *ret)
{
    str rest = content_type, part;
    if (!str_split(&rest, ';', &part) || !str_eq_nocase(str_trim(part), STR("multipart/form-data")))
        return false;
    while (str_split(&rest, ';', &part)) {
        part = str_trim(part);
        if (!str_starts_nocase(part, STR("boundary=")))
            continue;
        str value = str_skip(part, 9);
        if (value.n >= 2 && value.p[0] == '"' && value.p[value.n - 1] == '"')
            value = str_slice(value, 1, value.n - 1);
        *ret = value;
        return is_boundary(value);
    }
    return false;
}

/* ---- headers of a part ---- */

struct disposition {
    str name, file_name;
    bool has_name, is_file;
};

/* One "; key=value"; the value is quoted or a token. Browsers write quotes as %22. */
static bool next_param(str *rest, str *key, str *value)
{
    *rest = str_trim(*rest);
    if (rest->n == 0 || rest->p[0] != ';')
        return false;
    *rest = str_trim(str_skip(*rest, 1));
    ptrdiff_t eq = str_find_char(*rest, '=');
    if (eq <= 0)
        return false;
    *key = str_slice(*rest, 0, (size_t)eq);
    *rest = str_skip(*rest, (size_t)eq + 1);
    bool is_quoted = rest->n > 0 && rest->p[0] == '"';
    if (is_quoted)
        *rest = str_skip(*rest, 1);
    ptrdiff_t end = str_find_char(*rest, is_quoted ? '"' : ';');
    if (end < 0 && is_quoted)
        return false;
    size_t n = end < 0 ? rest->n : (size_t)end;
    *value = str_slice(*rest, 0, n);
    *rest = str_skip(*rest, n + is_quoted);
    return true;
}

static bool read_disposition(str value, struct disposition *d)
{
    str key, v;
    if (!str_starts_nocase(value, STR("form-data")))
        return false;
    str rest = str_skip(value, 9);
    while (next_param(&rest, &key, &v)) {
        if (str_eq_nocase(key, STR("name"))) {
            d->name = v;
            d->has_name = true;
        } else if (str_eq_nocase(key, STR("filename"))) {
            d->file_name = v;
            d->is_file = true;
        }
    }
    return str_trim(rest).n == 0 && d->has_name;
}

static bool read_headers(str block, struct disposition *d)
{
    bool is_found = false;
    while (block.n > 0) {
        ptrdiff_t end = str_find(block, STR("\r\n"), 0);
        str line = end < 0 ? block : str_slice(block, 0, (size_t)end);
        block = end < 0 ? STR_NONE : str_skip(block, (size_t)end + 2);
        ptrdiff_t colon = str_find_char(line, ':');
        if (colon <= 0 || memchr(line.p, '\n', line.n) || memchr(line.p, '\0', line.n))
            return false;
        if (!str_eq_nocase(str_slice(line, 0, (size_t)colon), STR("content-disposition")))
            continue;
        if (is_found || !read_disposition(str_trim(str_skip(line, (size_t)colon + 1)), d))
            return false;
        is_found = true;
    }
    return is_found;
}

/* ---- states: each takes bytes from the front of *in; false = it needs more, or has failed ---- */

static bool multipart_fail(struct multipart *m, const char *problem)
{
    m->state = FAILED;
    m->problem = problem;
    return false;
}

/* A callback has ended the parsing: there is no problem to report. */
static bool multipart_stop(struct multipart *m)
{
    return multipart_fail(m, NULL);
}

/* At the beginning the delimiter has no line end before it. */
static bool take_first(struct multipart *m, str *in)
{
    str wanted = str_make(m->delimiter + 2, m->ndelimiter - 2);
    if (!str_starts(*in, str_slice(wanted, 0, in->n)))
        return multipart_fail(m, "the body does not begin with its boundary");
    if (in->n < wanted.n)
        return false;
    *in = str_skip(*in, wanted.n);
    m->state = DELIMITED;
    return true;
}

static bool take_delimited(struct multipart *m, str *in)
{
    if (in->n < 2)
        return false;
    bool is_next = str_starts(*in, STR("\r\n"));
    if (!is_next && !str_starts(*in, STR("--")))
        return multipart_fail(m, "malformed delimiter");
    *in = str_skip(*in, 2);
    if (is_next && ++m->parts > MULTIPART_PARTS_MAX)
        return multipart_fail(m, "too many parts");
    m->state = is_next ? HEADERS : END;
    return true;
}

static bool take_headers(struct multipart *m, str *in)
{
    struct disposition d = {0};
    ptrdiff_t end = str_find(*in, STR("\r\n\r\n"), 0);
    if ((end < 0 && in->n > MULTIPART_HEADERS_MAX) || end > (ptrdiff_t)MULTIPART_HEADERS_MAX)
        return multipart_fail(m, "the headers of a part are too large");
    if (end < 0)
        return false;
    if (!read_headers(str_slice(*in, 0, (size_t)end), &d))
        return multipart_fail(m, "a part has no valid Content-Disposition");
    m->state = DATA;
    bool goes_on = m->ev->on_part(m->ctx, d.name, d.file_name, d.is_file);
    *in = str_skip(*in, (size_t)end + 4);
    return goes_on || multipart_stop(m);
}

/* The end of what is there may be the beginning of a delimiter. */
static bool take_data(struct multipart *m, str *in)
{
    str delimiter = str_make(m->delimiter, m->ndelimiter);
    ptrdiff_t end = str_find(*in, delimiter, 0);
    size_t n = end >= 0 ? (size_t)end : in->n >= delimiter.n ? in->n - delimiter.n + 1 : 0;
    if (n > 0 && !m->ev->on_data(m->ctx, str_slice(*in, 0, n)))
        return multipart_stop(m);
    *in = str_skip(*in, n + (end >= 0 ? delimiter.n : 0));
    if (end < 0)
        return false;
    m->state = DELIMITED;
    return m->ev->on_part_end(m->ctx) || multipart_stop(m);
}

static bool take_end(struct multipart *m, str *in)
{
    for (size_t i = 0; i < in->n; i++)
        if (!strchr("\r\n", in->p[i]) || in->p[i] == '\0')
            return multipart_fail(m, "there is something behind the last part");
    *in = STR_NONE;
    return false;
}

static bool multipart_take(struct multipart *m, str *in)
{
    switch (m->state) {
    case FIRST:
        return take_first(m, in);
    case HEADERS:
        return take_headers(m, in);
    case DATA:
        return take_data(m, in);
    case DELIMITED:
        return take_delimited(m, in);
    case END:
        return take_end(m, in);
    default:
        return false;
    }
}

/* ---- use ---- */

void multipart_init(struct multipart *m, str boundary, const struct multipart_events *ev, void *ctx)
{
    assert(is_boundary(boundary));
    *m = (struct multipart){.ev = ev, .ctx = ctx, .state = FIRST};
    buf_init(&m->held, HELD_MAX);
    memcpy(m->delimiter, "\r\n--", 4);
    memcpy(m->delimiter + 4, boundary.p, boundary.n);
    m->ndelimiter = boundary.n + 4;
}

static int feed_some(struct multipart *m, str piece)
{
    assert(m->held.n <= HELD_MAX - FEED_MAX);
    (void)buf_add_str(&m->held, piece);
    str in = buf_str(&m->held);
    while (in.n > 0 && multipart_take(m, &in))
        ;
    buf_consume(&m->held, m->held.n - in.n);
    if (m->state != FAILED)
        return 0;
    return m->problem ? -EINVAL : -ECANCELED;
}

int multipart_feed(struct multipart *m, str piece)
{
    int r = 0;
    while (r == 0 && piece.n > 0) {
        r = feed_some(m, str_slice(piece, 0, FEED_MAX));
        piece = str_skip(piece, FEED_MAX);
    }
    return r;
}

bool multipart_is_done(const struct multipart *m)
{
    return m->state == END;
}

void multipart_done(struct multipart *m)
{
    buf_done(&m->held);
}
