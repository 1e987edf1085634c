#include "store/shared/pg_file_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/file.h"

#define KEEP "interval '24 hours'" /* LIBRARY_KEEP_MS */
#define LINKED                                                                                     \
    "EXISTS (SELECT 1 FROM nb_blob_use u WHERE u.workspace = f.workspace"                          \
    " AND u.sha256 = f.sha256)"
#define AWAITED                                                                                    \
    "EXISTS (SELECT 1 FROM nb_file_giver g WHERE g.workspace = f.workspace"                        \
    " AND g.sha256 = f.sha256 AND (g.kept > now() - " KEEP " OR starts_with(g.user_id, 'prj_')))"
/* prj_: library_is_keeper */
_Static_assert(LIBRARY_KEEP_MS == 24 * 3600 * 1000LL, "as in KEEP");

struct file_call {
    struct arena arena;
    str workspace_id, user_id, sha256;
    const struct file_put *put;
    int fd;
    uint64_t total, freed;
    bool was_removed; /* by an attempt whose answer was lost, perhaps */
    struct attached *files;
    size_t n;
    struct arena *into; /* of `files` */
    const str *asked;
    size_t nasked;
    bool *is_known;
};

static void params_of(struct pg_params *p, struct file_call *x)
{
    pg_params_init(p, &x->arena);
    pg_text(p, x->workspace_id);
    pg_text(p, x->sha256);
}

static int file_run(struct pg_conn *c, struct file_call *x, const char *sql,
                    const struct pg_params *p, str *ret_tag, struct err *e)
{
    struct pg_query q = {.sql = sql, .params = p};
    int r = pg_conn_run(c, &q, 1, e);
    if (r == 0 && ret_tag)
        *ret_tag = arena_str(&x->arena, pg_command_tag(c, &q));
    pg_clear(c, &q, 1);
    return r;
}

static int commit(struct pg_conn *c, struct file_call *x, int r, struct err *e)
{
    str tag = STR_NONE;
    if (r < 0) {
        struct err ignored = {0};
        if (!c->is_lost)
            (void)file_run(c, x, "ROLLBACK", NULL, NULL, &ignored);
        return r;
    }
    r = file_run(c, x, "COMMIT", NULL, &tag, e);
    return r == 0 && !str_eq(tag, STR("COMMIT"))
               ? err_set(e, -EIO, "the database did not store the file")
               : r;
}

static int call(struct file_table *t, struct file_call *x, database_fn fn, struct err *e)
{
    struct pg_file_table *table = CONTAINER_OF(t, struct pg_file_table, table);
    arena_init(&x->arena);
    int r = database_read(table->db, fn, x, e);
    arena_done(&x->arena);
    return r;
}

/* ---- storing ---- */

static int put_rows(struct pg_conn *c, struct file_call *x, struct err *e)
{
    const struct attached *what = x->put->what;
    struct pg_params file, giver;
    params_of(&file, x);
    pg_int(&file, (int64_t)what->bytes);
    int r =
        file_run(c, x,
                 "INSERT INTO nb_file (workspace, sha256, bytes, kept) VALUES ($1, $2,"
                 " $3::bigint, now()) ON CONFLICT (workspace, sha256) DO UPDATE SET kept = now()",
                 &file, NULL, e);
    if (r < 0 || x->put->user_id.n == 0)
        return r;
    params_of(&giver, x);
    pg_text(&giver, x->put->user_id);
    pg_text(&giver, what->name);
    pg_text(&giver, what->mime);
    pg_int(&giver, what->width);
    pg_int(&giver, what->height);
    pg_int(&giver, what->at_ms);
    return file_run(c, x,
                    "INSERT INTO nb_file_giver (workspace, sha256, user_id, name, mime, width,"
                    " height, at_ms, kept) VALUES ($1, $2, $3, $4, $5, $6::bigint, $7::bigint,"
                    " $8::bigint, now()) ON CONFLICT (workspace, sha256, user_id) DO UPDATE SET"
                    " name = excluded.name, mime = excluded.mime, width = excluded.width,"
                    " height = excluded.height, at_ms = excluded.at_ms, kept = now()",
                    &giver, NULL, e);
}

static int read_total(struct pg_conn *c, struct file_call *x, struct err *e)
{
    struct pg_params p;
    pg_params_init(&p, &x->arena);
    pg_text(&p, x->workspace_id);
    struct pg_query q = {
        .sql = "SELECT coalesce(sum(bytes), 0)::bigint FROM nb_file WHERE workspace = $1",
        .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    if (r == 0)
        x->total = (uint64_t)pg_get_int(c, &q, 0, 0);
    pg_clear(c, &q, 1);
    return r;
}

/* How many pieces are there: all of them, or none. */
static int count_pieces(struct pg_conn *c, struct file_call *x, int64_t *ret, struct err *e)
{
    struct pg_params p;
    params_of(&p, x);
    struct pg_query q = {
        .sql = "SELECT count(*) FROM nb_file_piece WHERE workspace = $1 AND sha256 = $2",
        .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    *ret = r == 0 ? pg_get_int(c, &q, 0, 0) : 0;
    pg_clear(c, &q, 1);
    return r;
}

static int put_piece(struct pg_conn *c, struct file_call *x, uint64_t at, str bytes, struct err *e)
{
    struct arena a; /* for one piece */
    struct pg_params p;
    arena_init(&a);
    params_of(&p, x);
    p.arena = &a;
    pg_int(&p, (int64_t)at);
    pg_byteas(&p, &bytes, 1);
    int r = file_run(c, x,
                     "INSERT INTO nb_file_piece (workspace, sha256, at, bytes) SELECT $1, $2,"
                     " $3::bigint, b FROM unnest($4::bytea[]) AS b",
                     &p, NULL, e);
    arena_done(&a);
    return r;
}

static int put_bytes(struct pg_conn *c, struct file_call *x, struct err *e)
{
    uint64_t size = x->put->what->bytes, at = 0;
    int fd = open(x->put->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, -errno, "cannot read", x->put->path);
    char *piece = xcalloc(1, FILE_PIECE);
    int r = 0;
    do { /* an empty file has one piece */
        size_t n = size - at < FILE_PIECE ? (size_t)(size - at) : FILE_PIECE;
        r = file_read_all(fd, piece, n);
        if (r < 0)
            r = err_set(e, -EIO, "cannot read %s", x->put->path);
        else
            r = put_piece(c, x, at, str_make(piece, n), e);
        at += n;
    } while (r == 0 && at < size);
    free(piece);
    file_close(fd);
    return r;
}

static int put_file(struct pg_conn *c, void *ctx, struct err *e)
{
    struct file_call *x = ctx;
    int64_t pieces = 0;
    int r = file_run(c, x, "BEGIN", NULL, NULL, e);
    if (r < 0)
        return r;
    r = put_rows(c, x, e);
    if (r == 0)
        r = read_total(c, x, e);
    if (r == 0)
        r = count_pieces(c, x, &pieces, e);
    if (r == 0 && pieces == 0 && x->total > x->put->quota)
        r = err_set(e, -EDQUOT,
                    "The files of this workspace have reached their limit of %llu MiB "
                    "(files.quotaMb). Remove files or conversations first.",
                    (unsigned long long)(x->put->quota >> 20));
    if (r == 0 && pieces == 0)
        r = put_bytes(c, x, e);
    return commit(c, x, r, e);
}

static int table_put(struct file_table *t, const struct file_put *put, uint64_t *ret_total,
                     struct err *e)
{
    struct file_call x = {
        .workspace_id = put->workspace_id, .sha256 = put->sha256, .put = put, .fd = -1};
    int r = call(t, &x, put_file, e);
    if (r == 0)
        *ret_total = x.total;
    return r;
}

/* ---- finding ---- */

#define FILE_COLUMNS "g.sha256, g.name, g.mime, f.bytes, g.width, g.height, g.at_ms"

static void take_files(struct pg_conn *c, struct file_call *x, const struct pg_query *q)
{
    struct arena *a = x->into;
    x->n = (size_t)pg_rows(c, q);
    x->files = arena_array(a, x->n + 1, sizeof *x->files);
    for (size_t i = 0; i < x->n; i++) {
        int row = (int)i;
        x->files[i] = (struct attached){
            .id = library_id(a, pg_get_text(c, q, row, 0)),
            .name = arena_str(a, pg_get_text(c, q, row, 1)),
            .mime = arena_str(a, pg_get_text(c, q, row, 2)),
            .bytes = (uint64_t)pg_get_int(c, q, row, 3),
            .width = (uint32_t)pg_get_int(c, q, row, 4),
            .height = (uint32_t)pg_get_int(c, q, row, 5),
            .at_ms = pg_get_int(c, q, row, 6),
        };
    }
}

/* Somebody is about to use it: it is kept from now on, unless a conversation keeps it. */
static int find_file(struct pg_conn *c, void *ctx, struct err *e)
{
    static const char FIND[] =
        "SELECT " FILE_COLUMNS " FROM nb_file_giver g JOIN nb_file f ON f.workspace = g.workspace"
        " AND f.sha256 = g.sha256 WHERE g.workspace = $1 AND g.sha256 = $2 AND g.user_id = $3"
        " AND (EXISTS (SELECT 1 FROM nb_file_piece p WHERE p.workspace = f.workspace"
        " AND p.sha256 = f.sha256) OR " LINKED ")";
    static const char TOUCH[] =
        "UPDATE nb_file_giver f SET kept = now() WHERE f.workspace = $1 AND f.sha256 = $2"
        " AND f.user_id = $3 AND f.kept < now() - interval '1 minute' AND NOT " LINKED;
    struct file_call *x = ctx;
    struct pg_params p;
    params_of(&p, x);
    pg_text(&p, x->user_id);
    struct pg_query q[] = {{.sql = TOUCH, .params = &p}, {.sql = FIND, .params = &p}};
    int r = pg_conn_run(c, q, ARRAY_LEN(q), e);
    if (r == 0)
        take_files(c, x, &q[1]);
    pg_clear(c, q, ARRAY_LEN(q));
    return r;
}

static int fail_missing(str sha256, struct err *e)
{
    return err_set(e, -ENOENT, "There is no file 'file_%.*s' of yours.", STR_ARG(sha256));
}

static int table_find(struct file_table *t, struct arena *a, str workspace_id, str user_id,
                      str sha256, struct attached *ret, struct err *e)
{
    struct file_call x = {
        .workspace_id = workspace_id, .user_id = user_id, .sha256 = sha256, .into = a};
    int r = call(t, &x, find_file, e);
    if (r == 0 && x.n == 0)
        return fail_missing(sha256, e);
    if (r == 0)
        *ret = x.files[0];
    return r;
}

static int list_files(struct pg_conn *c, void *ctx, struct err *e)
{
    struct file_call *x = ctx;
    struct pg_params p;
    pg_params_init(&p, &x->arena);
    pg_text(&p, x->workspace_id);
    pg_text(&p, x->user_id);
    pg_int(&p, LIBRARY_LIST_MAX);
    struct pg_query q = {.sql = "SELECT " FILE_COLUMNS " FROM nb_file_giver g JOIN nb_file f"
                                " ON f.workspace = g.workspace AND f.sha256 = g.sha256"
                                " WHERE g.workspace = $1 AND g.user_id = $2"
                                " ORDER BY g.at_ms DESC, g.sha256 LIMIT $3::bigint",
                         .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    if (r == 0)
        take_files(c, x, &q);
    pg_clear(c, &q, 1);
    return r;
}

static int table_list(struct file_table *t, struct arena *a, str workspace_id, str user_id,
                      struct attached **ret, size_t *ret_n, struct err *e)
{
    struct file_call x = {.workspace_id = workspace_id, .user_id = user_id, .into = a};
    int r = call(t, &x, list_files, e);
    *ret = x.files;
    *ret_n = r == 0 ? x.n : 0;
    return r;
}

/* ---- bytes ---- */

/* One piece at a time; 1: it was written, 0: there is none. */
static int fetch_piece(struct pg_conn *c, struct file_call *x, uint64_t at, size_t *ret_n,
                       struct err *e)
{
    struct pg_params p;
    params_of(&p, x);
    pg_int(&p, (int64_t)at);
    struct pg_query q = {.sql = "SELECT bytes FROM nb_file_piece WHERE workspace = $1"
                                " AND sha256 = $2 AND at = $3::bigint",
                         .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    bool is_there = r == 0 && pg_rows(c, &q) > 0;
    str bytes = is_there ? pg_get_text(c, &q, 0, 0) : STR_NONE;
    if (is_there && file_write_all(x->fd, bytes) < 0)
        r = err_set(e, -EIO, "cannot write a copy of the file");
    *ret_n = bytes.n;
    pg_clear(c, &q, 1);
    return r < 0 ? r : is_there;
}

static int fetch_blob(struct pg_conn *c, struct file_call *x, struct err *e)
{
    struct pg_params p;
    params_of(&p, x);
    struct pg_query q = {.sql = "SELECT bytes FROM nb_blob WHERE workspace = $1 AND sha256 = $2",
                         .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    if (r == 0 && pg_rows(c, &q) == 0)
        r = err_set(e, -ENOENT, "There is no file 'file_%.*s' any more.", STR_ARG(x->sha256));
    if (r == 0 && file_write_all(x->fd, pg_get_text(c, &q, 0, 0)) < 0)
        r = err_set(e, -EIO, "cannot write a copy of the file");
    pg_clear(c, &q, 1);
    return r;
}

static int fetch_file(struct pg_conn *c, void *ctx, struct err *e)
{
    struct file_call *x = ctx;
    uint64_t at = 0;
    size_t n = FILE_PIECE;
    int r = 1;
    bool has_pieces = false;
    if (ftruncate(x->fd, 0) < 0 || lseek(x->fd, 0, SEEK_SET) < 0)
        return err_errno(e, -errno, "cannot write", "a copy of the file");
    while (r > 0 && n == FILE_PIECE) {
        r = fetch_piece(c, x, at, &n, e);
        has_pieces |= r > 0;
        at += n;
    }
    return r < 0 ? r : has_pieces ? 0 : fetch_blob(c, x, e);
}

static int table_fetch(struct file_table *t, str workspace_id, str sha256, int fd, struct err *e)
{
    struct file_call x = {.workspace_id = workspace_id, .sha256 = sha256, .fd = fd};
    return call(t, &x, fetch_file, e);
}

/* ---- removing ---- */

static int delete_unused(struct pg_conn *c, struct file_call *x, struct err *e)
{
    struct pg_params p;
    params_of(&p, x);
    struct pg_query q = {
        .sql = "DELETE FROM nb_file f WHERE f.workspace = $1 AND f.sha256 = $2 AND NOT EXISTS"
               " (SELECT 1 FROM nb_file_giver g WHERE g.workspace = f.workspace"
               " AND g.sha256 = f.sha256) AND NOT " LINKED " RETURNING f.bytes",
        .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    if (r == 0 && pg_rows(c, &q) > 0)
        x->freed = (uint64_t)pg_get_int(c, &q, 0, 0);
    pg_clear(c, &q, 1);
    return r;
}

static int remove_file(struct pg_conn *c, void *ctx, struct err *e)
{
    struct file_call *x = ctx;
    struct pg_params p, lock;
    str tag = STR_NONE;
    int r = file_run(c, x, "BEGIN", NULL, NULL, e);
    if (r < 0)
        return r;
    params_of(&lock, x);
    r = file_run(c, x, "SELECT 1 FROM nb_file WHERE workspace = $1 AND sha256 = $2 FOR UPDATE",
                 &lock, NULL, e);
    params_of(&p, x);
    pg_text(&p, x->user_id);
    if (r == 0)
        r = file_run(c, x,
                     "DELETE FROM nb_file_giver WHERE workspace = $1 AND sha256 = $2"
                     " AND user_id = $3",
                     &p, &tag, e);
    if (r == 0 && str_eq(tag, STR("DELETE 0")) && !x->was_removed)
        r = fail_missing(x->sha256, e);
    x->was_removed |= r == 0;
    if (r == 0)
        r = delete_unused(c, x, e);
    return commit(c, x, r, e);
}

static int table_remove(struct file_table *t, str workspace_id, str user_id, str sha256,
                        uint64_t *ret_freed, struct err *e)
{
    struct file_call x = {.workspace_id = workspace_id, .user_id = user_id, .sha256 = sha256};
    int r = call(t, &x, remove_file, e);
    *ret_freed = r == 0 ? x.freed : 0;
    return r;
}

/* An hour is left: the message that names the file is stored only after this. */
static int mark_rows(struct pg_conn *c, void *ctx, struct err *e)
{
#define NAMED "kept = least(kept, now() - interval '23 hours')"
    struct file_call *x = ctx;
    struct pg_params file, giver;
    params_of(&file, x);
    params_of(&giver, x);
    pg_text(&giver, x->user_id.n > 0 ? x->user_id : STR(""));
    struct pg_query q[] = {
        {.sql = "UPDATE nb_file SET " NAMED " WHERE workspace = $1 AND sha256 = $2",
         .params = &file},
        {.sql = "UPDATE nb_file_giver g SET " NAMED " WHERE workspace = $1 AND sha256 = $2"
                " AND (user_id = $3 OR ($3 = '' AND 1 = (SELECT count(*) FROM nb_file_giver o"
                " WHERE o.workspace = g.workspace AND o.sha256 = g.sha256)))",
         .params = &giver}};
    int r = pg_conn_run(c, q, ARRAY_LEN(q), e);
    pg_clear(c, q, ARRAY_LEN(q));
    return r;
}

static void table_mark_named(struct file_table *t, str workspace_id, str sha256, str user_id)
{
    struct file_call x = {.workspace_id = workspace_id, .user_id = user_id, .sha256 = sha256};
    (void)call(t, &x, mark_rows, NULL); /* then it stays for a day longer */
}

/* ---- sweeping ---- */

static int sweep_files(struct pg_conn *c, void *ctx, struct err *e)
{
#define OLD "f.workspace = $1 AND f.kept <= now() - " KEEP " AND NOT " AWAITED
    static const char UNUSED[] = "DELETE FROM nb_file f WHERE " OLD " AND NOT " LINKED;
    static const char TWICE[] =
        "DELETE FROM nb_file_piece p USING nb_file f WHERE " OLD
        " AND p.workspace = f.workspace AND p.sha256 = f.sha256 AND " LINKED;
    struct file_call *x = ctx;
    struct pg_params p;
    pg_params_init(&p, &x->arena);
    pg_text(&p, x->workspace_id);
    struct pg_query q[] = {{.sql = UNUSED, .params = &p}, {.sql = TWICE, .params = &p}};
    int r = pg_conn_run(c, q, ARRAY_LEN(q), e);
    pg_clear(c, q, ARRAY_LEN(q));
    return r < 0 ? r : read_total(c, x, e);
}

static int table_sweep(struct file_table *t, str workspace_id, uint64_t *ret_total, struct err *e)
{
    struct file_call x = {.workspace_id = workspace_id};
    int r = call(t, &x, sweep_files, e);
    *ret_total = r == 0 ? x.total : 0;
    return r;
}

static int select_known(struct pg_conn *c, void *ctx, struct err *e)
{
    struct file_call *x = ctx;
    struct pg_params p;
    pg_params_init(&p, &x->arena);
    pg_text(&p, x->workspace_id);
    pg_texts(&p, x->asked, x->nasked);
    struct pg_query q = {
        .sql = "SELECT EXISTS (SELECT 1 FROM nb_file f WHERE f.workspace = $1 AND"
               " f.sha256 = w.sha256) FROM unnest($2::text[]) WITH ORDINALITY AS w(sha256, no)"
               " ORDER BY w.no",
        .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    for (int i = 0; r == 0 && i < pg_rows(c, &q) && (size_t)i < x->nasked; i++)
        x->is_known[i] = pg_get_bool(c, &q, i, 0);
    pg_clear(c, &q, 1);
    return r;
}

static int table_known(struct file_table *t, str workspace_id, const str *sha256, size_t n,
                       bool *ret_known, struct err *e)
{
    struct file_call x = {
        .workspace_id = workspace_id, .asked = sha256, .nasked = n, .is_known = ret_known};
    return call(t, &x, select_known, e);
}

void pg_file_table_init(struct pg_file_table *t, struct database *db)
{
    *t = (struct pg_file_table){
        .table = {.put = table_put,
                  .find = table_find,
                  .list = table_list,
                  .fetch = table_fetch,
                  .remove = table_remove,
                  .mark_named = table_mark_named,
                  .sweep = table_sweep,
                  .known = table_known},
        .db = db,
    };
}
