#include "cli/acp/acp.h"

#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/session/own_server.h"
#include "cli/session/session_log.h"
#include "cli/term/signals.h"
#include "cli/term/stdin_lines.h"

#define END_MS      5000 /* for running prompts, after the editor has left */
#define END_TICK_MS 50
#define BUNDLES_MS  60000 /* the first prompt waits so long for bundles */
#define LOOK_MS     100

struct acp_line {
    struct list_node node;
    size_t n;
    bool is_too_long; /* a line that was not kept */
    char text[];
};

struct acp_stdio {
    struct acp acp;
    struct stdin_lines *in;
    struct list_node lines;
    size_t queued; /* bytes */
    bool is_paused;
};

/* ---- messages of the editor ---- */

void acp_line(struct acp *a, str line)
{
    struct arena arena;
    struct json *doc;
    struct rpc_message m;
    struct err e = {0};
    arena_init(&arena);
    if (rpc_parse(&arena, line, &doc, &e) < 0)
        acp_error(a, NULL, RPC_PARSE_ERROR, "this line is not JSON: %s", e.msg);
    else if (rpc_classify(doc, &m, &e) < 0)
        acp_error(a, m.id, RPC_INVALID_REQUEST, "%s", e.msg);
    else if (m.kind == RPC_RESULT || m.kind == RPC_ERROR)
        acp_take_answer(a, &m);
    else
        acp_dispatch(a, &m);
    arena_done(&arena);
}

void acp_wake(struct acp *a)
{
    a->wake = true;
}

static void on_acp_look(void *acp)
{
    acp_wake(acp);
}

bool acp_is_ready(struct acp *a)
{
    struct server *own = client_server(session_client(a->door));
    if (a->is_ready)
        return true;
    if (own && !server_bundles_settled(own) && clock_mono_ms() < a->ready_by_ms) {
        timer_start(&a->look, LOOK_MS);
        return false;
    }
    if (own)
        await_bundles(own, true); /* says which tools are missing */
    return a->is_ready = true;
}

void acp_work(struct acp *a)
{
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&a->sessions, &i)) != NULL;)
        acp_advance(e->value);
}

/* ---- input ---- */

static void queue_line(struct acp_stdio *io, str text, bool is_too_long)
{
    struct acp_line *l = xcalloc(1, sizeof *l + text.n);
    l->n = text.n;
    l->is_too_long = is_too_long;
    if (text.n > 0)
        memcpy(l->text, text.p, text.n);
    list_push(&io->lines, &l->node);
    io->queued += text.n + sizeof *l;
    acp_wake(&io->acp);
    if (io->queued > ACP_QUEUE_MAX && !io->is_paused && io->in) {
        io->is_paused = true;
        stdin_lines_pause(io->in, true);
    }
}

static void on_acp_line(void *ctx, str line)
{
    queue_line(ctx, line, false);
}

static void on_acp_too_long(void *ctx)
{
    queue_line(ctx, STR_NONE, true);
}

static void on_acp_input_end(void *ctx)
{
    struct acp_stdio *io = ctx;
    io->acp.is_over = true;
    acp_wake(&io->acp);
}

static void on_acp_signal(void *ctx, int signum)
{
    on_acp_input_end(ctx);
}

static void take_queued(struct acp_stdio *io)
{
    struct acp_line *l = LIST_ENTRY(list_pop(&io->lines), struct acp_line, node);
    io->queued -= l->n + sizeof *l;
    if (l->is_too_long)
        acp_error(&io->acp, NULL, RPC_INVALID_REQUEST, "a line has more than %u bytes",
                  RPC_MESSAGE_MAX);
    else
        acp_line(&io->acp, str_make(l->text, l->n));
    free(l);
    if (io->is_paused && io->queued < ACP_QUEUE_MAX / 2) {
        io->is_paused = false;
        stdin_lines_pause(io->in, false);
    }
}

static void acp_serve(struct acp_stdio *io)
{
    struct acp *a = &io->acp;
    while (!a->is_over || !list_empty(&io->lines)) {
        if (list_empty(&io->lines) && !a->wake)
            (void)loop_run_until(a->loop, &a->wake, UINT32_MAX);
        a->wake = false;
        if (!list_empty(&io->lines))
            take_queued(io);
        acp_work(a);
    }
}

/* ---- the end ---- */

static bool has_prompts(const struct acp *a)
{
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&a->sessions, &i)) != NULL;)
        if (((const struct acp_session *)e->value)->phase != ACP_IDLE)
            return true;
    return false;
}

/* Nobody is there to decide: running prompts are cancelled, also in a running server, and answered
 * so. */
static void acp_finish(struct acp *a)
{
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&a->sessions, &i)) != NULL;)
        acp_cancel(e->value);
    for (int waited = 0; has_prompts(a) && waited < END_MS; waited += END_TICK_MS) {
        a->wake = false;
        (void)loop_run_until(a->loop, &a->wake, END_TICK_MS);
        acp_work(a);
    }
    for (size_t i = 0; (e = map_next(&a->sessions, &i)) != NULL;)
        acp_session_free(e->value);
    map_done(&a->sessions);
}

/* ---- the command ---- */

static int acp_run(struct acp_stdio *io)
{
    static const struct line_events LINES = {on_acp_line, on_acp_too_long, on_acp_input_end};
    struct acp *a = &io->acp;
    struct err e = {0};
    if (session_open_now(a->loop, a->config, false, &a->door, &e) < 0)
        return cli_fail(&e);
    a->ready_by_ms = clock_mono_ms() + BUNDLES_MS;
    struct signals *signals = signals_new(a->loop, on_acp_signal, io);
    int code = EXIT_DONE;
    io->in = stdin_lines_new(a->loop, RPC_MESSAGE_MAX, &LINES, io, &e);
    if (!io->in)
        code = cli_fail(&e);
    else
        acp_serve(io);
    stdin_lines_free(io->in);
    acp_finish(a);
    timer_stop(&a->look);
    signals_free(signals);
    session_close(a->door);
    return code;
}

static int acp_command(struct cmd *x)
{
    struct session_log session;
    session_log_begin(&session, &x->config, "acp");
    struct logger *log = cli_logger(x->cli, &x->config, LOG_WARN, &session);
    struct acp_stdio io = {.acp = {.config = &x->config, .send = stdout_line}};
    io.acp.loop = loop_new(log);
    timer_init(&io.acp.look, io.acp.loop, on_acp_look, &io.acp);
    map_init(&io.acp.sessions);
    list_init(&io.acp.asked);
    list_init(&io.lines);
    int code = acp_run(&io);
    assert(list_empty(&io.acp.asked));
    LIST_EACH (l, &io.lines, struct acp_line, node)
        free(l);
    loop_free(io.acp.loop);
    logger_free(log);
    session_log_end(&session, code);
    return code;
}

const struct command CMD_ACP = {
    .name = "acp",
    .summary = "serve as the agent of an editor: Agent Client Protocol over stdin and stdout",
    .help = "For editors that start their agents as a command: Zed, JetBrains, Neovim and others. "
            "In the settings of Zed:\n"
            "  \"agent_servers\": {\"nb\": {\"command\": \"nb\", \"args\": [\"acp\"]}}\n"
            "\n"
            "When `nb serve` runs on this work directory, the editor uses its conversations and "
            "bundles. Otherwise they are used by this process alone.\n",
    .needs = NEEDS_SETTINGS | WRITES_PROTOCOL | WORKS_ELSEWHERE,
    .run = acp_command,
};
