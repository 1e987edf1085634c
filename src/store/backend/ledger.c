/* ledger.c - the usage and cost of deleted conversations.
 *
 * Before a conversation is deleted, the figures of its model calls are appended to the ledger, one
 * JSON line each: time, model, tokens, user. In a store of files the ledger is
 * <dir>/.deleted-usage. It holds no text of the conversation. The usage of a restored conversation
 * is in its log again: readers of the ledger must ignore ids that exist, and for an id that was
 * deleted several times all deletions except the last. Memory stores have no ledger. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json/json_scan.h"
#include "base/map.h"
#include "store/backend/backend.h"
#include "store/event/derive.h"
#include "store/event/io.h"

#define LINES_MAX (16u * 1024 * 1024) /* of one conversation */

static const char *ledger_path(const struct store *s, struct arena *a)
{
    return arena_printf(a, "%s/.deleted-usage", s->conf.dir).p;
}

struct gathering {
    struct store_op *op;
    struct derive derive; /* the header, for owner and fork */
    struct map runs;      /* run id -> user id */
    struct arena scratch;
    int64_t now_ms;
    struct buf out;
};

static str user_of(const struct gathering *g, const struct json *event)
{
    str run = json_get_string(event, "runId");
    const char *user = run.n > 0 ? map_get(&g->runs, run) : NULL;
    return user ? str_from(user) : g->derive.conv.acl.owner_id;
}

static void write_figures(struct json_writer *w, const struct json *v)
{
    struct conv_usage u;
    derive_usage(v, &u);
    jw_kstr(w, "model", json_get_string(v, "model"));
    conv_usage_write(w, &u);
    if (json_get_bool(v, "estimated", false))
        jw_kbool(w, "estimated", true);
    if (json_get(v, "costUsd"))
        jw_kval(w, "costUsd", json_get(v, "costUsd"));
}

/* `event` has the time and the run, `figures` the tokens. */
static void keep_call(struct gathering *g, const struct json *event, const struct json *figures)
{
    struct json_writer w;
    char iso[CLOCK_ISO_LEN + 1];
    int64_t ms;
    const struct conv *c = &g->derive.conv;
    if (!event_time(event, &ms) || derive_is_copied(c->forked_from, c->created_at, event))
        return;
    clock_iso(ms, iso);
    jw_init(&w, &g->out);
    jw_object(&w);
    jw_kstr(&w, "ts", str_from(iso));
    jw_kstr(&w, "conversationId", g->op->id);
    jw_kint(&w, "deletedAt", g->now_ms);
    jw_kstr(&w, "ownerId", c->acl.owner_id);
    jw_kstr(&w, "userId", user_of(g, event));
    write_figures(&w, figures);
    jw_end(&w);
    buf_add_char(&g->out, '\n');
}

static void keep_event(struct gathering *g, enum event_type type, const struct json *v)
{
    str run = json_get_string(v, "runId"), user = json_get_string(v, "userId");
    const struct json *meta = json_get(v, "metadata");
    bool is_child = str_eq(json_get_string(v, "source"), STR("delegate")); /* has its own log */
    if (type == EV_RUN_START && run.n > 0 && user.n > 0)
        map_put(&g->runs, run, arena_cstr(&g->op->arena, user));
    else if (type == EV_LLM_RESPONSE || (type == EV_AUX_USAGE && !is_child))
        keep_call(g, v, v);
    else if (type == EV_LEGACY_MESSAGE && json_is(meta, JSON_OBJECT) &&
             str_eq(json_get_string(v, "role"), STR("assistant")))
        keep_call(g, v, meta);
}

static bool on_ledger_line(void *ctx, str line, store_pos end)
{
    struct gathering *g = ctx;
    struct event_head head;
    struct json *v;
    if (!g->derive.has_header) {
        derive_line(&g->derive, line, end);
        return true;
    }
    bool is_known = event_scan(line, &head);
    if (is_known && (head.type == EV_RUN_START || head.type == EV_LLM_RESPONSE ||
                     head.type == EV_AUX_USAGE || head.type == EV_LEGACY_MESSAGE)) {
        if (json_parse(&g->scratch, line, 0, &v, NULL) == 0)
            keep_event(g, head.type, v);
        arena_reset(&g->scratch);
    }
    return true;
}

static int append(const char *path, str lines)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int r = 0;
    while (r == 0 && lines.n > 0) {
        ssize_t n = write(fd, lines.p, lines.n);
        if (n < 0 && errno != EINTR)
            r = -errno;
        lines = str_skip(lines, n > 0 ? (size_t)n : 0);
    }
    if (r == 0 && fdatasync(fd) < 0)
        r = -errno;
    close(fd);
    return r;
}

int ledger_file_add(struct store *s, str lines, struct err *e)
{
    struct arena a;
    arena_init(&a);
    const char *path = ledger_path(s, &a);
    int r = append(path, lines);
    if (r < 0)
        err_errno(e, r, "cannot write", path);
    arena_done(&a);
    return r;
}

void ledger_keep(struct store_op *op)
{
    const struct store_ops *ops = op->store->ops;
    struct gathering g = {.op = op, .now_ms = clock_now_ms()};
    struct err e = {0};
    if (!ops->ledger_add)
        return;
    derive_init(&g.derive, op->store->env);
    map_init(&g.runs);
    arena_init(&g.scratch);
    buf_init(&g.out, LINES_MAX);
    int r = ops->scan(op->store, op->id, on_ledger_line, &g, &e);
    if (r >= 0 && g.out.n > 0)
        r = ops->ledger_add(op->store, buf_str(&g.out), &e);
    if (r < 0)
        log_warn(op->store->env->log, "store", "cannot record the usage of deleted %.*s: %s",
                 STR_ARG(op->id), e.msg);
    buf_done(&g.out);
    arena_done(&g.scratch);
    map_done(&g.runs);
    derive_done(&g.derive);
}

/* At most LEDGER_PAGE bytes from `at` on, up to the end of a line. */
static str read_ledger_page(struct arena *a, int fd, off_t at)
{
    char *bytes = arena_alloc(a, LEDGER_PAGE);
    size_t got = 0;
    for (ssize_t n = 1; n > 0 && got<LEDGER_PAGE; got += n> 0 ? (size_t)n : 0)
        n = pread(fd, bytes + got, LEDGER_PAGE - got, at + (off_t)got);
    ptrdiff_t last = str_rfind_char(str_make(bytes, got), '\n');
    return str_make(bytes, last < 0 ? 0 : (size_t)last + 1);
}

int ledger_file_page(struct store *s, uint64_t after, struct arena *a, str *ret, struct err *e)
{
    const char *path = ledger_path(s, a);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *ret = STR_NONE;
    if (fd < 0)
        return errno == ENOENT ? 0 : err_errno(e, -errno, "cannot read", path);
    *ret = read_ledger_page(a, fd, (off_t)after);
    close(fd);
    return 0;
}

void ledger_read(struct store_op *op)
{
    struct store *s = op->store;
    if (s->ops->ledger_page)
        s->ops->ledger_page(s, op->in.range.after, &op->arena, &op->out.blob, &op->err);
}

/* ---- from one store to another ---- */

struct ledger_copy {
    struct map there; /* "id deletedAt" -> how many lines the target has of this deletion */
    struct map seen;  /* the same of the source, so far */
    struct arena arena;
    struct buf missing;
    int64_t n;
};

typedef void (*ledger_line_fn)(struct ledger_copy *c, str line);

static int64_t *lines_of(struct ledger_copy *c, struct map *m, str line)
{
    char key[STORE_ID_MAX + 64];
    str id = json_scan_plain(json_scan_field(line, STR("conversationId")));
    str at = json_scan_field(line, STR("deletedAt"));
    int n = snprintf(key, sizeof key, "%.*s %.*s", STR_ARG(id), STR_ARG(at));
    str name = str_make(key, n > 0 && (size_t)n < sizeof key ? (size_t)n : 0);
    int64_t *count = map_get(m, name);
    if (!count) {
        count = ARENA_NEW(&c->arena, int64_t);
        map_put(m, name, count);
    }
    return count;
}

static void count_there(struct ledger_copy *c, str line)
{
    ++*lines_of(c, &c->there, line);
}

/* A copy that was interrupted has the first lines of a deletion. */
static void keep_missing(struct ledger_copy *c, str line)
{
    if (++*lines_of(c, &c->seen, line) <= *lines_of(c, &c->there, line))
        return;
    buf_add_str(&c->missing, line);
    buf_add_char(&c->missing, '\n');
    c->n++;
}

/* Calls fn for each line; then adds what is missing to the target, page by page. */
static int each_ledger_line(struct ledger_copy *c, struct store *from, ledger_line_fn fn,
                            struct store *to, struct err *e)
{
    uint64_t after = 0;
    for (;;) {
        struct arena page;
        str lines = STR_NONE, line;
        arena_init(&page);
        int r = from->ops->ledger_page(from, after, &page, &lines, e);
        after += lines.n;
        bool is_over = r < 0 || lines.n == 0;
        while (!is_over && str_split(&lines, '\n', &line))
            if (line.n > 0)
                fn(c, line);
        arena_done(&page);
        if (r == 0 && c->missing.n > 0)
            r = to->ops->ledger_add(to, buf_str(&c->missing), e);
        buf_clear(&c->missing);
        if (is_over || r < 0)
            return r;
    }
}

int store_copy_deleted_usage(struct store *from, struct store *to, int64_t *ret_n, struct err *e)
{
    struct ledger_copy c = {0};
    *ret_n = 0;
    if (!from->ops->ledger_page || !to->ops->ledger_page)
        return 0;
    map_init(&c.there);
    map_init(&c.seen);
    arena_init(&c.arena);
    buf_init(&c.missing, LINES_MAX + LEDGER_PAGE);
    int r = each_ledger_line(&c, to, count_there, NULL, e);
    if (r == 0)
        r = each_ledger_line(&c, from, keep_missing, to, e);
    *ret_n = r == 0 ? c.n : 0;
    buf_done(&c.missing);
    arena_done(&c.arena);
    map_done(&c.seen);
    map_done(&c.there);
    return r;
}
