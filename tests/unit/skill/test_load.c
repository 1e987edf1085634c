#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "skill/skill.h"
#include "support/heap_count.h"
#include "support/unit.h"

struct world {
    char root[64];
    char one[80], two[80];
    struct skills *set;
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

static int set_up(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    snprintf(w->root, sizeof(w->root), "/tmp/nb-skill-load-XXXXXX");
    assert_non_null(mkdtemp(w->root));
    snprintf(w->one, sizeof(w->one), "%s/one", w->root);
    snprintf(w->two, sizeof(w->two), "%s/two", w->root);
    assert_int_equal(mkdir(w->one, 0700), 0);
    assert_int_equal(mkdir(w->two, 0700), 0);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    skills_unref(w->set);
    assert_int_equal(nftw(w->root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    free(w);
    return 0;
}

static void put(const char *dir, const char *file, const char *text)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void put_skill(const char *dir, const char *file, const char *name, const char *body)
{
    char text[512];
    snprintf(text, sizeof(text),
             "---\nname: %s\ntype: skill\npriority: 20\ntriggers: [zzz %s]\n---\n%s\n", name, name,
             body);
    put(dir, file, text);
}

static void put_context(const char *dir, const char *file, const char *name, int priority)
{
    char text[512];
    snprintf(text, sizeof(text), "---\nname: %s\ntype: context\npriority: %d\n---\nbody\n", name,
             priority);
    put(dir, file, text);
}

static void load(struct world *w)
{
    const struct skill_dir dirs[] = {
        {.path = str_from(w->one), .origin = SKILL_GLOBAL},
        {.path = str_from(w->two), .origin = SKILL_CONFIG, .is_expected = true},
    };
    struct skills *fresh = skills_load(dirs, 2, w->set);
    skills_unref(w->set);
    w->set = fresh;
}

static size_t index_of(const struct skills *s, str name)
{
    for (size_t i = 0; i < skills_len(s); i++)
        if (str_eq(skills_at(s, i)->name, name))
            return i;
    fail_msg("no skill %.*s", STR_ARG(name));
    return 0;
}

static void assert_problem(const struct skills *s, enum skill_severity severity, const char *part)
{
    const struct skill_problems *p = skills_problems(s);
    for (size_t i = 0; i < p->len; i++)
        if (p->items[i].severity == severity && strstr(p->items[i].message.p, part))
            return;
    fail_msg("no problem with \"%s\" among %zu", part, p->len);
}

TEST_WITH(the_program_brings_its_own, set_up, tear_down)
{
    struct world *w = *state;
    size_t n;
    w->set = skills_load(NULL, 0, NULL);
    assert_true(skills_len(w->set) >= 7);
    assert_int_equal(skills_problems(w->set)->len, 0);
    assert_string_equal(skills_at(w->set, 0)->name.p, "soul");
    assert_int_equal(skills_at(w->set, 0)->origin, SKILL_CORE);
    const struct skill *const *context = skills_context(w->set, &n);
    assert_int_equal(n, 2);
    assert_string_equal(context[0]->name.p, "soul");
    assert_string_equal(context[1]->name.p, "capabilities");
    const struct skill *research = skills_find(w->set, STR("research"));
    assert_int_equal(research->origin, SKILL_BUILTIN);
    assert_string_equal(research->path.p, "builtin/research.md");
    for (size_t i = 0; i < skills_len(w->set); i++)
        assert_true(skills_at(w->set, i)->body.n > 200);
}

TEST_WITH(order_and_replacement_in_place, set_up, tear_down)
{
    struct world *w = *state;
    put_skill(w->one, "b.md", "bbb", "b of one");
    put_skill(w->one, "a.md", "aaa", "a of one");
    put_skill(w->two, "c.md", "bbb", "b of two");
    put_skill(w->two, "0.md", "ccc", "c of two");
    load(w);
    size_t a = index_of(w->set, STR("aaa")), b = index_of(w->set, STR("bbb"));
    assert_true(a < b && b < index_of(w->set, STR("ccc")));
    assert_string_equal(skills_at(w->set, b)->body.p, "b of two");
    assert_int_equal(skills_at(w->set, b)->origin, SKILL_CONFIG);
    assert_true(str_ends(skills_at(w->set, b)->path, STR("/two/c.md")));
}

TEST_WITH(a_built_in_can_be_replaced, set_up, tear_down)
{
    struct world *w = *state;
    w->set = skills_load(NULL, 0, NULL);
    size_t before = index_of(w->set, STR("research"));
    put_skill(w->one, "r.md", "research", "mine");
    load(w);
    assert_int_equal(index_of(w->set, STR("research")), before);
    assert_string_equal(skills_find(w->set, STR("research"))->body.p, "mine");
}

TEST_WITH(only_markdown_files_of_the_directory_itself, set_up, tear_down)
{
    struct world *w = *state;
    char sub[100];
    put_skill(w->one, "yes.md", "yes", "x");
    put_skill(w->one, "no.txt", "no-txt", "x");
    put_skill(w->one, ".hidden.md", "no-hidden", "x");
    snprintf(sub, sizeof(sub), "%s/sub", w->one);
    assert_int_equal(mkdir(sub, 0700), 0);
    put_skill(sub, "deep.md", "no-deep", "x");
    load(w);
    assert_non_null(skills_find(w->set, STR("yes")));
    assert_null(skills_find(w->set, STR("no-txt")));
    assert_null(skills_find(w->set, STR("no-hidden")));
    assert_null(skills_find(w->set, STR("no-deep")));
    assert_int_equal(skills_problems(w->set)->len, 0);
}

TEST_WITH(one_bad_file_harms_nobody_else, set_up, tear_down)
{
    struct world *w = *state;
    char path[100];
    put(w->one, "bad.md", "---\nname: [\n---\n");
    put_skill(w->one, "good.md", "good", "x");
    snprintf(path, sizeof(path), "%s/pipe.md", w->one);
    assert_int_equal(mkfifo(path, 0600), 0);
    snprintf(path, sizeof(path), "%s/dangling.md", w->one);
    assert_int_equal(symlink("/nonexistent", path), 0);
    char *big = xcalloc(1, SKILL_BYTES_MAX + 20000);
    memset(big, 'x', SKILL_BYTES_MAX + 19999);
    put(w->one, "big.md", big);
    free(big);
    load(w);
    assert_non_null(skills_find(w->set, STR("good")));
    assert_int_equal(skills_problems(w->set)->len, 4);
    assert_problem(w->set, SKILL_ERROR, "larger than 256 KiB");
    for (size_t i = 0; i < 4; i++)
        assert_true(skills_problems(w->set)->items[i].path.n > 0);
}

TEST_WITH(missing_directories, set_up, tear_down)
{
    struct world *w = *state;
    put_skill(w->one, "a.md", "aaa", "x");
    load(w);
    assert_int_equal(rmdir(w->two), 0);
    load(w);
    assert_int_equal(skills_problems(w->set)->len, 1);
    assert_problem(w->set, SKILL_WARNING, "does not exist");
    assert_non_null(skills_find(w->set, STR("aaa")));
}

/* A file where a directory is expected fails for every user, also for root. */
TEST_WITH(an_unreadable_directory_keeps_its_skills, set_up, tear_down)
{
    struct world *w = *state;
    char aside[100];
    put_skill(w->one, "a.md", "aaa", "kept");
    put_skill(w->two, "b.md", "bbb", "fresh");
    load(w);
    snprintf(aside, sizeof(aside), "%s/aside", w->root);
    assert_int_equal(rename(w->one, aside), 0);
    put(w->root, "one", "not a directory");
    load(w);
    assert_problem(w->set, SKILL_ERROR, "cannot be read: ");
    assert_string_equal(skills_find(w->set, STR("aaa"))->body.p, "kept");
    assert_int_equal(skills_find(w->set, STR("aaa"))->folded_triggers.len, 1);
    load(w); /* and again */
    assert_string_equal(skills_find(w->set, STR("aaa"))->body.p, "kept");
    assert_string_equal(skills_find(w->set, STR("bbb"))->body.p, "fresh");
}

TEST_WITH(an_emptied_directory_is_empty, set_up, tear_down)
{
    struct world *w = *state;
    char path[100];
    put_skill(w->one, "a.md", "aaa", "x");
    load(w);
    snprintf(path, sizeof(path), "%s/a.md", w->one);
    assert_int_equal(unlink(path), 0);
    load(w);
    assert_null(skills_find(w->set, STR("aaa")));
}

TEST_WITH(context_by_priority, set_up, tear_down)
{
    struct world *w = *state;
    size_t n;
    put_context(w->one, "a.md", "later", 30);
    put_context(w->one, "b.md", "same-first", 20);
    put_context(w->one, "c.md", "same-second", 20);
    put_context(w->one, "d.md", "core", -1);
    load(w);
    const struct skill *const *c = skills_context(w->set, &n);
    static const char *const EXPECTED[] = {"core",       "soul",        "capabilities",
                                           "same-first", "same-second", "later"};
    assert_int_equal(n, ARRAY_LEN(EXPECTED));
    for (size_t i = 0; i < n; i++)
        assert_string_equal(c[i]->name.p, EXPECTED[i]);
}

TEST_WITH(directories_of_the_standard, set_up, tear_down)
{
    struct world *w = *state;
    char sub[100];
    snprintf(sub, sizeof(sub), "%s/pdf-tools", w->one);
    assert_int_equal(mkdir(sub, 0700), 0);
    put(sub, "SKILL.md", "---\nname: pdf-tools\ndescription: PDF\n---\nRead FORMS.md\n");
    snprintf(sub, sizeof(sub), "%s/empty", w->one);
    assert_int_equal(mkdir(sub, 0700), 0);
    put(w->one, "README.md", "no skill");
    struct skill_dir dir = {.path = str_from(w->one), .origin = SKILL_PROJECT, .is_standard = true};
    w->set = skills_load(&dir, 1, NULL);
    const struct skill *s = skills_find(w->set, STR("pdf-tools"));
    assert_non_null(s);
    assert_int_equal(s->origin, SKILL_PROJECT);
    assert_true(str_ends(s->home, STR("/one/pdf-tools")));
    assert_int_equal(skills_problems(w->set)->len, 0);
}

TEST_WITH(a_set_has_a_ceiling, set_up, tear_down)
{
    struct world *w = *state;
    char file[32], name[32];
    for (int i = 0; i < SKILLS_MAX; i++) {
        snprintf(file, sizeof(file), "%04d.md", i);
        snprintf(name, sizeof(name), "s%d", i);
        put_skill(w->one, file, name, "x");
    }
    load(w);
    assert_int_equal(skills_len(w->set), SKILLS_MAX);
    assert_problem(w->set, SKILL_ERROR, "there are 500 skills already");
}

TEST_WITH(inline_skills, set_up, tear_down)
{
    struct world *w = *state;
    struct arena a;
    struct json *list;
    arena_init(&a);
    assert_int_equal(
        json_parse(
            &a,
            STR("[{\"name\":\"mine\",\"type\":\"context\",\"priority\":20,\"body\":\" Be kind. \"},"
                "{\"body\":\"no name\"},7]"),
            0, &list, NULL),
        0);
    struct skill_dir dir = {.path = STR("skills"), .origin = SKILL_CONFIG, .inline_skills = list};
    w->set = skills_load(&dir, 1, NULL);
    arena_done(&a);
    assert_string_equal(skills_find(w->set, STR("mine"))->body.p, "Be kind.");
    assert_string_equal(skills_find(w->set, STR("mine"))->path.p, "skills[0]");
    assert_int_equal(skills_problems(w->set)->len, 2);
    assert_problem(w->set, SKILL_ERROR, "name is missing");
    assert_problem(w->set, SKILL_ERROR, "expected an object");
}

TEST_WITH(places_in_load_order, set_up, tear_down)
{
    str configured[] = {STR_INIT("/conf/skills")};
    struct json inline_skills = {.type = JSON_ARRAY};
    struct skill_places p = {.work_dir = STR("/data"),
                             .skill_dirs = {configured, 1},
                             .skills = &inline_skills,
                             .home_dir = STR("/home/ada"),
                             .project_dir = STR("/src/app"),
                             .workspace_dir = STR("/data/workspaces/ws_1")};
    static const struct {
        const char *path;
        enum skill_origin origin;
        bool is_standard;
    } EXPECTED[] = {
        {"/home/ada/.agents/skills", SKILL_GLOBAL, true},
        {"/home/ada/.claude/skills", SKILL_GLOBAL, true},
        {"/data/skills", SKILL_GLOBAL, false},
        {"/conf/skills", SKILL_CONFIG, false},
        {"skills", SKILL_CONFIG, false},
        {"/src/app/.agents/skills", SKILL_PROJECT, true},
        {"/src/app/.claude/skills", SKILL_PROJECT, true},
        {"/data/workspaces/ws_1/skills", SKILL_WORKSPACE, false},
    };
    struct arena a;
    size_t n;
    arena_init(&a);
    const struct skill_dir *dirs = skill_dirs(&a, &p, &n);
    assert_int_equal(n, ARRAY_LEN(EXPECTED));
    for (size_t i = 0; i < n; i++) {
        assert_true(str_eq(dirs[i].path, str_from(EXPECTED[i].path)));
        assert_int_equal(dirs[i].origin, EXPECTED[i].origin);
        assert_int_equal(dirs[i].is_standard, EXPECTED[i].is_standard);
    }
    assert_ptr_equal(dirs[4].inline_skills, &inline_skills);

    skill_dirs(&a, &(struct skill_places){.work_dir = STR("/data")}, &n);
    assert_int_equal(n, 1);
    p.project_dir = p.home_dir; /* started in the home directory: not twice */
    skill_dirs(&a, &p, &n);
    assert_int_equal(n, ARRAY_LEN(EXPECTED) - 2);
    arena_done(&a);
}

TEST_WITH(references, set_up, tear_down)
{
    struct world *w = *state;
    w->set = skills_load(NULL, 0, NULL);
    struct skills *again = skills_ref(w->set);
    const struct skill *s = skills_at(w->set, 0);
    w->set = skills_unref(w->set);
    assert_string_equal(s->name.p, "soul");
    assert_null(skills_unref(again));
}

TEST_WITH(reserved_names, set_up, tear_down)
{
    assert_true(skill_name_reserved(STR("soul")));
    assert_true(skill_name_reserved(STR("Skill-Authoring")));
    assert_false(skill_name_reserved(STR("research")));
}

static void make_person(const struct world *w, const char *user, char dir[160])
{
    char home[120];
    snprintf(home, sizeof(home), "%s/two/%s", w->root, user);
    snprintf(dir, 160, "%s/skills", home);
    assert_int_equal(mkdir(home, 0700), 0);
    assert_int_equal(mkdir(dir, 0700), 0);
}

TEST_WITH(personal_skills_are_in_one_view_and_replace_nothing, set_up, tear_down)
{
    struct world *w = *state;
    char ann[160], bad[160];
    size_t common, mine;
    make_person(w, "usr_ann", ann);
    make_person(w, "nobody", bad);
    put_skill(w->one, "shared.md", "shared", "of all");
    put_skill(ann, "own.md", "own", "of ann");
    put_skill(ann, "shared.md", "shared", "of ann as well");
    put_context(ann, "rules.md", "rules", 30);
    put_skill(bad, "stray.md", "stray", "of nobody");
    const struct skill_dir dirs[] = {
        {.path = str_from(w->one), .origin = SKILL_WORKSPACE},
        {.path = str_from(w->two), .origin = SKILL_PERSONAL, .is_people = true},
    };
    w->set = skills_load(dirs, 2, NULL);
    struct skills *view = skills_for(w->set, STR("usr_ann"));
    assert_null(skills_find(w->set, STR("own")));
    assert_null(skills_find(view, STR("stray")));
    assert_int_equal(skills_find(view, STR("own"))->origin, SKILL_PERSONAL);
    assert_int_equal(skills_find(view, STR("shared"))->origin, SKILL_WORKSPACE);
    (void)skills_context(w->set, &common);
    (void)skills_context(view, &mine);
    assert_int_equal(mine, common + 1);
    assert_problem(w->set, SKILL_ERROR, "cannot replace a skill");
    assert_ptr_equal(skills_for(w->set, STR("usr_bob")), w->set);
    assert_ptr_equal(skills_for(w->set, STR_NONE), w->set);
    /* A reference to a view keeps the whole set. */
    (void)skills_ref(view);
    w->set = skills_unref(w->set);
    assert_int_equal(skills_find(view, STR("own"))->origin, SKILL_PERSONAL);
    skills_unref(view);
}

TEST_WITH(personal_skills_have_a_ceiling, set_up, tear_down)
{
    struct world *w = *state;
    char ann[160], file[40], name[40];
    make_person(w, "usr_ann", ann);
    for (int i = 0; i < SKILL_PERSONAL_MAX + 3; i++) {
        snprintf(file, sizeof(file), "s%03d.md", i);
        snprintf(name, sizeof(name), "s%03d", i);
        put_skill(ann, file, name, "x");
    }
    const struct skill_dir people = {
        .path = str_from(w->two), .origin = SKILL_PERSONAL, .is_people = true};
    w->set = skills_load(&people, 1, NULL);
    assert_int_equal(skills_len(skills_for(w->set, STR("usr_ann"))),
                     skills_len(w->set) + SKILL_PERSONAL_MAX);
    assert_problem(w->set, SKILL_ERROR, "already");
}

/* Each workspace has a set, and most have only the skills of nb. */
TEST_WITH(a_set_takes_memory_for_the_skills_that_it_has, set_up, tear_down)
{
    struct world *w = *state;
    heap_count_needed();
    heap_count_begin();
    w->set = skills_load(NULL, 0, NULL);
    long bytes = heap_count_end();
    size_t texts = 0;
    for (size_t i = 0; i < skills_len(w->set); i++)
        texts += skills_at(w->set, i)->body.n;
    assert_true(bytes > (long)texts);
    assert_true(bytes < (long)(2 * texts + 32768));
}
