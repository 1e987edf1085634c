#include "bundle/bash_server.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/utf8.h"
#include "bundle/bash_run.h"
#include "mcp/jsonrpc.h"
#include "mcp/protocol.h"

#define RUNS_MAX       32
#define LINE_MAX_BYTES (16u * 1024 * 1024)
#define READ_BYTES     (64u * 1024)
#define PROGRESS_MS    1000
#define ANSWER_MAX     (256u * 1024 * 1024) /* both outputs, escaped, twice */
#define LIST_TTL_MS    3600000

struct run { /* one tools/call under way */
    struct list_node node;
    struct arena arena;
    const struct json *id, *progress_token;
    bool is_modern;
    struct bash_run shell;
    uint64_t next_progress_ms;
    int64_t timeout_ms;
};

struct server {
    int out;
    struct buf line;
    bool is_skipping; /* a line that is too long */
    bool is_initialized, is_broken;
    struct list_node runs;
    size_t nruns;
};

/* What a request needs to be answered. */
struct request {
    const struct json *id, *params;
    bool is_modern;
};

/* ---- writing ---- */

static void send_line(struct server *s, struct buf *b)
{
    size_t at = 0;
    buf_add_char(b, '\n');
    while (!s->is_broken && at < b->n) {
        ssize_t n = write(s->out, b->p + at, b->n - at);
        if (n > 0)
            at += (size_t)n;
        else if (errno != EINTR)
            s->is_broken = true;
    }
    buf_done(b);
}

static void send_error(struct server *s, const struct json *id, int code, const char *message)
{
    struct buf b;
    buf_init(&b, RPC_MESSAGE_MAX);
    rpc_write_error(&b, id, code, str_from(message));
    send_line(s, &b);
}

/* Begins {"jsonrpc":"2.0","id":...,"result":{ and, in the modern era, what every result has. */
static void begin_result(struct buf *b, struct json_writer *w, const struct json *id,
                         bool is_modern)
{
    buf_init(b, ANSWER_MAX);
    jw_init(w, b);
    jw_object(w);
    jw_kstr(w, "jsonrpc", STR("2.0"));
    jw_kval(w, "id", id);
    jw_key(w, "result");
    jw_object(w);
    if (!is_modern)
        return;
    jw_kstr(w, "resultType", STR("complete"));
    jw_key(w, "_meta");
    jw_object(w);
    jw_key(w, META_SERVER_INFO);
    jw_object(w);
    jw_kstr(w, "name", STR("bash"));
    jw_kstr(w, "version", STR(NB_VERSION));
    jw_end(w);
    jw_end(w);
}

static void end_result(struct server *s, struct buf *b, struct json_writer *w)
{
    jw_end(w);
    jw_end(w);
    send_line(s, b);
}

static void write_capabilities(struct json_writer *w)
{
    jw_key(w, "capabilities");
    jw_object(w);
    jw_key(w, "tools");
    jw_object(w);
    jw_end(w);
    jw_end(w);
}

static void write_caching(struct json_writer *w, bool is_modern)
{
    if (!is_modern)
        return;
    jw_kint(w, "ttlMs", LIST_TTL_MS);
    jw_kstr(w, "cacheScope", STR("public"));
}

/* ---- the tool ---- */

static const char TOOL[] =
    "{\"name\":\"bash_exec\",\"title\":\"Run a command\","
    "\"description\":\"Runs a shell command (bash -c) and returns its output and exit code. No "
    "terminal, no input, nothing keeps running in the background after it has ended.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"command\":{\"type\":\"string\",\"minLength\":1,\"description\":\"The command line\"},"
    "\"cwd\":{\"type\":\"string\",\"description\":\"Directory to run it in\"},"
    "\"timeout\":{\"type\":\"number\",\"exclusiveMinimum\":0,\"maximum\":600,\"default\":30,"
    "\"description\":\"Seconds until it is stopped (exit code 124)\"},"
    "\"env\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"},"
    "\"description\":\"More environment variables\"}},"
    "\"required\":[\"command\"],\"additionalProperties\":false},"
    "\"outputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"stdout\":{\"type\":\"string\"},\"stderr\":{\"type\":\"string\"},"
    "\"exit_code\":{\"type\":\"integer\"},\"duration_ms\":{\"type\":\"integer\"}},"
    "\"required\":[\"stdout\",\"stderr\",\"exit_code\",\"duration_ms\"]},"
    "\"annotations\":{\"readOnlyHint\":false,\"destructiveHint\":true,\"idempotentHint\":false,"
    "\"openWorldHint\":true}}";

static void send_tool_error(struct server *s, const struct request *q, const char *message)
{
    struct buf b;
    struct json_writer w;
    begin_result(&b, &w, q->id, q->is_modern);
    jw_key(&w, "content");
    jw_array(&w);
    jw_object(&w);
    jw_kstr(&w, "type", STR("text"));
    jw_kstr(&w, "text", str_from(message));
    jw_end(&w);
    jw_end(&w);
    jw_kbool(&w, "isError", true);
    end_result(s, &b, &w);
}

/* As text: invalid bytes replaced, and a last line that says how much is missing. */
static void jw_output(struct json_writer *w, const char *key, const struct bash_stream *o)
{
    struct buf text;
    buf_init(&text, 4 * BASH_OUTPUT_MAX);
    (void)utf8_sanitise(&text, buf_str(&o->bytes));
    if (o->dropped > 0)
        buf_printf(&text, "\n[%llu more bytes were dropped]", (unsigned long long)o->dropped);
    jw_kstr(w, key, buf_str(&text));
    buf_done(&text);
}

static void write_output(struct json_writer *w, const struct bash_run *r)
{
    jw_object(w);
    jw_output(w, "stdout", &r->out);
    jw_output(w, "stderr", &r->err);
    jw_kint(w, "exit_code", r->exit_code);
    jw_kint(w, "duration_ms", (int64_t)(r->ended_ms - r->began_ms));
    jw_end(w);
}

static void send_output(struct server *s, struct run *r)
{
    struct buf b, text;
    struct json_writer w, inner;
    buf_init(&text, ANSWER_MAX);
    jw_init(&inner, &text);
    write_output(&inner, &r->shell);
    begin_result(&b, &w, r->id, r->is_modern);
    jw_key(&w, "content");
    jw_array(&w);
    jw_object(&w);
    jw_kstr(&w, "type", STR("text"));
    jw_kstr(&w, "text", buf_str(&text));
    jw_end(&w);
    jw_end(&w);
    jw_key(&w, "structuredContent");
    jw_raw(&w, buf_str(&text));
    end_result(s, &b, &w);
    buf_done(&text);
}

static void run_free(struct server *s, struct run *r)
{
    bash_run_done(&r->shell);
    list_del(&r->node);
    s->nruns--;
    arena_done(&r->arena);
    free(r);
}

static void send_progress(struct server *s, const struct run *r, uint64_t now_ms)
{
    struct buf b;
    struct json_writer w;
    uint64_t seconds = (now_ms - r->shell.began_ms) / 1000;
    char message[96];
    snprintf(message, sizeof(message), "running for %llu s, %zu bytes of output",
             (unsigned long long)seconds, r->shell.out.bytes.n + r->shell.err.bytes.n);
    buf_init(&b, RPC_MESSAGE_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstr(&w, "jsonrpc", STR("2.0"));
    jw_kstr(&w, "method", STR("notifications/progress"));
    jw_key(&w, "params");
    jw_object(&w);
    jw_kval(&w, "progressToken", r->progress_token);
    jw_kint(&w, "progress", (int64_t)seconds);
    jw_kint(&w, "total", r->timeout_ms / 1000);
    jw_kstr(&w, "message", str_from(message));
    jw_end(&w);
    jw_end(&w);
    send_line(s, &b);
}

/* ---- arguments ---- */

static bool has_nul(str s)
{
    return str_find_char(s, '\0') >= 0;
}

static int check_env(const struct json *env, struct err *e)
{
    for (size_t i = 0; env && i < env->len; i++) {
        const struct json_member *m = &env->members[i];
        if (m->value.type != JSON_STRING || has_nul(m->value.s))
            return err_set(e, -EINVAL, "env.%.*s: must be a string", STR_ARG(m->key));
        if (m->key.n == 0 || has_nul(m->key) || str_find_char(m->key, '=') >= 0)
            return err_set(e, -EINVAL, "env: '%.*s' is no name of a variable", STR_ARG(m->key));
    }
    return 0;
}

static int read_timeout(const struct json *v, int64_t *ret, struct err *e)
{
    double seconds = v ? json_double(v, -1) : BASH_TIMEOUT_S;
    if (!(seconds > 0) || seconds > BASH_TIMEOUT_MAX_S)
        return err_set(e, -EINVAL, "timeout: must be a number of seconds up to %d",
                       BASH_TIMEOUT_MAX_S);
    *ret = (int64_t)(seconds * 1000) + (seconds < 0.001);
    return 0;
}

static int read_want(const struct json *args, struct bash_want *ret, struct err *e)
{
    static const char *const KNOWN[] = {"command", "cwd", "timeout", "env"};
    for (size_t i = 0; i < (args ? args->len : 0); i++) {
        bool is_known = false;
        for (size_t k = 0; k < ARRAY_LEN(KNOWN); k++)
            is_known = is_known || str_eq(args->members[i].key, str_from(KNOWN[k]));
        if (!is_known)
            return err_set(e, -EINVAL, "there is no argument '%.*s'",
                           STR_ARG(args->members[i].key));
    }
    const struct json *cwd = json_get(args, "cwd"), *env = json_get(args, "env");
    ret->command = json_get_string(args, "command");
    if (ret->command.n == 0 || has_nul(ret->command))
        return err_set(e, -EINVAL, "command: must be a text that is not empty");
    if ((cwd && !json_is(cwd, JSON_STRING)) || has_nul(json_string(cwd, STR_NONE)))
        return err_set(e, -EINVAL, "cwd: must be a text");
    if (env && !json_is(env, JSON_OBJECT))
        return err_set(e, -EINVAL, "env: must be an object of texts");
    ret->cwd = json_string(cwd, STR_NONE);
    ret->env = env;
    int rc = read_timeout(json_get(args, "timeout"), &ret->timeout_ms, e);
    return rc < 0 ? rc : check_env(env, e);
}

/* ---- methods ---- */

static void call_tool(struct server *s, const struct request *q)
{
    struct bash_want want;
    struct err e = {0};
    const struct json *args = json_get(q->params, "arguments");
    if (!str_eq(json_get_string(q->params, "name"), STR("bash_exec"))) {
        send_error(s, q->id, RPC_INVALID_PARAMS, "Unknown tool; there is bash_exec");
        return;
    }
    if (args && !json_is(args, JSON_OBJECT)) {
        send_error(s, q->id, RPC_INVALID_PARAMS, "arguments: must be an object");
        return;
    }
    if (s->nruns == RUNS_MAX) {
        send_tool_error(s, q, "Too many commands are running; wait for one to end.");
        return;
    }
    struct run *r = xcalloc(1, sizeof(*r));
    if (read_want(args, &want, &e) < 0 || bash_run_start(&r->shell, &want, &e) < 0) {
        free(r);
        send_tool_error(s, q, e.msg);
        return;
    }
    const struct json *token = json_get(json_get(q->params, "_meta"), MCP_PROGRESS_TOKEN);
    r->id = json_clone(&r->arena, q->id);
    r->progress_token = token ? json_clone(&r->arena, token) : NULL;
    r->is_modern = q->is_modern;
    r->timeout_ms = want.timeout_ms;
    r->next_progress_ms = r->shell.began_ms + PROGRESS_MS;
    list_push(&s->runs, &r->node);
    s->nruns++;
}

static void list_tools(struct server *s, const struct request *q)
{
    struct buf b;
    struct json_writer w;
    if (json_get(q->params, "cursor")) {
        send_error(s, q->id, RPC_INVALID_PARAMS, "There is no such page");
        return;
    }
    begin_result(&b, &w, q->id, q->is_modern);
    jw_key(&w, "tools");
    jw_array(&w);
    jw_raw(&w, (str){TOOL, sizeof(TOOL) - 1});
    jw_end(&w);
    write_caching(&w, q->is_modern);
    end_result(s, &b, &w);
}

static void discover(struct server *s, const struct request *q)
{
    struct buf b;
    struct json_writer w;
    begin_result(&b, &w, q->id, true);
    jw_key(&w, "supportedVersions");
    jw_array(&w);
    jw_str(&w, STR(MCP_REVISION_MODERN));
    jw_end(&w);
    write_capabilities(&w);
    write_caching(&w, true);
    end_result(s, &b, &w);
}

static void initialize(struct server *s, const struct request *q)
{
    struct buf b;
    struct json_writer w;
    str asked = json_get_string(q->params, "protocolVersion");
    bool is_known = protocol_era(asked) == MCP_ERA_LEGACY;
    begin_result(&b, &w, q->id, false);
    jw_kstr(&w, "protocolVersion", is_known ? asked : STR(MCP_REVISION_LEGACY));
    write_capabilities(&w);
    jw_key(&w, "serverInfo");
    jw_object(&w);
    jw_kstr(&w, "name", STR("bash"));
    jw_kstr(&w, "title", STR("Shell"));
    jw_kstr(&w, "version", STR(NB_VERSION));
    jw_end(&w);
    end_result(s, &b, &w);
    s->is_initialized = true;
}

static void ping(struct server *s, const struct request *q)
{
    struct buf b;
    struct json_writer w;
    begin_result(&b, &w, q->id, false);
    end_result(s, &b, &w);
}

enum { LEGACY = 1, MODERN = 2, EARLY = 4 /* before the handshake as well */ };

static const struct method {
    str name;
    int when;
    void (*fn)(struct server *s, const struct request *q);
} METHODS[] = {
    {STR_INIT("tools/call"), LEGACY | MODERN, call_tool},
    {STR_INIT("tools/list"), LEGACY | MODERN, list_tools},
    {STR_INIT("server/discover"), MODERN, discover},
    {STR_INIT("initialize"), LEGACY | EARLY, initialize},
    {STR_INIT("ping"), LEGACY | EARLY, ping},
};

/* ---- messages ---- */

static void send_unsupported_version(struct server *s, const struct json *id, str asked)
{
    struct buf b;
    struct json_writer w;
    buf_init(&b, RPC_MESSAGE_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstr(&w, "jsonrpc", STR("2.0"));
    jw_kval(&w, "id", id);
    jw_key(&w, "error");
    jw_object(&w);
    jw_kint(&w, "code", MCP_UNSUPPORTED_VERSION);
    jw_kstr(&w, "message", STR("Unsupported protocol version"));
    jw_key(&w, "data");
    jw_object(&w);
    jw_key(&w, "supported");
    jw_array(&w);
    jw_str(&w, STR(MCP_REVISION_MODERN));
    jw_end(&w);
    jw_kstr(&w, "requested", asked);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    send_line(s, &b);
}

/* True when the metadata of a modern request is in order, or it is none. */
static bool check_metadata(struct server *s, const struct request *q, str method)
{
    const struct json *meta = json_get(q->params, "_meta");
    str version = json_get_string(meta, META_VERSION);
    if (!q->is_modern) {
        if (!str_eq(method, STR("server/discover")))
            return true;
        send_error(s, q->id, RPC_INVALID_PARAMS, "_meta: " META_VERSION " is missing");
    } else if (!str_eq(version, STR(MCP_REVISION_MODERN))) {
        send_unsupported_version(s, q->id, version);
    } else if (!json_is(json_get(meta, META_CAPABILITIES), JSON_OBJECT)) {
        send_error(s, q->id, RPC_INVALID_PARAMS, "_meta: " META_CAPABILITIES " is missing");
    } else {
        return true;
    }
    return false;
}

static void on_request(struct server *s, const struct rpc_message *m)
{
    struct request q = {m->id, m->params, false};
    q.is_modern = json_get(json_get(m->params, "_meta"), META_VERSION) != NULL;
    if (!check_metadata(s, &q, m->method))
        return;
    for (size_t i = 0; i < ARRAY_LEN(METHODS); i++) {
        const struct method *k = &METHODS[i];
        if (!str_eq(k->name, m->method) || !(k->when & (q.is_modern ? MODERN : LEGACY)))
            continue;
        if (!q.is_modern && !s->is_initialized && !(k->when & EARLY))
            send_error(s, q.id, RPC_INVALID_REQUEST, "initialize comes first");
        else
            k->fn(s, &q);
        return;
    }
    send_error(s, q.id, RPC_METHOD_NOT_FOUND, "Method not found");
}

static void on_notification(struct server *s, const struct rpc_message *m)
{
    const struct json *id = json_get(m->params, "requestId");
    if (!str_eq(m->method, STR("notifications/cancelled")) || !id)
        return;
    LIST_FOREACH (node, &s->runs) {
        struct run *r = LIST_ENTRY(node, struct run, node);
        if (r->id->type == id->type && json_equal(r->id, id))
            run_free(s, r);
    }
}

static void on_line(struct server *s, str line)
{
    struct arena a;
    struct json *doc;
    struct rpc_message m = {0};
    struct err e = {0};
    line = str_trim(line);
    if (line.n == 0)
        return;
    arena_init(&a);
    if (json_parse(&a, line, 0, &doc, &e) < 0)
        send_error(s, NULL, RPC_PARSE_ERROR, e.msg);
    else if (rpc_classify(doc, &m, &e) < 0)
        send_error(s, m.id, RPC_INVALID_REQUEST, e.msg);
    else if (m.kind == RPC_REQUEST)
        on_request(s, &m);
    else if (m.kind == RPC_NOTIFICATION)
        on_notification(s, &m);
    arena_done(&a);
}

/* ---- reading ---- */

static void take_input(struct server *s, str bytes)
{
    ptrdiff_t lf;
    while ((lf = str_find_char(bytes, '\n')) >= 0) {
        str part = str_slice(bytes, 0, (size_t)lf);
        bytes = str_skip(bytes, (size_t)lf + 1);
        if (!s->is_skipping && buf_add_str(&s->line, part) == 0)
            on_line(s, buf_str(&s->line));
        else
            send_error(s, NULL, RPC_INVALID_REQUEST, "The message is too long");
        s->is_skipping = false;
        buf_reset(&s->line);
    }
    if (!s->is_skipping && buf_add_str(&s->line, bytes) < 0) {
        s->is_skipping = true;
        buf_reset(&s->line);
    }
}

static void step_runs(struct server *s)
{
    uint64_t now_ms = clock_mono_ms();
    LIST_FOREACH (node, &s->runs) {
        struct run *r = LIST_ENTRY(node, struct run, node);
        bash_run_step(&r->shell, now_ms);
        if (r->shell.is_over) {
            send_output(s, r);
            run_free(s, r);
        } else if (r->progress_token && now_ms >= r->next_progress_ms) {
            send_progress(s, r, now_ms);
            r->next_progress_ms = now_ms + PROGRESS_MS;
        }
    }
}

/* Waits until there is input, output of a command, or a time that somebody set. */
static bool wait_for_input(struct server *s, int in)
{
    struct pollfd fds[1 + RUNS_MAX * BASH_RUN_POLLS];
    uint64_t now_ms = clock_mono_ms(), due_ms = UINT64_MAX;
    size_t n = 1;
    fds[0] = (struct pollfd){in, POLLIN, 0};
    LIST_FOREACH (node, &s->runs) {
        struct run *r = LIST_ENTRY(node, struct run, node);
        bash_run_polls(&r->shell, &fds[n]);
        n += BASH_RUN_POLLS;
        due_ms = r->shell.due_ms < due_ms ? r->shell.due_ms : due_ms;
        if (r->progress_token && r->next_progress_ms < due_ms)
            due_ms = r->next_progress_ms;
    }
    int timeout = due_ms == UINT64_MAX ? -1 : due_ms <= now_ms ? 0 : (int)(due_ms - now_ms);
    return poll(fds, n, timeout) > 0 && fds[0].revents != 0;
}

int bash_serve(int in, int out)
{
    struct server s = {.out = out};
    char *chunk = xcalloc(1, READ_BYTES);
    bool is_over = false;
    buf_init(&s.line, LINE_MAX_BYTES);
    list_init(&s.runs);
    while (!is_over && !s.is_broken) {
        if (wait_for_input(&s, in)) {
            ssize_t n = read(in, chunk, READ_BYTES);
            if (n > 0)
                take_input(&s, (str){chunk, (size_t)n});
            is_over = n == 0 || (n < 0 && errno != EINTR);
        }
        step_runs(&s);
    }
    LIST_FOREACH (node, &s.runs)
        run_free(&s, LIST_ENTRY(node, struct run, node));
    buf_done(&s.line);
    free(chunk);
    return s.is_broken ? 1 : 0;
}
