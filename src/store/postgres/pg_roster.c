#include "store/postgres/pg_roster.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/bytes/random.h"
#include "os/file.h"
#include "workspace/roster/change.h"
#include "workspace/roster/roster.h"
#include "workspace/roster/roster_lock.h"

#define REMOVED       "removed" /* the name of the row that keeps the id of a removed workspace */
#define CHANGES_KEPT  1000
#define RESOLVE_TRIES 20
#define RESOLVE_MS    500
#define LOCAL_BITS    20 /* of a mark: the file of this server, which has its settings */

struct roster_row {
    str kind, id, name, text;
    bool is_written, is_removed;
};

struct table_docs { /* of one attempt */
    struct roster_docs docs;
    struct arena arena;
    struct map rows; /* "kind/id/name" -> struct roster_row */
    bool is_stamped;
    struct json_strs trashed; /* "kind/id" */
    size_t trashed_cap;
};

struct table_visit {
    struct pg_roster *roster;
    bool is_exclusive;
    roster_visit_fn fn;
    void *ctx;
    char change_id[RANDOM_ID_MAX];
    bool is_sent; /* COMMIT was sent: whether it was executed may be unknown */
};

/* ---- documents in memory ---- */

static str row_key(struct arena *a, str kind, str id, str name)
{
    return arena_printf(a, "%.*s/%.*s/%.*s", STR_ARG(kind), STR_ARG(id), STR_ARG(name));
}

static struct table_docs *table_of(struct roster_docs *d)
{
    return CONTAINER_OF(d, struct table_docs, docs);
}

static struct roster_row *find_row(struct table_docs *t, const char *kind, str id, const char *name)
{
    struct roster_row *x =
        map_get(&t->rows, row_key(&t->arena, str_from(kind), id, str_from(name)));
    return x && !x->is_removed ? x : NULL;
}

static void put_row(struct table_docs *t, str kind, str id, str name, str text, bool is_written)
{
    str key = row_key(&t->arena, kind, id, name);
    struct roster_row *x = map_get(&t->rows, key);
    if (!x) {
        x = ARENA_NEW(&t->arena, struct roster_row);
        x->kind = arena_str(&t->arena, kind);
        x->id = arena_str(&t->arena, id);
        x->name = arena_str(&t->arena, name);
        map_put(&t->rows, key, x);
    }
    x->text = arena_str(&t->arena, text);
    x->is_written = is_written;
    x->is_removed = false;
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

static int table_list(struct roster_docs *d, struct arena *a, const char *kind, bool (*is_id)(str),
                      size_t max, struct json_strs *ret, struct err *e)
{
    struct table_docs *t = table_of(d);
    struct map_entry *m;
    str *all = arena_array(a, map_len(&t->rows) + 1, sizeof *all);
    size_t n = 0, kept = 0;
    for (size_t i = 0; (m = map_next(&t->rows, &i)) != NULL;) {
        const struct roster_row *x = m->value;
        if (!x->is_removed && str_eq(x->kind, str_from(kind)) && is_id(x->id) &&
            !str_eq(x->name, STR(REMOVED)))
            all[n++] = arena_str(a, x->id);
    }
    if (n > 0)
        qsort(all, n, sizeof *all, by_text);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || !str_eq(all[kept - 1], all[i]))
            all[kept++] = all[i];
    if (kept > max)
        return err_set(e, -EFBIG, "the database has more than %zu %s", max, kind);
    *ret = (struct json_strs){all, kept};
    return 0;
}

/* ---- settings, which each server has as a file ---- */

static str local_path(struct arena *a, const char *work_dir, str id)
{
    return arena_printf(a, "%s/workspaces/%.*s/workspace.json", work_dir, STR_ARG(id));
}

/* A file that cannot be read makes the workspace unreadable: its rules must not be ignored. */
static int add_settings(struct roster_docs *d, struct arena *a, str id, struct json *doc,
                        struct err *e)
{
    str path = local_path(a, d->work_dir, id), text;
    struct json *local;
    if (!file_exists(path.p))
        return 0;
    int r = file_read(a, path.p, ROSTER_FILE_MAX, &text, e);
    if (r == 0 && (r = json_parse(a, text, JSON_UNIQUE, &local, e)) < 0)
        err_prefix(e, "%s", path.p);
    for (size_t i = 0; r == 0 && json_is(local, JSON_OBJECT) && i < local->len; i++)
        if (workspace_is_setting(local->members[i].key))
            json_set(a, doc, local->members[i].key, local->members[i].value);
    return r;
}

static int read_workspace(struct roster_docs *d, struct arena *a, const struct roster_row *x,
                          str *ret, struct err *e)
{
    struct json *doc;
    int r = json_parse(a, x->text, JSON_UNIQUE, &doc, e);
    if (r == 0 && !json_is(doc, JSON_OBJECT))
        r = err_set(e, -EINVAL, "expected an object");
    if (r == 0)
        r = add_settings(d, a, x->id, doc, e);
    if (r == 0)
        *ret = json_to_str(a, doc);
    return r;
}

static int without_settings(struct arena *a, str text, str *ret, struct err *e)
{
    struct json *doc, *rest = json_new(a, JSON_OBJECT);
    int r = json_parse(a, text, JSON_UNIQUE, &doc, e);
    for (size_t i = 0; r == 0 && json_is(doc, JSON_OBJECT) && i < doc->len; i++)
        if (!workspace_is_setting(doc->members[i].key))
            json_set(a, rest, doc->members[i].key, doc->members[i].value);
    if (r == 0)
        *ret = json_to_str(a, rest);
    return r;
}

/* ---- the operations of a visit ---- */

static int table_read(struct roster_docs *d, struct arena *a, const char *kind, str id,
                      const char *name, str *ret, struct err *e)
{
    const struct roster_row *x = find_row(table_of(d), kind, id, name);
    if (!x)
        return err_set(e, -ENOENT, "the database has no %s of %.*s", name, STR_ARG(id));
    if (strcmp(name, "workspace.json") == 0 && !x->is_written)
        return read_workspace(d, a, x, ret, e);
    *ret = arena_str(a, x->text);
    return 0;
}

static int table_write(struct roster_docs *d, const char *kind, str id, const char *name, str text,
                       struct err *e)
{
    struct table_docs *t = table_of(d);
    put_row(t, str_from(kind), id, str_from(name), text, true);
    return 0;
}

static int table_remove(struct roster_docs *d, const char *kind, str id, const char *name,
                        struct err *e)
{
    struct roster_row *x = find_row(table_of(d), kind, id, name);
    if (x)
        x->is_removed = true;
    return 0;
}

static int table_trash(struct roster_docs *d, const char *kind, str id, struct err *e)
{
    struct table_docs *t = table_of(d);
    struct map_entry *m;
    for (size_t i = 0; (m = map_next(&t->rows, &i)) != NULL;) {
        struct roster_row *x = m->value;
        if (str_eq(x->kind, str_from(kind)) && str_eq(x->id, id))
            x->is_removed = true;
    }
    put_row(t, str_from(kind), id, STR(REMOVED), STR("{}"), true);
    ARENA_GROW(&t->arena, t->trashed.items, t->trashed.len, t->trashed_cap);
    t->trashed.items[t->trashed.len++] = arena_printf(&t->arena, "%s/%.*s", kind, STR_ARG(id));
    return 0;
}

static void table_forget(struct roster_docs *d, const char *kind, str id, const char *also)
{
    /* nothing was stored */
}

static bool table_is_taken(struct roster_docs *d, const char *kind, str id)
{
    struct table_docs *t = table_of(d);
    str path = arena_printf(&t->arena, "%s/%s/%.*s", d->work_dir, kind, STR_ARG(id));
    return find_row(t, kind, id, REMOVED) || find_row(t, kind, id, "workspace.json") ||
           find_row(t, kind, id, "profile.json") || file_exists(path.p);
}

static uint64_t mark_of(uint64_t generation, uint64_t local)
{
    return generation << LOCAL_BITS | (local & ((UINT64_C(1) << LOCAL_BITS) - 1));
}

static int table_stamp(struct roster_docs *d, struct err *e)
{
    struct table_docs *t = table_of(d);
    uint64_t local = d->mark; /* its upper bits go */
    t->is_stamped = true;
    d->generation++;
    d->mark = mark_of(d->generation, local);
    return 0;
}

static const struct roster_docs_ops TABLE = {
    .list = table_list,
    .read = table_read,
    .write = table_write,
    .remove = table_remove,
    .trash = table_trash,
    .forget = table_forget,
    .is_taken = table_is_taken,
    .stamp = table_stamp,
};

/* ---- the transaction ---- */

static int run(struct pg_conn *c, const char *sql, const struct pg_params *p, struct err *e)
{
    struct pg_query q = {.sql = sql, .params = p};
    int r = pg_conn_run(c, &q, 1, e);
    pg_clear(c, &q, 1);
    return r;
}

static int load_rows(struct pg_conn *c, struct table_docs *t, struct err *e)
{
    struct pg_query q = {.sql = "SELECT kind, id, name, document FROM nb_roster"};
    int r = pg_conn_run(c, &q, 1, e);
    for (int i = 0; r == 0 && i < pg_rows(c, &q); i++)
        put_row(t, pg_get_text(c, &q, i, 0), pg_get_text(c, &q, i, 1), pg_get_text(c, &q, i, 2),
                pg_get_text(c, &q, i, 3), false);
    pg_clear(c, &q, 1);
    return r;
}

/* The generation first: rows that are newer than it are read again later, rows that are older would
 * never be. */
static int read_generation(struct pg_conn *c, const char *sql, struct roster_docs *d, struct err *e)
{
    struct pg_query q = {.sql = sql};
    int r = pg_conn_run(c, &q, 1, e);
    if (r == 0 && pg_rows(c, &q) != 1)
        r = err_set(e, -ENODATA, "a row of nb_generation is missing; run: nb store init");
    if (r == 0) {
        d->generation = (uint64_t)pg_get_int(c, &q, 0, 0);
        d->now_ms = pg_get_int(c, &q, 0, 1);
    }
    pg_clear(c, &q, 1);
    return r;
}

#define GENERATION                                                                                 \
    "SELECT generation, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"               \
    " FROM nb_generation WHERE name = 'roster'"

/* The rows that were removed, or those that were written, as columns. */
static int add_rows(struct table_docs *t, bool is_removal, struct pg_params *ret, struct err *e)
{
    struct map_entry *m;
    size_t n = 0, max = map_len(&t->rows);
    str *columns[4];
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        columns[i] = arena_array(&t->arena, max + 1, sizeof(str));
    for (size_t i = 0; (m = map_next(&t->rows, &i)) != NULL;) {
        const struct roster_row *x = m->value;
        str text = x->text;
        if (is_removal ? !x->is_removed : x->is_removed || !x->is_written)
            continue;
        if (str_eq(x->name, STR("workspace.json")) && !is_removal &&
            without_settings(&t->arena, x->text, &text, e) < 0)
            return e->code;
        columns[0][n] = x->kind;
        columns[1][n] = x->id;
        columns[2][n] = x->name;
        columns[3][n++] = text;
    }
    pg_params_init(ret, &t->arena);
    for (size_t i = 0; i < (is_removal ? 3 : ARRAY_LEN(columns)); i++)
        pg_texts(ret, columns[i], n);
    return 0;
}

/* All in one round trip, with COMMIT at its end. */
static int store_change(struct pg_conn *c, struct table_docs *t, struct table_visit *v,
                        struct err *e)
{
    struct pg_params removed, written, generation, change;
    int r = add_rows(t, true, &removed, e);
    if (r == 0)
        r = add_rows(t, false, &written, e);
    if (r < 0)
        return r;
    pg_params_init(&generation, &t->arena);
    pg_int(&generation, (int64_t)t->docs.generation);
    pg_params_init(&change, &t->arena);
    pg_text(&change, str_from(v->change_id));
    pg_int(&change, (int64_t)t->docs.generation);
    pg_int(&change, CHANGES_KEPT);
    struct pg_query q[] = {
        {.sql = "DELETE FROM nb_roster AS n USING unnest($1::text[], $2::text[], $3::text[])"
                " AS w(kind, id, name) WHERE n.kind = w.kind AND n.id = w.id AND n.name = w.name",
         .params = &removed},
        {.sql = "INSERT INTO nb_roster (kind, id, name, document)"
                " SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])"
                " ON CONFLICT (kind, id, name) DO UPDATE SET document = excluded.document",
         .params = &written},
        {.sql = "UPDATE nb_generation SET generation = $1::bigint WHERE name = 'roster'",
         .params = &generation},
        {.sql = "WITH old AS (DELETE FROM nb_roster_change WHERE generation < $2::bigint -"
                " $3::bigint) INSERT INTO nb_roster_change (id, generation)"
                " VALUES ($1::text, $2::bigint)",
         .params = &change},
        {.sql = "COMMIT"}};
    v->is_sent = true;
    r = pg_conn_run(c, q, ARRAY_LEN(q), e);
    if (r == 0 && !str_eq(pg_command_tag(c, &q[ARRAY_LEN(q) - 1]), STR("COMMIT")))
        r = err_set(e, -EIO, "the database did not store the change");
    pg_clear(c, q, ARRAY_LEN(q));
    if (r < 0 && !c->is_lost)
        v->is_sent = false; /* it was refused */
    return r;
}

/* Files of this server, after the change is stored: a failure here must not undo it. */
static void follow_with_files(struct table_docs *t)
{
    struct map_entry *m;
    for (size_t i = 0; (m = map_next(&t->rows, &i)) != NULL;) {
        const struct roster_row *x = m->value;
        if (!x->is_written || x->is_removed || !str_eq(x->name, STR("workspace.json")))
            continue;
        str path = local_path(&t->arena, t->docs.work_dir, x->id);
        str dir = str_slice(path, 0, path.n - strlen("/workspace.json"));
        if (file_make_dirs(arena_cstr(&t->arena, dir), NULL) == 0)
            (void)file_write_atomic(path.p, x->text, 0600, NULL);
    }
    for (size_t i = 0; i < t->trashed.len; i++) {
        str id =
            str_skip(t->trashed.items[i], (size_t)str_rfind_char(t->trashed.items[i], '/') + 1);
        str from = arena_printf(&t->arena, "%s/%s", t->docs.work_dir, t->trashed.items[i].p);
        str trash = arena_printf(&t->arena, "%s/trash", t->docs.work_dir);
        str to = arena_printf(&t->arena, "%s/%.*s-%lld", trash.p, STR_ARG(id),
                              (long long)t->docs.now_ms);
        if (file_make_dirs(trash.p, NULL) == 0)
            (void)rename(from.p, to.p); /* another server may have the data */
    }
}

static int visit_in(struct pg_conn *c, struct table_docs *t, struct table_visit *v, struct err *e)
{
    int r = v->is_exclusive ? run(c, "BEGIN", NULL, e) : 0;
    if (r == 0)
        r = read_generation(c, v->is_exclusive ? GENERATION " FOR UPDATE" : GENERATION, &t->docs,
                            e);
    if (r == 0)
        r = load_rows(c, t, e);
    if (r < 0)
        return r;
    t->docs.mark = mark_of(t->docs.generation, t->docs.mark);
    r = v->fn(&t->docs, v->ctx, e);
    if (!v->is_exclusive)
        return r;
    if (r == 0 && t->is_stamped) {
        r = store_change(c, t, v, e);
        if (r == 0)
            follow_with_files(t);
        return r;
    }
    struct err ignored;
    if (run(c, "ROLLBACK", NULL, &ignored) < 0 && r == 0)
        return err_set(e, ignored.code, "%s", ignored.msg);
    return r;
}

/* Waits for a transaction that is still at work: it has the lock of the generation. */
static int find_change(struct pg_conn *c, void *ctx, struct err *e)
{
    struct table_visit *v = ctx;
    struct arena a;
    struct pg_params p;
    arena_init(&a);
    pg_params_init(&p, &a);
    pg_text(&p, str_from(v->change_id));
    struct pg_query q[] = {
        {.sql = "BEGIN"},
        {.sql = GENERATION " FOR UPDATE"},
        {.sql = "SELECT 1::bigint FROM nb_roster_change WHERE id = $1::text", .params = &p},
        {.sql = "COMMIT"}};
    int r = pg_conn_run(c, q, ARRAY_LEN(q), e);
    if (r == 0 && pg_rows(c, &q[2]) == 0)
        r = err_set(e, -ENOENT, "the change was not stored; try again");
    pg_clear(c, q, ARRAY_LEN(q));
    arena_done(&a);
    return r;
}

static uint64_t local_mark(const char *work_dir)
{
    struct roster_lock l;
    if (roster_lock_take(&l, work_dir, false, NULL) < 0)
        return 0;
    uint64_t mark = roster_lock_mark(&l);
    roster_lock_drop(&l);
    return mark;
}

static int attempt_visit(struct pg_conn *c, void *ctx, struct err *e)
{
    struct table_visit *v = ctx;
    if (v->is_sent) { /* the connection before was lost at the end */
        int r = find_change(c, v, e);
        if (r != -ENOENT)
            return r;
        err_clear(e);
        v->is_sent = false;
    }
    const char *work_dir = v->roster->source.work_dir;
    struct table_docs t = {
        .docs = {.ops = &TABLE, .work_dir = work_dir, .mark = local_mark(work_dir)}};
    arena_init(&t.arena);
    map_init(&t.rows);
    int r = visit_in(c, &t, v, e);
    map_done(&t.rows);
    arena_done(&t.arena);
    return r;
}

/* COMMIT was sent and its answer is lost: read, never repeat blindly. */
static int resolve_visit(struct table_visit *v, struct err *e)
{
    int r = -EHOSTUNREACH;
    for (int i = 0; i < RESOLVE_TRIES && r == -EHOSTUNREACH; i++) {
        const struct timespec t = {.tv_nsec = RESOLVE_MS * 1000000L};
        (void)nanosleep(&t, NULL);
        r = database_read(v->roster->db, find_change, v, e);
    }
    return r;
}

static int table_visit(struct roster_source *s, bool is_exclusive, roster_visit_fn fn, void *ctx,
                       struct err *e)
{
    struct table_visit v = {.roster = CONTAINER_OF(s, struct pg_roster, source),
                            .is_exclusive = is_exclusive,
                            .fn = fn,
                            .ctx = ctx};
    struct err local = {0};
    e = e ? e : &local;
    random_id("chg", v.change_id);
    int r = database_read(v.roster->db, attempt_visit, &v, e);
    if (r == -EHOSTUNREACH && v.is_sent)
        r = resolve_visit(&v, e);
    if (r == -EHOSTUNREACH || (r == -ENOENT && v.is_sent))
        r = err_set(e, -ENOTCONN, "the database cannot be reached now; try again in a few seconds");
    else if (r == 0)
        err_clear(e);
    return r;
}

static int read_mark(struct pg_conn *c, void *ctx, struct err *e)
{
    return read_generation(c, GENERATION, ctx, e);
}

static int table_mark(struct roster_source *s, uint64_t *ret, struct err *e)
{
    struct pg_roster *r = CONTAINER_OF(s, struct pg_roster, source);
    struct roster_docs d = {0};
    int rc = database_read(r->db, read_mark, &d, e);
    if (rc == 0)
        *ret = mark_of(d.generation, local_mark(s->work_dir));
    return rc;
}

/* ---- the files of before ---- */

#define GENERATION_FIRST 1

static int copy_kind(struct roster_docs *from, struct roster_docs *to, const char *kind,
                     bool (*is_id)(str), size_t max, size_t *n, struct err *e)
{
    static const char *const NAMES[] = {"profile.json", "credentials.json", "workspace.json"};
    struct arena a;
    struct json_strs ids;
    arena_init(&a);
    int r = from->ops->list(from, &a, kind, is_id, max, &ids, e);
    for (size_t i = 0; r == 0 && i < ids.len; i++)
        for (size_t k = 0; k < ARRAY_LEN(NAMES); k++) {
            str text;
            if (from->ops->read(from, &a, kind, ids.items[i], NAMES[k], &text, NULL) < 0)
                continue;
            r = to->ops->write(to, kind, ids.items[i], NAMES[k], text, e);
            ++*n;
        }
    arena_done(&a);
    return r;
}

struct roster_import {
    struct roster_docs *to;
    size_t n;
};

static int import_from(struct roster_docs *from, void *ctx, struct err *e)
{
    struct roster_import *x = ctx;
    int r = copy_kind(from, x->to, "users", user_id_ok, ROSTER_USERS_MAX, &x->n, e);
    if (r == 0)
        r = copy_kind(from, x->to, "workspaces", workspace_id_ok, ROSTER_WORKSPACES_MAX, &x->n, e);
    return r;
}

static int import_in_visit(struct roster_docs *d, void *ctx, struct err *e)
{
    struct roster_source *files = ctx;
    struct roster_import x = {.to = d};
    if (d->generation != GENERATION_FIRST)
        return 0; /* another server was faster */
    int r = files->visit(files, false, import_from, &x, e);
    return r == 0 && x.n > 0 ? d->ops->stamp(d, e) : r;
}

/* The same as instance_check_people for files: without instance.json everybody who reaches this
 * server would be its owner. */
static int check_sole(struct roster_docs *d, void *ctx, struct err *e)
{
    struct arena a;
    struct json_strs ids;
    arena_init(&a);
    int r = d->ops->list(d, &a, "users", user_id_ok, ROSTER_USERS_MAX, &ids, e);
    for (size_t i = 0; r == 0 && i < ids.len; i++)
        if (!str_eq(ids.items[i], STR(ROSTER_SOLE_USER)))
            r = err_set(e, -ENOENT,
                        "%s/instance.json is missing, but the database has %zu users. Copy "
                        "instance.json from another server of this database",
                        d->work_dir, ids.len);
    arena_done(&a);
    return r;
}

static int import_once(struct pg_roster *r, uint64_t generation, struct err *e)
{
    struct roster_source files = roster_files(r->source.work_dir, r->source.is_sole);
    return generation == GENERATION_FIRST
               ? table_visit(&r->source, true, import_in_visit, &files, e)
               : 0;
}

int pg_roster_init(struct pg_roster *r, struct database *db, const char *work_dir, bool is_sole,
                   struct err *e)
{
    *r = (struct pg_roster){.source = {.work_dir = work_dir,
                                       .is_sole = is_sole,
                                       .visit = table_visit,
                                       .mark = table_mark},
                            .db = db};
    struct roster_docs d = {0};
    int rc = database_read(db, read_mark, &d, e);
    if (rc == -EHOSTUNREACH)
        return e->code = -ENOTCONN;
    if (rc == 0)
        rc = import_once(r, d.generation, e);
    if (rc == 0 && is_sole)
        rc = table_visit(&r->source, false, check_sole, NULL, e);
    return rc;
}
