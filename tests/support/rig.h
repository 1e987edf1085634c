/* rig.h - a workspace without a server: everything that a turn needs, in one process.
 *
 * A loop, a bus, a store in memory (rig_store.h), a model that follows a script (rig_model.h), a
 * source of fake tools (rig_tools.h), a directory of people in a temporary directory, settings with
 * their defaults, and a runtime over all of it. Tests of upper floors include this header and add
 * their own parts.
 *
 *   ana    owner of the server, admin of the workspace ws_a
 *   ben    member of ws_a
 *   cyd    has an account, but is not a member
 *
 * A test with TEST_WITH(name, rig_set_up, rig_tear_down) has the rig in *state:
 *
 *     struct rig *r = *state;
 *     model_says("hello");
 *     struct rig_turn *t = rig_chat(r, r->ana, "", "hi");
 *     assert_string_equal(t->response, "hello");
 *     assert_log(r, t->conversation_id, "user.message run.start llm.response run.done");
 *
 * Nothing here waits for a time: rig_until() runs the loop until a condition holds, and fails the
 * test after RIG_PATIENCE_MS. */
#pragma once

#include "base/clock.h"
#include "os/file.h"
#include "runtime/queue/queue.h"
#include "runtime/turn/turn.h"
#include "support/event_members.h"
#include "support/rig_model.h"
#include "support/rig_store.h"
#include "support/rig_tools.h"
#include "support/tempdir.h"
#include "workspace/roster/directory.h"

#define RIG_PATIENCE_MS 60000
#define RIG_EVENTS_MAX  256
#define RIG_WORKSPACE   "ws_a"

struct rig_event { /* on the bus */
    str type, data;
};

struct rig {
    struct tempdir dir;
    char root[96]; /* of the workspace, in dir */
    struct arena arena;
    struct loop *loop;
    struct bus *bus;
    struct pool *pool;
    struct directory *directory;
    struct config config;
    struct store *store;
    struct llm *llm;
    struct registry *tools;
    struct runtime *runtime;
    struct actor *ana, *ben, *cyd; /* signed in with a session */

    struct bus_sub *watch; /* of rig_watch */
    struct rig_event events[RIG_EVENTS_MAX];
    size_t nevents;
};

/* ---- time ---- */

static inline void rig_spin(struct rig *r)
{
    bool never = false;
    (void)loop_run_until(r->loop, &never, 1);
}

#define rig_until(r, condition)                                                                    \
    do {                                                                                           \
        uint64_t until_ms = clock_mono_ms() + RIG_PATIENCE_MS;                                     \
        while (!(condition) && clock_mono_ms() < until_ms)                                         \
            rig_spin(r);                                                                           \
        assert_true(condition);                                                                    \
    } while (0)

/* ---- people ---- */

/* Makes the change on the files, before or while the directory is open. */
static inline void rig_change(struct rig *r, struct change c)
{
    struct change_result result;
    struct err e = {0};
    if (change_apply(r->dir.path, false, &c, &result, &e) < 0)
        fail_msg("%s", e.msg);
    roster_free(result.roster);
}

static inline void rig_add_user(struct rig *r, const char *id, const char *name, enum org_role role)
{
    rig_change(r, (struct change){.kind = CHANGE_USER_ADD,
                                  .user_id = str_from(id),
                                  .display_name = str_from(name),
                                  .has_role = true,
                                  .role = role,
                                  .email = arena_printf(&r->arena, "%s@example.com", name)});
}

static inline void rig_add_people(struct rig *r)
{
    rig_add_user(r, "usr_ana", "Ana", ORG_OWNER);
    rig_add_user(r, "usr_ben", "Ben", ORG_MEMBER);
    rig_add_user(r, "usr_cyd", "Cyd", ORG_MEMBER);
    rig_change(r, (struct change){.kind = CHANGE_WORKSPACE_ADD,
                                  .workspace_id = STR(RIG_WORKSPACE),
                                  .name = STR("A"),
                                  .user_id = STR("usr_ana")});
    rig_change(r, (struct change){.kind = CHANGE_MEMBER_SET,
                                  .workspace_id = STR(RIG_WORKSPACE),
                                  .user_id = STR("usr_ben"),
                                  .ws_role = WS_MEMBER});
}

static inline struct actor *rig_person(struct rig *r, const char *user_id)
{
    struct principal p = {
        .user_id = str_from(user_id), .how = AUTH_BY_SESSION, .scopes = SCOPE_ALL};
    return actor_new(r->directory, STR(RIG_WORKSPACE), &p, (struct json_strs){0});
}

static inline void on_rig_changed(void *ctx, const struct err *err, str id)
{
    assert_int_equal(err->code, 0);
    *(bool *)ctx = true;
}

/* Takes effect before it returns; observers of the directory are notified. */
static inline void rig_remove_member(struct rig *r, const char *user_id)
{
    bool is_done = false;
    struct change c = {.kind = CHANGE_MEMBER_REMOVE,
                       .workspace_id = STR(RIG_WORKSPACE),
                       .user_id = str_from(user_id)};
    directory_change(r->directory, &c, on_rig_changed, &is_done);
    rig_until(r, is_done);
}

/* ---- the runtime ---- */

static inline void rig_start_runtime(struct rig *r)
{
    struct err e = {0};
    struct runtime_deps deps = {
        .loop = r->loop,
        .config = &r->config,
        .bus = r->bus,
        .store = r->store,
        .llm = r->llm,
        .tools = r->tools,
        .pool = r->pool,
        .directory = r->directory,
        .workspace_id = STR(RIG_WORKSPACE),
        .root_dir = str_from(r->root),
        .settings_path = arena_printf(&r->arena, "%s/workspace.json", r->root).p,
        .default_model = STR("demo:demo"),
        .workspace_name = STR("A"),
    };
    r->runtime = runtime_new(&deps);
    if (runtime_load_settings(r->runtime, &e) < 0)
        fail_msg("%s", e.msg);
}

static inline void rig_set_true(void *flag)
{
    *(bool *)flag = true;
}

static inline void rig_stop_runtime(struct rig *r)
{
    bool is_stopped = false;
    runtime_stop(r->runtime, rig_set_true, &is_stopped);
    rig_until(r, is_stopped);
    runtime_free(r->runtime);
    r->runtime = NULL;
}

/* As a restart of the server, except that the store keeps its conversations in memory. Queued
 * messages are restored, and wait for queue_release(). */
static inline void rig_restart(struct rig *r)
{
    rig_stop_runtime(r);
    rig_start_runtime(r);
    queue_restore(r->runtime);
}

/* The section "permissions" of the settings, effective for the next question. */
static inline void rig_use_permissions(struct rig *r, const char *section)
{
    struct json *permissions;
    struct err e = {0};
    assert_int_equal(json_parse(&r->arena, str_from(section), 0, &permissions, NULL), 0);
    struct runtime_settings s = {.default_model = STR("demo:demo"), .permissions = permissions};
    if (runtime_use_settings(r->runtime, &s, &e) < 0)
        fail_msg("%s", e.msg);
}

/* ---- life ---- */

static inline int rig_set_up(void **state)
{
    struct rig *r = xcalloc(1, sizeof *r);
    struct config_flags flags = CONFIG_FLAGS_NONE;
    struct err e = {0};
    assert_int_equal(tempdir_make_in_memory(&r->dir), 0);
    arena_init(&r->arena);
    r->loop = loop_new(NULL);
    r->bus = bus_new(r->loop);
    r->pool = pool_new(r->loop, "rig", 2);
    rig_add_people(r);
    flags.work_dir = r->dir.path;
    flags.without_file = true;
    if (directory_new(r->loop, NULL, r->dir.path, false, &r->directory, &e) < 0 ||
        config_load(&r->config, &flags, NULL, NULL, &e) < 0)
        fail_msg("%s", e.msg);
    r->ana = rig_person(r, "usr_ana");
    r->ben = rig_person(r, "usr_ben");
    r->cyd = rig_person(r, "usr_cyd");
    snprintf(r->root, sizeof r->root, "%s/workspaces/%s", r->dir.path, RIG_WORKSPACE);
    r->store = store_begin(r->loop, r->bus, r->pool, RIG_WORKSPACE);
    model_begin();
    r->llm =
        llm_new(r->loop, NULL, &(struct llm_conf){.default_model = STR("demo:demo")}, NULL, &e);
    assert_non_null(r->llm);
    r->tools = registry_new(r->loop);
    tools_begin(r->loop, r->tools);
    rig_start_runtime(r);
    *state = r;
    return 0;
}

static inline void rig_unwatch(struct rig *r)
{
    bus_unsubscribe(r->watch);
    r->watch = NULL;
    r->nevents = 0;
}

static inline int rig_tear_down(void **state)
{
    struct rig *r = *state;
    bool is_closed = false;
    rig_unwatch(r);
    store_go(); /* a test that failed may have left something */
    if (r->runtime)
        rig_stop_runtime(r);
    store_close(r->store, rig_set_true, &is_closed);
    rig_until(r, is_closed);
    registry_free(r->tools);
    tools_end();
    llm_free(r->llm);
    model_end();
    actor_unref(r->ana);
    actor_unref(r->ben);
    actor_unref(r->cyd);
    directory_free(r->directory);
    config_done(&r->config);
    pool_free(r->pool);
    bus_free(r->bus);
    loop_free(r->loop);
    arena_done(&r->arena);
    assert_int_equal(tempdir_drop(&r->dir), 0);
    free(r);
    return 0;
}

/* ---- turns ---- */

struct rig_turn {         /* in the arena of the rig; strings are empty until they are known */
    struct message *turn; /* until the last callback */
    bool is_queued, is_started, is_new, is_over;
    unsigned starts; /* calls of on_started */
    char conversation_id[STORE_ID_MAX + 1], run_id[32], queued_id[32], skill[64];
    enum run_stop stop; /* is_over and not refused */
    int iterations;
    char response[1024], error_type[64], ask_id[32];
    bool is_refused;
    enum turn_refusal why;
    struct err err; /* of a refusal, or of a failed run */
};

#define RIG_KEEP(to, s) snprintf(to, sizeof(to), "%.*s", STR_ARG(s))

static inline void on_rig_started(void *ctx, str conversation_id, str run_id, bool is_new)
{
    struct rig_turn *t = ctx;
    assert_false(t->is_over);
    t->is_started = true;
    t->starts++;
    t->is_new = is_new;
    RIG_KEEP(t->conversation_id, conversation_id);
    RIG_KEEP(t->run_id, run_id);
}

static inline void on_rig_queued(void *ctx, str conversation_id, str queued_id)
{
    struct rig_turn *t = ctx;
    assert_false(t->is_over || t->is_queued);
    t->is_queued = true;
    RIG_KEEP(t->queued_id, queued_id);
}

static inline void on_rig_done(void *ctx, const struct turn_result *res)
{
    struct rig_turn *t = ctx;
    assert_true(t->is_started && !t->is_over);
    t->is_over = true;
    t->turn = NULL;
    t->stop = res->run->stop;
    t->iterations = res->run->iterations;
    t->err = res->run->err;
    RIG_KEEP(t->run_id, res->run_id);
    RIG_KEEP(t->skill, res->skill);
    RIG_KEEP(t->response, res->run->response);
    RIG_KEEP(t->error_type, str_from(res->run->error_type ? res->run->error_type : ""));
    if (res->run->ask)
        RIG_KEEP(t->ask_id, json_get_string(res->run->ask, "askId"));
}

static inline void on_rig_refused(void *ctx, enum turn_refusal why, const struct err *err)
{
    struct rig_turn *t = ctx;
    assert_false(t->is_over);
    t->is_over = t->is_refused = true;
    t->turn = NULL;
    t->why = why;
    t->err = *err;
}

static const struct turn_events RIG_TURN_EVENTS = {
    .on_started = on_rig_started,
    .on_done = on_rig_done,
    .on_refused = on_rig_refused,
    .on_queued = on_rig_queued,
};

/* Sends the request; it has not begun when this returns. */
static inline struct rig_turn *rig_start(struct rig *r, const struct turn_request *req)
{
    struct rig_turn *t = ARENA_NEW(&r->arena, struct rig_turn);
    RIG_KEEP(t->conversation_id, req->conversation_id);
    t->turn = turn_start(r->runtime, req, &RIG_TURN_EVENTS, t);
    return t;
}

/* `conversation_id`: "" = a new one. A busy conversation queues the message. */
static inline struct rig_turn *rig_send(struct rig *r, const struct actor *who,
                                        const char *conversation_id, const char *message)
{
    struct turn_request req = {.actor = who,
                               .conversation_id = str_from(conversation_id),
                               .message = str_from(message),
                               .channel = STR("test"),
                               .when_busy = TURN_QUEUE};
    return rig_start(r, &req);
}

static inline struct rig_turn *rig_steer(struct rig *r, const struct actor *who,
                                         const char *conversation_id, const char *message)
{
    struct turn_request req = {.actor = who,
                               .conversation_id = str_from(conversation_id),
                               .message = str_from(message),
                               .when_busy = TURN_STEER};
    return rig_start(r, &req);
}

/* Runs until no turn, title or file of a queued message is in progress. */
static inline void rig_settle(struct rig *r)
{
    rig_until(r, r->runtime->nmessages == 0 && list_empty(&r->runtime->titles) &&
                     queue_files_is_idle(&r->runtime->queue_files));
}

/* Sends a message and waits for the end of its turn, and for the title of its conversation. */
static inline struct rig_turn *rig_chat(struct rig *r, const struct actor *who,
                                        const char *conversation_id, const char *message)
{
    struct rig_turn *t = rig_send(r, who, conversation_id, message);
    rig_until(r, t->is_over && list_empty(&r->runtime->titles));
    return t;
}

/* Answers a question that a run left open, and waits for the end of the run that resumes it. */
static inline struct rig_turn *rig_answer(struct rig *r, const struct actor *who,
                                          const struct rig_turn *asked, bool is_allowed)
{
    struct turn_request req = {
        .actor = who,
        .conversation_id = str_from(asked->conversation_id),
        .answer = {.ask_id = str_from(asked->ask_id), .is_allowed = is_allowed},
    };
    struct rig_turn *t = rig_start(r, &req);
    rig_until(r, t->is_over);
    return t;
}

/* ---- logs ---- */

struct rig_lines { /* events of a log without line 1, in the arena of the rig */
    const struct json **items;
    size_t n;
    bool is_done;
    struct rig *rig;
};

static inline void on_rig_page(void *ctx, const struct err *err, const struct store_page *page)
{
    struct rig_lines *l = ctx;
    struct arena *a = &l->rig->arena;
    l->is_done = true;
    if (err)
        return;
    l->items = arena_array(a, page->n, sizeof *l->items);
    for (size_t i = 0; i < page->n; i++) {
        struct json *v;
        assert_int_equal(json_parse(a, arena_str(a, page->events[i].line), 0, &v, NULL), 0);
        if (event_type_of(json_get_string(v, "type")) != EV_UNKNOWN)
            assert_event_members(v);
        l->items[l->n++] = v;
    }
}

/* The log as it is now; empty if there is no such conversation. */
static inline struct rig_lines rig_log(struct rig *r, const char *conversation_id)
{
    struct rig_lines l = {.rig = r};
    struct store_range all = {.max_events = 10000, .with_blobs = true};
    store_read(r->store, str_from(conversation_id), &all, on_rig_page, &l);
    rig_until(r, l.is_done);
    return l;
}

/* Types of the events, separated by spaces; without records of requests and titles, which stand
 * beside the run. */
static inline const char *rig_log_types(struct rig *r, const char *conversation_id)
{
    static const char *const LEFT_OUT[] = {"llm.request", "metadata.title", "aux.usage"};
    struct rig_lines l = rig_log(r, conversation_id);
    struct buf b;
    buf_init(&b, 1u << 16);
    for (size_t i = 0; i < l.n; i++) {
        str type = json_get_string(l.items[i], "type");
        bool is_left_out = type.n == 0;
        for (size_t j = 0; j < ARRAY_LEN(LEFT_OUT); j++)
            is_left_out |= str_eq(type, str_from(LEFT_OUT[j]));
        if (!is_left_out)
            buf_printf(&b, "%s%.*s", b.n > 0 ? " " : "", STR_ARG(type));
    }
    str all = arena_str(&r->arena, buf_str(&b));
    buf_done(&b);
    return all.n > 0 ? all.p : "";
}

#define assert_log(r, conversation_id, types)                                                      \
    assert_string_equal(rig_log_types(r, conversation_id), types)

/* The last event of this type, or NULL. */
static inline const struct json *rig_last(struct rig *r, const char *conversation_id,
                                          const char *type)
{
    struct rig_lines l = rig_log(r, conversation_id);
    for (size_t i = l.n; i > 0; i--)
        if (str_eq(json_get_string(l.items[i - 1], "type"), str_from(type)))
            return l.items[i - 1];
    return NULL;
}

static inline void on_rig_appended(void *ctx, const struct err *err, const store_pos *pos, size_t n)
{
    *(bool *)ctx = true;
}

/* Appends an event as another program would; waits until it is stored. */
static inline void rig_append(struct rig *r, const char *conversation_id, const char *line)
{
    bool is_done = false;
    str event = str_from(line);
    store_append(r->store, str_from(conversation_id), &event, 1, on_rig_appended, &is_done);
    rig_until(r, is_done);
}

static inline void on_rig_shared(void *ctx, const struct err *err, const struct conv *conv)
{
    *(bool *)ctx = true;
}

/* Adds a participant. */
static inline void rig_share(struct rig *r, const char *conversation_id, const char *user_id)
{
    bool is_done = false;
    str id = str_from(user_id);
    struct json_strs add = {&id, 1};
    struct sharing_change c = {.visibility = SHARING_SHARED, .add = &add};
    store_change_sharing(r->store, str_from(conversation_id), &c, NULL, on_rig_shared, &is_done);
    rig_until(r, is_done);
}

/* ---- watching ---- */

static inline void on_rig_event(void *ctx, struct bus_msg *msg)
{
    struct rig *r = ctx;
    assert_true(r->nevents < RIG_EVENTS_MAX);
    r->events[r->nevents++] =
        (struct rig_event){arena_str(&r->arena, msg->type), arena_str(&r->arena, msg->data)};
}

/* Collects the events of a conversation in r->events, from now on; "" = of the workspace. */
static inline void rig_watch(struct rig *r, const char *conversation_id)
{
    rig_unwatch(r);
    str topic = conversation_id[0] ? store_topic(&r->arena, r->store, str_from(conversation_id))
                                   : store_space_topic(&r->arena, r->store);
    r->watch = bus_subscribe(r->bus, topic, on_rig_event, r);
}

/* The last event of this type that was watched, parsed; or NULL. */
static inline const struct json *rig_seen(struct rig *r, const char *type)
{
    for (size_t i = r->nevents; i > 0; i--) {
        struct json *v;
        if (!str_eq(r->events[i - 1].type, str_from(type)))
            continue;
        assert_int_equal(json_parse(&r->arena, r->events[i - 1].data, 0, &v, NULL), 0);
        return v;
    }
    return NULL;
}
