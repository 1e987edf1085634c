/* message.c - a message from its request to its last callback. turn.h has the states. */
#include <assert.h>
#include <errno.h>

#include "base/utf8.h"
#include "engine/events.h"
#include "runtime/turn/compact.h"
#include "runtime/turn/request_log.h"
#include "runtime/turn/turn.h"

#define TURN_NAME_MAX 256u

/* ---- the request, copied ---- */

static const struct turn_child *copy_child(struct message *m, const struct turn_child *c)
{
    struct arena *a = &m->arena;
    struct turn_child *own = ARENA_NEW(a, struct turn_child);
    assert(c->depth > 0);
    *own = *c;
    own->parent_conversation_id = arena_str(a, c->parent_conversation_id);
    own->parent_run_id = arena_str(a, c->parent_run_id);
    own->parent_call_id = arena_str(a, c->parent_call_id);
    own->owner_id = arena_str(a, c->owner_id);
    own->system_prompt = arena_str(a, c->system_prompt);
    own->tools = json_strs_copy(a, c->tools);
    return own;
}

static const struct turn_client *copy_client(struct message *m, const struct turn_client *c)
{
    struct arena *a = &m->arena;
    struct turn_client *own = ARENA_NEW(a, struct turn_client);
    struct llm_tool *tools = arena_array(a, c->ntools, sizeof *tools);
    assert(c->ntools <= TURN_CLIENT_TOOLS_MAX && c->nlines <= TURN_CLIENT_LINES_MAX);
    for (size_t i = 0; i < c->ntools; i++)
        tools[i] =
            (struct llm_tool){arena_str(a, c->tools[i].name), arena_str(a, c->tools[i].description),
                              c->tools[i].schema ? json_clone(a, c->tools[i].schema) : NULL};
    *own = *c;
    own->instructions = arena_str(a, c->instructions);
    own->tools = tools;
    own->lines = arena_strs(a, c->lines, c->nlines);
    own->after_run_id = arena_str(a, c->after_run_id);
    own->system_prompt = arena_str(a, c->system_prompt);
    own->filter = json_strs_copy(a, c->filter);
    return own;
}

/* The sender with all filters of the request. */
static struct actor *narrowed_actor(const struct turn_request *req)
{
    struct json_strs profile = {0};
    enum filter_kind kind = req->app.n > 0 ? FILTER_APP : FILTER_REQUEST;
    struct actor *a = actor_narrow((struct actor *)req->actor, kind, req->allowed_tools);
    struct actor *granted = actor_with_grant(a, &req->grant);
    actor_unref(a);
    if (req->child)
        profile = req->child->tools;
    else if (req->client)
        profile = req->client->filter;
    else
        return granted;
    struct actor *child = actor_narrow(granted, FILTER_PROFILE, profile);
    actor_unref(granted);
    return child;
}

static const struct view_context *copy_contexts(struct arena *a, const struct turn_request *req,
                                                size_t n)
{
    struct view_context *own = arena_array(a, n, sizeof *own);
    for (size_t i = 0; i < n; i++) {
        const struct view_context *c = &req->contexts[i];
        own[i] = (struct view_context){
            .app = arena_str(a, c->app),
            .call_id = arena_str(a, c->call_id),
            .text = utf8_valid(c->text)
                        ? arena_str(a, utf8_truncate(c->text, TURN_CONTEXT_TEXT_MAX))
                        : STR_NONE,
        };
    }
    return own;
}

static void copy_request(struct message *m, const struct turn_request *req)
{
    struct arena *a = &m->arena;
    size_t ncontexts = req->ncontexts < TURN_CONTEXTS_MAX ? req->ncontexts : TURN_CONTEXTS_MAX;
    m->actor = narrowed_actor(req);
    m->req = (struct turn_request){
        .actor = m->actor,
        .conversation_id = arena_str(a, req->conversation_id),
        .message = arena_str(a, req->message),
        .app = arena_str(a, req->app),
        .contexts = copy_contexts(a, req, ncontexts),
        .ncontexts = ncontexts,
        .files = json_is(req->files, JSON_ARRAY) && req->files->len > 0 ? json_clone(a, req->files)
                                                                        : NULL,
        .model = arena_str(a, req->model),
        .channel = arena_str(a, req->channel),
        .project_id = arena_str(a, req->project_id),
        .metadata = req->metadata ? json_clone(a, req->metadata) : NULL,
        .trace = req->trace,
        .request_id = arena_str(a, req->request_id),
        .answer = req->answer,
        .auto_allow = json_strs_copy(a, req->auto_allow),
        .mentions = json_strs_copy(a, req->mentions),
        .is_unattended = req->is_unattended,
        .wants_summary = req->wants_summary,
        .is_for_people = req->is_for_people,
        .when_busy = req->when_busy,
        .child = req->child ? copy_child(m, req->child) : NULL,
        .client = req->client ? copy_client(m, req->client) : NULL,
        .on_preview = req->on_preview,
    };
    m->req.answer.ask_id = arena_str(a, req->answer.ask_id);
    m->req.answer.words = arena_str(a, req->answer.words);
    m->req.answer.decisions = req->answer.decisions ? json_clone(a, req->answer.decisions) : NULL;
}

/* ---- life ---- */

struct message *message_new(struct runtime *rt, const struct turn_request *req,
                            const struct turn_events *ev, void *ctx)
{
    struct message *m = xcalloc(1, sizeof *m);
    m->rt = rt;
    m->ev = ev;
    m->ctx = ctx;
    arena_init(&m->arena);
    list_init(&m->place.node);
    copy_request(m, req);
    list_push(&rt->messages, &m->node);
    rt->nmessages++;
    return m;
}

#define TO(state) (1u << (state))

/* The arrows of the diagram in turn.h. */
static const unsigned TRANSITIONS[] = {
    [MESSAGE_STARTING] = TO(MESSAGE_RUNNING) | TO(MESSAGE_STORING) | TO(MESSAGE_QUEUED),
    [MESSAGE_STORING] = TO(MESSAGE_QUEUED) | TO(MESSAGE_STEERING) | TO(MESSAGE_STARTING),
    [MESSAGE_QUEUED] = TO(MESSAGE_STARTING),
    [MESSAGE_STEERING] = TO(MESSAGE_STARTING) | TO(MESSAGE_JOINED),
    [MESSAGE_JOINED] = 0,
    [MESSAGE_RUNNING] = 0,
};

void message_enter(struct message *m, enum message_state state)
{
    bool is_working = state == MESSAGE_STARTING || state == MESSAGE_RUNNING;
    assert(TRANSITIONS[m->state] & TO(state));
    assert((m->turn != NULL) == is_working); /* a turn belongs to a message that does not wait */
    m->state = state;
}

void message_free(struct message *m)
{
    struct runtime *rt = m->rt;
    assert(!m->turn && rt->nmessages > 0);
    list_del(&m->node);
    list_del(&m->place.node);
    rt->nmessages--;
    if (m->place.file == QUEUE_FILE_OWN)
        (void)queue_files_remove(&rt->queue_files, str_from(m->place.id), NULL, NULL);
    actor_unref(m->actor);
    free(m->edited);
    arena_done(&m->arena);
    free(m);
    runtime_check_stopped(rt);
}

/* ---- its listener ---- */

/* At most once: a steering message that gets a run of its own was announced before. */
void message_announce(struct message *m, str conversation_id, str run_id, bool is_new)
{
    if (!m->is_announced && m->ev && m->ev->on_started)
        m->ev->on_started(m->ctx, conversation_id, run_id, is_new);
    m->is_announced = true;
}

void message_refuse(struct message *m, enum turn_refusal why, const struct err *err)
{
    assert(m->state != MESSAGE_RUNNING && m->state != MESSAGE_JOINED); /* the run ends these */
    if (m->ev)
        m->ev->on_refused(m->ctx, why, err);
    queue_refused(m, why, err);
    if (m->turn) {
        turn_end(m->turn);
    } else {
        queue_leave(m);
        message_free(m);
    }
}

void turn_forget(struct message *m)
{
    m->ev = NULL;
}

void turn_cancel(struct message *m)
{
    struct turn *t = m->turn;
    m->is_cancelled = true;
    if (!t)
        return;
    request_log_forget(t);
    compact_abandon(t);
    if (t->run)
        run_cancel(t->run);
}

/* ---- its files ---- */

static int check_part(const struct turn *t, const struct llm_model_info *info,
                      const struct json *part, struct err *e)
{
    str name = json_get_string(part, "name"), problem = json_get_string(part, "unreadable");
    if (str_eq(json_get_string(part, "type"), STR("image")) && !info->can_images)
        return err_set(e, -EINVAL,
                       "The model %.*s cannot see pictures. Choose a model that can, or send the "
                       "message without '%.*s'.",
                       STR_ARG(t->model), STR_ARG(name));
    if (problem.n > 0 && !info->can_pdf)
        return err_set(e, -EINVAL,
                       "The model %.*s takes PDFs only as text, and there is none of '%.*s': %.*s.",
                       STR_ARG(t->model), STR_ARG(name), STR_ARG(problem));
    return 0;
}

/* A model that cannot see pictures, or read a document, would answer without them. */
int turn_check_sight(const struct turn *t, struct err *e)
{
    struct llm_model_info info;
    const struct json *files = t->msg->req.files;
    int r = 0;
    if (!files || !llm_model_info(t->rt->deps.llm, t->model, &info))
        return 0;
    for (size_t i = 0; i < files->len && r == 0; i++)
        r = check_part(t, &info, &files->items[i], e);
    return r;
}

/* ---- its text ---- */

int message_check_text(str text, struct err *e)
{
    if (str_trim(text).n == 0)
        return err_set(e, -EINVAL, "The message is empty.");
    if (text.n > TURN_MESSAGE_MAX)
        return err_set(e, -EINVAL, "The message has %zu bytes; the limit is %u.", text.n,
                       TURN_MESSAGE_MAX);
    if (!utf8_valid(text))
        return err_set(e, -EINVAL, "The message is not valid UTF-8.");
    return 0;
}

/* Names become part of every event and are printed on terminals. */
static bool is_valid_name(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return false;
    return s.n <= TURN_NAME_MAX;
}

int message_check_request(const struct turn_request *req, struct err *e)
{
    const struct turn_client *client = req->client;
    bool is_answer = req->answer.ask_id.n > 0;
    assert(!client || (req->is_unattended && req->when_busy == TURN_REFUSE_BUSY));
    if (!is_valid_name(req->model) || !is_valid_name(req->channel))
        return err_set(e, -EINVAL,
                       "model and channel must have at most %u bytes and no control characters.",
                       TURN_NAME_MAX);
    if (client && req->message.n == 0 && (client->nlines > 0 || req->files))
        return 0;
    if (is_answer && req->conversation_id.n == 0)
        return err_set(e, -EINVAL,
                       "An answer needs conversationId, the conversation of its question.");
    if (req->is_for_people && (req->conversation_id.n == 0 || is_answer || client))
        return err_set(e, -EINVAL,
                       "A message for people needs a conversation, and cannot answer a question.");
    bool has_files = json_is(req->files, JSON_ARRAY) && req->files->len > 0;
    bool is_complete = is_answer || (has_files && str_trim(req->message).n == 0);
    return is_complete ? 0 : message_check_text(req->message, e);
}

str message_author_event(const struct message *m, struct arena *a)
{
    struct event_author by = {str_from(m->turn->run_id), actor_user(m->actor),
                              actor_token_limit(m->actor), m->turn->words_of};
    return event_run_author(a, &by);
}

str message_event(const struct message *m, struct arena *a)
{
    struct event_message ev = {
        .user_id = actor_user(m->actor),
        .text = m->req.message,
        .queued_id = str_from(m->place.id),
        .tool_limit = actor_token_limit(m->actor),
        .words_of = m->turn ? m->turn->words_of : (struct json_strs){0},
        .app = m->req.app,
        .contexts = m->req.contexts,
        .ncontexts = m->req.ncontexts,
        .files = m->req.files,
        .is_for_people = m->req.is_for_people,
    };
    return event_user_message(a, &ev);
}
