#include "workspace/notices.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"
#include "os/file.h"

#define FILE_MAX (16u * 1024 * 1024)

static const char *const KINDS[] = {
    [NOTICE_MENTION] = "mention", [NOTICE_ADDED] = "added", [NOTICE_REMOVED] = "removed"};

const char *notice_kind_name(enum notice_kind kind)
{
    return KINDS[kind];
}

struct notice_list {
    str user_id;
    struct person_notice items[NOTICES_EACH]; /* the oldest first; their strings are owned */
    size_t n;
};

struct notice_call { /* a change or a reading of the document of a person; shared lists only */
    struct list_node node;
    struct notices *notices;
    struct job job;
    struct arena arena;
    str user_id, path;
    struct person_notice *added; /* or NULL */
    bool is_forgotten;           /* the whole document */
    bool is_seen;                /* those of conversation_id, or all */
    str conversation_id;
    struct notice_list result;
    struct err err;
    struct notices_wait *wait; /* or NULL */
    bool is_cancelled;
};

struct notices {
    struct pool *pool;
    struct logger *log;
    char *path;                   /* NULL: shared */
    struct document_table *table; /* or NULL */
    char *workspace_id;
    struct list_node calls; /* struct notice_call; the first is with the pool thread */
    struct map people;      /* user id -> struct notice_list */
    bool is_writing, is_changed, is_closing;
    char *text; /* of the job */
    struct err err;
    struct job job;
};

/* ---- the lists ---- */

static str notice_text(str s)
{
    return str_make(str_dup(s), s.n);
}

static void drop_notice(struct notice_list *p, size_t i)
{
    assert(i < p->n);
    free((char *)p->items[i].conversation_id.p);
    free((char *)p->items[i].by.p);
    p->n--;
    memmove(&p->items[i], &p->items[i + 1], (p->n - i) * sizeof p->items[0]);
}

static void clear_list(struct notice_list *p)
{
    while (p->n > 0)
        drop_notice(p, p->n - 1);
}

static void put_in_list(struct notice_list *p, const struct person_notice *notice)
{
    for (size_t i = p->n; i > 0; i--)
        if (p->items[i - 1].kind == notice->kind &&
            str_eq(p->items[i - 1].conversation_id, notice->conversation_id))
            drop_notice(p, i - 1);
    if (p->n == NOTICES_EACH)
        drop_notice(p, 0);
    struct person_notice *kept = &p->items[p->n++];
    *kept = *notice;
    kept->conversation_id = notice_text(notice->conversation_id);
    kept->by = notice_text(notice->by);
}

/* False: nothing has changed. */
static bool mark_in_list(struct notice_list *p, str conversation_id)
{
    bool has_changed = false;
    for (size_t i = 0; i < p->n; i++) {
        struct person_notice *one = &p->items[i];
        bool is_meant = conversation_id.n == 0 || str_eq(one->conversation_id, conversation_id);
        has_changed |= is_meant && !one->is_seen;
        one->is_seen |= is_meant;
    }
    return has_changed;
}

static struct notice_list *person_of(struct notices *n, str user_id)
{
    struct notice_list *p = map_get(&n->people, user_id);
    if (p || user_id.n == 0 || map_len(&n->people) >= NOTICES_PEOPLE)
        return p;
    p = xcalloc(1, sizeof *p);
    p->user_id = notice_text(user_id);
    map_put(&n->people, p->user_id, p);
    return p;
}

static bool put(struct notices *n, str user_id, const struct person_notice *notice)
{
    struct notice_list *p = person_of(n, user_id);
    if (!p)
        return false;
    put_in_list(p, notice);
    return true;
}

/* ---- the file ---- */

static void write_list(struct json_writer *w, const struct notice_list *p)
{
    jw_array(w);
    for (size_t i = p ? p->n : 0; i > 0; i--) {
        const struct person_notice *one = &p->items[i - 1];
        char at[CLOCK_ISO_LEN + 1];
        clock_iso(one->at_ms, at);
        jw_object(w);
        jw_kcstr(w, "kind", KINDS[one->kind]);
        jw_kstr(w, "conversationId", one->conversation_id);
        jw_kstr(w, "by", one->by);
        jw_kstr(w, "timestamp", str_from(at));
        jw_kbool(w, "seen", one->is_seen);
        jw_end(w);
    }
    jw_end(w);
}

static char *render(struct notices *n)
{
    struct buf b;
    struct json_writer w;
    struct map_entry *e;
    jw_start(&w, &b, FILE_MAX);
    jw_object(&w);
    for (size_t i = 0; (e = map_next(&n->people, &i)) != NULL;) {
        jw_key_str(&w, e->key);
        write_list(&w, e->value);
    }
    jw_end(&w);
    char *text = buf_failed(&b) ? NULL : str_dup(buf_str(&b));
    buf_done(&b);
    return text;
}

static void write_notices(struct job *j) /* pool thread */
{
    struct notices *n = CONTAINER_OF(j, struct notices, job);
    if (n->text)
        (void)file_write_atomic(n->path, str_from(n->text), 0600, &n->err);
    else
        err_set(&n->err, -EFBIG, "more than %u bytes", FILE_MAX);
}

static void free_list(struct notice_list *p)
{
    clear_list(p);
    free((char *)p->user_id.p);
    free(p);
}

static void free_all(struct notices *n)
{
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&n->people, &i)) != NULL;)
        free_list(e->value);
    map_done(&n->people);
    free(n->path);
    free(n->workspace_id);
    free(n);
}

static void save(struct notices *n);

static void on_notices_written(struct job *j)
{
    struct notices *n = CONTAINER_OF(j, struct notices, job);
    free(n->text);
    n->text = NULL;
    n->is_writing = false;
    if (n->err.code < 0)
        log_error(n->log, "workspace", "notices are not saved: %s: %s", n->path, n->err.msg);
    if (n->is_changed)
        save(n);
    else if (n->is_closing)
        free_all(n);
}

static void save(struct notices *n)
{
    n->is_changed = n->is_writing; /* once more, with what has changed meanwhile */
    if (n->is_writing)
        return;
    n->is_writing = true;
    n->err = (struct err){0};
    n->text = render(n);
    pool_run(n->pool, &n->job, write_notices, on_notices_written);
}

static void read_list(struct notice_list *p, const struct json *list)
{
    for (size_t i = json_is(list, JSON_ARRAY) ? list->len : 0; i > 0; i--) {
        const struct json *v = &list->items[i - 1];
        ptrdiff_t kind = STR_INDEX(json_get_string(v, "kind"), KINDS);
        struct person_notice one = {.conversation_id = json_get_string(v, "conversationId"),
                                    .by = json_get_string(v, "by"),
                                    .is_seen = json_get_bool(v, "seen", false)};
        if (kind < 0 || clock_parse_iso(json_get_string(v, "timestamp"), &one.at_ms) < 0)
            continue; /* of a later version */
        one.kind = (enum notice_kind)kind;
        put_in_list(p, &one);
    }
}

static int load(struct notices *n, struct arena *a, struct err *e)
{
    str text;
    struct json *doc;
    if (!file_exists(n->path))
        return 0;
    int r = file_read(a, n->path, FILE_MAX, &text, e);
    if (r == 0)
        r = json_parse(a, text, 0, &doc, e);
    for (size_t i = 0; r == 0 && json_is(doc, JSON_OBJECT) && i < doc->len; i++) {
        struct notice_list *p = person_of(n, doc->members[i].key);
        if (p)
            read_list(p, &doc->members[i].value);
    }
    return r;
}

/* ---- documents of several servers ---- */

static str list_text(struct arena *a, const struct notice_list *p)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, FILE_MAX);
    write_list(&w, p);
    return buf_keep(&b, a);
}

static void read_notices(struct notice_call *x, struct arena *a, str text)
{
    struct json *doc;
    clear_list(&x->result);
    if (text.n > 0 && json_parse(a, text, 0, &doc, NULL) == 0)
        read_list(&x->result, doc);
}

static int edit_notices(void *ctx, struct arena *a, str old, str *ret, struct err *e)
{
    struct notice_call *x = ctx;
    read_notices(x, a, old);
    if (x->is_forgotten) {
        clear_list(&x->result);
        *ret = STR_NONE;
        return 0;
    }
    if (x->added)
        put_in_list(&x->result, x->added);
    if (x->is_seen)
        (void)mark_in_list(&x->result, x->conversation_id);
    *ret = list_text(a, &x->result);
    return 0;
}

static void call_work(struct job *j) /* pool thread */
{
    struct notice_call *x = CONTAINER_OF(j, struct notice_call, job);
    struct notices *n = x->notices;
    str workspace_id = str_from(n->workspace_id), text;
    const struct document_change change = {
        .workspace_id = workspace_id, .path = x->path, .edit = edit_notices, .ctx = x};
    if (x->added || x->is_seen || x->is_forgotten)
        (void)n->table->change(n->table, &change, &x->err);
    else if (n->table->read(n->table, &x->arena, workspace_id, x->path, &text, &x->err) == 0)
        read_notices(x, &x->arena, text);
}

static void call_done(struct job *j);

static void next_call(struct notices *n)
{
    if (!list_empty(&n->calls)) {
        struct notice_call *x = LIST_ENTRY(n->calls.next, struct notice_call, node);
        pool_run(n->pool, &x->job, call_work, call_done);
    } else if (n->is_closing) {
        free_all(n);
    }
}

/* The copy in memory, which notices_write shows. */
static void keep_result(struct notices *n, struct notice_call *x)
{
    struct notice_list *p = person_of(n, x->user_id);
    if (!p || x->err.code < 0)
        return;
    clear_list(p);
    memcpy(p->items, x->result.items, x->result.n * sizeof p->items[0]);
    p->n = x->result.n;
    x->result.n = 0;
}

static void call_done(struct job *j)
{
    struct notice_call *x = CONTAINER_OF(j, struct notice_call, job);
    struct notices *n = x->notices;
    struct notices_wait *w = x->is_cancelled ? NULL : x->wait;
    if (x->err.code < 0 && !x->wait)
        log_error(n->log, "workspace", "a notice is not stored: %s", x->err.msg);
    keep_result(n, x);
    list_del(&x->node);
    if (w) {
        w->is_over = NULL;
        w->fn(w->ctx, x->err.code < 0 ? &x->err : NULL);
    }
    clear_list(&x->result);
    arena_done(&x->arena);
    free(x);
    next_call(n);
}

static struct notice_call *call_begin(struct notices *n, str user_id)
{
    struct notice_call *x = xcalloc(1, sizeof *x);
    x->notices = n;
    arena_init(&x->arena);
    x->user_id = arena_str(&x->arena, user_id);
    x->path = arena_printf(&x->arena, "notices/%.*s", STR_ARG(user_id));
    return x;
}

static void call_push(struct notices *n, struct notice_call *x)
{
    bool is_first = list_empty(&n->calls);
    list_push(&n->calls, &x->node);
    if (is_first)
        next_call(n);
}

/* ---- calls ---- */

struct notices *notices_new(struct pool *pool, struct logger *log, const char *path)
{
    struct notices *n = xcalloc(1, sizeof *n);
    struct err e = {0};
    struct arena a;
    n->pool = pool;
    n->log = log;
    n->path = str_dup(str_from(path));
    list_init(&n->calls);
    map_init(&n->people);
    arena_init(&a);
    if (load(n, &a, &e) < 0)
        log_warn(log, "workspace", "notices are not read: %s: %s", path, e.msg);
    arena_done(&a);
    return n;
}

struct notices *notices_new_shared(struct pool *pool, struct logger *log, struct document_table *t,
                                   str workspace_id)
{
    struct notices *n = xcalloc(1, sizeof *n);
    n->pool = pool;
    n->log = log;
    n->table = t;
    n->workspace_id = str_dup(workspace_id);
    list_init(&n->calls);
    map_init(&n->people);
    return n;
}

void notices_free(struct notices *n)
{
    if (n && (n->is_writing || !list_empty(&n->calls)))
        n->is_closing = true;
    else if (n)
        free_all(n);
}

bool notices_add(struct notices *n, str user_id, const struct person_notice *notice)
{
    assert(!n->is_closing);
    bool is_put = put(n, user_id, notice);
    if (!is_put)
        return false;
    if (!n->table) {
        save(n);
        return true;
    }
    struct notice_call *x = call_begin(n, user_id);
    x->added = ARENA_NEW(&x->arena, struct person_notice);
    *x->added = *notice;
    x->added->conversation_id = arena_str(&x->arena, notice->conversation_id);
    x->added->by = arena_str(&x->arena, notice->by);
    call_push(n, x);
    return true;
}

void notices_mark_seen(struct notices *n, str user_id, str conversation_id)
{
    struct notice_list *p = map_get(&n->people, user_id);
    bool has_changed = p && mark_in_list(p, conversation_id);
    if (n->table && user_id.n > 0) { /* other servers may have more of them */
        struct notice_call *x = call_begin(n, user_id);
        x->is_seen = true;
        x->conversation_id = arena_str(&x->arena, conversation_id);
        call_push(n, x);
    } else if (has_changed) {
        save(n);
    }
}

void notices_await(struct notices *n, str user_id, struct notices_wait *w)
{
    w->is_over = NULL;
    if (!n->table || user_id.n == 0) {
        w->fn(w->ctx, NULL);
        return;
    }
    struct notice_call *x = call_begin(n, user_id);
    x->wait = w;
    w->is_over = &x->is_cancelled;
    call_push(n, x);
}

void notices_cancel(struct notices_wait *w)
{
    if (w->is_over)
        *w->is_over = true;
    w->is_over = NULL;
}

void notices_write(const struct notices *n, str user_id, struct json_writer *w)
{
    write_list(w, map_get(&n->people, user_id));
}

void notices_forget(struct notices *n, str user_id)
{
    struct notice_list *p = map_del(&n->people, user_id);
    if (p)
        free_list(p);
    if (n->table && user_id.n > 0) { /* this server may not have read it */
        struct notice_call *x = call_begin(n, user_id);
        x->is_forgotten = true;
        call_push(n, x);
    } else if (p) {
        save(n);
    }
}

void notices_retain(struct notices *n, notices_member_fn is_member, const void *ctx)
{
    struct arena a;
    struct map_entry *e;
    arena_init(&a);
    str *gone = arena_array(&a, map_len(&n->people) + 1, sizeof *gone);
    size_t ngone = 0;
    for (size_t i = 0; (e = map_next(&n->people, &i)) != NULL;)
        if (!is_member(ctx, e->key))
            gone[ngone++] = arena_str(&a, e->key);
    for (size_t i = 0; i < ngone; i++)
        notices_forget(n, gone[i]);
    arena_done(&a);
}
