/* Bundles as sources of the registry. The bundle, the server and the runtime are the test's own. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apps/bundle_impl.h"
#include "attach/upload.h"
#include "base/clock.h"
#include "llm/llm.h"
#include "media/media.h"
#include "os/dir.h"
#include "os/file.h"
#include "support/tempdir.h"
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

static struct tempdir dir; /* of the tests with files */

bool bundle_dirs(const struct bundle *b, struct arena *a, struct bundle_dirs *ret)
{
    ret->data = arena_printf(a, "%s/data/srv", dir.path).p;
    ret->inbox = arena_printf(a, "%s/data/.inbox/srv", dir.path).p;
    return b->entry.kind != BUNDLE_REMOTE;
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

const struct turn_info *turn_info(void *tool_host)
{
    static const struct turn_info INFO = {.model = STR_INIT("m")};
    return &INFO;
}

bool llm_model_info(const struct llm *m, str name, struct llm_model_info *ret)
{
    *ret = (struct llm_model_info){.picture_side = 100};
    return str_eq(name, STR("m"));
}

/* ---- pictures: answered by the test ---- */

static struct pictures {
    size_t n;
    uint32_t side;
    char first[16];
    media_made_fn fn; /* NULL: nothing is being made */
    void *ctx;
} making;

struct media_results *media_prepare_results(struct media *m, const str *base64, size_t n,
                                            uint32_t side, media_made_fn fn, void *ctx)
{
    assert_null(making.fn);
    making = (struct pictures){.n = n, .side = side, .fn = fn, .ctx = ctx};
    snprintf(making.first, sizeof making.first, "%.*s", STR_ARG(base64[0]));
    return (struct media_results *)&making;
}

void media_results_cancel(struct media_results *b)
{
    if (b)
        making.fn = NULL;
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
    const struct json *structured, *meta, *files, *views;
} answer;

static void on_done(void *ctx, const struct tool_result *r)
{
    assert_false(answer.is_done);
    answer.is_done = true;
    answer.is_error = r->is_error;
    answer.structured = r->structured ? json_clone(&arena, r->structured) : NULL;
    answer.meta = r->meta ? json_clone(&arena, r->meta) : NULL;
    answer.files = r->files ? json_clone(&arena, r->files) : NULL;
    answer.views = r->views ? json_clone(&arena, r->views) : NULL;
    snprintf(answer.text, sizeof answer.text, "%.*s", STR_ARG(tool_result_to_text(&arena, r)));
}

static void on_progress(void *ctx, double progress, double total, str message)
{
    snprintf(answer.progress, sizeof answer.progress, "%g of %g %.*s", progress, total,
             STR_ARG(message));
}

static struct tool_call *call_with(const struct tool_caller *caller, const char *tool,
                                   const char *args)
{
    static const struct tool_call_events EVENTS = {on_done, on_progress};
    memset(&answer, 0, sizeof answer);
    return registry_call(deps.tools, str_from(tool), parse(args), caller, &EVENTS, NULL);
}

static struct tool_call *call_by(const struct tool_caller *caller, const char *tool)
{
    return call_with(caller, tool, "{\"a\":[1]}");
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

#define PICTURES                                                                                   \
    "{\"content\":[{\"type\":\"text\",\"text\":\"t\"},{\"type\":\"image\",\"data\":\"AAAA\"},"     \
    "{\"type\":\"image\",\"data\":\"BBBB\"},{\"type\":\"image\",\"data\":\"CCCC\"}]}"

SOURCE_TEST(pictures_are_prepared_for_the_model_of_the_run)
{
    deps.media = (struct media *)&making; /* its address stands for one */
    offer(ECHO);
    call(ana, &turn);
    reply_result(PICTURES);
    assert_false(answer.is_done);
    assert_int_equal(making.n, 3);
    assert_int_equal(making.side, 100);
    assert_string_equal(making.first, "AAAA");
    const struct media_made made[] = {{STR("NEWA"), "image/png", 4, 5, STR_NONE},
                                      {STR_NONE, NULL, 0, 0, STR("it is broken")},
                                      {.problem = STR_NONE}};
    making.fn(making.ctx, made);
    assert_true(answer.is_done);
    assert_true(
        str_eq(json_to_str(&arena, answer.views),
               STR("[{\"part\":1,\"mimeType\":\"image/png\",\"data\":\"NEWA\","
                   "\"width\":4,\"height\":5},{\"part\":2,\"problem\":\"it is broken\"}]")));
    making.fn = NULL;
}

SOURCE_TEST(pictures_for_others_stay_as_they_are)
{
    deps.media = (struct media *)&making;
    offer(ECHO);
    call(ana, NULL); /* an interface, or a client of /mcp */
    reply_result(PICTURES);
    assert_true(answer.is_done && !answer.views && !making.fn);
    call(ana, &turn);
    reply_result("{\"content\":[{\"type\":\"image\"},{\"type\":\"text\",\"text\":\"t\"}]}");
    assert_true(answer.is_done && !answer.views && !making.fn);
    deps.media = NULL;
    call(ana, &turn);
    reply_result(PICTURES);
    assert_true(answer.is_done && !answer.views);
}

SOURCE_TEST(a_call_that_is_cancelled_waits_for_no_picture)
{
    deps.media = (struct media *)&making;
    offer(ECHO);
    struct tool_call *c = call(ana, &turn);
    reply_result(PICTURES);
    assert_non_null(making.fn);
    registry_cancel(c);
    assert_null(making.fn);
    assert_false(answer.is_done);
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
    assert_true(loop_run_until(loop, &answer.is_done, 60000));
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

/* ---- files: bundle_files.c ---- */

#define MAKE                                                                                       \
    "{\"name\":\"make\",\"inputSchema\":{\"type\":\"object\"},\"_meta\":{\"ai.nimblebrain/"        \
    "outbox\":"                                                                                    \
    "true}}"
#define LOOK                                                                                       \
    "{\"name\":\"look\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"f\":{\"type\":"     \
    "\"string\","                                                                                  \
    "\"x-nb-file\":true},\"fs\":{\"type\":\"array\",\"items\":{\"x-nb-file\":true}}}}}"

static const char *given; /* id of the last file */

static int files_set_up(void **state)
{
    int r = set_up(state);
    assert_int_equal(tempdir_make(&dir), 0);
    deps.pool = pool_new(loop, "test", 2);
    struct attach_conf conf = {arena_printf(&arena, "%s/files", dir.path).p, 1000, 2000};
    deps.files = attach_new(loop, deps.pool, &conf);
    return r;
}

static int files_tear_down(void **state)
{
    attach_close(deps.files);
    pool_free(deps.pool);
    tear_down(state);
    return tempdir_drop(&dir);
}

#define FILES_TEST(name) TEST_WITH(name, files_set_up, files_tear_down)

static void until(bool *flag)
{
    assert_true(loop_run_until(loop, flag, 60000));
}

static void on_given_room(void *ctx) {}

static void on_given(void *ctx, const struct err *err, const struct attached *file)
{
    assert_null(err);
    given = arena_cstr(&arena, file->id);
    *(bool *)ctx = true;
}

static const char *give(const char *user, const char *name, const char *text)
{
    static const struct upload_events EVENTS = {on_given_room, on_given};
    bool is_done = false;
    struct upload *u = upload_new(deps.files, str_from(user), &EVENTS, &is_done);
    upload_name(u, str_from(name));
    (void)upload_write(u, str_from(text));
    upload_finish(u);
    until(&is_done);
    return given;
}

static struct actor *operator_of(const char *user)
{
    struct principal p = {.user_id = str_from(user), .scopes = SCOPE_ALL, .is_operator = true};
    return actor_new(NULL, STR("ws"), &p, (struct json_strs){0});
}

static size_t entries(const char *below)
{
    size_t n = 0;
    DIR_EACH (d, arena_printf(&arena, "%s/data/%s", dir.path, below).p)
        n++;
    return n;
}

/* Runs the loop until a request is sent, or the call is answered. */
static void until_sent(void)
{
    uint64_t end_ms = clock_mono_ms() + 60000;
    bool never = false;
    while (!sent.is_open && !answer.is_done && clock_mono_ms() < end_ms)
        (void)loop_run_until(loop, &never, 1);
}

static void until_clean(void)
{
    uint64_t end_ms = clock_mono_ms() + 60000;
    bool never = false;
    size_t left;
    /* Looked at once each time: a call that was cancelled early may still make its directory. */
    while ((left = entries(".inbox/srv") + entries("srv/outbox")) > 0 && clock_mono_ms() < end_ms)
        (void)loop_run_until(loop, &never, 1);
    assert_int_equal(left, 0);
}

FILES_TEST(regular_files_in_the_outbox_become_files)
{
    struct tool_caller caller = {.actor = ana};
    struct err e = {0};
    offer(MAKE);
    call_with(&caller, "srv__make", "{}");
    until_sent();
    str box = json_get_string(json_get(sent.req.params, "_meta"), "ai.nimblebrain/outbox");
    assert_true(str_starts(box, arena_printf(&arena, "%s/data/srv/outbox/call_", dir.path)));
    const char *in = arena_cstr(&arena, box);
    assert_int_equal(
        file_write_atomic(arena_printf(&arena, "%s/b.txt", in).p, STR("two"), 0600, &e), 0);
    assert_int_equal(
        file_write_atomic(arena_printf(&arena, "%s/.a.txt", in).p, STR("one"), 0600, &e), 0);
    assert_int_equal(symlink("/etc/passwd", arena_printf(&arena, "%s/link", in).p), 0);
    assert_int_equal(mkfifo(arena_printf(&arena, "%s/pipe", in).p, 0600), 0);
    char large[1002];
    memset(large, 'x', sizeof large);
    assert_int_equal(
        file_write_atomic(arena_printf(&arena, "%s/large", in).p, str_make(large, 1001), 0600, &e),
        0);
    reply_result(
        "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}],\"files\":[{\"file\":\"x\"}]}");
    until(&answer.is_done);
    assert_int_equal(answer.files->len, 2);
    assert_true(str_eq(json_get_string(json_at(answer.files, 0), "name"), STR("a.txt")));
    assert_true(str_eq(json_get_string(json_at(answer.files, 1), "name"), STR("b.txt")));
    assert_non_null(strstr(answer.text, "\"large\" was not kept: The file is too large"));
    assert_non_null(strstr(answer.text, "2 entries of the outbox were not kept"));
    until_clean();
}

FILES_TEST(files_of_a_failed_or_cancelled_call_are_not_kept)
{
    struct tool_caller caller = {.actor = ana};
    offer(MAKE);
    call_with(&caller, "srv__make", "{}");
    until_sent();
    reply_result("{\"content\":[],\"isError\":true}");
    assert_null(answer.files);
    until_clean();
    struct tool_call *c = call_with(&caller, "srv__make", "{}");
    registry_cancel(c); /* while the directory is being made */
    until_clean();
    c = call_with(&caller, "srv__make", "{}");
    until_sent();
    registry_cancel(c);
    until_clean();
    call_with(&caller, "srv__make", "{}");
    until_sent();
    struct mcp_reply r = {.result = parse("{\"content\":[]}")};
    reply(&r);
    host.changed(host.ctx, &bundle, BUNDLE_REMOVED); /* while its files are being collected */
    until_clean();
}

FILES_TEST(a_file_that_the_call_names_becomes_a_path)
{
    struct actor *op = operator_of("usr_ana");
    struct tool_caller caller = {.actor = op};
    str bytes;
    offer(LOOK);
    const char *id = give("usr_ana", "n.txt", "hello");
    call_with(&caller, "srv__look",
              arena_printf(&arena, "{\"f\":\"%s\",\"fs\":[\"n.txt\"]}", id).p);
    until_sent();
    const struct json *args = json_get(sent.req.params, "arguments");
    const char *at = arena_cstr(&arena, json_get_string(args, "f"));
    assert_true(str_ends(str_from(at), STR("-0/n.txt")));
    assert_true(str_ends(json_string(json_at(json_get(args, "fs"), 0), STR_NONE), STR("-1/n.txt")));
    assert_int_equal(file_read(&arena, at, 100, &bytes, NULL), 0);
    assert_true(str_eq(bytes, STR("hello")));
    reply_result("{\"content\":[]}");
    until(&answer.is_done);
    until_clean();
    actor_unref(op);
}

FILES_TEST(files_that_may_not_be_named_are_refused_before_the_server_is_asked)
{
    struct actor *op = operator_of("usr_ben");
    struct tool_caller own = {.actor = op}, app = {.actor = op, .app = STR("srv")},
                       several = {.actor = both};
    offer(LOOK);
    const char *mine = arena_printf(&arena, "{\"f\":\"%s\"}", give("usr_ben", "b", "b")).p;
    const char *hers = arena_printf(&arena, "{\"f\":\"%s\"}", give("usr_ana", "a", "a")).p;
    const struct {
        const struct tool_caller *who;
        const char *args, *text;
    } CASES[] = {
        {&own, hers, "There is no file"},
        {&own, "{\"f\":\"/etc/passwd\"}", "There is no file"},
        {&several, mine, "There is no file"},
        {&own, "{\"fs\":[1]}", "each by its id or its name"},
        {&app, mine, "An interface cannot give files"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        call_with(CASES[i].who, "srv__look", CASES[i].args);
        until(&answer.is_done);
        assert_true(answer.is_error && !sent.is_open);
        if (!strstr(answer.text, CASES[i].text))
            fail_msg("%zu: %s", i, answer.text);
    }
    bundle.entry.kind = BUNDLE_REMOTE;
    call_with(&own, "srv__look", mine);
    until(&answer.is_done);
    assert_string_equal(answer.text, "srv does not run on this machine: it cannot be given files.");
    until_clean();
    actor_unref(op);
}
