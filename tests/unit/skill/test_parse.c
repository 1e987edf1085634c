#include <errno.h>

#include "skill/skill.h"
#include "support/unit.h"

struct parsed {
    struct arena arena;
    struct skill skill;
    struct skill_problems problems;
    int rc;
};

static void parse_as(struct parsed *p, const char *text, bool is_standard)
{
    *p = (struct parsed){0};
    arena_init(&p->arena);
    p->rc =
        skill_parse(&p->arena, STR("x.md"), str_from(text), is_standard, &p->skill, &p->problems);
}

static void parse(struct parsed *p, const char *text)
{
    parse_as(p, text, false);
}

static void done(struct parsed *p)
{
    arena_done(&p->arena);
}

static void assert_problem(const struct parsed *p, enum skill_severity severity, unsigned line,
                           const char *part)
{
    for (size_t i = 0; i < p->problems.len; i++) {
        const struct skill_problem *x = &p->problems.items[i];
        if (x->severity == severity && x->line == line && strstr(x->message.p, part)) {
            assert_string_equal(x->path.p, "x.md");
            return;
        }
    }
    for (size_t i = 0; i < p->problems.len; i++)
        print_error("%u: %s\n", p->problems.items[i].line, p->problems.items[i].message.p);
    fail_msg("no problem on line %u with \"%s\"", line, part);
}

static const char EXAMPLE[] = "---\n"
                              "name: research\n"
                              "description: Deep research on a topic\n"
                              "version: \"1.0\"\n"
                              "type: skill\n"
                              "priority: 5\n"
                              "allowed-tools:\n"
                              "  - \"websearch__*\"\n"
                              "  - \"nb__discover_tools\"\n"
                              "metadata:\n"
                              "  triggers:\n"
                              "    - \"research this\"\n"
                              "    - \"deep dive\"\n"
                              "  keywords:\n"
                              "    - research\n"
                              "    - investigate\n"
                              "    - analyze\n"
                              "    - sources\n"
                              "    - findings\n"
                              "---\n"
                              "You are a research agent. Search the web, gather multiple sources,\n"
                              "and synthesize findings into a structured report.\n";

TEST(a_whole_skill)
{
    struct parsed p;
    parse(&p, EXAMPLE);
    assert_int_equal(p.rc, 0);
    assert_int_equal(p.problems.len, 0);
    assert_string_equal(p.skill.name.p, "research");
    assert_string_equal(p.skill.description.p, "Deep research on a topic");
    assert_string_equal(p.skill.version.p, "1.0");
    assert_int_equal(p.skill.type, SKILL_TASK);
    assert_int_equal(p.skill.priority, 5);
    assert_int_equal(p.skill.allowed_tools.len, 2);
    assert_string_equal(p.skill.allowed_tools.items[0].p, "websearch__*");
    assert_int_equal(p.skill.triggers.len, 2);
    assert_int_equal(p.skill.keywords.len, 5);
    assert_string_equal(p.skill.body.p,
                        "You are a research agent. Search the web, gather multiple sources,\n"
                        "and synthesize findings into a structured report.");
    done(&p);
}

/* As the same example reads where white space was lost. */
TEST(lists_at_the_top_level)
{
    struct parsed p;
    parse(&p,
          "---\nname: research\ntype: skill\npriority: 5\nallowed-tools:\n- \"websearch__*\"\n"
          "metadata:\ntriggers:\n- \"research this\"\nkeywords:\n- research\n- sources\n---\nBody");
    assert_int_equal(p.rc, 0);
    assert_int_equal(p.skill.triggers.len, 1);
    assert_int_equal(p.skill.keywords.len, 2);
    assert_int_equal(p.problems.len, 0);
    done(&p);
}

TEST(defaults_are_warned_of)
{
    struct parsed p;
    parse(&p, "---\nname: bare\n---\n");
    assert_int_equal(p.rc, 0);
    assert_string_equal(p.skill.version.p, "0.0.0");
    assert_string_equal(p.skill.description.p, "");
    assert_int_equal(p.skill.type, SKILL_TASK);
    assert_int_equal(p.skill.priority, 50);
    assert_problem(&p, SKILL_WARNING, 0, "type is missing");
    assert_problem(&p, SKILL_WARNING, 0, "priority is missing");
    assert_problem(&p, SKILL_WARNING, 0, "never matches");
    done(&p);
}

TEST(context)
{
    struct parsed p;
    parse(&p, "---\nname: house-rules\ntype: context\npriority: 20\n---\nBe kind.");
    assert_int_equal(p.rc, 0);
    assert_int_equal(p.problems.len, 0);
    assert_int_equal(p.skill.type, SKILL_CONTEXT);
    done(&p);
}

struct broken {
    const char *text;
    unsigned line;
    const char *part;
};

TEST(errors_name_the_line)
{
    static const struct broken CASES[] = {
        {"", 1, "no frontmatter"},
        {"just text", 1, "no frontmatter"},
        {"---\ndescription: x\n---\n", 0, "name is missing"},
        {"---\ntype: skill\nname:\n---\n", 3, "name is missing"},
        {"---\nname: [a]\n---\n", 2, "name is missing"},
        {"---\nname: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n---\n", 2,
         "longer than 64"},
        {"---\n- a\n- b\n---\n", 2, "key: value"},
        {"---\nname: x\ntype: [unclosed\n---\n", 4, ""},
        {"---\nname: x\nname: y\n---\n", 3, ""},
        {"---\nname: x\nother: *alias\n---\n", 3, "aliases"},
        {"\xff\xfe", 0, "not UTF-8"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct parsed p;
        parse(&p, CASES[i].text);
        assert_int_equal(p.rc, -EINVAL);
        assert_problem(&p, SKILL_ERROR, CASES[i].line, CASES[i].part);
        done(&p);
    }
}

TEST(too_large)
{
    struct parsed p = {0};
    char *big = xcalloc(1, SKILL_BYTES_MAX + 2);
    memset(big, 'x', SKILL_BYTES_MAX + 1);
    parse(&p, big);
    assert_int_equal(p.rc, -EINVAL);
    assert_problem(&p, SKILL_ERROR, 0, "larger than");
    done(&p);
    free(big);
}

TEST(odd_values_are_warnings)
{
    struct parsed p;
    parse(&p, "---\n"
              "name: odd name\n"
              "type: thing\n"
              "priority: high\n"
              "version: 1.5\n"
              "allowed_tools: [a]\n"
              "description: [not, text]\n"
              "allowed-tools: \"one__*\"\n"
              "triggers:\n"
              "  - Hello There\n"
              "  - \"\"\n"
              "  - {a: 1}\n"
              "  - hello there\n"
              "keywords: [404, 404, yes]\n"
              "---\n");
    assert_int_equal(p.rc, 0);
    assert_problem(&p, SKILL_WARNING, 2, "name: only letters");
    assert_problem(&p, SKILL_WARNING, 3, "type: expected");
    assert_problem(&p, SKILL_WARNING, 4, "priority: expected");
    assert_problem(&p, SKILL_WARNING, 6, "unknown key \"allowed_tools\"");
    assert_problem(&p, SKILL_WARNING, 7, "description: expected text");
    assert_problem(&p, SKILL_WARNING, 9, "triggers: entry 2");
    assert_problem(&p, SKILL_WARNING, 9, "triggers: entry 3");
    assert_string_equal(p.skill.version.p, "1.5");
    assert_int_equal(p.skill.allowed_tools.len, 1);
    assert_int_equal(p.skill.triggers.len, 1);
    assert_string_equal(p.skill.triggers.items[0].p, "Hello There");
    assert_string_equal(p.skill.folded_triggers.items[0].p, "hello there");
    assert_int_equal(p.skill.keywords.len, 2);
    done(&p);
}

TEST(too_many_phrases)
{
    struct parsed p;
    struct buf text;
    buf_init(&text, 1 << 16);
    buf_add_lit(&text, "---\nname: many\ntype: skill\npriority: 20\nkeywords:\n");
    for (int i = 0; i < SKILL_PHRASES_MAX + 10; i++)
        buf_printf(&text, "- k%d\n", i);
    buf_add_lit(&text, "---\n");
    parse(&p, buf_cstr(&text));
    assert_int_equal(p.rc, 0);
    assert_int_equal(p.skill.keywords.len, SKILL_PHRASES_MAX);
    assert_problem(&p, SKILL_WARNING, 5, "only the first 200");
    buf_done(&text);
    done(&p);
}

TEST(agent_skills_standard)
{
    struct parsed p;
    parse_as(
        &p,
        "---\nname: pdf-tools\ndescription: Work with PDF files.\nallowed-tools: Read Bash(git:*)\n"
        "x-extra: 1\n---\nRead FORMS.md.\n",
        true);
    assert_int_equal(p.rc, 0);
    assert_int_equal(p.problems.len, 1);
    assert_problem(&p, SKILL_WARNING, 4, "ignored");
    assert_int_equal(p.skill.allowed_tools.len, 0);
    assert_int_equal(p.skill.triggers.len, 3);
    assert_string_equal(p.skill.triggers.items[0].p, "/pdf-tools");
    assert_string_equal(p.skill.triggers.items[2].p, "pdf tools skill");
    done(&p);

    parse_as(&p,
             "---\nname: always\ndescription: d\nmetadata:\n  nimblebrain:\n"
             "    loading-strategy: always\n    priority: 15\n---\nBody",
             true);
    assert_int_equal(p.skill.type, SKILL_CONTEXT);
    assert_int_equal(p.skill.priority, 15);
    done(&p);
}

TEST(fold)
{
    static const char *const PAIRS[][2] = {
        {"ABC xyz", "abc xyz"},     {"ÄÖÜß×÷", "äöüß×÷"}, {"ĀŁŻŸ", "āłżÿ"}, {"ΑΒΓ ΆΈΏ", "αβγ άέώ"},
        {"ПРИВЕТ Ёж", "привет ёж"}, {"Ế", "ế"},           {"日本", "日本"}, {"İ", "i"},
        {"a\xff", "a\xef\xbf\xbd"},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(PAIRS); i++)
        assert_string_equal(skill_fold(&a, str_from(PAIRS[i][0])).p, PAIRS[i][1]);
    arena_done(&a);
}
