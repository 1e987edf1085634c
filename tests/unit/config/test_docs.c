/* The tables of docs/configuration.md say what the table of settings says. */
#include <unistd.h>

#include "base/buf.h"
#include "config/setting.h"
#include "os/file.h"
#include "support/unit.h"

#define DOC_BYTES_MAX (256u * 1024)
#define LEVELS_MAX    8 /* directories between the test program and the tree */

static struct arena arena;
static str doc;

/* The tree is above the build directory of this program. */
static int read_doc(void **state)
{
    char dir[4096];
    ssize_t n = readlink("/proc/self/exe", dir, sizeof dir - 1);
    assert_true(n > 0);
    dir[n] = 0;
    arena_init(&arena);
    for (int level = 0; level < LEVELS_MAX; level++) {
        char *slash = strrchr(dir, '/');
        if (!slash)
            break;
        *slash = 0;
        const char *path = arena_printf(&arena, "%s/docs/configuration.md", dir).p;
        if (file_exists(path))
            return file_read(&arena, path, DOC_BYTES_MAX, &doc, NULL);
    }
    return -1;
}

static int drop_doc(void **state)
{
    arena_done(&arena);
    return 0;
}

/* Cell `i` of a line "| a | b |". */
static str cell(str line, int i)
{
    str one = STR_NONE;
    for (int k = -1; k <= i; k++)
        if (!str_split(&line, '|', &one))
            return STR_NONE;
    return str_trim(one);
}

static str code(str text)
{
    return arena_printf(&arena, "`%.*s`", STR_ARG(text));
}

/* The line of the table whose first cell is `first`. */
static str doc_line(str first)
{
    str rest = doc, line;
    while (str_split(&rest, '\n', &line))
        if (str_starts(line, STR("| ")) && str_eq(cell(line, 0), first))
            return line;
    return STR_NONE;
}

/* What the row fixes of a cell; empty = the document decides. */
static str expected_default(const struct setting *s)
{
    if (s->initial)
        return code(str_from(s->initial));
    return s->type == JF_BOOL ? STR("`false`") : s->type == JF_STRS ? STR("`[]`") : STR_NONE;
}

static str expected_values(const struct setting *s)
{
    struct buf b;
    buf_init(&b, 1024);
    str rest = str_from(s->choices), one;
    while (str_split(&rest, ',', &one))
        buf_printf(&b, "%s`%.*s`", buf_str(&b).n ? ", " : "", STR_ARG(str_trim(one)));
    if (s->type == JF_INT && s->max == INT64_MAX)
        buf_printf(&b, "at least %lld", (long long)s->min);
    else if (s->type == JF_INT)
        buf_printf(&b, "%lld to %lld", (long long)s->min, (long long)s->max);
    if (s->unit)
        buf_printf(&b, " %s", s->unit);
    str values = arena_str(&arena, buf_str(&b));
    buf_done(&b);
    return values;
}

static void check_cell(const struct setting *s, str line, int i, str expected)
{
    if (expected.n > 0 && !str_eq(cell(line, i), expected))
        fail_msg("%s: cell %d is '%.*s', expected '%.*s'", s->key, i, STR_ARG(cell(line, i)),
                 STR_ARG(expected));
}

TEST(each_setting_has_a_line_with_its_default_values_variable_and_help)
{
    for (size_t i = 0; i < SETTINGS_LEN; i++) {
        const struct setting *s = &SETTINGS[i];
        if (!s->key || s->flags & SETTING_HIDDEN)
            continue;
        str line = doc_line(code(str_from(s->key)));
        if (line.n == 0)
            fail_msg("docs/configuration.md has no line for %s", s->key);
        check_cell(s, line, 1, expected_default(s));
        check_cell(s, line, 2, expected_values(s));
        if (s->variables)
            check_cell(s, line, 3, code(str_from(s->variables)));
        else if (cell(line, 3).n > 0)
            fail_msg("%s has no variable", s->key);
        if (!s->help)
            fail_msg("%s has no help", s->key);
        check_cell(s, line, 4, str_from(s->help));
    }
}

static bool is_setting(str first)
{
    for (size_t i = 0; i < SETTINGS_LEN; i++)
        if (SETTINGS[i].key && str_eq(code(str_from(SETTINGS[i].key)), first))
            return true;
    return false;
}

TEST(each_line_of_the_table_is_a_setting)
{
    ptrdiff_t head = str_find(doc, STR("| key | default |"), 0);
    assert_true(head >= 0);
    str rest = str_skip(doc, (size_t)head), line;
    assert_true(str_split(&rest, '\n', &line) && str_split(&rest, '\n', &line));
    size_t n = 0;
    while (str_split(&rest, '\n', &line) && str_starts(line, STR("| "))) {
        if (!is_setting(cell(line, 0)))
            fail_msg("%.*s is not a setting", STR_ARG(cell(line, 0)));
        n++;
    }
    assert_true(n > 0);
}

TEST(each_variable_is_named)
{
    for (size_t i = 0; i < SETTINGS_LEN; i++) {
        str rest = str_from(SETTINGS[i].variables), one;
        while (str_split(&rest, ' ', &one))
            if (str_find(doc, code(one), 0) < 0)
                fail_msg("docs/configuration.md does not name %.*s", STR_ARG(one));
    }
}

/* "Changes take effect immediately for `a`, `b`;" */
TEST(settings_that_take_effect_immediately_are_named_in_one_sentence)
{
    ptrdiff_t from = str_find(doc, STR("take effect immediately for"), 0);
    ptrdiff_t to = from < 0 ? -1 : str_find(doc, STR(";"), (size_t)from);
    assert_true(to > from);
    str sentence = str_slice(doc, (size_t)from, (size_t)to);
    for (size_t i = 0; i < SETTINGS_LEN; i++) {
        if (!SETTINGS[i].key)
            continue;
        bool is_named = str_find(sentence, code(str_from(SETTINGS[i].key)), 0) >= 0;
        if (is_named != ((SETTINGS[i].flags & SETTING_LIVE) != 0))
            fail_msg("%s %s", SETTINGS[i].key, is_named ? "is named" : "is not named");
    }
}

TESTS_SHARE(read_doc, drop_doc)
