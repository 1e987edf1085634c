#include "workspace/actor.h"

#include <stdlib.h>

#include "base/clock.h"
#include "workspace/directory.h"

/* ---- life ---- */

static struct actor *actor_alloc(const struct directory *d, str workspace_id)
{
    struct actor *a = xcalloc(1, sizeof *a);
    arena_init(&a->arena);
    a->refs = 1;
    a->directory = d;
    a->workspace_id = arena_str(&a->arena, workspace_id);
    return a;
}

struct actor *actor_ref(const struct actor *a)
{
    struct actor *shared = (struct actor *)a; /* the count is not part of what it says */
    if (shared)
        shared->refs++;
    return shared;
}

struct actor *actor_unref(struct actor *a)
{
    if (!a || --a->refs > 0)
        return NULL;
    arena_done(&a->arena);
    free(a);
    return NULL;
}

static struct principal copy_principal(struct arena *m, const struct principal *p)
{
    struct principal copy = *p;
    copy.user_id = arena_str(m, p->user_id);
    copy.token_id = arena_str(m, p->token_id);
    copy.session_id = arena_str(m, p->session_id);
    copy.bound_workspace_id = arena_str(m, p->bound_workspace_id);
    return copy;
}

static struct json_strs copy_globs(struct arena *m, struct json_strs in)
{
    struct json_strs out = {arena_array(m, in.len + 1, sizeof(str)), in.len};
    for (size_t i = 0; i < in.len; i++)
        out.items[i] = arena_str(m, in.items[i]);
    return out;
}

/* ---- deriving ---- */

static bool same_globs(struct json_strs x, struct json_strs y)
{
    for (size_t i = 0; x.len == y.len && i < x.len; i++)
        if (!str_eq(x.items[i], y.items[i]))
            return false;
    return x.len == y.len;
}

static bool has_filter(const struct actor *a, const struct tool_filter *f)
{
    for (size_t i = 0; i < a->nfilters; i++)
        if (a->filters[i].kind == f->kind && same_globs(a->filters[i].globs, f->globs))
            return true;
    return false;
}

static bool same_principal(const struct principal *x, const struct principal *y)
{
    return str_eq(x->user_id, y->user_id) && str_eq(x->token_id, y->token_id) &&
           str_eq(x->session_id, y->session_id) && x->how == y->how && x->scopes == y->scopes &&
           x->is_operator == y->is_operator && x->expires_ms == y->expires_ms &&
           str_eq(x->bound_workspace_id, y->bound_workspace_id);
}

/* An author known from the log adds nothing when the same person is there with a credential: the
 * role is looked up either way, and a token's filter is stored beside the author. */
static bool adds_nothing(const struct actor *a, const struct principal *p)
{
    for (size_t i = 0; i < a->npeople; i++) {
        const struct principal *known = &a->people[i];
        if (same_principal(known, p) ||
            (p->how == AUTH_BY_LOG && str_eq(known->user_id, p->user_id)))
            return true;
    }
    return false;
}

/* A copy with room for `people` and `filters` more; both arrays are writable until it is
 * returned to a caller. */
static struct actor *copy_with_room(const struct actor *a, size_t people, size_t filters)
{
    struct actor *copy = actor_alloc(a->directory, a->workspace_id);
    struct arena *m = &copy->arena;
    struct principal *p = arena_array(m, a->npeople + people, sizeof *p);
    struct tool_filter *f = arena_array(m, a->nfilters + filters + 1, sizeof *f);
    for (size_t i = 0; i < a->npeople; i++)
        p[i] = copy_principal(m, &a->people[i]);
    for (size_t i = 0; i < a->nfilters; i++)
        f[i] = (struct tool_filter){a->filters[i].kind, copy_globs(m, a->filters[i].globs)};
    copy->people = p;
    copy->npeople = a->npeople;
    copy->filters = f;
    copy->nfilters = a->nfilters;
    copy->is_overfull = a->is_overfull;
    return copy;
}

static void add_person(struct actor *a, const struct principal *p)
{
    struct principal *people = (struct principal *)a->people;
    if (adds_nothing(a, p))
        return;
    if (a->npeople >= ACTOR_PEOPLE_MAX)
        a->is_overfull = true;
    else
        people[a->npeople++] = copy_principal(&a->arena, p);
}

static void add_filter(struct actor *a, const struct tool_filter *f)
{
    struct tool_filter *filters = (struct tool_filter *)a->filters;
    if (has_filter(a, f))
        return;
    if (a->nfilters >= ACTOR_FILTERS_MAX)
        a->is_overfull = true;
    else
        filters[a->nfilters++] = (struct tool_filter){f->kind, copy_globs(&a->arena, f->globs)};
}

struct actor *actor_new(const struct directory *d, str workspace_id, const struct principal *who,
                        struct json_strs tools)
{
    struct actor *a = actor_alloc(d, workspace_id);
    struct principal *p = arena_array(&a->arena, 1, sizeof *p);
    struct tool_filter *f = arena_array(&a->arena, 1, sizeof *f);
    *p = copy_principal(&a->arena, who);
    a->people = p;
    a->npeople = 1;
    a->filters = f;
    if (tools.items)
        add_filter(a, &(struct tool_filter){FILTER_TOKEN, tools});
    return a;
}

struct actor *actor_new_operator(const struct directory *d, str workspace_id, str user_id)
{
    struct principal p = {
        .user_id = user_id, .how = AUTH_BY_SOCKET, .scopes = SCOPE_ALL, .is_operator = true};
    return actor_new(d, workspace_id, &p, (struct json_strs){0});
}

struct actor *actor_narrow(struct actor *a, enum filter_kind kind, struct json_strs globs)
{
    struct tool_filter f = {kind, globs};
    if (!globs.items || has_filter(a, &f))
        return actor_ref(a);
    struct actor *copy = copy_with_room(a, 0, 1);
    add_filter(copy, &f);
    return copy;
}

static bool includes(const struct actor *a, const struct actor *b)
{
    for (size_t i = 0; i < b->npeople; i++)
        if (!adds_nothing(a, &b->people[i]))
            return false;
    for (size_t i = 0; i < b->nfilters; i++)
        if (!has_filter(a, &b->filters[i]))
            return false;
    return !b->is_overfull || a->is_overfull;
}

struct actor *actor_join(struct actor *a, const struct actor *b)
{
    if (a == b || includes(a, b))
        return actor_ref(a);
    struct actor *copy = copy_with_room(a, b->npeople, b->nfilters);
    for (size_t i = 0; i < b->npeople; i++)
        add_person(copy, &b->people[i]);
    for (size_t i = 0; i < b->nfilters; i++)
        add_filter(copy, &b->filters[i]);
    copy->is_overfull |= b->is_overfull;
    return copy;
}

struct actor *actor_join_author(struct actor *a, str user_id, struct json_strs tools)
{
    struct principal p = {.user_id = user_id, .how = AUTH_BY_LOG, .scopes = SCOPE_ALL};
    struct actor *author = actor_new(a->directory, a->workspace_id, &p, tools);
    struct actor *both = actor_join(a, author);
    actor_unref(author);
    return both;
}

/* ---- asking ---- */

static bool is_admin_now(const struct actor *a, const struct principal *p)
{
    struct viewer now = {0};
    if (p->is_operator || !a->directory)
        return p->is_operator;
    return directory_viewer(a->directory, a->workspace_id, p->user_id, &now) &&
           now.is_workspace_admin;
}

static bool has_token_now(const struct directory *d, const struct principal *p)
{
    const struct user *u = roster_user(directory_roster(d), p->user_id);
    for (size_t i = 0; u && i < u->ntokens; i++)
        if (str_eq(u->tokens[i].id, p->token_id))
            return true;
    return p->token_id.n == 0;
}

static bool is_current(const struct actor *a, const struct principal *p, int64_t now_ms)
{
    struct viewer now = {0};
    if (p->is_operator || p->how == AUTH_BY_LOG || !a->directory)
        return true;
    if (p->how == AUTH_BY_TOKEN && p->expires_ms > 0 && now_ms >= p->expires_ms)
        return false;
    return has_token_now(a->directory, p) &&
           (a->workspace_id.n == 0 ||
            directory_viewer(a->directory, a->workspace_id, p->user_id, &now));
}

bool actor_is_current(const struct actor *a, int64_t now_ms)
{
    for (size_t i = 0; i < a->npeople; i++)
        if (!is_current(a, &a->people[i], now_ms))
            return false;
    return true;
}

bool actor_is_admin(const struct actor *a)
{
    for (size_t i = 0; i < a->npeople; i++)
        if (!is_admin_now(a, &a->people[i]))
            return false;
    return !a->is_overfull;
}

bool actor_is_operator(const struct actor *a)
{
    for (size_t i = 0; i < a->npeople; i++)
        if (!a->people[i].is_operator)
            return false;
    return !a->is_overfull;
}

static bool is_owner_now(const struct actor *a, const struct principal *p)
{
    const struct roster *r = a->directory ? directory_roster(a->directory) : NULL;
    const struct user *u = r ? roster_user(r, p->user_id) : NULL;
    return p->is_operator || (u && u->role == ORG_OWNER);
}

bool actor_is_owner(const struct actor *a)
{
    for (size_t i = 0; i < a->npeople; i++)
        if (!is_owner_now(a, &a->people[i]))
            return false;
    return !a->is_overfull;
}

bool actor_has_scope(const struct actor *a, enum auth_scope scope)
{
    for (size_t i = 0; i < a->npeople; i++)
        if ((a->people[i].scopes & (unsigned)scope) != (unsigned)scope)
            return false;
    return true;
}

bool actor_is_narrowed(const struct actor *a)
{
    return a->nfilters > 0 || a->is_overfull;
}

bool actor_has_user(const struct actor *a, str user_id)
{
    for (size_t i = 0; i < a->npeople; i++)
        if (str_eq(a->people[i].user_id, user_id))
            return true;
    return false;
}

bool actor_has_token(const struct actor *a, str token_id)
{
    for (size_t i = 0; token_id.n > 0 && i < a->npeople; i++)
        if (str_eq(a->people[i].token_id, token_id))
            return true;
    return false;
}

const struct viewer *actor_viewer(const struct actor *a, struct arena *arena)
{
    struct viewer *v = arena_array(arena, a->npeople, sizeof *v);
    for (size_t i = 0; i < a->npeople; i++)
        v[i] = (struct viewer){
            .user_id = a->people[i].user_id,
            .is_workspace_admin = is_admin_now(a, &a->people[i]),
            .also = i + 1 < a->npeople ? &v[i + 1] : NULL,
        };
    return v;
}

bool actor_allows(const struct actor *a, const struct conv_acl *acl, enum conv_right right)
{
    for (size_t i = 0; i < a->npeople; i++) {
        struct viewer v = {a->people[i].user_id, is_admin_now(a, &a->people[i]), NULL};
        if (!access_allows(&v, acl, right))
            return false;
    }
    return !a->is_overfull;
}

bool actor_covers(const struct actor *a, const struct actor *b)
{
    for (size_t i = 0; i < a->nfilters; i++)
        if (!has_filter(b, &a->filters[i]))
            return false;
    return !a->is_overfull;
}

/* ---- storing ---- */

static const char *const HOW[] = {
    [AUTH_BY_MODE] = "mode",   [AUTH_BY_SOCKET] = "socket",   [AUTH_BY_KEY] = "key",
    [AUTH_BY_TOKEN] = "token", [AUTH_BY_SESSION] = "session", [AUTH_BY_JWT] = "jwt",
    [AUTH_BY_LOG] = "log",
};

static const char *const KINDS[] = {
    [FILTER_TOKEN] = "token", [FILTER_REQUEST] = "request", [FILTER_PROFILE] = "profile"};

static void write_optional(struct json_writer *w, const char *key, str s)
{
    if (s.n > 0)
        jw_kstr(w, key, s);
}

static void write_principal(struct json_writer *w, const struct principal *p)
{
    jw_object(w);
    jw_kstr(w, "userId", p->user_id);
    jw_kstr(w, "how", str_from(HOW[p->how]));
    jw_kint(w, "scopes", p->scopes);
    write_optional(w, "tokenId", p->token_id);
    write_optional(w, "sessionId", p->session_id);
    write_optional(w, "boundWorkspaceId", p->bound_workspace_id);
    if (p->expires_ms > 0)
        jw_kint(w, "expiresMs", p->expires_ms);
    if (p->is_operator)
        jw_kbool(w, "operator", true);
    jw_end(w);
}

void actor_write(const struct actor *a, struct json_writer *w)
{
    jw_object(w);
    jw_key(w, "people");
    jw_array(w);
    for (size_t i = 0; i < a->npeople; i++)
        write_principal(w, &a->people[i]);
    jw_end(w);
    if (a->nfilters > 0) {
        jw_key(w, "filters");
        jw_array(w);
        for (size_t i = 0; i < a->nfilters; i++) {
            jw_object(w);
            jw_kstr(w, "kind", str_from(KINDS[a->filters[i].kind]));
            jw_key(w, "tools");
            jw_array(w);
            for (size_t k = 0; k < a->filters[i].globs.len; k++)
                jw_str(w, a->filters[i].globs.items[k]);
            jw_end(w);
            jw_end(w);
        }
        jw_end(w);
    }
    if (a->is_overfull)
        jw_kbool(w, "overfull", true);
    jw_end(w);
}

static int find_name(const char *const *names, size_t n, str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(name, str_from(names[i])))
            return (int)i;
    return -1;
}

static bool read_principal(const struct json *v, struct principal *ret)
{
    int how = find_name(HOW, ARRAY_LEN(HOW), json_get_string(v, "how"));
    *ret = (struct principal){
        .user_id = json_get_string(v, "userId"),
        .scopes = (unsigned)json_get_int(v, "scopes", 0) & SCOPE_ALL,
        .token_id = json_get_string(v, "tokenId"),
        .session_id = json_get_string(v, "sessionId"),
        .bound_workspace_id = json_get_string(v, "boundWorkspaceId"),
        .expires_ms = json_get_int(v, "expiresMs", 0),
        .is_operator = json_get_bool(v, "operator", false),
    };
    if (how < 0 || ret->user_id.n == 0)
        return false;
    ret->how = (enum auth_how)how;
    return true;
}

static bool read_filter(struct arena *m, const struct json *v, struct tool_filter *ret)
{
    int kind = find_name(KINDS, ARRAY_LEN(KINDS), json_get_string(v, "kind"));
    const struct json *list = json_get(v, "tools");
    if (kind < 0 || !json_is(list, JSON_ARRAY))
        return false;
    *ret = (struct tool_filter){(enum filter_kind)kind,
                                {arena_array(m, list->len + 1, sizeof(str)), list->len}};
    for (size_t i = 0; i < list->len; i++) {
        if (!json_is(&list->items[i], JSON_STRING))
            return false;
        ret->globs.items[i] = json_string(&list->items[i], STR_NONE);
    }
    return true;
}

static bool read_all(struct actor *a, const struct json *people, const struct json *filters)
{
    for (size_t i = 0; i < people->len; i++) {
        struct principal p;
        if (!read_principal(&people->items[i], &p))
            return false;
        add_person(a, &p);
    }
    for (size_t i = 0; filters && i < filters->len; i++) {
        struct tool_filter f;
        if (!read_filter(&a->arena, &filters->items[i], &f))
            return false;
        add_filter(a, &f);
    }
    return a->npeople > 0 && !a->is_overfull;
}

struct actor *actor_read(const struct directory *d, str workspace_id, const struct json *v)
{
    const struct json *people = json_get(v, "people"), *filters = json_get(v, "filters");
    if (!json_is(people, JSON_ARRAY) || (filters && !json_is(filters, JSON_ARRAY)) ||
        people->len > ACTOR_PEOPLE_MAX || (filters && filters->len > ACTOR_FILTERS_MAX))
        return NULL;
    struct actor *a = actor_alloc(d, workspace_id);
    a->people = arena_array(&a->arena, people->len + 1, sizeof(struct principal));
    a->filters =
        arena_array(&a->arena, (filters ? filters->len : 0) + 1, sizeof(struct tool_filter));
    a->is_overfull = json_get_bool(v, "overfull", false);
    if (read_all(a, people, filters))
        return a;
    return actor_unref(a);
}

str actor_sole_user(const struct actor *a)
{
    for (size_t i = 1; i < a->npeople; i++)
        if (!str_eq(a->people[i].user_id, a->people[0].user_id))
            return STR_NONE;
    return a->is_overfull ? STR_NONE : a->people[0].user_id;
}
