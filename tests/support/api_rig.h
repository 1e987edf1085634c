/* api_rig.h - the HTTP API over a rig (rig.h): a real struct api behind a real server on loopback,
 * in the same process and loop as the test.
 *
 *   ana    owner of the server, admin of the workspace     ben, dan   members of the workspace
 *   cyd    has an account, but is not a member             operator   over the Unix socket
 *   ""     sends no credential
 *
 * Each person sends an API token with all scopes; api_add_token makes others. A test with
 * TEST_WITH(name, api_set_up, api_tear_down):
 *
 *     struct api_rig *t = *state;
 *     const char *id = api_conversation(t, "ben", "hello");
 *     struct api_answer a = api_get(t, "dan", api_path(t, "/v1/conversations/%s", id));
 *     assert_refused(a, 404, "not_found", "No such conversation.");
 *
 * api_streams.h has streams of events. Each answer is compared with the document of the API.
 * Answers and texts are in the arena of the rig. Requests are HTTP/1.0: an answer ends with its
 * connection, and streams have no chunks. Everything that waits fails the test after
 * RIG_PATIENCE_MS. */
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <uv.h>

#include "api/api_impl.h"
#include "api/identity.h"
#include "support/api_document.h"
#include "support/rig.h"

#define API_TOKENS_MAX 16

struct api_token {
    char who[16], id[64], value[128];
};

struct api_rig {
    struct rig *rig;
    struct instance instance;
    struct auth *auth;
    struct fetcher *fetcher;
    struct audit *audit;
    struct api *api;
    struct api_space space; /* the only workspace that can be opened */
    struct http_server *http;
    uint16_t port;
    char socket[96];
    struct api_token tokens[API_TOKENS_MAX];
    size_t ntokens;
    struct list_node clients; /* open connections */
    unsigned nclosed;         /* calls of close_space */
};

/* ---- people ---- */

struct api_changed {
    bool is_done;
    int code;
    char id[128], value[128];
};

static inline void on_api_changed(void *ctx, const struct err *err, str id)
{
    struct api_changed *c = ctx;
    c->is_done = true;
    c->code = err->code;
    RIG_KEEP(c->id, id);
}

/* Takes effect before it returns, with everything that the API does about it. */
static inline void api_change(struct api_rig *t, struct change c)
{
    struct api_changed done = {0};
    directory_change(t->rig->directory, &c, on_api_changed, &done);
    rig_until(t->rig, done.is_done);
    assert_int_equal(done.code, 0);
}

static inline void api_set_role(struct api_rig *t, const char *user_id, enum ws_role role)
{
    api_change(t,
               (struct change){.kind = role == WS_NONE ? CHANGE_MEMBER_REMOVE : CHANGE_MEMBER_SET,
                               .workspace_id = STR(RIG_WORKSPACE),
                               .user_id = str_from(user_id),
                               .ws_role = role});
}

static inline void on_api_token(void *ctx, const struct err *err, str id, str value)
{
    struct api_changed *c = ctx;
    on_api_changed(c, err, id);
    RIG_KEEP(c->value, value);
}

/* `who` is the name for api_call. */
static inline void api_add_token(struct api_rig *t, const char *who, struct auth_new_token in)
{
    struct api_changed done = {0};
    in.name = str_from(who);
    auth_create_token(t->auth, &in, on_api_token, &done);
    rig_until(t->rig, done.is_done);
    assert_int_equal(done.code, 0);
    assert_true(t->ntokens < API_TOKENS_MAX);
    struct api_token *k = &t->tokens[t->ntokens++];
    RIG_KEEP(k->who, str_from(who));
    RIG_KEEP(k->id, str_from(done.id));
    RIG_KEEP(k->value, str_from(done.value));
}

static inline const struct api_token *api_find_token(const struct api_rig *t, const char *who)
{
    for (size_t i = 0; i < t->ntokens; i++)
        if (strcmp(t->tokens[i].who, who) == 0)
            return &t->tokens[i];
    fail_msg("nobody is called %s", who);
    return NULL;
}

static inline void api_add_people(struct api_rig *t)
{
    static const char *const PEOPLE[] = {"ana", "ben", "cyd", "dan"};
    api_change(t, (struct change){.kind = CHANGE_USER_ADD,
                                  .user_id = STR("usr_dan"),
                                  .display_name = STR("Dan"),
                                  .email = STR("Dan@example.com"),
                                  .has_role = true,
                                  .role = ORG_MEMBER});
    api_set_role(t, "usr_dan", WS_MEMBER);
    for (size_t i = 0; i < ARRAY_LEN(PEOPLE); i++)
        api_add_token(
            t, PEOPLE[i],
            (struct auth_new_token){.user_id = arena_printf(&t->rig->arena, "usr_%s", PEOPLE[i]),
                                    .scopes = SCOPE_ALL});
}

/* ---- the workspace, as server/open_workspace.c gives it ---- */

static inline struct api_space *api_rig_open(void *ctx, str id, struct err *e)
{
    struct api_rig *t = ctx;
    if (str_eq(id, t->space.id) && !t->space.is_closing)
        return &t->space;
    err_set(e, -ENOENT, "it cannot be opened");
    return NULL;
}

static inline struct api_space *api_rig_find(void *ctx, str id)
{
    return api_rig_open(ctx, id, &(struct err){0});
}

static inline void api_rig_hold(void *ctx, struct api_space *s)
{
    s->users++;
}

static inline void api_rig_release(void *ctx, struct api_space *s)
{
    assert_true(s->users > 0);
    s->users--;
}

static inline void api_rig_close(void *ctx, str id)
{
    struct api_rig *t = ctx;
    t->nclosed++;
    if (str_eq(id, t->space.id))
        t->space.is_closing = true;
}

/* ---- life ---- */

/* Attempts are counted by the minute; a slow machine needs longer for some hundreds. */
static inline uint64_t api_rig_mono_ms(void)
{
    return 1000;
}

static inline void api_rig_sign_in(struct api_rig *t)
{
    struct rig *r = t->rig;
    struct err e = {0};
    const char *path = arena_printf(&r->arena, "%s/instance.json", r->dir.path).p;
    str local = STR("{\"auth\":{\"adapter\":\"local\"}}");
    if (file_write_atomic(path, local, 0600, &e) < 0 ||
        instance_load(&t->instance, r->dir.path, STR_NONE, STR_NONE, &e) < 0)
        fail_msg("%s", e.msg);
    struct auth_deps deps = {.loop = r->loop,
                             .directory = r->directory,
                             .fetcher = t->fetcher,
                             .instance = &t->instance,
                             .work_dir = r->dir.path,
                             .mono_ms = api_rig_mono_ms};
    if (auth_new(&deps, &t->auth, &e) < 0)
        fail_msg("%s", e.msg);
}

static inline void api_rig_serve(struct api_rig *t)
{
    struct rig *r = t->rig;
    struct err e = {0};
    struct api_deps deps = {
        .loop = r->loop,
        .config = &r->config,
        .bus = r->bus,
        .llm = r->llm,
        .fetcher = t->fetcher,
        .pool = r->pool,
        .directory = r->directory,
        .auth = t->auth,
        .audit = t->audit,
        .org_name = STR("Rig"),
        .started_ms = clock_mono_ms(),
        .open_space = api_rig_open,
        .hold_space = api_rig_hold,
        .release_space = api_rig_release,
        .find_space = api_rig_find,
        .close_space = api_rig_close,
        .space_ctx = t,
    };
    t->api = api_new(&deps);
    struct http_handlers h = api_handlers(t->api);
    t->http = http_server_new(r->loop, &HTTP_LIMITS_DEFAULT, &h);
    snprintf(t->socket, sizeof t->socket, "%s/nb.sock", r->dir.path);
    if (http_listen_tcp(t->http, "127.0.0.1", 0, &t->port, &e) < 0 ||
        http_listen_unix(t->http, t->socket, &e) < 0)
        fail_msg("%s", e.msg);
    api_listens(t->api, t->port);
}

static inline int api_set_up(void **state)
{
    struct api_rig *t = xcalloc(1, sizeof *t);
    void *rig;
    list_init(&t->clients);
    assert_int_equal(rig_set_up(&rig), 0);
    struct rig *r = t->rig = rig;
    t->fetcher = fetcher_new(r->loop);
    t->audit = audit_new(r->loop, NULL, r->dir.path);
    rig_store.env.audit = t->audit;
    t->space = (struct api_space){
        .id = STR(RIG_WORKSPACE),
        .root = r->root,
        .config = &r->config,
        .store = r->store,
        .runtime = r->runtime,
        .tools = r->tools,
    };
    api_rig_sign_in(t);
    api_rig_serve(t);
    api_add_people(t);
    *state = t;
    return 0;
}

static inline void api_close_clients(struct api_rig *t);

static inline int api_tear_down(void **state)
{
    struct api_rig *t = *state;
    void *rig = t->rig;
    bool is_stopped = false;
    api_close_clients(t);
    http_server_stop(t->http, 0, rig_set_true, &is_stopped);
    rig_until(t->rig, is_stopped);
    api_stop(t->api);
    rig_stop_runtime(
        t->rig); /* turns hold nothing of the API, but their clients were its streams */
    assert_int_equal(t->space.users, 0);
    http_server_free(t->http);
    auth_free(t->auth);
    api_free(t->api);
    instance_done(&t->instance);
    fetcher_free(t->fetcher);
    rig_store.env.audit = NULL;
    audit_free(t->audit);
    free(t);
    return rig_tear_down(&rig);
}

/* ---- connections ---- */

struct api_client {        /* one request and what comes back; in the arena of the rig */
    struct list_node node; /* in t->clients */
    struct api_rig *t;
    int fd;
    uv_poll_t poll;
    struct buf in;
    bool is_over; /* the server closed the connection */
    bool is_closed;
};

static inline void on_api_readable(uv_poll_t *poll, int status, int events)
{
    struct api_client *c = poll->data;
    char bytes[16384];
    ssize_t n;
    while ((n = recv(c->fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        buf_add(&c->in, bytes, (size_t)n);
    if (n == 0 || (n < 0 && errno != EAGAIN))
        c->is_over = true;
    if (c->is_over)
        uv_poll_stop(poll);
}

static inline void on_api_client_closed(uv_handle_t *h)
{
    struct api_client *c = h->data;
    c->is_closed = true;
}

static inline void api_client_close(struct api_client *c)
{
    uv_close((uv_handle_t *)&c->poll, on_api_client_closed);
    rig_until(c->t->rig, c->is_closed);
    list_del(&c->node);
    close(c->fd);
    buf_done(&c->in);
}

static inline void api_close_clients(struct api_rig *t)
{
    LIST_FOREACH (n, &t->clients)
        api_client_close(LIST_ENTRY(n, struct api_client, node));
}

static inline int api_connect(struct api_rig *t, const char *who)
{
    struct sockaddr_in tcp = {.sin_family = AF_INET, .sin_port = htons(t->port)};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    bool is_local = strcmp(who, "operator") == 0;
    tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    snprintf(local.sun_path, sizeof local.sun_path, "%s", t->socket);
    int fd = socket(is_local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int code = is_local ? connect(fd, (struct sockaddr *)&local, sizeof local)
                        : connect(fd, (struct sockaddr *)&tcp, sizeof tcp);
    assert_int_equal(code, 0);
    return fd;
}

/* headers: "Name: value\r\n" for each, or "". */
static inline void api_write_request(struct api_rig *t, int fd, const char *who, const char *method,
                                     const char *path, const char *headers, str body)
{
    struct buf b;
    buf_init(&b, 64u << 20);
    buf_printf(&b, "%s %s HTTP/1.0\r\nHost: 127.0.0.1\r\n%s", method, path, headers);
    if (*who && strcmp(who, "operator") != 0)
        buf_printf(&b, "Authorization: Bearer %s\r\n", api_find_token(t, who)->value);
    if (body.p)
        buf_printf(&b, "Content-Type: application/json\r\nContent-Length: %zu\r\n", body.n);
    buf_add_lit(&b, "\r\n");
    buf_add_str(&b, body);
    for (size_t at = 0; at < b.n;) {
        ssize_t n = send(fd, b.p + at, b.n - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0)
            rig_spin(t->rig); /* the server must read first */
        assert_true(n > 0 || errno == EAGAIN);
        at += n > 0 ? (size_t)n : 0;
    }
    buf_done(&b);
}

static inline struct api_client *api_begin(struct api_rig *t, const char *who, const char *method,
                                           const char *path, const char *headers, str body)
{
    struct api_client *c = ARENA_NEW(&t->rig->arena, struct api_client);
    c->t = t;
    c->fd = api_connect(t, who);
    list_push(&t->clients, &c->node);
    buf_init(&c->in, 256u << 20);
    api_write_request(t, c->fd, who, method, path, headers, body);
    uv_poll_init(loop_uv(t->rig->loop), &c->poll, c->fd);
    c->poll.data = c;
    uv_poll_start(&c->poll, UV_READABLE, on_api_readable);
    return c;
}

/* ---- requests ---- */

struct api_answer {
    int status;
    str head, body;
    const struct json *json; /* the body, if it is JSON; else NULL */
};

/* The head of the response is complete: splits it from the body. */
static inline bool api_split(str in, struct api_answer *ret)
{
    ptrdiff_t end = str_find(in, STR("\r\n\r\n"), 0);
    if (end < 0)
        return false;
    ret->head = str_slice(in, 0, (size_t)end + 2);
    ret->body = str_skip(in, (size_t)end + 4);
    assert_true(str_starts(in, STR("HTTP/1.")));
    ret->status = (in.p[9] - '0') * 100 + (in.p[10] - '0') * 10 + (in.p[11] - '0');
    return true;
}

static inline struct api_answer api_finish(struct api_client *c)
{
    struct api_answer a = {0};
    struct arena *mem = &c->t->rig->arena;
    struct json *v;
    rig_until(c->t->rig, c->is_over);
    if (!api_split(arena_str(mem, buf_str(&c->in)), &a))
        fail_msg("the connection was closed without an answer");
    if (a.body.n > 0 && json_parse(mem, a.body, 0, &v, NULL) == 0)
        a.json = v;
    api_client_close(c);
    return a;
}

/* The value of a header, or "". */
static inline const char *api_header(struct api_rig *t, const struct api_answer *a,
                                     const char *name)
{
    str rest = a->head, line;
    while (str_split(&rest, '\n', &line)) {
        ptrdiff_t colon = str_find_char(line, ':');
        if (colon > 0 && str_eq_nocase(str_slice(line, 0, (size_t)colon), str_from(name)))
            return arena_cstr(&t->rig->arena, str_trim(str_skip(line, (size_t)colon + 1)));
    }
    return "";
}

/* With headers of its own, each followed by \r\n, and a body of any bytes. */
static inline struct api_answer api_call_with(struct api_rig *t, const char *who,
                                              const char *method, const char *path,
                                              const char *headers, str body)
{
    struct api_answer a = api_finish(api_begin(t, who, method, path, headers, body));
    bool is_json = strcmp(api_header(t, &a, "content-type"), "application/json") == 0;
    api_document_check(method, path, a.status, is_json ? a.json : NULL);
    return a;
}

/* body NULL: none. */
static inline struct api_answer api_call(struct api_rig *t, const char *who, const char *method,
                                         const char *path, const char *body)
{
    return api_call_with(t, who, method, path, "", body ? str_from(body) : STR_NONE);
}

static inline struct api_answer api_get(struct api_rig *t, const char *who, const char *path)
{
    return api_call(t, who, "GET", path, NULL);
}

__attribute__((format(printf, 2, 3))) static inline const char *api_path(struct api_rig *t,
                                                                         const char *fmt, ...)
{
    char text[4096];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    assert_in_range(n, 0, sizeof text - 1);
    return arena_cstr(&t->rig->arena, str_from(text));
}

/* A text of the answer, "" when there is none; "a.b" is a member of a member. */
static inline const char *api_text(struct api_rig *t, const struct json *v, const char *path)
{
    str rest = str_from(path), key;
    while (v && str_split(&rest, '.', &key))
        v = json_get(v, arena_cstr(&t->rig->arena, key));
    return arena_cstr(&t->rig->arena, json_string(v, STR_NONE));
}

/* A member as JSON: "[1,2]", "null"; "" when there is none. */
static inline const char *api_part(struct api_rig *t, const struct json *v, const char *path)
{
    str rest = str_from(path), key;
    while (v && str_split(&rest, '.', &key))
        v = json_get(v, arena_cstr(&t->rig->arena, key));
    return v ? arena_cstr(&t->rig->arena, json_to_str(&t->rig->arena, v)) : "";
}

#define assert_status(answer, code)                                                                \
    do {                                                                                           \
        struct api_answer got_ = (answer);                                                         \
        if (got_.status != (code))                                                                 \
            fail_msg("status %d instead of %d: %.*s", got_.status, (code), STR_ARG(got_.body));    \
    } while (0)

/* The error of a refused request, and its words. */
#define assert_refused(answer, code, error, words)                                                 \
    do {                                                                                           \
        struct api_answer refused_ = (answer);                                                     \
        assert_status(refused_, code);                                                             \
        assert_non_null(refused_.json);                                                            \
        str error_ = json_get_string(refused_.json, "error");                                      \
        str words_ = json_get_string(refused_.json, "message");                                    \
        if (!str_eq(error_, str_from(error)) || !str_eq(words_, str_from(words)))                  \
            fail_msg("%.*s: %.*s", STR_ARG(error_), STR_ARG(words_));                              \
    } while (0)

/* ---- conversations ---- */

/* A new conversation of that person, with one message that the model has answered; its id. */
static inline const char *api_conversation(struct api_rig *t, const char *who, const char *message)
{
    struct api_answer a =
        api_call(t, who, "POST", "/v1/chat", api_path(t, "{\"message\":\"%s\"}", message));
    assert_status(a, 200);
    return api_text(t, a.json, "conversationId");
}

static inline void api_share(struct api_rig *t, const char *who, const char *id, const char *with)
{
    assert_status(api_call(t, who, "POST", api_path(t, "/v1/conversations/%s/participants", id),
                           api_path(t, "{\"userId\":\"%s\"}", with)),
                  200);
}

/* The body of a chat request; more: further members, each with a comma in front, or "". */
static inline const char *api_chat_body(struct api_rig *t, const char *id, const char *message,
                                        const char *more)
{
    return api_path(t, "{\"message\":\"%s\",\"conversationId\":\"%s\"%s}", message, id, more);
}

/* A message whose answer the model holds back, until model_release(). */
static inline void api_keep_busy(struct api_rig *t, const char *who, const char *id)
{
    MODEL(.text = "at last", .is_held = true);
    assert_status(api_call(t, who, "POST", "/v1/chat/start", api_chat_body(t, id, "wait", "")),
                  202);
    rig_until(t->rig, model_waiting() > 0);
}
