#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "attach/library.h"
#include "base/bytes/hash.h"
#include "base/clock.h"
#include "os/file.h"
#include "support/tempdir.h"
#include "support/unit.h"

struct shelf {
    struct tempdir dir;
    struct arena a;
};

static int shelf_setup(void **state)
{
    struct shelf *s = xcalloc(1, sizeof *s);
    arena_init(&s->a);
    *state = s;
    return tempdir_make(&s->dir);
}

static int shelf_teardown(void **state)
{
    struct shelf *s = *state;
    arena_done(&s->a);
    int rc = tempdir_drop(&s->dir);
    free(s);
    return rc;
}

TEST_WITH(made_bytes_are_stored_once_and_have_no_giver, shelf_setup, shelf_teardown)
{
    struct shelf *s = *state;
    struct err e = {0};
    struct attached found, *all;
    str first, second, text;
    size_t n;
    bool is_new = false;
    assert_int_equal(library_add(&s->a, s->dir.path, STR("made"), &first, &is_new, &e), 0);
    assert_true(is_new);
    assert_int_equal(library_add(&s->a, s->dir.path, STR("made"), &second, &is_new, &e), 0);
    assert_false(is_new);
    assert_true(str_eq(first, second));
    assert_int_equal(file_read(&s->a, library_path(&s->a, s->dir.path, first), 10, &text, &e), 0);
    assert_true(str_eq(text, STR("made")));
    assert_int_equal(library_find(&s->a, s->dir.path, STR("usr_a"), first, &found, &e), -ENOENT);
    assert_int_equal(library_list(&s->a, s->dir.path, STR("usr_a"), &all, &n, &e), 0);
    assert_int_equal(n, 0);
}

static void make_old(const char *path)
{
    const struct timespec past[2] = {{1, 0}, {1, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, past, 0), 0);
}

TEST_WITH(made_bytes_and_previews_go_when_nothing_refers_to_them, shelf_setup, shelf_teardown)
{
    struct shelf *s = *state;
    struct err e = {0};
    str sha256;
    bool is_new;
    assert_int_equal(library_add(&s->a, s->dir.path, STR("made"), &sha256, &is_new, &e), 0);
    const char *path = library_path(&s->a, s->dir.path, sha256);
    const char *thumb = library_thumb_path(&s->a, s->dir.path, sha256);
    assert_int_equal(file_write_atomic(thumb, STR("small"), 0600, &e), 0);
    assert_int_equal(library_sweep(s->dir.path, LIBRARY_KEEP_MS).bytes, 4);
    assert_true(file_exists(path) && file_exists(thumb));
    make_old(thumb); /* stays as long as its picture */
    (void)library_sweep(s->dir.path, 2 * LIBRARY_KEEP_MS);
    assert_true(file_exists(thumb));
    make_old(path);
    assert_int_equal(library_sweep(s->dir.path, 2 * LIBRARY_KEEP_MS).bytes, 0);
    assert_false(file_exists(path) || file_exists(thumb));
}

static const char *page_of(struct shelf *s, str sha256, uint32_t page)
{
    struct err e = {0};
    const char *path = library_page_path(&s->a, s->dir.path, sha256, page, 1600);
    assert_int_equal(file_write_atomic(path, STR("pixels"), 0600, &e), 0);
    return path;
}

TEST_WITH(pictures_of_pages_are_counted_grow_old_and_go_with_their_file, shelf_setup,
          shelf_teardown)
{
    struct shelf *s = *state;
    struct err e = {0};
    str sha256;
    bool is_new;
    int64_t now = clock_now_ms();
    assert_int_equal(library_add(&s->a, s->dir.path, STR("made"), &sha256, &is_new, &e), 0);
    const char *path = library_path(&s->a, s->dir.path, sha256);
    const char *one = page_of(s, sha256, 1), *two = page_of(s, sha256, 2);
    assert_int_equal(library_sweep(s->dir.path, now).pages, 12);
    make_old(two);
    assert_int_equal(library_sweep(s->dir.path, now).pages, 6);
    assert_true(file_exists(one) && !file_exists(two));
    make_old(path); /* nothing refers to it: the picture goes with it, new as it is */
    assert_int_equal(library_sweep(s->dir.path, now).pages, 0);
    assert_false(file_exists(path) || file_exists(one));
}

/* ---- several people gave the same bytes ---- */

static const char *given_by(struct shelf *s, str user_id, str *ret_sha256)
{
    struct err e = {0};
    bool is_new;
    char hex[SHA256_HEX_LEN + 1];
    const char *temp = arena_printf(&s->a, "%s/new_1", s->dir.path).p;
    struct attached what = {.name = STR("a.txt"), .mime = STR("text/plain"), .bytes = 5};
    sha256_hex(STR("bytes"), hex);
    *ret_sha256 = arena_str(&s->a, str_from(hex));
    assert_int_equal(file_write_atomic(temp, STR("bytes"), 0600, &e), 0);
    assert_int_equal(
        library_keep(&s->a, s->dir.path, temp, user_id, *ret_sha256, &what, &is_new, &e), 0);
    return library_path(&s->a, s->dir.path, *ret_sha256);
}

TEST_WITH(a_message_takes_the_time_of_grace_from_its_sender_alone, shelf_setup, shelf_teardown)
{
    struct shelf *s = *state;
    struct err e = {0};
    struct attached found;
    str sha256;
    int64_t now = clock_now_ms();
    const char *path = given_by(s, STR("usr_a"), &sha256);
    given_by(s, STR("usr_b"), &sha256);
    library_mark_named(&s->a, s->dir.path, sha256, STR("usr_b")); /* and it is purged */
    assert_int_equal(library_sweep(s->dir.path, now).bytes, 5);
    assert_int_equal(library_find(&s->a, s->dir.path, STR("usr_a"), sha256, &found, &e), 0);
    library_mark_named(&s->a, s->dir.path, sha256, STR("usr_a"));
    assert_int_equal(library_sweep(s->dir.path, now).bytes, 0);
    assert_false(file_exists(path));
}

TEST_WITH(a_file_that_is_used_again_has_its_time_again, shelf_setup, shelf_teardown)
{
    struct shelf *s = *state;
    struct err e = {0};
    struct attached found;
    str sha256;
    int64_t now = clock_now_ms();
    given_by(s, STR("usr_a"), &sha256);
    library_mark_named(&s->a, s->dir.path, sha256, STR("usr_a"));
    assert_int_equal(library_find(&s->a, s->dir.path, STR("usr_a"), sha256, &found, &e), 0);
    assert_int_equal(library_sweep(s->dir.path, now).bytes, 5);
    assert_int_equal(library_sweep(s->dir.path, now + 2 * LIBRARY_KEEP_MS).bytes, 0);
}

TEST_WITH(a_result_takes_it_from_the_only_person_who_gave_it, shelf_setup, shelf_teardown)
{
    struct shelf *s = *state;
    str sha256;
    int64_t now = clock_now_ms();
    given_by(s, STR("usr_a"), &sha256);
    given_by(s, STR("usr_b"), &sha256);
    library_mark_named(&s->a, s->dir.path, sha256, STR_NONE);
    assert_int_equal(library_sweep(s->dir.path, now).bytes, 5); /* nobody knows whose it was */
    struct err e = {0};
    uint64_t freed;
    assert_int_equal(library_remove(&s->a, s->dir.path, STR("usr_b"), sha256, &freed, &e), 0);
    library_mark_named(&s->a, s->dir.path, sha256, STR_NONE);
    assert_int_equal(library_sweep(s->dir.path, now).bytes, 0);
}

TEST_WITH(a_project_keeps_bytes_until_it_removes_them, shelf_setup, shelf_teardown)
{
    struct shelf *s = *state;
    struct err e = {0};
    struct attached found;
    uint64_t freed;
    str sha256;
    int64_t later = clock_now_ms() + 100 * LIBRARY_KEEP_MS;
    const char *path = given_by(s, STR("usr_a"), &sha256);
    str project = STR("prj_0123456789abcdef");
    assert_int_equal(library_share(&s->a, s->dir.path, STR("usr_b"), sha256, project, &found, &e),
                     -ENOENT);
    assert_int_equal(library_share(&s->a, s->dir.path, STR("usr_a"), sha256, project, &found, &e),
                     0);
    assert_true(str_eq(found.name, STR("a.txt")));
    library_mark_named(&s->a, s->dir.path, sha256, STR("usr_a"));
    library_mark_named(&s->a, s->dir.path, sha256, STR_NONE);
    assert_int_equal(library_sweep(s->dir.path, later).bytes, 5);
    assert_int_equal(library_find(&s->a, s->dir.path, project, sha256, &found, &e), 0);
    assert_int_equal(library_remove(&s->a, s->dir.path, project, sha256, &freed, &e), 0);
    assert_int_equal(library_sweep(s->dir.path, later).bytes, 0);
    assert_false(file_exists(path));
    assert_true(library_giver_ok(project) && library_giver_ok(STR("usr_a")));
    assert_false(library_giver_ok(STR("prj_../x")) || library_giver_ok(STR("thumb")));
}
