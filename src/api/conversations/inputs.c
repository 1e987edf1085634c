/* /v1/conversations/:id/inputs - questions that tools ask people during a call. */
#include <errno.h>

#include "api/bodies.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "runtime/turn/tool_question.h"

static void send_list(struct api_wait *w, const struct conv *c)
{
    struct api_json j;
    api_json_begin(&j);
    jw_kstr(&j.w, "conversationId", w->id);
    jw_kval(&j.w, "inputs", tool_questions_json(w->space->runtime, w->id, &w->req->arena));
    api_json_send(&j, w->req);
}

void api_inputs_list(void *ctx, struct http_req *r)
{
    api_find_conv(ctx, r, NULL, send_list);
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

static void inputs_answer(struct api_wait *w, const struct conv *c)
{
    const struct input_body *body = w->data;
    struct err e = {0};
    enum tool_question_action action;
    if (!tool_question_parse_action(body->action, &action)) {
        api_bad_request(w->req, "action: expected accept, decline or cancel");
        return;
    }
    int r = tool_question_answer(w->space->runtime, w->id, w->req->params[1], api_actor(w->req),
                                 action, body->content, &e);
    if (r < 0) {
        api_fail(w->req, FROM_INPUT, &e);
    } else {
        struct api_json j;
        api_json_begin(&j);
        jw_kstr(&j.w, "inputId", w->req->params[1]);
        jw_kstr(&j.w, "action", body->action);
        api_json_send(&j, w->req);
    }
}

void api_inputs_answer(void *ctx, struct http_req *r)
{
    struct input_body *body = ARENA_NEW(&r->arena, struct input_body);
    if (api_decode_body(r, API_INPUT_FIELDS, body))
        api_find_conv(ctx, r, body, inputs_answer);
}
