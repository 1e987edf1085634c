/* Permissions for one conversation, or for commands that begin with certain words. */
#include "runtime/consent_limit.h"
#include "support/unit.h"

static bool fits(const char *words, const char *args)
{
    struct arena a;
    struct json *v;
    arena_init(&a);
    assert_int_equal(json_parse(&a, str_from(args), 0, &v, NULL), 0);
    bool is_fit = consent_words_fit(str_from(words), v);
    arena_done(&a);
    return is_fit;
}

TEST(words_fit_a_command_that_begins_with_them)
{
    assert_true(fits("ls", "{\"command\":\"ls\"}"));
    assert_true(fits("git status", "{\"command\":\"git status\"}"));
    assert_true(fits("git status", "{\"command\":\"git status --short\",\"timeout\":5}"));
    assert_true(fits("grep", "{\"command\":\"grep -r \\\"two words\\\" .\"}"));
    assert_false(fits("git status", "{\"command\":\"git statuses\"}"));
    assert_false(fits("git status", "{\"command\":\"git push\"}"));
    assert_false(fits("git status", "{\"command\":\" git status\"}"));
    assert_false(fits("git", "{\"command\":\"PATH=. git\"}"));
    assert_false(fits("git", "{}"));
    assert_false(fits("git", "[]"));
}

/* Each of these would run something that the words do not name. */
TEST(a_command_that_could_start_another_one_never_fits)
{
    static const char *const COMMANDS[] = {
        "git log; rm -rf /",    "git log && rm x",     "git log | sh",    "git log & rm x",
        "git log > ~/.profile", "git log < x",         "git log $(rm x)", "git log `rm x`",
        "git log ${IFS}x",      "git log \\\\\\nrm x", "git log\\nrm x",  "git log\\rrm x",
        "git log\\u0000; rm x", "git log (x)",         "git log \\u007f", "git log\\trm x",
    };
    char args[128];
    for (size_t i = 0; i < ARRAY_LEN(COMMANDS); i++) {
        snprintf(args, sizeof args, "{\"command\":\"%s\"}", COMMANDS[i]);
        assert_false(fits("git log", args));
    }
}

TEST(arguments_that_change_the_meaning_of_a_command_never_fit)
{
    assert_false(fits("git log", "{\"command\":\"git log\",\"env\":{\"PATH\":\"/tmp\"}}"));
    assert_false(fits("git log", "{\"command\":\"git log\",\"command\":\"rm x\"}"));
    assert_false(fits("git log", "{\"command\":[\"git log\"]}"));
    assert_false(fits("git log", "{\"command\":\"git log\",\"cwd\":\"/x\"}"));
}

/* Options and subcommands of git that run programs or write files, also abbreviated or quoted. */
TEST(git_is_limited_to_what_only_reads)
{
    static const char *const COMMANDS[][2] = {
        {"git", "git"},
        {"git", "git -c alias.x=!id x"},
        {"git fetch", "git fetch --upload-pack=id"},
        {"git grep", "git grep -Oid x"},
        {"git rebase", "git rebase --exec id"},
        {"git log", "git log --output=/x/.git/config"},
        {"git log", "git log --outp=/x"},
        {"git log", "git log '--output=/x'"},
        {"git diff", "git diff --ext-diff"},
        {"git branch", "git branch --edit-description"},
    };
    char args[128];
    for (size_t i = 0; i < ARRAY_LEN(COMMANDS); i++) {
        snprintf(args, sizeof args, "{\"command\":\"%s\"}", COMMANDS[i][1]);
        assert_false(fits(COMMANDS[i][0], args));
    }
    assert_true(fits("git log", "{\"command\":\"git log --oneline -5\"}"));
}

TEST(programs_that_run_others_and_odd_words_are_no_limit)
{
    static const char *const WORDS[] = {"sudo",    "env",      "bash",  "sh",    "python3.12",
                                        "make",    "nodejs",   "",      " ",     "git ",
                                        " git",    "git  log", "./x",   "-x",    "../x",
                                        "/bin/sh", "git;",     "git *", "gi\"t", "git)"};
    char args[64];
    for (size_t i = 0; i < ARRAY_LEN(WORDS); i++) {
        snprintf(args, sizeof args, "{\"command\":\"%s x\"}", i == 17 ? "git" : WORDS[i]);
        if (strchr(WORDS[i], '"'))
            continue;
        assert_false(fits(WORDS[i], args));
    }
    char many[CONSENT_WORDS_MAX + 2];
    memset(many, 'x', sizeof many);
    many[sizeof many - 1] = '\0';
    char text[256];
    snprintf(text, sizeof text, "{\"command\":\"%s\"}", many);
    assert_false(fits(many, text));
    many[CONSENT_WORDS_MAX] = '\0';
    snprintf(text, sizeof text, "{\"command\":\"%s\"}", many);
    assert_true(fits(many, text));
}

TEST(the_program_and_its_subcommand_are_proposed)
{
    static const char *const CASES[][2] = {
        {"git status -s", "git status"},
        {"git", ""},
        {"ls -la", "ls"},
        {"cat /etc/x", "cat"},
        {"apt list", "apt list"},
        {"sudo ls", ""},
        {"ls; rm x", ""},
        {"", ""},
        {"git  status", ""},
        {"./run now", ""},
        {"A=1 git", ""},
        {"cargo test", ""},
        {"git -C x status", ""},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct json *v = json_new(&a, JSON_OBJECT);
        json_set(&a, v, STR("command"), json_of_str(str_from(CASES[i][0])));
        assert_true(str_eq(consent_words_of(v), str_from(CASES[i][1])));
    }
    arena_done(&a);
}

TEST(a_limited_permission_is_one_text_and_covers_only_what_is_within_it)
{
    struct arena a;
    struct json *args, *other;
    arena_init(&a);
    assert_int_equal(json_parse(&a, STR("{\"command\":\"git log -1\"}"), 0, &args, NULL), 0);
    assert_int_equal(json_parse(&a, STR("{\"command\":\"rm x\"}"), 0, &other, NULL), 0);
    str both = consent_limited(&a, STR("b__x"), STR("git log"), STR("conv_1"));
    str words = consent_limited(&a, STR("b__x"), STR("git log"), STR_NONE);
    str here = consent_limited(&a, STR("b__x"), STR_NONE, STR("conv_1"));
    assert_true(str_eq(both, STR("b__x(git log *)@conv_1")));
    assert_true(str_eq(consent_limited(&a, STR("b__x"), STR_NONE, STR_NONE), STR("b__x")));
    const struct consent_call call = {STR("b__x"), STR("conv_1"), args};
    const struct consent_call elsewhere = {STR("b__x"), STR("conv_2"), args};
    const struct consent_call wrong = {STR("b__x"), STR("conv_1"), other};
    const struct consent_call unknown = {STR("b__x"), STR_NONE, NULL};
    const struct consent_call others = {STR("b__y"), STR("conv_1"), args};
    assert_true(consent_limit_matches(both, &call));
    assert_true(consent_limit_matches(words, &elsewhere));
    assert_true(consent_limit_matches(here, &wrong));
    assert_false(consent_limit_matches(both, &elsewhere));
    assert_false(consent_limit_matches(both, &wrong));
    assert_false(consent_limit_matches(words, &wrong));
    assert_false(consent_limit_matches(words, &unknown));
    assert_false(consent_limit_matches(here, &unknown));
    assert_false(consent_limit_matches(here, &others));
    /* whatever stands in a file that a person edited */
    static const char *const ODD[] = {
        "b__x", "b__x(", "b__x()", "b__x( *)",           "b__x(git log)",
        "@",    "b__x@", "()",     "(git log *)@conv_1", "b__x(git log *)x"};
    for (size_t i = 0; i < ARRAY_LEN(ODD); i++) {
        assert_false(consent_limit_matches(str_from(ODD[i]), &call));
        assert_false(consent_limit_matches(str_from(ODD[i]), &unknown));
    }
    arena_done(&a);
}
