#include "runtime/seen_files.h"

#include <assert.h>
#include <errno.h>

#include "base/utf8.h"
#include "store/store.h"
#include "workspace/projects.h"
#include "workspace/roster/directory.h"

enum { PARENTS_MAX = 8 };

struct seen_files {
    struct runtime *rt;
    struct actor *actor; /* held */
    struct arena arena;
    struct file_set set;
    size_t cap, parents;
    bool is_of_run;
    str listed_as;  /* the conversation as its project lists it: a branch is where its origin is */
    str project_id; /* whose the next nproject are */
    struct store_op *op;
    struct attach_op *own;
    struct deferred later;
    seen_files_fn fn;
    seen_open_fn open_fn;
    void *ctx;
};

static void seen_add(struct seen_files *s, const struct attached *f)
{
    struct arena *a = &s->arena;
    for (size_t i = 0; i < s->set.nconv + s->set.nproject; i++)
        if (str_eq(s->set.items[i].id, f->id))
            return;
    ARENA_GROW(a, s->set.items, s->set.n, s->cap);
    struct attached *to = &s->set.items[s->set.n++];
    *to = *f;
    to->id = arena_str(a, f->id);
    to->name = arena_str(a, f->name);
    to->mime = arena_str(a, f->mime);
}

static void seen_done(struct seen_files *s, const struct err *err)
{
    s->fn(s->ctx, err, err ? NULL : &s->set);
}

static void on_seen_later(void *ctx)
{
    seen_done(ctx, NULL);
}

static void on_own_files(void *ctx, const struct err *err, const struct attached *files, size_t n)
{
    struct seen_files *s = ctx;
    s->own = NULL;
    for (size_t i = 0; !err && i < n; i++)
        seen_add(s, &files[i]);
    seen_done(s, err);
}

static void find_own(struct seen_files *s)
{
    const struct runtime_deps *d = runtime_deps(s->rt);
    str user = actor_sole_user(s->actor);
    if (d->files && user_id_ok(user) && actor_role(s->actor) != WS_NONE)
        s->own = attach_list(d->files, user, on_own_files, s);
    else
        defer_start(d->loop, &s->later);
}

static void add_project_files(struct seen_files *s)
{
    const struct runtime_deps *d = runtime_deps(s->rt);
    const struct roster *all = d->directory ? directory_roster(d->directory) : NULL;
    struct conv_project p;
    if (!d->files || !projects_of(d->projects, s->listed_as, &p) ||
        !project_is_seen_by(&p, s->actor))
        return;
    s->project_id = arena_str(&s->arena, p.id);
    for (size_t i = 0; i < project_file_count(&p); i++) {
        struct project_file f = project_file_at(&p, i);
        const struct attached one = {
            .id = f.id, .name = f.name, .mime = f.mime, .bytes = f.bytes, .at_ms = f.at_ms};
        if (project_author_counts(all, d->workspace_id, s->actor, f.by))
            seen_add(s, &one);
    }
    s->set.nproject = s->set.n - s->set.nconv;
}

static void on_conv_files(void *ctx, const struct err *err, const struct attached *files, size_t n)
{
    struct seen_files *s = ctx;
    s->op = NULL;
    if (err) {
        seen_done(s, err);
        return;
    }
    for (size_t i = 0; i < n; i++)
        seen_add(s, &files[i]);
    s->set.nconv = s->set.n;
    add_project_files(s);
    find_own(s);
}

/* A conversation that does not exist and one that may not be seen are the same. */
static void refuse_conversation(struct seen_files *s)
{
    struct err e = {0};
    err_set(&e, -ENOENT, "There is no conversation '%.*s'.",
            STR_ARG(utf8_truncate(s->set.conv_id, STORE_ID_MAX)));
    seen_done(s, &e);
}

static bool may_view(const struct seen_files *s, const struct conv *conv)
{
    return s->is_of_run ? actor_first_allows(s->actor, &conv->acl, CONV_VIEW)
                        : actor_allows(s->actor, &conv->acl, CONV_VIEW);
}

static void on_seen_conv(void *ctx, const struct err *err, const struct conv *conv)
{
    struct seen_files *s = ctx;
    struct store *store = runtime_deps(s->rt)->store;
    s->op = NULL;
    if (err ? err->code == -ENOENT || err->code == -EINVAL : !may_view(s, conv)) {
        refuse_conversation(s);
        return;
    }
    if (err) {
        seen_done(s, err);
        return;
    }
    str parent = json_get_string(conv->parent, "conversationId");
    if (parent.n > 0 && s->parents++ < PARENTS_MAX) {
        s->set.conv_id = arena_str(&s->arena, parent);
        s->op = store_get(store, s->set.conv_id, on_seen_conv, s);
    } else {
        str of = json_get_string(conv->branch, "of");
        s->listed_as = of.n > 0 ? arena_str(&s->arena, of) : s->set.conv_id;
        s->op = store_list_files(store, s->set.conv_id, on_conv_files, s);
    }
}

struct seen_files *seen_files_start(struct runtime *rt, const struct actor *actor, str conv_id,
                                    bool is_of_run, seen_files_fn fn, void *ctx)
{
    struct seen_files *s = xcalloc(1, sizeof *s);
    *s = (struct seen_files){
        .rt = rt, .actor = actor_ref(actor), .is_of_run = is_of_run, .fn = fn, .ctx = ctx};
    arena_init(&s->arena);
    defer_init(&s->later, on_seen_later, s);
    s->set.conv_id = arena_str(&s->arena, conv_id);
    if (conv_id.n > 0)
        s->op = store_get(runtime_deps(rt)->store, s->set.conv_id, on_seen_conv, s);
    else
        find_own(s);
    return s;
}

const struct attached *file_set_find(const struct file_set *set, str wanted)
{
    if (str_starts(wanted, STR(FILE_URI)))
        wanted = str_skip(wanted, strlen(FILE_URI));
    for (size_t i = 0; i < set->n; i++)
        if (str_eq(set->items[i].id, wanted) || str_eq(set->items[i].name, wanted))
            return &set->items[i];
    return NULL;
}

static void seen_opened(struct seen_files *s, const struct err *err, int fd)
{
    struct err gone = {0};
    if (err)
        err_set(&gone, err->code, "The file is not there any more.");
    s->open_fn(s->ctx, err ? &gone : NULL, fd);
}

static void on_conv_file_opened(void *ctx, const struct err *err, int fd, const char *mime)
{
    struct seen_files *s = ctx;
    s->op = NULL;
    seen_opened(s, err, fd);
}

static void on_own_file_opened(void *ctx, const struct err *err, const struct attached *file,
                               int fd)
{
    struct seen_files *s = ctx;
    s->own = NULL;
    seen_opened(s, err, fd);
}

void seen_files_open(struct seen_files *s, const struct attached *file, seen_open_fn fn, void *ctx)
{
    const struct runtime_deps *d = runtime_deps(s->rt);
    assert(!s->op && !s->own && file >= s->set.items && file < s->set.items + s->set.n);
    size_t at = (size_t)(file - s->set.items);
    bool is_own = at >= s->set.nconv + s->set.nproject;
    s->open_fn = fn;
    s->ctx = ctx;
    if (at < s->set.nconv)
        s->op = store_open_file(d->store, s->set.conv_id, str_skip(file->id, 5),
                                on_conv_file_opened, s);
    else
        s->own = attach_open(d->files, is_own ? actor_sole_user(s->actor) : s->project_id, file->id,
                             on_own_file_opened, s);
}

void seen_files_free(struct seen_files *s)
{
    if (!s)
        return;
    if (s->op)
        store_op_cancel(s->op);
    attach_cancel(s->own);
    defer_stop(&s->later);
    actor_unref(s->actor);
    arena_done(&s->arena);
    free(s);
}
