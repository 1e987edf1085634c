/* carry_consents.c - permissions that people gave permanently (runtime/consent.h), and documents of
 * users and workspaces, between files and tables. */
#include <errno.h>

#include "os/file.h"
#include "store/consent_table.h"
#include "store/shared/pg_carry.h"
#include "workspace/roster/roster.h"
#include "workspace/roster/roster_source.h"

#define CONSENTS_NAME "permissions.json"
#define FILE_MAX      (256u * 1024)
#define PEOPLE_MAX    100000

/* ---- permissions ---- */

struct consent_rows {
    struct arena *arena;
    str workspace_id;
    struct consent_row *rows;
    size_t n;
    int64_t added;
};

static int select_consents(struct pg_conn *c, void *ctx, struct err *e)
{
    struct consent_rows *x = ctx;
    struct pg_params p;
    pg_params_init(&p, x->arena);
    pg_text(&p, x->workspace_id);
    struct pg_query q = {.sql = "SELECT user_id, tool FROM nb_consent WHERE workspace = $1"
                                " ORDER BY user_id, tool",
                         .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    x->n = r == 0 ? (size_t)pg_rows(c, &q) : 0;
    x->rows = arena_array(x->arena, x->n + 1, sizeof *x->rows);
    for (size_t i = 0; i < x->n; i++)
        x->rows[i] = (struct consent_row){arena_str(x->arena, pg_get_text(c, &q, (int)i, 0)),
                                          arena_str(x->arena, pg_get_text(c, &q, (int)i, 1))};
    pg_clear(c, &q, 1);
    return r;
}

/* With the generation that running servers ask for (pg_consent.h). */
static int insert_consents(struct pg_conn *c, void *ctx, struct err *e)
{
    static const char ADD[] = "INSERT INTO nb_consent (workspace, user_id, tool)"
                              " SELECT DISTINCT $1::text, w.user_id, w.tool"
                              " FROM unnest($2::text[], $3::text[]) AS w(user_id, tool)"
                              " ON CONFLICT (workspace, user_id, tool) DO NOTHING RETURNING 1";
    struct consent_rows *x = ctx;
    struct pg_params p;
    str *users = arena_array(x->arena, x->n + 1, sizeof(str));
    str *tools = arena_array(x->arena, x->n + 1, sizeof(str));
    for (size_t i = 0; i < x->n; i++) {
        users[i] = x->rows[i].user_id.p ? x->rows[i].user_id : STR("");
        tools[i] = x->rows[i].tool;
    }
    pg_params_init(&p, x->arena);
    pg_text(&p, x->workspace_id);
    pg_texts(&p, users, x->n);
    pg_texts(&p, tools, x->n);
    struct pg_query q[] = {
        {.sql = "BEGIN"},
        {.sql = "INSERT INTO nb_generation AS n (name, generation) VALUES ('consents', 1)"
                " ON CONFLICT (name) DO UPDATE SET generation = n.generation + 1"},
        {.sql = ADD, .params = &p},
        {.sql = "COMMIT"}};
    int r = pg_conn_run(c, q, ARRAY_LEN(q), e);
    x->added = r == 0 ? pg_rows(c, &q[2]) : 0;
    pg_clear(c, q, ARRAY_LEN(q));
    return r;
}

static bool is_of(const struct consent_rows *all, str user_id, str tool)
{
    for (size_t i = 0; i < all->n; i++)
        if (str_eq(all->rows[i].user_id, user_id) && str_eq(all->rows[i].tool, tool))
            return true;
    return false;
}

/* A permission ends with the membership of its person, and must not come back with a copy. */
static bool is_valid(const struct carry_place *p, str user_id)
{
    return user_id.n == 0 || workspace_role(p->workspace, user_id) != WS_NONE;
}

static void add_consent(struct carry *c, const struct carry_place *p, struct consent_rows *to,
                        str user_id, str tool)
{
    if (tool.n == 0 || is_of(to, user_id, tool))
        return;
    if (is_valid(p, user_id))
        to->rows[to->n++] = (struct consent_row){user_id, tool};
    else
        carry_problem(c, "the permission of %.*s for %.*s was not copied: they are not a member",
                      STR_ARG(user_id), STR_ARG(tool));
}

static int read_consent_file(struct carry *c, const struct carry_place *p, struct consent_rows *ret,
                             struct err *e)
{
    str text;
    struct json *doc;
    const char *path = arena_printf(c->arena, "%s/" CONSENTS_NAME, p->root).p;
    *ret = (struct consent_rows){.arena = c->arena, .workspace_id = p->workspace_id};
    if (!file_exists(path))
        return 0;
    int r = file_read(c->arena, path, FILE_MAX, &text, e);
    if (r == 0 && (r = json_parse(c->arena, text, JSON_COPY, &doc, e)) < 0)
        err_prefix(e, "%s", path);
    if (r < 0)
        return r;
    const struct json *old = json_get(doc, "allow"), *list = json_get(doc, "consents");
    size_t nold = json_is(old, JSON_ARRAY) ? old->len : 0;
    size_t nlist = json_is(list, JSON_ARRAY) ? list->len : 0;
    ret->rows = arena_array(c->arena, nold + nlist + 1, sizeof *ret->rows);
    for (size_t i = 0; i < nold; i++)
        add_consent(c, p, ret, STR(ROSTER_SOLE_USER), json_string(&old->items[i], STR_NONE));
    for (size_t i = 0; i < nlist; i++)
        add_consent(c, p, ret, json_get_string(&list->items[i], "userId"),
                    json_get_string(&list->items[i], "tool"));
    return 0;
}

static int read_consent_table(struct carry *c, const struct carry_place *p,
                              struct consent_rows *ret, struct err *e)
{
    *ret = (struct consent_rows){.arena = c->arena, .workspace_id = p->workspace_id};
    return database_read(c->db, select_consents, ret, e);
}

/* Has the other side all of them now? */
static int check_consents(struct carry *c, const struct consent_rows *from,
                          const struct consent_rows *to, struct err *e)
{
    for (size_t i = 0; i < from->n; i++)
        if (!is_of(to, from->rows[i].user_id, from->rows[i].tool))
            return err_set(e, -EIO, "a permission was not stored");
    return 0;
}

/* A permission that was withdrawn while the others were elsewhere must not be valid again unseen.
 */
static void report_only_there(struct carry *c, const struct consent_rows *from,
                              const struct consent_rows *to, const char *place)
{
    for (size_t i = 0; i < to->n; i++) {
        str user_id = to->rows[i].user_id, tool = to->rows[i].tool;
        if (!is_of(from, user_id, tool))
            carry_problem(
                c, "the permission of %.*s for %.*s is only in %s: it was withdrawn, or is new",
                STR_ARG(user_id.n > 0 ? user_id : STR("everybody")), STR_ARG(tool), place);
    }
}

int consents_in(struct carry *c, const struct carry_place *p, struct err *e)
{
    struct consent_rows from, back;
    int r = read_consent_file(c, p, &from, e);
    if (r == 0)
        r = read_consent_table(c, p, &back, e);
    if (r == 0)
        report_only_there(c, &from, &back, "the database");
    if (r < 0 || from.n == 0)
        return r;
    r = database_read(c->db, insert_consents, &from, e);
    if (r == 0)
        r = read_consent_table(c, p, &back, e);
    if (r == 0)
        r = check_consents(c, &from, &back, e);
    if (r < 0)
        return r;
    c->report.consents += from.added;
    c->report.existing += (int64_t)from.n - from.added;
    return 0;
}

static int write_consent_file(const char *path, const struct consent_rows *all, struct err *e)
{
    struct json_writer w;
    struct buf b;
    jw_start(&w, &b, FILE_MAX);
    jw_object(&w);
    jw_karray(&w, "consents");
    for (size_t i = 0; i < all->n; i++) {
        jw_object(&w);
        jw_kstr(&w, "tool", all->rows[i].tool);
        if (all->rows[i].user_id.n > 0)
            jw_kstr(&w, "userId", all->rows[i].user_id);
        jw_end(&w);
    }
    jw_end(&w);
    jw_end(&w);
    int r = buf_failed(&b) ? err_set(e, -EFBIG, "%s would have more than %u bytes", path, FILE_MAX)
                           : file_write_atomic(path, buf_str(&b), 0600, e);
    buf_done(&b);
    return r;
}

/* What the file has stays in it. */
int consents_out(struct carry *c, const struct carry_place *p, struct err *e)
{
    struct consent_rows rows, all, back;
    const char *path = arena_printf(c->arena, "%s/" CONSENTS_NAME, p->root).p;
    int r = read_consent_table(c, p, &rows, e);
    if (r == 0)
        r = read_consent_file(c, p, &back, e);
    if (r == 0 && (c->is_shared || rows.n > 0)) /* else servers never had them there */
        report_only_there(c, &rows, &back, CONSENTS_NAME);
    if (r < 0 || rows.n == 0)
        return r;
    all =
        (struct consent_rows){.rows = arena_array(c->arena, rows.n + back.n + 1, sizeof *all.rows)};
    for (size_t i = 0; i < back.n; i++)
        all.rows[all.n++] = back.rows[i];
    for (size_t i = 0; i < rows.n; i++)
        add_consent(c, p, &all, rows.rows[i].user_id, rows.rows[i].tool);
    size_t added = all.n - back.n;
    if (added > 0)
        r = write_consent_file(path, &all, e);
    if (r == 0)
        r = read_consent_file(c, p, &back, e);
    if (r == 0)
        r = check_consents(c, &all, &back, e);
    c->report.consents += r == 0 ? (int64_t)added : 0;
    return r;
}

/* ---- users and workspaces ---- */

struct people_doc {
    const char *kind, *name;
    str id, text;
};

struct people_docs {
    struct carry *carry;
    struct arena *arena;
    struct people_doc *items;
    size_t n, cap;
    int64_t written, existing;
};

static const struct {
    const char *kind, *name;
    bool (*is_id)(str id);
} DOCUMENTS[] = {{"users", "profile.json", user_id_ok},
                 {"users", "credentials.json", user_id_ok},
                 {"workspaces", "workspace.json", workspace_id_ok}};

static int read_people(struct roster_docs *d, void *ctx, struct err *e)
{
    struct people_docs *all = ctx;
    int r = 0;
    all->n = 0;
    for (size_t k = 0; r == 0 && k < ARRAY_LEN(DOCUMENTS); k++) {
        struct json_strs ids;
        const char *kind = DOCUMENTS[k].kind, *name = DOCUMENTS[k].name;
        r = d->ops->list(d, all->arena, kind, DOCUMENTS[k].is_id, PEOPLE_MAX, &ids, e);
        for (size_t i = 0; r == 0 && i < ids.len; i++) {
            struct people_doc one = {kind, name, arena_str(all->arena, ids.items[i]), STR_NONE};
            r = d->ops->read(d, all->arena, kind, one.id, name, &one.text, e);
            if (r == -ENOENT) {
                r = 0;
                err_clear(e);
                continue;
            }
            ARENA_GROW(all->arena, all->items, all->n, all->cap);
            all->items[all->n++] = one;
        }
    }
    return r;
}

static bool has_people(const struct people_docs *all, const char *kind, str id)
{
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->items[i].kind, kind) == 0 && str_eq(all->items[i].id, id))
            return true;
    return false;
}

/* A user who was removed while the others were elsewhere must not come back unseen. */
static int report_others(struct roster_docs *d, const struct people_docs *all, struct err *e)
{
    int r = 0;
    for (size_t k = 0; r == 0 && k < ARRAY_LEN(DOCUMENTS); k += 2) { /* users, workspaces */
        struct json_strs ids;
        r = d->ops->list(d, all->arena, DOCUMENTS[k].kind, DOCUMENTS[k].is_id, PEOPLE_MAX, &ids, e);
        for (size_t i = 0; r == 0 && i < ids.len; i++)
            if (!has_people(all, DOCUMENTS[k].kind, ids.items[i]))
                carry_problem(all->carry, "%s/%.*s is only here: it was removed there, or is new",
                              DOCUMENTS[k].kind, STR_ARG(ids.items[i]));
    }
    return r;
}

/* The settings in workspace.json of a server are written by others too, in their own order. */
static bool is_same(struct arena *a, str x, str y)
{
    struct json *v, *w;
    return str_eq(x, y) || (json_parse(a, x, 0, &v, NULL) == 0 &&
                            json_parse(a, y, 0, &w, NULL) == 0 && json_equal(v, w));
}

static int write_people(struct roster_docs *d, void *ctx, struct err *e)
{
    struct people_docs *all = ctx;
    all->written = all->existing = 0;
    int r = report_others(d, all, e);
    for (size_t i = 0; r == 0 && i < all->n; i++) {
        const struct people_doc *one = &all->items[i];
        struct err absent = {0};
        str text;
        r = d->ops->read(d, all->arena, one->kind, one->id, one->name, &text, &absent);
        if (r == 0 && !is_same(all->arena, text, one->text))
            carry_problem(all->carry,
                          "%s/%.*s/%s: there is one that differs, which was not changed", one->kind,
                          STR_ARG(one->id), one->name);
        all->existing += r == 0;
        if (r == 0)
            continue;
        if (r != -ENOENT)
            return err_set(e, r, "%s", absent.msg);
        r = d->ops->write(d, one->kind, one->id, one->name, one->text, e);
        if (r == 0)
            r = d->ops->read(d, all->arena, one->kind, one->id, one->name, &text, e);
        if (r == 0 && !is_same(all->arena, text, one->text))
            r = err_set(e, -EIO, "%s of %.*s was not stored", one->name, STR_ARG(one->id));
        all->written += r == 0;
    }
    return r == 0 && all->written > 0 ? d->ops->stamp(d, e) : r;
}

int carry_people(struct carry *c, struct roster_source *from, struct roster_source *to,
                 struct err *e)
{
    struct people_docs all = {.carry = c, .arena = c->arena};
    int r = from->visit(from, false, read_people, &all, e);
    if (r == 0)
        r = to->visit(to, true, write_people, &all, e);
    if (r == 0) {
        c->report.people += all.written;
        c->report.existing += all.existing;
    }
    return r;
}
