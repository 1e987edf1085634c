/* nb replay - rebuilds the requests of a conversation and compares them with those that were
 * sent. */
#include <errno.h>

#include "base/json/json.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "runtime/rebuild.h"
#include "server/server.h"

#define SHOWN_MAX 600 /* printed bytes of a part that differs */

struct replay_options {
    bool with_bodies;
};

static const struct arg ARGS[] = {{"bodies", 0, ARG_FLAG,
                                   offsetof(struct replay_options, with_bodies), NULL,
                                   "print the requests that would be sent"},
                                  {0}};

struct replaying {
    const struct cli *cli;
    const struct replay_options *opt;
    struct server *server;
    struct loop *loop;
    str id;
    struct arena arena;
    str *lines;
    size_t n, cap;
    size_t calls, equal, different, unknown;
    /* the store operation in progress */
    bool is_done, is_at_end;
    struct err err;
    store_pos next;
    struct arena *blob_arena;
    str blob;
    struct err *blob_err;
    bool is_found; /* the latest conversation */
};

static void wait_for(struct replaying *r)
{
    while (!r->is_done)
        (void)loop_run_until(r->loop, &r->is_done, UINT32_MAX);
}

static void on_replay_page(void *ctx, const struct err *err, const struct store_page *page)
{
    struct replaying *r = ctx;
    r->is_done = true;
    if (err) {
        r->err = *err;
        return;
    }
    for (size_t i = 0; i < page->n; i++) {
        GROW(r->lines, r->n, r->cap);
        r->lines[r->n++] = arena_str(&r->arena, page->events[i].line);
        r->next = page->events[i].pos;
    }
    r->is_at_end = page->reached_end;
}

static int read_log(struct replaying *r)
{
    while (!r->is_at_end) {
        struct store_range range = {.after = r->next, .with_blobs = true};
        r->is_done = false;
        store_read(server_store(r->server), r->id, &range, on_replay_page, r);
        wait_for(r);
        if (r->err.code == -ENOENT)
            err_set(&r->err, -ENOENT, "no conversation '%.*s'", STR_ARG(r->id));
        if (r->err.code < 0)
            return r->err.code;
    }
    return 0;
}

static void on_blob(void *ctx, const struct err *err, str bytes)
{
    struct replaying *r = ctx;
    r->is_done = true;
    if (err)
        *r->blob_err = *err;
    else
        r->blob = arena_str(r->blob_arena, bytes);
}

static int get_blob(void *ctx, struct arena *a, str sha256, str *ret, struct err *e)
{
    struct replaying *r = ctx;
    r->is_done = false;
    r->blob_arena = a;
    r->blob_err = e;
    store_get_blob(server_store(r->server), r->id, sha256, on_blob, r);
    wait_for(r);
    *ret = r->blob;
    return e->code;
}

/* ---- printing ---- */

static void write_differences(struct json_writer *w, const struct rebuilt *c)
{
    jw_karray(w, "differences");
    for (size_t i = 0; i < c->ndifferences; i++) {
        const struct outline_difference *d = &c->differences[i];
        jw_object(w);
        jw_kstr(w, "part", d->part);
        jw_kstr_or_null(w, "was", d->was);
        jw_kstr_or_null(w, "now", d->now);
        jw_end(w);
    }
    jw_end(w);
}

static void print_replay_json(const struct rebuilt *c, const char *verdict)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, 64u * 1024 * 1024);
    jw_object(&w);
    jw_kstr(&w, "runId", c->run_id);
    jw_kint(&w, "iteration", c->iteration);
    jw_kstr(&w, "model", c->model);
    jw_kstr(&w, "verdict", str_from(verdict));
    jw_kstr(&w, "recordedSha256", c->recorded_sha256);
    jw_kstr(&w, "rebuiltSha256", str_from(c->rebuilt_sha256));
    if (c->ndifferences > 0)
        write_differences(&w, c);
    if (c->why.n > 0)
        jw_kstr(&w, "why", c->why);
    jw_end(&w);
    printf("%s\n", buf_cstr(&b));
    buf_done(&b);
}

/* "was 120 bytes" when only an outline is stored, the value itself when it was short. */
static void print_was(str was)
{
    ptrdiff_t bytes = str_starts(str_trim(was), STR("#")) ? str_find_char(was, '/') : -1;
    if (was.n == 0)
        printf("was not there");
    else if (bytes >= 0)
        printf("was a different text of %.*s bytes", STR_ARG(str_skip(was, (size_t)bytes + 1)));
    else
        printf("was %.*s", STR_ARG(was));
}

static void print_difference(const struct outline_difference *d)
{
    printf("    %.*s ", STR_ARG(d->part));
    print_was(d->was);
    if (d->now.n == 0) {
        printf("%s\n", str_starts(d->part, STR("the first")) ? "" : ", is not there now");
        return;
    }
    str shown = utf8_truncate(d->now, SHOWN_MAX);
    printf(", is now (%zu bytes)\n        %.*s%s\n", d->now.n, STR_ARG(shown),
           shown.n < d->now.n ? " ..." : "");
}

static void print_text(const struct rebuilt *c, const char *verdict)
{
    bool is_different = c->verdict == REBUILD_DIFFERENT;
    printf("%.*s step %-2d %-9s %4zu messages  %.12s", STR_ARG(c->run_id), c->iteration, verdict,
           c->nmessages, c->rebuilt_sha256);
    if (is_different)
        printf(" was %.12s", c->recorded_sha256.p);
    printf("%s%.*s\n", c->why.n > 0 ? "  " : "", STR_ARG(c->why));
    for (size_t i = 0; i < c->ndifferences; i++)
        print_difference(&c->differences[i]);
}

static void on_rebuilt(void *ctx, const struct rebuilt *c)
{
    static const char *const WORDS[] = {"equal", "DIFFERENT", "unknown"};
    struct replaying *r = ctx;
    r->calls++;
    r->equal += c->verdict == REBUILD_EQUAL;
    r->different += c->verdict == REBUILD_DIFFERENT;
    r->unknown += c->verdict == REBUILD_UNKNOWN;
    if (r->cli->opt.is_json) {
        print_replay_json(c, WORDS[c->verdict]);
        return;
    }
    print_text(c, WORDS[c->verdict]);
    if (r->opt->with_bodies && c->body.n > 0)
        printf("%.*s\n", STR_ARG(c->body));
}

static void on_latest(void *ctx, const struct err *err, const struct store_listing *list)
{
    struct replaying *r = ctx;
    if (err)
        r->err = *err;
    else if (list->n == 0)
        err_set(&r->err, -ENOENT, "no conversations yet");
    else
        r->id = arena_str(&r->arena, list->convs[0].id);
    r->is_found = true;
}

/* `latest` is the conversation that changed last, as for nb conv. */
static int find_latest(struct replaying *r)
{
    struct store_query q = {.limit = 1};
    if (!str_eq(r->id, STR("latest")))
        return 0;
    (void)store_list(server_store(r->server), &q, on_latest, r);
    while (!r->is_found)
        (void)loop_run_until(r->loop, &r->is_found, UINT32_MAX);
    return r->err.code;
}

static int replay(struct replaying *r)
{
    if (find_latest(r) < 0 || read_log(r) < 0)
        return cli_fail(&r->err);
    rebuild_requests(server_llm(r->server), r->lines, r->n, get_blob, on_rebuilt, r);
    if (!r->cli->opt.is_json)
        printf("%zu model calls: %zu equal, %zu different, %zu unknown\n", r->calls, r->equal,
               r->different, r->unknown);
    return r->different > 0 ? EXIT_FAILED : EXIT_DONE;
}

static int run_replay(struct cli *cli, const void *options, int argc, char **argv)
{
    struct config c;
    struct err e = {0};
    struct server_options opt = {.needs_home = true};
    if (argc != 1)
        return cli_usage_error("replay: name one conversation");
    int code = cli_load_config(cli, NULL, &c);
    if (code != EXIT_DONE)
        return code;
    opt.workspace_id = c.workspace;
    struct logger *log = cli_logger(cli, &c, LOG_WARN, NULL);
    struct replaying r = {
        .cli = cli, .opt = options, .loop = loop_new(log), .id = str_from(argv[0])};
    arena_init(&r.arena);
    if (server_new(r.loop, log, &c, &opt, &r.server, &e) < 0) {
        code = cli_fail(&e);
    } else {
        code = replay(&r);
        server_close(r.server, 0);
    }
    free(r.lines);
    arena_done(&r.arena);
    loop_free(r.loop);
    logger_free(log);
    config_done(&c);
    return code;
}

const struct command CMD_REPLAY = {
    .name = "replay",
    .usage = "replay ID [--bodies] [--json]",
    .summary = "rebuild the requests of a conversation, compare",
    .help = "For ID, `latest` is the conversation that changed last. Sends nothing. Rebuilds every "
            "model call from the log alone, and compares its "
            "checksum with that of the request that was sent. Shows the parts that differ, and "
            "exits with 1 then.\n",
    .args = ARGS,
    .options_size = sizeof(struct replay_options),
    .run = run_replay,
};
