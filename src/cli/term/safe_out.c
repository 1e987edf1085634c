#include "cli/term/safe_out.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text/plain.h"
#include "os/file.h"

#define PENDING_MAX 32 /* longer than any colour sequence of nb */

struct safe_out {
    enum safe_kind kind;
    FILE *file;
    char pending[PENDING_MAX]; /* the beginning of an incomplete sequence or character */
    size_t npending;
};

/* Length of the colour sequence at s; 0 = none, s.n + 1 = its end is missing. */
static size_t color_length(str s)
{
    for (size_t i = 1; i < s.n; i++) {
        if (i == 1 ? s.p[i] == '[' : (s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == ';')
            continue;
        return i > 1 && s.p[i] == 'm' ? i + 1 : 0;
    }
    return s.n < PENDING_MAX ? s.n + 1 : 0;
}

/* How many bytes at the end of s begin an incomplete character. */
static size_t unfinished_char(str s)
{
    for (size_t n = 1; n < 4 && n <= s.n; n++) {
        unsigned char c = (unsigned char)s.p[s.n - n];
        if ((c & 0xc0) == 0x80)
            continue;
        size_t want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        return want > n ? n : 0;
    }
    return 0;
}

static size_t unfinished(const struct safe_out *o, str s)
{
    ptrdiff_t esc = o->kind == SAFE_COLOR ? str_rfind_char(s, '\x1b') : -1;
    size_t left = esc >= 0 ? s.n - (size_t)esc : 0;
    if (left > 0 && color_length(str_skip(s, (size_t)esc)) > left)
        return left;
    return unfinished_char(s);
}

/* Text between colour sequences. */
static void add_colored(struct buf *out, str s)
{
    while (s.n > 0) {
        ptrdiff_t esc = str_find_char(s, '\x1b');
        size_t before = esc < 0 ? s.n : (size_t)esc;
        plain_add(out, str_slice(s, 0, before));
        s = str_skip(s, before);
        size_t n = s.n > 0 ? color_length(s) : 0;
        if (n > 0 && n <= s.n)
            buf_add(out, s.p, n);
        s = str_skip(s, n > 0 && n <= s.n ? n : 1);
    }
}

static void add_safe(const struct safe_out *o, struct buf *out, str s)
{
    if (o->kind == SAFE_JSON)
        plain_json_add(out, s);
    else if (o->kind == SAFE_COLOR)
        add_colored(out, s);
    else
        plain_add(out, s);
}

static ssize_t on_write(void *cookie, const char *p, size_t n)
{
    struct safe_out *o = cookie;
    struct buf whole, clean;
    buf_init(&whole, n + PENDING_MAX);
    buf_init(&clean, 6 * (n + PENDING_MAX));
    buf_add(&whole, o->pending, o->npending);
    buf_add(&whole, p, n);
    o->npending = unfinished(o, buf_str(&whole));
    str text = str_slice(buf_str(&whole), 0, whole.n - o->npending);
    if (o->npending > 0)
        memcpy(o->pending, whole.p + text.n, o->npending);
    add_safe(o, &clean, text);
    int r = file_write_all(STDOUT_FILENO, buf_str(&clean));
    buf_done(&whole);
    buf_done(&clean);
    if (r < 0)
        errno = -r;
    return r < 0 ? 0 : (ssize_t)n; /* 0 is how a stream cookie reports failure */
}

void safe_out_begin(enum safe_kind kind)
{
    static const cookie_io_functions_t FUNCTIONS = {.write = on_write};
    static struct safe_out state; /* there is one standard output */
    (void)fflush(stdout);
    state.kind = kind;
    if (state.file)
        return;
    state.file = fopencookie(&state, "w", FUNCTIONS);
    if (!state.file) {
        fputs("nb: cannot open standard output\n", stderr);
        exit(1);
    }
    if (isatty(STDOUT_FILENO))
        (void)setvbuf(state.file, NULL, _IOLBF, BUFSIZ);
    stdout = state.file;
}
