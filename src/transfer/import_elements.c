#include <errno.h>
#include <unistd.h>

#include "transfer/import_impl.h"

enum { READ_BYTES = 1024 * 1024 };

void elements_init(struct elements *e, int fd)
{
    *e = (struct elements){.fd = fd};
    buf_init(&e->window, IMPORT_CONV_BYTES + READ_BYTES);
}

void elements_done(struct elements *e)
{
    buf_done(&e->window);
}

/* Adds a piece of the file to the window: 1, 0 at its end, or -errno. */
static int elements_fill(struct elements *e)
{
    int r = buf_reserve(&e->window, READ_BYTES);
    if (r < 0)
        return -EFBIG;
    ssize_t n;
    do
        n = pread(e->fd, e->window.p + e->window.n, READ_BYTES, e->at);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    e->window.n += (size_t)n;
    e->at += n;
    return n > 0;
}

static bool is_between(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',';
}

/* Skips the separators between elements (is_between); the window then begins with *ret. 0 at the
 * end of the file. */
static int next_byte(struct elements *e, char *ret)
{
    for (;;) {
        size_t i = 0;
        while (i < e->window.n && is_between(e->window.p[i]))
            i++;
        buf_consume(&e->window, i);
        if (e->window.n) {
            *ret = e->window.p[0];
            return 1;
        }
        int r = elements_fill(e);
        if (r <= 0)
            return r;
    }
}

struct nesting {
    size_t depth;
    bool in_string, is_escaped;
};

/* Scans the window from `at` on; true when the value ends just before *at. */
static bool scan(struct nesting *n, str window, size_t *at)
{
    for (size_t i = *at; i < window.n; i++) {
        char c = window.p[i];
        if (n->is_escaped) {
            n->is_escaped = false;
        } else if (n->in_string) {
            n->is_escaped = c == '\\';
            n->in_string = c != '"';
        } else if (c == '"') {
            n->in_string = true;
        } else if (c == '{' || c == '[') {
            n->depth++;
        } else if ((c == '}' || c == ']') && --n->depth == 0) {
            *at = i + 1;
            return true;
        }
    }
    *at = window.n;
    return false;
}

/* Skips the rest of a value that is too large. */
static int pass_over(struct elements *e, struct nesting *n)
{
    size_t at;
    do {
        buf_clear(&e->window);
        int r = elements_fill(e);
        if (r <= 0)
            return r < 0 ? r : -EINVAL;
        at = 0;
    } while (!scan(n, buf_str(&e->window), &at));
    e->used = at;
    return -EFBIG;
}

static int elements_begin(struct elements *e)
{
    char c;
    e->has_begun = true;
    int r = elements_fill(e);
    if (r > 0 && str_starts(buf_str(&e->window), STR("\xef\xbb\xbf")))
        buf_consume(&e->window, 3);
    r = r < 0 ? r : next_byte(e, &c);
    if (r <= 0)
        return r < 0 ? r : -EINVAL;
    e->is_single = c == '{';
    if (c == '[')
        buf_consume(&e->window, 1);
    return c == '[' || c == '{' ? 0 : -EINVAL;
}

int elements_next(struct elements *e, str *ret)
{
    char c;
    int r = e->has_begun ? 0 : elements_begin(e);
    if (r < 0)
        return r;
    buf_consume(&e->window, e->used);
    e->used = 0;
    if (e->has_ended)
        return 0;
    r = next_byte(e, &c);
    if (r <= 0)
        return r < 0 ? r : -EINVAL; /* the file is truncated */
    if (c == ']' && !e->is_single) {
        e->has_ended = true;
        return 0;
    }
    if (c != '{')
        return -EINVAL;
    struct nesting n = {0};
    size_t at = 0;
    while (!scan(&n, buf_str(&e->window), &at)) {
        r = e->window.n > IMPORT_CONV_BYTES ? -EFBIG : elements_fill(e);
        if (r == -EFBIG)
            return pass_over(e, &n);
        if (r <= 0)
            return r < 0 ? r : -EINVAL;
    }
    e->has_ended = e->is_single;
    e->used = at;
    *ret = str_slice(buf_str(&e->window), 0, at);
    return 1;
}
