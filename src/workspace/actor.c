#include "workspace/actor.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "workspace/roster/directory.h"

/* ---- one block: the actor, its people, its filters, their globs, then the text ---- */

static size_t count_globs(const struct actor *a)
{
    size_t n = 0;
    for (size_t i = 0; i < a->nfilters; i++)
        n += a->filters[i].globs.len;
    return n;
}

/* Each string with a NUL behind it. */
static size_t text_size(const struct actor *a)
{
    size_t n = a->workspace_id.n + a->grant.path.n + a->grant.id.n + 3;
    for (size_t i = 0; i < a->npeople; i++) {
        const struct principal *p = &a->people[i];
        n += p->user_id.n + p->token_id.n + p->session_id.n + p->bound_workspace_id.n + 4;
    }
    for (size_t i = 0; i < a->nfilters; i++)
        for (size_t k = 0; k < a->filters[i].globs.len; k++)
            n += a->filters[i].globs.items[k].n + 1;
    return n;
}

static str put_text(char **at, str s)
{
    str copy = {*at, s.n};
    if (s.n > 0)
        memcpy(*at, s.p, s.n);
    *at += s.n + 1;
    return copy;
}

static void put_person(struct principal *to, const struct principal *p, char **text)
{
    *to = *p;
    to->user_id = put_text(text, p->user_id);
    to->token_id = put_text(text, p->token_id);
    to->session_id = put_text(text, p->session_id);
    to->bound_workspace_id = put_text(text, p->bound_workspace_id);
}

/* Copies `from`, whose parts belong to others, into one block. */
static struct actor *actor_build(const struct actor *from)
{
    assert(from->npeople <= ACTOR_PEOPLE_MAX && from->nfilters <= ACTOR_FILTERS_MAX);
    size_t nglobs = count_globs(from);
    struct actor *a = xcalloc(1, sizeof *a + from->npeople * sizeof(struct principal) +
                                     from->nfilters * sizeof(struct tool_filter) +
                                     nglobs * sizeof(str) + text_size(from));
    struct principal *people = (struct principal *)(a + 1);
    struct tool_filter *filters = (struct tool_filter *)(people + from->npeople);
    str *globs = (str *)(filters + from->nfilters);
    char *text = (char *)(globs + nglobs);
    const char *end = text + text_size(from);
    *a = *from;
    a->refs = 1;
    a->workspace_id = put_text(&text, from->workspace_id);
    a->grant.path = put_text(&text, from->grant.path);
    a->grant.id = put_text(&text, from->grant.id);
    a->people = people;
    a->filters = filters;
    for (size_t i = 0; i < from->npeople; i++)
        put_person(&people[i], &from->people[i], &text);
    for (size_t i = 0; i < from->nfilters; i++) {
        const struct tool_filter *f = &from->filters[i];
        filters[i] = (struct tool_filter){f->kind, {globs, f->globs.len}};
        for (size_t k = 0; k < f->globs.len; k++)
            *globs++ = put_text(&text, f->globs.items[k]);
    }
    assert(text == end);
    return a;
}

struct actor *actor_ref(const struct actor *a)
{
    struct actor *shared = (struct actor *)a; /* the reference count may change */
    assert(!shared || shared->refs > 0);
    if (shared)
        shared->refs++;
    return shared;
}

struct actor *actor_unref(struct actor *a)
{
    assert(!a || a->refs > 0);
    if (a && --a->refs == 0)
        free(a);
    return NULL;
}

/* ---- deriving ---- */

static bool same_globs(struct json_strs x, struct json_strs y)
{
    for (size_t i = 0; x.len == y.len && i < x.len; i++)
        if (!str_eq(x.items[i], y.items[i]))
            return false;
    return x.len == y.len;
}

static bool has_filter(const struct tool_filter *all, size_t n, const struct tool_filter *f)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].kind == f->kind && same_globs(all[i].globs, f->globs))
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

/* An author known from the log adds nothing when the same person is present with a credential: the
 * role is looked up either way, and a token's filter is stored beside the author. */
static bool adds_nothing(const struct principal *all, size_t n, const struct principal *p)
{
    for (size_t i = 0; i < n; i++)
        if (same_principal(&all[i], p) ||
            (p->how == AUTH_BY_LOG && str_eq(all[i].user_id, p->user_id)))
            return true;
    return false;
}

/* The parts of an actor of several people; the text belongs to others. */
struct draft {
    struct principal people[ACTOR_PEOPLE_MAX];
    struct tool_filter filters[ACTOR_FILTERS_MAX];
    struct actor actor; /* of these arrays */
};

static void draft_init(struct draft *d, const struct directory *dir, str workspace_id)
{
    d->actor = (struct actor){
        .directory = dir, .workspace_id = workspace_id, .people = d->people, .filters = d->filters};
}

static void add_person(struct draft *d, const struct principal *p)
{
    struct actor *a = &d->actor;
    if (adds_nothing(d->people, a->npeople, p))
        return;
    if (a->npeople >= ACTOR_PEOPLE_MAX)
        a->is_overfull = true;
    else
        d->people[a->npeople++] = *p;
}

static void add_filter(struct draft *d, const struct tool_filter *f)
{
    struct actor *a = &d->actor;
    if (has_filter(d->filters, a->nfilters, f))
        return;
    if (a->nfilters >= ACTOR_FILTERS_MAX)
        a->is_overfull = true;
    else
        d->filters[a->nfilters++] = *f;
}

static void add_actor(struct draft *d, const struct actor *a)
{
    for (size_t i = 0; i < a->npeople; i++)
        add_person(d, &a->people[i]);
    for (size_t i = 0; i < a->nfilters; i++)
        add_filter(d, &a->filters[i]);
    d->actor.is_overfull |= a->is_overfull;
}

struct actor *actor_new(const struct directory *d, str workspace_id, const struct principal *who,
                        struct json_strs tools)
{
    struct tool_filter f = {FILTER_TOKEN, tools};
    struct actor from = {.directory = d,
                         .workspace_id = workspace_id,
                         .people = who,
                         .npeople = 1,
                         .filters = &f,
                         .nfilters = tools.items ? 1 : 0};
    return actor_build(&from);
}

struct actor *actor_enter(struct actor *a, str workspace_id)
{
    struct actor from = *a;
    from.workspace_id = workspace_id;
    struct actor *there = actor_build(&from);
    actor_unref(a);
    return there;
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
    struct draft d;
    if (!globs.items || has_filter(a->filters, a->nfilters, &f))
        return actor_ref(a);
    draft_init(&d, a->directory, a->workspace_id);
    add_actor(&d, a);
    add_filter(&d, &f);
    if (kind != FILTER_TOKEN) /* messages sent with a token do not come from a terminal */
        d.actor.grant = a->grant;
    return actor_build(&d.actor);
}

struct actor *actor_with_grant(struct actor *a, const struct dir_grant *grant)
{
    struct actor from = *a;
    if (grant->path.n == 0 || !actor_is_operator(a))
        return actor_ref(a);
    from.grant = *grant;
    return actor_build(&from);
}

static bool includes(const struct actor *a, const struct actor *b)
{
    for (size_t i = 0; i < b->npeople; i++)
        if (!adds_nothing(a->people, a->npeople, &b->people[i]))
            return false;
    for (size_t i = 0; i < b->nfilters; i++)
        if (!has_filter(a->filters, a->nfilters, &b->filters[i]))
            return false;
    return !b->is_overfull || a->is_overfull;
}

struct actor *actor_join(struct actor *a, const struct actor *b)
{
    struct draft d;
    bool has_same_grant = dir_grant_same(&a->grant, &b->grant);
    if (a == b || (includes(a, b) && (has_same_grant || a->grant.path.n == 0)))
        return actor_ref(a);
    draft_init(&d, a->directory, a->workspace_id);
    add_actor(&d, a);
    add_actor(&d, b);
    if (has_same_grant)
        d.actor.grant = a->grant;
    return actor_build(&d.actor);
}

struct actor *actor_join_author(struct actor *a, str user_id, struct json_strs tools)
{
    struct principal p = {.user_id = user_id, .how = AUTH_BY_LOG, .scopes = SCOPE_ALL};
    struct actor *author = actor_new(a->directory, a->workspace_id, &p, tools);
    /* The log does not store from which directory a message was sent. So an author who is already
     * part of the actor does not remove its grant. */
    struct actor *both = includes(a, author) ? actor_ref(a) : actor_join(a, author);
    actor_unref(author);
    return both;
}

bool actor_covers(const struct actor *a, const struct actor *b)
{
    for (size_t i = 0; i < a->nfilters; i++)
        if (!has_filter(b->filters, b->nfilters, &a->filters[i]))
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
    [FILTER_TOKEN] = "token",
    [FILTER_REQUEST] = "request",
    [FILTER_PROFILE] = "profile",
    [FILTER_APP] = "app",
};

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
    jw_karray(w, "people");
    for (size_t i = 0; i < a->npeople; i++)
        write_principal(w, &a->people[i]);
    jw_end(w);
    if (a->nfilters > 0) {
        jw_karray(w, "filters");
        for (size_t i = 0; i < a->nfilters; i++) {
            jw_object(w);
            jw_kstr(w, "kind", str_from(KINDS[a->filters[i].kind]));
            jw_karray(w, "tools");
            for (size_t k = 0; k < a->filters[i].globs.len; k++)
                jw_str(w, a->filters[i].globs.items[k]);
            jw_end(w);
            jw_end(w);
        }
        jw_end(w);
    }
    if (a->is_overfull)
        jw_kbool(w, "overfull", true);
    if (a->grant.path.n > 0) {
        jw_kobject(w, "directory");
        jw_kstr(w, "path", a->grant.path);
        jw_kstr(w, "id", a->grant.id);
        jw_end(w);
    }
    jw_end(w);
}

static bool read_principal(const struct json *v, struct principal *ret)
{
    ptrdiff_t how = STR_INDEX(json_get_string(v, "how"), HOW);
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
    ptrdiff_t kind = STR_INDEX(json_get_string(v, "kind"), KINDS);
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

static bool read_all(struct arena *m, struct draft *d, const struct json *people,
                     const struct json *filters)
{
    for (size_t i = 0; i < people->len; i++) {
        struct principal p;
        if (!read_principal(&people->items[i], &p))
            return false;
        add_person(d, &p);
    }
    for (size_t i = 0; filters && i < filters->len; i++) {
        struct tool_filter f;
        if (!read_filter(m, &filters->items[i], &f))
            return false;
        add_filter(d, &f);
    }
    return d->actor.npeople > 0 && !d->actor.is_overfull;
}

struct actor *actor_read(const struct directory *d, str workspace_id, const struct json *v)
{
    const struct json *people = json_get(v, "people"), *filters = json_get(v, "filters");
    if (!json_is(people, JSON_ARRAY) || (filters && !json_is(filters, JSON_ARRAY)) ||
        people->len > ACTOR_PEOPLE_MAX || (filters && filters->len > ACTOR_FILTERS_MAX))
        return NULL;
    struct draft draft;
    struct arena globs;
    draft_init(&draft, d, workspace_id);
    draft.actor.is_overfull = json_get_bool(v, "overfull", false);
    arena_init(&globs);
    bool is_read = read_all(&globs, &draft, people, filters);
    const struct json *dir = json_get(v, "directory");
    if (is_read && actor_is_operator(&draft.actor))
        draft.actor.grant =
            (struct dir_grant){json_get_string(dir, "path"), json_get_string(dir, "id")};
    struct actor *a = is_read ? actor_build(&draft.actor) : NULL;
    arena_done(&globs);
    return a;
}
