/* change.c - carries one change out under the lock; change.h has the steps. */
#include "workspace/roster/change.h"

#include <assert.h>
#include <errno.h>

#include "base/text/plain.h"
#include "base/utf8.h"
#include "workspace/roster/change_impl.h"
#include "workspace/roster/roster_impl.h"

#define NAME_MAX_BYTES 200

static const struct {
    edit_fn fn;
    bool works_alone; /* also without instance.json, where there is one implicit person */
} KINDS[] = {
    [CHANGE_USER_ADD] = {edit_user_add, false},
    [CHANGE_USER_SET] = {edit_user_set, true},
    [CHANGE_USER_BIND] = {edit_user_bind, false},
    [CHANGE_USER_PASSWORD] = {edit_user_password, false},
    [CHANGE_USER_SIGN_OUT] = {edit_user_sign_out, true},
    [CHANGE_USER_REMOVE] = {edit_user_remove, false},
    [CHANGE_TOKEN_ADD] = {edit_token_add, true},
    [CHANGE_TOKEN_REVOKE] = {edit_token_revoke, true},
    [CHANGE_WORKSPACE_ADD] = {edit_workspace_add, false},
    [CHANGE_WORKSPACE_SET] = {edit_workspace_set, false},
    [CHANGE_WORKSPACE_REMOVE] = {edit_workspace_remove, false},
    [CHANGE_MEMBER_SET] = {edit_member_set, false},
    [CHANGE_MEMBER_REMOVE] = {edit_member_remove, false},
};

/* ---- shared by the kinds ---- */

void edit_result(struct edit *x, str id)
{
    snprintf(x->ret_id, CHANGE_ID_MAX, "%.*s", STR_ARG(id));
}

const struct user *edit_user(struct edit *x)
{
    const struct user *u = roster_user(x->roster, x->change->user_id);
    if (!u)
        err_set(x->e, -ENOENT, "no user %.*s", STR_ARG(x->change->user_id));
    return u;
}

const struct workspace *edit_workspace(struct edit *x)
{
    const struct workspace *w = roster_workspace(x->roster, x->change->workspace_id);
    if (!w)
        err_set(x->e, -ENOENT, "no workspace %.*s", STR_ARG(x->change->workspace_id));
    return w;
}

/* Names are shown to other people: control characters and bidirectional marks could forge text. */
int edit_name(struct edit *x, const char *what, str name, str *ret)
{
    name = str_trim(name);
    if (name.n == 0 || name.n > NAME_MAX_BYTES)
        return err_set(x->e, -EINVAL, "a %s must have 1 to %d bytes", what, NAME_MAX_BYTES);
    if (!utf8_valid(name))
        return err_set(x->e, -EINVAL, "this %s is not valid UTF-8", what);
    if (!plain_is_line(name))
        return err_set(x->e, -EINVAL,
                       "a %s must not contain control characters or bidirectional marks", what);
    *ret = name;
    return 0;
}

/* `doc` is the whole document of the file with changed members: members that this version does not
 * know stay. A document above the limit of the reader is refused, because it could not be loaded.
 */
int edit_write(struct edit *x, const char *kind, str id, const char *file, struct json *doc,
               bool is_stamped)
{
    struct buf text;
    if (is_stamped)
        json_set(x->arena, doc, STR("updatedAt"), json_of_str(str_from(x->now)));
    buf_init(&text, ROSTER_FILE_MAX);
    json_write_pretty(&text, doc);
    buf_add_char(&text, '\n');
    int r = buf_failed(&text) ? err_set(x->e, -EFBIG, "%s/%.*s/%s would be larger than %u bytes",
                                        kind, STR_ARG(id), file, ROSTER_FILE_MAX)
                              : x->docs->ops->write(x->docs, kind, id, file, buf_str(&text), x->e);
    buf_done(&text);
    return r;
}

/* ---- carrying it out ---- */

struct change_visit {
    const struct change *change;
    bool is_sole;
    struct change_result result;
};

/* The roster in memory may be old: another process may have written. */
static int carry_out(struct roster_docs *d, struct arena *a, struct change_visit *v, struct err *e)
{
    struct edit x = {.arena = a, .docs = d, .change = v->change, .ret_id = v->result.id, .e = e};
    struct roster *before = NULL;
    x.now_ms = d->now_ms;
    clock_iso(x.now_ms, x.now);
    int r = roster_load_visit(d, v->is_sole, &before, e);
    if (r < 0)
        return r;
    x.roster = before;
    r = KINDS[v->change->kind].fn(&x);
    assert(r <= 0);
    roster_free(before);
    if (r == 0) /* before the lock is released, so that no watcher reads between the two */
        r = d->ops->stamp(d, e);
    if (r == 0)
        r = roster_load_visit(d, v->is_sole, &v->result.roster, e);
    return r;
}

static int change_in_visit(struct roster_docs *d, void *ctx, struct err *e)
{
    struct change_visit *v = ctx;
    struct arena a;
    roster_free(v->result.roster); /* of an attempt whose connection was lost */
    v->result = (struct change_result){0};
    arena_init(&a);
    int r = carry_out(d, &a, v, e);
    arena_done(&a);
    return r;
}

int change_apply_to(struct roster_source *s, const struct change *c, struct change_result *ret,
                    struct err *e)
{
    struct err ignored = {0};
    struct change_visit v = {.change = c, .is_sole = s->is_sole};
    assert((size_t)c->kind < ARRAY_LEN(KINDS) && KINDS[c->kind].fn);
    e = e ? e : &ignored;
    if (s->is_sole && !KINDS[c->kind].works_alone)
        return err_set(e, -ENOTSUP,
                       "this server has one user and one workspace; run nb init to set up users");
    int r = s->visit(s, true, change_in_visit, &v, e);
    if (r == 0) /* a caller never sees half a result */
        *ret = v.result;
    else
        roster_free(v.result.roster);
    return r;
}

int change_apply(const char *work_dir, bool is_sole, const struct change *c,
                 struct change_result *ret, struct err *e)
{
    struct roster_source files = roster_files(work_dir, is_sole);
    return change_apply_to(&files, c, ret, e);
}

struct change change_clone(struct arena *a, const struct change *c)
{
    struct change n = *c;
    str *texts[] = {&n.user_id,  &n.email,      &n.display_name, &n.password,
                    &n.issuer,   &n.subject,    &n.workspace_id, &n.name,
                    &n.token.id, &n.token.name, &n.token.hash,   &n.token.workspace_id};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i]->p)
            *texts[i] = arena_str(a, *texts[i]);
    n.token.scopes = json_strs_copy(a, c->token.scopes);
    n.token.tools = json_strs_copy(a, c->token.tools);
    n.preferences = c->preferences ? json_clone(a, c->preferences) : NULL;
    n.settings = c->settings ? json_clone(a, c->settings) : NULL;
    n.actor = c->actor ? arena_cstr(a, str_from(c->actor)) : NULL;
    return n;
}
