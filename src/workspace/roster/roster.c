#include "workspace/roster/roster.h"

#include <errno.h>
#include <stdlib.h>

#include "workspace/roster/roster_impl.h"

#define PROBLEMS_MAX 100 /* named; one bad disk should not fill the log */

/* ---- names ---- */

static const str ORG_ROLES[] = {STR_INIT("member"), STR_INIT("admin"), STR_INIT("owner")};
static const str WS_ROLES[] = {STR_INIT("none"), STR_INIT("member"), STR_INIT("admin")};

str org_role_name(enum org_role role)
{
    return ORG_ROLES[role];
}

int org_role_parse(str name, enum org_role *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(ORG_ROLES); i++) {
        if (!str_eq(name, ORG_ROLES[i]))
            continue;
        *ret = (enum org_role)i;
        return 0;
    }
    return -EINVAL;
}

str ws_role_name(enum ws_role role)
{
    return WS_ROLES[role];
}

int ws_role_parse(str name, enum ws_role *ret)
{
    for (size_t i = WS_MEMBER; i < ARRAY_LEN(WS_ROLES); i++) {
        if (!str_eq(name, WS_ROLES[i]))
            continue;
        *ret = (enum ws_role)i;
        return 0;
    }
    return -EINVAL;
}

static bool id_ok(str id, str prefix, bool is_strict)
{
    if (!str_starts(id, prefix) || id.n == prefix.n || id.n > prefix.n + 64)
        return false;
    for (size_t i = prefix.n; i < id.n; i++) {
        char c = id.p[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
        bool is_loose = (c >= 'A' && c <= 'Z') || c == '-';
        if (!is_plain && (is_strict || !is_loose))
            return false;
    }
    return true;
}

bool user_id_ok(str id)
{
    return id_ok(id, STR("usr_"), false);
}

bool workspace_id_ok(str id)
{
    return id_ok(id, STR("ws_"), true);
}

/* ---- looking things up ---- */

const struct user *roster_user(const struct roster *r, str id)
{
    return map_get(&r->by_id, id);
}

const struct user *roster_user_by_email(const struct roster *r, str email)
{
    char lower[256];
    if (email.n == 0 || email.n >= sizeof lower)
        return NULL;
    for (size_t i = 0; i < email.n; i++) {
        char c = email.p[i];
        lower[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
    }
    return map_get(&r->by_email, str_make(lower, email.n));
}

/* Contains the length of the issuer, so that two different pairs never have the same key. */
static str subject_key(struct arena *a, str issuer, str subject)
{
    return arena_printf(a, "%zu:%.*s%.*s", issuer.n, STR_ARG(issuer), STR_ARG(subject));
}

const struct user *roster_user_by_subject(const struct roster *r, str issuer, str subject)
{
    struct arena a;
    arena_init(&a);
    const struct user *u = map_get(&r->by_subject, subject_key(&a, issuer, subject));
    arena_done(&a);
    return u;
}

const struct user_token *roster_token(const struct roster *r, str hash)
{
    return map_get(&r->by_token, hash);
}

const struct workspace *roster_workspace(const struct roster *r, str id)
{
    return map_get(&r->workspaces_by_id, id);
}

/* Ids are shorter than this; what a person types may be anything. */
#define TYPED_ID_MAX 128

int roster_find_user(const struct roster *r, str typed, const struct user **ret, struct err *e)
{
    const struct user *found = roster_user(r, typed), *named = NULL;
    size_t n = 0;
    if (!found)
        found = roster_user_by_email(r, typed);
    for (size_t i = 0; !found && typed.n > 0 && i < r->nusers; i++)
        if (str_eq_nocase(r->users[i].display_name, typed)) {
            named = &r->users[i];
            n++;
        }
    *ret = n == 1 ? named : found;
    if (*ret)
        return 0;
    if (n > 1)
        return err_set(e, -EINVAL, "%zu users are called '%.*s'; use the e-mail address", n,
                       STR_ARG(typed));
    return err_set(e, -ENOENT, "no user '%.*s'; run nb user list to see all users", STR_ARG(typed));
}

/* " (ws_a, ws_b)" */
static void add_ids(const struct roster *r, str name, struct buf *to)
{
    const char *before = " (";
    for (size_t i = 0; i < r->nworkspaces; i++)
        if (str_eq_nocase(r->workspaces[i].name, name)) {
            buf_printf(to, "%s%.*s", before, STR_ARG(r->workspaces[i].id));
            before = ", ";
        }
    buf_add_char(to, ')');
}

static int several_called(const struct roster *r, str name, size_t n, struct err *e)
{
    struct buf ids;
    buf_init(&ids, (size_t)n * 80 + 16);
    add_ids(r, name, &ids);
    int code = err_set(e, -EINVAL, "%zu workspaces are called '%.*s'; use an id%s", n,
                       STR_ARG(name), buf_cstr(&ids));
    buf_done(&ids);
    return code;
}

int roster_find_workspace(const struct roster *r, str typed, const struct workspace **ret,
                          struct err *e)
{
    char id[TYPED_ID_MAX];
    size_t n = 0;
    snprintf(id, sizeof id, "ws_%.*s", STR_ARG(typed));
    *ret = roster_workspace(r, typed);
    if (!*ret)
        *ret = roster_workspace(r, str_from(id));
    for (size_t i = 0; !*ret && i < r->nworkspaces; i++)
        n += str_eq_nocase(r->workspaces[i].name, typed);
    for (size_t i = 0; n == 1 && i < r->nworkspaces; i++)
        if (str_eq_nocase(r->workspaces[i].name, typed))
            *ret = &r->workspaces[i];
    if (*ret)
        return 0;
    if (n > 1)
        return several_called(r, typed, n, e);
    return err_set(e, -ENOENT, "no workspace '%.*s'; run nb workspace list to see all workspaces",
                   STR_ARG(typed));
}

/* ---- members ---- */

#define MEMBERS_SCANNED 8u /* up to this many are found as fast without an index */

static size_t first_slot(const struct member_index *x, str user_id)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a; ids are given out by this server */
    for (size_t i = 0; i < user_id.n; i++)
        h = (h ^ (unsigned char)user_id.p[i]) * 0x100000001b3u;
    return (size_t)(h ^ h >> 32) & (x->nslots - 1);
}

void workspace_index_init(struct arena *a, struct workspace *w, size_t max)
{
    w->by_user = (struct member_index){0};
    if (max <= MEMBERS_SCANNED)
        return;
    w->by_user.nslots = 16;
    while (w->by_user.nslots < 2 * max)
        w->by_user.nslots *= 2;
    w->by_user.slots = arena_array(a, w->by_user.nslots, sizeof *w->by_user.slots);
}

void workspace_index_add(struct workspace *w, size_t member)
{
    struct member_index *x = &w->by_user;
    if (!x->slots)
        return;
    size_t at = first_slot(x, w->members[member].user->id);
    while (x->slots[at] > 0)
        at = (at + 1) & (x->nslots - 1);
    x->slots[at] = (uint32_t)member + 1;
}

static const struct member *find_member(const struct workspace *w, str user_id)
{
    const struct member_index *x = &w->by_user;
    for (size_t i = 0; !x->slots && i < w->nmembers; i++)
        if (str_eq(w->members[i].user->id, user_id))
            return &w->members[i];
    if (!x->slots)
        return NULL;
    for (size_t at = first_slot(x, user_id); x->slots[at] > 0; at = (at + 1) & (x->nslots - 1))
        if (str_eq(w->members[x->slots[at] - 1].user->id, user_id))
            return &w->members[x->slots[at] - 1];
    return NULL;
}

enum ws_role workspace_role(const struct workspace *w, str user_id)
{
    const struct member *m = find_member(w, user_id);
    return m ? m->role : WS_NONE;
}

size_t workspace_admins(const struct workspace *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->nmembers; i++)
        n += w->members[i].role == WS_ADMIN;
    return n;
}

str roster_operator(const struct roster *r)
{
    const struct user *first = NULL;
    for (size_t i = 0; i < r->nusers; i++) {
        const struct user *u = &r->users[i];
        if (u->role == ORG_OWNER && (!first || u->created_ms < first->created_ms))
            first = u;
    }
    return first ? first->id : STR(ROSTER_SOLE_USER);
}

size_t roster_owners(const struct roster *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->nusers; i++)
        n += r->users[i].role == ORG_OWNER;
    return n;
}

size_t roster_memberships(const struct roster *r, str user_id, const struct workspace **ret_one)
{
    size_t n = 0;
    for (size_t i = 0; i < r->nworkspaces; i++) {
        if (workspace_role(&r->workspaces[i], user_id) == WS_NONE)
            continue;
        if (n++ == 0 && ret_one)
            *ret_one = &r->workspaces[i];
    }
    return n;
}

/* ---- reading ---- */

static void note_problem(struct roster *r, const char *message)
{
    if (r->problems.len >= PROBLEMS_MAX)
        return;
    if (!r->problems.items)
        r->problems.items = arena_array(&r->arena, PROBLEMS_MAX, sizeof(str));
    r->problems.items[r->problems.len++] = arena_str(&r->arena, str_from(message));
}

static void index_user(struct roster *r, struct user *u)
{
    map_put(&r->by_id, u->id, u);
    if (u->email.n > 0 && map_get(&r->by_email, u->email)) {
        struct err e;
        err_set(&e, -EEXIST,
                "%.*s has the e-mail address of another user and cannot log in with it",
                STR_ARG(u->id));
        note_problem(r, e.msg);
    } else if (u->email.n > 0) {
        map_put(&r->by_email, u->email, u);
    }
    if (u->subject.n > 0)
        map_put(&r->by_subject, subject_key(&r->arena, u->issuer, u->subject), u);
    for (size_t i = 0; i < u->ntokens; i++)
        map_put(&r->by_token, u->tokens[i].hash, &u->tokens[i]);
}

static int read_users(struct roster_docs *d, struct roster *r, struct err *e)
{
    struct json_strs ids;
    int rc = d->ops->list(d, &r->arena, "users", user_id_ok, ROSTER_USERS_MAX, &ids, e);
    if (rc < 0)
        return rc;
    r->users = arena_array(&r->arena, ids.len, sizeof *r->users);
    for (size_t i = 0; i < ids.len; i++) {
        struct err problem = {0};
        struct user *u = &r->users[r->nusers];
        rc = user_read(&r->arena, d, ids.items[i], u, &problem);
        if (rc < 0) {
            note_problem(r, problem.msg);
            r->misses_users |= rc != -ENOENT;
            *u = (struct user){0};
            continue;
        }
        index_user(r, u);
        r->nusers++;
    }
    return 0;
}

static int read_workspaces(struct roster_docs *d, struct roster *r, struct err *e)
{
    struct json_strs ids;
    int rc =
        d->ops->list(d, &r->arena, "workspaces", workspace_id_ok, ROSTER_WORKSPACES_MAX, &ids, e);
    if (rc < 0)
        return rc;
    r->workspaces = arena_array(&r->arena, ids.len, sizeof *r->workspaces);
    for (size_t i = 0; i < ids.len; i++) {
        struct err problem = {0};
        struct workspace *w = &r->workspaces[r->nworkspaces];
        if (workspace_read(&r->arena, d, ids.items[i], r, w, &problem) < 0) {
            note_problem(r, problem.msg);
            continue;
        }
        map_put(&r->workspaces_by_id, w->id, w);
        r->nworkspaces++;
    }
    return 0;
}

static void make_sole(struct roster_docs *d, struct roster *r)
{
    struct arena *a = &r->arena;
    struct user *u = ARENA_NEW(a, struct user);
    struct err e = {0};
    int rc = user_read(a, d, STR(ROSTER_SOLE_USER), u, &e);
    if (rc < 0) {
        if (rc != -ENOENT)
            note_problem(r, e.msg);
        *u = (struct user){.id = STR(ROSTER_SOLE_USER), .preferences = json_new(a, JSON_OBJECT)};
        u->profile = json_new(a, JSON_OBJECT);
    }
    u->role = ORG_OWNER;
    if (u->email.n == 0)
        u->email = STR("dev@localhost");
    if (u->display_name.n == 0)
        u->display_name = STR("Developer");
    r->users = u;
    r->nusers = 1;
    index_user(r, u);

    struct workspace *w = ARENA_NEW(a, struct workspace);
    struct member *m = ARENA_NEW(a, struct member);
    *m = (struct member){.user = u, .role = WS_ADMIN};
    *w = (struct workspace){.id = STR(ROSTER_SOLE_WORKSPACE),
                            .name = STR("Default"),
                            .root = r->work_dir,
                            .members = m,
                            .nmembers = 1,
                            .doc = json_new(a, JSON_OBJECT)};
    r->workspaces = w;
    r->nworkspaces = 1;
    map_put(&r->workspaces_by_id, w->id, w);
}

int roster_load_visit(struct roster_docs *d, bool is_sole, struct roster **ret, struct err *e)
{
    struct roster *r = xcalloc(1, sizeof *r);
    arena_init(&r->arena);
    r->work_dir = arena_cstr(&r->arena, str_from(d->work_dir));
    r->is_sole = is_sole;
    r->mark = d->mark;
    r->generation = d->generation;
    int rc = 0;
    if (is_sole)
        make_sole(d, r);
    else
        rc = read_users(d, r, e);
    if (rc == 0 && !is_sole)
        rc = read_workspaces(d, r, e);
    if (rc < 0) {
        roster_free(r);
        return rc;
    }
    *ret = r;
    return 0;
}

struct loading {
    bool is_sole;
    struct roster *roster;
};

static int load_in_visit(struct roster_docs *d, void *ctx, struct err *e)
{
    struct loading *x = ctx;
    roster_free(x->roster); /* of an attempt whose connection was lost */
    x->roster = NULL;
    return roster_load_visit(d, x->is_sole, &x->roster, e);
}

int roster_load_from(struct roster_source *s, struct roster **ret, struct err *e)
{
    struct loading x = {.is_sole = s->is_sole};
    int rc = s->visit(s, false, load_in_visit, &x, e);
    if (rc < 0)
        roster_free(x.roster);
    else
        *ret = x.roster;
    return rc;
}

int roster_load(const char *work_dir, bool is_sole, struct roster **ret, struct err *e)
{
    struct roster_source files = roster_files(work_dir, is_sole);
    return roster_load_from(&files, ret, e);
}

void roster_free(struct roster *r)
{
    if (!r)
        return;
    map_done(&r->by_id);
    map_done(&r->by_email);
    map_done(&r->by_token);
    map_done(&r->by_subject);
    map_done(&r->workspaces_by_id);
    arena_done(&r->arena);
    free(r);
}
