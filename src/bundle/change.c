#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "bundle/change_impl.h"
#include "bundle/settings/plain_secrets.h"
#include "bundle/settings/settings.h"

#define LOOK_MS 50

void bundle_change_finish(struct bundle_change_op *op, struct bundle *b)
{
    deed_end(op->deed, op->err.code ? &op->err : NULL);
    if (op->fn)
        op->fn(op->ctx, b, op->err.code ? &op->err : NULL);
    list_del(&op->node);
    timer_stop(&op->timer);
    arena_done(&op->arena);
    free(op);
}

/* op->err already holds the reason for the removal. */
static void take_back(struct bundle_change_op *op)
{
    struct err e = {0};
    if (settings_remove_bundle(op->settings_path, op->name, &e) < 0)
        err_prefix(&op->err, "it stays in the settings (%s)", e.msg);
}

/* Encrypts secrets of the entry; the settings contain marks in their place. */
static void add_sealed(struct bundle_change_op *op)
{
    const struct json *entry = op->entry;
    if (op->credentials_dir &&
        plain_secrets_seal(&op->arena, op->credentials_dir, op->entry, &entry, &op->err) < 0)
        return;
    (void)settings_add_bundle(op->settings_path, entry, &op->err);
}

static void write_settings(struct bundle_change_op *op)
{
    if (op->is_rollback)
        take_back(op);
    else if (op->entry)
        add_sealed(op);
    else
        (void)settings_remove_bundle(op->settings_path, op->name, &op->err);
}

static void settings_written(struct bundle_change_op *op)
{
    if (op->err.code == 0 || op->is_rollback)
        op->by->look(op->by->ctx);
    if (op->err.code || op->is_rollback)
        bundle_change_finish(op, NULL);
    else
        bundle_change_wait(op);
}

static void do_write(struct job *j) /* pool thread */
{
    struct bundle_change_op *op = CONTAINER_OF(j, struct bundle_change_op, job);
    op->write(op);
}

static void on_change_written(struct job *j)
{
    struct bundle_change_op *op = CONTAINER_OF(j, struct bundle_change_op, job);
    assert(op->is_writing);
    op->is_writing = false;
    if (op->by)
        op->written(op);
    else
        bundle_change_finish(op, NULL);
}

void bundle_change_wait(struct bundle_change_op *op)
{
    assert(!op->is_writing && op->by && op->await);
    timer_start(&op->timer, LOOK_MS);
}

static void bundle_change_write(struct bundle_change_op *op)
{
    assert(!op->is_writing && op->by && !timer_active(&op->timer));
    op->is_writing = true;
    pool_submit(op->by->pool, &op->job);
}

static void roll_back(struct bundle_change_op *op, int code, str why)
{
    assert(!op->is_rollback && op->entry); /* only an addition, and once */
    err_set(&op->err, code, "'%.*s' did not start: %.*s", STR_ARG(op->name), STR_ARG(why));
    op->is_rollback = true;
    bundle_change_write(op);
}

/* A bundle that is added disabled stays stopped. */
static bool is_as_wanted(const struct bundle_change_op *op, const struct bundle_info *i)
{
    return i->state == BUNDLE_RUNNING ||
           (i->state == BUNDLE_STOPPED && json_get_bool(op->entry, "disabled", false));
}

static void await_start(struct bundle_change_op *op, struct bundle *b)
{
    const struct bundle_info *i = b ? bundle_info(b) : NULL;
    if (i && is_as_wanted(op, i))
        bundle_change_finish(op, b);
    else if (i && i->state != BUNDLE_STARTING)
        roll_back(op, -ECONNABORTED, i->reason);
    else if (clock_mono_ms() >= op->until_ms)
        roll_back(op, -ETIMEDOUT, STR("it was not running within the time limit"));
    else
        bundle_change_wait(op);
}

static void await_removal(struct bundle_change_op *op, struct bundle *b)
{
    if (b && clock_mono_ms() < op->until_ms) {
        bundle_change_wait(op);
        return;
    }
    if (b)
        err_set(&op->err, -ETIMEDOUT,
                "'%.*s' was removed from the settings, but has not stopped yet", STR_ARG(op->name));
    bundle_change_finish(op, NULL);
}

static void on_change_timer(void *ctx)
{
    struct bundle_change_op *op = ctx;
    op->await(op, bundles_find(op->by->bundles, op->name));
}

struct bundle_change_op *bundle_change_new(struct bundle_changer *c, bundle_changed_fn fn,
                                           void *ctx)
{
    struct bundle_change_op *op = xcalloc(1, sizeof *op);
    arena_init(&op->arena);
    list_push(&c->ops, &op->node);
    op->by = c;
    op->settings_path = arena_cstr(&op->arena, str_from(c->settings_path));
    if (c->credentials_dir)
        op->credentials_dir = arena_cstr(&op->arena, str_from(c->credentials_dir));
    op->fn = fn;
    op->ctx = ctx;
    op->until_ms = clock_mono_ms() + BUNDLE_CHANGE_MS;
    op->job = (struct job){.work = do_write, .done = on_change_written};
    timer_init(&op->timer, c->loop, on_change_timer, op);
    return op;
}

static struct bundle_change_op *op_new(struct bundle_changer *c,
                                       void (*await)(struct bundle_change_op *, struct bundle *),
                                       bundle_changed_fn fn, void *ctx)
{
    struct bundle_change_op *op = bundle_change_new(c, fn, ctx);
    op->write = write_settings;
    op->written = settings_written;
    op->await = await;
    return op;
}

str bundle_change_text(const struct bundle_change_op *op)
{
    return op->text;
}

static void on_wrong(void *ctx)
{
    bundle_change_finish(ctx, NULL);
}

void bundle_change_begin(struct bundle_change_op *op)
{
    if (!op->err.code) {
        bundle_change_write(op);
        return;
    }
    timer_init(&op->timer, op->by->loop, on_wrong, op);
    timer_start(&op->timer, 0);
}

/* Records a package, a directory or a URL without possible secrets; a command is recorded by the
 * name that it gets (name_install). */
static struct deed *begin_install(struct bundle_changer *c, const struct json *entry,
                                  const struct doer *by)
{
    static const char *const NAMES[] = {"name", "path", "url"};
    str target = STR_NONE, version = json_get_string(entry, "version");
    for (size_t i = 0; target.n == 0 && i < ARRAY_LEN(NAMES); i++)
        target = deed_plain_url(json_get_string(entry, NAMES[i]));
    struct deed *d = deed_begin(c->audit, by, STR("bundle.install"), target);
    if (target.n == 0)
        deed_set(d, STR("bundle.install"), json_get_string(entry, "command"));
    if (version.n > 0)
        deed_detail(d, "version=%.*s", STR_ARG(version));
    return d;
}

/* The name under which all later records mention the bundle. */
static void name_install(struct deed *d, const struct json *entry, const struct bundle_entry *b)
{
    str command = json_get_string(entry, "command");
    if (command.n == 0) {
        deed_detail(d, "as=%.*s", STR_ARG(b->server_name));
        return;
    }
    deed_set(d, STR("bundle.install"), b->server_name);
    deed_detail(d, "command=%.*s", STR_ARG(command));
}

/* Found before anything is written: the bundle could never start. */
static int check_new(const struct bundle_changer *c, const struct bundle_entry *b, struct err *e)
{
    if (bundles_find(c->bundles, b->server_name))
        return err_set(e, -EEXIST, "a bundle '%.*s' is installed already", STR_ARG(b->server_name));
    int r = b->kind == BUNDLE_REMOTE ? bundle_entry_check_url(b, c->allow_insecure_remotes, e) : 0;
    if (r < 0)
        err_prefix(e, "'%.*s' cannot be installed", STR_ARG(b->server_name));
    return r;
}

struct bundle_change_op *bundle_add(struct bundle_changer *c, const struct json *entry,
                                    const struct doer *by, bundle_changed_fn fn, void *ctx)
{
    struct bundle_change_op *op = op_new(c, await_start, fn, ctx);
    struct bundle_entry decoded;
    op->deed = begin_install(c, entry, by);
    op->entry = json_clone(&op->arena, entry);
    if (bundle_entry_decode(&op->arena, op->entry, "/", &decoded, &op->err) == 0) {
        op->name = decoded.server_name;
        name_install(op->deed, entry, &decoded);
        (void)check_new(c, &decoded, &op->err);
    }
    bundle_change_begin(op);
    return op;
}

struct bundle_change_op *bundle_remove(struct bundle_changer *c, str server_name,
                                       const struct doer *by, bundle_changed_fn fn, void *ctx)
{
    struct bundle_change_op *op = op_new(c, await_removal, fn, ctx);
    struct bundle *b = bundles_find(c->bundles, server_name);
    op->deed = deed_begin(c->audit, by, STR("bundle.remove"), server_name);
    op->name = arena_str(&op->arena, server_name);
    if (b && bundle_info(b)->kind == BUNDLE_BUILT_IN)
        err_set(&op->err, -EPERM, "'%.*s' is part of nb; set noDefaultBundles to turn it off",
                STR_ARG(op->name));
    bundle_change_begin(op);
    return op;
}

void bundle_change_cancel(struct bundle_change_op *op)
{
    op->fn = NULL;
}

void bundle_changer_done(struct bundle_changer *c)
{
    LIST_EACH (op, &c->ops, struct bundle_change_op, node) {
        list_del(&op->node);
        op->fn = NULL;
        op->by = NULL;
        if (!op->is_writing)
            bundle_change_finish(op, NULL);
    }
}
