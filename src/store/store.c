/* store.c - opening and closing, and the life of a call (see backend.h for the diagram). */
#include "store/store.h"

#include <assert.h>
#include <errno.h>

#include "base/utf8.h"
#include "os/file.h"
#include "store/backend/backend.h"
#include "store/folder/folder_record.h"

enum { ID_SUFFIX_MAX = 64 };

static const struct store_ops *const BACKENDS[] = {&store_jsonl_ops, &store_folder_ops,
                                                   &store_memory_ops, &store_postgres_ops};

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

str store_id_meant(str typed)
{
    str thread = folder_thread(typed);
    return !store_id_valid(typed) && store_id_valid(thread) ? thread : typed;
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
    unreadable_done(&s->unreadable);
    (void)pthread_mutex_destroy(&s->marking);
    free(s);
}

/* Waits for the last call: op_done starts this again. */
static void on_store_close(void *ctx)
{
    struct store *s = ctx;
    if (list_empty(&s->calls))
        s->ops->close(s);
}

const struct store_ops *store_backend(const char *type)
{
    for (size_t i = 0; i < ARRAY_LEN(BACKENDS); i++)
        if (strcmp(BACKENDS[i]->type, type) == 0)
            return BACKENDS[i];
    return NULL;
}

bool store_type_has_files(const char *type)
{
    const struct store_ops *ops = store_backend(type);
    return ops && ops->has_files;
}

bool store_type_is_shared(const char *type)
{
    const struct store_ops *ops = store_backend(type);
    return ops && ops->is_shared;
}

int store_prepare(const struct store_env *env, const char *type, struct err *e)
{
    const struct store_ops *ops = store_backend(type);
    return ops && ops->prepare ? ops->prepare(env, e) : 0;
}

int store_open(const struct store_env *env, const struct store_conf *conf, struct store **ret,
               struct err *e)
{
    const struct store_ops *ops = store_backend(conf->type);
    if (!ops)
        return err_set(e, -EINVAL,
                       "store.type: \"%s\" is not one of jsonl, folder, memory, postgres",
                       conf->type);
    struct store *s = xcalloc(1, sizeof(*s));
    s->ops = ops;
    s->env = env;
    s->readers = env->readers;
    s->conf = *conf;
    s->conf.type = own(conf->type);
    s->conf.dir = own(conf->dir);
    s->conf.cache_dir = own(conf->cache_dir);
    s->conf.workspace_id = own(conf->workspace_id);
    list_init(&s->calls);
    unreadable_init(&s->unreadable);
    (void)pthread_mutex_init(&s->marking, NULL);
    defer_init(&s->closing, on_store_close, s);
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
    assert(s->is_closing && list_empty(&s->calls));
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

struct file_place store_file_place(const struct store *s)
{
    return (struct file_place){.dir = s->conf.files_dir,
                               .table = s->file_table,
                               .workspace_id = str_from(s->conf.workspace_id)};
}

str store_topic(struct arena *a, const struct store *s, str id)
{
    str ws = str_from(s->conf.workspace_id ? s->conf.workspace_id : "");
    const str parts[] = {STR("conv/"), ws, STR("/"), id};
    return arena_join(a, parts, ARRAY_LEN(parts));
}

str store_space_topic(struct arena *a, const struct store *s)
{
    return arena_printf(a, "space/%s", s->conf.workspace_id ? s->conf.workspace_id : "");
}

void publish_everywhere(const struct store *s, struct bus_msg *msg)
{
    if (s->ops->publish)
        s->ops->publish((struct store *)s, msg);
    else
        bus_publish(s->env->bus, msg);
}

bool store_is_watched_elsewhere(const struct store *s, str id)
{
    return s->ops->is_watched_elsewhere && s->ops->is_watched_elsewhere(s, id);
}

void store_tell_others(struct store *s, str id, str order)
{
    if (s->ops->tell)
        s->ops->tell(s, id, order);
}

void store_forward(struct store *s, str conv_id, str type, str data)
{
    struct arena a;
    if (!s->ops->forward)
        return;
    arena_init(&a);
    struct bus_msg msg = {.topic = store_topic(&a, s, conv_id), .type = type, .data = data};
    s->ops->forward(s, &msg);
    arena_done(&a);
}

void store_share_files(struct store *s, struct file_table *t)
{
    s->file_table = t;
}

struct store_ask *store_ask_others(struct store *s, str id, str question, store_reply_fn fn,
                                   void *ctx)
{
    assert(store_has_leases(s) && s->ops->ask);
    return s->ops->ask(s, id, question, fn, ctx);
}

void store_reply(struct store *s, str ask_id, str reply)
{
    if (s->ops->reply)
        s->ops->reply(s, ask_id, reply);
}

void store_tell_person(struct store *s, str user_id, str type, str data)
{
    if (s->ops->tell_person)
        s->ops->tell_person(s, user_id, type, data);
}

int store_shared_key(struct store *s, const char *name, uint8_t key[32], struct err *e)
{
    assert(store_has_leases(s) && s->ops->shared_key);
    return s->ops->shared_key(s, name, key, e);
}

bool store_keeps_queue(const struct store *s)
{
    return s->ops->queue_put && store_has_leases(s);
}

int store_queue_put(struct store *s, str id, str document, struct err *e)
{
    return s->ops->queue_put(s, id, document, e);
}

int store_queue_take(struct store *s, struct arena *a, struct json_strs *ret, struct err *e)
{
    return s->ops->queue_take(s, a, ret, e);
}

bool store_publish(const struct store *s, str conv_id, str type, str data)
{
    struct arena a;
    arena_init(&a);
    struct bus_msg msg = {
        .topic = conv_id.n > 0 ? store_topic(&a, s, conv_id) : store_space_topic(&a, s),
        .type = type,
        .data = data,
    };
    publish_everywhere(s, &msg);
    arena_done(&a);
    return msg.is_watcher_late;
}

/* ---- the life of a call ---- */

static void on_op_later(void *ctx)
{
    struct store_op *op = ctx;
    if (op->work) { /* op_run of a store that never blocks */
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
    list_init(&op->wait);
    defer_init(&op->later, on_op_later, op);
    list_push(&s->calls, &op->node);
    return op;
}

void op_done(struct store_op *op)
{
    assert(list_empty(&op->wait));
    /* Cleared first: the step may set the next one. */
    void (*step)(struct store_op *) = op->step;
    op->step = NULL;
    if (step && !op->err.code) {
        step(op);
        return;
    }
    if (op->err.code && sharing_again(op))
        return;
    /* A cancelled call is still audited and still tells whether the disk works. */
    deed_end(op->deed, op_err(op));
    trouble_note(op);
    struct store *s = op->store;
    if (!op->is_cancelled)
        op->answer(op);
    else if (op->is_shared_put && !op->err.code)
        store_release_shared(s, op->out.blob); /* the caller does not know that it is held */
    else if (op->out.lease)
        store_lease_release(op->out.lease);
    list_del(&op->node);
    if (op->is_sharing)
        sharing_next(s, op->id);
    if (op->out.file.is_open)
        file_close(op->out.file.fd);
    arena_done(&op->arena);
    free(op);
    if (s->is_closing && list_empty(&s->calls))
        defer_start(s->env->loop, &s->closing);
}

void op_done_later(struct store_op *op)
{
    assert(list_empty(&op->wait));
    defer_start(op->store->env->loop, &op->later);
}

static void op_work(struct job *j)
{
    struct store_op *op = CONTAINER_OF(j, struct store_op, job);
    op->work(op);
    trouble_check_dir(&op->store->conf, &op->err);
}

static void op_worked(struct job *j)
{
    struct store_op *op = CONTAINER_OF(j, struct store_op, job);
    op->work = NULL;
    op_done(op);
}

void op_run(struct store_op *op, void (*work)(struct store_op *op))
{
    assert(list_empty(&op->wait));
    op->work = work;
    if (op->store->ops->is_inline) { /* still not inside the public call */
        op_done_later(op);
        return;
    }
    pool_run(op->store->readers, &op->job, op_work, op_worked);
}

void op_start(struct store_op *op, void (*fn)(struct store_op *op))
{
    if (op->store->ops->locate)
        op->store->ops->locate(op, op->id, fn);
    else
        fn(op);
}

void store_op_cancel(struct store_op *op)
{
    if (op)
        op->is_cancelled = true;
}

const struct err *op_err(const struct store_op *op)
{
    return op->err.code ? &op->err : NULL;
}

bool op_check(struct store_op *op, bool is_write)
{
    if (!store_id_valid(op->id))
        err_set(&op->err, -ENOENT, "no such conversation: \"%.*s\" is not a conversation id",
                STR_ARG(utf8_truncate(op->id, STORE_ID_MAX)));
    else if (is_write && op->store->conf.read_only)
        err_set(&op->err, -EROFS, "the store is open read-only");
    if (!op->err.code)
        return true;
    op_done_later(op);
    return false;
}

void answer_conv(struct store_op *op)
{
    op->fn.conv(op->ctx, op_err(op), op->err.code ? NULL : op->out.conv);
}

void then_get(struct store_op *op)
{
    op_start(op, op->store->ops->get);
}
