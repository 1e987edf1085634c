/* nb mcp serve - the workspace as an MCP server over stdin and stdout. */
#include <assert.h>
#include <errno.h>
#include <unistd.h>
#include <uv.h>

#include "cli/command.h"
#include "cli/mcp/mcp_serve_relay.h"
#include "cli/session/own_server.h"
#include "cli/session/session.h"
#include "cli/session/session_log.h"
#include "cli/term/signals.h"
#include "loop/timer.h"
#include "mcp/transport/jsonrpc.h"

#define GRACE_MS      5000
#define LAST_WORDS_MS 30000 /* after the end of the input, for requests in progress */
#define LOOK_MS       20
#define OUT_MAX       (64u * 1024 * 1024) /* unread by the client: it does not read at all */

static const struct arg ARGS[] = {
    {"source", 0, ARG_STRING, "NAME", "serve only this source, its tools without prefix"}, {0}};

struct mcp_stdio {
    struct loop *loop;
    struct relay *relay; /* the relay to a running server, or: */
    struct server *server;
    struct gateway_pipe *pipe;
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_pipe_t pipe;
        uv_tty_t tty;
    } in;
    bool has_in;
    struct buf lines; /* input that is not a whole line yet */
    char chunk[64 * 1024];
    struct timer look;
    uint64_t waited_ms;
    bool is_ending;
    int code;
};

/* ---- output ---- */

/* Nothing reads the output any more, so do not wait for requests in progress. */
static void give_up(struct mcp_stdio *s)
{
    s->waited_ms = LAST_WORDS_MS;
    if (!s->is_ending)
        timer_start(&s->look, 0);
}

/* Pipes are set to blocking, because a client that does not read cannot be served anyway. */
static void send_line(void *ctx, str message)
{
    struct mcp_stdio *s = ctx;
    struct buf b;
    buf_init(&b, OUT_MAX);
    buf_add_str(&b, message);
    buf_add_char(&b, '\n');
    str rest = buf_str(&b);
    while (rest.n > 0) {
        ssize_t n = write(STDOUT_FILENO, rest.p, rest.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            give_up(s);
            break;
        }
        rest = str_skip(rest, (size_t)n);
    }
    buf_done(&b);
}

/* ---- the end ---- */

static void on_mcp_serve_stopped(void *loop)
{
    loop_stop(loop);
}

static void mcp_serve_end(struct mcp_stdio *s)
{
    if (s->is_ending)
        return;
    assert(!s->relay != !s->pipe); /* exactly one of them */
    s->is_ending = true;
    timer_stop(&s->look);
    if (s->has_in)
        uv_close(&s->in.handle, NULL);
    if (s->relay) {
        loop_stop(s->loop);
        return;
    }
    gateway_pipe_close(s->pipe);
    server_stop(s->server, GRACE_MS, on_mcp_serve_stopped, s->loop);
}

static bool is_idle(const struct mcp_stdio *s)
{
    return s->relay ? relay_is_idle(s->relay) : gateway_pipe_is_idle(s->pipe);
}

/* A client that closes the input may still read the responses to its requests. */
static void on_look(void *stdio)
{
    struct mcp_stdio *s = stdio;
    s->waited_ms += LOOK_MS;
    if (is_idle(s) || s->waited_ms > LAST_WORDS_MS)
        mcp_serve_end(s);
    else
        timer_start(&s->look, LOOK_MS);
}

static void on_mcp_serve_signal(void *ctx, int signum)
{
    mcp_serve_end(ctx);
}

/* ---- input ---- */

static void mcp_serve_take(struct mcp_stdio *s, str bytes)
{
    while (bytes.n > 0 && !s->is_ending) {
        ptrdiff_t at = str_find_char(bytes, '\n');
        buf_add_str(&s->lines, at < 0 ? bytes : str_slice(bytes, 0, (size_t)at));
        if (at < 0)
            break;
        str line = str_trim(buf_str(&s->lines));
        if (line.n > 0 && s->relay)
            relay_send(s->relay, line);
        else if (line.n > 0)
            gateway_pipe_line(s->pipe, line);
        buf_clear(&s->lines);
        bytes = str_skip(bytes, (size_t)at + 1);
    }
    if (buf_failed(&s->lines) && !s->is_ending) {
        fputs("nb: a message is too long\n", stderr);
        s->code = EXIT_FAILED;
        mcp_serve_end(s);
    }
}

/* The last line is accepted without a line feed. */
static void take_end(struct mcp_stdio *s)
{
    mcp_serve_take(s, STR("\n"));
    if (!s->is_ending)
        timer_start(&s->look, LOOK_MS);
}

static void on_mcp_serve_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *ret)
{
    struct mcp_stdio *s = h->data;
    *ret = uv_buf_init(s->chunk, sizeof s->chunk);
}

static void on_mcp_serve_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct mcp_stdio *s = stream->data;
    if (n > 0) {
        mcp_serve_take(s, str_make(buf->base, (size_t)n));
    } else if (n < 0) {
        uv_read_stop(stream);
        take_end(s);
    }
}

/* A file cannot be polled: read all of it now. */
static void read_mcp_serve_file(struct mcp_stdio *s)
{
    ssize_t n;
    while (!s->is_ending && (n = read(STDIN_FILENO, s->chunk, sizeof s->chunk)) > 0)
        mcp_serve_take(s, str_make(s->chunk, (size_t)n));
    take_end(s);
}

static int open_input(struct mcp_stdio *s)
{
    uv_loop_t *uv = loop_uv(s->loop);
    uv_handle_type type = uv_guess_handle(STDIN_FILENO);
    if (type == UV_FILE || type == UV_UNKNOWN_HANDLE) {
        read_mcp_serve_file(s);
        return 0;
    }
    int r = type == UV_TTY ? uv_tty_init(uv, &s->in.tty, STDIN_FILENO, 0)
                           : uv_pipe_init(uv, &s->in.pipe, 0);
    if (r == 0 && type != UV_TTY)
        r = uv_pipe_open(&s->in.pipe, STDIN_FILENO);
    s->in.handle.data = s;
    s->has_in = true;
    return r < 0 ? r : uv_read_start(&s->in.stream, on_mcp_serve_alloc, on_mcp_serve_read);
}

/* ---- the command ---- */

static void on_relay_closed(void *ctx, const struct err *e)
{
    struct mcp_stdio *s = ctx;
    s->code = cli_fail(e);
    mcp_serve_end(s);
}

static int open_way(struct mcp_stdio *s, struct config *c, str source, struct err *e)
{
    static const struct relay_events EVENTS = {send_line, on_relay_closed};
    if (session_is_served(c)) {
        s->relay = relay_new(s->loop, c, source, &EVENTS, s);
        return 0;
    }
    int r = own_server_new(s->loop, c, true, &s->server, e);
    if (r < 0)
        return r;
    await_bundles(s->server, false); /* most clients request the list of tools only once */
    s->pipe = server_open_pipe(s->server, source, send_line, s);
    return 0;
}

static void mcp_serve_client(struct mcp_stdio *s, struct config *c, str source)
{
    struct err e = {0};
    if (open_way(s, c, source, &e) < 0) {
        s->code = cli_fail(&e);
        return;
    }
    struct signals *signals = signals_new(s->loop, on_mcp_serve_signal, s);
    int r = open_input(s);
    if (r < 0) {
        err_set(&e, r, "the input cannot be read: %s", uv_strerror(r));
        s->code = cli_fail(&e);
        mcp_serve_end(s);
    }
    loop_run(s->loop);
    signals_free(signals);
    relay_free(s->relay);
    server_free(s->server);
}

static int mcp_serve(struct cmd *x)
{
    struct session_log session;
    session_log_begin(&session, &x->config, "mcp");
    struct logger *log = cli_logger(x->cli, &x->config, LOG_WARN, &session);
    struct mcp_stdio *s = xcalloc(1, sizeof *s);
    s->loop = loop_new(log);
    s->code = EXIT_DONE;
    buf_init(&s->lines, RPC_MESSAGE_MAX);
    timer_init(&s->look, s->loop, on_look, s);
    mcp_serve_client(s, &x->config, str_from(cmd_opt(x, "source")));
    int code = s->code;
    loop_free(s->loop);
    buf_done(&s->lines);
    free(s);
    logger_free(log);
    session_log_end(&session, code);
    return code;
}

const struct command CMD_MCP_SERVE = {
    .name = "serve",
    .summary = "serve all tools of the workspace over stdin and stdout",
    .help =
        "For MCP clients that start their servers as a command, in any version of the protocol:\n"
        "  claude mcp add nb -- nb mcp serve\n"
        "\n"
        "When `nb serve` runs on this work directory, the client is connected to it and uses its "
        "bundles. Otherwise the bundles are started for this client alone.\n",
    .args = ARGS,
    .needs = NEEDS_SETTINGS | WRITES_PROTOCOL,
    .run = mcp_serve,
};
