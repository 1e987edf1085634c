#include "skill/skill.h"
#include "support/unit.h"

static struct skills *load(struct arena *a, const char *list)
{
    struct json *v;
    assert_int_equal(json_parse(a, str_from(list), JSON_COPY, &v, NULL), 0);
    const struct skill_dir dir = {
        .path = STR("settings"), .origin = SKILL_CONFIG, .inline_skills = v};
    return skills_load(&dir, 1, NULL);
}

static void note(void *ctx, enum event_type type, const struct skill *s)
{
    buf_printf(ctx, "%s %.*s (%s);", event_name(type).p, STR_ARG(s->name),
               skill_type_name(s->type));
}

static void check(const char *before, const char *after, const char *expected)
{
    struct arena a;
    struct buf heard;
    arena_init(&a);
    buf_init(&heard, 4096);
    struct skills *old = load(&a, before), *now = load(&a, after);
    skill_diff(old, now, note, &heard);
    if (!str_eq(buf_str(&heard), str_from(expected)))
        fail_msg("told: %.*s", STR_ARG(buf_str(&heard)));
    skills_unref(old);
    skills_unref(now);
    buf_done(&heard);
    arena_done(&a);
}

#define SKILL(name, body)                                                                          \
    "{\"name\":\"" name "\",\"type\":\"skill\",\"priority\":20,\"body\":\"" body "\"}"

TEST(what_is_different)
{
    check("[]", "[]", "");
    check("[]", "[" SKILL("one", "a") "]", "skill.created one (skill);");
    check("[" SKILL("one", "a") "]", "[" SKILL("one", "a") "]", "");
    check("[" SKILL("one", "a") "]", "[" SKILL("one", "b") "]", "skill.updated one (skill);");
    check("[" SKILL("one", "a") "]", "[]", "skill.deleted one (skill);");
    check("[" SKILL("one", "a") "," SKILL("two", "a") "]",
          "[" SKILL("two", "b") "," SKILL("x", "y") "]",
          "skill.deleted one (skill);skill.updated two (skill);skill.created x (skill);");
}

TEST(every_part_counts)
{
    static const char *const MEMBERS[] = {
        "\"description\":\"new\"",
        "\"version\":\"2.0.0\"",
        "\"allowed-tools\":[\"a__*\"]",
        "\"requires-bundles\":[\"a\"]",
        "\"metadata\":{\"triggers\":[\"go\"]}",
        "\"metadata\":{\"keywords\":[\"go\"]}",
        "\"metadata\":{\"tags\":[\"go\"]}",
        "\"metadata\":{\"category\":\"go\"}",
        "\"metadata\":{\"author\":\"go\"}",
    };
    for (size_t i = 0; i < ARRAY_LEN(MEMBERS); i++) {
        char after[300];
        (void)snprintf(after, sizeof(after),
                       "[{\"name\":\"one\",\"type\":\"skill\",\"priority\":20,\"body\":\"a\",%s}]",
                       MEMBERS[i]);
        check("[" SKILL("one", "a") "]", after, "skill.updated one (skill);");
    }
    check("[" SKILL("one", "a") "]",
          "[{\"name\":\"one\",\"type\":\"context\",\"priority\":20,\"body\":\"a\"}]",
          "skill.updated one (context);");
    check("[" SKILL("one", "a") "]",
          "[{\"name\":\"one\",\"type\":\"skill\",\"priority\":21,\"body\":\"a\"}]",
          "skill.updated one (skill);");
}

/* A skill of one's own may stand in for one inside the program; without it, that one is back. */
TEST(replacing_the_programs_own)
{
    check("[]", "[" SKILL("summarize", "mine") "]", "skill.updated summarize (skill);");
    check("[" SKILL("summarize", "mine") "]", "[]", "skill.updated summarize (skill);");
}
