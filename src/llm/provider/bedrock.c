/* Claude on Amazon Bedrock: the body of the Messages API at another address, signed, and answered
 * as a stream of frames. Each frame has one event of the Messages API in base64. */
#include "base/bytes/base64.h"
#include "llm/provider/provider.h"
#include "net/url.h"

#define EVENT_MAX (16u * 1024 * 1024)

/* The model is what people typed: it stays one segment of the path. */
static str bedrock_url(const struct provider *p, str model, struct arena *a)
{
    struct buf name;
    buf_init(&name, model.n * 3 + 1);
    url_encode(&name, model, NULL);
    str url = arena_printf(a, "%.*s/model/%.*s/invoke-with-response-stream", STR_ARG(p->base_url),
                           STR_ARG(buf_str(&name)));
    buf_done(&name);
    return url;
}

static size_t bedrock_sign(const struct provider *p, struct arena *a, str url, str body,
                           int64_t now_ms, struct fetch_header out[AUTH_MAX])
{
    ptrdiff_t scheme = str_find(url, STR("://"), 0);
    str rest = str_skip(url, scheme < 0 ? 0 : (size_t)scheme + 3);
    ptrdiff_t slash = str_find_char(rest, '/');
    if (p->api_key.n > 0 || p->aws.access_key.n == 0 || slash < 0)
        return 0; /* an API key of Bedrock is a bearer */
    struct aws_request req = {.method = "POST",
                              .host = str_slice(rest, 0, (size_t)slash),
                              .path = str_skip(rest, (size_t)slash),
                              .body = body};
    return aws_sign(a, &p->aws, "bedrock", &req, now_ms, out);
}

/* "throttlingException" and the like, as the rules for errors know them. */
static void read_exception(struct answer *an, const struct aws_frame *f)
{
    struct json *body;
    str message = STR_NONE;
    arena_reset(&an->scratch);
    if (json_parse(&an->scratch, f->payload, 0, &body, NULL) == 0)
        message = json_get_string(body, "message");
    answer_fail(an, f->name, message.n > 0 ? message : STR("the server aborted the answer"));
}

static void read_chunk(struct answer *an, const struct aws_frame *f)
{
    struct json *body;
    struct buf event;
    arena_reset(&an->scratch);
    buf_init(&event, EVENT_MAX);
    bool is_good = json_parse(&an->scratch, f->payload, 0, &body, NULL) == 0 &&
                   base64_decode(&event, json_get_string(body, "bytes")) == 0 && event.n > 0;
    if (is_good)
        anthropic_event(an, &(struct sse_event){.data = buf_str(&event), .retry_ms = -1});
    else
        answer_fail(an, STR("bad_stream"), STR("the stream holds a frame without an event"));
    buf_done(&event);
}

static void bedrock_frame(struct answer *an, const struct aws_frame *f)
{
    if (an->is_complete || an->has_error)
        return;
    if (!str_eq(f->message_type, STR("event")))
        read_exception(an, f);
    else if (str_eq(f->name, STR("chunk")))
        read_chunk(an, f);
}

const struct provider_type PROVIDER_BEDROCK = {
    .name = "bedrock",
    .build = anthropic_build_unnamed,
    .url = bedrock_url,
    .auth = provider_bearer,
    .sign = bedrock_sign,
    .frame = bedrock_frame,
    .event = anthropic_event,
    .eof = anthropic_eof,
};
