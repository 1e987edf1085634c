#include <errno.h>

#include "support/unit.h"
#include "tools/registry.h"

/* A source under the test's control: calls stay open until the test answers them. */
struct fake_call {
    struct tool_call call;
    struct list_node node;
    char args[64];
};

struct fake {
    struct tool_source def;
    struct tool tools[4];
    size_t n_tools;
    struct list_node open;
    unsigned n_open, started, cancelled;
};

static const struct tool *fake_list(void *self, size_t *ret_n)
{
    struct fake *f = self;
    *ret_n = f->n_tools;
    return f->tools;
}

static void fake_start(void *self, struct tool_call *call)
{
    struct fake *f = self;
    struct fake_call *c = CONTAINER_OF(call, struct fake_call, call);
    struct buf text;

    buf_init(&text, sizeof(c->args) - 1);
    assert_int_equal(json_write(&text, call->args), 0);
    snprintf(c->args, sizeof(c->args), "%s", buf_cstr(&text));
    buf_done(&text);
    list_push(&f->open, &c->node);
    f->n_open++;
    f->started++;
}

static void fake_close(struct fake *f, struct fake_call *c)
{
    list_del(&c->node);
    f->n_open--;
}

static void fake_cancel(void *self, struct tool_call *call)
{
    struct fake *f = self;
    f->cancelled++;
    fake_close(f, CONTAINER_OF(call, struct fake_call, call));
}

static struct fake_call *fake_first(struct fake *f)
{
    assert_false(list_empty(&f->open));
    return LIST_ENTRY(f->open.next, struct fake_call, node);
}

static void fake_answer(struct fake *f, str text)
{
    struct fake_call *c = fake_first(f);
    struct tool_result r = tool_result_text(&c->call.arena, text);

    fake_close(f, c);
    tool_call_answer(&c->call, &r);
}

static void fake_init(struct fake *f, const char *name)
{
    *f = (struct fake){.def = {.name = name,
                               .list = fake_list,
                               .start = fake_start,
                               .cancel = fake_cancel,
                               .call_size = sizeof(struct fake_call),
                               .self = f},
                       .n_tools = 1};
    f->tools[0].name = STR("echo");
    list_init(&f->open);
}

/* What a caller saw. */
struct seen {
    unsigned answers, progress;
    bool is_error, has_answer;
    char text[512];
    double last_progress;
    void (*also)(struct seen *s);
    void *ctx;
};

static void on_done(void *ctx, const struct tool_result *r)
{
    struct seen *s = ctx;
    struct arena a;

    arena_init(&a);
    snprintf(s->text, sizeof(s->text), "%.*s", STR_ARG(tool_result_to_text(&a, r)));
    arena_done(&a);
    s->answers++;
    s->is_error = r->is_error;
    s->has_answer = true;
    if (s->also)
        s->also(s);
}

static void on_progress(void *ctx, double progress, double total, str message)
{
    struct seen *s = ctx;
    s->progress++;
    s->last_progress = progress;
}

static const struct tool_call_events EVENTS = {on_done, on_progress};
static const struct tool_call_events NO_PROGRESS = {.done = on_done};

struct fixture {
    struct loop *loop;
    struct registry *reg;
    struct fake one;
    struct arena arena;
    struct actor *member, *admin;
};

static int set_up(void **state)
{
    struct fixture *x = xcalloc(1, sizeof(*x));
    x->loop = loop_new(NULL);
    x->reg = registry_new(x->loop);
    struct principal p = {.user_id = STR("usr_1"), .how = AUTH_BY_SESSION};
    x->member = actor_new(NULL, STR("ws"), &p, (struct json_strs){0});
    x->admin = actor_new_operator(NULL, STR("ws"), STR("usr_1"));
    arena_init(&x->arena);
    fake_init(&x->one, "one");
    assert_int_equal(registry_add_source(x->reg, &x->one.def, NULL), 0);
    *state = x;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *x = *state;
    registry_free(x->reg);
    assert_int_equal(x->one.n_open, 0);
    loop_free(x->loop);
    arena_done(&x->arena);
    actor_unref(x->member);
    actor_unref(x->admin);
    free(x);
    return 0;
}

static struct tool_call *call(struct fixture *x, str name, const char *args, struct seen *s)
{
    struct tool_caller who = {.actor = x->member};
    struct json *v = NULL;
    if (args)
        assert_int_equal(json_parse(&x->arena, arena_str(&x->arena, str_from(args)), 0, &v, NULL),
                         0);
    struct tool_call *c = registry_call(x->reg, name, v, &who, &EVENTS, s);
    assert_int_equal(s->answers, 0); /* never before it returned */
    return c;
}

static void turn(struct fixture *x)
{
    bool never = false;
    loop_run_until(x->loop, &never, 5);
}

static void assert_text(const struct seen *s, bool is_error, const char *part)
{
    assert_int_equal(s->answers, 1);
    assert_int_equal(s->is_error, is_error);
    if (!strstr(s->text, part))
        fail_msg("\"%s\" does not contain \"%s\"", s->text, part);
}

static void set_schema(struct fixture *x, const char *text)
{
    struct json *schema;
    assert_int_equal(json_parse(&x->arena, str_from(text), 0, &schema, NULL), 0);
    x->one.tools[0].input_schema = schema;
    registry_changed(x->reg, &x->one.def);
}

TEST_WITH(a_call_travels, set_up, tear_down)
{
    struct fixture *x = *state;
    struct seen s = {0};
    call(x, STR("one__echo"), "{\"a\":1}", &s);
    const struct fake_call *c = fake_first(&x->one);
    assert_true(str_eq(c->call.tool, STR("echo")));
    assert_string_equal(c->args, "{\"a\":1}");
    assert_true(str_eq(actor_user(c->call.who.actor), STR("usr_1")));
    tool_call_progress(&c->call, 0.5, 1, STR("half"));
    fake_answer(&x->one, STR("hello"));
    assert_text(&s, false, "hello");
    assert_int_equal(s.progress, 1);
    assert_true(s.last_progress == 0.5);
}

TEST_WITH(progress_nobody_wants, set_up, tear_down)
{
    struct fixture *x = *state;
    struct tool_caller who = {.actor = x->member};
    struct seen s = {0};
    registry_call(x->reg, STR("one__echo"), NULL, &who, &NO_PROGRESS, &s);
    const struct fake_call *c = fake_first(&x->one);
    assert_string_equal(c->args, "{}");
    tool_call_progress(&c->call, 1, 1, STR(""));
    fake_answer(&x->one, STR("x"));
    assert_text(&s, false, "x");
}

TEST_WITH(unknown_names, set_up, tear_down)
{
    struct fixture *x = *state;
    struct seen typo = {0}, source = {0}, bare = {0};
    call(x, STR("one__ehco"), NULL, &typo);
    call(x, STR("elsewhere__go"), NULL, &source);
    call(x, STR("echo"), NULL, &bare);
    turn(x);
    assert_text(&typo, true, "There is no tool \"one__ehco\". Did you mean one__echo?");
    assert_text(&source, true, "Known sources: one.");
    assert_text(&bare, true, "Did you mean one__echo?");
    assert_int_equal(x->one.started, 0);
}

TEST_WITH(bad_arguments_name_path_and_reason, set_up, tear_down)
{
    struct fixture *x = *state;
    struct seen s = {0}, not_object = {0};
    set_schema(x, "{\"type\":\"object\",\"properties\":{\"count\":{\"type\":\"integer\"}}}");
    call(x, STR("one__echo"), "{\"count\":\"3\"}", &s);
    call(x, STR("one__echo"), "[1]", &not_object);
    turn(x);
    assert_text(&s, true, "Invalid input for one__echo: arguments.count: expected integer");
    assert_text(&not_object, true, "arguments: expected object");
    assert_int_equal(x->one.started, 0);
}

TEST_WITH(limit_and_order, set_up, tear_down)
{
    struct fixture *x = *state;
    struct seen s[5] = {0};
    x->one.def.max_concurrent = 2;
    for (int i = 0; i < 5; i++) {
        char args[32];
        snprintf(args, sizeof(args), "{\"i\":%d}", i);
        call(x, STR("one__echo"), args, &s[i]);
    }
    assert_int_equal(x->one.n_open, 2);
    for (int i = 0; i < 5; i++) {
        char expected[32];
        snprintf(expected, sizeof(expected), "{\"i\":%d}", i);
        assert_string_equal(fake_first(&x->one)->args, expected);
        fake_answer(&x->one, STR("ok"));
        turn(x);
        assert_true(x->one.n_open <= 2);
    }
    for (int i = 0; i < 5; i++)
        assert_text(&s[i], false, "ok");
}

/* A place that became free belongs to who waits, not to who asks in the same turn. */
TEST_WITH(no_overtaking, set_up, tear_down)
{
    struct fixture *x = *state;
    struct seen first = {0}, second = {0}, third = {0};
    x->one.def.max_concurrent = 1;
    call(x, STR("one__echo"), "{\"i\":1}", &first);
    call(x, STR("one__echo"), "{\"i\":2}", &second);
    fake_answer(&x->one, STR("a"));
    call(x, STR("one__echo"), "{\"i\":3}", &third);
    turn(x);
    assert_string_equal(fake_first(&x->one)->args, "{\"i\":2}");
    fake_answer(&x->one, STR("b"));
    turn(x);
    fake_answer(&x->one, STR("c"));
    assert_text(&third, false, "c");
}

TEST_WITH(default_limit_and_full_queue, set_up, tear_down)
{
    struct fixture *x = *state;
    size_t n = REGISTRY_CONCURRENT + REGISTRY_QUEUE_MAX;
    struct seen *s = xcalloc(n + 1, sizeof(*s));
    for (size_t i = 0; i <= n; i++)
        call(x, STR("one__echo"), NULL, &s[i]);
    assert_int_equal(x->one.n_open, REGISTRY_CONCURRENT);
    turn(x);
    assert_text(&s[n], true, "busy");
    assert_int_equal(s[n - 1].answers, 0);
    registry_remove_source(x->reg, &x->one.def);
    turn(x);
    for (size_t i = 0; i < n; i++)
        assert_text(&s[i], true, "removed");
    free(s);
}

TEST_WITH(timeout, set_up, tear_down)
{
    struct fixture *x = *state;
    struct seen s = {0}, next = {0};
    x->one.def.timeout_ms = 20;
    x->one.def.max_concurrent = 1;
    call(x, STR("one__echo"), NULL, &s);
    x->one.def.timeout_ms = 60000; /* the next one has time, also on a busy machine */
    call(x, STR("one__echo"), NULL, &next);
    assert_true(loop_run_until(x->loop, &s.has_answer, 60000));
    assert_text(&s, true, "one__echo did not answer within 0.02 seconds");
    assert_int_equal(x->one.cancelled, 1);
    turn(x);
    fake_answer(&x->one, STR("later"));
    assert_text(&next, false, "later");
}

TEST_WITH(timeout_of_one_tool, set_up, tear_down)
{
    struct fixture *x = *state;
    struct seen s = {0};
    x->one.tools[0].timeout_ms = 10;
    registry_changed(x->reg, &x->one.def);
    call(x, STR("one__echo"), NULL, &s);
    assert_true(loop_run_until(x->loop, &s.has_answer, 60000));
    assert_text(&s, true, "0.01 seconds");
}

TEST_WITH(no_timeout, set_up, tear_down)
{
    struct fixture *x = *state;
    struct seen s = {0};
    x->one.def.timeout_ms = 1;
    x->one.tools[0].timeout_ms = TOOL_NO_TIMEOUT;
    registry_changed(x->reg, &x->one.def);
    call(x, STR("one__echo"), NULL, &s);
    assert_false(loop_run_until(x->loop, &s.has_answer, 20));
    fake_answer(&x->one, STR("at last"));
    assert_text(&s, false, "at last");
}

TEST_WITH(too_large_a_result, set_up, tear_down)
{
    struct fixture *x = *state;
    struct seen s = {0}, fits = {0}, unlimited = {0};
    registry_set_result_limit(x->reg, 20);
    call(x, STR("one__echo"), NULL, &s);
    fake_answer(&x->one, STR("0123456789"));
    assert_text(&s, true, "larger than 20 characters");
    call(x, STR("one__echo"), NULL, &fits);
    fake_answer(&x->one, STR("öööööööö")); /* exactly: characters, not bytes */
    assert_text(&fits, false, "öööööööö");
    registry_set_result_limit(x->reg, 0);
    call(x, STR("one__echo"), NULL, &unlimited);
    fake_answer(&x->one, STR("0123456789"));
    assert_text(&unlimited, false, "0123456789");
}

TEST_WITH(cancel_running_waiting_and_ending, set_up, tear_down)
{
    struct fixture *x = *state;
    struct seen running = {0}, waiting = {0}, ending = {0}, last = {0};
    x->one.def.max_concurrent = 1;
    struct tool_call *r = call(x, STR("one__echo"), NULL, &running);
    struct tool_call *w = call(x, STR("one__echo"), NULL, &waiting);
    struct tool_call *e = call(x, STR("nothing"), NULL, &ending);
    call(x, STR("one__echo"), "{\"last\":1}", &last);
    registry_cancel(w);
    registry_cancel(e);
    registry_cancel(r);
    turn(x);
    assert_int_equal(running.answers + waiting.answers + ending.answers, 0);
    assert_int_equal(x->one.cancelled, 1);
    assert_string_equal(fake_first(&x->one)->args, "{\"last\":1}");
    fake_answer(&x->one, STR("done"));
    assert_text(&last, false, "done");
}

TEST_WITH(source_goes_away, set_up, tear_down)
{
    struct fixture *x = *state;
    struct seen running = {0}, waiting = {0}, after = {0};
    x->one.def.max_concurrent = 1;
    call(x, STR("one__echo"), NULL, &running);
    call(x, STR("one__echo"), NULL, &waiting);
    registry_remove_source(x->reg, &x->one.def);
    registry_remove_source(x->reg, &x->one.def); /* again: nothing */
    assert_int_equal(x->one.n_open, 0);
    assert_int_equal(running.answers, 0);
    turn(x);
    assert_text(&running, true, "its source one was removed");
    assert_text(&waiting, true, "its source one was removed");
    call(x, STR("one__echo"), NULL, &after);
    turn(x);
    assert_text(&after, true, "No tool is installed.");
}

TEST_WITH(a_source_of_the_same_name_cannot_take_another_away, set_up, tear_down)
{
    struct fixture *x = *state;
    struct fake twin;
    struct seen s = {0};
    struct err e = {0};
    fake_init(&twin, "one");
    assert_int_equal(registry_add_source(x->reg, &twin.def, &e), -EEXIST);
    registry_remove_source(x->reg, &twin.def);
    call(x, STR("one__echo"), NULL, &s);
    fake_answer(&x->one, STR("still here"));
    assert_text(&s, false, "still here");
}

static void remove_source_too(struct seen *s)
{
    struct fixture *x = s->ctx;
    registry_remove_source(x->reg, &x->one.def);
}

TEST_WITH(source_goes_away_inside_an_answer, set_up, tear_down)
{
    struct fixture *x = *state;
    struct seen s = {.also = remove_source_too, .ctx = x}, other = {0};
    x->one.def.max_concurrent = 1;
    call(x, STR("one__echo"), NULL, &s);
    call(x, STR("one__echo"), NULL, &other);
    fake_answer(&x->one, STR("bye"));
    assert_text(&s, false, "bye");
    turn(x);
    assert_text(&other, true, "removed");
}

TEST_WITH(free_with_open_calls, set_up, tear_down)
{
    struct fixture *x = *state;
    struct seen s[3] = {0};
    x->one.def.max_concurrent = 1;
    call(x, STR("one__echo"), NULL, &s[0]);
    call(x, STR("one__echo"), NULL, &s[1]);
    call(x, STR("nothing"), NULL, &s[2]);
    registry_free(x->reg);
    assert_int_equal(x->one.cancelled, 1);
    x->reg = registry_new(x->loop);
    turn(x);
    assert_int_equal(s[0].answers + s[1].answers + s[2].answers, 0);
}

TEST_WITH(sources_are_refused_clearly, set_up, tear_down)
{
    struct fixture *x = *state;
    struct fake twin, odd;
    struct err e = {0};
    fake_init(&twin, "one");
    fake_init(&odd, "a b");
    assert_int_equal(registry_add_source(x->reg, &twin.def, &e), -EEXIST);
    assert_non_null(strstr(e.msg, "\"one\" exists already"));
    assert_int_equal(registry_add_source(x->reg, &odd.def, &e), -EINVAL);
    assert_non_null(strstr(e.msg, "\"a b\""));
    assert_int_equal(registry_tools(x->reg)->len, 1);
}

TEST_WITH(too_many_sources, set_up, tear_down)
{
    struct fixture *x = *state;
    struct fake *many = xcalloc(REGISTRY_SOURCES_MAX, sizeof(*many));
    char(*names)[8] = xcalloc(REGISTRY_SOURCES_MAX, 8);
    for (int i = 0; i < REGISTRY_SOURCES_MAX; i++) {
        snprintf(names[i], 8, "s%d", i);
        fake_init(&many[i], names[i]);
        int want = i < REGISTRY_SOURCES_MAX - 1 ? 0 : -ENOSPC;
        assert_int_equal(registry_add_source(x->reg, &many[i].def, NULL), want);
    }
    assert_int_equal(registry_tools(x->reg)->len, REGISTRY_SOURCES_MAX);
    registry_free(x->reg);
    x->reg = registry_new(x->loop);
    free(names);
    free(many);
}

struct watch {
    struct registry_observer o;
    char seen[64];
};

static void on_changed(void *ctx, str source)
{
    struct watch *w = ctx;
    size_t n = strlen(w->seen);
    snprintf(w->seen + n, sizeof(w->seen) - n, "%.*s ", STR_ARG(source));
}

TEST_WITH(changes_are_told, set_up, tear_down)
{
    struct fixture *x = *state;
    struct watch w = {.o = {.changed = on_changed, .ctx = &w}};
    struct fake two;
    size_t n;
    registry_observe(x->reg, &w.o);
    fake_init(&two, "a-two");
    registry_add_source(x->reg, &two.def, NULL);
    const str *names = registry_sources(x->reg, &n);
    assert_int_equal(n, 2);
    assert_true(str_eq(names[0], STR("a-two")) && str_eq(names[1], STR("one")));
    registry_changed(x->reg, &x->one.def);
    struct fake unknown;
    fake_init(&unknown, "one"); /* the name does not matter */
    registry_changed(x->reg, &unknown.def);
    registry_remove_source(x->reg, &two.def);
    registry_unobserve(&w.o);
    registry_changed(x->reg, &x->one.def);
    assert_string_equal(w.seen, "a-two one a-two ");
}

TEST_WITH(lists_follow_changes_and_snapshots_do_not, set_up, tear_down)
{
    struct fixture *x = *state;
    struct toolset *before = toolset_ref(registry_tools(x->reg));
    x->one.tools[1].name = STR("more");
    x->one.n_tools = 2;
    assert_ptr_equal(registry_tools(x->reg), before);
    registry_changed(x->reg, &x->one.def);
    assert_int_equal(registry_tools(x->reg)->len, 2);
    assert_int_equal(before->len, 1);
    toolset_unref(before);
}

TEST_WITH(admin_tools_are_absent_for_others, set_up, tear_down)
{
    struct fixture *x = *state;
    struct tool_caller admin = {.actor = x->admin};
    struct seen other = {0}, s = {0};
    x->one.tools[0].is_admin_only = true;
    registry_changed(x->reg, &x->one.def);
    call(x, STR("one__echo"), NULL, &other);
    turn(x);
    assert_text(&other, true, "There is no tool \"one__echo\". Known sources");
    registry_call(x->reg, STR("one__echo"), NULL, &admin, &EVENTS, &s);
    fake_answer(&x->one, STR("yes"));
    assert_text(&s, false, "yes");
}

TEST_WITH(a_tool_for_interfaces_alone_is_unknown_to_everybody_else, set_up, tear_down)
{
    struct fixture *x = *state;
    struct tool_caller view = {.actor = x->member, .app = STR("one"), .view_id = STR("view_1")};
    struct seen model = {0}, s = {0};
    x->one.tools[0].is_internal = x->one.tools[0].is_for_apps = true;
    registry_changed(x->reg, &x->one.def);
    call(x, STR("one__echo"), NULL, &model);
    turn(x);
    assert_text(&model, true, "There is no tool \"one__echo\". Known sources");
    assert_null(registry_find(x->reg, STR("one__echo"), NULL, true));
    registry_call(x->reg, STR("one__echo"), NULL, &view, &EVENTS, &s);
    assert_true(str_eq(fake_first(&x->one)->call.who.view_id, STR("view_1")));
    fake_answer(&x->one, STR("yes"));
    assert_text(&s, false, "yes");
}

TEST_WITH(an_interface_reaches_only_tools_of_its_source_that_are_for_apps, set_up, tear_down)
{
    struct fixture *x = *state;
    struct tool_caller other = {.actor = x->member, .app = STR("two")};
    struct tool_caller own = {.actor = x->member, .app = STR("one")};
    struct seen a = {0}, b = {0};
    registry_call(x->reg, STR("one__echo"), NULL, &own, &EVENTS, &a); /* for models alone */
    x->one.tools[0].is_for_apps = true;
    registry_changed(x->reg, &x->one.def);
    registry_call(x->reg, STR("one__echo"), NULL, &other, &EVENTS, &b);
    turn(x);
    assert_text(&a, true, "There is no tool \"one__echo\".");
    assert_text(&b, true, "There is no tool \"one__echo\".");
    assert_int_equal(x->one.started, 0);
}

TEST_WITH(aliases_reach_the_tool_and_are_never_listed, set_up, tear_down)
{
    struct fixture *x = *state;
    struct fake nb;
    struct seen s = {0};
    fake_init(&nb, "nb");
    nb.tools[0].name = STR("manage_conversation");
    registry_add_source(x->reg, &nb.def, NULL);
    const struct toolset_item *it = registry_find(x->reg, STR("manage_conversation"), NULL, false);
    assert_non_null(it);
    assert_true(str_eq(it->name, STR("nb__manage_conversation")));
    assert_null(toolset_find(registry_tools(x->reg), STR("manage_conversation")));
    call(x, STR("manage_conversation"), "{}", &s);
    assert_true(str_eq(fake_first(&nb)->call.tool, STR("manage_conversation")));
    fake_answer(&nb, STR("shared"));
    assert_text(&s, false, "shared");
    registry_remove_source(x->reg, &nb.def);
}

/* ---- private sources ---- */

static struct tool_call *call_in_run(struct fixture *x, const struct actor *actor, const char *conv,
                                     const char *run, struct seen *s)
{
    struct tool_caller who = {
        .actor = actor, .conversation_id = str_from(conv), .run_id = str_from(run)};
    return registry_call(x->reg, STR("one_v__echo"), NULL, &who, &EVENTS, s);
}

static void count_changes(void *ctx, str source)
{
    ++*(unsigned *)ctx;
}

TEST_WITH(a_private_source_is_for_runs_of_its_audience, set_up, tear_down)
{
    struct fixture *x = *state;
    struct tool_audience who = {STR("conv_1"), STR("usr_1")},
                         nobody = {STR("conv_1"), STR("usr_2")};
    struct fake own;
    unsigned changes = 0;
    struct registry_observer o = {.changed = count_changes, .ctx = &changes};
    struct seen s[5] = {0};
    fake_init(&own, "one.v");
    own.def.only_for = &who;
    registry_observe(x->reg, &o);
    assert_int_equal(registry_add_source(x->reg, &own.def, NULL), 0);
    assert_int_equal(registry_add_source(x->reg, &own.def, NULL), -EEXIST);
    assert_int_equal(registry_tools(x->reg)->len, 1);
    assert_int_equal(registry_tools_for(x->reg, &nobody)->len, 1);
    assert_int_equal(registry_tools_for(x->reg, &who)->len, 2);
    assert_non_null(registry_find_for(x->reg, &who, STR("one_v__echo"), NULL, false));
    assert_null(registry_find(x->reg, STR("one_v__echo"), NULL, true));
    call_in_run(x, x->member, "conv_2", "run_1", &s[0]);
    call_in_run(x, x->member, "conv_1", "", &s[1]);
    turn(x);
    assert_text(&s[0], true, "There is no tool");
    assert_text(&s[1], true, "There is no tool");
    call_in_run(x, x->member, "conv_1", "run_1", &s[2]);
    fake_answer(&own, STR("hello"));
    assert_text(&s[2], false, "hello");

    own.n_tools = 0;
    registry_changed(x->reg, &own.def);
    assert_int_equal(registry_tools_for(x->reg, &who)->len, 1);
    own.n_tools = 1;
    registry_changed(x->reg, &own.def);
    x->one.n_tools = 0;
    registry_changed(x->reg, &x->one.def);
    assert_int_equal(registry_tools_for(x->reg, &who)->len, 1); /* the workspace's are new, too */
    assert_int_equal(changes, 1);
    call_in_run(x, x->member, "conv_1", "run_1", &s[3]);
    registry_remove_source(x->reg, &own.def);
    registry_remove_source(x->reg, &own.def);
    turn(x);
    assert_text(&s[3], true, "was closed while the call ran");
    call_in_run(x, x->member, "conv_1", "run_1", &s[4]);
    turn(x);
    assert_text(&s[4], true, "There is no tool");
    registry_unobserve(&o);
}

TEST_WITH(an_audience_has_a_bounded_number_of_sources, set_up, tear_down)
{
    struct fixture *x = *state;
    struct tool_audience who = {STR("conv_1"), STR("usr_1")};
    struct fake own[REGISTRY_PRIVATE_MAX + 1];
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        fake_init(&own[i], arena_printf(&x->arena, "one.%zu", i).p);
        own[i].def.only_for = &who;
        assert_int_equal(registry_add_source(x->reg, &own[i].def, NULL),
                         i < REGISTRY_PRIVATE_MAX ? 0 : -ENOSPC);
    }
    assert_int_equal(registry_tools_for(x->reg, &who)->len, 1 + REGISTRY_PRIVATE_MAX);
}
