/* configure.c - values of user_config that are set while nb runs (change.h). */
#include <errno.h>

#include "base/clock.h"
#include "base/text/secret_name.h"
#include "bundle/change_impl.h"
#include "bundle/entry/entry.h"
#include "bundle/package/package.h"
#include "bundle/package/user_config.h"
#include "bundle/supervise/bundle_impl.h"
#include "workspace/secrets/credentials.h"

#define TEXT_MAX (64u * 1024)

struct configuration { /* in the op's arena */
    struct bundle_entry entry;
    const char *package_dir;
    const struct json *values; /* or NULL */
    enum install_rights rights;
    bool is_check;
    struct manifest manifest;
    struct json *stored;
};

/* ---- on the pool ---- */

static bool is_secret(const struct manifest_option *o)
{
    return o->is_sensitive || secret_is_name(o->key);
}

static bool has_secrets(const struct configuration *c)
{
    for (size_t i = 0; i < c->manifest.noptions; i++)
        if (is_secret(&c->manifest.options[i]))
            return true;
    return c->entry.nenv > 0 || c->entry.allowed_env.len > 0;
}

static int refuse_option(const struct configuration *c, const struct manifest_option *o,
                         struct err *e)
{
    const char *why = is_secret(o) ? "is a secret, which must not be sent in a conversation"
                                   : "names files that the bundle could then see";
    return err_set(e, -EPERM,
                   "'%.*s' %s: set it on the machine that runs nb, with `nb config set "
                   "%.*s %.*s%s",
                   STR_ARG(o->key), why, STR_ARG(c->entry.server_name), STR_ARG(o->key),
                   is_secret(o) ? "`, which asks for the value" : "=PATH`");
}

/* A value may become part of the command line, perhaps before the script of an interpreter. */
static bool looks_like_option(const struct manifest_option *o, str text)
{
    return o->type == OPTION_STRING && str_starts(text, STR("-"));
}

static int check_value_text(struct arena *a, const struct configuration *c,
                            const struct manifest_option *o, const struct json *v, struct err *e)
{
    if (v->type != JSON_STRING && v->type != JSON_BOOL && v->type != JSON_INT &&
        v->type != JSON_NUMBER)
        return err_set(e, -EINVAL, "the value of '%.*s' must be a string, a number, true or false",
                       STR_ARG(o->key));
    str text = v->type == JSON_STRING ? v->s : json_to_str(a, v);
    if (c->rights < INSTALL_AS_OWNER && looks_like_option(o, text))
        return err_set(e, -EPERM,
                       "the value of '%.*s' begins with '-' like an option of a command: only an "
                       "owner of the server may set such a value",
                       STR_ARG(o->key));
    return user_config_check(o, text, e);
}

static int check_value(struct arena *a, const struct configuration *c, const struct json_member *m,
                       struct err *e)
{
    const struct manifest_option *o = manifest_option(&c->manifest, m->key);
    const struct json *v = &m->value;
    if (!o)
        return err_set(e, -EINVAL, "%.*s has no setting '%.*s'; the action \"options\" lists them",
                       STR_ARG(c->entry.server_name), STR_ARG(m->key));
    if (is_secret(o) || option_is_path(o))
        return refuse_option(c, o, e);
    if (json_get_str(c->entry.user_config, m->key))
        return err_set(
            e, -EPERM,
            "'%.*s' is set in the settings file (userConfig), which takes precedence over "
            "the stored value: change it there",
            STR_ARG(m->key));
    if (v->type == JSON_NULL)
        return 0;
    if (v->type != JSON_ARRAY)
        return check_value_text(a, c, o, v, e);
    if (!o->is_multiple || v->len > USER_VALUES_MAX)
        return err_set(e, -EINVAL, "the value of '%.*s' must be %s", STR_ARG(m->key),
                       o->is_multiple ? "a shorter list" : "one value, not a list");
    int r = 0;
    for (size_t i = 0; r == 0 && i < v->len; i++)
        r = check_value_text(a, c, o, &v->items[i], e);
    return r;
}

static int check_values(struct arena *a, const struct configuration *c, struct err *e)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < c->values->len; i++)
        r = check_value(a, c, &c->values->members[i], e);
    if (r == 0 && c->rights < INSTALL_AS_OWNER && has_secrets(c))
        r = err_set(e, -EPERM,
                    "%.*s has secrets, which a changed value could send to another server: only an "
                    "owner of the server may set its values",
                    STR_ARG(c->entry.server_name));
    return r;
}

static int store_values(const struct bundle_change_op *op, const struct configuration *c,
                        struct err *e)
{
    struct arena a;
    arena_init(&a);
    str slug = entry_credentials(&a, &c->entry);
    int r = 0;
    for (size_t i = 0; r == 0 && i < c->values->len; i++) {
        const struct json_member *m = &c->values->members[i];
        bool is_there = json_get_str(c->stored, m->key) != NULL;
        if (m->value.type != JSON_NULL)
            r = credentials_set(op->credentials_dir, slug, m->key, &m->value, e);
        else if (is_there)
            r = credentials_set(op->credentials_dir, slug, m->key, NULL, e);
    }
    arena_done(&a);
    return r;
}

static void describe_option(struct arena *a, struct buf *b, const struct configuration *c,
                            const struct manifest_option *o)
{
    bool is_set = json_get_str(c->entry.user_config, o->key) || json_get_str(c->stored, o->key);
    struct err e = {0};
    buf_printf(b, "- %.*s (%s%s%s%s): %s.", STR_ARG(o->key), option_type_name(o->type),
               o->is_multiple ? ", several" : "", o->is_required ? ", required" : "",
               is_secret(o) ? ", secret" : "", is_set ? "set" : "not set");
    if (o->fallback && !is_secret(o))
        buf_printf(b, " Default: %.*s.", STR_ARG(json_to_str(a, o->fallback)));
    if (o->title.n || o->description.n)
        buf_printf(b, " %.*s%s%.*s", STR_ARG(o->title), o->title.n ? ". " : "",
                   STR_ARG(o->description));
    buf_add_char(b, '\n');
    if (!is_secret(o) && !option_is_path(o))
        return;
    (void)refuse_option(c, o, &e);
    buf_printf(b, "  %s.\n", e.msg);
}

static str describe_options(struct arena *a, const struct configuration *c)
{
    struct buf b;
    if (c->manifest.noptions == 0)
        return arena_printf(a, "%.*s has no settings.", STR_ARG(c->entry.server_name));
    buf_init(&b, TEXT_MAX);
    buf_printf(&b, "Settings of %.*s:\n", STR_ARG(c->entry.server_name));
    for (size_t i = 0; i < c->manifest.noptions; i++)
        describe_option(a, &b, c, &c->manifest.options[i]);
    return buf_keep(&b, a);
}

static int load_configuration(struct bundle_change_op *op, struct configuration *c)
{
    struct arena *a = &op->arena;
    const char *dir;
    int r = package_dir_of(a, c->package_dir, &c->entry, &dir, &op->err);
    if (r == 0 && !dir)
        return err_set(&op->err, -ENOTSUP,
                       "%.*s has no manifest with settings; its variables are set on the machine "
                       "that runs nb (`nb config set %.*s env.NAME`)",
                       STR_ARG(op->name), STR_ARG(op->name));
    if (r == 0)
        r = package_manifest(a, dir, &c->manifest, &op->err);
    if (r == 0)
        r = credentials_load(a, op->credentials_dir, entry_credentials(a, &c->entry), &c->stored,
                             &op->err);
    return r;
}

static void configure_work(struct bundle_change_op *op)
{
    struct configuration *c = op->state;
    int r = load_configuration(op, c);
    if (r == 0 && !c->values)
        op->text = describe_options(&op->arena, c);
    if (r < 0 || !c->values || (r = check_values(&op->arena, c, &op->err)) < 0 || c->is_check)
        return;
    (void)store_values(op, c, &op->err);
}

/* ---- on the loop ---- */

static void configure_written(struct bundle_change_op *op)
{
    const struct configuration *c = op->state;
    struct bundle *b = bundles_find(op->by->bundles, op->name);
    bool is_stored = c->values && !c->is_check && !op->err.code;
    if (!is_stored || !b || c->entry.is_disabled) {
        bundle_change_finish(op, b);
        return;
    }
    bundle_restart(b); /* a running bundle uses the values from its start */
    bundle_change_wait(op);
}

static void await_restart(struct bundle_change_op *op, struct bundle *b)
{
    bool is_starting = b && bundle_info(b)->state == BUNDLE_STARTING;
    if (is_starting && clock_mono_ms() < op->until_ms)
        bundle_change_wait(op);
    else
        bundle_change_finish(op, b);
}

static void add_keys(struct deed *d, const struct json *values)
{
    for (size_t i = 0; i < values->len && i < MANIFEST_OPTIONS_MAX; i++)
        deed_detail(d, "key=%.*s", STR_ARG(values->members[i].key));
}

static bool is_configurable(struct bundle_change_op *op, struct bundle *b)
{
    if (!b)
        err_set(&op->err, -ENOENT, "no bundle '%.*s' in this workspace", STR_ARG(op->name));
    else if (bundle_info(b)->kind == BUNDLE_BUILT_IN || !op->credentials_dir)
        err_set(&op->err, -ENOTSUP, "'%.*s' is part of nb and has no settings", STR_ARG(op->name));
    return op->err.code == 0;
}

struct bundle_change_op *bundle_configure(struct bundle_changer *c,
                                          const struct bundle_configure *spec,
                                          const struct doer *by, bundle_changed_fn fn, void *ctx)
{
    struct bundle_change_op *op = bundle_change_new(c, fn, ctx);
    struct bundle *b = bundles_find(c->bundles, spec->server_name);
    op->name = arena_str(&op->arena, spec->server_name);
    if (spec->values && !spec->is_check) {
        op->deed = deed_begin(c->audit, by, STR("bundle.credential_set"), op->name);
        add_keys(op->deed, spec->values);
    }
    if (!is_configurable(op, b)) {
        bundle_change_begin(op);
        return op;
    }
    struct configuration *conf = ARENA_NEW(&op->arena, struct configuration);
    *conf = (struct configuration){
        .entry = bundle_entry_copy(&op->arena, bundle_entry(b)),
        .package_dir = arena_cstr(&op->arena, str_from(c->bundles->conf.package_dir)),
        .values = spec->values ? json_clone(&op->arena, spec->values) : NULL,
        .rights = spec->rights,
        .is_check = spec->is_check,
    };
    op->state = conf;
    op->write = configure_work;
    op->written = configure_written;
    op->await = await_restart;
    bundle_change_begin(op);
    return op;
}
