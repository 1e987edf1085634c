#include "cli/session/session.h"

#include <errno.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bundle/plan/bundle_want.h"
#include "bundle/plan/grant_rules.h"
#include "cli/session/session_impl.h"
#include "server/server.h"

/* Whether a process accepts connections there. A stale socket file refuses. */
bool session_is_served(struct config *c)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    const char *path = server_socket_path(c, &c->arena);
    if (strcmp(c->store.type, "memory") == 0 || strlen(path) >= sizeof addr.sun_path)
        return false;
    memcpy(addr.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool ok = connect(fd, (const struct sockaddr *)&addr, sizeof addr) == 0;
    close(fd);
    return ok;
}

int session_open(struct loop *l, struct config *c, bool is_interactive, struct session **ret,
                 struct err *e)
{
    if (session_is_served(c))
        return session_open_remote(l, c, server_socket_path(c, &c->arena), ret, e);
    return session_open_local(l, c, is_interactive, ret, e);
}

void session_close(struct session *s)
{
    if (s)
        s->ops->close(s);
}

str session_model(const struct session *s)
{
    return s->model;
}

int session_find_directory(struct arena *a, const struct config *c, struct dir_grant *ret,
                           struct err *e)
{
    char here[PATH_MAX];
    int r = getcwd(here, sizeof here) ? dir_grant_of(a, here, ret, e)
                                      : err_errno(e, -errno, "cannot use", "this directory");
    return r < 0 ? r : grant_rules_check(ret->path, bundle_home_dir(NULL), c->work_dir, e);
}

void session_add_directory(struct arena *a, struct config *c, struct json *body)
{
    struct dir_grant g;
    struct err e = {0};
    if (!session_is_served(c) || session_find_directory(a, c, &g, &e) < 0)
        return;
    struct json *directory = json_new(a, JSON_OBJECT);
    json_set(a, directory, STR("path"), json_of_str(g.path));
    json_set(a, directory, STR("id"), json_of_str(g.id));
    json_set(a, body, STR("workingDirectory"), *directory);
}

void session_use_directory(struct session *s)
{
    struct err e = {0};
    struct dir_grant g = {0};
    int r = session_find_directory(&s->arena, s->config, &g, &e);
    s->directory = r == 0 ? g : (struct dir_grant){0};
    s->no_directory = r == 0 ? STR_NONE : arena_str(&s->arena, str_from(e.msg));
}

str session_directory(const struct session *s, str *ret_why)
{
    *ret_why = s->no_directory;
    return s->directory.path;
}

void session_use_model(struct session *s, str model)
{
    if (model.n > 0 && s->config->models.named.n == 0)
        s->model = arena_str(&s->arena, model);
}

str session_conversation(const struct session *s)
{
    return s->conversation_id;
}

int session_resume(struct session *s, str id, struct err *e)
{
    return s->ops->resume(s, store_id_meant(id), e);
}

int session_history(struct session *s, size_t max, session_message_fn fn, void *ctx, struct err *e)
{
    struct arena a;
    struct session_past past = {0};
    arena_init(&a);
    int r = s->ops->past(s, &a, &past, e);
    for (size_t i = past.n > max ? past.n - max : 0; r == 0 && i < past.n; i++)
        fn(ctx, past.messages[i].is_user, past.messages[i].text);
    arena_done(&a);
    return r;
}

const struct json *session_question(struct session *s, struct arena *a)
{
    struct session_past past = {0};
    struct err e = {0};
    if (s->conversation_id.n == 0 || s->ops->past(s, a, &past, &e) < 0)
        return NULL;
    return past.ask;
}

void session_forget(struct session *s)
{
    s->conversation_id = STR_NONE;
}

void session_send(struct session *s, str text, const struct session_events *ev, void *ctx)
{
    struct session_input in = {.text = text};
    s->ev = ev;
    s->ctx = ctx;
    s->ops->send(s, &in);
}

void session_answer(struct session *s, str ask_id, const struct json *decisions,
                    const struct session_events *ev, void *ctx)
{
    struct session_input in = {.ask_id = ask_id, .decisions = decisions};
    s->ev = ev;
    s->ctx = ctx;
    s->ops->send(s, &in);
}

void session_set_permissions(struct session *s, struct json_strs allow, bool is_unattended)
{
    s->allow = allow;
    s->is_unattended = is_unattended;
}

void session_answer_input(struct session *s, str input_id, const char *action,
                          const struct json *content)
{
    s->ops->answer_input(s, input_id, action, content);
}

void session_cancel(struct session *s)
{
    s->ops->cancel(s);
}

/* ---- events of a chat stream ---- */

static void got_start(struct session *s, const struct json *d)
{
    s->conversation_id = arena_str(&s->arena, json_get_string(d, "conversationId"));
    s->ev->on_started(s->ctx, s->conversation_id);
}

static void got_text(struct session *s, const struct json *d)
{
    s->ev->on_text(s->ctx, json_get_string(d, "text"));
}

static void got_thinking(struct session *s, const struct json *d)
{
    s->ev->on_thinking(s->ctx, json_get_string(d, "text"));
}

static void got_tool_start(struct session *s, const struct json *d)
{
    s->ev->on_tool_start(s->ctx, json_get_string(d, "id"), json_get_string(d, "name"),
                         json_get(d, "input"), json_get_string(d, "directory"));
}

static void got_tool_done(struct session *s, const struct json *d)
{
    s->ev->on_tool_done(s->ctx, json_get_string(d, "id"), json_get_string(d, "name"),
                        json_get_bool(d, "ok", false), json_get_int(d, "ms", 0),
                        json_get_string(d, "output"));
}

static void got_retry(struct session *s, const struct json *d)
{
    s->ev->on_retry(s->ctx, json_get_string(d, "message"));
}

static void got_input(struct session *s, const struct json *d)
{
    if (s->ev->on_input)
        s->ev->on_input(s->ctx, d);
}

static void got_input_gone(struct session *s, const struct json *d)
{
    if (s->ev->on_input_gone)
        s->ev->on_input_gone(s->ctx, json_get_string(d, "inputId"));
}

static void got_done(struct session *s, const struct json *d)
{
    s->ev->on_done(s->ctx, d);
}

static void got_error(struct session *s, const struct json *d)
{
    s->ev->on_error(s->ctx, json_get_string(d, "error"), json_get_string(d, "message"));
}

static const struct {
    const char *event;
    void (*handle)(struct session *s, const struct json *data);
    bool is_last;
} EVENTS[] = {
    {"chat.start", got_start, false},
    {"text.delta", got_text, false},
    {"reasoning.delta", got_thinking, false},
    {"tool.start", got_tool_start, false},
    {"tool.done", got_tool_done, false},
    {"run.retry", got_retry, false},
    {"input.requested", got_input, false},
    {"input.answered", got_input_gone, false},
    {"done", got_done, true},
    {"error", got_error, true},
};

bool session_dispatch(struct session *s, str event, str data)
{
    bool is_last = false;
    struct arena a;
    struct json *d;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(EVENTS); i++) {
        if (!str_eq(event, str_from(EVENTS[i].event)))
            continue;
        if (json_parse(&a, data, 0, &d, NULL) == 0)
            EVENTS[i].handle(s, d);
        is_last = EVENTS[i].is_last;
    }
    arena_done(&a);
    return is_last;
}
