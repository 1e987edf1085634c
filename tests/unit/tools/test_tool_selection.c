#include "support/unit.h"
#include "tools/tool_selection.h"

/* A workspace with `n_app` tools web__t01 ..., and the system tools below. */
struct world {
    struct toolset *tools;
    struct arena arena;
    struct actor *actor;
    bool is_child;
};

static const struct tool SYSTEM[] = {
    {.name = STR_INIT("discover_tools")},
    {.name = STR_INIT("delegate")},
    {.name = STR_INIT("manage_users"), .is_admin_only = true},
    {.name = STR_INIT("get_config"), .is_internal = true},
};

static void world_init(struct world *w, size_t n_web)
{
    struct tool web[64] = {0};
    static const struct tool MAIL[] = {{.name = STR_INIT("send")}};
    struct toolset_part *parts[3];

    struct principal member = {.user_id = STR("usr_1"), .how = AUTH_BY_SESSION};
    *w = (struct world){0};
    w->actor = actor_new(NULL, STR("ws"), &member, (struct json_strs){0});
    arena_init(&w->arena);
    for (size_t i = 0; i < n_web; i++)
        web[i].name = arena_printf(&w->arena, "t%02zu", i + 1);
    parts[0] = toolset_part_new(STR("nb"), SYSTEM, ARRAY_LEN(SYSTEM));
    parts[1] = toolset_part_new(STR("web"), web, n_web);
    parts[2] = toolset_part_new(STR("mail"), MAIL, 1);
    w->tools = toolset_new(parts, 3);
    for (size_t i = 0; i < 3; i++)
        toolset_part_unref(parts[i]);
}

static void world_done(struct world *w)
{
    toolset_unref(w->tools);
    actor_unref(w->actor);
    arena_done(&w->arena);
}

static void narrow(struct world *w, enum filter_kind kind, struct json_strs globs)
{
    struct actor *narrower = actor_narrow(w->actor, kind, globs);
    actor_unref(w->actor);
    w->actor = narrower;
}

static void be_admin(struct world *w)
{
    actor_unref(w->actor);
    w->actor = actor_new_operator(NULL, STR("ws"), STR("usr_1"));
}

static struct tool_selection compute(struct world *w, struct tool_selection_input in)
{
    in.tools = w->tools;
    in.actor = w->actor;
    in.is_child = w->is_child;
    return tool_selection_compute(&w->arena, &in);
}

static const char *names(struct world *w, struct tool_selection s)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    for (size_t i = 0; i < s.len; i++) {
        buf_add_lit(&out, i ? " " : "");
        buf_add_str(&out, s.items[i]->name);
    }
    const char *copy = arena_cstr(&w->arena, buf_str(&out));
    buf_done(&out);
    return copy;
}

/* 29 + mail are 30 tools of apps: all of them are shown, whatever nb itself has; one more, and only
 * nb__* remain. */
TEST(thirty_and_thirty_one)
{
    struct world w;
    world_init(&w, 29);
    struct tool_selection s = compute(&w, (struct tool_selection_input){0});
    assert_int_equal(s.len, 32);
    assert_int_equal(s.hidden, 0);
    assert_int_equal(s.n_sources, 0);
    world_done(&w);

    world_init(&w, 30);
    s = compute(&w, (struct tool_selection_input){0});
    assert_string_equal(names(&w, s), "nb__delegate nb__discover_tools");
    assert_int_equal(s.hidden, 31);
    world_done(&w);
}

TEST(own_tools_take_no_place)
{
    struct tool own[9] = {0}, app[14] = {0};
    static const struct tool BASH[] = {{.name = STR_INIT("bash_exec")}};
    struct world w;
    world_init(&w, 0);
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        own[i].name = arena_printf(&w.arena, "c%zu", i);
    for (size_t i = 0; i < ARRAY_LEN(app); i++)
        app[i].name = arena_printf(&w.arena, "f%zu", i);
    struct toolset_part *parts[] = {
        toolset_part_new(STR("bash"), BASH, 1),
        toolset_part_new(STR("conversations"), own, ARRAY_LEN(own)),
        toolset_part_new(STR("filesystem"), app, ARRAY_LEN(app)),
        toolset_part_new(STR("nb"), SYSTEM, 2),
    };
    toolset_unref(w.tools);
    w.tools = toolset_new(parts, ARRAY_LEN(parts));
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        toolset_part_unref(parts[i]);
    assert_int_equal(compute(&w, (struct tool_selection_input){.max_direct = 15}).len,
                     1 + 9 + 14 + 2);
    assert_int_equal(compute(&w, (struct tool_selection_input){.max_direct = 14}).len, 2);
    world_done(&w);
}

/* What the conversation has used stays direct; the most recent go first. */
TEST(tools_in_use_stay_direct)
{
    str used[] = {STR_INIT("web__t07"), STR_INIT("gone__tool"), STR_INIT("mail__send"),
                  STR_INIT("web__t01")};
    struct world w;
    world_init(&w, 40);
    struct tool_selection_input in = {.used = {used, 4}, .max_direct = 3};
    assert_string_equal(names(&w, compute(&w, in)),
                        "mail__send nb__delegate nb__discover_tools web__t07");
    str globs[] = {STR_INIT("web__t02")};
    in.skill = (struct json_strs){globs, 1}; /* a skill decides alone */
    assert_string_equal(names(&w, compute(&w, in)), "nb__delegate nb__discover_tools web__t02");
    world_done(&w);
}

TEST(hidden_tools_are_named_by_source)
{
    str used[] = {STR_INIT("web__t01")};
    struct world w;
    world_init(&w, 40);
    struct tool_selection s = compute(&w, (struct tool_selection_input){.used = {used, 1}});
    assert_int_equal(s.n_sources, 2);
    assert_true(str_eq(s.sources[0].source, STR("mail")));
    assert_int_equal(s.sources[0].n, 1);
    assert_true(str_eq(s.sources[0].names[0], STR("send")));
    assert_true(str_eq(s.sources[1].source, STR("web")));
    assert_int_equal(s.sources[1].n, 39);
    assert_int_equal(s.sources[1].n_names, TOOL_SELECTION_HIDDEN_NAMES);
    assert_true(str_eq(s.sources[1].names[0], STR("t02")));
    world_done(&w);
}

TEST(the_threshold_is_a_setting)
{
    struct world w;
    world_init(&w, 3);
    assert_int_equal(compute(&w, (struct tool_selection_input){.max_direct = 4}).len, 6);
    assert_int_equal(compute(&w, (struct tool_selection_input){.max_direct = 3}).len, 2);
    world_done(&w);
}

TEST(a_skill_filters)
{
    str globs[] = {STR_INIT("web__t0*"), STR_INIT("nb__discover_tools")};
    struct world w;
    world_init(&w, 40);
    struct tool_selection s = compute(&w, (struct tool_selection_input){.skill = {globs, 2}});
    assert_string_equal(names(&w, s), "nb__delegate nb__discover_tools web__t01 web__t02 web__t03 "
                                      "web__t04 web__t05 web__t06 web__t07 web__t08 web__t09");
    assert_true(s.hidden > 0);
    world_done(&w);

    world_init(&w, 2); /* few tools: the skill still filters */
    s = compute(&w, (struct tool_selection_input){.skill = {globs, 2}});
    assert_string_equal(names(&w, s), "nb__delegate nb__discover_tools web__t01 web__t02");
    assert_int_equal(s.hidden, 1);
    world_done(&w);
}

TEST(a_skill_without_globs_does_not_filter)
{
    struct world w;
    world_init(&w, 2);
    struct tool_selection s = compute(&w, (struct tool_selection_input){.skill = {NULL, 0}});
    assert_int_equal(s.len, 5);
    assert_int_equal(s.hidden, 0);
    world_done(&w);
}

TEST(internal_and_admin_tools)
{
    struct world w;
    world_init(&w, 1);
    assert_string_equal(names(&w, compute(&w, (struct tool_selection_input){0})),
                        "mail__send nb__delegate nb__discover_tools web__t01");
    be_admin(&w);
    assert_string_equal(names(&w, compute(&w, (struct tool_selection_input){0})),
                        "mail__send nb__delegate nb__discover_tools nb__manage_users web__t01");
    world_done(&w);
}

/* The request's allowedTools come first: what they leave is counted. */
TEST(allowed_tools_of_the_request)
{
    str allowed[] = {STR_INIT("mail__*")};
    struct world w;
    world_init(&w, 40);
    narrow(&w, FILTER_REQUEST, (struct json_strs){allowed, 1});
    struct tool_selection s = compute(&w, (struct tool_selection_input){0});
    assert_string_equal(names(&w, s), "mail__send nb__delegate nb__discover_tools");
    assert_int_equal(s.hidden, 0);
    assert_true(tool_selection_may_call(w.actor, false, toolset_find(w.tools, STR("mail__send"))));
    assert_true(
        tool_selection_may_call(w.actor, false, toolset_find(w.tools, STR("nb__delegate"))));
    assert_false(tool_selection_may_call(w.actor, false, toolset_find(w.tools, STR("web__t01"))));
    world_done(&w);
}

TEST(the_focused_app_is_always_shown)
{
    str globs[] = {STR_INIT("web__t01")};
    struct world w;
    world_init(&w, 40);
    struct tool_selection_input in = {.focused_source = STR("mail")};
    assert_string_equal(names(&w, compute(&w, in)), "mail__send nb__delegate nb__discover_tools");
    in.skill = (struct json_strs){globs, 1};
    assert_string_equal(names(&w, compute(&w, in)),
                        "mail__send nb__delegate nb__discover_tools web__t01");
    world_done(&w);
}

TEST(discovered_tools_are_shown)
{
    struct promoted p = {0};
    struct world w;
    world_init(&w, 40);
    promoted_add(&p, STR("web__t07"));
    promoted_add(&p, STR("gone__tool"));
    struct tool_selection s = compute(&w, (struct tool_selection_input){.promoted = &p});
    assert_string_equal(names(&w, s), "nb__delegate nb__discover_tools web__t07");
    assert_int_equal(s.hidden, 40);

    str allowed[] = {STR_INIT("mail__*")};
    narrow(&w, FILTER_REQUEST, (struct json_strs){allowed, 1});
    s = compute(&w, (struct tool_selection_input){.promoted = &p});
    assert_string_equal(names(&w, s), "mail__send nb__delegate nb__discover_tools");
    world_done(&w);
}

TEST(promotion_forgets_the_least_recent)
{
    struct promoted p = {0};
    char name[TOOL_NAME_MAX + 2];
    for (int i = 0; i < PROMOTED_MAX; i++) {
        int n = snprintf(name, sizeof(name), "s__t%d", i);
        promoted_add(&p, str_make(name, (size_t)n));
    }
    promoted_add(&p, STR("s__t0")); /* asked for again */
    promoted_add(&p, STR("s__new"));
    assert_int_equal(p.len, PROMOTED_MAX);
    assert_true(promoted_has(&p, STR("s__t0")));
    assert_true(promoted_has(&p, STR("s__new")));
    assert_false(promoted_has(&p, STR("s__t1")));
    memset(name, 'x', sizeof(name));
    promoted_add(&p, str_make(name, TOOL_NAME_MAX + 1));
    promoted_add(&p, STR(""));
    assert_true(promoted_has(&p, STR("s__t2")));
}

TEST(children)
{
    str only_web[] = {STR_INIT("web__*")};
    str with_delegate[] = {STR_INIT("nb__delegate")};
    struct world w;
    world_init(&w, 1);
    be_admin(&w);
    w.is_child = true;
    assert_string_equal(names(&w, compute(&w, (struct tool_selection_input){0})),
                        "mail__send nb__discover_tools web__t01");
    narrow(&w, FILTER_PROFILE, (struct json_strs){only_web, 1});
    assert_string_equal(names(&w, compute(&w, (struct tool_selection_input){0})), "web__t01");
    be_admin(&w);
    narrow(&w, FILTER_PROFILE, (struct json_strs){with_delegate, 1});
    assert_string_equal(names(&w, compute(&w, (struct tool_selection_input){0})), "nb__delegate");
    narrow(&w, FILTER_PROFILE, (struct json_strs){with_delegate, 0});
    assert_int_equal(compute(&w, (struct tool_selection_input){0}).len, 0);
    world_done(&w);
}

/* What a token does not name cannot be called: no system tool, and whatever else allows it. */
TEST(a_token_binds_everything)
{
    str token[] = {STR_INIT("web__*")}, all[] = {STR_INIT("*")};
    struct world w;
    world_init(&w, 1);
    be_admin(&w);
    narrow(&w, FILTER_TOKEN, (struct json_strs){token, 1});
    assert_string_equal(names(&w, compute(&w, (struct tool_selection_input){0})), "web__t01");
    narrow(&w, FILTER_REQUEST, (struct json_strs){all, 1});
    narrow(&w, FILTER_PROFILE, (struct json_strs){all, 1});
    assert_string_equal(names(&w, compute(&w, (struct tool_selection_input){0})), "web__t01");
    world_done(&w);
}

TEST(both_limits_hold)
{
    str request[] = {STR_INIT("web__*")}, profile[] = {STR_INIT("*__t01"), STR_INIT("mail__*")};
    struct world w;
    world_init(&w, 2);
    narrow(&w, FILTER_REQUEST, (struct json_strs){request, 1});
    narrow(&w, FILTER_PROFILE, (struct json_strs){profile, 2});
    assert_string_equal(names(&w, compute(&w, (struct tool_selection_input){0})), "web__t01");
    world_done(&w);
}

/* Resources and prompts have no tool names: the filter must cover the whole source. */
TEST(a_source_is_covered_as_a_whole)
{
    str some[] = {STR_INIT("web__t01")}, whole[] = {STR_INIT("web__*")};
    struct world w;
    world_init(&w, 1);
    assert_true(tool_selection_may_use_source(w.actor, STR("web")));
    narrow(&w, FILTER_TOKEN, (struct json_strs){whole, 1});
    assert_true(tool_selection_may_use_source(w.actor, STR("web")));
    assert_false(tool_selection_may_use_source(w.actor, STR("mail")));
    narrow(&w, FILTER_TOKEN, (struct json_strs){some, 1});
    assert_false(tool_selection_may_use_source(w.actor, STR("web")));
    world_done(&w);
}
