/* A session with a server in this process. */
#include <errno.h>

#include "api/frames.h"
#include "cli/session/await_bundles.h"
#include "cli/session/own_server.h"
#include "cli/session/session_impl.h"
#include "runtime/history/replay.h"
#include "runtime/report.h"
#include "runtime/turn/tool_question.h"
#include "workspace/deed.h"

#define REPORT_MAX    (64u * 1024 * 1024)
#define STOP_GRACE_MS 5000

struct local {
    struct session base;
    struct server *server;
    struct turn *turn;
    struct bus_sub *sub;
    struct deed *answer; /* answer to a permission question, until it is accepted or refused */
};

/* ---- one message ---- */

static void on_msg(void *ctx, struct bus_msg *msg)
{
    struct local *l = ctx;
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

static void begin_answer(struct local *l, const struct actor *by, const struct session_input *in)
{
    struct arena a;
    arena_init(&a);
    l->answer = deed_begin(server_audit(l->server),
                           &(struct doer){.actor = by, .via = STR("cli"), .how = STR("terminal")},
                           STR("permission.answer"), l->base.conversation_id);
    if (in->decisions)
        deed_detail(l->answer, "decisions=%.*s", STR_ARG(json_to_str(&a, in->decisions)));
    deed_detail(l->answer, "ask=%.*s", STR_ARG(in->ask_id));
    arena_done(&a);
}

static void end_answer(struct local *l, const struct err *err)
{
    deed_end(l->answer, err);
    l->answer = NULL;
}

static void on_local_started(void *ctx, str conversation_id, str run_id, bool is_new)
{
    struct local *l = ctx;
    struct arena a;
    if (!str_eq(l->base.conversation_id, conversation_id))
        l->base.conversation_id = arena_str(&l->base.arena, conversation_id);
    arena_init(&a);
    str topic = store_topic(&a, server_store(l->server), conversation_id);
    l->sub = bus_subscribe(server_bus(l->server), topic, on_msg, l);
    arena_done(&a);
    end_answer(l, NULL);
    l->base.ev->on_started(l->base.ctx, conversation_id);
}

static void local_finish(struct local *l)
{
    bus_unsubscribe(l->sub);
    l->sub = NULL;
    l->turn = NULL;
}

static void on_local_done(void *ctx, const struct turn_result *t)
{
    struct local *l = ctx;
    struct buf data;
    struct json_writer w;
    local_finish(l);
    if (t->run->stop == RUN_STOP_ERROR) {
        l->base.ev->on_error(l->base.ctx, str_from(t->run->error_type), str_from(t->run->err.msg));
        return;
    }
    jw_start(&w, &data, REPORT_MAX);
    report_write(&w, t);
    (void)session_dispatch(&l->base, STR("done"), buf_str(&data));
    buf_done(&data);
}

static void on_local_refused(void *ctx, enum turn_refusal why, const struct err *err)
{
    struct local *l = ctx;
    local_finish(l);
    end_answer(l, err);
    l->base.ev->on_error(l->base.ctx, STR("refused"), str_from(err->msg));
}

static void local_send(struct session *s, const struct session_input *in)
{
    static const struct turn_events EVENTS = {on_local_started, on_local_done, on_local_refused};
    struct local *l = (struct local *)s;
    struct actor *owner = server_actor(l->server);
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
    l->turn = turn_start(server_runtime(l->server), &req, &EVENTS, l);
    actor_unref(owner);
}

static void local_answer_input(struct session *s, str input_id, const char *action,
                               const struct json *content)
{
    struct local *l = (struct local *)s;
    struct err e = {0};
    enum tool_question_action act;
    if (tool_question_parse_action(str_from(action), &act) &&
        tool_question_answer(server_runtime(l->server), s->conversation_id, input_id,
                             server_operator(l->server), act, content, &e) < 0)
        cli_complain(str_from(e.msg));
}

static void local_cancel(struct session *s)
{
    struct local *l = (struct local *)s;
    if (l->turn)
        (void)runtime_cancel(server_runtime(l->server), s->conversation_id);
}

/* ---- resuming ---- */

struct lookup {
    struct local *local;
    struct err err;
    bool is_done;
};

static void on_local_found(void *ctx, const struct err *err, const struct conv *conv)
{
    struct lookup *k = ctx;
    k->is_done = true;
    if (err) {
        k->err = *err;
        return;
    }
    k->local->base.conversation_id = arena_str(&k->local->base.arena, conv->id);
    session_use_model(&k->local->base, conv->last_model);
}

static void on_local_listed(void *ctx, const struct err *err, const struct store_listing *list)
{
    struct lookup *k = ctx;
    struct err none = {0};
    if (!err && list->n == 0) {
        err_set(&none, -ENOENT, "no conversation to continue yet");
        err = &none;
    }
    on_local_found(k, err, err ? NULL : &list->convs[0]);
}

static int local_resume(struct session *s, str id, struct err *e)
{
    struct local *l = (struct local *)s;
    struct lookup k = {.local = l};
    struct store_query latest = {.limit = 1};
    struct store *store = server_store(l->server);
    struct store_op *op = id.n > 0 ? store_get(store, id, on_local_found, &k)
                                   : store_list(store, &latest, on_local_listed, &k);
    if (!loop_run_until(s->loop, &k.is_done, UINT32_MAX)) {
        store_op_cancel(op);
        return err_set(e, -ETIMEDOUT, "the conversation could not be read in time");
    }
    if (k.err.code == -ENOENT && id.n > 0)
        return err_set(e, -ENOENT, "no conversation '%.*s' in %s", STR_ARG(id),
                       s->config->work_dir);
    *e = k.err;
    return k.err.code;
}

/* ---- earlier messages ---- */

struct reading {
    struct arena *arena;
    struct session_past *past;
    struct err err;
    bool is_done;
};

static void on_local_page(void *ctx, const struct err *err, const struct store_page *page)
{
    struct reading *k = ctx;
    k->is_done = true;
    if (err) {
        k->err = *err;
        return;
    }
    str *lines = arena_array(k->arena, page->n, sizeof *lines);
    for (size_t i = 0; i < page->n; i++)
        lines[i] = arena_str(k->arena, page->events[i].line);
    struct session_past *p = k->past;
    struct replay h = replay_lines(k->arena, lines, NULL, page->n);
    p->messages = arena_array(k->arena, h.n, sizeof *p->messages);
    for (size_t i = 0; i < h.n; i++) {
        str text = replay_text(k->arena, &h.messages[i]);
        if (text.n > 0)
            p->messages[p->n++] = (struct session_message){h.messages[i].role == REPLAY_USER, text};
    }
    p->ask = replay_ask_json(k->arena, &h);
}

static int local_past(struct session *s, struct arena *a, struct session_past *ret, struct err *e)
{
    struct local *l = (struct local *)s;
    struct reading k = {.arena = a, .past = ret};
    struct store_range range = {.backwards = true, .max_events = SESSION_HISTORY_EVENTS};
    struct store_op *op =
        store_read(server_store(l->server), s->conversation_id, &range, on_local_page, &k);
    if (!loop_run_until(s->loop, &k.is_done, UINT32_MAX)) {
        store_op_cancel(op);
        return err_set(e, -ETIMEDOUT, "the conversation could not be read in time");
    }
    *e = k.err;
    return k.err.code;
}

/* ---- opening and closing ---- */

static void local_close(struct session *s)
{
    struct local *l = (struct local *)s;
    bus_unsubscribe(l->sub);
    end_answer(l, &(struct err){.code = -ECANCELED});
    if (l->turn)
        turn_forget(l->turn);
    server_close(l->server, STOP_GRACE_MS);
    arena_done(&s->arena);
    free(l);
}

static const struct session_ops OPS = {local_resume,       local_past,   local_send,
                                       local_answer_input, local_cancel, local_close};

int session_open_local(struct loop *loop, struct config *c, bool is_interactive,
                       struct session **ret, struct err *e)
{
    struct local *l = xcalloc(1, sizeof *l);
    l->base = (struct session){.ops = &OPS, .loop = loop, .config = c};
    arena_init(&l->base.arena);
    session_use_directory(&l->base);
    int r = own_server_new(loop, c, true, &l->server, e);
    if (r < 0) {
        arena_done(&l->base.arena);
        free(l);
        return r;
    }
    await_bundles(l->server, is_interactive);
    str why;
    l->base.model = arena_str(&l->base.arena, llm_default_model(server_llm(l->server), &why));
    *ret = &l->base;
    return 0;
}
