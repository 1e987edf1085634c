/* store.c - the calls: check, copy what was given, hand over, publish, answer. */
#include "store/store.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>

#include "base/clock.h"
#include "base/json_scan.h"
#include "base/random.h"
#include "base/utf8.h"
#include "store/backend.h"

enum { ID_SUFFIX_MAX = 64, TITLE_MAX = 1000, NOTE_MAX = 64 * 1024 };

static const struct store_ops *const BACKENDS[] = {&store_jsonl_ops, &store_memory_ops};

static bool is_id_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-';
}

bool store_id_valid(str id)
{
    size_t word = 0;
    while (word < id.n && id.p[word] >= 'a' && id.p[word] <= 'z')
        word++;
    if (word == 0 || word >= id.n || id.p[word] != '_' || id.n > STORE_ID_MAX)
        return false;
    str rest = str_skip(id, word + 1);
    if (rest.n < 1 || rest.n > ID_SUFFIX_MAX)
        return false;
    for (size_t i = 0; i < rest.n; i++) {
        if (!is_id_char(rest.p[i]))
            return false;
    }
    return true;
}

/* ---- opening and closing ---- */

static const char *own(const char *s)
{
    return s ? str_dup(str_from(s)) : NULL;
}

static void store_free(struct store *s)
{
    const char *owned[] = {s->conf.type, s->conf.dir, s->conf.cache_dir, s->conf.workspace_id};
    for (size_t i = 0; i < ARRAY_LEN(owned); i++)
        free((char *)owned[i]);
    free(s);
}

static void on_close(void *ctx)
{
    struct store *s = ctx;
    if (list_empty(&s->calls))
        s->ops->close(s);
}

int store_open(const struct store_env *env, const struct store_conf *conf, struct store **ret,
               struct err *e)
{
    const struct store_ops *ops = NULL;
    for (size_t i = 0; i < ARRAY_LEN(BACKENDS); i++) {
        if (strcmp(BACKENDS[i]->type, conf->type) == 0)
            ops = BACKENDS[i];
    }
    if (!ops)
        return err_set(e, -EINVAL, "store.type: there is no store \"%s\"", conf->type);
    struct store *s = xcalloc(1, sizeof(*s));
    s->ops = ops;
    s->env = env;
    s->conf = *conf;
    s->conf.type = own(conf->type);
    s->conf.dir = own(conf->dir);
    s->conf.cache_dir = own(conf->cache_dir);
    s->conf.workspace_id = own(conf->workspace_id);
    list_init(&s->calls);
    defer_init(&s->closing, on_close, s);
    int r = ops->open(s, e);
    if (r < 0)
        store_free(s);
    else
        *ret = s;
    return r;
}

void store_close(struct store *s, loop_fn done, void *ctx)
{
    assert(!s->is_closing);
    s->is_closing = true;
    s->on_closed = done;
    s->on_closed_ctx = ctx;
    defer_start(s->env->loop, &s->closing);
}

void store_closed(struct store *s)
{
    loop_fn done = s->on_closed;
    void *ctx = s->on_closed_ctx;
    store_free(s);
    if (done)
        done(ctx);
}

const struct store_conf *store_conf(const struct store *s)
{
    return &s->conf;
}

str store_topic(struct arena *a, const struct store *s, str id)
{
    const char *ws = s->conf.workspace_id ? s->conf.workspace_id : "";
    return arena_printf(a, "conv/%s/%.*s", ws, STR_ARG(id));
}

/* ---- the life of a call ---- */

static void on_later(void *ctx)
{
    struct store_op *op = ctx;
    if (op->work) {
        void (*work)(struct store_op *) = op->work;
        op->work = NULL;
        work(op);
    }
    op_done(op);
}

struct store_op *op_new(struct store *s, str id, void (*answer)(struct store_op *op), void *ctx)
{
    assert(!s->is_closing);
    struct store_op *op = xcalloc(1, sizeof(*op));
    op->store = s;
    arena_init(&op->arena);
    op->id = arena_str(&op->arena, id);
    op->answer = answer;
    op->ctx = ctx;
    op->limit = UINT64_MAX;
    defer_init(&op->later, on_later, op);
    list_push(&s->calls, &op->node);
    return op;
}

void op_done(struct store_op *op)
{
    void (*step)(struct store_op *) = op->step;
    op->step = NULL;
    if (step && !op->err.code) {
        step(op);
        return;
    }
    if (!op->is_cancelled)
        op->answer(op);
    struct store *s = op->store;
    list_del(&op->node);
    arena_done(&op->arena);
    free(op);
    if (s->is_closing && list_empty(&s->calls))
        defer_start(s->env->loop, &s->closing);
}

void op_done_later(struct store_op *op)
{
    defer_start(op->store->env->loop, &op->later);
}

static void op_work(struct job *j)
{
    struct store_op *op = CONTAINER_OF(j, struct store_op, job);
    op->work(op);
}

static void op_worked(struct job *j)
{
    struct store_op *op = CONTAINER_OF(j, struct store_op, job);
    op->work = NULL;
    op_done(op);
}

void op_run(struct store_op *op, void (*work)(struct store_op *op))
{
    op->work = work;
    if (op->store->ops->is_inline) {
        op_done_later(op);
        return;
    }
    op->job = (struct job){.work = op_work, .done = op_worked};
    pool_submit(op->store->env->readers, &op->job);
}

void store_op_cancel(struct store_op *op)
{
    if (op)
        op->is_cancelled = true;
}

static const struct err *op_err(const struct store_op *op)
{
    return op->err.code ? &op->err : NULL;
}

/* Refuses what no backend should see. True: the call goes on. */
static bool op_check(struct store_op *op, bool is_write)
{
    if (!store_id_valid(op->id))
        err_set(&op->err, -ENOENT, "no such conversation: \"%.*s\" is not a conversation id",
                STR_ARG(utf8_truncate(op->id, STORE_ID_MAX)));
    else if (is_write && op->store->conf.read_only)
        err_set(&op->err, -EROFS, "the store is open for reading only");
    if (!op->err.code)
        return true;
    op_done_later(op);
    return false;
}

static void answer_conv(struct store_op *op)
{
    op->fn.conv(op->ctx, op_err(op), op->err.code ? NULL : op->out.conv);
}

static void then_get(struct store_op *op)
{
    op->store->ops->get(op);
}

/* ---- writing ---- */

static void publish(struct store_op *op, size_t first)
{
    str topic = store_topic(&op->arena, op->store, op->id);
    for (size_t i = first; i < op->nlines; i++) {
        str line = str_slice(op->lines[i], 0, op->lines[i].n - 1);
        struct bus_msg msg = {.topic = topic,
                              .type = json_scan_plain(json_scan_field(line, STR("type"))),
                              .data = line,
                              .pos = op->pos[i]};
        bus_publish(op->store->env->bus, &msg);
    }
}

static void copy_lines(struct store_op *op, const str *events, size_t n, size_t room)
{
    op->nlines = room + n;
    op->lines = arena_array(&op->arena, op->nlines + 1, sizeof(str));
    op->pos = arena_array(&op->arena, op->nlines + 1, sizeof(store_pos));
    for (size_t i = 0; i < n; i++)
        op->lines[room + i] = arena_str(&op->arena, events[i]);
}

static void created(struct store_op *op)
{
    publish(op, 1);
    then_get(op);
}

static void copy_spec(struct store_op *op, const struct conv_create *spec)
{
    struct conv_create *c = &op->in.create;
    *c = *spec;
    c->owner_id = arena_str(&op->arena, spec->owner_id);
    c->channel = arena_str(&op->arena, spec->channel);
    c->model = arena_str(&op->arena, spec->model);
    c->forked_from = arena_str(&op->arena, spec->forked_from);
    c->parent = spec->parent ? json_clone(&op->arena, spec->parent) : NULL;
    c->metadata = spec->metadata ? json_clone(&op->arena, spec->metadata) : NULL;
}

struct store_op *store_create(struct store *s, const struct conv_create *spec, store_conv_fn fn,
                              void *ctx)
{
    char fresh[RANDOM_ID_MAX];
    random_id("conv", fresh);
    struct store_op *op = op_new(s, spec->id.n ? spec->id : str_from(fresh), answer_conv, ctx);
    op->fn.conv = fn;
    copy_spec(op, spec);
    copy_lines(op, spec->events, spec->nevents, 1);
    op->in.create.events = op->lines + 1;
    op->step = created;
    if (op_check(op, true))
        s->ops->create(op);
    return op;
}

static void answer_append(struct store_op *op)
{
    if (op->err.code) {
        op->fn.append(op->ctx, &op->err, NULL, 0);
        return;
    }
    publish(op, 0);
    op->fn.append(op->ctx, NULL, op->pos, op->nlines);
}

struct store_op *store_append(struct store *s, str id, const str *events, size_t n,
                              store_append_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_append, ctx);
    op->fn.append = fn;
    copy_lines(op, events, n, 0);
    if (!op_check(op, true))
        return op;
    if (n == 0)
        op_done_later(op);
    else
        s->ops->append(op);
    return op;
}

/* Appends one or two lines of our own, then answers with what the conversation is now. */
static void appended(struct store_op *op)
{
    publish(op, 0);
    then_get(op);
}

static void append_own(struct store_op *op, const str *lines, size_t n)
{
    copy_lines(op, lines, n, 0);
    op->step = appended;
    op->store->ops->append(op);
}

static void append_buf(struct store_op *op, struct buf *b)
{
    str line = buf_str(b);
    append_own(op, &line, 1);
    buf_done(b);
}

static void title_checked(struct store_op *op)
{
    if (op->in.text.only_if_unset && op->out.conv->title.n) {
        op_done(op);
        return;
    }
    struct buf b;
    struct json_writer w;
    buf_init(&b, TITLE_MAX * 8);
    event_begin(&w, &b, EV_TITLE, clock_now_ms());
    jw_key(&w, "title");
    if (op->in.text.text.n)
        jw_str(&w, op->in.text.text);
    else
        jw_null(&w);
    if (op->in.text.only_if_unset)
        jw_kbool(&w, "auto", true);
    jw_end(&w);
    append_buf(op, &b);
}

struct store_op *store_set_title(struct store *s, str id, str title, bool only_if_unset,
                                 store_conv_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_conv, ctx);
    op->fn.conv = fn;
    op->in.text.text = arena_str(&op->arena, utf8_truncate(str_trim(title), TITLE_MAX));
    op->in.text.only_if_unset = only_if_unset;
    op->step = title_checked;
    if (!op_check(op, true))
        return op;
    if (!utf8_valid(op->in.text.text)) {
        err_set(&op->err, -EINVAL, "title is not valid UTF-8");
        op_done_later(op);
    } else {
        then_get(op);
    }
    return op;
}

static bool contains(const struct json_strs *set, str s)
{
    for (size_t i = 0; i < set->len; i++) {
        if (str_eq(set->items[i], s))
            return true;
    }
    return false;
}

/* The owner first, then whoever was given, each once; only the owner once it is private. */
static str participants_line(struct store_op *op, int64_t now_ms)
{
    const struct json_strs *given = &op->in.sharing.participants;
    struct json_strs out = {.items = arena_array(&op->arena, given->len + 1, sizeof(str))};
    if (op->out.conv->acl.owner_id.n)
        out.items[out.len++] = op->out.conv->acl.owner_id;
    for (size_t i = 0; op->in.sharing.is_shared && i < given->len; i++) {
        if (!contains(&out, given->items[i]) && utf8_valid(given->items[i]))
            out.items[out.len++] = given->items[i];
    }
    struct buf b;
    struct json_writer w;
    buf_init(&b, STORE_LINE_MAX);
    event_begin(&w, &b, EV_PARTICIPANTS, now_ms);
    jw_key(&w, "participants");
    jw_array(&w);
    for (size_t i = 0; i < out.len; i++)
        jw_str(&w, out.items[i]);
    jw_end(&w);
    jw_end(&w);
    str line = arena_str(&op->arena, buf_str(&b));
    buf_done(&b);
    return line;
}

static void sharing_checked(struct store_op *op)
{
    int64_t now_ms = clock_now_ms();
    struct buf b;
    struct json_writer w;
    buf_init(&b, 1024);
    event_begin(&w, &b, EV_VISIBILITY, now_ms);
    jw_kstr(&w, "visibility", op->in.sharing.is_shared ? STR("shared") : STR("private"));
    jw_end(&w);
    str lines[2] = {buf_str(&b)};
    size_t n = 1;
    if (!op->in.sharing.is_shared || !op->in.sharing.keeps_participants)
        lines[n++] = participants_line(op, now_ms);
    append_own(op, lines, n);
    buf_done(&b);
}

struct store_op *store_set_sharing(struct store *s, str id, bool is_shared,
                                   const struct json_strs *participants, store_conv_fn fn,
                                   void *ctx)
{
    struct store_op *op = op_new(s, id, answer_conv, ctx);
    op->fn.conv = fn;
    op->in.sharing.is_shared = is_shared;
    op->in.sharing.keeps_participants = participants == NULL;
    size_t n = participants ? participants->len : 0;
    struct json_strs *copy = &op->in.sharing.participants;
    copy->items = arena_array(&op->arena, n + 1, sizeof(str));
    for (copy->len = 0; copy->len < n; copy->len++)
        copy->items[copy->len] = arena_str(&op->arena, participants->items[copy->len]);
    op->step = sharing_checked;
    if (op_check(op, true))
        then_get(op);
    return op;
}

struct store_op *store_add_note(struct store *s, str id, str author, str text, store_conv_fn fn,
                                void *ctx)
{
    struct store_op *op = op_new(s, id, answer_conv, ctx);
    op->fn.conv = fn;
    if (!op_check(op, true))
        return op;
    if (!text.n || text.n > NOTE_MAX || !utf8_valid(text) || !utf8_valid(author)) {
        err_set(&op->err, -EINVAL, "a note is text of 1 to %d bytes", NOTE_MAX);
        op_done_later(op);
        return op;
    }
    struct buf b;
    struct json_writer w;
    buf_init(&b, STORE_LINE_MAX);
    event_begin(&w, &b, EV_NOTE, clock_now_ms());
    jw_kstr(&w, "author", author);
    jw_kstr(&w, "content", text);
    jw_end(&w);
    append_buf(op, &b);
    return op;
}

struct store_op *store_fork(struct store *s, str id, int64_t at_message, str new_owner,
                            store_conv_fn fn, void *ctx)
{
    char fresh[RANDOM_ID_MAX];
    random_id("conv", fresh);
    struct store_op *op = op_new(s, id, answer_conv, ctx);
    op->fn.conv = fn;
    op->at_message = at_message;
    if (!op_check(op, true))
        return op;
    struct conv_create *spec = &op->in.create;
    spec->forked_from = op->id;
    spec->owner_id = arena_str(&op->arena, new_owner);
    op->id = arena_str(&op->arena, str_from(fresh));
    op->step = then_get;
    s->ops->fork(op);
    return op;
}

static void answer_done(struct store_op *op)
{
    op->fn.done(op->ctx, op_err(op));
}

static void removed(struct store_op *op)
{
    struct bus_msg msg = {.topic = store_topic(&op->arena, op->store, op->id),
                          .type = STR("conversation.deleted"),
                          .data = STR("{\"type\":\"conversation.deleted\"}")};
    bus_publish(op->store->env->bus, &msg);
    op_done(op);
}

struct store_op *store_delete(struct store *s, str id, bool purge, store_done_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_done, ctx);
    op->fn.done = fn;
    op->in.is_purge = purge;
    op->step = removed;
    if (op_check(op, true))
        s->ops->remove(op);
    return op;
}

struct store_op *store_restore(struct store *s, str id, store_conv_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_conv, ctx);
    op->fn.conv = fn;
    op->step = then_get;
    if (op_check(op, true))
        s->ops->restore(op);
    return op;
}

/* ---- blobs ---- */

static void answer_blob(struct store_op *op)
{
    op->fn.blob(op->ctx, op_err(op), op->err.code ? STR_NONE : op->out.blob);
}

struct store_op *store_put_blob(struct store *s, str id, str bytes, store_blob_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_blob, ctx);
    op->fn.blob = fn;
    op->in.blob = arena_str(&op->arena, bytes);
    if (op_check(op, true))
        s->ops->put_blob(op);
    return op;
}

static bool is_sha256(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f')))
            return false;
    }
    return s.n == 64;
}

struct store_op *store_get_blob(struct store *s, str id, str sha256, store_blob_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_blob, ctx);
    op->fn.blob = fn;
    op->in.blob = arena_str(&op->arena, sha256);
    if (!op_check(op, false))
        return op;
    if (!is_sha256(sha256)) {
        err_set(&op->err, -ENOENT, "no such blob");
        op_done_later(op);
    } else {
        s->ops->get_blob(op);
    }
    return op;
}

/* ---- reading ---- */

struct store_op *store_get(struct store *s, str id, store_conv_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_conv, ctx);
    op->fn.conv = fn;
    if (op_check(op, false))
        then_get(op);
    return op;
}

static void answer_page(struct store_op *op)
{
    op->fn.page(op->ctx, op_err(op), op->err.code ? NULL : &op->out.page);
}

struct store_op *store_read(struct store *s, str id, const struct store_range *range,
                            store_page_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_page, ctx);
    op->fn.page = fn;
    op->in.range = *range;
    if (!range->max_events)
        op->in.range.max_events = STORE_PAGE_EVENTS;
    if (!range->max_bytes)
        op->in.range.max_bytes = STORE_PAGE_BYTES;
    if (op_check(op, false))
        s->ops->read(op);
    return op;
}

static const struct viewer *copy_viewer(struct store_op *op, const struct viewer *v)
{
    if (!v)
        return NULL;
    op->viewer = *v;
    op->viewer.user_id = arena_str(&op->arena, v->user_id);
    return &op->viewer;
}

static void answer_list(struct store_op *op)
{
    op->fn.list(op->ctx, op_err(op), op->err.code ? NULL : &op->out.listing);
}

struct store_op *store_list(struct store *s, const struct store_query *q, store_list_fn fn,
                            void *ctx)
{
    struct store_op *op = op_new(s, STR_NONE, answer_list, ctx);
    op->fn.list = fn;
    op->in.query = *q;
    op->in.query.viewer = copy_viewer(op, q->viewer);
    op->in.query.cursor = arena_str(&op->arena, q->cursor);
    op->in.query.search = arena_str(&op->arena, q->search);
    size_t limit = q->limit ? q->limit : STORE_LIST_DEFAULT;
    op->in.query.limit = limit > STORE_LIST_MAX ? STORE_LIST_MAX : limit;
    if (s->ops->list)
        s->ops->list(op);
    else
        op_run(op, scan_list);
    return op;
}

static void answer_search(struct store_op *op)
{
    op->fn.search(op->ctx, op_err(op), op->err.code ? NULL : &op->out.hits);
}

struct store_op *store_search(struct store *s, const struct store_search_query *q,
                              store_search_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, q->conv_id, answer_search, ctx);
    op->fn.search = fn;
    op->in.search = *q;
    op->in.search.viewer = copy_viewer(op, q->viewer);
    op->in.search.text = arena_str(&op->arena, q->text);
    op->in.search.conv_id = op->id;
    size_t limit = q->limit ? q->limit : STORE_LIST_DEFAULT;
    op->in.search.limit = limit > STORE_LIST_MAX ? STORE_LIST_MAX : limit;
    if (q->conv_id.n && !op_check(op, false))
        return op;
    if (s->ops->search)
        s->ops->search(op);
    else
        op_run(op, scan_search);
    return op;
}

static void answer_notes(struct store_op *op)
{
    op->fn.notes(op->ctx, op_err(op), op->err.code ? NULL : op->out.notes,
                 op->err.code ? 0 : op->out.nnotes);
}

struct store_op *store_notes(struct store *s, str id, store_notes_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_notes, ctx);
    op->fn.notes = fn;
    if (op_check(op, false))
        op_run(op, scan_notes);
    return op;
}
