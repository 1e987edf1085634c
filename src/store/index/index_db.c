#include "store/index/index_db.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include "store/event/io.h"
#include "store/index/index_price.h"

enum { BUSY_MS = 5000, BUSY_NAP_US = 300, CACHE_KIB = 2048 };

static const char SCHEMA[] =
    /* The state of a log when it was last read; small, because a sweep reads all rows.
     * no: a number for this log in the other tables; a different file gets a different number. */
    "CREATE TABLE log(id TEXT PRIMARY KEY, no INTEGER, dev INTEGER, ino INTEGER, size INTEGER,"
    " mtime INTEGER, mark INTEGER, done INTEGER, text_done INTEGER, messages INTEGER)"
    " WITHOUT ROWID;"
    /* The numbers of conversations are found in conv. */
    "CREATE UNIQUE INDEX notes_no ON log(no) WHERE substr(id, -6) = '/notes';"
    "CREATE INDEX log_behind ON log(mtime) WHERE text_done <> done;"
    "CREATE TABLE conv(no INTEGER PRIMARY KEY, id TEXT, workspace_id TEXT, created_at TEXT, "
    "updated_at TEXT,"
    " title TEXT, channel TEXT, model TEXT, forked_from TEXT, parent TEXT, metadata TEXT,"
    " owner_id TEXT, is_shared INTEGER, is_sealed INTEGER, participants TEXT, readers TEXT,"
    " preview TEXT,"
    " last_model TEXT, last_run TEXT, message_count INTEGER, input_tokens INTEGER, output_tokens "
    "INTEGER,"
    " cache_read_tokens INTEGER, cache_write_5m_tokens INTEGER, cache_write_1h_tokens INTEGER,"
    " cost_usd REAL, is_cost_known INTEGER, bad_lines INTEGER, is_hidden INTEGER, branch TEXT,"
    " past TEXT);"
    "CREATE INDEX conv_branch ON conv(no) WHERE branch <> '';"
    /* One entry for each person who may see a conversation and each sort order. */
    "CREATE TABLE shelf(name TEXT, sort INTEGER, at TEXT, id TEXT,"
    " PRIMARY KEY(name, sort, at, id)) WITHOUT ROWID;"
    "CREATE TABLE tally(name TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;"
    "CREATE TRIGGER shelved AFTER INSERT ON shelf WHEN new.sort = 0 BEGIN"
    " INSERT INTO tally VALUES(new.name, 1) ON CONFLICT(name) DO UPDATE SET n = n + 1; END;"
    "CREATE TRIGGER unshelved AFTER DELETE ON shelf WHEN old.sort = 0 BEGIN"
    " UPDATE tally SET n = n - 1 WHERE name = old.name; END;"
    /* The place of a message; its number sorts messages by time (search_feed.h). */
    "CREATE TABLE message(no INTEGER PRIMARY KEY, log INTEGER, pos INTEGER, len INTEGER);"
    "CREATE VIRTUAL TABLE said USING fts5(words, content='', columnsize=0, tokenize='ascii');"
    /* Fewer, larger segments: a third less work when everything is indexed. */
    "INSERT INTO said(said, rank) VALUES('hashsize', 4194304), ('automerge', 8);"
    "CREATE TABLE price(model TEXT PRIMARY KEY, usd REAL) WITHOUT ROWID;"
    "CREATE TABLE fact(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "INSERT INTO fact VALUES('dead', 0), ('numbers', 0), ('birth', random());";

void index_db_init(struct index_db *db, const char *path, const char *scope,
                   const struct store_env *env)
{
    *db = (struct index_db){.path = path, .scope = scope, .env = env};
}

void index_db_close(struct index_db *db)
{
    for (size_t i = 0; i < db->nstatements; i++)
        sqlite3_finalize(db->statements[i].stmt);
    db->nstatements = 0;
    db->in_transaction = false;
    index_vfs_close(&db->vfs, db->sql);
    db->sql = NULL;
}

/* ---- errors ---- */

/* Separates errors that are temporary or not caused by the file from errors that a new file
 * repairs. */
static const struct {
    int sqlite, code;
} KEPT[] = {
    {SQLITE_BUSY, -EBUSY},  {SQLITE_LOCKED, -EBUSY},    {SQLITE_NOMEM, -ENOMEM},
    {SQLITE_FULL, -ENOSPC}, {SQLITE_PERM, -EACCES},     {SQLITE_READONLY, -EROFS},
    {SQLITE_AUTH, -EACCES}, {SQLITE_CANTOPEN, -EACCES},
};

static int index_db_fail(struct index_db *db, int rc)
{
    for (size_t i = 0; i < ARRAY_LEN(KEPT); i++) {
        if (KEPT[i].sqlite == (rc & 0xff))
            return KEPT[i].code;
    }
    index_db_discard(db);
    return -EIO;
}

static bool has_moved(struct index_db *db)
{
    int moved = 1;
    return sqlite3_file_control(db->sql, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK ||
           moved;
}

void index_db_discard(struct index_db *db)
{
    if (db->sql && !has_moved(db)) {
        (void)unlink(db->path);
        (void)unlink(db->vfs.journal);
    }
    index_db_close(db);
}

/* ---- opening ---- */

static int on_busy(void *ctx, int tries)
{
    const struct timespec nap = {.tv_nsec = BUSY_NAP_US * 1000};
    (void)nanosleep(&nap, NULL);
    return tries < BUSY_MS * 1000 / BUSY_NAP_US;
}

static void has_text(sqlite3_context *ctx, int n, sqlite3_value **v);

static int query_number(sqlite3 *sql, const char *query, int64_t *ret)
{
    sqlite3_stmt *st;
    int rc = sqlite3_prepare_v2(sql, query, -1, &st, NULL);
    if (rc != SQLITE_OK)
        return rc;
    rc = sqlite3_step(st);
    *ret = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
    sqlite3_finalize(st);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int make(struct index_db *db)
{
    static const char SCOPE[] = "INSERT INTO fact VALUES('scope', ?), ('file', ?)";
    char pragma[64];
    sqlite3_stmt *st;
    int rc = sqlite3_exec(db->sql, SCHEMA, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db->sql, SCOPE, -1, &st, NULL);
    if (rc != SQLITE_OK)
        return rc;
    index_db_bind(st, 1, str_from(db->scope));
    sqlite3_bind_int64(st, 2, db->vfs.file);
    (void)sqlite3_step(st);
    rc = sqlite3_finalize(st);
    (void)snprintf(pragma, sizeof(pragma), "PRAGMA user_version = %d", INDEX_SCHEMA);
    return rc == SQLITE_OK ? sqlite3_exec(db->sql, pragma, NULL, NULL, NULL) : rc;
}

static bool is_scope(struct index_db *db)
{
    static const char SCOPE[] = "SELECT value FROM fact WHERE name = 'scope'";
    sqlite3_stmt *st = index_db_sql(db, SCOPE);
    bool is_ours =
        sqlite3_step(st) == SQLITE_ROW && str_eq(index_db_column(st, 0), str_from(db->scope));
    sqlite3_reset(st);
    return is_ours;
}

/* A file copied from elsewhere may have been copied during a write, so it is not used. */
static bool is_copy(struct index_db *db)
{
    int64_t file;
    return query_number(db->sql, "SELECT value FROM fact WHERE name = 'file'", &file) !=
               SQLITE_OK ||
           file != db->vfs.file;
}

/* SQLITE_OK, SQLITE_EMPTY, or SQLITE_NOTADB when the file is not a usable index. */
static int index_db_check(struct index_db *db)
{
    int64_t version, tables;
    int rc = query_number(db->sql, "PRAGMA user_version", &version);
    if (rc == SQLITE_OK)
        rc = query_number(db->sql, "SELECT count(*) FROM sqlite_schema", &tables);
    if (rc != SQLITE_OK)
        return rc;
    if (version == 0 && tables == 0)
        return SQLITE_EMPTY;
    bool is_ours =
        version == INDEX_SCHEMA && is_scope(db) && !is_copy(db) && index_price_agrees(db);
    return is_ours ? SQLITE_OK : SQLITE_NOTADB;
}

/* Another process may be creating the tables at the same time. */
static int make_if_empty(struct index_db *db)
{
    int rc = sqlite3_exec(db->sql, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = index_db_check(db);
    if (rc == SQLITE_EMPTY)
        rc = make(db);
    return rc == SQLITE_OK ? sqlite3_exec(db->sql, "COMMIT", NULL, NULL, NULL) : rc;
}

static int configure(struct index_db *db)
{
    static const char PRAGMAS[] = "PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY;"
                                  "PRAGMA cache_spill = OFF;";
    char size[64];
    (void)snprintf(size, sizeof(size), "PRAGMA cache_size = -%d", CACHE_KIB);
    (void)sqlite3_busy_handler(db->sql, on_busy, NULL);
    int rc = sqlite3_exec(db->sql, PRAGMAS, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db->sql, size, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function(db->sql, "has_text", 3, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                     NULL, has_text, NULL, NULL);
    return rc;
}

static int index_db_open(struct index_db *db)
{
    index_db_close(db);
    index_vfs_make(db->path);
    int rc = index_vfs_open(&db->vfs, db->path, &db->sql);
    if (rc == SQLITE_OK)
        rc = configure(db);
    if (rc == SQLITE_OK)
        rc = index_db_check(db);
    if (rc == SQLITE_EMPTY)
        rc = make_if_empty(db);
    if (rc == SQLITE_OK)
        rc = query_number(db->sql, "SELECT value FROM fact WHERE name = 'birth'", &db->birth);
    return rc == SQLITE_OK ? 0 : index_db_fail(db, rc);
}

static void make_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = str_dup(str_make(path, slash ? (size_t)(slash - path) : 0));
    if (*dir)
        (void)io_mkdir_all(&store_io_system, dir); /* opening reports what fails */
    free(dir);
}

int index_db_ready(struct index_db *db)
{
    assert(!db->in_transaction);
    if (db->sql && !has_moved(db))
        return 0;
    int r = index_db_open(db);
    /* Without the logs there is nothing to index: the workspace may have been deleted, and its
     * directory must not be created again. */
    if (r == -EACCES && access(db->scope, F_OK) == 0) {
        make_directory(db->path);
        r = index_db_open(db);
    }
    if (r == -EIO) /* the damaged file has been deleted: try again with a new one */
        r = index_db_open(db);
    if (r < 0)
        index_db_close(db);
    return r < 0 ? r : 1;
}

void index_db_shrink(struct index_db *db)
{
    if (db->sql)
        (void)sqlite3_db_release_memory(db->sql);
    (void)malloc_trim(0);
}

/* A job reads more pages the more conversations there are, up to CACHE_KIB, and the next job of the
 * connection can seldom use them: a write of any other connection makes all of them invalid. A page
 * of a list needs few, and keeps them. */
void index_db_rest(struct index_db *db)
{
    int used = 0, most;
    if (!db->sql)
        return;
    (void)sqlite3_db_status(db->sql, SQLITE_DBSTATUS_CACHE_USED, &used, &most, 0);
    if (used > INDEX_REST_BYTES)
        (void)sqlite3_db_release_memory(db->sql);
}

/* ---- using ---- */

static void has_text(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    str text[3];
    for (int i = 0; i < 3; i++) {
        const void *p = sqlite3_value_text(v[i]);
        text[i] = str_make(p, (size_t)sqlite3_value_bytes(v[i]));
    }
    bool has = str_find_nocase(text[0], text[2]) >= 0 || str_find_nocase(text[1], text[2]) >= 0;
    sqlite3_result_int(ctx, has);
}

int index_db_begin(struct index_db *db, bool is_write)
{
    assert(!db->in_transaction);
    int rc = sqlite3_exec(db->sql, is_write ? "BEGIN IMMEDIATE" : "BEGIN", NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        return index_db_fail(db, rc);
    db->in_transaction = true;
    return 0;
}

int index_db_commit(struct index_db *db)
{
    assert(db->in_transaction);
    int rc = sqlite3_exec(db->sql, "COMMIT", NULL, NULL, NULL);
    if (rc != SQLITE_OK) {
        index_db_rollback(db);
        return index_db_fail(db, rc);
    }
    db->in_transaction = false;
    return 0;
}

void index_db_rollback(struct index_db *db)
{
    if (!db->in_transaction)
        return;
    for (size_t i = 0; i < db->nstatements; i++)
        sqlite3_reset(db->statements[i].stmt);
    (void)sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
    db->in_transaction = false;
}

sqlite3_stmt *index_db_sql(struct index_db *db, const char *text)
{
    for (size_t i = 0; i < db->nstatements; i++) {
        if (db->statements[i].text == text) {
            sqlite3_reset(db->statements[i].stmt);
            return db->statements[i].stmt;
        }
    }
    assert(db->nstatements < INDEX_STATEMENTS_MAX);
    sqlite3_stmt *st = NULL;
    (void)sqlite3_prepare_v3(db->sql, text, -1, SQLITE_PREPARE_PERSISTENT, &st, NULL);
    db->statements[db->nstatements].text = text;
    db->statements[db->nstatements++].stmt = st;
    return st;
}

int index_db_step(struct index_db *db, sqlite3_stmt *st)
{
    int rc = st ? sqlite3_step(st) : sqlite3_errcode(db->sql);
    if (rc == SQLITE_ROW)
        return 1;
    if (st)
        sqlite3_reset(st);
    return rc == SQLITE_DONE ? 0 : index_db_fail(db, rc ? rc : SQLITE_ERROR);
}

int index_db_run(struct index_db *db, sqlite3_stmt *st)
{
    int r = index_db_step(db, st);
    if (r > 0) { /* a database that was edited by hand may return rows */
        sqlite3_reset(st);
        return index_db_fail(db, SQLITE_CORRUPT);
    }
    return r;
}

void index_db_bind(sqlite3_stmt *st, int at, str s)
{
    sqlite3_bind_text64(st, at, s.n ? s.p : "", s.n, SQLITE_STATIC, SQLITE_UTF8);
}

str index_db_column(sqlite3_stmt *st, int at)
{
    const void *p = sqlite3_column_text(st, at);
    return str_make(p, (size_t)sqlite3_column_bytes(st, at));
}
