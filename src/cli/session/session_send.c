/* session_send.c - messages and answers of a session: requests to the API, and its stream of
 * events. */
#include <assert.h>
#include <errno.h>

#include "cli/session/send_file.h"
#include "cli/session/session_impl.h"
#include "net/sse_parse.h"

#define BODY_MAX (64u * 1024 * 1024)

/* ---- the chat itself ---- */

static void on_sse(void *ctx, const struct sse_event *ev)
{
    struct chat_session *s = ctx;
    if (!s->is_finished)
        s->is_finished = session_dispatch(s, ev->event, ev->data);
}

static void on_chat_head(void *ctx, int status, const struct fetch_header *h, size_t n)
{
    ((struct chat_session *)ctx)->status = status;
}

static void on_chat_data(void *ctx, str bytes)
{
    struct chat_session *s = ctx;
    if (s->status == 200)
        (void)sse_parser_feed(&s->sse, bytes);
    else
        buf_add_str(&s->error_body, bytes);
}

/* The body may be of a proxy, and then is no JSON. */
static void tell_refused(struct chat_session *s)
{
    struct arena a;
    struct json *said = NULL;
    arena_init(&a);
    (void)json_parse(&a, buf_str(&s->error_body), JSON_COPY, &said, NULL);
    str code = session_is_remote(s) ? json_get_string(said, "error") : STR_NONE;
    session_error(s, code.n > 0 ? code : STR("refused"),
                  client_message(s->client, &a, s->status, buf_str(&s->error_body)));
    arena_done(&a);
}

static void tell_lost(struct chat_session *s, const struct err *err)
{
    struct arena a;
    arena_init(&a);
    str why = err->code ? str_from(err->msg) : STR("the server closed the connection");
    str what = s->status == 200
                   ? arena_printf(&a,
                                  "the answer was interrupted: %.*s. The conversation may have "
                                  "the rest of it; your next message continues there",
                                  STR_ARG(why))
                   : why;
    session_error(s, STR("connection_lost"), what);
    arena_done(&a);
}

static void on_chat_done(void *ctx, const struct err *err)
{
    struct chat_session *s = ctx;
    assert(s->chat);
    s->chat = NULL;
    if (s->is_finished)
        return;
    if (s->status != 200 && s->status != 0 && err->code == 0) {
        tell_refused(s);
        return;
    }
    s->was_cut = true;
    tell_lost(s, err);
}

static void write_answer(struct json_writer *w, const struct session_input *in)
{
    jw_kobject(w, "answer");
    jw_kstr(w, "askId", in->ask_id);
    jw_kval(w, "decisions", in->decisions);
    if (in->is_for_all)
        jw_kstr(w, "always", STR("workspace"));
    jw_end(w);
}

static void write_directory(struct json_writer *w, const struct dir_grant *g)
{
    jw_kobject(w, "workingDirectory");
    jw_kstr(w, "path", g->path);
    jw_kstr(w, "id", g->id);
    jw_end(w);
}

static void write_message(struct chat_session *s, struct json_writer *w, str text)
{
    jw_kstr(w, "message", text);
    if (s->wants_summary)
        jw_kbool(w, "compact", true);
    s->wants_summary = false;
    if (s->files)
        jw_kval(w, "files", s->files);
    s->files = NULL;
}

str session_body(struct chat_session *s, struct buf *b, const struct session_input *in)
{
    struct json_writer w;
    jw_init(&w, b);
    jw_object(&w);
    if (in->ask_id.n > 0)
        write_answer(&w, in);
    else
        write_message(s, &w, in->text);
    jw_kstr(&w, "channel", s->channel ? str_from(s->channel) : STR("tui"));
    bool is_known = !session_is_remote(s) && !s->lends_always; /* a server here has its own */
    if (s->directory.path.n > 0 && !is_known)
        write_directory(&w, &s->directory);
    jw_kbool(&w, "unattended", s->is_unattended);
    jw_kstrs(&w, "autoAllow", s->allow.items, s->allow.len);
    jw_kstr_if(&w, "conversationId", s->conversation_id);
    if (s->was_cut && in->ask_id.n == 0) /* else it is refused until somebody notices */
        jw_kstr(&w, "whenBusy", STR("queue"));
    jw_kstr_if(&w, "model", s->named_model.n > 0 ? s->named_model : s->config->models.named);
    jw_end(&w);
    return buf_str(b);
}

void session_post(struct chat_session *s, const struct session_input *in)
{
    static const struct fetch_events EVENTS = {on_chat_head, on_chat_data, on_chat_done};
    struct buf body;
    if (s->chat &&
        s->is_finished) { /* its last event has come; the rest is the end of the stream */
        client_cancel(s->chat);
        s->chat = NULL;
    }
    assert(!s->chat); /* one message at a time */
    buf_init(&body, BODY_MAX);
    s->is_finished = false;
    s->status = 0;
    buf_clear(&s->error_body);
    sse_parser_done(&s->sse);
    sse_parser_init(&s->sse, BODY_MAX, on_sse, s);
    struct client_ask q = {
        .method = "POST", .path = STR("/v1/chat/stream"), .body = session_body(s, &body, in)};
    s->chat = client_start(s->client, &q, 0, &EVENTS, s);
    buf_done(&body);
}

static void add_file(struct chat_session *s, str id)
{
    s->files = s->files ? s->files : json_new(&s->arena, JSON_ARRAY);
    json_push(&s->arena, s->files, json_of_str(id));
}

int session_attach(struct chat_session *s, const char *path, struct err *e)
{
    str id;
    int r = send_file(s->client, &s->arena, path, &id, e);
    if (r == 0)
        add_file(s, id);
    return r;
}

int session_attach_bytes(struct chat_session *s, str name, str bytes, struct err *e)
{
    str id;
    int r = send_bytes(s->client, &s->arena, name, bytes, &id, e);
    if (r == 0)
        add_file(s, id);
    return r;
}

void session_detach(struct chat_session *s)
{
    s->files = NULL;
}

int session_fetch(struct chat_session *s, str address, size_t max, struct arena *a, str *ret,
                  struct err *e)
{
    if (!str_starts(address, STR("/v1/conversations/")))
        return err_set(e, -EINVAL, "the result has no address");
    return client_get_bytes(s->client, address, max, a, ret, e);
}

/* ---- requests beside the chat: its stream reports their results ---- */

struct posted {
    struct list_node node;
    struct client_call *call;
    struct chat_session *session;
    bool is_cancel;
    int status;
    struct buf body;
};

static void on_posted_head(void *ctx, int status, const struct fetch_header *h, size_t n)
{
    ((struct posted *)ctx)->status = status;
}

static void on_posted_data(void *ctx, str bytes)
{
    (void)buf_add_str(&((struct posted *)ctx)->body, bytes);
}

static void posted_free(struct posted *p)
{
    list_del(&p->node);
    buf_done(&p->body);
    free(p);
}

static void on_posted(void *ctx, const struct err *err)
{
    struct posted *p = ctx;
    struct arena a;
    arena_init(&a);
    if (p->is_cancel)
        p->session->is_cancelling = false;
    else if (p->status >= 400 && !session_is_remote(p->session))
        cli_complain(client_message(p->session->client, &a, p->status, buf_str(&p->body)));
    arena_done(&a);
    posted_free(p);
}

static void post(struct chat_session *s, str path, str body, bool is_cancel)
{
    static const struct fetch_events EVENTS = {on_posted_head, on_posted_data, on_posted};
    struct client_ask q = {"POST", path, body, 0};
    struct posted *p = xcalloc(1, sizeof *p);
    p->session = s;
    p->is_cancel = is_cancel;
    buf_init(&p->body, BODY_MAX);
    list_push(&s->posted, &p->node);
    p->call = client_start(s->client, &q, 0, &EVENTS, p);
}

void session_answer_input(struct chat_session *s, str input_id, const char *action,
                          const struct json *content)
{
    struct arena a;
    arena_init(&a);
    struct json *body = json_new(&a, JSON_OBJECT);
    json_set(&a, body, STR("action"), json_of_str(str_from(action)));
    if (content)
        json_set(&a, body, STR("content"), *content);
    str path = arena_printf(&a, "/v1/conversations/%.*s/inputs/%.*s", STR_ARG(s->conversation_id),
                            STR_ARG(input_id));
    post(s, path, json_to_str(&a, body), false);
    arena_done(&a);
}

void session_cancel(struct chat_session *s)
{
    struct arena a;
    if (!s->chat || s->is_cancelling || s->conversation_id.n == 0)
        return;
    s->is_cancelling = true;
    arena_init(&a);
    post(s, arena_printf(&a, "/v1/conversations/%.*s/cancel", STR_ARG(s->conversation_id)),
         STR_NONE, true);
    arena_done(&a);
}

void session_drop(struct chat_session *s)
{
    if (s->chat)
        client_cancel(s->chat);
    LIST_EACH (p, &s->posted, struct posted, node) {
        client_cancel(p->call);
        posted_free(p);
    }
    sse_parser_done(&s->sse);
    buf_done(&s->error_body);
}

struct chat_session *session_new(void)
{
    struct chat_session *s = xcalloc(1, sizeof *s);
    list_init(&s->posted);
    buf_init(&s->error_body, BODY_MAX);
    return s;
}
