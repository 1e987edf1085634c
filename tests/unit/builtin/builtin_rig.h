/* builtin_rig.h - built-in tools in the workspace of support/rig.h, called through the registry.
 *
 *     struct tool_answer *a = use(r, r->ben, "nb__calculate", "{\"expression\":\"1+1\"}");
 *     assert_answer(a, "2");
 *     assert_refusal(use(r, r->ben, "nb__manage_bundle", "{...}"), "...: only admins ...");
 *
 * Records of the audit log are collected in `audited` ("conversation.delete conv_1 ok run"). */
#pragma once

#include "attach/attach.h"
#include "builtin/builtin.h"
#include "support/rig.h"

struct tool_answer { /* in the arena of the rig */
    bool is_done, is_error;
    const char *text;
    const struct json *out;   /* structuredContent, or NULL */
    const struct json *files; /* that the call has made, or NULL */
    struct rig *rig;
    struct tool_call *call; /* until the answer */
    char progress[128];
};

static struct builtin_rig {
    struct builtin *builtin;
    struct attach *files; /* at most 64 KiB each, 256 KiB together */
    char audited[4096];   /* a line for each record */
} builtin_rig;

/* ---- the audit log ---- */

void audit_record(struct audit *a, const struct audit_entry *e)
{
    size_t n = strlen(builtin_rig.audited);
    snprintf(builtin_rig.audited + n, sizeof builtin_rig.audited - n, "%.*s %.*s %.*s %.*s %.*s\n",
             STR_ARG(e->user), STR_ARG(e->action), STR_ARG(e->target), STR_ARG(e->outcome),
             STR_ARG(e->via));
}

/* Compares the records since the last call. */
#define assert_audited(lines)                                                                      \
    do {                                                                                           \
        assert_string_equal(builtin_rig.audited, lines);                                           \
        builtin_rig.audited[0] = '\0';                                                             \
    } while (0)

/* ---- life ---- */

static inline int builtin_rig_set_up(void **state)
{
    struct err e = {0};
    builtin_rig = (struct builtin_rig){0};
    rig_set_up(state);
    struct rig *r = *state;
    struct runtime_deps *deps = (struct runtime_deps *)runtime_deps(r->runtime);
    deps->audit = rig_store.env.audit =
        (struct audit *)&builtin_rig; /* only audit_record uses it */
    r->store->conf.files_dir = arena_printf(&r->arena, "%s/files", r->root).p;
    builtin_rig.files = attach_new(
        r->loop, r->pool, &(struct attach_conf){r->store->conf.files_dir, 64u << 10, 256u << 10});
    deps->files = builtin_rig.files;
    builtin_rig.builtin = builtin_new(
        &(struct builtin_deps){.runtime = r->runtime, .started_ms = clock_mono_ms() - 3723000});
    if (builtin_register(builtin_rig.builtin, r->tools, &e) < 0)
        fail_msg("%s", e.msg);
    return 0;
}

static inline int builtin_rig_tear_down(void **state)
{
    builtin_free(builtin_rig.builtin);
    attach_close(builtin_rig.files);
    return rig_tear_down(state);
}

#define BUILTIN_TEST(name) TEST_WITH(name, builtin_rig_set_up, builtin_rig_tear_down)

/* ---- calls ---- */

static inline void on_builtin_done(void *ctx, const struct tool_result *result)
{
    struct tool_answer *a = ctx;
    assert_false(a->is_done);
    a->is_done = true;
    a->call = NULL;
    a->is_error = result->is_error;
    a->text = arena_cstr(&a->rig->arena, tool_result_to_text(&a->rig->arena, result));
    /* The text form repeats structured content only when there is no text. */
    a->out = result->structured ? json_clone(&a->rig->arena, result->structured) : NULL;
    a->files = result->files ? json_clone(&a->rig->arena, result->files) : NULL;
}

static inline void on_builtin_progress(void *ctx, double progress, double total, str message)
{
    struct tool_answer *a = ctx;
    snprintf(a->progress, sizeof a->progress, "%.*s", STR_ARG(message));
}

static const struct tool_call_events BUILTIN_EVENTS = {on_builtin_done, on_builtin_progress};

static inline const struct json *rig_args(struct rig *r, const char *args)
{
    struct json *v;
    struct err e = {0};
    if (json_parse(&r->arena, arena_str(&r->arena, str_from(args)), 0, &v, &e) < 0)
        fail_msg("%s: %s", args, e.msg);
    return v;
}

/* Begins a call; it is not answered when this returns. */
static inline struct tool_answer *begin(struct rig *r, const struct tool_caller *who,
                                        const char *tool, const char *args)
{
    struct tool_answer *a = ARENA_NEW(&r->arena, struct tool_answer);
    a->rig = r;
    a->call = registry_call(r->tools, str_from(tool), rig_args(r, args), who, &BUILTIN_EVENTS, a);
    assert_false(a->is_done);
    return a;
}

static inline struct tool_answer *use_from(struct rig *r, const struct tool_caller *who,
                                           const char *tool, const char *args)
{
    struct tool_answer *a = begin(r, who, tool, args);
    rig_until(r, a->is_done);
    return a;
}

/* A call over /mcp, outside of any conversation. */
static inline struct tool_answer *use(struct rig *r, const struct actor *who, const char *tool,
                                      const char *args)
{
    return use_from(r, &(struct tool_caller){.actor = who, .via = STR("mcp")}, tool, args);
}

/* A call inside the conversation, as by a run. */
static inline struct tool_answer *use_in(struct rig *r, const struct actor *who, const char *id,
                                         const char *tool, const char *args)
{
    struct tool_caller caller = {
        .actor = who, .conversation_id = str_from(id), .run_id = STR("run_1"), .call_id = STR("c")};
    return use_from(r, &caller, tool, args);
}

/* What a person would be refused before anybody is asked for consent. */
static inline struct tool_answer *probe(struct rig *r, const struct actor *who, const char *tool,
                                        const char *args)
{
    struct tool_caller caller = {.actor = who, .via = STR("mcp")};
    struct tool_answer *a = ARENA_NEW(&r->arena, struct tool_answer);
    a->rig = r;
    a->call =
        registry_probe(r->tools, str_from(tool), rig_args(r, args), &caller, &BUILTIN_EVENTS, a);
    assert_non_null(a->call);
    rig_until(r, a->is_done);
    return a;
}

static inline void check_answer(const struct tool_answer *a, bool is_error, const char *text)
{
    assert_string_equal(a->text, text);
    assert_int_equal(a->is_error, is_error);
}

#define assert_answer(a, text)  check_answer(a, false, text)
#define assert_refusal(a, text) check_answer(a, true, text)
#define assert_has(text, part)                                                                     \
    do {                                                                                           \
        if (!strstr(text, part))                                                                   \
            fail_msg("'%s' is not in:\n%s", part, text);                                           \
    } while (0)
#define assert_has_not(text, part) assert_null(strstr(text, part))

/* ---- people and conversations ---- */

/* As `who`, but with a token that has only these scopes and, if `tools` is given, that glob. */
static inline struct actor *with_token(struct rig *r, const char *user_id, unsigned scopes,
                                       const char *tools)
{
    struct principal p = {.user_id = str_from(user_id), .how = AUTH_BY_TOKEN, .scopes = scopes};
    str glob = str_from(tools ? tools : "");
    return actor_new(r->directory, STR(RIG_WORKSPACE), &p,
                     tools ? (struct json_strs){&glob, 1} : (struct json_strs){0});
}

/* A conversation of `who` with one message and one answer; returns its id. */
static inline const char *talk(struct rig *r, const struct actor *who, const char *message)
{
    model_says("an answer");
    struct rig_turn *t = rig_chat(r, who, "", message);
    assert_true(t->is_over && !t->is_refused);
    return t->conversation_id;
}

/* {"id":"...", more} */
static inline const char *with_id(struct rig *r, const char *id, const char *more)
{
    return arena_printf(&r->arena, "{\"id\":\"%s\"%s%s}", id, more[0] ? "," : "", more).p;
}

static inline str out_str(const struct tool_answer *a, const char *key)
{
    return json_get_string(a->out, key);
}
