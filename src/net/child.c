/* child.c - a child's pipes, lines and end.
 *
 * The process is watched through a pidfd. When it ends it is left unreaped until its output
 * has been read: as long as the zombie exists its pid, which is also the id of its process
 * group, cannot be reused, so that a signal never reaches an unrelated process. */
#include "net/child.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/buf.h"
#include "loop/timer.h"
#include "net/child_exec.h"

#define WRITE_MAX  (64u * 1024 * 1024)
#define READ_BYTES (64u * 1024)

/* How long output may keep coming after the end: a grandchild can hold the pipes open. */
#define DRAIN_MS 500

struct child {
    struct loop *loop;
    pid_t pid;
    int pidfd;
    uv_poll_t watch; /* of pidfd */
    uv_pipe_t in, out, err;
    uv_shutdown_t shutdown;
    unsigned open_handles; /* not yet closed; the memory goes with the last */

    struct buf partial; /* a line whose end has not come */
    size_t write_max;
    bool is_skipping;  /* the rest of a line that was too long */
    bool is_in_closed; /* no more writes */
    bool is_out_eof, is_err_eof;
    bool has_exited, is_finished;
    int code;
    struct timer drain, term, kill;

    struct child_events ev;
    void *ctx;
};

/* ---- the end ---- */

static void on_child_closed(uv_handle_t *h)
{
    struct child *c = h->data;
    if (--c->open_handles > 0)
        return;
    close(c->pidfd);
    buf_done(&c->partial);
    loop_release(c->loop);
    free(c);
}

static void close_handle(void *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, on_child_closed);
}

static void flush_last_line(struct child *c)
{
    if (c->partial.n > 0 && !c->is_skipping)
        c->ev.on_line(c->ctx, buf_str(&c->partial));
    buf_reset(&c->partial);
}

static void child_finish(struct child *c)
{
    if (c->is_finished)
        return;
    c->is_finished = true;
    timer_stop(&c->drain);
    timer_stop(&c->term);
    timer_stop(&c->kill);
    flush_last_line(c);
    /* No process of the group may outlive its leader; the pid is released only after this. */
    (void)kill(-c->pid, SIGKILL);
    siginfo_t info;
    while (waitid(P_PIDFD, (id_t)c->pidfd, &info, WEXITED) < 0 && errno == EINTR)
        ;
    c->is_in_closed = true;
    c->ev.on_exit(c->ctx, c->code);
    close_handle(&c->watch);
    close_handle(&c->in);
    close_handle(&c->out);
    close_handle(&c->err);
}

static void finish_if_drained(struct child *c)
{
    if (c->has_exited && c->is_out_eof && c->is_err_eof)
        child_finish(c);
}

static void on_drain_over(void *ctx)
{
    child_finish(ctx);
}

static void on_pidfd(uv_poll_t *watch, int status, int events)
{
    struct child *c = watch->data;
    siginfo_t info = {0};
    if (waitid(P_PIDFD, (id_t)c->pidfd, &info, WEXITED | WNOWAIT | WNOHANG) < 0 || info.si_pid == 0)
        return;
    uv_poll_stop(watch);
    c->code = info.si_code == CLD_EXITED ? info.si_status : -info.si_status;
    c->has_exited = true;
    timer_start(&c->drain, DRAIN_MS);
    finish_if_drained(c);
}

/* ---- output ---- */

static void overflow(struct child *c)
{
    buf_reset(&c->partial);
    if (c->ev.on_overflow)
        c->ev.on_overflow(c->ctx);
}

static void end_line(struct child *c, str tail)
{
    if (c->is_skipping) {
        c->is_skipping = false;
        return;
    }
    if (c->partial.n == 0 && tail.n <= c->partial.max) {
        c->ev.on_line(c->ctx, tail);
        return;
    }
    if (buf_add_str(&c->partial, tail) < 0) {
        overflow(c);
        return;
    }
    c->ev.on_line(c->ctx, buf_str(&c->partial));
    if (c->partial.cap > READ_BYTES)
        buf_reset(&c->partial);
    else
        buf_clear(&c->partial);
}

static void take_output(struct child *c, str bytes)
{
    ptrdiff_t lf;
    while ((lf = str_find_char(bytes, '\n')) >= 0) {
        end_line(c, str_slice(bytes, 0, (size_t)lf));
        bytes = str_skip(bytes, (size_t)lf + 1);
    }
    if (c->is_skipping || bytes.n == 0 || buf_add_str(&c->partial, bytes) == 0)
        return;
    c->is_skipping = true;
    overflow(c);
}

static void on_child_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *ret)
{
    /* Freed in the read callback: an idle child holds no buffer. */
    *ret = uv_buf_init(xrealloc(NULL, READ_BYTES), READ_BYTES);
}

static void on_out(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
    struct child *c = s->data;
    if (n > 0) {
        take_output(c, (str){buf->base, (size_t)n});
    } else if (n < 0) {
        c->is_out_eof = true;
        uv_read_stop(s);
        finish_if_drained(c);
    }
    free(buf->base);
}

static void on_err(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
    struct child *c = s->data;
    if (n > 0 && c->ev.on_stderr) {
        c->ev.on_stderr(c->ctx, (str){buf->base, (size_t)n});
    } else if (n < 0) {
        c->is_err_eof = true;
        uv_read_stop(s);
        finish_if_drained(c);
    }
    free(buf->base);
}

/* ---- signals ---- */

void child_kill(struct child *c, int sig)
{
    if (!c->is_finished)
        (void)kill(-c->pid, sig);
}

static void on_term(void *ctx)
{
    child_kill(ctx, SIGTERM);
}

static void on_kill(void *ctx)
{
    child_kill(ctx, SIGKILL);
}

/* ---- start ---- */

static void open_pipe(struct child *c, uv_pipe_t *pipe, int fd)
{
    uv_pipe_init(loop_uv(c->loop), pipe, 0);
    pipe->data = c;
    c->open_handles++;
    int rc = uv_pipe_open(pipe, fd);
    assert(rc == 0 && "a pipe that was just made can be opened");
}

static struct child *child_new(struct loop *l, const struct child_spec *spec,
                               const struct child_events *ev, void *ctx)
{
    assert(ev->on_line && ev->on_exit);
    struct child *c = xcalloc(1, sizeof(*c));
    c->loop = l;
    c->ev = *ev;
    c->ctx = ctx;
    c->write_max = spec->write_max ? spec->write_max : WRITE_MAX;
    buf_init(&c->partial, spec->line_max ? spec->line_max : CHILD_LINE_MAX);
    timer_init(&c->drain, l, on_drain_over, c);
    timer_init(&c->term, l, on_term, c);
    timer_init(&c->kill, l, on_kill, c);
    loop_hold(l);
    return c;
}

int child_spawn(struct loop *l, const struct child_spec *spec, const struct child_events *ev,
                void *ctx, struct child **ret, struct err *e)
{
    struct child_process p;
    int rc = child_exec(spec, &p, e);
    if (rc < 0)
        return rc;
    struct child *c = child_new(l, spec, ev, ctx);
    c->pid = p.pid;
    c->pidfd = p.pidfd;
    open_pipe(c, &c->in, p.in);
    open_pipe(c, &c->out, p.out);
    open_pipe(c, &c->err, p.err);
    rc = uv_poll_init(loop_uv(l), &c->watch, c->pidfd);
    assert(rc == 0 && "a pidfd can be polled");
    c->watch.data = c;
    c->open_handles++;
    uv_poll_start(&c->watch, UV_READABLE, on_pidfd);
    uv_read_start((uv_stream_t *)&c->out, on_child_alloc, on_out);
    uv_read_start((uv_stream_t *)&c->err, on_child_alloc, on_err);
    *ret = c;
    return 0;
}

/* ---- input ---- */

struct child_write {
    uv_write_t req;
    char bytes[];
};

static void on_stdin_written(uv_write_t *req, int status)
{
    struct child *c = req->handle->data;
    free(CONTAINER_OF(req, struct child_write, req));
    if (status < 0) {
        c->is_in_closed = true;
        close_handle(&c->in);
    }
}

static void queue_write(struct child *c, str bytes)
{
    struct child_write *w = xrealloc(NULL, sizeof(*w) + bytes.n);
    memcpy(w->bytes, bytes.p, bytes.n);
    uv_buf_t buf = uv_buf_init(w->bytes, (unsigned)bytes.n);
    int rc = uv_write(&w->req, (uv_stream_t *)&c->in, &buf, 1, on_stdin_written);
    if (rc < 0) /* the pipe is closed: the end of the child follows */
        free(w);
}

int child_write(struct child *c, str bytes)
{
    if (c->is_in_closed)
        return -EPIPE;
    if (bytes.n == 0)
        return 0;
    uv_stream_t *in = (uv_stream_t *)&c->in;
    size_t pending = uv_stream_get_write_queue_size(in);
    if (bytes.n > c->write_max || pending > c->write_max - bytes.n)
        return -ENOBUFS;
    uv_buf_t buf = uv_buf_init((char *)bytes.p, (unsigned)bytes.n);
    int taken = uv_try_write(in, &buf, 1);
    if (taken < 0 && taken != UV_EAGAIN) {
        c->is_in_closed = true;
        close_handle(&c->in);
        return -EPIPE;
    }
    str rest = str_skip(bytes, taken > 0 ? (size_t)taken : 0);
    if (rest.n > 0)
        queue_write(c, rest);
    return 0;
}

static void on_shutdown(uv_shutdown_t *req, int status)
{
    struct child *c = req->handle->data;
    close_handle(&c->in);
}

void child_close_stdin(struct child *c)
{
    if (c->is_in_closed)
        return;
    c->is_in_closed = true;
    /* Bytes that were written before are still sent first. */
    if (uv_shutdown(&c->shutdown, (uv_stream_t *)&c->in, on_shutdown) < 0)
        close_handle(&c->in);
}

/* ---- stop ---- */

void child_stop(struct child *c, uint64_t term_after_ms, uint64_t kill_after_ms)
{
    if (c->is_finished)
        return;
    child_close_stdin(c);
    timer_start(&c->term, term_after_ms);
    timer_start(&c->kill, kill_after_ms);
}

int child_pid(const struct child *c)
{
    return c->pid;
}
