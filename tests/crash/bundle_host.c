/* bundle_host.c - bundles without a server around them, for tests.
 *
 * Reads one JSON command a line from stdin, prints one JSON event a line. It is its own
 * launcher and its own bash bundle, as nb is.
 *
 *   {"apply": [ENTRY...]}   {"start"|"stop"|"restart"|"info"|"logs": "name"}   {"quit": true}
 *   {"call": "name", "tool": "t", "args": {}, "timeoutMs": 5000, "id": 1, "person": "p"}
 *   {"cancel": 1}
 *
 *   {"event": "state"|"tools"|"added"|"removed", "atMs": ..., "name": ..., "state": ..., "reason":
 * ..., ...}
 *   {"id": 1, "result"|"error": {...}}   {"id": 1, "failed": -104, "message": ...}
 *   {"event": "progress", "of": 1, "message": ...}
 *
 * Options: WORK_DIR HEALTH_MS BACKOFF_MS [HOME_DIR PROJECT_DIR] */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "bundle/bash/bash_server.h"
#include "bundle/bundle.h"
#include "bundle/sandbox/launch.h"
#include "net/child.h"

#define INPUT_MAX  (64u * 1024 * 1024)
#define OUTPUT_MAX (256u * 1024 * 1024)
#define CALL_MS    120000 /* on a machine that is busy with something else */
#define DRAIN_MS   500

struct host {
    struct loop *loop;
    struct pool *pool;
    struct fetcher *fetcher;
    struct bundles *bundles;
    struct list_node calls;
    uv_pipe_t in;
    struct buf line;
    bool is_stopping;
    bool is_over;
};

struct call {
    struct list_node node;
    struct host *host;
    int64_t id;
    struct bundle_call *call;
};

/* ---- printing ---- */

static void print(struct buf *b)
{
    buf_add_char(b, '\n');
    for (size_t at = 0; at < b->n;) {
        ssize_t n = write(STDOUT_FILENO, b->p + at, b->n - at);
        if (n < 0 && errno != EINTR)
            break;
        at += n > 0 ? (size_t)n : 0;
    }
    buf_done(b);
}

static void print_info(struct bundle *b, const char *event)
{
    const struct bundle_info *i = bundle_info(b);
    struct buf out;
    struct json_writer w;
    buf_init(&out, OUTPUT_MAX);
    jw_init(&w, &out);
    jw_object(&w);
    jw_kstr(&w, "event", str_from(event));
    jw_kint(&w, "atMs", (int64_t)clock_mono_ms());
    jw_kstr(&w, "name", i->name);
    jw_kstr(&w, "state", str_from(bundle_state_name(i->state)));
    jw_kstr(&w, "reason", i->reason);
    jw_kint(&w, "pid", i->pid);
    jw_kint(&w, "ntools", (int64_t)i->ntools);
    jw_kint(&w, "restarts", i->restarts);
    jw_kint(&w, "failures", i->failures);
    jw_kint(&w, "rss", i->rss_bytes);
    jw_kint(&w, "uptime", i->uptime_ms);
    jw_kstr(&w, "sandbox", i->sandbox);
    jw_kstr(&w, "version", i->version);
    jw_kstr(&w, "protocol", i->protocol_version);
    jw_end(&w);
    print(&out);
}

static void on_changed(void *ctx, struct bundle *b, enum bundle_change what)
{
    static const char *const NAMES[] = {
        "added",  "state", "tools", "quarantine", "resources", "prompts", "resource-updated",
        "removed"};
    print_info(b, NAMES[what]);
}

/* ---- calls ---- */

static void on_done(void *ctx, const struct mcp_reply *r)
{
    struct call *c = ctx;
    struct buf out;
    struct json_writer w;
    buf_init(&out, OUTPUT_MAX);
    jw_init(&w, &out);
    jw_object(&w);
    jw_kint(&w, "id", c->id);
    if (r->result)
        jw_kval(&w, "result", r->result);
    if (r->error)
        jw_kval(&w, "error", r->error);
    if (r->err) {
        jw_kint(&w, "failed", r->err->code);
        jw_kstr(&w, "message", str_from(r->err->msg));
    }
    jw_end(&w);
    print(&out);
    list_del(&c->node);
    free(c);
}

static void on_progress(void *ctx, const struct json *params)
{
    const struct call *c = ctx;
    struct buf out;
    struct json_writer w;
    buf_init(&out, OUTPUT_MAX);
    jw_init(&w, &out);
    jw_object(&w);
    jw_kstr(&w, "event", STR("progress"));
    jw_kint(&w, "of", c->id);
    jw_kstr(&w, "message", json_get_string(params, "message"));
    jw_end(&w);
    print(&out);
}

static void start_call(struct host *h, struct bundle *b, const struct json *cmd)
{
    static const struct mcp_call_events EVENTS = {.done = on_done, .progress = on_progress};
    struct arena a;
    arena_init(&a);
    struct json *params = json_new(&a, JSON_OBJECT);
    json_set(&a, params, STR("name"), json_of_str(json_get_string(cmd, "tool")));
    const struct json *args = json_get(cmd, "args");
    if (args)
        json_set(&a, params, STR("arguments"), *args);
    struct mcp_request req = {
        .method = STR("tools/call"),
        .params = params,
        .timeout_ms = (uint64_t)json_get_int(cmd, "timeoutMs", CALL_MS),
    };
    struct call *c = xcalloc(1, sizeof(*c));
    c->host = h;
    c->id = json_get_int(cmd, "id", 0);
    list_push(&h->calls, &c->node);
    c->call = bundle_request_for(b, json_get_string(cmd, "person"), &req, &EVENTS, c);
    arena_done(&a);
}

static void cancel_call(struct host *h, int64_t id)
{
    LIST_FOREACH (node, &h->calls) {
        struct call *c = LIST_ENTRY(node, struct call, node);
        if (c->id != id)
            continue;
        bundle_cancel(c->call, "cancelled by the test");
        list_del(&c->node);
        free(c);
    }
}

/* ---- commands ---- */

static void apply(struct host *h, const struct json *list)
{
    struct arena a;
    struct err e = {0};
    struct bundle_entry *entries;
    size_t n;
    arena_init(&a);
    if (bundle_entries_decode(&a, list, "/", &entries, &n, &e) < 0)
        fprintf(stderr, "bundle_host: %s\n", e.msg);
    else
        bundles_apply(h->bundles, entries, n);
    arena_done(&a);
}

static void print_logs(struct bundle *b)
{
    struct arena a;
    struct buf out;
    struct json_writer w;
    arena_init(&a);
    buf_init(&out, OUTPUT_MAX);
    jw_init(&w, &out);
    jw_object(&w);
    jw_kstr(&w, "event", STR("logs"));
    jw_kstr(&w, "text", bundle_logs(b, &a));
    jw_end(&w);
    print(&out);
    arena_done(&a);
}

static void on_stopped(void *ctx)
{
    struct host *h = ctx;
    h->is_over = true;
}

static void quit(struct host *h)
{
    if (h->is_stopping)
        return;
    h->is_stopping = true;
    bundles_stop(h->bundles, on_stopped, h);
}

static void obey(struct host *h, const struct json *cmd)
{
    static const char *const ABOUT[] = {"start", "stop", "restart", "info", "logs", "call"};
    if (json_get(cmd, "apply"))
        apply(h, json_get(cmd, "apply"));
    if (json_get(cmd, "cancel"))
        cancel_call(h, json_get_int(cmd, "cancel", -1));
    if (json_get(cmd, "quit"))
        quit(h);
    for (size_t i = 0; i < ARRAY_LEN(ABOUT); i++) {
        str name = json_get_string(cmd, ABOUT[i]);
        struct bundle *b = name.n > 0 ? bundles_find(h->bundles, name) : NULL;
        if (!b)
            continue;
        switch (i) {
        case 0:
            bundle_start(b);
            break;
        case 1:
            bundle_stop(b);
            break;
        case 2:
            bundle_restart(b);
            break;
        case 3:
            print_info(b, "info");
            break;
        case 4:
            print_logs(b);
            break;
        default:
            start_call(h, b, cmd);
        }
    }
}

/* ---- input ---- */

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *ret)
{
    *ret = uv_buf_init(xcalloc(1, size), (unsigned)size);
}

static void on_line(struct host *h, str line)
{
    struct arena a;
    struct json *cmd;
    struct err e = {0};
    arena_init(&a);
    if (json_parse(&a, line, 0, &cmd, &e) < 0)
        fprintf(stderr, "bundle_host: %s\n", e.msg);
    else
        obey(h, cmd);
    arena_done(&a);
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *given)
{
    struct host *h = s->data;
    ptrdiff_t lf;
    if (n > 0)
        buf_add(&h->line, given->base, (size_t)n);
    free(given->base);
    while ((lf = str_find_char(buf_str(&h->line), '\n')) >= 0) {
        on_line(h, str_slice(buf_str(&h->line), 0, (size_t)lf));
        buf_consume(&h->line, (size_t)lf + 1);
    }
    if (n < 0) {
        uv_read_stop(s);
        quit(h);
    }
}

/* ---- life ---- */

static int run(int argc, char **argv)
{
    struct host h = {0};
    char own[4096] = {0}, data[4096];
    const char *drain = getenv("DRAIN_MS"), *machine = getenv("MACHINE_MS");
    ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
    assert(n > 0);
    (void)signal(SIGPIPE, SIG_IGN);
    snprintf(data, sizeof(data), "%s/data", argv[1]);
    h.loop = loop_new(NULL);
    h.pool = pool_new(h.loop, "bundles", 2);
    h.fetcher = fetcher_new(h.loop);
    list_init(&h.calls);
    buf_init(&h.line, INPUT_MAX);
    struct bundles_conf conf = {
        .loop = h.loop,
        .fetcher = h.fetcher,
        .pool = h.pool,
        .data_dir = data,
        .credentials_dir = argv[1],
        .package_dir = argv[1],
        .work_dir = argv[1],
        .home_dir = argc > 5 ? argv[4] : NULL,
        .project_dir = argc > 5 ? argv[5] : NULL,
        .own_program = own,
        .allow_insecure_remotes = true,
        .no_default_bundles = getenv("WITH_BASH") == NULL,
        .times = {.health_ms = strtoull(argv[2], NULL, 10),
                  .backoff_ms = strtoull(argv[3], NULL, 10),
                  .drain_ms = drain ? strtoull(drain, NULL, 10) : DRAIN_MS,
                  .machine_ms = machine ? strtoull(machine, NULL, 10) : 0},
        .host = {.changed = on_changed, .ctx = &h},
    };
    h.bundles = bundles_new(&conf);
    uv_pipe_init(loop_uv(h.loop), &h.in, 0);
    h.in.data = &h;
    uv_pipe_open(&h.in, STDIN_FILENO);
    uv_read_start((uv_stream_t *)&h.in, on_alloc, on_read);
    if (!conf.no_default_bundles)
        bundles_apply(h.bundles, NULL, 0);
    while (!h.is_over)
        (void)loop_run_until(h.loop, &h.is_over, 3600 * 1000);
    bundles_free(h.bundles);
    uv_close((uv_handle_t *)&h.in, NULL);
    fetcher_free(h.fetcher);
    pool_free(h.pool);
    loop_free(h.loop);
    buf_done(&h.line);
    return 0;
}

static int launch(void)
{
    struct arena a;
    struct launch_spec spec;
    struct err e = {0};
    arena_init(&a);
    return launch_spec_read(&a, CHILD_MESSAGE_FD, &spec, &e) < 0 ? 1 : launch_run(&a, &spec);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "launch") == 0)
        return launch();
    if (argc > 1 && strcmp(argv[1], "mcp") == 0) {
        (void)signal(SIGPIPE, SIG_IGN);
        return bash_serve(STDIN_FILENO, STDOUT_FILENO);
    }
    return argc > 3 ? run(argc, argv) : 2;
}
