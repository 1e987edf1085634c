/* turn.c - a turn from its message to the start of its run, in the order in which it runs.
 *
 *   turn_start, or queue_begin for a message that waited
 *     turn_begin          what have other servers spent?
 *     on_spending_fresh   are the skills up to date?
 *     on_skills_fresh     is the request valid, and within the budget?
 *     guide_load          usage of the app that is open (guide.c)      } if there is one, and
 *     load_grant          the directory of the sender's terminal       } not for an answer
 *     open_conversation --+-- create_conversation      no conversation id: a new one
 *                         |     on_created ------------------------------------------> run
 *                         +-- on_conversation_found    access, model
 *                               queue_hold             no other server works on it (hold.c)
 *                               queue_wait             another turn is active (queue.c)
 *                               recall_history         from the cache and the newest lines, or
 *                               read_history           what the model gets (model_lines.h)
 *                               history_complete --+-- compact_start, if it is long (compact.c)
 *                                                  |   accept_message
 *                                                  |     on_message_saved ----------> run
 *                                                  +-- resume_run: an answer
 *                                                        turn_accept_answer (turn_ask.c)
 *                                                          on_answer_saved ---------> run
 *
 * "run" is turn_start_run() (turn_host.c). Each step calls the next one, waits for a callback that
 * does, or ends the turn with turn_refuse(). A preview takes the same way as a message and ends in
 * preview_finish() before anything is appended. create_conversation and on_conversation_found make
 * the turn the active one of its conversation (queue_occupy): at most one turn gets further. A turn
 * that finds its conversation occupied is freed; its message waits, and begins here with a new
 * turn.
 *
 * The message (turn.h) is MESSAGE_STARTING up to turn_start_run(). turn_end() is called exactly
 * once: after a refusal, or after the end of the run (turn_host.c). */
#include "runtime/turn/turn.h"

#include <assert.h>
#include <errno.h>

#include "runtime/budget.h"
#include "runtime/prompt/client_tools.h"
#include "runtime/turn/compact.h"
#include "runtime/turn/request_log.h"
#include "runtime/turn/setting.h"

#define NEWER_BYTES_MAX   (4u * 1024 * 1024)
#define HISTORY_BYTES_MAX (32u * 1024 * 1024)
#define FIRST_EVENTS_MAX  256

/* The steps, in their order. */
static void turn_begin(void *ctx);
static void on_spending_fresh(void *ctx);
static void on_skills_fresh(void *ctx);
static void load_grant(struct turn *t);
static void open_conversation(struct turn *t);
static void create_conversation(struct turn *t);
static void create_log(struct turn *t);
static void on_created(void *ctx, const struct err *err, const struct conv *conv);
static void on_conversation_found(void *ctx, const struct err *err, const struct conv *conv);
static void recall_history(struct turn *t);
static void on_newer_lines(void *ctx, const struct err *err, const struct store_page *page);
static void read_history(struct turn *t);
static void on_history(void *ctx, const struct err *err, const struct store_page *page);
static void history_complete(struct turn *t);
static void resume_run(struct turn *t);
static void accept_message(struct turn *t);
static void on_message_saved(void *ctx, const struct err *err);
static void message_stored(struct turn *t);

/* ---- the start ---- */

static struct turn_limits limits_now(const struct config *c)
{
    return (struct turn_limits){
        .max_iterations = c->limits.max_iterations,
        .max_input_tokens = c->limits.max_input_tokens,
        .max_output_tokens = c->limits.max_output_tokens,
        .max_direct_tools = c->limits.max_direct_tools,
        .thinking = c->thinking,
    };
}

static void use_client_limits(struct turn_limits *l, const struct turn_client *c)
{
    if (c->max_output_tokens > 0 && c->max_output_tokens < l->max_output_tokens)
        l->max_output_tokens = c->max_output_tokens;
    if (c->max_iterations > 0 && c->max_iterations < l->max_iterations)
        l->max_iterations = c->max_iterations;
}

struct turn *turn_new(struct message *m)
{
    struct turn *t = xcalloc(1, sizeof *t);
    assert(!m->turn);
    t->rt = m->rt;
    t->msg = m;
    m->turn = t;
    arena_init(&t->arena);
    t->transcript = transcript_new();
    list_init(&t->log.held);
    list_init(&t->log.records);
    list_init(&t->log.recorded);
    t->conversation_id = m->req.conversation_id;
    t->actor = actor_ref(m->actor);
    t->text = m->req.message;
    t->model = m->req.model;
    t->auto_allow = m->req.auto_allow;
    t->is_unattended = m->req.is_unattended;
    t->limits = limits_now(t->rt->deps.config);
    if (m->req.client)
        use_client_limits(&t->limits, m->req.client);
    random_id("run", t->run_id);
    defer_init(&t->begin, turn_begin, t);
    return t;
}

/* Deferred, so that the caller has the message before any of its events. */
struct message *turn_start(struct runtime *rt, const struct turn_request *req,
                           const struct turn_events *ev, void *ctx)
{
    struct message *m = message_new(rt, req, ev, ctx);
    defer_start(rt->deps.loop, &turn_new(m)->begin);
    return m;
}

/* ---- what can be refused without reading anything ---- */

static void turn_begin(void *ctx)
{
    struct turn *t = ctx;
    assert(t->msg->state == MESSAGE_STARTING && !t->run);
    t->app = t->msg->app; /* turn_focus() may have been called after turn_start() */
    budgets_fresh(t->rt->deps.budgets, &t->spending, on_spending_fresh, t);
}

static void on_spending_fresh(void *ctx)
{
    struct turn *t = ctx;
    skill_watch_check(t->rt->watch, &t->check, false, on_skills_fresh, t);
}

static void on_skills_fresh(void *ctx)
{
    struct turn *t = ctx;
    struct err e = {0};
    if (message_check_request(&t->msg->req, &e) < 0)
        turn_refuse(t, TURN_BAD_REQUEST, &e);
    else if (!t->msg->req.is_for_people && !t->msg->req.on_preview &&
             budgets_check(t->rt->deps.budgets, actor_user(t->actor), &e) < 0)
        turn_refuse(t, TURN_OVER_BUDGET, &e);
    else if (t->msg->req.answer.ask_id.n > 0) /* guide and directory come from the run that asked */
        open_conversation(t);
    else if (t->app)
        guide_load(t, load_grant);
    else
        load_grant(t);
}

static void load_grant(struct turn *t)
{
    if (t->actor->grant.path.n > 0)
        turn_load_grant(t, &t->actor->grant, true, open_conversation);
    else
        open_conversation(t);
}

static void open_conversation(struct turn *t)
{
    if (t->conversation_id.n == 0)
        create_conversation(t);
    else
        store_get(t->rt->deps.store, t->conversation_id, on_conversation_found, t);
}

/* ---- the model ---- */

/* A conversation continues with the model that answered last. A model that is not available any
 * more (its provider has no key, its server is not found) must not end the conversation. */
static str own_model(const struct turn *t, const struct conv *conv)
{
    struct err e = {0};
    str provider, model;
    str own = !conv ? STR_NONE : conv->last_model.n > 0 ? conv->last_model : conv->model;
    if (own.n == 0 || llm_resolve(t->rt->deps.llm, own, &provider, &model, &e) == 0)
        return own;
    log_warn(t->rt->deps.log, "runtime", "%.*s uses the default model: %s",
             STR_ARG(t->conversation_id), e.msg);
    return STR_NONE;
}

/* `conv`: NULL = a new conversation. */
static int choose_model(struct turn *t, const struct conv *conv, struct err *e)
{
    struct llm *llm = t->rt->deps.llm;
    str why, provider, model;
    if (t->model.n == 0)
        t->model = arena_str(&t->arena, own_model(t, conv));
    if (t->model.n == 0)
        t->model = t->rt->deps.default_model;
    if (t->model.n == 0)
        t->model = llm_default_model(llm, &why);
    int r = llm_resolve(llm, t->model, &provider, &model, e);
    if (r < 0)
        return r;
    t->model = arena_printf(&t->arena, "%.*s:%.*s", STR_ARG(provider), STR_ARG(model));
    return turn_check_sight(t, e);
}

/* A file of the message may be gone: then the person can do something about it. */
enum turn_refusal turn_not_saved(const struct err *err)
{
    return err->code == -ESTALE ? TURN_BAD_REQUEST : TURN_FAILED;
}

/* ---- a new conversation ---- */

static const struct json *parent_json(struct turn *t)
{
    struct arena *a = &t->arena;
    const struct turn_child *c = t->msg->req.child;
    if (!c)
        return NULL;
    struct json *p = json_new(a, JSON_OBJECT);
    json_set(a, p, STR("conversationId"), json_of_str(c->parent_conversation_id));
    json_set(a, p, STR("runId"), json_of_str(c->parent_run_id));
    json_set(a, p, STR("toolCallId"), json_of_str(c->parent_call_id));
    return p;
}

/* The events of the program in front of the message, the message (or who wrote those events), and
 * the start of the run. */
static const str *opening_events(struct turn *t, size_t *ret_n)
{
    const struct turn_request *req = &t->msg->req;
    size_t n = req->client ? req->client->nlines : 0;
    str *lines = arena_array(&t->arena, n + 2, sizeof *lines);
    for (size_t i = 0; i < n; i++)
        lines[i] = req->client->lines[i];
    bool has_message = req->message.n > 0 || req->files || n == 0;
    lines[n++] =
        has_message ? message_event(t->msg, &t->arena) : message_author_event(t->msg, &t->arena);
    lines[n++] = turn_run_start_event(t, STR_NONE);
    *ret_n = n;
    return lines;
}

static void create_conversation(struct turn *t)
{
    const struct turn_request *req = &t->msg->req;
    struct err e = {0};
    if (choose_model(t, NULL, &e) < 0) {
        turn_refuse(t, TURN_BAD_REQUEST, &e);
        return;
    }
    if (req->on_preview) {
        preview_finish(t);
        return;
    }
    char id[RANDOM_ID_MAX];
    random_id("conv", id);
    t->conversation_id = arena_str(&t->arena, str_from(id));
    t->conv = req->client && req->client->is_hidden ? TURN_CONV_TITLED : TURN_CONV_NEW;
    queue_occupy(t); /* the id is random: no other turn has it */
    queue_hold(t, create_log);
}

static void create_log(struct turn *t)
{
    const struct turn_request *req = &t->msg->req;
    turn_match_skill(t);
    turn_join_project(t);
    struct conv_create spec = {
        .id = t->conversation_id,
        .is_fresh_id = true,
        .owner_id = req->child ? req->child->owner_id : actor_user(t->actor),
        .channel = req->channel,
        .metadata = req->metadata,
        .parent = parent_json(t),
        .is_hidden = req->client && req->client->is_hidden,
    };
    spec.events = opening_events(t, &spec.nevents);
    for (size_t i = 0; i < spec.nevents; i++)
        transcript_add(t->transcript, spec.events[i]);
    store_create(t->rt->deps.store, &spec, on_created, t);
}

/* The conversation is there, in the project or not: its message is answered in any case. */
static void on_assigned(void *ctx, const struct err *err)
{
    struct turn *t = ctx;
    if (err)
        log_warn(t->rt->deps.log, "runtime", "%.*s is not in its project: %s",
                 STR_ARG(t->conversation_id), err->msg);
    message_stored(t);
}

static void on_created(void *ctx, const struct err *err, const struct conv *conv)
{
    struct turn *t = ctx;
    if (err) {
        turn_refuse(t, turn_not_saved(err), err);
        return;
    }
    transcript_settle(t->transcript, conv->end);
    str project = t->msg->req.project_id;
    if (project.n > 0 && t->rt->deps.projects)
        projects_assign(t->rt->deps.projects, t->conversation_id, project, on_assigned, t);
    else
        message_stored(t);
}

/* ---- an existing conversation ---- */

/* A queued message may have outlived the membership of its sender. */
static bool turn_may(struct turn *t, const struct conv *conv, enum conv_right right)
{
    return queue_still_member(t->msg) && actor_allows(t->actor, &conv->acl, right);
}

/* A conversation with an answer but no title: the program ended before the title was stored. */
static void want_title(struct turn *t, const struct conv *conv)
{
    bool has_answer = conv->message_count > 1 && t->text.n > 0;
    if (conv->is_hidden) { /* nobody sees a list with it */
        t->conv = TURN_CONV_TITLED;
        return;
    }
    t->conv = conv->title.n == 0 && !has_answer ? TURN_CONV_UNTITLED : TURN_CONV_TITLED;
    if (conv->title.n == 0 && has_answer && !turn_is_child(t))
        title_start(t, conv->preview, STR_NONE);
}

/* The same words when there is none and when this person may not see it: the existence of a
 * conversation is not for everybody. */
static void refuse_as_absent(struct turn *t)
{
    struct err e = {0};
    err_set(&e, -ENOENT, "There is no conversation '%.*s'.", STR_ARG(t->conversation_id));
    turn_refuse(t, TURN_NOT_FOUND, &e);
}

static void on_no_conversation(struct turn *t, const struct err *err)
{
    if (err->code != -ENOENT && err->code != -EINVAL) {
        turn_refuse(t, TURN_FAILED, err);
        return;
    }
    transcript_free(transcript_cache_take(&t->rt->transcripts, t->conversation_id));
    refuse_as_absent(t);
}

static void on_conversation_found(void *ctx, const struct err *err, const struct conv *conv)
{
    struct turn *t = ctx;
    struct err e = {0};
    if (err) {
        on_no_conversation(t, err);
        return;
    }
    t->owner_id = arena_str(&t->arena, conv->acl.owner_id);
    t->branch_of = arena_str(&t->arena, json_get_string(conv->branch, "of"));
    t->past = past_copy(&t->arena, &conv->past);
    if (conv->acl.is_shared)
        t->participants = json_strs_copy(&t->arena, conv->acl.participants);
    if (conv->acl.is_sealed && actor_is_admin(t->actor)) { /* for others it is absent */
        err_set(&e, -EIO,
                "The first line of the log of '%.*s' is damaged: it can be read and "
                "forked, but not continued.",
                STR_ARG(t->conversation_id));
        turn_refuse(t, TURN_FAILED, &e);
    } else if (!turn_may(t, conv, CONV_VIEW)) {
        refuse_as_absent(t);
    } else if (!turn_may(t, conv, CONV_SEND)) {
        err_set(&e, -EACCES, "%s", access_reason(CONV_SEND));
        turn_refuse(t, TURN_FORBIDDEN, &e);
    } else if (!t->msg->req.is_for_people && choose_model(t, conv, &e) < 0) {
        turn_refuse(t, TURN_BAD_REQUEST, &e);
    } else if (t->msg->req.on_preview) {
        read_history(t); /* beside a turn that is active: a preview changes nothing */
    } else if (!t->busy && map_get(&t->rt->busy, t->conversation_id)) {
        queue_wait(t);
    } else {
        queue_occupy(t);
        if (queue_settle(t, conv, open_conversation))
            return; /* it is opened once more, by then with the lease */
        want_title(t, conv);
        recall_history(t);
    }
}

/* ---- its history ---- */

/* Uses the transcript that the last turn left in the cache, if the log still agrees with it: then
 * only the newer lines are read. */
static void recall_history(struct turn *t)
{
    struct transcript *kept = transcript_cache_take(&t->rt->transcripts, t->conversation_id);
    if (!kept) {
        read_history(t);
        return;
    }
    transcript_free(t->transcript);
    t->transcript = kept;
    struct store_range range = {.after = kept->known, .max_bytes = NEWER_BYTES_MAX};
    store_read(t->rt->deps.store, t->conversation_id, &range, on_newer_lines, t);
}

static void on_newer_lines(void *ctx, const struct err *err, const struct store_page *page)
{
    struct turn *t = ctx;
    if (!err && transcript_catch_up(t->transcript, page)) {
        history_complete(t);
        return;
    }
    transcript_free(t->transcript); /* somebody else wrote messages: read it again */
    t->transcript = transcript_new();
    read_history(t);
}

static void read_history(struct turn *t)
{
    model_lines_init(&t->model_lines);
    struct store_range range = {
        .backwards = true,
        .choose = model_lines_choose,
        .choose_ctx = &t->model_lines,
        .max_bytes = HISTORY_BYTES_MAX,
        .with_blobs = true,
        .with_files = true,
    };
    store_read(t->rt->deps.store, t->conversation_id, &range, on_history, t);
}

static void on_history(void *ctx, const struct err *err, const struct store_page *page)
{
    struct turn *t = ctx;
    model_lines_done(&t->model_lines);
    if (err) {
        turn_refuse(t, TURN_FAILED, err);
        return;
    }
    transcript_load(t->transcript, page, t->model_lines.nbefore, &t->past);
    history_complete(t);
}

/* The server ended after it had appended this message, and before it had removed its file. */
static void drop_sent(struct turn *t)
{
    queue_taken(t->msg);
    turn_end(t);
}

/* The program continues an answer that is not the last one any more. */
static bool is_overtaken(const struct turn *t)
{
    const struct turn_client *client = t->msg->req.client;
    const struct replay *h = transcript_replay(t->transcript);
    return client && client->after_run_id.n > 0 && !str_eq(h->last_run_id, client->after_run_id);
}

static void refuse_client(struct turn *t, const char *why)
{
    struct err e = {0};
    err_set(&e, -EINVAL, "%s", why);
    turn_refuse(t, TURN_BAD_REQUEST, &e);
}

static void history_complete(struct turn *t)
{
    assert(t->msg->state == MESSAGE_STARTING);
    if (t->is_stored)
        turn_start_run(t, NULL, 0);
    else if (is_overtaken(t))
        refuse_client(t, "The conversation has continued since that answer. Continue its newest "
                         "answer, or send the messages themselves.");
    else if (!client_tools_may_answer(t->msg->req.client, transcript_replay(t->transcript)))
        refuse_client(t, "No call of the last answer waits for that result.");
    else if (t->msg->req.on_preview)
        preview_finish(t);
    else if (queue_was_sent(t))
        drop_sent(t);
    else if (t->msg->req.is_for_people)
        turn_tell_people(t);
    else if (t->msg->req.answer.ask_id.n > 0)
        resume_run(t);
    else if (!compact_start(t, accept_message))
        accept_message(t);
}

/* ---- the message, or the answer to a question, is accepted ---- */

static void accept_message(struct turn *t)
{
    str lines[FIRST_EVENTS_MAX];
    size_t n, declined;
    declined = turn_decline_open(t, transcript_replay(t->transcript), lines, FIRST_EVENTS_MAX);
    turn_match_skill(t);
    turn_join_authors(t); /* before run.start, which records the actor */
    turn_join_project(t);
    const str *opening = opening_events(t, &n);
    str *all = arena_array(&t->arena, declined + n, sizeof *all);
    memcpy(all, lines, declined * sizeof *all);
    memcpy(all + declined, opening, n * sizeof *all);
    turn_append(t, all, declined + n, on_message_saved, t);
}

/* The model is called only when the message is durable. */
static void on_message_saved(void *ctx, const struct err *err)
{
    struct turn *t = ctx;
    if (err) {
        turn_refuse(t, turn_not_saved(err), err);
        return;
    }
    queue_taken(t->msg);
    message_stored(t);
}

/* The message is in the log, and its files are among the blobs of the conversation: from there, and
 * only from there, they get into the history. */
static void message_stored(struct turn *t)
{
    const struct turn_request *req = &t->msg->req;
    if (!req->files && !(req->client && req->client->has_line_files)) {
        turn_start_run(t, NULL, 0);
        return;
    }
    t->is_stored = true;
    transcript_free(t->transcript);
    t->transcript = transcript_new();
    read_history(t);
}

/* The skills of the terminal's directory are loaded again, as for the run that asked; then the
 * answer is checked and appended (turn_ask.c). */
static void resume_run(struct turn *t)
{
    struct dir_grant g = setting_grant(t, &transcript_replay(t->transcript)->ask);
    if (g.path.n > 0)
        turn_load_grant(t, &g, false, turn_accept_answer);
    else
        turn_accept_answer(t);
}

/* ---- the end ---- */

void turn_refuse(struct turn *t, enum turn_refusal why, const struct err *err)
{
    assert(!t->run); /* a run has an end of its own */
    message_refuse(t->msg, why, err);
}

void turn_end(struct turn *t)
{
    struct message *m = t->msg;
    queue_vacate(t);
    turn_free(t);
    message_free(m);
}

void turn_free(struct turn *t)
{
    struct runtime *rt = t->rt;
    assert(t->msg->turn == t && !t->run && !t->compaction && !t->busy);
    tool_questions_drop(t);
    request_log_end(t);
    defer_stop(&t->begin);
    if (t->conversation_id.n > 0 && !t->msg->req.on_preview)
        transcript_cache_give(&rt->transcripts, t->conversation_id, t->transcript);
    else
        transcript_free(t->transcript);
    turn_drop_grant(t);
    skills_unref(t->skills);
    actor_unref(t->actor);
    t->msg->turn = NULL;
    arena_done(&t->arena);
    free(t);
}
