/* Files and documents that the servers of one database share. */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "base/bytes/hash.h"
#include "os/file.h"
#include "store/shared/pg_documents.h"
#include "store/shared/pg_file_table.h"
#include "support/postgres.h"

static struct postgres server;
static struct loop *loop;
static struct database *db;
static struct pg_file_table files;
static struct pg_documents documents;
static struct arena arena;

#define WS STR("ws_team")

static int begin(void **state)
{
    struct err e = {0};
    postgres_sql(server.url, "TRUNCATE nb_file CASCADE");
    postgres_sql(server.url, "TRUNCATE nb_document, nb_conversation CASCADE");
    loop = loop_new(NULL);
    db = database_new(loop, NULL, server.url);
    assert_int_equal(database_open(db, false, &e), 0);
    pg_file_table_init(&files, db);
    pg_documents_init(&documents, db);
    arena_init(&arena);
    return 0;
}

static int end(void **state)
{
    arena_done(&arena);
    database_free(db);
    loop_free(loop);
    return 0;
}

/* ---- files ---- */

struct sample {
    char path[40];
    str sha256, bytes;
    struct attached what;
};

static struct sample sample_of(size_t n, char fill)
{
    struct sample s = {0};
    char hex[SHA256_HEX_LEN + 1];
    char *bytes = arena_array(&arena, n + 1, 1);
    memset(bytes, fill, n);
    s.bytes = str_make(bytes, n);
    sha256_hex(s.bytes, hex);
    s.sha256 = arena_str(&arena, str_from(hex));
    snprintf(s.path, sizeof s.path, "/tmp/nb-file-%.12s", hex);
    assert_int_equal(file_write_atomic(s.path, s.bytes, 0600, NULL), 0);
    s.what = (struct attached){
        .name = STR("a \"name\".txt"), .mime = STR("text/plain"), .bytes = n, .at_ms = 1000};
    return s;
}

static int put(const struct sample *s, const char *user, uint64_t quota, uint64_t *total)
{
    struct err e = {0};
    const struct file_put p = {.workspace_id = WS,
                               .sha256 = s->sha256,
                               .user_id = str_from(user),
                               .what = &s->what,
                               .path = s->path,
                               .quota = quota};
    return files.table.put(&files.table, &p, total, &e);
}

static str fetch(const struct sample *s, int *ret_code)
{
    struct err e = {0};
    int fd = memfd_create("test", MFD_CLOEXEC);
    *ret_code = files.table.fetch(&files.table, WS, s->sha256, fd, &e);
    off_t n = lseek(fd, 0, SEEK_END);
    char *bytes = arena_array(&arena, (size_t)n + 1, 1);
    assert_int_equal(pread(fd, bytes, (size_t)n, 0), n);
    close(fd);
    return str_make(bytes, (size_t)n);
}

static int find(const struct sample *s, const char *user)
{
    struct attached found;
    struct err e = {0};
    int r = files.table.find(&files.table, &arena, WS, str_from(user), s->sha256, &found, &e);
    if (r == 0) {
        assert_int_equal(found.bytes, s->bytes.n);
        assert_true(str_eq(found.name, s->what.name));
    }
    return r;
}

static uint64_t sweep(void)
{
    uint64_t total;
    struct err e = {0};
    assert_int_equal(files.table.sweep(&files.table, WS, &total, &e), 0);
    return total;
}

/* A conversation that names the file, as a message makes it. */
static void name_in_conversation(const struct sample *s)
{
    char sql[600];
    files.table.mark_named(&files.table, WS, s->sha256, STR("usr_bob"));
    snprintf(sql, sizeof sql,
             "INSERT INTO nb_conversation (workspace, id, last, created_at, updated_at, owner_id,"
             " is_shared, is_sealed, is_hidden, participants, title, preview, summary)"
             " VALUES ('ws_team', 'conv_a', 0, '', '', 'usr_bob', false, false, false, '{}', '',"
             " '', '')");
    postgres_sql(server.url, sql);
    snprintf(sql, sizeof sql,
             "INSERT INTO nb_blob (workspace, sha256, bytes) SELECT 'ws_team', sha256,"
             " string_agg(bytes, ''::bytea ORDER BY at) FROM nb_file_piece WHERE sha256 = '%.*s'"
             " GROUP BY sha256",
             STR_ARG(s->sha256));
    postgres_sql(server.url, sql);
    snprintf(sql, sizeof sql,
             "INSERT INTO nb_blob_use (conversation, workspace, sha256) SELECT key, 'ws_team',"
             " '%.*s' FROM nb_conversation",
             STR_ARG(s->sha256));
    postgres_sql(server.url, sql);
}

static void make_old(void)
{
    postgres_sql(server.url, "UPDATE nb_file SET kept = kept - interval '25 hours'");
    postgres_sql(server.url, "UPDATE nb_file_giver SET kept = kept - interval '25 hours'");
}

TEST_WITH(bytes_come_back_whole_whatever_their_size, begin, end)
{
    static const size_t SIZES[] = {
        0, 1, FILE_PIECE - 1, FILE_PIECE, FILE_PIECE + 1, 2 * FILE_PIECE};
    uint64_t total, sum = 0;
    int code;
    for (size_t i = 0; i < ARRAY_LEN(SIZES); i++) {
        struct sample s = sample_of(SIZES[i], (char)('a' + i));
        sum += SIZES[i];
        assert_int_equal(put(&s, "usr_bob", UINT64_MAX, &total), 0);
        assert_int_equal(total, sum);
        assert_int_equal(put(&s, "usr_bob", UINT64_MAX, &total), 0); /* once more is the same */
        assert_int_equal(total, sum);
        assert_true(str_eq(fetch(&s, &code), s.bytes));
        assert_int_equal(code, 0);
        assert_int_equal(find(&s, "usr_bob"), 0);
        assert_int_equal(find(&s, "usr_cat"), -ENOENT);
        unlink(s.path);
    }
    struct attached *list;
    size_t n;
    struct err e = {0};
    assert_int_equal(files.table.list(&files.table, &arena, WS, STR("usr_bob"), &list, &n, &e), 0);
    assert_int_equal(n, ARRAY_LEN(SIZES));
}

TEST_WITH(a_workspace_has_a_limit, begin, end)
{
    uint64_t total;
    struct sample a = sample_of(600, 'a'), b = sample_of(600, 'b');
    assert_int_equal(put(&a, "usr_bob", 1000, &total), 0);
    assert_int_equal(put(&b, "usr_bob", 1000, &total), -EDQUOT);
    assert_int_equal(find(&b, "usr_bob"), -ENOENT);        /* nothing is left of it */
    assert_int_equal(put(&a, "usr_cat", 1000, &total), 0); /* no new bytes */
    assert_int_equal(sweep(), 600);
    unlink(a.path);
    unlink(b.path);
}

TEST_WITH(the_last_who_gave_it_takes_the_bytes_along, begin, end)
{
    uint64_t total, freed;
    int code;
    struct err e = {0};
    bool is_known[2];
    struct sample s = sample_of(100, 'a');
    assert_int_equal(put(&s, "usr_bob", UINT64_MAX, &total), 0);
    assert_int_equal(put(&s, "usr_cat", UINT64_MAX, &total), 0);
    struct file_table *t = &files.table;
    assert_int_equal(t->remove(t, WS, STR("usr_dan"), s.sha256, &freed, &e), -ENOENT);
    assert_int_equal(t->remove(t, WS, STR("usr_bob"), s.sha256, &freed, &e), 0);
    assert_int_equal(freed, 0);
    assert_int_equal(find(&s, "usr_bob"), -ENOENT);
    assert_int_equal(find(&s, "usr_cat"), 0);
    const str asked[] = {s.sha256, STR("0000")};
    assert_int_equal(t->known(t, WS, asked, 2, is_known, &e), 0);
    assert_true(is_known[0] && !is_known[1]);
    assert_int_equal(t->remove(t, WS, STR("usr_cat"), s.sha256, &freed, &e), 0);
    assert_int_equal(freed, 100);
    (void)fetch(&s, &code);
    assert_int_equal(code, -ENOENT);
    unlink(s.path);
}

TEST_WITH(bytes_stay_for_a_day_or_as_long_as_a_conversation, begin, end)
{
    uint64_t total;
    int code;
    struct sample given = sample_of(100, 'a'), named = sample_of(200, 'b');
    assert_int_equal(put(&given, "usr_bob", UINT64_MAX, &total), 0);
    assert_int_equal(put(&named, "usr_bob", UINT64_MAX, &total), 0);
    assert_int_equal(sweep(), 300);
    name_in_conversation(&named);
    assert_int_equal(sweep(), 300);
    make_old();
    assert_int_equal(sweep(), 200);
    assert_int_equal(find(&given, "usr_bob"), -ENOENT);
    /* The pieces are gone, because the conversation has the bytes. */
    assert_int_equal(find(&named, "usr_bob"), 0);
    assert_true(str_eq(fetch(&named, &code), named.bytes));
    postgres_sql(server.url, "DELETE FROM nb_blob_use");
    postgres_sql(server.url, "DELETE FROM nb_blob");
    assert_int_equal(find(&named, "usr_bob"), -ENOENT);
    make_old();
    assert_int_equal(sweep(), 0);
    unlink(given.path);
    unlink(named.path);
}

/* ---- documents ---- */

static int append_x(void *ctx, struct arena *a, str old, str *ret, struct err *e)
{
    *ret = arena_printf(a, "%.*sx", STR_ARG(old));
    return 0;
}

static int set_text(void *ctx, struct arena *a, str old, str *ret, struct err *e)
{
    *ret = *(const str *)ctx;
    return 0;
}

static int change(const char *path, bool is_followed, document_edit_fn edit, void *ctx)
{
    struct err e = {0};
    const struct document_change c = {.workspace_id = WS,
                                      .path = str_from(path),
                                      .is_followed = is_followed,
                                      .edit = edit,
                                      .ctx = ctx};
    return documents.table.change(&documents.table, &c, &e);
}

enum { WRITERS = 3, EACH = 20 };

static void *write_some(void *arg)
{
    for (int i = 0; i < EACH; i++)
        if (change("notices/usr_bob", false, append_x, NULL) < 0)
            return arg; /* not NULL: failed */
    return NULL;
}

TEST_WITH(no_change_of_a_document_is_lost, begin, end)
{
    pthread_t threads[WRITERS];
    str text;
    struct err e = {0};
    for (size_t i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_some, threads), 0);
    for (size_t i = 0; i < WRITERS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_null(result);
    }
    struct document_table *t = &documents.table;
    assert_int_equal(t->read(t, &arena, WS, STR("notices/usr_bob"), &text, &e), 0);
    assert_int_equal(text.n, WRITERS * EACH);
    assert_int_equal(t->read(t, &arena, STR("ws_other"), STR("notices/usr_bob"), &text, &e), 0);
    assert_int_equal(text.n, 0);
}

TEST_WITH(followed_documents_are_news_also_when_they_are_removed, begin, end)
{
    struct document_news news;
    struct document_table *t = &documents.table;
    struct err e = {0};
    assert_int_equal(t->news(t, &arena, WS, 0, &news, &e), 0);
    int64_t before = news.until;
    assert_int_equal(change("skills/a.md", true, set_text, &(str)STR_INIT("one")), 0);
    assert_int_equal(change("notices/usr_bob", false, set_text, &(str)STR_INIT("quiet")), 0);
    assert_int_equal(t->news(t, &arena, WS, before, &news, &e), 0);
    assert_int_equal(news.n, 1);
    assert_true(str_eq(news.items[0].bytes, STR("one")));
    int64_t since = news.until;
    assert_true(since > before);
    assert_int_equal(t->news(t, &arena, WS, since, &news, &e), 0);
    assert_int_equal(news.n, 0);
    assert_int_equal(change("skills/a.md", true, set_text, &(str){0}), 0);
    assert_int_equal(t->news(t, &arena, WS, since, &news, &e), 0);
    assert_int_equal(news.n, 1);
    assert_true(news.items[0].is_removed);
}

int main(int argc, char **argv)
{
    postgres_start(&server);
    postgres_init(server.url);
    int failed = run_unit_tests("shared", argc > 1 ? argv[1] : NULL);
    postgres_stop(&server);
    return failed;
}
