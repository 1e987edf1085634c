/* A session through a running server: uses its API over the Unix socket. */
#include <assert.h>

#include "cli/session/session_impl.h"
#include "net/sse_parse.h"

#define BODY_MAX (64u * 1024 * 1024)

struct remote_session {
    struct chat_session base;
    struct fetch *chat, *cancel;
    struct list_node posted;
    struct sse_parser sse;
    struct buf error_body;
    int status;
    bool is_finished; /* the last event of the stream was received */
};

/* ---- the chat itself ---- */

static void on_sse(void *ctx, const struct sse_event *ev)
{
    struct remote_session *r = ctx;
    if (!r->is_finished)
        r->is_finished = session_dispatch(&r->base, ev->event, ev->data);
}

static void on_chat_head(void *ctx, int status, const struct fetch_header *h, size_t n)
{
    ((struct remote_session *)ctx)->status = status;
}

static void on_chat_data(void *ctx, str bytes)
{
    struct remote_session *r = ctx;
    if (r->status == 200)
        (void)sse_parser_feed(&r->sse, bytes);
    else
        buf_add_str(&r->error_body, bytes);
}

static void on_chat_done(void *ctx, const struct err *err)
{
    struct remote_session *r = ctx;
    assert(r->chat);
    r->chat = NULL;
    if (r->is_finished)
        return;
    if (r->status != 200 && r->error_body.n > 0) {
        (void)session_dispatch(&r->base, STR("error"), buf_str(&r->error_body));
        return;
    }
    session_error(&r->base, STR("connection_lost"),
                  err->code ? str_from(err->msg)
                            : STR("the running server closed the connection; the answer may still "
                                  "be in the conversation"));
}

static void write_answer(struct json_writer *w, const struct session_input *in)
{
    jw_kobject(w, "answer");
    jw_kstr(w, "askId", in->ask_id);
    jw_kval(w, "decisions", in->decisions);
    jw_end(w);
}

static void write_directory(struct json_writer *w, const struct dir_grant *g)
{
    jw_kobject(w, "workingDirectory");
    jw_kstr(w, "path", g->path);
    jw_kstr(w, "id", g->id);
    jw_end(w);
}

static str chat_body(struct remote_session *r, struct buf *b, const struct session_input *in)
{
    struct json_writer w;
    jw_init(&w, b);
    jw_object(&w);
    if (in->ask_id.n > 0)
        write_answer(&w, in);
    else
        jw_kstr(&w, "message", in->text);
    jw_kstr(&w, "channel", STR("tui"));
    if (r->base.directory.path.n > 0)
        write_directory(&w, &r->base.directory);
    jw_kbool(&w, "unattended", r->base.is_unattended);
    jw_kstrs(&w, "autoAllow", r->base.allow.items, r->base.allow.len);
    if (r->base.conversation_id.n > 0)
        jw_kstr(&w, "conversationId", r->base.conversation_id);
    if (r->base.config->models.named.n > 0)
        jw_kstr(&w, "model", r->base.config->models.named);
    jw_end(&w);
    return buf_str(b);
}

static void remote_send(struct chat_session *s, const struct session_input *in)
{
    static const struct fetch_events EVENTS = {on_chat_head, on_chat_data, on_chat_done};
    struct remote_session *r = (struct remote_session *)s;
    struct buf body;
    assert(!r->chat); /* one message at a time */
    buf_init(&body, BODY_MAX);
    r->is_finished = false;
    r->status = 0;
    buf_clear(&r->error_body);
    sse_parser_done(&r->sse);
    sse_parser_init(&r->sse, BODY_MAX, on_sse, r);
    struct client_ask q = {
        .method = "POST", .path = STR("/v1/chat/stream"), .body = chat_body(r, &body, in)};
    r->chat = client_fetch(s->client, &q, 0, &EVENTS, r);
    buf_done(&body);
}

static void on_cancel_done(void *ctx, const struct err *err)
{
    ((struct remote_session *)ctx)->cancel = NULL;
}

static void on_cancel_data(void *ctx, str bytes) {}

static void on_cancel_head(void *ctx, int status, const struct fetch_header *h, size_t n) {}

/* Sends an answer; its response is ignored, because the stream reports the result. */
struct posted {
    struct list_node node;
    struct fetch *fetch;
};

static void on_posted(void *ctx, const struct err *err)
{
    struct posted *p = ctx;
    list_del(&p->node);
    free(p);
}

static void remote_answer_input(struct chat_session *s, str input_id, const char *action,
                                const struct json *content)
{
    static const struct fetch_events EVENTS = {on_cancel_head, on_cancel_data, on_posted};
    struct remote_session *r = (struct remote_session *)s;
    struct posted *p = xcalloc(1, sizeof *p);
    struct arena a;
    arena_init(&a);
    struct json *body = json_new(&a, JSON_OBJECT);
    json_set(&a, body, STR("action"), json_of_str(str_from(action)));
    if (content)
        json_set(&a, body, STR("content"), *content);
    struct client_ask q = {.method = "POST",
                           .path = arena_printf(&a, "/v1/conversations/%.*s/inputs/%.*s",
                                                STR_ARG(s->conversation_id), STR_ARG(input_id)),
                           .body = json_to_str(&a, body)};
    list_push(&r->posted, &p->node);
    p->fetch = client_fetch(s->client, &q, 0, &EVENTS, p);
    arena_done(&a);
}

static void drop_posted(struct remote_session *r)
{
    LIST_EACH (p, &r->posted, struct posted, node) {
        fetch_cancel(p->fetch);
        on_posted(p, NULL);
    }
}

static void remote_cancel(struct chat_session *s)
{
    static const struct fetch_events EVENTS = {on_cancel_head, on_cancel_data, on_cancel_done};
    struct remote_session *r = (struct remote_session *)s;
    if (!r->chat || r->cancel || s->conversation_id.n == 0)
        return;
    struct arena a;
    arena_init(&a);
    struct client_ask q = {
        .method = "POST",
        .path = arena_printf(&a, "/v1/conversations/%.*s/cancel", STR_ARG(s->conversation_id))};
    r->cancel = client_fetch(s->client, &q, 0, &EVENTS, r);
    arena_done(&a);
}

static void remote_close(struct chat_session *s)
{
    struct remote_session *r = (struct remote_session *)s;
    if (r->chat)
        fetch_cancel(r->chat);
    if (r->cancel)
        fetch_cancel(r->cancel);
    drop_posted(r);
    sse_parser_done(&r->sse);
    buf_done(&r->error_body);
}

struct chat_session *session_new_remote(void)
{
    static const struct session_ops OPS = {remote_send, remote_answer_input, remote_cancel,
                                           remote_close};
    struct remote_session *r = xcalloc(1, sizeof *r);
    r->base.ops = &OPS;
    list_init(&r->posted);
    buf_init(&r->error_body, BODY_MAX);
    return &r->base;
}
