#include "store/index/index_conv.h"

#include <assert.h>
#include <errno.h>

/* ---- logs ---- */

void index_log_columns(sqlite3_stmt *st, int first, struct index_log *ret)
{
    int64_t *const fields[] = {&ret->no,   &ret->dev,       &ret->ino,
                               &ret->size, &ret->mtime_ns,  &ret->mark,
                               &ret->done, &ret->text_done, &ret->messages};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        *fields[i] = sqlite3_column_int64(st, first + (int)i);
}

int index_log_read(struct index_db *db, str id, struct index_log *ret)
{
    static const char READ[] = "SELECT " INDEX_LOG_COLUMNS " FROM log WHERE id = ?";
    sqlite3_stmt *st = index_db_sql(db, READ);
    *ret = (struct index_log){0};
    index_db_bind(st, 1, id);
    int r = index_db_step(db, st);
    if (r > 0) {
        index_log_columns(st, 0, ret);
        sqlite3_reset(st);
    }
    return r < 0 ? r : 0;
}

int index_log_write(struct index_db *db, str id, const struct index_log *log)
{
    static const char WRITE[] = "INSERT OR REPLACE INTO log(id, " INDEX_LOG_COLUMNS ")"
                                " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    sqlite3_stmt *st = index_db_sql(db, WRITE);
    const int64_t fields[] = {log->no,   log->dev,  log->ino,       log->size,    log->mtime_ns,
                              log->mark, log->done, log->text_done, log->messages};
    index_db_bind(st, 1, id);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        sqlite3_bind_int64(st, (int)i + 2, fields[i]);
    return index_db_run(db, st);
}

static int log_delete(struct index_db *db, str id)
{
    /* The messages stay until the index is created again: no row refers to them any more. */
    static const char COUNT[] = "UPDATE fact SET value = value +"
                                " (SELECT messages FROM log WHERE id = ?) WHERE name = 'dead'";
    static const char DELETE[] = "DELETE FROM log WHERE id = ?";
    struct index_log log;
    int r = index_log_read(db, id, &log);
    if (r < 0 || !log.no)
        return r;
    sqlite3_stmt *st = index_db_sql(db, COUNT);
    index_db_bind(st, 1, id);
    r = index_db_run(db, st);
    if (r < 0)
        return r;
    st = index_db_sql(db, DELETE);
    index_db_bind(st, 1, id);
    return index_db_run(db, st);
}

/* ---- conversations ---- */

enum kind { TEXT, JSON, STRINGS, INT, FLAG, REAL, UPDATED, PAST };

#define FIELD(kind, member)                                                                        \
    {                                                                                              \
        kind, offsetof(struct conv, member)                                                        \
    }

static const struct field {
    enum kind kind;
    size_t at; /* in struct conv */
} FIELDS[] = {
    /* in the order of INDEX_CONV_COLUMNS */
    FIELD(TEXT, workspace_id),
    FIELD(TEXT, created_at),
    {UPDATED, 0},
    FIELD(TEXT, title),
    FIELD(TEXT, channel),
    FIELD(TEXT, model),
    FIELD(TEXT, forked_from),
    FIELD(JSON, parent),
    FIELD(JSON, metadata),
    FIELD(TEXT, acl.owner_id),
    FIELD(FLAG, acl.is_shared),
    FIELD(FLAG, acl.is_sealed),
    FIELD(STRINGS, acl.participants),
    FIELD(STRINGS, acl.readers),
    FIELD(TEXT, preview),
    FIELD(TEXT, last_model),
    FIELD(TEXT, last_run),
    FIELD(INT, message_count),
    FIELD(INT, usage.input_tokens),
    FIELD(INT, usage.output_tokens),
    FIELD(INT, usage.cache_read_tokens),
    FIELD(INT, usage.cache_write_5m_tokens),
    FIELD(INT, usage.cache_write_1h_tokens),
    FIELD(REAL, cost_usd),
    FIELD(FLAG, is_cost_known),
    FIELD(INT, bad_lines),
    FIELD(FLAG, is_hidden),
    FIELD(JSON, branch),
    FIELD(PAST, past), /* and behind them, not read by lists */
};
static_assert(ARRAY_LEN(FIELDS) == INDEX_CONV_NCOLUMNS + 1, "one field per column");

static void read_strings(struct arena *a, str text, struct json_strs *ret)
{
    struct json *v = NULL;
    if (!text.n || json_parse(a, text, JSON_COPY, &v, NULL) < 0 || !json_is(v, JSON_ARRAY))
        return;
    ret->items = arena_array(a, v->len + 1, sizeof(str));
    for (size_t i = 0; i < v->len; i++)
        ret->items[ret->len++] = json_string(&v->items[i], STR_NONE);
}

static const struct json *read_json(struct arena *a, str text)
{
    struct json *v = NULL;
    return text.n && json_parse(a, text, JSON_COPY, &v, NULL) == 0 ? v : NULL;
}

/* False: the column was not written by us, so the row is of no use. */
static bool read_field(sqlite3_stmt *st, int i, const struct field *f, struct derive *d)
{
    void *place = (char *)&d->conv + f->at;
    struct arena *a = &d->arena;
    switch (f->kind) {
    case TEXT:
        *(str *)place = arena_str(a, index_db_column(st, i));
        break;
    case JSON:
        *(const struct json **)place = read_json(a, index_db_column(st, i));
        break;
    case STRINGS:
        read_strings(a, index_db_column(st, i), place);
        break;
    case INT:
        *(int64_t *)place = sqlite3_column_int64(st, i);
        break;
    case FLAG:
        *(bool *)place = sqlite3_column_int(st, i) != 0;
        break;
    case REAL:
        *(double *)place = sqlite3_column_double(st, i);
        break;
    case UPDATED:
        (void)snprintf(d->updated_at, sizeof(d->updated_at), "%.*s",
                       STR_ARG(index_db_column(st, i)));
        break;
    case PAST:
        return past_parse(a, index_db_column(st, i), place) == 0;
    }
    return true;
}

void index_conv_columns(sqlite3_stmt *st, int first, struct derive *d)
{
    for (size_t i = 0; i < INDEX_CONV_NCOLUMNS; i++)
        (void)read_field(st, first + (int)i, &FIELDS[i], d);
    d->has_header = true;
    d->is_damaged = d->conv.acl.is_sealed;
}

int index_conv_read(struct index_db *db, str id, struct derive *d)
{
    static const char READ[] = "SELECT " INDEX_CONV_COLUMNS ", c.past"
                               " FROM log l CROSS JOIN conv c ON c.no = l.no WHERE l.id = ?";
    sqlite3_stmt *st = index_db_sql(db, READ);
    index_db_bind(st, 1, id);
    int r = index_db_step(db, st);
    if (r <= 0)
        return r < 0 ? r : -ENOENT;
    index_conv_columns(st, 0, d);
    bool is_whole = read_field(st, INDEX_CONV_NCOLUMNS, &FIELDS[INDEX_CONV_NCOLUMNS], d);
    sqlite3_reset(st);
    if (!is_whole)
        index_db_discard(db);
    return is_whole ? 0 : -EIO;
}

int index_id_of(struct index_db *db, struct arena *a, int64_t no, str *ret)
{
    static const char ID[] =
        "SELECT id FROM conv WHERE no = ?1 UNION ALL"
        " SELECT id FROM log WHERE no = ?1 AND substr(id, -6) = '" INDEX_NOTES "'";
    sqlite3_stmt *st = index_db_sql(db, ID);
    sqlite3_bind_int64(st, 1, no);
    int r = index_db_step(db, st);
    *ret = r > 0 ? arena_str(a, index_db_column(st, 0)) : STR_NONE;
    if (r > 0)
        sqlite3_reset(st);
    return r < 0 ? r : 0;
}

static str strings_text(struct arena *a, const struct json_strs *s)
{
    struct json *arr = json_new(a, JSON_ARRAY);
    for (size_t i = 0; i < s->len; i++)
        json_push(a, arr, json_of_str(s->items[i]));
    return json_to_str(a, arr);
}

static void bind_field(sqlite3_stmt *st, int i, const struct field *f, const struct derive *d,
                       struct arena *a)
{
    const void *place = (const char *)&d->conv + f->at;
    const struct json *json;
    switch (f->kind) {
    case TEXT:
        index_db_bind(st, i, *(const str *)place);
        break;
    case JSON:
        json = *(const struct json *const *)place;
        index_db_bind(st, i, json ? json_to_str(a, json) : STR_NONE);
        break;
    case STRINGS:
        index_db_bind(st, i, strings_text(a, place));
        break;
    case INT:
        sqlite3_bind_int64(st, i, *(const int64_t *)place);
        break;
    case FLAG:
        sqlite3_bind_int(st, i, *(const bool *)place);
        break;
    case REAL:
        sqlite3_bind_double(st, i, *(const double *)place);
        break;
    case UPDATED:
        index_db_bind(st, i, str_from(d->updated_at));
        break;
    case PAST:
        index_db_bind(st, i, past_json(a, place));
        break;
    }
}

/* ---- shelves ---- */

/* Names of shelves: "*" all, "o" open to everybody, "u<id>" one person; hidden conversations have
 * the same names with "h" in front. */
static str shelf(struct arena *a, bool is_hidden, const char *kind, str user)
{
    return arena_printf(a, "%s%s%.*s", is_hidden ? "h" : "", kind, STR_ARG(user));
}

size_t index_shelves(struct arena *a, const struct viewer *viewer, bool with_hidden,
                     str ret[INDEX_SHELVES_MAX])
{
    size_t n = 0;
    if (viewer && viewer->is_gone)
        return 0;
    for (int hidden = 0; hidden <= (with_hidden ? 1 : 0); hidden++) {
        if (!viewer || viewer->is_workspace_admin) {
            ret[n++] = shelf(a, hidden, "*", STR_NONE);
        } else {
            ret[n++] = shelf(a, hidden, "u", viewer->user_id);
            ret[n++] = shelf(a, hidden, "o", STR_NONE);
        }
    }
    return n;
}

str index_hidden_shelf(struct arena *a)
{
    return shelf(a, true, "*", STR_NONE);
}

static int shelf_put(struct index_db *db, bool is_here, str name, const struct derive *d, str id)
{
    static const char PUT[] = "INSERT OR IGNORE INTO shelf VALUES(?, ?, ?, ?)";
    static const char TAKE[] =
        "DELETE FROM shelf WHERE name = ? AND sort = ? AND at = ? AND id = ?";
    str updated = str_from(d->updated_at);
    const str at[] = {[STORE_BY_UPDATED] = updated,
                      [STORE_BY_CREATED] = d->conv.created_at.n ? d->conv.created_at : updated};
    for (int sort = 0; sort < (int)ARRAY_LEN(at); sort++) {
        sqlite3_stmt *st = index_db_sql(db, is_here ? PUT : TAKE);
        index_db_bind(st, 1, name);
        sqlite3_bind_int(st, 2, sort);
        index_db_bind(st, 3, at[sort]);
        index_db_bind(st, 4, id);
        int r = index_db_run(db, st);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Adds a conversation to its shelves, or removes it. The rules are those of access_allows, which is
 * still checked for every row that is returned. */
static int shelve(struct index_db *db, bool is_here, const struct derive *d, str id)
{
    const struct conv_acl *acl = &d->conv.acl;
    bool hidden = d->conv.is_hidden;
    struct arena a;
    arena_init(&a);
    int r = shelf_put(db, is_here, shelf(&a, hidden, "*", STR_NONE), d, id);
    if (r == 0 && acl->owner_id.n)
        r = shelf_put(db, is_here, shelf(&a, hidden, "u", acl->owner_id), d, id);
    else if (r == 0 && !acl->is_sealed)
        r = shelf_put(db, is_here, shelf(&a, hidden, "o", STR_NONE), d, id);
    /* A conversation that is open to all needs no entry per person. */
    bool is_open = !acl->owner_id.n && !acl->is_sealed;
    for (size_t i = 0; r == 0 && acl->is_shared && !is_open && i < acl->participants.len; i++) {
        if (acl->participants.items[i].n)
            r = shelf_put(db, is_here, shelf(&a, hidden, "u", acl->participants.items[i]), d, id);
    }
    arena_done(&a);
    return r;
}

static int unshelve(struct index_db *db, str id)
{
    struct derive old;
    derive_init(&old, db->env);
    int r = index_conv_read(db, id, &old);
    if (r == 0)
        r = shelve(db, false, &old, id);
    derive_done(&old);
    return r == -ENOENT ? 0 : r;
}

int index_conv_write(struct index_db *db, str id, int64_t no, const struct derive *derived)
{
    static const char WRITE[] =
        "INSERT OR REPLACE INTO conv VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
        " ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    struct derive row = *derived, *d = &row;
    row.conv.acl.is_sealed |= !derived->has_header; /* as derive_conv says */
    int r = unshelve(db, id);
    if (r < 0)
        return r;
    struct arena a;
    arena_init(&a);
    sqlite3_stmt *st = index_db_sql(db, WRITE);
    sqlite3_bind_int64(st, 1, no);
    index_db_bind(st, 2, id);
    for (size_t i = 0; i < ARRAY_LEN(FIELDS); i++)
        bind_field(st, (int)i + 3, &FIELDS[i], d, &a);
    r = index_db_run(db, st);
    arena_done(&a);
    return r < 0 ? r : shelve(db, true, d, id);
}

int index_conv_delete(struct index_db *db, str id)
{
    static const char DELETE[] = "DELETE FROM conv WHERE no = (SELECT no FROM log WHERE id = ?)";
    int r = unshelve(db, id);
    if (r == 0) {
        sqlite3_stmt *st = index_db_sql(db, DELETE);
        index_db_bind(st, 1, id);
        r = index_db_run(db, st);
    }
    return r < 0 ? r : log_delete(db, id);
}
