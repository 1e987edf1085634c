/* nb replay - rebuilds the requests of a conversation and compares them with those that were
 * sent. */
#include <assert.h>
#include <errno.h>

#include "base/utf8.h"
#include "cli/command.h"
#include "runtime/rebuild.h"
#include "server/server.h"

#define SHOWN_MAX 600 /* printed bytes of a part that differs */

static const struct arg ARGS[] = {
    {"bodies", 0, ARG_FLAG, NULL, "print the requests that would be sent"}, {0}};

struct replaying {
    struct cmd *x;
    struct server *server;
    str id;
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

static void on_replay_page(void *ctx, const struct err *err, const struct store_page *page)
{
    struct replaying *r = ctx;
    r->is_done = true;
    if (err) {
        r->err = *err;
        return;
    }
    for (size_t i = 0; i < page->n; i++) {
        if (r->n == r->cap) {
            r->cap = r->cap ? 2 * r->cap : 256;
            r->lines = xrealloc(r->lines, r->cap * sizeof *r->lines);
        }
        r->lines[r->n++] = arena_str(&r->x->arena, page->events[i].line);
        r->next = page->events[i].pos;
    }
    r->is_at_end = page->reached_end;
}

static int read_log(struct replaying *r)
{
    while (!r->is_at_end) {
        struct store_range range = {.after = r->next, .with_blobs = true, .with_files = true};
        r->is_done = false;
        store_read(server_store(r->server), r->id, &range, on_replay_page, r);
        cmd_wait(r->x, &r->is_done);
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
    assert(!r->is_done && r->blob_arena);
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
    store_get_shared(server_store(r->server), r->id, sha256, on_blob, r);
    cmd_wait(r->x, &r->is_done);
    *ret = r->blob;
    return e->code;
}

/* ---- printing ---- */

static struct json differences_json(struct cmd *x, const struct rebuilt *c)
{
    struct json *list = json_new(&x->arena, JSON_ARRAY);
    for (size_t i = 0; i < c->ndifferences; i++) {
        const struct outline_difference *d = &c->differences[i];
        json_push(&x->arena, list,
                  *cmd_object(x, {STR("part"), json_of_str(d->part)},
                              {STR("was"), cmd_str_or_null(d->was)},
                              {STR("now"), cmd_str_or_null(d->now)}));
    }
    return *list;
}

static struct json *replay_json(struct cmd *x, const struct rebuilt *c, const char *verdict)
{
    struct json *v = cmd_object(
        x, {STR("runId"), json_of_str(c->run_id)}, {STR("iteration"), json_of_int(c->iteration)},
        {STR("model"), json_of_str(c->model)}, {STR("verdict"), json_of_str(str_from(verdict))},
        {STR("recordedSha256"), json_of_str(c->recorded_sha256)},
        {STR("rebuiltSha256"), json_of_str(str_from(c->rebuilt_sha256))});
    if (c->ndifferences > 0)
        json_set(&x->arena, v, STR("differences"), differences_json(x, c));
    if (c->why.n > 0)
        json_set(&x->arena, v, STR("why"), json_of_str(c->why));
    return v;
}

/* "was 120 bytes" when only an outline is stored, the value itself when it was short. */
static void print_was(str was)
{
    ptrdiff_t bytes = str_starts(str_trim(was), STR("#")) ? str_find_char(was, '/') : -1;
    if (was.n == 0)
        printf("did not exist");
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
        printf("%s\n", str_starts(d->part, STR("the first")) ? "" : ", does not exist now");
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
    if (r->x->cli->opt.is_json) {
        cmd_print_json(replay_json(r->x, c, WORDS[c->verdict]));
        return;
    }
    print_text(c, WORDS[c->verdict]);
    if (cmd_flag(r->x, "bodies") && c->body.n > 0)
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
        r->id = arena_str(&r->x->arena, list->convs[0].id);
    r->is_found = true;
}

/* `latest` is the conversation that changed last, as for nb conv. */
static int find_latest(struct replaying *r)
{
    struct store_query q = {.limit = 1};
    if (!str_eq(r->id, STR("latest")))
        return 0;
    (void)store_list(server_store(r->server), &q, on_latest, r);
    cmd_wait(r->x, &r->is_found);
    return r->err.code;
}

static int replay(struct replaying *r)
{
    if (find_latest(r) < 0 || read_log(r) < 0)
        return cli_fail(&r->err);
    rebuild_requests(server_llm(r->server), r->lines, r->n, get_blob, on_rebuilt, r);
    if (!r->x->cli->opt.is_json)
        printf("%zu model call%s: %zu equal, %zu different, %zu unknown\n", r->calls,
               r->calls == 1 ? "" : "s", r->equal, r->different, r->unknown);
    return r->different > 0 ? EXIT_FAILED : EXIT_DONE;
}

static int run_replay(struct cmd *x)
{
    struct err e = {0};
    struct server_options opt = {.needs_home = true, .workspace_id = x->config.workspace};
    struct replaying r = {.x = x, .id = str_from(x->argv[0])};
    x->log = cli_logger(x->cli, &x->config, LOG_WARN, NULL);
    x->loop = loop_new(x->log);
    if (server_new(x->loop, x->log, &x->config, &opt, &r.server, &e) < 0)
        return cli_fail(&e);
    int code = replay(&r);
    server_close(r.server, 0);
    free(r.lines);
    return code;
}

const struct command CMD_REPLAY = {
    .name = "replay",
    .operands = "ID",
    .summary = "rebuild and compare the requests of a conversation",
    .help = "For ID, `latest` is the conversation that changed last. Sends nothing. Rebuilds every "
            "model call from the log alone, and compares its "
            "checksum with that of the request that was sent. Shows the parts that differ, and "
            "exits with 1 if there are any.\n",
    .args = ARGS,
    .needs = NEEDS_SETTINGS,
    .run = run_replay,
};
