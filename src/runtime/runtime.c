#include "runtime/runtime.h"

#include <assert.h>

#include "base/clock.h"
#include "bus/vocabulary.h"
#include "runtime/turn/request_log.h"
#include "runtime/turn/setting.h"
#include "runtime/turn/turn.h"
#include "skill/skill.h"

#define SKILL_NEWS_MAX 4096

static void on_runtime_stopped(void *ctx)
{
    struct runtime *rt = ctx;
    rt->on_stopped(rt->on_stopped_ctx);
}

static void on_queue_files_idle(void *ctx)
{
    runtime_check_stopped(ctx);
}

/* The queue goes first: the end of the run would start the next message of a conversation that is
 * about to be deleted. */
void runtime_drop_conversation(struct runtime *rt, str conversation_id)
{
    LIST_EACH (m, &rt->messages, struct message, node) {
        if (str_eq(m->req.conversation_id, conversation_id) &&
            !queue_drop(m, TURN_NOT_FOUND, "The conversation is being deleted."))
            turn_cancel(m);
    }
}

static void on_removal(void *ctx, const struct conv *c)
{
    struct runtime *rt = ctx;
    runtime_drop_conversation(rt, c->id);
    if (store_has_leases(rt->deps.store))
        store_tell_others(rt->deps.store, c->id, STR("removed"));
    (void)runtime_cancel_anywhere(rt, c);
}

static void end_message(struct message *m)
{
    if (!queue_drop(m, TURN_WITHDRAWN, "The message was withdrawn."))
        turn_cancel(m);
}

/* Nothing runs or waits in a conversation for somebody who may not write there any more. Their
 * streams end first (api/live/hub.h), so the messages are only marked here. */
static void on_rules_changed(void *ctx, struct bus_msg *msg)
{
    struct runtime *rt = ctx;
    const struct bus_audience *who = msg->audience;
    if (!who || who->is_for_lost)
        return;
    LIST_EACH (m, &rt->messages, struct message, node) {
        if (str_eq(m->req.conversation_id, who->conversation_id) &&
            !actor_allows(m->actor, &who->acl, CONV_SEND)) {
            m->is_revoked = true;
            defer_start(rt->deps.loop, &rt->revoked);
        }
    }
}

static void on_revoked(void *ctx)
{
    struct runtime *rt = ctx;
    LIST_EACH (m, &rt->messages, struct message, node) {
        if (m->is_revoked)
            end_message(m);
    }
}

static void follow_sharing(struct runtime *rt)
{
    struct arena a;
    arena_init(&a);
    defer_init(&rt->revoked, on_revoked, rt);
    rt->sharing =
        bus_subscribe(rt->deps.bus, store_space_topic(&a, rt->deps.store), on_rules_changed, rt);
    arena_done(&a);
}

struct runtime *runtime_new(const struct runtime_deps *deps)
{
    struct runtime *rt = xcalloc(1, sizeof *rt);
    rt->deps = *deps;
    map_init(&rt->busy);
    map_init(&rt->strays);
    map_init(&rt->left);
    transcript_cache_init(&rt->transcripts);
    guides_init(&rt->guides);
    list_init(&rt->messages);
    list_init(&rt->titles);
    list_init(&rt->tool_questions);
    list_init(&rt->rule_changes);
    queue_hold_init(rt);
    defer_init(&rt->stopped, on_runtime_stopped, rt);
    arena_init(&rt->arena);
    consents_init(&rt->consents, deps->pool, deps->log);
    queue_files_init(&rt->queue_files, deps->pool, deps->log, on_queue_files_idle, rt);
    store_on_removal(deps->store, on_removal, rt);
    follow_sharing(rt);
    return rt;
}

/* ---- skills ---- */

static void tell_skill(void *ctx, enum event_type type, const struct skill *skill)
{
    struct json_writer w;
    struct buf data;
    jw_start(&w, &data, SKILL_NEWS_MAX);
    jw_object(&w);
    jw_kstr(&w, "name", skill->name);
    jw_kstr(&w, "type", str_from(skill_type_name(skill->type)));
    jw_kint(&w, "timestamp", clock_now_ms());
    jw_end(&w);
    runtime_tell(ctx, type, buf_str(&data));
    buf_done(&data);
}

static void use_skills(void *ctx, struct skills *fresh)
{
    struct runtime *rt = ctx;
    const struct skill_problems *problems = skills_problems(fresh);
    for (size_t i = 0; i < problems->len; i++) {
        const struct skill_problem *p = &problems->items[i];
        log_warn(rt->deps.log, "skills", "%.*s:%u: %.*s", STR_ARG(p->path), p->line,
                 STR_ARG(p->message));
    }
    if (rt->skills)
        skill_diff(rt->skills, fresh, tell_skill, rt);
    skills_unref(rt->skills);
    rt->skills = fresh;
}

struct skill_places runtime_skill_places(const struct runtime *rt)
{
    const struct config *c = rt->deps.config;
    struct skill_places places = {
        .work_dir = str_from(c->work_dir),
        .skill_dirs = c->skill_dirs,
        .skills = c->skills,
        .home_dir = rt->deps.home_dir,
        .project_dir = rt->deps.project_dir,
        .people_dir = rt->people_dir,
    };
    if (!str_eq(rt->deps.root_dir, places.work_dir))
        places.workspace_dir = rt->deps.root_dir;
    return places;
}

void runtime_use_skill_dirs(struct runtime *rt)
{
    struct skill_places places = runtime_skill_places(rt);
    skill_watch_use(rt->watch, &places);
}

static void load_skills(struct runtime *rt)
{
    rt->people_dir = arena_printf(&rt->arena, "%.*s/people", STR_ARG(rt->deps.root_dir));
    struct skill_places places = runtime_skill_places(rt);
    rt->watch = skill_watch_new(rt->deps.loop, rt->deps.pool, &places, use_skills, rt);
    use_skills(rt, skill_watch_load(rt->watch));
}

static const char *below_root(struct runtime *rt, const char *name)
{
    return arena_printf(&rt->arena, "%.*s/%s", STR_ARG(rt->deps.root_dir), name).p;
}

int runtime_load_settings(struct runtime *rt, struct err *e)
{
    const struct config *c = rt->deps.config;
    load_skills(rt);
    int r = agents_decode(&rt->arena, c->agents, &rt->agents, e);
    if (r == 0)
        r = rules_use(rt, c->permissions, e);
    if (r < 0)
        err_prefix(e, "%s", c->path);
    if (r == 0 && strcmp(c->store.type, "memory") != 0) {
        if (store_keeps_queue(rt->deps.store))
            queue_files_use_store(&rt->queue_files, rt->deps.store);
        else
            queue_files_use(&rt->queue_files, below_root(rt, "queue"));
        r = rt->deps.consents
                ? consents_share(&rt->consents, rt->deps.consents, rt->deps.workspace_id, e)
                : consents_load(&rt->consents, below_root(rt, "permissions.json"), e);
        if (r == 0)
            r = setting_load_key(rt, e);
    } else {
        random_bytes(rt->setting_key, sizeof rt->setting_key);
    }
    return r;
}

const struct agents *runtime_agents(const struct runtime *rt)
{
    return &rt->agents;
}

/* ---- stopping ---- */

static void on_skills_idle(void *ctx)
{
    struct runtime *rt = ctx;
    assert(rt->nrecords > 0);
    rt->nrecords--;
    runtime_check_stopped(rt);
}

void runtime_stop(struct runtime *rt, loop_fn done, void *ctx)
{
    assert(!rt->on_stopped && rt->watch); /* stopped once, after runtime_load_settings */
    rt->on_stopped = done;
    rt->on_stopped_ctx = ctx;
    rt->nrecords++; /* a check of the skills may be in progress for a turn that has ended */
    skill_watch_check(rt->watch, &rt->last_check, false, on_skills_idle, rt);
    store_on_removal(rt->deps.store, NULL, NULL);
    title_give_up(rt);
    timer_stop(&rt->hold_timer);
    queue_leave_all(rt);
    runtime_cancel_all(rt);
    runtime_check_stopped(rt);
}

void runtime_check_stopped(struct runtime *rt)
{
    bool is_idle = rt->nmessages == 0 && rt->nrecords == 0 && queue_files_is_idle(&rt->queue_files);
    if (rt->on_stopped && is_idle && list_empty(&rt->titles))
        defer_start(rt->deps.loop, &rt->stopped);
}

void runtime_free(struct runtime *rt)
{
    if (!rt)
        return;
    assert(rt->nmessages == 0 && map_len(&rt->busy) == 0 && rt->nrecords == 0);
    assert(list_empty(&rt->titles) && list_empty(&rt->rule_changes));
    assert(list_empty(&rt->tool_questions));
    bus_unsubscribe(rt->sharing);
    defer_stop(&rt->revoked);
    defer_stop(&rt->stopped);
    skill_watch_free(rt->watch);
    consents_done(&rt->consents);
    queue_files_done(&rt->queue_files);
    skills_unref(rt->skills);
    map_done(&rt->busy);
    map_done(&rt->strays);
    map_done(&rt->left);
    transcript_cache_done(&rt->transcripts);
    guides_done(&rt->guides);
    tools_memo_done(&rt->tools_memo);
    arena_done(&rt->system_memo.arena);
    arena_done(&rt->rules);
    arena_done(&rt->arena);
    free(rt);
}

void runtime_use_bundles(struct runtime *rt, struct bundles *bundles)
{
    rt->bundles = bundles;
}

const struct runtime_deps *runtime_deps(const struct runtime *rt)
{
    return &rt->deps;
}

void runtime_on_mentions(struct runtime *rt, runtime_mention_fn fn, void *ctx)
{
    rt->on_mentions = fn;
    rt->on_mentions_ctx = ctx;
}

void runtime_tell(struct runtime *rt, enum event_type type, str data)
{
    store_publish(rt->deps.store, STR_NONE, event_name(type), data);
}

struct skills *runtime_skills(const struct runtime *rt)
{
    return rt->skills;
}

void runtime_reload_skills(struct runtime *rt, struct skill_check *c, loop_fn fn, void *ctx)
{
    skill_watch_check(rt->watch, c, true, fn, ctx);
}

/* ---- messages and their turns ---- */

str runtime_active_run(const struct runtime *rt, str conversation_id)
{
    const struct turn *t = turn_active(rt, conversation_id);
    return t && t->run ? run_id(t->run) : STR_NONE;
}

str runtime_streamed(const struct runtime *rt, str conversation_id)
{
    const struct turn *t = turn_active(rt, conversation_id);
    return t && t->run ? run_streamed(t->run) : STR_NONE;
}

void runtime_write_status(const struct runtime *rt, str conversation_id, struct json_writer *w)
{
    const struct turn *t = turn_active(rt, conversation_id);
    if (t && t->run)
        run_write_status(t->run, w);
}

void runtime_write_drafts(const struct runtime *rt, str conversation_id, struct json_writer *w)
{
    const struct turn *t = turn_active(rt, conversation_id);
    if (t && t->run) {
        run_write_drafts(t->run, w);
        return;
    }
    jw_array(w);
    jw_end(w);
}

bool runtime_find_call(const struct runtime *rt, str conversation_id, str call_id,
                       struct run_call_state *ret)
{
    const struct turn *t = turn_active(rt, conversation_id);
    return t && t->run && run_find_call(t->run, call_id, ret);
}

/* The message that has its turn, or will be the first to get one after queue_release. */
static struct message *current_message(const struct runtime *rt, str conversation_id)
{
    const struct busy_conv *b = map_get(&rt->busy, conversation_id);
    if (!b)
        return NULL;
    return b->turn ? b->turn->msg : LIST_ENTRY(b->waiting.next, struct message, place.node);
}

/* A resumed run acts for the person who started it, not for the one who answered. */
static const struct actor *acting(const struct message *m)
{
    return m->turn ? m->turn->actor : m->actor;
}

/* A different server may have the run that a message here waits for. */
bool runtime_has_run_of(const struct runtime *rt, str conversation_id, str user_id)
{
    const struct message *m = current_message(rt, conversation_id);
    if (store_has_leases(rt->deps.store) && runtime_active_run(rt, conversation_id).n == 0)
        return false;
    return m && str_eq(actor_user(acting(m)), user_id);
}

bool runtime_cancel(struct runtime *rt, str conversation_id)
{
    struct message *m = current_message(rt, conversation_id);
    if (m)
        turn_cancel(m);
    return m != NULL;
}

bool runtime_cancel_anywhere(struct runtime *rt, const struct conv *c)
{
    struct store *s = rt->deps.store;
    bool is_here = runtime_active_run(rt, c->id).n > 0;
    if (is_here || !store_has_leases(s) || !str_eq(c->last_run, STR("open")))
        return runtime_cancel(rt, c->id);
    store_tell_others(s, c->id, STR("cancel"));
    return true;
}

void runtime_cancel_all(struct runtime *rt)
{
    LIST_FOREACH (n, &rt->messages)
        turn_cancel(LIST_ENTRY(n, struct message, node));
}

void runtime_cancel_user(struct runtime *rt, str user_id)
{
    LIST_EACH (m, &rt->messages, struct message, node) {
        if (str_eq(actor_user(acting(m)), user_id))
            end_message(m);
    }
}

void runtime_cancel_token(struct runtime *rt, str token_id)
{
    LIST_EACH (m, &rt->messages, struct message, node) {
        if (actor_has_token(acting(m), token_id))
            end_message(m);
    }
}

size_t runtime_runs(const struct runtime *rt)
{
    return map_len(&rt->busy);
}
