#include "bundle/bash/bash_server.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/bytes/base64.h"
#include "base/clock.h"
#include "base/list.h"
#include "bundle/bash/bash_answer.h"
#include "bundle/bash/bash_run.h"
#include "bundle/confine/cgroup.h"
#include "bundle/sandbox/launch.h"
#include "net/child.h"

#define RUNS_MAX       32
#define LINE_MAX_BYTES (16u * 1024 * 1024)
#define READ_BYTES     (64u * 1024)
#define PROGRESS_MS    1000

struct served_run { /* one tools/call in progress */
    struct list_node node;
    struct arena arena;
    const struct json *id, *progress_token;
    bool is_modern;
    struct bash_run shell;
    uint64_t next_progress_ms;
    int64_t timeout_ms;
};

struct bash_server {
    int out;
    struct buf line;
    struct bash_answer answer; /* the message that is being written */
    bool is_skipping;          /* inside a line that is too long */
    bool is_initialized, is_broken;
    struct list_node runs;
    size_t nruns;
    const struct launch_spec *sandbox; /* for each command; NULL = no sandbox */
    struct bash_watch watch;
};

/* The parts of a request that its answer needs. */
struct bash_request {
    const struct json *id, *params;
    bool is_modern;
};

static void send_answer(struct bash_server *s)
{
    struct buf *b = &s->answer.bytes;
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

static void send_error(struct bash_server *s, const struct json *id, int code, const char *message)
{
    bash_answer_error(&s->answer, id, code, message);
    send_answer(s);
}

static void run_free(struct bash_server *s, struct served_run *r)
{
    bash_run_done(&r->shell);
    list_del(&r->node);
    s->nruns--;
    arena_done(&r->arena);
    free(r);
}

/* ---- cgroups of commands ---- */

#define LEAF_AGE_S    60
#define LEAF_TRIES    50
#define LEAF_PAUSE_MS 10

static void sweep_leaves(const struct bash_server *s, int min_age_s)
{
    if (s->sandbox && s->sandbox->cgroup)
        cgroup_sweep(s->sandbox->cgroup, min_age_s);
}

/* The last commands were killed only a moment ago, so this may need several attempts. */
static void remove_cgroup(const struct bash_server *s)
{
    for (int i = 0; s->sandbox && s->sandbox->cgroup && i < LEAF_TRIES; i++) {
        sweep_leaves(s, 0);
        if (rmdir(s->sandbox->cgroup) == 0 || errno != EBUSY)
            return;
        (void)poll(NULL, 0, LEAF_PAUSE_MS);
    }
}

/* ---- methods ---- */

static void send_failure(struct bash_server *s, const struct bash_request *q, const char *message)
{
    bash_answer_failure(&s->answer, q->id, q->is_modern, message);
    send_answer(s);
}

#define SANDBOX_TEXT_MAX (8u * 1024 * 1024)

/* A command in the directory of a person's terminal has its own sandbox; the limits are those of
 * every command. */
static int read_call_sandbox(const struct bash_server *s, struct arena *a, const struct json *meta,
                             struct bash_want *want, struct err *e)
{
    str encoded = json_get_string(meta, BASH_META_SANDBOX);
    struct launch_spec *spec = arena_zalloc(a, sizeof(*spec));
    struct buf text;
    if (encoded.n == 0 || !s->sandbox)
        return 0;
    buf_init(&text, SANDBOX_TEXT_MAX);
    int rc = base64_decode(&text, encoded) < 0
                 ? err_set(e, -EINVAL, "the sandbox of this command cannot be read")
                 : launch_spec_decode(a, arena_str(a, buf_str(&text)), spec, e);
    buf_done(&text);
    if (rc < 0)
        return rc;
    spec->cgroup = s->sandbox->cgroup;
    spec->memory_bytes = s->sandbox->memory_bytes;
    want->sandbox = spec;
    want->directory = arena_str(a, json_get_string(meta, BASH_META_DIRECTORY));
    return 0;
}

static void call_tool(struct bash_server *s, const struct bash_request *q)
{
    struct bash_want want;
    struct err e = {0};
    const struct json *args = json_get(q->params, "arguments");
    if (!str_eq(json_get_string(q->params, "name"), STR("bash_exec"))) {
        send_error(s, q->id, RPC_INVALID_PARAMS, "Unknown tool; the only tool is bash_exec");
        return;
    }
    if (args && !json_is(args, JSON_OBJECT)) {
        send_error(s, q->id, RPC_INVALID_PARAMS, "arguments: must be an object");
        return;
    }
    if (s->nruns == RUNS_MAX) {
        send_failure(s, q, "Too many commands are running; wait for one to end.");
        return;
    }
    struct served_run *r = xcalloc(1, sizeof(*r));
    want.sandbox = s->sandbox;
    int rc = bash_want_read(args, &want, &e);
    const struct json *meta = json_get(q->params, "_meta");
    if (rc == 0)
        rc = read_call_sandbox(s, &r->arena, meta, &want, &e);
    want.disk_full_mb = json_get_int(meta, BASH_META_DISK_FULL, 0);
    if (rc < 0 || bash_run_start(&r->shell, &want, &e) < 0) {
        arena_done(&r->arena);
        free(r);
        send_failure(s, q, e.msg);
        return;
    }
    const struct json *token = json_get(meta, MCP_PROGRESS_TOKEN);
    r->id = json_clone(&r->arena, q->id);
    r->progress_token = token ? json_clone(&r->arena, token) : NULL;
    r->is_modern = q->is_modern;
    r->timeout_ms = want.timeout_ms;
    r->next_progress_ms = r->shell.began_ms + PROGRESS_MS;
    list_push(&s->runs, &r->node);
    s->nruns++;
}

static void list_tools(struct bash_server *s, const struct bash_request *q)
{
    if (json_get(q->params, "cursor")) {
        send_error(s, q->id, RPC_INVALID_PARAMS, "Invalid cursor");
        return;
    }
    bash_answer_tools(&s->answer, q->id, q->is_modern);
    send_answer(s);
}

static void answer_discover(struct bash_server *s, const struct bash_request *q)
{
    bash_answer_discover(&s->answer, q->id);
    send_answer(s);
}

static void initialize(struct bash_server *s, const struct bash_request *q)
{
    str asked = json_get_string(q->params, "protocolVersion");
    bool is_known = protocol_era(asked) == MCP_ERA_LEGACY;
    bash_answer_initialize(&s->answer, q->id, is_known ? asked : STR(MCP_REVISION_LEGACY));
    send_answer(s);
    s->is_initialized = true;
}

static void ping(struct bash_server *s, const struct bash_request *q)
{
    bash_answer_begin(&s->answer, q->id, false);
    bash_answer_end(&s->answer);
    send_answer(s);
}

enum { LEGACY = 1, MODERN = 2, EARLY = 4 /* before the handshake as well */ };

static const struct method {
    str name;
    int when;
    void (*fn)(struct bash_server *s, const struct bash_request *q);
} METHODS[] = {
    {STR_INIT("tools/call"), LEGACY | MODERN, call_tool},
    {STR_INIT("tools/list"), LEGACY | MODERN, list_tools},
    {STR_INIT("server/discover"), MODERN, answer_discover},
    {STR_INIT("initialize"), LEGACY | EARLY, initialize},
    {STR_INIT("ping"), LEGACY | EARLY, ping},
};

/* ---- messages ---- */

/* True when the metadata of a modern request is valid, or the request is not modern. */
static bool check_metadata(struct bash_server *s, const struct bash_request *q, str method)
{
    const struct json *meta = json_get(q->params, "_meta");
    str version = json_get_string(meta, META_VERSION);
    if (!q->is_modern) {
        if (!str_eq(method, STR("server/discover")))
            return true;
        send_error(s, q->id, RPC_INVALID_PARAMS, "_meta: " META_VERSION " is missing");
    } else if (!str_eq(version, STR(MCP_REVISION_MODERN))) {
        bash_answer_version(&s->answer, q->id, version);
        send_answer(s);
    } else if (!json_is(json_get(meta, META_CAPABILITIES), JSON_OBJECT)) {
        send_error(s, q->id, RPC_INVALID_PARAMS, "_meta: " META_CAPABILITIES " is missing");
    } else {
        return true;
    }
    return false;
}

static void on_request(struct bash_server *s, const struct rpc_message *m)
{
    struct bash_request q = {m->id, m->params, false};
    q.is_modern = json_get(json_get(m->params, "_meta"), META_VERSION) != NULL;
    if (!check_metadata(s, &q, m->method))
        return;
    for (size_t i = 0; i < ARRAY_LEN(METHODS); i++) {
        const struct method *k = &METHODS[i];
        if (!str_eq(k->name, m->method) || !(k->when & (q.is_modern ? MODERN : LEGACY)))
            continue;
        if (!q.is_modern && !s->is_initialized && !(k->when & EARLY))
            send_error(s, q.id, RPC_INVALID_REQUEST, "initialize must be the first request");
        else
            k->fn(s, &q);
        return;
    }
    send_error(s, q.id, RPC_METHOD_NOT_FOUND, "Method not found");
}

static void on_notification(struct bash_server *s, const struct rpc_message *m)
{
    const struct json *id = json_get(m->params, "requestId");
    if (!str_eq(m->method, STR("notifications/cancelled")) || !id)
        return;
    LIST_EACH (r, &s->runs, struct served_run, node)
        if (r->id->type == id->type && json_equal(r->id, id))
            run_free(s, r);
}

static void on_bash_line(struct bash_server *s, str line)
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

static void take_input(struct bash_server *s, str bytes)
{
    ptrdiff_t lf;
    while ((lf = str_find_char(bytes, '\n')) >= 0) {
        str part = str_slice(bytes, 0, (size_t)lf);
        bytes = str_skip(bytes, (size_t)lf + 1);
        if (!s->is_skipping && buf_add_str(&s->line, part) == 0)
            on_bash_line(s, buf_str(&s->line));
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

static void send_output(struct bash_server *s, const struct served_run *r)
{
    bash_answer_output(&s->answer, r->id, r->is_modern, &r->shell);
    send_answer(s);
}

static void send_progress(struct bash_server *s, const struct served_run *r, uint64_t now_ms)
{
    const struct bash_run *b = &r->shell;
    bash_answer_progress(&s->answer, r->progress_token, (int64_t)(now_ms - b->began_ms) / 1000,
                         r->timeout_ms / 1000, b->out.bytes.n + b->err.bytes.n);
    send_answer(s);
}

static void step_runs(struct bash_server *s)
{
    uint64_t now_ms = clock_mono_ms();
    LIST_EACH (r, &s->runs, struct served_run, node) {
        bash_run_step(&r->shell, now_ms);
        if (r->shell.is_over) {
            send_output(s, r);
            run_free(s, r);
            sweep_leaves(s, LEAF_AGE_S);
        } else if (r->progress_token && now_ms >= r->next_progress_ms) {
            send_progress(s, r, now_ms);
            r->next_progress_ms = now_ms + PROGRESS_MS;
        }
    }
}

/* The commands that the kernel does not limit. */
static size_t watched_runs(const struct bash_server *s, struct bash_run *ret[RUNS_MAX])
{
    size_t n = 0;
    LIST_EACH (r, &s->runs, struct served_run, node)
        if (bash_watch_needs(&r->shell))
            ret[n++] = &r->shell;
    return n;
}

static void watch_runs(struct bash_server *s)
{
    struct bash_run *runs[RUNS_MAX];
    bash_watch_step(&s->watch, runs, watched_runs(s, runs), clock_mono_ms());
}

/* Waits for input, output of a command, or the next time limit. */
static bool wait_for_input(struct bash_server *s, int in)
{
    struct pollfd fds[1 + RUNS_MAX * BASH_RUN_POLLS];
    uint64_t now_ms = clock_mono_ms(), due_ms = UINT64_MAX;
    size_t n = 1;
    fds[0] = (struct pollfd){in, POLLIN, 0};
    LIST_EACH (r, &s->runs, struct served_run, node) {
        bash_run_polls(&r->shell, &fds[n]);
        n += BASH_RUN_POLLS;
        due_ms = r->shell.due_ms < due_ms ? r->shell.due_ms : due_ms;
        if (r->progress_token && r->next_progress_ms < due_ms)
            due_ms = r->next_progress_ms;
        if (bash_watch_needs(&r->shell) && s->watch.due_ms < due_ms)
            due_ms = s->watch.due_ms;
    }
    int timeout = due_ms == UINT64_MAX ? -1 : due_ms <= now_ms ? 0 : (int)(due_ms - now_ms);
    return poll(fds, n, timeout) > 0 && fds[0].revents != 0;
}

/* With BASH_SPEC_VARIABLE there is a message. Without it another program runs the server, and
 * decides what its commands may do. */
static int read_sandbox(struct arena *a, struct bash_server *s)
{
    struct err e = {0};
    struct launch_spec *spec = arena_zalloc(a, sizeof(*spec));
    if (!getenv(BASH_SPEC_NAME))
        return 0;
    (void)unsetenv(BASH_SPEC_NAME);
    if (launch_spec_read(a, CHILD_MESSAGE_FD, spec, &e) < 0) {
        fprintf(stderr, "nb: cannot set up the sandbox for commands: %s\n", e.msg);
        return -1;
    }
    s->sandbox = spec;
    s->watch =
        (struct bash_watch){.memory_bytes = spec->memory_bytes, .is_wrapped = spec->wrap != NULL};
    return 0;
}

int bash_serve(int in, int out)
{
    struct bash_server s = {.out = out};
    struct arena a;
    /* commands of the same account must not be able to change it */
    (void)prctl(PR_SET_DUMPABLE, 0);
    arena_init(&a);
    if (read_sandbox(&a, &s) < 0)
        return 1;
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
        watch_runs(&s);
    }
    LIST_FOREACH (node, &s.runs)
        run_free(&s, LIST_ENTRY(node, struct served_run, node));
    remove_cgroup(&s);
    buf_done(&s.line);
    free(chunk);
    arena_done(&a);
    return s.is_broken ? 1 : 0;
}
