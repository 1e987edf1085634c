/* sampling/createMessage of an interface: a model call that the person allows each time. */
#include <assert.h>
#include <errno.h>

#include "api/views/view_rpc.h"
#include "apps/sampling.h"

static void on_view_sampled(void *ctx, const struct json *result, const struct err *err)
{
    struct view_rpc *q = ctx;
    q->cancel = NULL;
    if (result)
        view_rpc_result(q, result);
    else
        view_rpc_fail(q, VIEW_RPC_REFUSED, "%s", err->msg);
}

static void cancel_sampling(struct view_rpc *q)
{
    sampling_cancel(q->work);
}

static bool may_sample(const struct view_rpc *q)
{
    const struct app_view *v = q->view;
    return v->samplings < VIEW_SAMPLINGS && hub_may(&v->watch, CONV_SEND);
}

static void on_sampling_decided(struct view_rpc *q, enum ask_decision d)
{
    struct app_view *v = q->view;
    struct err e = {0};
    struct sampling *s;
    if (d == ASK_DENY || !may_sample(q)) {
        view_audit_refusal(q, STR("sampling/createMessage"), STR("the person did not allow it"));
        view_rpc_fail(q, VIEW_RPC_REFUSED, "The person did not allow the use of the model.");
        return;
    }
    view_audit(q, STR("sampling/createMessage"), STR_NONE);
    const struct sampling_place at = {.conversation_id = v->conversation_id,
                                      .user_id = actor_user(v->watcher.actor),
                                      .model = v->model,
                                      .source = v->source};
    int r = sampling_start_for_interface(v->watcher.space->runtime, &at, q->params, on_view_sampled,
                                         q, &s, &e);
    if (r < 0) {
        view_rpc_fail(q, r == -EDQUOT ? VIEW_RPC_REFUSED : RPC_INVALID_PARAMS, "%s", e.msg);
        return;
    }
    v->samplings++;
    q->work = s;
    q->cancel = cancel_sampling;
}

void view_sample(struct view_rpc *q)
{
    const struct app_view *v = q->view;
    struct view_ask ask = {.kind = "sampling", .title = v->source, .detail = q->params};
    if (v->conversation_id.n == 0)
        view_rpc_fail(q, RPC_METHOD_NOT_FOUND, "This interface belongs to no conversation.");
    else if (!json_is(json_get(q->params, "messages"), JSON_ARRAY))
        view_rpc_fail(q, RPC_INVALID_PARAMS, "messages: expected an array");
    else if (!may_sample(q))
        view_rpc_fail(q, VIEW_RPC_REFUSED, "%s",
                      v->samplings < VIEW_SAMPLINGS
                          ? "You may read this conversation, but not write in it."
                          : "This interface has used the model too often.");
    else
        view_rpc_ask(q, &ask, on_sampling_decided);
}
