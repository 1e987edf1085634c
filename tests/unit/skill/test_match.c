#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "skill/skill.h"
#include "support/unit.h"

/* Skills come from files, so a set under test is a directory; the tests here name their
 * phrases so that no skill of the program answers to them. */
struct world {
    char dir[64];
    unsigned n;
    struct skills *set;
    struct arena arena;
};

static int set_up(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    snprintf(w->dir, sizeof(w->dir), "/tmp/nb-skill-match-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    arena_init(&w->arena);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    char path[128];
    for (unsigned i = 0; i < w->n; i++) {
        snprintf(path, sizeof(path), "%s/%03u.md", w->dir, i);
        unlink(path);
    }
    assert_int_equal(rmdir(w->dir), 0);
    skills_unref(w->set);
    arena_done(&w->arena);
    free(w);
    return 0;
}

/* Files load in the order they are added here. */
static void add(struct world *w, const char *name, const char *type, const char *triggers,
                const char *keywords)
{
    char path[128], text[1024];
    snprintf(path, sizeof(path), "%s/%03u.md", w->dir, w->n++);
    int n = snprintf(text, sizeof(text),
                     "---\nname: %s\ntype: %s\npriority: 20\nmetadata:\n  triggers: [%s]\n"
                     "  keywords: [%s]\n---\nBody of %s\n",
                     name, type, triggers, keywords, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, (size_t)n), n);
    close(fd);
}

static struct skill_match match(struct world *w, const char *message)
{
    struct skill_dir dir = {.path = str_from(w->dir), .origin = SKILL_GLOBAL};
    skills_unref(w->set);
    w->set = skills_load(&dir, 1, NULL);
    return skills_match(w->set, &w->arena, str_from(message));
}

static void assert_match(struct skill_match m, enum skill_phase phase, const char *name)
{
    assert_int_equal(m.phase, phase);
    if (name)
        assert_string_equal(m.skill->name.p, name);
    else
        assert_null(m.skill);
}

/* The example of the documentation, word for word. */
TEST_WITH(research_by_trigger, set_up, tear_down)
{
    struct world *w = *state;
    add(w, "research", "skill", "\"research this\", \"deep dive\"",
        "research, investigate, analyze, sources, findings");
    struct skill_match m = match(w, "research this topic and analyze the sources");
    assert_match(m, SKILL_BY_TRIGGER, "research");
    assert_string_equal(m.skill->body.p, "Body of research");
    assert_string_equal(m.hits[0].trigger.p, "research this");
    assert_int_equal(m.hits[0].keywords.len, 3);
}

TEST_WITH(the_built_in_research_answers_too, set_up, tear_down)
{
    struct world *w = *state;
    struct skill_match m = match(w, "Please research this topic and analyze the sources");
    assert_match(m, SKILL_BY_TRIGGER, "research");
    assert_int_equal(m.skill->origin, SKILL_BUILTIN);
}

TEST_WITH(two_keywords_are_needed, set_up, tear_down)
{
    struct world *w = *state;
    add(w, "baking", "skill", "", "flour, yeast, oven");
    assert_match(match(w, "how much flour?"), SKILL_NO_MATCH, NULL);
    assert_match(match(w, "flour flour flour"), SKILL_NO_MATCH, NULL);
    struct skill_match m = match(w, "flour and yeast");
    assert_match(m, SKILL_BY_KEYWORDS, "baking");
    assert_int_equal(m.hits[0].keywords.len, 2);
    assert_string_equal(m.hits[0].keywords.items[1].p, "yeast");
    assert_int_equal(m.hits[0].trigger.n, 0);
}

TEST_WITH(a_keyword_listed_twice_counts_once, set_up, tear_down)
{
    struct world *w = *state;
    add(w, "baking", "skill", "", "flour, Flour, FLOUR, oven");
    assert_match(match(w, "flour"), SKILL_NO_MATCH, NULL);
}

TEST_WITH(most_keywords_win_and_ties_go_to_the_first, set_up, tear_down)
{
    struct world *w = *state;
    add(w, "two", "skill", "", "flour, yeast, spoon");
    add(w, "also-two", "skill", "", "yeast, flour, fork");
    add(w, "three", "skill", "", "flour, yeast, oven");
    assert_match(match(w, "flour yeast oven"), SKILL_BY_KEYWORDS, "three");
    struct skill_match m = match(w, "flour yeast");
    assert_match(m, SKILL_BY_KEYWORDS, "two");
    assert_int_equal(m.n_hits, 3);
    assert_string_equal(m.hits[1].skill->name.p, "also-two");
    assert_string_equal(m.hits[2].skill->name.p, "three");
}

TEST_WITH(any_trigger_beats_all_keywords, set_up, tear_down)
{
    struct world *w = *state;
    add(w, "words", "skill", "", "flour, yeast, oven, spoon");
    add(w, "phrase", "skill", "\"bake it\"", "");
    struct skill_match m = match(w, "flour yeast oven spoon, bake it");
    assert_match(m, SKILL_BY_TRIGGER, "phrase");
    assert_int_equal(m.n_hits, 2);
    assert_string_equal(m.hits[1].skill->name.p, "words");
}

TEST_WITH(the_first_loaded_trigger_wins, set_up, tear_down)
{
    struct world *w = *state;
    add(w, "first", "skill", "\"bake it\"", "");
    add(w, "second", "skill", "\"please bake it now\"", "flour, yeast");
    assert_match(match(w, "please bake it now with flour and yeast"), SKILL_BY_TRIGGER, "first");
}

TEST_WITH(case_and_substrings, set_up, tear_down)
{
    struct world *w = *state;
    add(w, "baking", "skill", "\"BaKe It\"", "ofen, hefe");
    add(w, "kneten", "skill", "\"Überknete\"", "");
    assert_match(match(w, "rebake italian bread"), SKILL_BY_TRIGGER, "baking");
    assert_match(match(w, "Hefekuchen im Kachelofen"), SKILL_BY_KEYWORDS, "baking");
    assert_match(match(w, "ÜBERKNETEN"), SKILL_BY_TRIGGER, "kneten");
}

TEST_WITH(context_skills_never_match, set_up, tear_down)
{
    struct world *w = *state;
    add(w, "rules", "context", "\"bake it\"", "flour, yeast");
    struct skill_match m = match(w, "bake it with flour and yeast");
    assert_match(m, SKILL_NO_MATCH, NULL);
    assert_int_equal(m.n_hits, 0);
}

TEST_WITH(empty_and_long_messages, set_up, tear_down)
{
    struct world *w = *state;
    size_t n = SKILL_MESSAGE_MAX + 100;
    char *text = xcalloc(1, n + 1);
    add(w, "baking", "skill", "\"bake it\"", "");
    assert_match(match(w, ""), SKILL_NO_MATCH, NULL);
    memset(text, 'x', n);
    memcpy(text + SKILL_MESSAGE_MAX - 7, "bake it", 7);
    assert_match(match(w, text), SKILL_BY_TRIGGER, "baking");
    memset(text, 'x', n);
    memcpy(text + SKILL_MESSAGE_MAX, "bake it", 7);
    assert_match(match(w, text), SKILL_NO_MATCH, NULL);
    free(text);
}
