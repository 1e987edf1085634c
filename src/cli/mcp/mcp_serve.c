/* nb mcp serve - the workspace as an MCP server over stdin and stdout. */
#include <assert.h>

#include "cli/command.h"
#include "cli/mcp/mcp_serve_relay.h"
#include "cli/session/own_server.h"
#include "cli/session/session.h"
#include "cli/session/session_log.h"
#include "cli/term/signals.h"
#include "cli/term/stdin_lines.h"
#include "loop/timer.h"
#include "mcp/transport/jsonrpc.h"

#define GRACE_MS      5000
#define LAST_WORDS_MS 30000 /* after the end of the input, for requests in progress */
#define LOOK_MS       20

static const struct arg ARGS[] = {
    {"source", 0, ARG_STRING, "NAME", "serve only this source, its tools without prefix"}, {0}};

struct mcp_stdio {
    struct loop *loop;
    struct relay *relay; /* the relay to a running server, or: */
    struct server *server;
    struct gateway_pipe *pipe;
    struct stdin_lines *in;
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

static void send_line(void *ctx, str message)
{
    struct mcp_stdio *s = ctx;
    if (stdout_line(message) < 0)
        give_up(s);
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
    stdin_lines_free(s->in);
    s->in = NULL;
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

static void on_mcp_serve_line(void *ctx, str line)
{
    struct mcp_stdio *s = ctx;
    if (s->is_ending)
        return;
    if (s->relay)
        relay_send(s->relay, line);
    else
        gateway_pipe_line(s->pipe, line);
}

static void on_mcp_serve_too_long(void *ctx)
{
    struct mcp_stdio *s = ctx;
    fputs("nb: a message is too long\n", stderr);
    s->code = EXIT_FAILED;
    mcp_serve_end(s);
}

static void on_mcp_serve_input_end(void *ctx)
{
    struct mcp_stdio *s = ctx;
    if (!s->is_ending)
        timer_start(&s->look, LOOK_MS);
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
    static const struct line_events LINES = {on_mcp_serve_line, on_mcp_serve_too_long,
                                             on_mcp_serve_input_end};
    struct signals *signals = signals_new(s->loop, on_mcp_serve_signal, s);
    s->in = stdin_lines_new(s->loop, RPC_MESSAGE_MAX, &LINES, s, &e);
    if (!s->in) {
        s->code = cli_fail(&e);
        mcp_serve_end(s);
    }
    loop_run(s->loop);
    stdin_lines_free(s->in);
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
    timer_init(&s->look, s->loop, on_look, s);
    mcp_serve_client(s, &x->config, str_from(cmd_opt(x, "source")));
    int code = s->code;
    loop_free(s->loop);
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
