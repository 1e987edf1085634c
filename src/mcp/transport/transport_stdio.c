/* transport_stdio.c - one message per line over the pipes of a child process. */
#include <assert.h>
#include <errno.h>
#include <signal.h>

#include "mcp/client.h"
#include "mcp/transport/jsonrpc.h"
#include "mcp/transport/transport.h"
#include "net/child.h"

/* Messages sent in one turn of the loop are written to the pipe together, up to this size. */
#define BATCH_BYTES (64u * 1024)

/* Time between closing the child's stdin and the first signal. */
#define TERM_AFTER_MS 2000
#define KILL_AFTER_MS 4000

struct stdio_transport {
    struct transport base;
    struct child *child;
    struct loop *loop;
    struct buf lines; /* not yet written */
    struct deferred flush;
    bool is_closing;
    bool is_freed; /* the owner has freed it; only the exit of the child is awaited */
};

static struct stdio_transport *stdio_of(struct transport *t)
{
    return CONTAINER_OF(t, struct stdio_transport, base);
}

static void stdio_delete(struct stdio_transport *s)
{
    defer_stop(&s->flush);
    buf_done(&s->lines);
    free(s);
}

/* ---- events of the child ---- */

static void on_stdio_line(void *ctx, str line)
{
    struct stdio_transport *s = ctx;
    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    if (!s->is_freed && line.n > 0)
        s->base.ev->message(s->base.ctx, 0, line);
}

static void on_stderr(void *ctx, str bytes)
{
    struct stdio_transport *s = ctx;
    if (!s->is_freed)
        s->base.ev->on_stderr(s->base.ctx, bytes);
}

static void on_overflow(void *ctx)
{
    struct stdio_transport *s = ctx;
    if (!s->is_freed)
        s->base.ev->overflowed(s->base.ctx);
}

static void describe_end(const struct stdio_transport *s, int code, struct err *e)
{
    if (s->is_closing)
        err_clear(e);
    else if (code >= 0)
        err_set(e, -ECONNRESET, "the server has exited with status %d", code);
    else
        err_set(e, -ECONNRESET, "the server was killed by signal %d (%s)", -code,
                sigdescr_np(-code) ? sigdescr_np(-code) : "unknown");
}

static void on_exit_of_child(void *ctx, int code)
{
    struct stdio_transport *s = ctx;
    assert(s->child);
    s->child = NULL;
    if (s->is_freed) {
        stdio_delete(s);
        return;
    }
    struct err e;
    describe_end(s, code, &e);
    s->base.ev->closed(s->base.ctx, &e);
}

static const struct child_events CHILD_EVENTS = {
    .on_line = on_stdio_line,
    .on_stderr = on_stderr,
    .on_overflow = on_overflow,
    .on_exit = on_exit_of_child,
};

/* ---- operations ---- */

/* Lines that the pipe has no room for stay in the buffer, before all later lines. */
static int stdio_flush(struct stdio_transport *s)
{
    int rc = s->child ? child_write(s->child, buf_str(&s->lines)) : -EPIPE;
    if (rc == -ENOBUFS)
        return rc;
    buf_recycle(&s->lines, 2 * BATCH_BYTES);
    return rc;
}

static void on_flush(void *stdio)
{
    (void)stdio_flush(
        stdio); /* a closed pipe is followed by the exit of the child, which is reported */
}

static int stdio_send(struct transport *t, const struct outgoing *m, struct err *e)
{
    struct stdio_transport *s = stdio_of(t);
    if (memchr(m->text.p, '\n', m->text.n))
        return err_set(e, -EINVAL, "the request contains a newline; a message must be one line");
    if (m->text.n >= RPC_MESSAGE_MAX)
        return err_set(e, -EMSGSIZE, "the request is larger than %u bytes", RPC_MESSAGE_MAX);
    int rc = s->child ? 0 : -EPIPE;
    if (rc == 0 && s->lines.n > 0 && s->lines.n + m->text.n > BATCH_BYTES)
        rc = stdio_flush(s);
    if (rc == -ENOBUFS)
        return err_set(e, rc, "the server does not read its stdin");
    if (rc < 0)
        return err_set(e, rc, "the server has closed its stdin");
    buf_add_str(&s->lines, m->text);
    buf_add_char(&s->lines, '\n');
    defer_start(s->loop, &s->flush);
    return 0;
}

static void stdio_close(struct transport *t)
{
    struct stdio_transport *s = stdio_of(t);
    s->is_closing = true;
    if (s->child)
        (void)stdio_flush(s);
    if (s->child)
        child_stop(s->child, TERM_AFTER_MS, KILL_AFTER_MS);
}

static void stdio_free(struct transport *t)
{
    struct stdio_transport *s = stdio_of(t);
    assert(!s->is_freed);
    s->is_freed = true;
    defer_stop(&s->flush);
    if (s->child)
        child_kill(s->child, SIGKILL);
    else
        stdio_delete(s);
}

static int stdio_pid(const struct transport *t)
{
    const struct stdio_transport *s = CONTAINER_OF(t, const struct stdio_transport, base);
    return s->child ? child_pid(s->child) : 0;
}

static const struct transport_ops OPS = {
    .is_ordered = true,
    .send = stdio_send,
    .close = stdio_close,
    .free = stdio_free,
    .pid = stdio_pid,
};

struct transport *transport_stdio_open(struct loop *l, const struct mcp_dial *dial,
                                       const struct transport_events *ev, void *ctx, struct err *e)
{
    struct stdio_transport *s = xcalloc(1, sizeof(*s));
    s->base = (struct transport){.ops = &OPS, .ev = ev, .ctx = ctx};
    s->loop = l;
    buf_init(&s->lines, RPC_MESSAGE_MAX + BATCH_BYTES + 1);
    defer_init(&s->flush, on_flush, s);
    struct child_spec spec = dial->child;
    spec.line_max = RPC_MESSAGE_MAX;
    if (child_spawn(l, &spec, &CHILD_EVENTS, s, &s->child, e) < 0) {
        stdio_delete(s);
        return NULL;
    }
    return &s->base;
}
