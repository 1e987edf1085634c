/* compose.c - the model's input of one step: prompt, messages, tools; and permissions of calls. */
#include <assert.h>
#include <time.h>

#include "base/clock.h"
#include "bundle/bundle.h"
#include "os/zone.h"
#include "runtime/budget.h"
#include "runtime/prompt/client_tools.h"
#include "runtime/turn/request_log.h"
#include "runtime/turn/turn.h"
#include "tools/names.h"
#include "workspace/roster/directory.h"
#include "workspace/texts.h"

/* Personal skills are used only while all messages of the run are from that person. */
struct skills *turn_skills(const struct turn *t)
{
    bool has_own = t->own_skills && t->actor->grant.path.n > 0;
    return skills_for(has_own ? t->own_skills : t->skills, actor_sole_user(t->actor));
}

void turn_match_skill(struct turn *t)
{
    t->skills = t->rt->skills ? skills_ref(t->rt->skills) : NULL;
    if (t->skills)
        t->skill = skills_match(turn_skills(t), &t->arena, t->text).skill;
}

/* Other people may have written messages since the skill was matched. */
static void drop_personal_skill(struct turn *t)
{
    if (t->own_skills && t->actor->grant.path.n == 0) /* their messages ended the grant, too */
        t->skill = t->skill && t->skills ? skills_find(turn_skills(t), t->skill->name) : NULL;
    if (t->skill && t->skill->origin == SKILL_PERSONAL && actor_sole_user(t->actor).n == 0)
        t->skill = NULL;
}

/* ---- tools ---- */

/* The tools that the conversation has called, the most recent first. They are taken from the log,
 * so that a resumed run shows the same ones. */
static struct json_strs used_tools(const struct turn *t, struct arena *a, size_t max)
{
    const struct json_strs *called = &transcript_replay(t->transcript)->past.tools;
    struct json_strs used = {arena_array(a, called->len, sizeof(str)), 0};
    for (size_t i = called->len; i > 0 && used.len < max; i--)
        if (!tool_name_is_system(called->items[i - 1]))
            used.items[used.len++] = called->items[i - 1];
    return used;
}

struct toolset *turn_tools(const struct turn *t)
{
    struct tool_audience who = tool_audience_of(t->actor, t->conversation_id);
    return registry_tools_for(t->rt->deps.tools, &who);
}

const struct toolset_item *turn_find_tool(const struct turn *t, str name, const struct json *args)
{
    struct tool_audience who = tool_audience_of(t->actor, t->conversation_id);
    return registry_find_for(t->rt->deps.tools, &who, name, args, actor_is_admin(t->actor));
}

static struct tool_selection select_tools(const struct turn *t, struct arena *a)
{
    size_t max_direct = (size_t)t->limits.max_direct_tools;
    struct prompt_focus focus;
    struct tool_selection_input in = {
        .tools = turn_tools(t),
        .actor = t->actor,
        .is_child = turn_is_child(t),
        .max_direct = (unsigned)max_direct,
        .promoted = &t->promoted,
        .focused_source = focus_of(t, &focus) ? focus.app : STR_NONE,
        .used = used_tools(t, a, max_direct),
    };
    if (t->skill)
        in.skill = t->skill->allowed_tools;
    return tool_selection_compute(a, &in);
}

static const struct llm_tool *model_tools(struct arena *a, const struct tool_selection *s)
{
    struct llm_tool *tools = arena_array(a, s->len, sizeof *tools);
    for (size_t i = 0; i < s->len; i++) {
        const struct tool *t = s->items[i]->tool;
        tools[i] = (struct llm_tool){s->items[i]->name, t->description, t->input_schema};
    }
    return tools;
}

#define NOT_ALLOWED STR("This tool is not allowed in this request.")
#define NO_ACCESS   STR("The person this run acts for has no access to this workspace any more.")
#define NOT_FOR_ALL                                                                                \
    STR("Not everybody who wrote in this conversation may use this tool. Use it in a "             \
        "conversation "                                                                            \
        "of your own.")
#define DENIED STR("The settings of this workspace do not permit this tool.")

bool turn_may_use(void *tool_host, const struct toolset_item *it)
{
    const struct turn *t = tool_host;
    return !it->tool->is_internal && tool_selection_may_call(t->actor, turn_is_child(t), it);
}

/* A command in the directory of the sender's terminal. */
static bool is_in_terminal(const struct turn *t, const struct toolset_item *item)
{
    return item->tool->is_shell && t->actor->grant.path.n > 0;
}

/* Permissions of the admins do not apply to a directory of the server's owner: there only the owner
 * gives consent, to each command or in advance. */
static bool is_owners_own(const struct turn *t, const struct toolset_item *item)
{
    return is_in_terminal(t, item) && !turn_is_sole(t);
}

/* Tools that the sender allowed in advance need no question while the run has messages of nobody
 * else. Stored consents are used when all authors of the run have given them. The
 * interface of an app chooses the names of its own tools, so that no name allows them in advance.
 */
static bool has_consent(const struct turn *t, const struct toolset_item *item,
                        const struct json *args)
{
    if (item->tool->is_of_view)
        return false;
    if (globs_match(t->auto_allow, item->name) && !turn_has_others(t))
        return true;
    if (is_owners_own(t, item))
        return false;
    if (is_in_terminal(t, item)) /* no sandbox: words allow nothing, only the tool as a whole */
        args = NULL;
    for (size_t i = 0; i < t->actor->npeople; i++)
        if (!runtime_allows_call(t->rt, t->actor->people[i].user_id, item, t->conversation_id,
                                 args))
            return false;
    return true;
}

/* In the directory of a terminal the shell is not sandboxed. */
static enum permission decide(const struct turn *t, const struct toolset_item *item)
{
    struct tool tool = *item->tool;
    struct toolset_item in_directory = *item;
    tool.is_unconfined |= is_in_terminal(t, item);
    in_directory.tool = &tool;
    enum permission p = permission_decide(&t->rt->permissions, &in_directory);
    return p == PERMISSION_ALLOW && is_owners_own(t, item) ? PERMISSION_ASK : p;
}

enum run_gate turn_gate(void *turn, str tool, const struct json *args, str *ret_why)
{
    struct turn *t = turn;
    if (!actor_is_current(t->actor, clock_now_ms())) {
        *ret_why = NO_ACCESS;
        return RUN_DENY;
    }
    if (client_tools_find(t->msg->req.client, tool))
        return RUN_HAND_OVER;
    if (t->msg->req.client && t->msg->req.client->is_toolless) {
        *ret_why = NOT_ALLOWED;
        return RUN_DENY;
    }
    const struct toolset_item *item = turn_find_tool(t, tool, args);
    if (!item)
        return RUN_ALLOW; /* the registry reports unknown names */
    if (!turn_may_use(t, item)) {
        *ret_why = turn_has_others(t) ? NOT_FOR_ALL : NOT_ALLOWED;
        return RUN_DENY;
    }
    enum permission p = decide(t, item);
    if (p == PERMISSION_DENY) {
        *ret_why = DENIED;
        return RUN_DENY;
    }
    bool is_explicit = permission_is_explicit_ask(&t->rt->permissions, item);
    if (p == PERMISSION_ALLOW || has_consent(t, item, args) ||
        (tool_call_reads(item->tool, args) && !is_explicit))
        return RUN_ALLOW;
    *ret_why = STR(TURN_NOBODY_TO_ASK);
    if (t->is_unattended)
        return RUN_DENY;
    bool is_every_time = item->tool->is_workspace_change || item->tool->is_of_view || is_explicit ||
                         is_owners_own(t, item);
    return is_every_time ? RUN_ASK_EVERY_TIME : RUN_ASK;
}

/* ---- prompt ---- */

/* "Wednesday, 2026-03-25" where the user is. */
static str today(struct arena *a, str zone)
{
    int64_t now = clock_now_ms() / 1000;
    int32_t offset;
    char abbr[ZONE_ABBR_MAX], text[64];
    if (zone_offset(zone, now, &offset, abbr, NULL) < 0)
        offset = 0;
    time_t shifted = (time_t)(now + offset);
    struct tm tm;
    gmtime_r(&shifted, &tm);
    size_t n = strftime(text, sizeof text, "%A, %Y-%m-%d", &tm);
    return arena_str(a, str_make(text, n));
}

static const struct user *find_user(const struct turn *t, str id)
{
    const struct directory *d = t->rt->deps.directory;
    return d ? roster_user(directory_roster(d), id) : NULL;
}

static void name_participants(const struct turn *t, struct arena *a, struct prompt_input *in)
{
    size_t n = t->participants.len;
    struct prompt_person *people = arena_array(a, n, sizeof *people);
    for (size_t i = 0; i < n; i++) {
        str id = t->participants.items[i];
        const struct user *u = find_user(t, id);
        people[i] = (struct prompt_person){id, u && u->display_name.n > 0 ? u->display_name : id};
    }
    in->participants = people;
    in->n_participants = n > 1 ? n : 0;
}

/* The display name of the account; for a sole user the name in the settings. */
static str user_name(const struct turn *t)
{
    str own = json_get_string(t->rt->deps.config->home, "userName");
    const struct user *u = find_user(t, actor_user(t->actor));
    bool is_named = u && u->display_name.n > 0 && !str_eq(u->id, STR(ROSTER_SOLE_USER));
    return is_named ? u->display_name : own;
}

/* ---- apps and agents ---- */

/* Only apps with at least one tool that the run may call. For an app without tools (it is starting,
 * or dead) the whole source must be allowed. */
static bool may_use_app(const struct turn *t, str source)
{
    const struct toolset *all = registry_tools(t->rt->deps.tools);
    bool has_tools = false;
    for (size_t i = 0; i < all->len; i++) {
        if (!str_eq(all->items[i].source, source))
            continue;
        has_tools = true;
        if (turn_may_use((void *)t, &all->items[i]))
            return true;
    }
    return !has_tools && tool_selection_may_use_source(t->actor, source);
}

static struct prompt_app describe_app(const struct turn *t, struct bundle *b)
{
    const struct bundle_info *i = bundle_info(b);
    bool is_down = i->state == BUNDLE_DEAD || (i->state == BUNDLE_STOPPED && !bundle_is_waiting(b));
    return (struct prompt_app){
        .name = i->name,
        .bundle = i->package,
        .has_ui = i->ui != NULL,
        .ui_name = json_get_string(i->ui, "name"),
        .trust_score = (int)i->trust_score,
        .state = is_down ? str_from(bundle_state_name(i->state)) : STR_NONE,
        .description = i->description,
        .instructions =
            tool_selection_may_use_source(t->actor, i->name) ? bundle_instructions(b) : STR_NONE,
    };
}

static void name_apps(const struct turn *t, struct arena *a, struct prompt_input *in)
{
    struct bundles *set = t->rt->bundles;
    size_t n = set ? bundles_count(set) : 0;
    struct prompt_app *apps = arena_array(a, n, sizeof *apps);
    for (size_t i = 0; i < n; i++)
        if (may_use_app(t, bundle_info(bundles_at(set, i))->name))
            apps[in->n_apps++] = describe_app(t, bundles_at(set, i));
    in->apps = apps;
}

static void name_agents(const struct turn *t, struct arena *a, struct prompt_input *in)
{
    const struct agents *all = &t->rt->agents;
    const struct toolset_item *delegate =
        toolset_find(registry_tools(t->rt->deps.tools), STR("nb__delegate"));
    if (!delegate || !tool_selection_may_call(t->actor, turn_is_child(t), delegate))
        return;
    struct prompt_agent *agents = arena_array(a, all->len, sizeof *agents);
    for (size_t i = 0; i < all->len; i++)
        agents[i] = (struct prompt_agent){all->items[i].name, all->items[i].description};
    in->agents = agents;
    in->n_agents = all->len;
}

/* As personal skills: only while all messages of the run are from that person. */
static str personal_instructions(const struct turn *t)
{
    str user = actor_sole_user(t->actor);
    return user.n > 0 ? texts_instructions(t->rt->deps.texts, user) : STR_NONE;
}

static bool author_counts(const struct turn *t, str author)
{
    const struct runtime_deps *d = &t->rt->deps;
    return project_author_counts(d->directory ? directory_roster(d->directory) : NULL,
                                 d->workspace_id, t->actor, author);
}

static void add_project(const struct turn *t, struct prompt_input *in)
{
    struct conv_project p;
    if (!turn_project(t, &p))
        return;
    for (size_t i = 0; i < project_file_count(&p); i++)
        in->has_project_files |= author_counts(t, project_file_at(&p, i).by);
    if (p.instructions.n == 0 || !author_counts(t, p.instructions_by))
        return;
    const struct user *author = find_user(t, p.instructions_by);
    in->project_name = p.name;
    in->project_instructions = p.instructions;
    in->project_author = author && author->display_name.n > 0 ? author->display_name : STR_NONE;
}

static struct prompt compose(const struct turn *t, struct arena *a, const struct tool_selection *s)
{
    const struct config *c = t->rt->deps.config;
    struct prompt_focus focus;
    struct prompt_input in = {
        .time_zone = c->time_zone,
        .date = today(a, c->time_zone),
        .hidden = s->sources,
        .n_hidden = s->n_sources,
        .matched = t->skill,
        .user_name = user_name(t),
        .identity = t->rt->deps.identity,
        .is_sole = turn_is_sole(t),
        .workspace_name = t->rt->deps.workspace_name,
        .workspace_instructions = texts_instructions(t->rt->deps.texts, STR_NONE),
        .personal_instructions = personal_instructions(t),
        .focus = focus_of(t, &focus) ? &focus : NULL,
        .directory = t->actor->grant.path,
    };
    name_participants(t, a, &in);
    name_apps(t, a, &in);
    name_agents(t, a, &in);
    add_project(t, &in);
    if (t->skills)
        in.context = skills_context(turn_skills(t), &in.n_context);
    return prompt_compose(a, &in);
}

#define LAST_STEP                                                                                  \
    STR("\n\nThis is the last step of this run: no further tool calls will be made. Answer with "  \
        "what you have.")

/* Appends messages that steer the run, between two steps. */
static void take_steering(struct turn *t)
{
    LIST_EACH (m, &t->busy->waiting, struct message, place.node) {
        if (m->state != MESSAGE_STEERING || m->is_revoked)
            continue;
        str line = message_event(m, &m->arena);
        turn_narrow(t, actor_join(t->actor, m->actor));
        turn_append(t, &line, 1, NULL, NULL);
        queue_taken(m);
        message_enter(m, MESSAGE_JOINED);
    }
}

int turn_compose(struct turn *t, struct arena *a, bool is_last, struct composed *ret, struct err *e)
{
    drop_personal_skill(t);
    ret->selection = select_tools(t, a);
    ret->prompt = compose(t, a, &ret->selection);
    struct run_input *in = &ret->input;
    in->system_stable = turn_is_child(t) ? t->msg->req.child->system_prompt : ret->prompt.stable;
    in->system_stable = client_tools_prompt(t->msg->req.client, a, in->system_stable);
    in->system_volatile = ret->prompt.volatile_part;
    if (is_last)
        in->system_volatile = arena_concat(a, in->system_volatile, LAST_STEP);
    in->tools = model_tools(a, &ret->selection);
    in->ntools = ret->selection.len;
    client_tools_add(t->msg->req.client, a, &in->tools, &in->ntools);
    in->thinking = arena_cstr(a, t->limits.thinking);
    return context_messages(a, transcript_replay(t->transcript), &in->messages, &in->nmessages, e);
}

int turn_prepare(void *turn, struct arena *a, bool is_last, struct run_input *ret, struct err *e)
{
    struct turn *t = turn;
    struct composed c = {0};
    assert(t->busy && t->busy->turn == t);
    take_steering(t);
    int r = budgets_check(t->rt->deps.budgets, actor_user(t->actor), e);
    if (r < 0)
        return r;
    r = turn_compose(t, a, is_last, &c, e);
    *ret = c.input;
    if (t->msg->req.client && t->msg->req.client->ntools > 0)
        tools_memo_done(&t->rt->tools_memo); /* it compares addresses: these were never in it */
    request_log_note(t, ++t->steps, ret);
    ret->tools_key = str_from(t->rt->tools_memo.sha);
    return r;
}
