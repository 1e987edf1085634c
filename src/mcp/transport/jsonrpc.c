#include "mcp/transport/jsonrpc.h"

#include <errno.h>

int rpc_parse(struct arena *a, str text, struct json **ret, struct err *e)
{
    if (text.n > RPC_MESSAGE_MAX)
        return err_set(e, -EMSGSIZE, "the message has %zu bytes; the limit is %u", text.n,
                       RPC_MESSAGE_MAX);
    struct json *v;
    int rc = json_parse(a, text, 0, &v, e);
    if (rc < 0)
        return rc;
    if (v->type == JSON_ARRAY && (v->len == 0 || v->len > RPC_BATCH_MAX))
        return err_set(e, -EINVAL, "the batch has %u messages; 1 to %d are allowed", v->len,
                       RPC_BATCH_MAX);
    *ret = v;
    return 0;
}

static int take_method(struct json *v, const struct json *method, struct rpc_message *m,
                       struct err *e)
{
    if (!json_is(method, JSON_STRING) || method->s.n == 0)
        return err_set(e, -EINVAL, "\"method\" is not a non-empty string");
    m->method = method->s;
    m->params = json_get(v, "params");
    if (m->params && m->params->type != JSON_OBJECT)
        return err_set(e, -EINVAL, "%.*s: \"params\" is not an object", STR_ARG(m->method));
    if (json_get(v, "result") || json_get(v, "error"))
        return err_set(e, -EINVAL,
                       "the message has a \"method\" and also a \"result\" or an \"error\"");
    m->kind = m->id ? RPC_REQUEST : RPC_NOTIFICATION;
    return 0;
}

static int take_error(struct json *error, struct rpc_message *m, struct err *e)
{
    if (!json_is(error, JSON_OBJECT) || !json_is(json_get(error, "code"), JSON_INT) ||
        !json_is(json_get(error, "message"), JSON_STRING))
        return err_set(e, -EINVAL, "\"error\" has no integer \"code\" or no \"message\"");
    m->kind = RPC_ERROR;
    m->error = error;
    return 0;
}

static int take_result(struct json *result, struct rpc_message *m, struct err *e)
{
    if (!json_is(result, JSON_OBJECT))
        return err_set(e, -EINVAL, "\"result\" is not an object");
    if (!m->id)
        return err_set(e, -EINVAL, "the result has no \"id\"");
    m->kind = RPC_RESULT;
    m->result = result;
    return 0;
}

/* null means "unknown id" in an error message; in every other message it is invalid. */
static int take_id(const struct json *v, struct rpc_message *m, struct err *e)
{
    const struct json *id = json_get(v, "id");
    if (!id || (id->type == JSON_NULL && json_get(v, "error")))
        return 0;
    if (id->type != JSON_INT && id->type != JSON_STRING)
        return err_set(e, -EINVAL, "\"id\" is neither a string nor an integer");
    m->id = id;
    return 0;
}

int rpc_classify(struct json *v, struct rpc_message *ret, struct err *e)
{
    *ret = (struct rpc_message){0};
    if (!json_is(v, JSON_OBJECT))
        return err_set(e, -EINVAL, "the message is not an object");
    int rc = take_id(v, ret, e);
    if (rc < 0)
        return rc;
    if (!str_eq(json_get_string(v, "jsonrpc"), STR("2.0")))
        return err_set(e, -EINVAL, "\"jsonrpc\" is not \"2.0\"");
    const struct json *method = json_get(v, "method");
    if (method)
        return take_method(v, method, ret, e);
    struct json *result = json_get(v, "result"), *error = json_get(v, "error");
    if (!result == !error)
        return err_set(e, -EINVAL,
                       "the message needs exactly one of \"method\", \"result\" and \"error\"");
    return error ? take_error(error, ret, e) : take_result(result, ret, e);
}

static void rpc_begin(struct json_writer *w, struct buf *out, const struct json *id)
{
    jw_init(w, out);
    jw_object(w);
    jw_kstr(w, "jsonrpc", STR("2.0"));
    if (id)
        jw_kval(w, "id", id);
}

void rpc_write_notification(struct buf *out, str method, const struct json *params)
{
    struct json_writer w;
    rpc_begin(&w, out, NULL);
    jw_kstr(&w, "method", method);
    if (params)
        jw_kval(&w, "params", params);
    jw_end(&w);
}

void rpc_write_result(struct buf *out, const struct json *id, const struct json *result)
{
    struct json_writer w;
    rpc_begin(&w, out, id);
    jw_kval(&w, "result", result);
    jw_end(&w);
}

void rpc_write_error(struct buf *out, const struct json *id, int64_t code, str message)
{
    struct json_writer w;
    rpc_begin(&w, out, id);
    jw_kobject(&w, "error");
    jw_kint(&w, "code", code);
    jw_kstr(&w, "message", message);
    jw_close(&w);
}
