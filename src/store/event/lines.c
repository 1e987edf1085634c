#include "store/event/lines.h"

#include <errno.h>
#include <unistd.h>

#include "base/json/json.h"

enum { READ_BYTES = 256 * 1024, TAIL_BYTES = 64 * 1024 };

void lines_init(struct lines *l, int fd, off_t from, off_t limit)
{
    *l = (struct lines){.fd = fd, .at = from, .limit = limit, .window_at = from};
    buf_init(&l->window, LINES_MAX_BYTES + READ_BYTES);
}

void lines_done(struct lines *l)
{
    buf_done(&l->window);
}

/* Adds the next piece of the file to the window: 1, 0 at the limit, or -errno. */
static int lines_fill(struct lines *l)
{
    off_t from = l->window_at + (off_t)l->window.n;
    if (from >= l->limit)
        return 0;
    size_t want = l->limit - from < READ_BYTES ? (size_t)(l->limit - from) : READ_BYTES;
    int r = buf_reserve(&l->window, want);
    if (r < 0)
        return r;
    ssize_t n;
    do
        n = pread(l->fd, l->window.p + l->window.n, want, from);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n < 0 ? -errno : 0; /* the file was truncated meanwhile: this is its end */
    l->window.n += (size_t)n;
    return 1;
}

static void slide(struct lines *l)
{
    size_t used = (size_t)(l->at - l->window_at);
    buf_consume(&l->window, used);
    l->window_at = l->at;
}

/* Moves `at` behind the end of a line that is longer than LINES_MAX_BYTES. */
static int skip_overlong(struct lines *l)
{
    l->overlong++;
    for (;;) {
        l->at = l->window_at + (off_t)l->window.n;
        slide(l);
        int r = lines_fill(l);
        if (r <= 0)
            return r;
        const char *lf = memchr(l->window.p, '\n', l->window.n);
        if (lf) {
            l->at = l->window_at + (lf - l->window.p) + 1;
            return 1;
        }
    }
}

int lines_next(struct lines *l, struct line *ret)
{
    size_t searched = 0;
    for (;;) {
        size_t used = (size_t)(l->at - l->window_at);
        size_t have = l->window.n - used;
        const char *p = have ? l->window.p + used : NULL;
        const char *lf = have > searched ? memchr(p + searched, '\n', have - searched) : NULL;
        if (lf) {
            ret->start = l->at;
            ret->text = str_make(p, (size_t)(lf - p));
            ret->end = l->at += (lf - p) + 1;
            if (ret->text.n <= LINES_MAX_BYTES)
                return 1;
            l->overlong++;
            searched = 0;
            continue;
        }
        searched = have;
        slide(l);
        int r = have > LINES_MAX_BYTES ? skip_overlong(l) : lines_fill(l);
        if (have > LINES_MAX_BYTES)
            searched = 0;
        if (r <= 0)
            return r;
    }
}

static int read_at(int fd, char *p, size_t n, off_t at)
{
    while (n > 0) {
        ssize_t r = pread(fd, p, n, at);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            return r < 0 ? -errno : -EIO;
        p += r, at += r, n -= (size_t)r;
    }
    return 0;
}

int lines_last_start(int fd, off_t size, off_t *ret)
{
    char chunk[8192];
    for (off_t end = size; end > 0;) {
        size_t n = end < (off_t)sizeof(chunk) ? (size_t)end : sizeof(chunk);
        int r = read_at(fd, chunk, n, end - (off_t)n);
        if (r < 0)
            return r;
        const char *lf = memrchr(chunk, '\n', n);
        end -= (off_t)n;
        if (lf) {
            *ret = end + (lf - chunk) + 1;
            return 0;
        }
    }
    *ret = 0;
    return 0;
}

int lines_unended(struct arena *a, int fd, off_t start, off_t size, str *ret_text)
{
    struct arena scratch;
    struct json *v = NULL;
    if (start >= size || size - start > LINES_MAX_BYTES)
        return 0;
    size_t n = (size_t)(size - start);
    char *p = arena_alloc(a, n);
    int r = read_at(fd, p, n, start);
    if (r < 0)
        return r;
    *ret_text = str_make(p, n);
    arena_init(&scratch);
    r = json_parse(&scratch, *ret_text, 0, &v, NULL) == 0 && json_is(v, JSON_OBJECT);
    arena_done(&scratch);
    return r;
}

int lines_is_boundary(int fd, off_t pos)
{
    char c;
    if (pos == 0)
        return 1;
    int r = read_at(fd, &c, 1, pos - 1);
    return r < 0 ? r : c == '\n';
}

/* ---- backwards ---- */

void lines_back_init(struct lines_back *l, int fd, off_t end)
{
    *l = (struct lines_back){.fd = fd, .at = end, .window_at = end, .piece = TAIL_BYTES};
}

void lines_back_done(struct lines_back *l)
{
    free(l->window);
}

/* Puts the piece of the file before the window in front of it. The pieces become larger: a reader
 * of a few lines reads little, and one of many lines needs few calls. */
static int lines_back_fill(struct lines_back *l)
{
    size_t have = (size_t)(l->at - l->window_at);
    size_t n = l->window_at < (off_t)l->piece ? (size_t)l->window_at : l->piece;
    if (have + n > l->cap) {
        l->cap = have + n + READ_BYTES;
        l->window = xrealloc(l->window, l->cap);
    }
    memmove(l->window + n, l->window, have);
    int r = read_at(l->fd, l->window, n, l->window_at - (off_t)n);
    if (r < 0)
        return r;
    l->window_at -= (off_t)n;
    if (l->piece < READ_BYTES || l->piece < have)
        l->piece *= 2;
    return 0;
}

static int skip_back(struct lines_back *l)
{
    int r = lines_last_start(l->fd, l->at - 1, &l->at);
    l->window_at = l->at;
    l->piece = READ_BYTES;
    return r;
}

int lines_back_next(struct lines_back *l, struct line *ret)
{
    size_t searched = 0; /* bytes at the end of the window, the line feed at `at` among them */
    while (l->at > 0) {
        size_t have = (size_t)(l->at - l->window_at);
        size_t end = searched ? have - searched : have > 0 ? have - 1 : 0;
        const char *lf = end > 0 ? memrchr(l->window, '\n', end) : NULL;
        size_t start = lf ? (size_t)(lf - l->window) + 1 : 0;
        if (have > 0 && (lf || l->window_at == 0) && have - start <= LINES_MAX_BYTES + 1) {
            ret->text = str_make(l->window + start, have - start - 1);
            ret->end = l->at;
            ret->start = l->at = l->window_at + (off_t)start;
            return 1;
        }
        searched = have - start > LINES_MAX_BYTES + 1 ? 0 : have;
        int r = searched || !have ? lines_back_fill(l) : skip_back(l);
        if (r < 0)
            return r;
    }
    return 0;
}
