#include "cli/term/stdin_lines.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#define CHUNK_BYTES (64 * 1024)
#define PIECE_BYTES 4096 /* a pipe that is ready takes this many bytes without blocking */

void line_splitter_init(struct line_splitter *s, size_t line_max)
{
    *s = (struct line_splitter){0};
    buf_init(&s->line, line_max);
}

void line_splitter_done(struct line_splitter *s)
{
    buf_done(&s->line);
}

static void splitter_add(struct line_splitter *s, str bytes, const struct line_events *ev,
                         void *ctx)
{
    if (s->is_skipping || buf_add_str(&s->line, bytes) == 0)
        return;
    s->is_skipping = true;
    buf_reset(&s->line);
    ev->on_too_long(ctx);
}

void line_splitter_feed(struct line_splitter *s, str bytes, const struct line_events *ev, void *ctx)
{
    while (bytes.n > 0) {
        ptrdiff_t at = str_find_char(bytes, '\n');
        splitter_add(s, at < 0 ? bytes : str_slice(bytes, 0, (size_t)at), ev, ctx);
        if (at < 0)
            return;
        str line = str_trim(buf_str(&s->line));
        if (!s->is_skipping && line.n > 0)
            ev->on_line(ctx, line);
        s->is_skipping = false;
        buf_clear(&s->line);
        bytes = str_skip(bytes, (size_t)at + 1);
    }
}

/* ---- the standard input ---- */

struct stdin_lines {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_pipe_t pipe;
        uv_tty_t tty;
    } in;
    struct line_splitter splitter;
    const struct line_events *ev;
    void *ctx;
    bool has_handle, has_ended, is_freed;
    char chunk[CHUNK_BYTES];
};

static void on_input_line(void *ctx, str line)
{
    struct stdin_lines *s = ctx;
    if (!s->is_freed)
        s->ev->on_line(s->ctx, line);
}

static void on_input_too_long(void *ctx)
{
    struct stdin_lines *s = ctx;
    if (!s->is_freed)
        s->ev->on_too_long(s->ctx);
}

static const struct line_events FROM_SPLITTER = {on_input_line, on_input_too_long, NULL};

static void input_ended(struct stdin_lines *s)
{
    assert(!s->has_ended);
    s->has_ended = true;
    line_splitter_feed(&s->splitter, STR("\n"), &FROM_SPLITTER, s);
    if (!s->is_freed)
        s->ev->on_end(s->ctx);
}

static void on_input_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *ret)
{
    struct stdin_lines *s = h->data;
    *ret = uv_buf_init(s->chunk, sizeof s->chunk);
}

static void on_input_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct stdin_lines *s = stream->data;
    if (n > 0) {
        line_splitter_feed(&s->splitter, str_make(buf->base, (size_t)n), &FROM_SPLITTER, s);
    } else if (n < 0) {
        uv_read_stop(stream);
        input_ended(s);
    }
}

/* A file cannot be polled: read all of it now. */
static void read_input_file(struct stdin_lines *s)
{
    ssize_t n;
    while ((n = read(STDIN_FILENO, s->chunk, sizeof s->chunk)) > 0)
        line_splitter_feed(&s->splitter, str_make(s->chunk, (size_t)n), &FROM_SPLITTER, s);
    input_ended(s);
}

static int open_input_stream(struct stdin_lines *s, uv_loop_t *uv, bool is_tty)
{
    int r =
        is_tty ? uv_tty_init(uv, &s->in.tty, STDIN_FILENO, 0) : uv_pipe_init(uv, &s->in.pipe, 0);
    if (r < 0)
        return r;
    s->has_handle = true;
    s->in.handle.data = s;
    r = is_tty ? 0 : uv_pipe_open(&s->in.pipe, STDIN_FILENO);
    return r < 0 ? r : uv_read_start(&s->in.stream, on_input_alloc, on_input_read);
}

struct stdin_lines *stdin_lines_new(struct loop *l, size_t line_max, const struct line_events *ev,
                                    void *ctx, struct err *e)
{
    uv_handle_type type = uv_guess_handle(STDIN_FILENO);
    struct stdin_lines *s = xcalloc(1, sizeof *s);
    s->ev = ev;
    s->ctx = ctx;
    line_splitter_init(&s->splitter, line_max);
    if (type == UV_FILE || type == UV_UNKNOWN_HANDLE) {
        read_input_file(s);
        return s;
    }
    int r = open_input_stream(s, loop_uv(l), type == UV_TTY);
    if (r == 0)
        return s;
    err_set(e, r, "the input cannot be read: %s", uv_strerror(r));
    stdin_lines_free(s);
    return NULL;
}

void stdin_lines_pause(struct stdin_lines *s, bool is_paused)
{
    if (!s->has_handle || s->has_ended || s->is_freed)
        return;
    if (is_paused)
        uv_read_stop(&s->in.stream);
    else
        (void)uv_read_start(&s->in.stream, on_input_alloc, on_input_read); /* no-op when it reads */
}

static void stdin_lines_destroy(struct stdin_lines *s)
{
    line_splitter_done(&s->splitter);
    free(s);
}

static void on_input_closed(uv_handle_t *h)
{
    stdin_lines_destroy(h->data);
}

void stdin_lines_free(struct stdin_lines *s)
{
    if (!s || s->is_freed)
        return;
    s->is_freed = true;
    if (s->has_handle)
        uv_close(&s->in.handle, on_input_closed);
    else
        stdin_lines_destroy(s);
}

/* ---- the standard output ---- */

static int write_piece(str *rest)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    int ready = poll(&out, 1, STDOUT_WAIT_MS);
    if (ready < 0)
        return errno == EINTR ? 0 : -errno;
    if (ready == 0)
        return -ETIMEDOUT;
    ssize_t n = write(STDOUT_FILENO, rest->p, rest->n < PIECE_BYTES ? rest->n : PIECE_BYTES);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN ? 0 : -errno;
    *rest = str_skip(*rest, (size_t)n);
    return 0;
}

static int write_whole(str rest)
{
    int r = 0;
    while (r == 0 && rest.n > 0)
        r = write_piece(&rest);
    return r;
}

int stdout_line(str line)
{
    char whole[PIECE_BYTES];
    if (line.n < sizeof whole) { /* most are short: one write */
        memcpy(whole, line.p, line.n);
        whole[line.n] = '\n';
        return write_whole(str_make(whole, line.n + 1));
    }
    int r = write_whole(line);
    return r < 0 ? r : write_whole(STR("\n"));
}
