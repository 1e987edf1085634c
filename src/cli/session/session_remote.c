/* A session through a running server: uses its API over the Unix socket. */
#include <errno.h>

#include "cli/session/client.h"
#include "cli/session/session_impl.h"
#include "net/sse_parse.h"

#define BODY_MAX       (64u * 1024 * 1024)
#define ASK_TIMEOUT_MS 10000
#define HOST           "http://localhost"

struct remote {
    struct session base;
    struct client *client;
    const char *socket_path;
    struct fetch_header headers[2]; /* for every request */
    size_t nheaders;
    struct fetch *chat, *cancel;
    struct list_node posted;
    struct sse_parser sse;
    struct buf error_body;
    int status;
    bool is_finished; /* the last event of the stream was received */
};

/* ---- resuming ---- */

static int remote_ask(struct remote *r, str path, struct arena *a, struct json **ret, struct err *e)
{
    struct client_ask q = {.path = path, .timeout_ms = ASK_TIMEOUT_MS};
    return client_ask(r->client, &q, a, ret, e);
}

static int resume_latest(struct remote *r, struct arena *a, struct err *e)
{
    struct json *list;
    int status = remote_ask(r, STR("/v1/conversations?limit=1"), a, &list, e);
    if (status < 0)
        return status;
    str id = json_get_string(json_at(json_get(list, "conversations"), 0), "id");
    if (id.n == 0)
        return err_set(e, -ENOENT, "no conversation to continue yet");
    r->base.conversation_id = arena_str(&r->base.arena, id);
    session_use_model(&r->base,
                      json_get_string(json_at(json_get(list, "conversations"), 0), "lastModel"));
    return 0;
}

static int remote_resume(struct session *s, str id, struct err *e)
{
    struct remote *r = (struct remote *)s;
    struct arena a;
    struct json *conv;
    arena_init(&a);
    int status;
    if (id.n == 0) {
        status = resume_latest(r, &a, e);
    } else {
        status =
            remote_ask(r, arena_printf(&a, "/v1/conversations/%.*s", STR_ARG(id)), &a, &conv, e);
        if (status == 0) {
            s->conversation_id = arena_str(&s->arena, id);
            session_use_model(s, json_get_string(conv, "lastModel"));
        }
    }
    arena_done(&a);
    return status;
}

static int remote_past(struct session *s, struct arena *a, struct session_past *ret, struct err *e)
{
    struct remote *r = (struct remote *)s;
    struct json *page;
    str path = arena_printf(a, "/v1/conversations/%.*s/history?limit=%d",
                            STR_ARG(s->conversation_id), SESSION_HISTORY_EVENTS);
    int status = remote_ask(r, path, a, &page, e);
    if (status < 0)
        return status;
    const struct json *list = json_get(page, "messages");
    size_t len = json_is(list, JSON_ARRAY) ? list->len : 0;
    const struct json *question = json_get(page, "ask");
    ret->ask = json_is(question, JSON_OBJECT) ? question : NULL;
    ret->messages = arena_array(a, len, sizeof *ret->messages);
    for (size_t i = 0; i < len; i++) {
        const struct json *m = json_at(list, i);
        str text = json_get_string(m, "content");
        bool is_user = str_eq(json_get_string(m, "role"), STR("user"));
        if (text.n > 0)
            ret->messages[ret->n++] = (struct session_message){is_user, text};
    }
    return 0;
}

/* ---- the chat itself ---- */

static void on_sse(void *ctx, const struct sse_event *ev)
{
    struct remote *r = ctx;
    if (!r->is_finished)
        r->is_finished = session_dispatch(&r->base, ev->event, ev->data);
}

static void on_chat_head(void *ctx, int status, const struct fetch_header *h, size_t n)
{
    ((struct remote *)ctx)->status = status;
}

static void on_chat_data(void *ctx, str bytes)
{
    struct remote *r = ctx;
    if (r->status == 200)
        (void)sse_parser_feed(&r->sse, bytes);
    else
        buf_add_str(&r->error_body, bytes);
}

static void on_chat_done(void *ctx, const struct err *err)
{
    struct remote *r = ctx;
    r->chat = NULL;
    if (r->is_finished)
        return;
    if (r->status != 200 && r->error_body.n > 0) {
        (void)session_dispatch(&r->base, STR("error"), buf_str(&r->error_body));
        return;
    }
    r->base.ev->on_error(r->base.ctx, STR("connection_lost"),
                         err->code ? str_from(err->msg)
                                   : STR("the running server closed the connection; the answer may "
                                         "still be in the conversation"));
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

static str chat_body(struct remote *r, struct buf *b, const struct session_input *in)
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

static void remote_send(struct session *s, const struct session_input *in)
{
    static const struct fetch_events EVENTS = {on_chat_head, on_chat_data, on_chat_done};
    struct remote *r = (struct remote *)s;
    struct buf body;
    buf_init(&body, BODY_MAX);
    r->is_finished = false;
    r->status = 0;
    buf_clear(&r->error_body);
    sse_parser_done(&r->sse);
    sse_parser_init(&r->sse, BODY_MAX, on_sse, r);
    struct fetch_spec spec = {
        .url = STR(HOST "/v1/chat/stream"),
        .headers = r->headers,
        .nheaders = r->nheaders,
        .body = chat_body(r, &body, in),
        .has_body = true,
        .unix_socket = r->socket_path,
    };
    r->chat = fetch_start(client_fetcher(r->client), &spec, &EVENTS, r);
    buf_done(&body);
}

static void on_cancel_done(void *ctx, const struct err *err)
{
    ((struct remote *)ctx)->cancel = NULL;
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

static str input_body(struct buf *b, const char *action, const struct json *content)
{
    struct json_writer w;
    jw_init(&w, b);
    jw_object(&w);
    jw_kstr(&w, "action", str_from(action));
    if (content)
        jw_kval(&w, "content", content);
    jw_end(&w);
    return buf_str(b);
}

static void remote_answer_input(struct session *s, str input_id, const char *action,
                                const struct json *content)
{
    static const struct fetch_events EVENTS = {on_cancel_head, on_cancel_data, on_posted};
    struct remote *r = (struct remote *)s;
    struct posted *p = xcalloc(1, sizeof *p);
    struct arena a;
    struct buf body;
    arena_init(&a);
    buf_init(&body, BODY_MAX);
    struct fetch_spec spec = {
        .url = arena_printf(&a, HOST "/v1/conversations/%.*s/inputs/%.*s",
                            STR_ARG(s->conversation_id), STR_ARG(input_id)),
        .headers = r->headers,
        .nheaders = r->nheaders,
        .body = input_body(&body, action, content),
        .has_body = true,
        .unix_socket = r->socket_path,
    };
    list_push(&r->posted, &p->node);
    p->fetch = fetch_start(client_fetcher(r->client), &spec, &EVENTS, p);
    buf_done(&body);
    arena_done(&a);
}

static void drop_posted(struct remote *r)
{
    LIST_FOREACH (n, &r->posted) {
        struct posted *p = LIST_ENTRY(n, struct posted, node);
        fetch_cancel(p->fetch);
        on_posted(p, NULL);
    }
}

static void remote_cancel(struct session *s)
{
    static const struct fetch_events EVENTS = {on_cancel_head, on_cancel_data, on_cancel_done};
    struct remote *r = (struct remote *)s;
    if (!r->chat || r->cancel || s->conversation_id.n == 0)
        return;
    struct arena a;
    arena_init(&a);
    struct fetch_spec spec = {
        .method = "POST",
        .url = arena_printf(&a, HOST "/v1/conversations/%.*s/cancel", STR_ARG(s->conversation_id)),
        .headers = r->headers,
        .nheaders = r->nheaders,
        .has_body = true,
        .unix_socket = r->socket_path,
    };
    r->cancel = fetch_start(client_fetcher(r->client), &spec, &EVENTS, r);
    arena_done(&a);
}

static void remote_close(struct session *s)
{
    struct remote *r = (struct remote *)s;
    if (r->chat)
        fetch_cancel(r->chat);
    if (r->cancel)
        fetch_cancel(r->cancel);
    drop_posted(r);
    sse_parser_done(&r->sse);
    buf_done(&r->error_body);
    client_close(r->client);
    arena_done(&s->arena);
    free(r);
}

static const struct session_ops OPS = {remote_resume,       remote_past,   remote_send,
                                       remote_answer_input, remote_cancel, remote_close};

int session_open_remote(struct loop *l, struct config *c, const char *socket_path,
                        struct session **ret, struct err *e)
{
    struct remote *r = xcalloc(1, sizeof *r);
    struct arena a;
    struct json *info;
    r->base = (struct session){.ops = &OPS, .loop = l, .config = c};
    arena_init(&r->base.arena);
    session_use_directory(&r->base);
    list_init(&r->posted);
    r->socket_path = arena_cstr(&r->base.arena, str_from(socket_path));
    r->client = client_open_remote(l, socket_path, c->workspace);
    r->headers[r->nheaders++] = (struct fetch_header){STR("Content-Type"), STR("application/json")};
    if (c->workspace)
        r->headers[r->nheaders++] =
            (struct fetch_header){STR("X-Workspace-Id"), str_from(c->workspace)};
    buf_init(&r->error_body, BODY_MAX);
    arena_init(&a);
    int status = remote_ask(r, STR("/v1/workspace"), &a, &info, e);
    if (status == 0) {
        str named = c->models.named;
        str model = named.n > 0 ? named : json_get_string(json_get(info, "model"), "name");
        r->base.model = arena_str(&r->base.arena, model);
        *ret = &r->base;
    } else {
        remote_close(&r->base);
    }
    arena_done(&a);
    return status;
}

bool session_is_remote(const struct session *s)
{
    return s->ops == &OPS;
}
