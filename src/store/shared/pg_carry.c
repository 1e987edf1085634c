#include "store/shared/pg_carry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/file_place.h"
#include "base/bytes/hash.h"
#include "base/bytes/random.h"
#include "os/dir.h"
#include "os/file.h"
#include "store/marks.h"
#include "workspace/roster/roster.h"

#define NOTICES_NAME "notices.json"
#define NOTICES_MAX  (16u * 1024 * 1024)

void carry_problem(struct carry *c, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    c->report.failed++;
    if (c->report.nproblems < CARRY_PROBLEMS)
        c->report.problems[c->report.nproblems++] = arena_str(c->arena, str_from(text));
}

/* True: the call goes on, with the other things. */
static bool is_local(int r)
{
    return r != -EHOSTUNREACH && r != -ENOSPC && r != -EACCES;
}

/* ---- files that people gave ---- */

struct one_file {
    str user_id, sha256;
    struct attached what;
};

/* "<sha256>.<user>.json" */
static bool parse_name(str name, struct one_file *ret)
{
    str rest = str_skip(name, SHA256_HEX_LEN);
    ret->sha256 = str_slice(name, 0, SHA256_HEX_LEN);
    if (!sha256_is_hex(ret->sha256) || !str_starts(rest, STR(".")) ||
        !str_ends(rest, STR(".json")) || rest.n <= 6)
        return false;
    ret->user_id = str_slice(rest, 1, rest.n - 5);
    return library_giver_ok(ret->user_id);
}

static int hash_file(int fd, char hex[SHA256_HEX_LEN + 1])
{
    char piece[64 * 1024];
    struct sha256_pieces h;
    off_t at = 0;
    ssize_t n;
    sha256_begin(&h);
    for (; (n = pread(fd, piece, sizeof piece, at)) > 0; at += n)
        sha256_add(&h, str_make(piece, (size_t)n));
    sha256_end_hex(&h, hex);
    return n < 0 ? -errno : 0;
}

/* The bytes in the table, into a file without a name; compared with their hash. */
static int check_bytes(struct carry *c, str workspace_id, str sha256, struct err *e)
{
    char hex[SHA256_HEX_LEN + 1];
    int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno(e, -errno, "cannot create a temporary file in", "/tmp");
    int r = c->files->fetch(c->files, workspace_id, sha256, fd, e);
    if (r == 0)
        r = hash_file(fd, hex);
    file_close(fd);
    if (r == 0 && !str_eq(str_from(hex), sha256))
        r = err_set(e, -EIO, "the bytes in the database do not match their SHA-256");
    return r;
}

static int file_in(struct carry *c, const struct carry_place *p, const char *dir,
                   const struct one_file *f, struct err *e)
{
    struct attached there;
    uint64_t total;
    int r = c->files->find(c->files, c->arena, p->workspace_id, f->user_id, f->sha256, &there, e);
    if (r == 0) {
        c->report.existing++;
        return 0;
    }
    if (r != -ENOENT)
        return r;
    err_clear(e);
    const struct file_put put = {.workspace_id = p->workspace_id,
                                 .sha256 = f->sha256,
                                 .user_id = f->user_id,
                                 .what = &f->what,
                                 .path = library_path(c->arena, dir, f->sha256),
                                 .quota = UINT64_MAX};
    r = c->files->put(c->files, &put, &total, e);
    if (r == 0)
        r = check_bytes(c, p->workspace_id, f->sha256, e);
    c->report.files += r == 0;
    return r;
}

static int files_in_below(struct carry *c, const struct carry_place *p, const char *dir,
                          const char *name, struct err *e)
{
    int r = 0;
    DIR_EACH (d, arena_printf(c->arena, "%s/%s", dir, name).p) {
        struct one_file f;
        str copy = arena_str(c->arena, str_from(d.name));
        if (!parse_name(copy, &f))
            continue;
        r = library_find(c->arena, dir, f.user_id, f.sha256, &f.what, e);
        if (r == 0)
            r = file_in(c, p, dir, &f, e);
        if (r < 0 && !is_local(r))
            return r;
        if (r < 0)
            carry_problem(c, "files/%s/%.*s: %s", name, STR_ARG(copy), e->msg);
        err_clear(e);
    }
    return 0;
}

static int files_in(struct carry *c, const struct carry_place *p, struct err *e)
{
    const char *dir = arena_printf(c->arena, "%s/files", p->root).p;
    DIR_EACH (d, dir) {
        int r = strlen(d.name) == 2 ? files_in_below(c, p, dir, d.name, e) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

static int file_out(struct carry *c, const struct carry_place *p, const char *dir,
                    const struct one_file *f, struct err *e)
{
    char unique[RANDOM_ID_MAX], hex[SHA256_HEX_LEN + 1];
    struct attached there;
    bool is_new;
    if (library_find(c->arena, dir, f->user_id, f->sha256, &there, NULL) == 0) {
        c->report.existing++;
        return 0;
    }
    int r = file_make_dirs(dir, e);
    if (r < 0)
        return r;
    random_id("new", unique);
    const char *temp = arena_printf(c->arena, "%s/%s", dir, unique).p;
    int fd = open(temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno(e, -errno, "cannot create", temp);
    r = c->files->fetch(c->files, p->workspace_id, f->sha256, fd, e);
    if (r == 0 && (hash_file(fd, hex) < 0 || fsync(fd) < 0 || !str_eq(str_from(hex), f->sha256)))
        r = err_set(e, -EIO, "the bytes in the database do not match their SHA-256");
    file_close(fd);
    if (r == 0)
        r = library_keep(c->arena, dir, temp, f->user_id, f->sha256, &f->what, &is_new, e);
    else
        (void)unlink(temp);
    c->report.files += r == 0;
    return r;
}

/* ---- rows of a workspace ---- */

struct carry_rows {
    struct arena *arena;
    str workspace_id;
    const char *sql; /* one text column for each row */
    str *items;
    size_t n;
};

static int select_rows(struct pg_conn *c, void *ctx, struct err *e)
{
    struct carry_rows *x = ctx;
    struct pg_params p;
    pg_params_init(&p, x->arena);
    pg_text(&p, x->workspace_id);
    struct pg_query q = {.sql = x->sql, .params = &p, .is_once = true};
    int r = pg_conn_run(c, &q, 1, e);
    x->n = r == 0 ? (size_t)pg_rows(c, &q) : 0;
    x->items = arena_array(x->arena, x->n + 1, sizeof *x->items);
    for (size_t i = 0; i < x->n; i++)
        x->items[i] = arena_str(x->arena, pg_get_text(c, &q, (int)i, 0));
    pg_clear(c, &q, 1);
    return r;
}

static int read_rows(struct carry *c, const struct carry_place *p, const char *sql,
                     struct carry_rows *ret, struct err *e)
{
    *ret = (struct carry_rows){.arena = c->arena, .workspace_id = p->workspace_id, .sql = sql};
    return database_read(c->db, select_rows, ret, e);
}

static int files_out(struct carry *c, const struct carry_place *p, struct err *e)
{
    struct carry_rows people;
    struct attached *list;
    size_t n = 0;
    const char *dir = arena_printf(c->arena, "%s/files", p->root).p;
    int r = read_rows(c, p, "SELECT DISTINCT user_id FROM nb_file_giver WHERE workspace = $1",
                      &people, e);
    for (size_t i = 0; r == 0 && i < people.n; i++) {
        if (!library_giver_ok(people.items[i]))
            continue;
        r = c->files->list(c->files, c->arena, p->workspace_id, people.items[i], &list, &n, e);
        for (size_t k = 0; r == 0 && k < n; k++) {
            struct one_file f = {.user_id = people.items[i], .what = list[k]};
            if (!library_id_sha(list[k].id, &f.sha256))
                continue;
            r = file_out(c, p, dir, &f, e);
            if (r < 0 && is_local(r)) {
                carry_problem(c, "%.*s: %s", STR_ARG(list[k].id), e->msg);
                err_clear(e);
                r = 0;
            }
        }
    }
    return r;
}

/* ---- documents: notices and marks ---- */

struct carried_text {
    str text;
    bool was_there, differs;
};

static int put_if_absent(void *ctx, struct arena *a, str old, str *ret, struct err *e)
{
    struct carried_text *t = ctx;
    t->was_there = old.n > 0;
    t->differs = t->was_there && !str_eq(old, t->text);
    *ret = t->was_there ? old : t->text;
    return 0;
}

static void count_text(struct carry *c, const struct carried_text *t, str name, int64_t *counter)
{
    if (t->differs)
        carry_problem(c, "%.*s: the other side has one that differs, which was not changed",
                      STR_ARG(name));
    else if (t->was_there)
        c->report.existing++;
    else
        ++*counter;
}

static int notices_in(struct carry *c, const struct carry_place *p, struct err *e)
{
    str text, back;
    struct json *doc;
    const char *path = arena_printf(c->arena, "%s/" NOTICES_NAME, p->root).p;
    if (!file_exists(path))
        return 0;
    int r = file_read(c->arena, path, NOTICES_MAX, &text, e);
    if (r == 0)
        r = json_parse(c->arena, text, JSON_COPY, &doc, e);
    for (size_t i = 0; r == 0 && json_is(doc, JSON_OBJECT) && i < doc->len; i++) {
        str user = doc->members[i].key;
        if (!user_id_ok(user))
            continue;
        struct carried_text t = {.text = json_to_str(c->arena, &doc->members[i].value)};
        const struct document_change change = {
            .workspace_id = p->workspace_id,
            .path = arena_printf(c->arena, "notices/%.*s", STR_ARG(user)),
            .edit = put_if_absent,
            .ctx = &t};
        r = c->documents->change(c->documents, &change, e);
        if (r == 0)
            r = c->documents->read(c->documents, c->arena, p->workspace_id, change.path, &back, e);
        if (r == 0 && !t.was_there && !str_eq(back, t.text))
            r = err_set(e, -EIO, "the notices of %.*s were not stored", STR_ARG(user));
        if (r == 0)
            count_text(c, &t, change.path, &c->report.notices);
    }
    return r;
}

/* The whole file is written, or none: one that is there is left. */
static int notices_out(struct carry *c, const struct carry_place *p, struct err *e)
{
    struct carry_rows rows;
    struct json_writer w;
    struct buf b;
    str text;
    const char *path = arena_printf(c->arena, "%s/" NOTICES_NAME, p->root).p;
    int r = read_rows(c, p,
                      "SELECT path FROM nb_document WHERE workspace = $1"
                      " AND path LIKE 'notices/%' ORDER BY path",
                      &rows, e);
    if (r < 0 || rows.n == 0)
        return r;
    if (file_exists(path)) {
        c->report.existing++;
        return 0;
    }
    jw_start(&w, &b, NOTICES_MAX);
    jw_object(&w);
    for (size_t i = 0; r == 0 && i < rows.n; i++) {
        r = c->documents->read(c->documents, c->arena, p->workspace_id, rows.items[i], &text, e);
        struct json *list;
        if (r < 0 || json_parse(c->arena, text, 0, &list, NULL) < 0)
            continue;
        jw_key_str(&w, str_skip(rows.items[i], sizeof "notices/" - 1));
        jw_raw(&w, text);
        c->report.notices++;
    }
    jw_end(&w);
    if (r == 0)
        r = file_write_atomic(path, buf_str(&b), 0600, e);
    buf_done(&b);
    return r;
}

struct mark_row {
    struct arena *arena;
    str workspace_id, user_id, text;
};

static int run_mark(struct pg_conn *c, struct mark_row *x, const char *sql, bool has_text,
                    struct err *e)
{
    struct pg_params p;
    pg_params_init(&p, x->arena);
    pg_text(&p, x->workspace_id);
    pg_text(&p, x->user_id);
    if (has_text)
        pg_text(&p, x->text);
    struct pg_query q = {.sql = sql, .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    if (r == 0 && pg_rows(c, &q) > 0)
        x->text = arena_str(x->arena, pg_get_text(c, &q, 0, 0));
    pg_clear(c, &q, 1);
    return r;
}

static int put_mark(struct pg_conn *c, void *ctx, struct err *e)
{
    return run_mark(c, ctx,
                    "INSERT INTO nb_person (workspace, user_id, document) VALUES ($1, $2, $3)"
                    " ON CONFLICT (workspace, user_id) DO NOTHING",
                    true, e);
}

static int get_mark(struct pg_conn *c, void *ctx, struct err *e)
{
    struct mark_row *x = ctx;
    x->text = STR_NONE;
    return run_mark(c, x, "SELECT document FROM nb_person WHERE workspace = $1 AND user_id = $2",
                    false, e);
}

static int mark_in(struct carry *c, const struct carry_place *p, str user, str text, struct err *e)
{
    struct mark_row row = {.arena = c->arena, .workspace_id = p->workspace_id, .user_id = user};
    struct carried_text t = {.text = text};
    int r = database_read(c->db, get_mark, &row, e);
    t.was_there = row.text.n > 0;
    t.differs = t.was_there && !str_eq(row.text, text);
    if (r == 0 && !t.was_there) {
        row.text = text;
        r = database_read(c->db, put_mark, &row, e);
        if (r == 0)
            r = database_read(c->db, get_mark, &row, e);
        if (r == 0 && !str_eq(row.text, text))
            r = err_set(e, -EIO, "the marks of %.*s were not stored", STR_ARG(user));
    }
    if (r == 0)
        count_text(c, &t, user, &c->report.marks);
    return r;
}

/* Documents of people, and that of links (store_links.c). The name becomes part of a path. */
static bool is_person(str name)
{
    return user_id_ok(name) || str_eq(name, STR("links"));
}

static int marks_in(struct carry *c, const struct carry_place *p, struct err *e)
{
    int r = 0;
    if (!p->people_dir)
        return 0;
    DIR_EACH (d, p->people_dir) {
        str name = arena_str(c->arena, str_from(d.name)), text;
        str user = str_slice(name, 0, name.n > 5 ? name.n - 5 : 0);
        if (!str_ends(name, STR(".json")) || !is_person(user))
            continue;
        r = file_read(c->arena, arena_printf(c->arena, "%s/%s", p->people_dir, d.name).p,
                      MARKS_TEXT_MAX, &text, e);
        if (r == 0 && text.n > 0)
            r = mark_in(c, p, user, text, e);
        if (r < 0)
            return r;
    }
    return 0;
}

static int marks_out(struct carry *c, const struct carry_place *p, struct err *e)
{
    struct carry_rows people;
    if (!p->people_dir)
        return 0;
    int r = read_rows(c, p, "SELECT user_id FROM nb_person WHERE workspace = $1", &people, e);
    if (r == 0 && people.n > 0)
        r = file_make_dirs(p->people_dir, e);
    for (size_t i = 0; r == 0 && i < people.n; i++) {
        struct mark_row row = {
            .arena = c->arena, .workspace_id = p->workspace_id, .user_id = people.items[i]};
        if (!is_person(row.user_id))
            continue;
        const char *path =
            arena_printf(c->arena, "%s/%.*s.json", p->people_dir, STR_ARG(row.user_id)).p;
        if (file_exists(path)) {
            c->report.existing++;
            continue;
        }
        r = database_read(c->db, get_mark, &row, e);
        if (r == 0 && row.text.n > 0)
            r = file_write_atomic(path, row.text, 0600, e);
        c->report.marks += r == 0;
    }
    return r;
}

/* ---- all ---- */

int carry_to_tables(struct carry *c, const struct carry_place *p, struct err *e)
{
    int r = files_in(c, p, e);
    if (r == 0)
        r = notices_in(c, p, e);
    if (r == 0)
        r = marks_in(c, p, e);
    return r < 0 ? r : consents_in(c, p, e);
}

int carry_to_files(struct carry *c, const struct carry_place *p, struct err *e)
{
    int r = files_out(c, p, e);
    if (r == 0)
        r = notices_out(c, p, e);
    if (r == 0)
        r = marks_out(c, p, e);
    return r < 0 ? r : consents_out(c, p, e);
}
