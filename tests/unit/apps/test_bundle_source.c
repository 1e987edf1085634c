/* Bundles as sources of the registry. The bundle, the server and the runtime are the test's own. */
#include <errno.h>

#include "apps/bundle_impl.h"
#include "base/clock.h"
#include "support/unit.h"
#include "tools/registry.h"

/* ---- one bundle ---- */

struct bundle {
    struct bundle_info info;
    struct bundle_entry entry;
    const struct json *tools[4];
    size_t ntools;
    bool is_waiting, is_per_person;
};

struct bundle_call { /* the last request */
    struct mcp_request req;
    struct mcp_call_events ev;
    void *ctx;
    char user_id[32], way[16], cancelled[64];
    bool is_open;
};

static struct bundle bundle;
static struct bundle_call sent;

const struct bundle_info *bundle_info(struct bundle *b)
{
    return &b->info;
}

const struct bundle_entry *bundle_entry(const struct bundle *b)
{
    return &b->entry;
}

const struct json *const *bundle_tools(const struct bundle *b, size_t *ret_n)
{
    *ret_n = b->ntools;
    return b->tools;
}

bool bundle_is_waiting(const struct bundle *b)
{
    return b->is_waiting;
}

bool bundle_is_per_person(const struct bundle *b)
{
    return b->is_per_person;
}

const char *bundle_state_name(enum bundle_state state)
{
    static const char *const NAMES[] = {[BUNDLE_STARTING] = "starting",
                                        [BUNDLE_RUNNING] = "running",
                                        [BUNDLE_CRASHED] = "crashed",
                                        [BUNDLE_DEAD] = "dead",
                                        [BUNDLE_STOPPED] = "stopped"};
    return NAMES[state];
}

str bundle_failure(struct bundle *b, struct arena *a, const struct err *err)
{
    return arena_printf(a, "%.*s did not answer (%s)", STR_ARG(b->info.name), err->msg);
}

static struct bundle_call *send(const char *way, str user_id, const struct mcp_request *req,
                                const struct mcp_call_events *ev, void *ctx)
{
    assert_false(sent.is_open);
    sent = (struct bundle_call){.req = *req, .ev = *ev, .ctx = ctx, .is_open = true};
    snprintf(sent.way, sizeof sent.way, "%s", way);
    snprintf(sent.user_id, sizeof sent.user_id, "%.*s", STR_ARG(user_id));
    return &sent;
}

struct bundle_call *bundle_request_in(struct bundle *b, str person, const struct dir_grant *grant,
                                      const struct mcp_request *req,
                                      const struct mcp_call_events *ev, void *ctx)
{
    return send(grant->path.n > 0 ? "in a directory" : "shared", person, req, ev, ctx);
}

struct bundle_call *bundle_request_as(struct bundle *b, str user_id, const struct mcp_request *req,
                                      const struct mcp_call_events *ev, void *ctx)
{
    return send("own", user_id, req, ev, ctx);
}

void bundle_cancel(struct bundle_call *c, const char *reason)
{
    assert_true(c->is_open);
    c->is_open = false;
    snprintf(c->cancelled, sizeof c->cancelled, "%s", reason);
}

/* ---- the runtime ---- */

static struct runtime_deps deps;
static char told[256];

const struct runtime_deps *runtime_deps(const struct runtime *rt)
{
    return &deps;
}

void runtime_tell(struct runtime *rt, enum event_type type, str data)
{
    snprintf(told, sizeof told, "%.*s", STR_ARG(data));
}

/* ---- questions: bundle_ask.c has its own tests ---- */

static unsigned asked, gone, dropped;

void bundle_ask(struct bundle_tool_call *c, struct mcp_ask *a)
{
    asked++;
}

void bundle_ask_gone(struct bundle_tool_call *c, struct mcp_ask *a)
{
    gone++;
}

void bundle_asks_drop(struct bundle_tool_call *c)
{
    dropped++;
}

void bundle_ask_alone(struct bundle_sources *all, const struct bundle *b, struct mcp_ask *a)
{
    asked++;
}

/* ---- the world ---- */

static struct arena arena;
static struct loop *loop;
static struct bundle_sources *sources;
static struct bundle_host host;
static struct actor *ana, *both;
static int turn; /* its address stands for a turn */

static const struct json *parse(const char *text)
{
    struct json *v;
    assert_int_equal(json_parse(&arena, str_from(text), 0, &v, NULL), 0);
    return v;
}

static void offer(const char *tool)
{
    bundle.tools[bundle.ntools++] = parse(tool);
    host.changed(host.ctx, &bundle, BUNDLE_TOOLS);
}

static struct actor *person(const char *user_id)
{
    struct principal p = {
        .user_id = str_from(user_id), .how = AUTH_BY_SESSION, .scopes = SCOPE_ALL};
    return actor_new(NULL, STR("ws"), &p, (struct json_strs){0});
}

static int set_up(void **state)
{
    arena_init(&arena);
    loop = loop_new(NULL);
    deps = (struct runtime_deps){.loop = loop, .tools = registry_new(loop)};
    bundle = (struct bundle){.info = {.name = STR("srv"), .state = BUNDLE_RUNNING},
                             .entry = {.kind = BUNDLE_COMMAND}};
    sent = (struct bundle_call){0};
    asked = gone = dropped = 0;
    told[0] = '\0';
    ana = person("usr_ana");
    struct actor *ben = person("usr_ben");
    both = actor_join(ana, ben);
    actor_unref(ben);
    sources = bundle_sources_new(NULL, NULL, NULL, NULL);
    host = bundle_sources_host(sources);
    host.changed(host.ctx, &bundle, BUNDLE_ADDED);
    return 0;
}

static int tear_down(void **state)
{
    bundle_sources_free(sources);
    registry_free(deps.tools);
    actor_unref(ana);
    actor_unref(both);
    loop_free(loop);
    arena_done(&arena);
    return 0;
}

#define SOURCE_TEST(name) TEST_WITH(name, set_up, tear_down)
#define ECHO              "{\"name\":\"echo\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"}}"

/* ---- calls ---- */

static struct {
    bool is_done, is_error;
    char text[512], progress[64];
    const struct json *structured, *meta;
} answer;

static void on_done(void *ctx, const struct tool_result *r)
{
    assert_false(answer.is_done);
    answer.is_done = true;
    answer.is_error = r->is_error;
    answer.structured = r->structured ? json_clone(&arena, r->structured) : NULL;
    answer.meta = r->meta ? json_clone(&arena, r->meta) : NULL;
    snprintf(answer.text, sizeof answer.text, "%.*s", STR_ARG(tool_result_to_text(&arena, r)));
}

static void on_progress(void *ctx, double progress, double total, str message)
{
    snprintf(answer.progress, sizeof answer.progress, "%g of %g %.*s", progress, total,
             STR_ARG(message));
}

static struct tool_call *call_by(const struct tool_caller *caller, const char *tool)
{
    static const struct tool_call_events EVENTS = {on_done, on_progress};
    memset(&answer, 0, sizeof answer);
    return registry_call(deps.tools, str_from(tool), parse("{\"a\":[1]}"), caller, &EVENTS, NULL);
}

static struct tool_call *call(const struct actor *who, void *tool_host)
{
    struct tool_caller caller = {.actor = who, .host = tool_host};
    return call_by(&caller, "srv__echo");
}

static void reply(const struct mcp_reply *r)
{
    assert_true(sent.is_open);
    sent.is_open = false;
    sent.ev.done(sent.ctx, r);
}

static void reply_result(const char *result)
{
    reply(&(struct mcp_reply){.result = parse(result)});
}

SOURCE_TEST(a_call_becomes_a_request)
{
    offer(ECHO);
    call(ana, NULL);
    assert_true(str_eq(sent.req.method, STR("tools/call")));
    assert_true(str_eq(json_to_str(&arena, sent.req.params),
                       STR("{\"name\":\"echo\",\"arguments\":{\"a\":[1]}}")));
    assert_true(sent.req.wants_progress && sent.req.is_kept);
    assert_string_equal(sent.user_id, "usr_ana");
    assert_string_equal(sent.way, "shared");
    reply_result(
        "{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"structuredContent\":{\"n\":1},"
        "\"_meta\":{\"m\":2}}");
    assert_string_equal(answer.text, "hi");
    assert_false(answer.is_error);
    assert_int_equal(json_get_int(answer.structured, "n", 0), 1);
    assert_int_equal(json_get_int(answer.meta, "m", 0), 2);
}

SOURCE_TEST(errors_of_the_server_are_results)
{
    offer(ECHO);
    call(ana, NULL);
    reply_result("{\"content\":[{\"type\":\"text\",\"text\":\"no\"}],\"isError\":true}");
    assert_string_equal(answer.text, "no");
    assert_true(answer.is_error);
    call(ana, NULL);
    reply(&(struct mcp_reply){.error = parse("{\"code\":-32602,\"message\":\"bad a\"}")});
    assert_string_equal(answer.text, "srv refused the call: bad a");
    assert_true(answer.is_error);
}

SOURCE_TEST(a_lost_connection_is_explained_by_the_bundle)
{
    struct err e;
    offer(ECHO);
    call(ana, NULL);
    err_set(&e, -ECONNRESET, "gone");
    reply(&(struct mcp_reply){.err = &e});
    assert_string_equal(answer.text, "srv did not answer (gone).");
    assert_true(answer.is_error);
}

SOURCE_TEST(progress_reaches_the_caller)
{
    offer(ECHO);
    call(ana, NULL);
    sent.ev.progress(sent.ctx, parse("{\"progress\":1,\"total\":4,\"message\":\"first\"}"));
    assert_string_equal(answer.progress, "1 of 4 first");
    sent.ev.progress(sent.ctx, parse("{\"progress\":2}"));
    assert_string_equal(answer.progress, "2 of 0 ");
    reply_result("{}");
    assert_string_equal(answer.text, "");
}

SOURCE_TEST(questions_end_with_the_call)
{
    struct mcp_ask ask = {0};
    offer(ECHO);
    call(ana, &turn);
    sent.ev.ask(sent.ctx, &ask);
    sent.ev.ask_gone(sent.ctx, &ask);
    assert_int_equal(asked, 1);
    assert_int_equal(gone, 1);
    assert_int_equal(dropped, 0);
    reply_result("{}");
    assert_int_equal(dropped, 1);
}

SOURCE_TEST(a_cancelled_call_cancels_the_request)
{
    offer(ECHO);
    struct tool_call *c = call(ana, &turn);
    registry_cancel(c);
    assert_string_equal(sent.cancelled, "The run was cancelled.");
    assert_int_equal(dropped, 1);
    assert_false(answer.is_done);
}

/* A page of this server may show what the agent has changed. */
SOURCE_TEST(a_change_by_the_agent_is_announced)
{
    offer(ECHO);
    call(ana, &turn);
    reply_result("{}");
    const struct json *v = parse(told);
    assert_true(str_eq(json_get_string(v, "server"), STR("srv")));
    assert_true(str_eq(json_get_string(v, "tool"), STR("echo")));
    told[0] = '\0';
    call(ana, &turn);
    reply_result("{\"isError\":true}"); /* nothing was changed */
    assert_string_equal(told, "");
    call(ana, NULL);
    reply_result("{}"); /* a page's own call: it would reload in an endless loop */
    assert_string_equal(told, "");
}

SOURCE_TEST(a_change_by_a_view_is_announced_with_its_id)
{
    struct tool_caller view = {.actor = ana, .app = STR("srv"), .view_id = STR("view_1")};
    offer(ECHO);
    offer("{\"name\":\"look\",\"annotations\":{\"readOnlyHint\":true}}");
    offer("{\"name\":\"poll\",\"_meta\":{\"ui\":{\"visibility\":[\"app\"]}}}");
    call_by(&view, "srv__echo");
    reply_result("{}");
    assert_true(str_eq(json_get_string(parse(told), "viewId"), STR("view_1")));
    told[0] = '\0';
    call_by(&view, "srv__look");
    reply_result("{}");
    call_by(&view, "srv__poll");
    reply_result("{}");
    assert_string_equal(told, "");
    struct tool_call *c = call_by(&view, "srv__poll");
    registry_cancel(c);
    assert_string_equal(sent.cancelled, "The interface does not wait for it any more.");
}

/* ---- accounts ---- */

SOURCE_TEST(a_personal_account_belongs_to_one_person)
{
    bundle.is_per_person = true;
    offer(ECHO);
    assert_true(toolset_find(registry_tools(deps.tools), STR("srv__echo"))->tool->is_personal);
    call(ana, NULL);
    assert_string_equal(sent.way, "own");
    assert_string_equal(sent.user_id, "usr_ana");
    reply_result("{}");
    call(both, NULL); /* several people wrote: the bundle refuses it */
    assert_string_equal(sent.way, "own");
    assert_string_equal(sent.user_id, "");
    reply_result("{}");
}

/* ---- tools ---- */

static const struct tool *tool_of(const char *name)
{
    const struct toolset_item *it = toolset_find(registry_tools(deps.tools), str_from(name));
    return it ? it->tool : NULL;
}

SOURCE_TEST(tools_without_a_description_get_one)
{
    offer("{\"name\":\"a\"}");
    offer("{\"name\":\"b\",\"title\":\"Bee\"}");
    assert_true(str_eq(tool_of("srv__a")->description, STR("a (a tool of srv)")));
    assert_true(str_eq(tool_of("srv__b")->description, STR("Bee (a tool of srv)")));
}

SOURCE_TEST(tools_for_pages_only_are_hidden_from_models)
{
    offer("{\"name\":\"a\",\"_meta\":{\"ui\":{\"visibility\":[\"app\"]}}}");
    offer("{\"name\":\"b\",\"_meta\":{\"ui\":{\"visibility\":[\"app\",\"model\"]}}}");
    assert_true(tool_of("srv__a")->is_internal);
    assert_false(tool_of("srv__b")->is_internal);
    assert_true(tool_of("srv__a")->is_for_apps && tool_of("srv__b")->is_for_apps);
}

SOURCE_TEST(a_tool_has_the_resource_of_its_interface)
{
    offer("{\"name\":\"a\",\"_meta\":{\"ui\":{\"resourceUri\":\"ui://srv/a\","
          "\"visibility\":[\"model\"]}}}");
    offer(ECHO);
    assert_true(str_eq(tool_of("srv__a")->ui_uri, STR("ui://srv/a")));
    assert_false(tool_of("srv__a")->is_for_apps);
    assert_int_equal(tool_of("srv__echo")->ui_uri.n, 0);
    assert_true(tool_of("srv__echo")->is_for_apps);
}

SOURCE_TEST(a_program_without_a_sandbox_is_unconfined)
{
    offer(ECHO);
    assert_false(tool_of("srv__echo")->is_unconfined);
    bundle.entry.sandbox.is_off = true;
    host.changed(host.ctx, &bundle, BUNDLE_TOOLS);
    assert_true(tool_of("srv__echo")->is_unconfined);
    assert_false(tool_of("srv__echo")->is_shell);
}

SOURCE_TEST(only_a_bundle_that_can_start_offers_tools)
{
    static const struct {
        enum bundle_state state;
        bool is_waiting, is_offered;
    } CASES[] = {
        {BUNDLE_STARTING, false, true}, {BUNDLE_RUNNING, false, true},
        {BUNDLE_CRASHED, false, true}, /* calls wait for its restart */
        {BUNDLE_DEAD, false, false},    {BUNDLE_STOPPED, false, false},
        {BUNDLE_STOPPED, true, true}, /* the first call starts it */
    };
    offer(ECHO);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        bundle.info.state = CASES[i].state;
        bundle.is_waiting = CASES[i].is_waiting;
        host.changed(host.ctx, &bundle, BUNDLE_STATE);
        assert_int_equal(tool_of("srv__echo") != NULL, CASES[i].is_offered);
    }
}

SOURCE_TEST(absence_has_a_reason_and_advice)
{
    static const struct {
        enum bundle_state state;
        const char *words;
        bool is_coming;
    } CASES[] = {
        {BUNDLE_STARTING, "The bundle \"srv\" is starting: why (try again in a moment).", true},
        {BUNDLE_CRASHED,
         "The bundle \"srv\" is crashed: why (\"nb bundle logs\" shows an admin what it wrote).",
         false},
        {BUNDLE_DEAD, "The bundle \"srv\" is dead: why (\"nb bundle start\" tries again).", false},
        {BUNDLE_STOPPED, "The bundle \"srv\" is stopped: why (\"nb bundle start\" starts it).",
         false},
        {BUNDLE_RUNNING, "", false},
    };
    bundle.info.fault = STR("why");
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        bool is_coming;
        bundle.info.state = CASES[i].state;
        str why = registry_absence(deps.tools, &arena, STR("srv"), &is_coming);
        assert_true(str_eq(why, str_from(CASES[i].words)));
        assert_int_equal(is_coming, CASES[i].is_coming);
    }
    bundle.is_per_person = true; /* running, but nobody has signed in yet */
    bool is_coming;
    str why = registry_absence(deps.tools, &arena, STR("srv"), &is_coming);
    assert_true(str_find(why, STR("are not known before somebody has signed in"), 0) > 0);
}

/* ---- coming and going ---- */

SOURCE_TEST(a_removed_bundle_answers_its_calls)
{
    offer(ECHO);
    call(ana, NULL);
    host.changed(host.ctx, &bundle, BUNDLE_REMOVED);
    assert_true(sent.cancelled[0]);
    assert_true(loop_run_until(loop, &answer.is_done, 5000));
    assert_true(answer.is_error);
    assert_string_equal(answer.text, "srv__echo: its source srv was removed while the call ran.");
    assert_null(tool_of("srv__echo"));
    host.changed(host.ctx, &bundle, BUNDLE_REMOVED); /* unknown: nothing happens */
}

SOURCE_TEST(another_bundle_with_the_name_is_not_changed)
{
    struct bundle other = {.info = {.name = STR("srv"), .state = BUNDLE_DEAD}};
    offer(ECHO);
    host.changed(host.ctx, &other, BUNDLE_STATE);
    host.changed(host.ctx, &other, BUNDLE_REMOVED);
    assert_non_null(tool_of("srv__echo"));
}
