#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/json/json.h"
#include "os/file.h"
#include "support/tempdir.h"
#include "support/unit.h"
#include "workspace/audit_read.h"

static struct tempdir dir;
static struct arena arena;

static int begin(void **state)
{
    arena_init(&arena);
    return tempdir_make(&dir);
}

static int end(void **state)
{
    arena_done(&arena);
    return tempdir_drop(&dir);
}

static void record(const char *action, const char *user, int64_t time_ms)
{
    struct audit_entry e = {.user = str_from(user),
                            .how = STR("session"),
                            .action = str_from(action),
                            .target = STR("usr_x"),
                            .outcome = STR("ok"),
                            .time_ms = time_ms};
    struct err err = {0};
    assert_int_equal(audit_append(dir.path, &e, 1, NULL, &err), 0);
}

static void record_many(int n)
{
    for (int i = 0; i < n; i++)
        record(i % 2 ? "user.add" : "login", i % 3 ? "usr_a" : "usr_b", 0);
}

static const char *last_file(void)
{
    struct audit_file_name *files;
    size_t n;
    assert_int_equal(audit_files(&arena, dir.path, &files, &n, NULL), 0);
    assert_true(n > 0);
    return audit_path(&arena, dir.path, files[n - 1].name);
}

static str content(void)
{
    str text;
    assert_int_equal(file_read(&arena, last_file(), 64u << 20, &text, NULL), 0);
    return text;
}

static void overwrite(str text)
{
    assert_int_equal(file_write_atomic(last_file(), text, 0600, NULL), 0);
}

static struct audit_report verify(void)
{
    struct audit_report r;
    assert_int_equal(audit_verify(&arena, dir.path, &r, NULL), 0);
    return r;
}

static void assert_problem(const char *words)
{
    struct audit_report r = verify();
    for (size_t i = 0; i < r.nproblems && i < AUDIT_PROBLEMS_MAX; i++)
        if (str_find(r.problems[i], str_from(words), 0) >= 0)
            return;
    print_error("no problem says '%s' (%zu problems, first: %.*s)\n", words, r.nproblems,
                r.nproblems ? (int)r.problems[0].n : 0, r.nproblems ? r.problems[0].p : "");
    fail();
}

/* The lines of the file; at most 64. */
static size_t lines(str text, str ret[64])
{
    size_t n = 0;
    while (n < 64 && str_split(&text, '\n', &ret[n]))
        n++;
    return n;
}

static void write_lines(const str *all, size_t n)
{
    struct buf b;
    buf_init(&b, 1u << 20);
    for (size_t i = 0; i < n; i++) {
        buf_add_str(&b, all[i]);
        buf_add_char(&b, '\n');
    }
    overwrite(buf_str(&b));
    buf_done(&b);
}

TEST_WITH(chain_of_private_files, begin, end)
{
    struct stat st;
    record_many(10);
    struct audit_report r = verify();
    assert_int_equal(r.nproblems, 0);
    assert_int_equal(r.records, 10);
    assert_int_equal(r.last, 10);
    assert_int_equal(stat(last_file(), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(audit_path(&arena, dir.path, "."), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
}

TEST_WITH(edit_is_found, begin, end)
{
    record_many(5);
    str text = content();
    char *p = arena_cstr(&arena, text);
    memcpy(strstr(strstr(p, "\"seq\":3"), "usr_x"), "usr_y", 5);
    overwrite(str_from(p));
    assert_problem("line 3: record 3 was changed");
}

TEST_WITH(every_changed_byte_is_found, begin, end)
{
    record_many(3);
    str text = content();
    for (size_t i = 0; i < text.n; i++) {
        char *p = arena_cstr(&arena, text);
        p[i] = (char)(p[i] == 'a' ? 'b' : 'a');
        overwrite(str_make(p, text.n));
        assert_true(verify().nproblems > 0);
    }
}

TEST_WITH(cut_is_found, begin, end)
{
    str all[64];
    record_many(8);
    size_t n = lines(content(), all);
    write_lines(all, n - 2);
    assert_problem("records 7 to 8 were written and are missing");

    /* Later records do not hide it. */
    record("login", "usr_a", 0);
    assert_problem("records 7 to 8 are missing before record 9");

    write_lines(all, n);
    all[2] = all[1];
    write_lines(all + 2, n - 2);
    assert_true(verify().nproblems > 0);
}

TEST_WITH(missing_middle_and_beginning_are_found, begin, end)
{
    str all[64];
    record_many(8);
    size_t n = lines(content(), all);
    memmove(&all[3], &all[4], (n - 4) * sizeof(str));
    write_lines(all, n - 1);
    assert_problem("record 4 is missing before record 5");
    write_lines(all + 1, n - 2);
    assert_problem("records 1 to 1 are not in this log");
}

TEST_WITH(reordering_is_found, begin, end)
{
    str all[64];
    record_many(6);
    size_t n = lines(content(), all);
    str swap = all[2];
    all[2] = all[3];
    all[3] = swap;
    write_lines(all, n);
    assert_problem("line 4: record 3 is out of order");
}

TEST_WITH(all_lines_gone_is_found, begin, end)
{
    record_many(3);
    assert_int_equal(unlink(last_file()), 0);
    assert_problem("records 1 to 3 were written and are missing");
}

TEST_WITH(torn_tail_is_repaired, begin, end)
{
    record_many(4);
    str text = content();
    overwrite(arena_concat(&arena, text, STR("{\"seq\":5,\"time\":\"20")));
    assert_problem("not complete");
    record("login", "usr_a", 0);
    struct audit_report r = verify();
    assert_int_equal(r.nproblems, 0);
    assert_int_equal(r.records, 6); /* one says that a line was repaired */
    assert_true(file_exists(arena_printf(&arena, "%s.torn", last_file()).p));
}

/* A writer that dies between line and head. */
TEST_WITH(head_behind_the_log, begin, end)
{
    str head;
    const char *path = audit_path(&arena, dir.path, "head");
    record_many(2);
    assert_int_equal(file_read(&arena, path, 4096, &head, NULL), 0);
    record_many(3);
    assert_int_equal(file_write_atomic(path, head, 0600, NULL), 0);
    assert_int_equal(verify().nproblems, 0);
    record_many(1);
    struct audit_report r = verify();
    assert_int_equal(r.nproblems, 0);
    assert_int_equal(r.last, 6);
}

TEST_WITH(rotation_carries_the_chain, begin, end)
{
    struct audit_file_name *files;
    size_t n;
    record("login", "usr_a", 1762000000000); /* November 2025 */
    record("login", "usr_a", 1765000000000); /* December */
    record("login", "usr_a", 1765000000001);
    record("login", "usr_a", 1762000000000); /* a clock that was set back starts no file */
    assert_int_equal(audit_files(&arena, dir.path, &files, &n, NULL), 0);
    assert_int_equal(n, 2);
    assert_string_equal(files[1].name, "audit-000000000002-202512.jsonl");
    struct audit_report r = verify();
    assert_int_equal(r.nproblems, 0);
    assert_int_equal(r.records, 4);
    assert_int_equal(unlink(audit_path(&arena, dir.path, files[0].name)), 0);
    assert_problem("records 1 to 1 are not in this log");
}

TEST_WITH(full_file_is_followed_by_another, begin, end)
{
    enum { N = 256 };
    static struct audit_entry many[N];
    static char word[AUDIT_TEXT_MAX];
    struct audit_file_name *files;
    size_t n;
    memset(word, 'w', sizeof word);
    str w = str_make(word, sizeof word);
    for (size_t i = 0; i < N; i++)
        many[i] = (struct audit_entry){
            .user = w, .token = w, .target = w, .detail = w, .action = w, .outcome = w};
    for (uint64_t bytes = 0; bytes < AUDIT_FILE_MAX + (1u << 20); bytes += N * 6 * sizeof word)
        assert_int_equal(audit_append(dir.path, many, N, NULL, NULL), 0);
    assert_int_equal(audit_files(&arena, dir.path, &files, &n, NULL), 0);
    assert_true(n >= 2);
    assert_int_equal(verify().nproblems, 0);
}

TEST_WITH(queries, begin, end)
{
    struct audit_page page;
    struct audit_query q = {.limit = 3, .is_newest_first = true};
    record_many(10);
    assert_int_equal(audit_read(&arena, dir.path, &q, &page, NULL), 0);
    assert_int_equal(page.n, 3);
    assert_int_equal(page.next, 8);
    assert_true(page.has_more);
    q.before = page.next;
    assert_int_equal(audit_read(&arena, dir.path, &q, &page, NULL), 0);
    assert_int_equal(page.next, 5);
    q = (struct audit_query){.after = 8};
    assert_int_equal(audit_read(&arena, dir.path, &q, &page, NULL), 0);
    assert_int_equal(page.n, 2);
    assert_false(page.has_more);
    q = (struct audit_query){.actor = STR("usr_b"), .action = STR("user.*")};
    assert_int_equal(audit_read(&arena, dir.path, &q, &page, NULL), 0);
    assert_int_equal(page.n, 2);
    q = (struct audit_query){.since_ms = INT64_C(99999999999999)};
    assert_int_equal(audit_read(&arena, dir.path, &q, &page, NULL), 0);
    assert_int_equal(page.n, 0);
}

TEST_WITH(texts_are_plain_and_bounded, begin, end)
{
    char longer[3 * AUDIT_TEXT_MAX];
    memset(longer, 'x', sizeof longer);
    struct audit_entry e = {.action = STR("login"),
                            .outcome = STR("ok"),
                            .user = str_make(longer, sizeof longer),
                            .target = STR("a\x1b[31m\xe2\x80\xae\nb\xff")};
    assert_int_equal(audit_append(dir.path, &e, 1, NULL, NULL), 0);
    struct json *v;
    str text = content();
    assert_int_equal(json_parse(&arena, str_trim(text), 0, &v, NULL), 0);
    assert_int_equal(json_get_string(json_get(v, "actor"), "user").n, AUDIT_TEXT_MAX);
    str target = json_get_string(v, "target");
    assert_string_equal(arena_cstr(&arena, target), "a [31m b\xef\xbf\xbd");
}

TEST_WITH(two_writers_share_one_chain, begin, end)
{
    for (int child = 0; child < 4; child++) {
        if (fork() == 0) {
            for (int i = 0; i < 25; i++) {
                struct audit_entry e = {.action = STR("login"), .outcome = STR("ok")};
                if (audit_append(dir.path, &e, 1, NULL, NULL) < 0)
                    _exit(1);
            }
            _exit(0);
        }
    }
    for (int child = 0; child < 4; child++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    struct audit_report r = verify();
    assert_int_equal(r.nproblems, 0);
    assert_int_equal(r.records, 100);
}
