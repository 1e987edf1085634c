/* /v1/conversations/:id/inputs - questions that tools ask people during a call. */
#include <errno.h>

#include "api/bodies.h"
#include "api/conversations/history.h"
#include "api/handlers.h"
#include "runtime/others/question_remote.h"

static void send_list(struct api_wait *w, const struct err *err, const struct history_page *page)
{
    struct api_json j;
    if (err) {
        api_fail(w->req, FROM_STORE, err);
        return;
    }
    api_json_begin(&j);
    jw_kstr(&j.w, "conversationId", w->id);
    jw_kval(&j.w, "inputs", history_questions(w, page));
    api_json_send(&j, w->req);
}

static void inputs_list(struct api_wait *w, const struct conv *c)
{
    if (store_has_leases(w->space->store))
        history_read(w); /* the run may be another server's */
    else
        send_list(w, NULL, NULL);
}

void api_inputs_list(void *ctx, struct http_req *r)
{
    struct history_wish *wish = ARENA_NEW(&r->arena, struct history_wish);
    wish->range = history_range(0, 0);
    wish->reply = send_list;
    api_find_conv(ctx, r, wish, inputs_list);
}

struct input_body {
    str action;
    const struct json *content;
};

const struct json_field API_INPUT_FIELDS[] = {
    {"action", JF_STR, offsetof(struct input_body, action), JF_REQUIRED, NULL, 0,
     "What the person decided.", "'accept'|'decline'|'cancel'"},
    {"content", JF_JSON_OBJECT, offsetof(struct input_body, content), 0, NULL, 0,
     "The values of the form, with `accept`."},
    {0}};

static void reply_answered(struct http_req *r, enum tool_question_action action)
{
    struct api_json j;
    api_json_begin(&j);
    jw_kstr(&j.w, "inputId", r->params[1]);
    jw_kstr(&j.w, "action", tool_question_action_name(action));
    api_json_send(&j, r);
}

struct input_wait { /* another server may have the question */
    struct http_req *req;
    enum tool_question_action action;
    struct others_ask *ask;
    struct err not_here;
};

static void on_input_gone(struct http_req *r)
{
    const struct input_wait *i = r->user;
    others_ask_cancel(i->ask);
}

static void on_input_answered(void *ctx, const struct err *err)
{
    struct input_wait *i = ctx;
    i->ask = NULL;
    if (err)
        api_fail(i->req, FROM_INPUT, err->code == -ETIMEDOUT ? &i->not_here : err);
    else
        reply_answered(i->req, i->action);
}

static void answer_elsewhere(const struct api_wait *w, const struct tool_question_answer *answer,
                             const struct err *not_here)
{
    struct http_req *r = w->req;
    struct input_wait *i = ARENA_NEW(&r->arena, struct input_wait);
    *i = (struct input_wait){.req = r, .action = answer->action, .not_here = *not_here};
    i->ask = tool_question_answer_elsewhere(w->space->runtime, answer, on_input_answered, i);
    r->user = i;
    r->on_gone = on_input_gone;
}

static void inputs_answer(struct api_wait *w, const struct conv *c)
{
    const struct input_body *body = w->data;
    struct tool_question_answer answer = {.conversation_id = w->id,
                                          .input_id = w->req->params[1],
                                          .user_id = api_user(w->req),
                                          .tool_limit = actor_token_limit(api_actor(w->req)),
                                          .content = body->content};
    struct err e = {0};
    if (!tool_question_parse_action(body->action, &answer.action)) {
        api_bad_request(w->req, "action: expected accept, decline or cancel");
        return;
    }
    int r = tool_question_answer(w->space->runtime, &answer, &e);
    if (r == -ENOENT && store_has_leases(w->space->store))
        answer_elsewhere(w, &answer, &e);
    else if (r < 0)
        api_fail(w->req, FROM_INPUT, &e);
    else
        reply_answered(w->req, answer.action);
}

void api_inputs_answer(void *ctx, struct http_req *r)
{
    struct input_body *body = ARENA_NEW(&r->arena, struct input_body);
    if (api_decode_body(r, API_INPUT_FIELDS, body))
        api_find_conv(ctx, r, body, inputs_answer);
}
