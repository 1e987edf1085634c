#include <stdlib.h>

#include "cli/view/folds.h"
#include "cli/view/tool_edits.h"
#include "support/unit.h"

TEST(the_newest_ones_are_kept_under_their_numbers)
{
    struct folds *f = xcalloc(1, sizeof *f);
    assert_null(folds_find(f, 0));
    for (size_t i = 1; i <= FOLDS_MAX + 5; i++)
        assert_int_equal(folds_add(f, STR("title"), STR("text"), false), i);
    assert_null(folds_find(f, 5));
    assert_int_equal(folds_find(f, 6)->number, 6);
    assert_int_equal(folds_find(f, 0)->number, FOLDS_MAX + 5);
    assert_null(folds_find(f, FOLDS_MAX + 6));
    folds_done(f);
    free(f);
}

TEST(large_texts_are_cut_and_do_not_add_up)
{
    struct folds *f = xcalloc(1, sizeof *f);
    char *large = xcalloc(1, 2 * FOLD_BYTES_MAX);
    memset(large, 'x', 2 * FOLD_BYTES_MAX);
    for (size_t i = 1; i <= 20; i++) {
        (void)folds_add(f, STR("t"), str_make(large, 2 * FOLD_BYTES_MAX), true);
        assert_true(f->bytes <= FOLDS_BYTES_MAX);
    }
    assert_int_equal(f->n, FOLDS_BYTES_MAX / FOLD_BYTES_MAX);
    assert_int_equal(folds_find(f, 20)->n, FOLD_BYTES_MAX);
    assert_int_equal(folds_find(f, 20)->left_out, FOLD_BYTES_MAX);
    assert_null(folds_find(f, 4));
    free(large);
    folds_done(f);
    free(f);
}

TEST(the_changes_of_a_call)
{
    static const struct {
        const char *tool, *input;
        size_t n;
        const char *before, *after; /* of the last one */
    } CASES[] = {
        {"fs__edit_file", "{\"path\":\"a\",\"oldText\":\"x\",\"newText\":\"y\"}", 1, "x", "y"},
        {"fs__edit_file",
         "{\"path\":\"a\",\"edits\":[{\"oldText\":\"1\",\"newText\":\"2\"},7,{\"old_str\":\"3\","
         "\"new_str\":\"\"}]}",
         2, "3", ""},
        {"fs__write_file", "{\"file_path\":\"a\",\"content\":\"z\"}", 1, NULL, "z"},
        {"fs__read_file", "{\"path\":\"a\",\"content\":\"z\"}", 0, NULL, NULL},
        {"fs__write_file", "{\"content\":\"z\"}", 0, NULL, NULL},
        {"fs__write_file", "{\"path\":7,\"content\":\"z\"}", 0, NULL, NULL},
        {"fs__write_file", "[]", 0, NULL, NULL},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct tool_edit edits[TOOL_EDITS_MAX];
        struct json *input;
        assert_int_equal(json_parse(&a, str_from(CASES[i].input), 0, &input, NULL), 0);
        size_t n = tool_edits(str_from(CASES[i].tool), input, edits);
        assert_int_equal(n, CASES[i].n);
        if (n == 0)
            continue;
        assert_true(str_eq(edits[n - 1].after, str_from(CASES[i].after)));
        assert_int_equal(edits[n - 1].before != NULL, CASES[i].before != NULL);
        if (CASES[i].before)
            assert_true(str_eq(edits[n - 1].before->s, str_from(CASES[i].before)));
    }
    arena_done(&a);
}
