/* A session with a server in this process. */
#include <assert.h>
#include <errno.h>

#include "api/frames.h"
#include "cli/session/session_impl.h"
#include "runtime/report.h"
#include "runtime/turn/tool_question.h"
#include "server/server.h"
#include "workspace/deed.h"

#define REPORT_MAX (64u * 1024 * 1024)

struct local_session {
    struct chat_session base;
    struct message *turn;
    struct bus_sub *sub;
    struct deed *answer; /* answer to a permission question, until it is accepted or refused */
};

static struct server *local_server(const struct local_session *l)
{
    return client_server(l->base.client);
}

/* ---- one message ---- */

static void on_msg(void *ctx, struct bus_msg *msg)
{
    struct local_session *l = ctx;
    if (msg->pos == 0) {
        (void)session_dispatch(&l->base, msg->type, msg->data);
        return;
    }
    struct buf data;
    buf_init(&data, REPORT_MAX);
    str event = frame_data(msg->data, NULL, &data);
    if (event.n > 0)
        (void)session_dispatch(&l->base, event, buf_str(&data));
    buf_done(&data);
}

/* ---- answers to permission questions are recorded in the audit log, as in api/trail.c ---- */

static void begin_answer(struct local_session *l, const struct actor *by,
                         const struct session_input *in)
{
    struct arena a;
    assert(!l->answer);
    arena_init(&a);
    l->answer = deed_begin(server_audit(local_server(l)),
                           &(struct doer){.actor = by, .via = STR("cli"), .how = STR("terminal")},
                           STR("permission.answer"), l->base.conversation_id);
    if (in->decisions)
        deed_detail(l->answer, "decisions=%.*s", STR_ARG(json_to_str(&a, in->decisions)));
    deed_detail(l->answer, "ask=%.*s", STR_ARG(in->ask_id));
    arena_done(&a);
}

static void end_answer(struct local_session *l, const struct err *err)
{
    deed_end(l->answer, err);
    l->answer = NULL;
}

static void on_local_started(void *ctx, str conversation_id, str run_id, bool is_new)
{
    struct local_session *l = ctx;
    struct arena a;
    assert(!l->sub);
    if (!str_eq(l->base.conversation_id, conversation_id))
        l->base.conversation_id = arena_str(&l->base.arena, conversation_id);
    arena_init(&a);
    str topic = store_topic(&a, server_store(local_server(l)), conversation_id);
    l->sub = bus_subscribe(server_bus(local_server(l)), topic, on_msg, l);
    arena_done(&a);
    end_answer(l, NULL);
}

static void local_finish(struct local_session *l)
{
    bus_unsubscribe(l->sub);
    l->sub = NULL;
    l->turn = NULL;
}

static void on_local_done(void *ctx, const struct turn_result *t)
{
    struct local_session *l = ctx;
    struct buf data;
    struct json_writer w;
    local_finish(l);
    if (t->run->stop == RUN_STOP_ERROR) {
        session_error(&l->base, str_from(t->run->error_type), str_from(t->run->err.msg));
        return;
    }
    jw_start(&w, &data, REPORT_MAX);
    report_write(&w, t);
    (void)session_dispatch(&l->base, STR("done"), buf_str(&data));
    buf_done(&data);
}

static void on_local_refused(void *ctx, enum turn_refusal why, const struct err *err)
{
    struct local_session *l = ctx;
    local_finish(l);
    end_answer(l, err);
    session_error(&l->base, STR("refused"), str_from(err->msg));
}

static void local_send(struct chat_session *s, const struct session_input *in)
{
    static const struct turn_events EVENTS = {on_local_started, on_local_done, on_local_refused};
    struct local_session *l = (struct local_session *)s;
    struct actor *owner = server_actor(local_server(l));
    struct turn_request req = {
        .actor = owner,
        .conversation_id = s->conversation_id,
        .message = in->text,
        .model = s->config->models.named,
        .channel = STR("tui"),
        .answer = {.ask_id = in->ask_id, .decisions = in->decisions},
        .auto_allow = s->allow,
        .is_unattended = s->is_unattended,
    };
    if (in->ask_id.n > 0)
        begin_answer(l, owner, in);
    assert(!l->turn && !l->sub); /* one message at a time */
    l->turn = turn_start(server_runtime(local_server(l)), &req, &EVENTS, l);
    actor_unref(owner);
}

static void local_answer_input(struct chat_session *s, str input_id, const char *action,
                               const struct json *content)
{
    struct local_session *l = (struct local_session *)s;
    struct err e = {0};
    enum tool_question_action act;
    if (tool_question_parse_action(str_from(action), &act) &&
        tool_question_answer(server_runtime(local_server(l)), s->conversation_id, input_id,
                             server_operator(local_server(l)), act, content, &e) < 0)
        cli_complain(str_from(e.msg));
}

static void local_cancel(struct chat_session *s)
{
    struct local_session *l = (struct local_session *)s;
    if (l->turn)
        (void)runtime_cancel(server_runtime(local_server(l)), s->conversation_id);
}

/* ---- opening and closing ---- */

static void local_close(struct chat_session *s)
{
    struct local_session *l = (struct local_session *)s;
    bus_unsubscribe(l->sub);
    end_answer(l, &(struct err){.code = -ECANCELED});
    if (l->turn)
        turn_forget(l->turn);
}

struct chat_session *session_new_local(void)
{
    static const struct session_ops OPS = {local_send, local_answer_input, local_cancel,
                                           local_close};
    struct local_session *l = xcalloc(1, sizeof *l);
    l->base.ops = &OPS;
    return &l->base;
}
