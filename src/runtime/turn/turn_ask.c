/* turn_ask.c - questions to the user about tool calls (permission), and the answers.
 *
 * A question exists only in the log, so it survives a restart: ask.opened names the calls, and
 * ask.answered or the next message ends it. */
#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "engine/events.h"
#include "runtime/turn/setting.h"
#include "runtime/turn/turn.h"
#include "tools/result.h"

/* The response that asked for the calls. */
static const struct replay_message *last_assistant(const struct replay *h)
{
    for (size_t i = h->n; i > 0; i--)
        if (h->messages[i - 1].role == REPLAY_ASSISTANT)
            return &h->messages[i - 1];
    return NULL;
}

size_t turn_decline_open(struct turn *t, const struct replay *h, str *lines, size_t max)
{
    const struct replay_message *m = last_assistant(h);
    size_t n = 0;
    if (h->ask.ask_id.n == 0 || !m)
        return 0;
    lines[n++] = event_ask_answered(
        &t->arena, &(struct event_answer){h->ask.ask_id, actor_user(t->actor), "declined"});
    struct tool_result declined = tool_result_error(
        &t->arena, "Not executed: the user continued without allowing this call.");
    t->declined = arena_array(&t->arena, m->ntools, sizeof *t->declined);
    t->ndeclined = 0;
    for (size_t i = 0; i < m->ntools && n < max; i++) {
        struct event_call call = {
            .run_id = h->ask.run_id,
            .id = m->tools[i].id,
            .name = m->tools[i].name,
            .ui_uri = registry_interface_of(t->rt->deps.tools, m->tools[i].name),
        };
        if (m->tools[i].result)
            continue;
        lines[n++] = event_tool_done(&t->arena, &call, &declined, 0);
        t->declined[t->ndeclined++] = (struct run_pending){.id = arena_str(&t->arena, call.id),
                                                           .name = arena_str(&t->arena, call.name)};
    }
    return n;
}

/* ---- an answer ---- */

static bool was_asked(const struct replay *h, str call_id)
{
    for (size_t i = 0; h->ask.calls && i < h->ask.calls->len; i++)
        if (str_eq(json_get_string(&h->ask.calls->items[i], "id"), call_id))
            return true;
    return false;
}

static bool is_always(const struct json *decision)
{
    return str_eq(json_string(decision, STR_NONE), STR("always"));
}

/* The answer decides on every call that the question showed, and on no other. */
static bool is_call_allowed(const struct turn_answer *a, const struct replay *h, str call_id)
{
    if (!was_asked(h, call_id))
        return false;
    const struct json *own = json_get_str(a->decisions, call_id);
    if (is_always(own))
        return true;
    return json_is(own, JSON_BOOL) ? own->boolean : a->is_allowed;
}

/* All calls of the last response without a result: also those that the question did not show, which
 * get an error result. */
static size_t pending_calls(struct turn *t, const struct replay *h, struct run_pending **ret)
{
    const struct replay_message *m = last_assistant(h);
    size_t n = 0;
    *ret = arena_array(&t->arena, m ? m->ntools : 0, sizeof **ret);
    for (size_t i = 0; m && i < m->ntools; i++) {
        const struct replay_tool *call = &m->tools[i];
        if (call->result)
            continue;
        struct run_pending *p = &(*ret)[n++];
        p->id = call->id;
        p->name = call->name;
        p->args = call->input ? json_to_str(&t->arena, call->input) : STR("{}");
        p->is_allowed = is_call_allowed(&t->msg->req.answer, h, call->id);
        p->was_asked = was_asked(h, call->id);
    }
    return n;
}

/* A call of the question; NULL = there is no such tool any more. */
static const struct toolset_item *called_tool(const struct turn *t, const struct json *call)
{
    return turn_find_tool(t, json_get_string(call, "name"), json_get(call, "input"));
}

/* A consent is stored for the tool itself, not for an alias; tools that change the workspace, and
 * those of open interfaces, ask every time, so NULL. */
static const struct toolset_item *rememberable(const struct turn *t, const struct json *call)
{
    const struct toolset_item *it = called_tool(t, call);
    return it && !it->tool->is_workspace_change && !it->tool->is_of_view ? it : NULL;
}

/* Words limit what is remembered to commands that begin with them, of a tool that runs commands. */
static bool fits_words(const struct turn *t, const struct toolset_item *it, const struct json *call)
{
    str words = t->msg->req.answer.words;
    return words.n == 0 ||
           (it->tool->is_shell && consent_words_fit(words, json_get(call, "input")));
}

static bool is_wanted_always(const struct turn *t, const struct replay *h, const struct json *call)
{
    str id = json_get_string(call, "id");
    return json_get_bool(call, "canRemember", true) &&
           is_call_allowed(&t->msg->req.answer, h, id) &&
           (t->msg->req.answer.remember != CONSENT_ONCE ||
            is_always(json_get_str(t->msg->req.answer.decisions, id)));
}

/* Stores consents for the person who answers; only admins store them for the workspace (checked
 * before). False: there is nothing to store. */
static bool remember_consents(struct turn *t, const struct replay *h)
{
    bool has_new = false;
    const struct turn_answer *a = &t->msg->req.answer;
    str person = a->remember == CONSENT_WORKSPACE ? STR_NONE : actor_user(t->msg->actor);
    str place = a->remember == CONSENT_CONVERSATION ? t->conversation_id : STR_NONE;
    for (size_t i = 0; h->ask.calls && i < h->ask.calls->len; i++) {
        const struct json *call = &h->ask.calls->items[i];
        const struct toolset_item *it = rememberable(t, call);
        if (!it || !is_wanted_always(t, h, call) || !fits_words(t, it, call))
            continue;
        has_new = true;
        if (!consents_add(&t->rt->consents, person,
                          consent_limited(&t->arena, it->name, a->words, place)))
            log_warn(t->rt->deps.log, "runtime",
                     "the consent for %.*s is not stored: the limit of %d is reached",
                     STR_ARG(it->name), CONSENTS_MAX);
    }
    return has_new;
}

/* ---- the rights to answer ---- */

/* Only people who may make a call may allow it; everybody may refuse it. */
static bool may_allow_all(struct turn *t, const struct replay *h)
{
    for (size_t i = 0; h->ask.calls && i < h->ask.calls->len; i++) {
        const struct json *call = &h->ask.calls->items[i];
        const struct toolset_item *it = called_tool(t, call);
        if (is_call_allowed(&t->msg->req.answer, h, json_get_string(call, "id")) && it &&
            !tool_selection_may_call(t->actor, false, it))
            return false;
    }
    return true;
}

static bool allows_any(const struct turn *t, const struct replay *h)
{
    for (size_t i = 0; h->ask.calls && i < h->ask.calls->len; i++)
        if (is_call_allowed(&t->msg->req.answer, h, json_get_string(&h->ask.calls->items[i], "id")))
            return true;
    return false;
}

static str last_user_text(struct turn *t, const struct replay *h)
{
    for (size_t i = h->n; i > 0; i--)
        if (h->messages[i - 1].role == REPLAY_USER)
            return replay_text(&t->arena, &h->messages[i - 1]);
    return STR_NONE;
}

/* True when the answer allows a call that uses the account of the person who started the run. */
static bool allows_personal(const struct turn *t, const struct replay *h)
{
    for (size_t i = 0; h->ask.calls && i < h->ask.calls->len; i++) {
        const struct json *call = &h->ask.calls->items[i];
        const struct toolset_item *it = called_tool(t, call);
        if (it && it->tool->is_personal &&
            is_call_allowed(&t->msg->req.answer, h, json_get_string(call, "id")))
            return true;
    }
    return false;
}

/* From here on the turn has the actor of the run that asked; the answer was consent only. For a
 * question of a copied log (no valid setting) the turn keeps the rights of the person who answers.
 */
static bool take_over(struct turn *t, const struct replay *h, struct err *e)
{
    const struct actor *answerer = t->msg->actor;
    t->text = last_user_text(t, h);
    turn_match_skill(t);
    bool is_restored = setting_restore(t, &h->ask);
    if (is_restored && !actor_covers_grant(answerer, t->actor) && allows_any(t, h))
        err_set(e, -EPERM,
                "The commands would run in the directory of a terminal. Answer in a terminal on "
                "the computer of the server.");
    else if (is_restored && !actor_covers(answerer, t->actor))
        err_set(e, -EPERM, "The question came from a run with more rights than this token has.");
    else if (!str_eq(actor_user(answerer), actor_user(t->actor)) && allows_personal(t, h))
        err_set(e, -EPERM,
                "A call uses the account, or an open app, of the person whose message started this "
                "run. Only that person may allow it.");
    else if (!actor_is_current(t->actor, clock_now_ms()))
        err_set(e, -EPERM,
                "The person whose message started this run, or the token it was sent with, has no "
                "access any more. Send the message again.");
    else
        turn_join_authors(t);
    return e->code == 0;
}

static void on_answer_saved(void *ctx, const struct err *err)
{
    struct turn *t = ctx;
    if (err)
        turn_refuse(t, TURN_FAILED, err);
    else
        turn_start_run(t, t->pending, t->npending);
}

/* Where the answer is remembered, for the log; NULL = nowhere. */
static const char *remembered(const struct turn_answer *a)
{
    static const char *const NAMES[] = {[CONSENT_ONCE] = NULL,
                                        [CONSENT_CONVERSATION] = "conversation",
                                        [CONSENT_MINE] = "me",
                                        [CONSENT_WORKSPACE] = "workspace"};
    return a->is_allowed ? NAMES[a->remember] : NULL;
}

/* The answer and the start of the new run are one append, so that they become durable together. */
static void save_answer(void *ctx)
{
    struct turn *t = ctx;
    const struct replay *h = transcript_replay(t->transcript);
    assert(h->ask.ask_id.n > 0); /* no other turn can have answered: this is the active one */
    const struct turn_answer *a = &t->msg->req.answer;
    struct event_answer answer = {
        .ask_id = h->ask.ask_id,
        .user_id = actor_user(t->msg->actor),
        .decision = a->is_allowed ? "allow" : "deny",
        .decisions = a->decisions,
        .always = remembered(a),
        .words = a->words,
    };
    str lines[2] = {
        event_ask_answered(&t->arena, &answer),
        turn_run_start_event(t, h->ask.run_id),
    };
    turn_append(t, lines, 2, on_answer_saved, t);
}

static void refuse_answer(struct turn *t, enum turn_refusal why, int code, const char *words)
{
    struct err e = {0};
    err_set(&e, code, "%s", words);
    turn_refuse(t, why, &e);
}

/* Is there a call that these words fit? Others would be stored for nothing that a person has seen.
 */
static bool has_words(const struct turn *t, const struct replay *h)
{
    for (size_t i = 0; h->ask.calls && i < h->ask.calls->len; i++) {
        const struct toolset_item *it = rememberable(t, &h->ask.calls->items[i]);
        if (it && fits_words(t, it, &h->ask.calls->items[i]))
            return t->msg->req.answer.remember != CONSENT_ONCE;
    }
    return false;
}

static void take_answer(struct turn *t, const struct replay *h)
{
    struct run_pending *pending;
    t->npending = pending_calls(t, h, &pending);
    t->pending = pending;
    if (remember_consents(t, h))
        consents_save(&t->rt->consents, &t->consent, save_answer, t);
    else
        save_answer(t);
}

void turn_accept_answer(struct turn *t)
{
    struct err e = {0};
    const struct turn_answer *a = &t->msg->req.answer;
    const struct replay h = *transcript_replay(t->transcript);
    assert(t->busy && !t->run && a->ask_id.n > 0);
    if (!str_eq(h.ask.ask_id, a->ask_id))
        refuse_answer(t, TURN_NO_QUESTION, -ENOENT,
                      "This question is not open. It may have been answered already.");
    else if (a->remember == CONSENT_WORKSPACE &&
             (!actor_is_admin(t->actor) || !actor_has_scope(t->actor, SCOPE_ADMIN)))
        refuse_answer(t, TURN_FORBIDDEN, -EPERM,
                      "Only admins of the workspace may allow a tool for everybody.");
    else if (a->words.n > 0 && !has_words(t, &h))
        refuse_answer(t, TURN_BAD_REQUEST, -EINVAL,
                      "words: expected the first words of a command that the question shows. A "
                      "program that runs other programs, or a command of several, cannot be "
                      "remembered by its words.");
    else if (!may_allow_all(t, &h))
        refuse_answer(t, TURN_FORBIDDEN, -EPERM,
                      "You may not use every tool that this answer would allow.");
    else if (!take_over(t, &h, &e))
        turn_refuse(t, TURN_FORBIDDEN, &e);
    else
        take_answer(t, &h);
}

str turn_words(void *turn, str tool, const struct json *args)
{
    const struct turn *t = turn;
    const struct toolset_item *it = turn_find_tool(turn, tool, args);
    bool has_sandbox = t->actor->grant.path.n == 0;
    return it && it->tool->is_shell && has_sandbox ? consent_words_of(args) : STR_NONE;
}
