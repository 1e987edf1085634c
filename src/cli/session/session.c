#include "cli/session/session.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "bundle/plan/bundle_want.h"
#include "bundle/plan/grant_rules.h"
#include "bus/vocabulary.h"
#include "cli/session/own_server.h"
#include "cli/session/session_impl.h"
#include "server/server.h"

#define SESSION_ASK_MS   10000
#define SESSION_AGAIN_MS 200
/* events at the end of the log that are searched for messages */
#define SESSION_HISTORY_EVENTS 200

/* Whether a process accepts connections there. A stale socket file refuses. */
bool session_is_served(struct config *c)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    if (c->remote.url)
        return true;
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

int session_find_directory(struct arena *a, const struct config *c, struct dir_grant *ret,
                           struct err *e)
{
    char here[PATH_MAX];
    if (c->remote.url) /* which may be this machine, but nothing says so */
        return err_set(e, -EXDEV, "%s has no access to the files of this machine", c->remote.url);
    int r = getcwd(here, sizeof here) ? dir_grant_of(a, here, ret, e)
                                      : err_errno(e, -errno, "cannot use", "this directory");
    return r < 0 ? r : grant_rules_check(ret->path, bundle_home_dir(NULL), c->work_dir, e);
}

static void session_lend(struct chat_session *s, const struct dir_grant *g, int r,
                         const struct err *e)
{
    s->directory = r == 0 ? *g : (struct dir_grant){0};
    s->no_directory = r == 0 ? STR_NONE : arena_str(&s->arena, str_from(e->msg));
}

/* Checks whether commands can run in the current directory. */
static void session_use_current(struct chat_session *s)
{
    struct err e = {0};
    struct dir_grant g = {0};
    int r = session_find_directory(&s->arena, s->config, &g, &e);
    session_lend(s, &g, r, &e);
}

int session_use_directory(struct chat_session *s, const char *path, struct err *e)
{
    struct err refused = {0};
    struct dir_grant g = {0};
    int r = dir_grant_of(&s->arena, path, &g, e);
    if (r < 0)
        return r;
    s->lends_always = true;
    r = s->config->remote.url
            ? session_find_directory(&s->arena, s->config, &g, &refused)
            : grant_rules_check(g.path, bundle_home_dir(NULL), s->config->work_dir, &refused);
    session_lend(s, &g, r, &refused);
    return 0;
}

static int session_find_model(struct chat_session *s, struct err *e)
{
    struct server *own = client_server(s->client);
    struct client_ask q = {.path = STR("/v1/workspace"), .timeout_ms = SESSION_ASK_MS};
    struct json *info;
    str why;
    if (own) {
        s->model = arena_str(&s->arena, llm_default_model(server_llm(own), &why));
        return 0;
    }
    int r = client_ask(s->client, &q, &s->arena, &info, e);
    str named = s->config->models.named;
    if (r < 0)
        return r;
    s->model = named.n > 0 ? named : json_get_string(json_get(info, "model"), "name");
    s->page_url = s->config->remote.url ? arena_printf(&s->arena, "%s/", s->config->remote.url)
                                        : json_get_string(info, "pageUrl");
    return 0;
}

int session_open_now(struct loop *l, struct config *c, bool is_here, struct chat_session **ret,
                     struct err *e)
{
    struct client *client;
    int r = !is_here && session_is_served(c) ? client_open_served(l, c, &client, e)
                                             : client_open_own(l, c, true, &client, e);
    if (r < 0)
        return r;
    struct chat_session *s = session_new();
    s->loop = l;
    s->config = c;
    s->client = client;
    arena_init(&s->arena);
    session_use_current(s);
    r = session_find_model(s, e);
    if (r < 0)
        session_close(s);
    else
        *ret = s;
    return r;
}

int session_open(struct loop *l, struct config *c, bool is_here, bool is_interactive,
                 struct chat_session **ret, struct err *e)
{
    int r = session_open_now(l, c, is_here, ret, e);
    if (r == 0 && !session_is_remote(*ret))
        await_bundles(client_server((*ret)->client), is_interactive);
    return r;
}

struct chat_session *session_beside(struct chat_session *first)
{
    struct chat_session *s = session_new();
    s->loop = first->loop;
    s->config = first->config;
    s->client = first->client;
    s->is_beside = true;
    arena_init(&s->arena);
    s->model = arena_str(&s->arena, first->model);
    s->page_url = arena_str(&s->arena, first->page_url);
    return s;
}

void session_close(struct chat_session *s)
{
    struct client *client = s->is_beside ? NULL : s->client;
    session_drop(s);
    client_close(client);
    arena_done(&s->arena);
    free(s);
}

bool session_is_remote(const struct chat_session *s)
{
    return !client_server(s->client);
}

struct client *session_client(const struct chat_session *s)
{
    return s->client;
}

void session_set_channel(struct chat_session *s, const char *channel)
{
    s->channel = channel;
}

void session_set_model(struct chat_session *s, str name)
{
    s->named_model = arena_str(&s->arena, name);
    s->model = name.n > 0 ? s->named_model : s->model;
}

str session_model(const struct chat_session *s)
{
    return s->model;
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

str session_directory(const struct chat_session *s, str *ret_why)
{
    *ret_why = s->no_directory;
    return s->directory.path;
}

str session_conversation(const struct chat_session *s)
{
    return s->conversation_id;
}

str session_page_link(const struct chat_session *s, struct arena *a)
{
    if (s->page_url.n == 0 || s->conversation_id.n == 0)
        return STR_NONE;
    return arena_printf(a, "%.*s#/c/%.*s", STR_ARG(s->page_url), STR_ARG(s->conversation_id));
}

static int session_ask(struct chat_session *s, struct arena *a, str path, struct json **ret,
                       struct err *e)
{
    struct client_ask q = {.path = path, .timeout_ms = SESSION_ASK_MS};
    return client_ask(s->client, &q, a, ret, e);
}

/* While the server reads logs that it has never seen, the latest one may be among them. */
static int list_latest(struct chat_session *s, struct arena *a, struct json **ret, struct err *e)
{
    const struct timespec nap = {.tv_nsec = SESSION_AGAIN_MS * 1000000};
    int r;
    while ((r = session_ask(s, a, STR("/v1/conversations?limit=1"), ret, e)) == 0 &&
           json_get(*ret, "indexing"))
        (void)nanosleep(&nap, NULL);
    return r;
}

/* The conversation with that id, or the latest one. */
static int find_conversation(struct chat_session *s, struct arena *a, str id, struct json **ret,
                             struct err *e)
{
    if (id.n > 0) {
        str path = arena_printf(a, "/v1/conversations/%.*s", STR_ARG(client_encode(a, id)));
        int r = session_ask(s, a, path, ret, e);
        if (r == -ENOENT && !session_is_remote(s))
            err_set(e, r, "no conversation '%.*s' in %s", STR_ARG(id), s->config->work_dir);
        return r;
    }
    int r = list_latest(s, a, ret, e);
    if (r == 0)
        *ret = json_at(json_get(*ret, "conversations"), 0);
    return r == 0 && !*ret ? err_set(e, -ENOENT, "no conversation to continue yet") : r;
}

/* The conversation continues with its own model, unless the command names one. */
int session_resume(struct chat_session *s, str id, struct err *e)
{
    struct arena a;
    struct json *conv;
    arena_init(&a);
    int r = find_conversation(s, &a, store_id_meant(id), &conv, e);
    str model = r == 0 ? json_get_string(conv, "lastModel") : STR_NONE;
    if (r == 0) {
        s->conversation_id = arena_str(&s->arena, json_get_string(conv, "id"));
        s->wants_summary = false;
    }
    if (model.n > 0 && s->named_model.n == 0 && s->config->models.named.n == 0)
        s->model = arena_str(&s->arena, model);
    arena_done(&a);
    return r;
}

/* The latest events: {messages, ask?}. */
static int session_past(struct chat_session *s, struct arena *a, struct json **ret, struct err *e)
{
    str path = arena_printf(a, "/v1/conversations/%.*s/history?limit=%d",
                            STR_ARG(s->conversation_id), SESSION_HISTORY_EVENTS);
    return session_ask(s, a, path, ret, e);
}

int session_history(struct chat_session *s, size_t max, session_message_fn fn, void *ctx,
                    struct err *e)
{
    struct arena a;
    struct json *page;
    arena_init(&a);
    int r = session_past(s, &a, &page, e);
    const struct json *list = r == 0 ? json_get(page, "messages") : NULL;
    size_t n = 0, seen = 0;
    for (size_t i = 0; list && i < list->len; i++)
        n += json_get_string(json_at(list, i), "content").n > 0;
    for (size_t i = 0; list && i < list->len; i++) {
        const struct json *m = json_at(list, i);
        str text = json_get_string(m, "content");
        if (text.n > 0 && ++seen + max > n)
            fn(ctx, str_eq(json_get_string(m, "role"), STR("user")), text);
    }
    arena_done(&a);
    return r;
}

const struct json *session_question(struct chat_session *s, struct arena *a)
{
    struct json *page;
    struct err e = {0};
    if (s->conversation_id.n == 0 || session_past(s, a, &page, &e) < 0)
        return NULL;
    const struct json *ask = json_get(page, "ask");
    return json_is(ask, JSON_OBJECT) ? ask : NULL;
}

void session_forget(struct chat_session *s)
{
    s->conversation_id = STR_NONE;
    s->wants_summary = false;
}

void session_compact(struct chat_session *s)
{
    s->wants_summary = true;
}

static void session_start(struct chat_session *s, const struct session_input *in,
                          const struct session_events *ev, void *ctx)
{
    assert(ev->on_done && ev->on_error); /* one of them is the end */
    s->ev = ev;
    s->ctx = ctx;
    session_post(s, in);
}

void session_send(struct chat_session *s, str text, const struct session_events *ev, void *ctx)
{
    session_start(s, &(struct session_input){.text = text}, ev, ctx);
}

void session_answer(struct chat_session *s, str ask_id, const struct json *decisions,
                    const struct session_events *ev, void *ctx)
{
    session_start(s, &(struct session_input){.ask_id = ask_id, .decisions = decisions}, ev, ctx);
}

void session_answer_for_all(struct chat_session *s, str ask_id, const struct json *decisions,
                            const struct session_events *ev, void *ctx)
{
    struct session_input in = {.ask_id = ask_id, .decisions = decisions, .is_for_all = true};
    session_start(s, &in, ev, ctx);
}

void session_set_permissions(struct chat_session *s, struct json_strs allow, bool is_unattended)
{
    s->allow = allow;
    s->is_unattended = is_unattended;
}

/* ---- events of a chat stream ---- */

#define ON(member) offsetof(struct session_events, member)

static const struct {
    enum event_type event;
    size_t offset;
    bool is_last;
} EVENTS[] = {
    {EV_CHAT_START, ON(on_started), false},
    {EV_TEXT_DELTA, ON(on_text), false},
    {EV_REASONING_DELTA, ON(on_thinking), false},
    {EV_LLM_RESPONSE, ON(on_model_done), false},
    {EV_TOOL_PREPARING, ON(on_tool_preparing), false},
    {EV_TOOL_START, ON(on_tool_start), false},
    {EV_TOOL_PROGRESS, ON(on_tool_progress), false},
    {EV_TOOL_DONE, ON(on_tool_done), false},
    {EV_RUN_RETRY, ON(on_retry), false},
    {EV_INPUT_REQUESTED, ON(on_input), false},
    {EV_INPUT_ANSWERED, ON(on_input_gone), false},
    {EV_CHAT_DONE, ON(on_done), true},
    {EV_ERROR, ON(on_error), true},
};

static void session_handle(struct chat_session *s, size_t offset, const struct json *d)
{
    session_event_fn fn = *(const session_event_fn *)((const char *)s->ev + offset);
    if (fn)
        fn(s->ctx, d);
}

static void session_tell(struct chat_session *s, str name, const struct json *d)
{
    if (s->ev->on_event)
        s->ev->on_event(s->ctx, name, d);
}

bool session_dispatch(struct chat_session *s, str event, str data)
{
    bool is_last = false;
    struct arena a;
    struct json *d;
    assert(s->ev);
    arena_init(&a);
    bool is_valid = json_parse(&a, data, 0, &d, NULL) == 0;
    str id = is_valid && str_eq(event, event_name(EV_CHAT_START))
                 ? json_get_string(d, "conversationId")
                 : STR_NONE;
    if (store_id_valid(id)) { /* it becomes a part of paths, and of a command that is shown */
        s->conversation_id = arena_str(&s->arena, id);
        s->was_cut = false;
    }
    for (size_t i = 0; i < ARRAY_LEN(EVENTS); i++) {
        if (!str_eq(event, event_shown_as(EVENTS[i].event)))
            continue;
        if (is_valid) {
            session_tell(s, event, d);
            session_handle(s, EVENTS[i].offset, d);
        }
        is_last = EVENTS[i].is_last;
    }
    arena_done(&a);
    return is_last;
}

void session_error(struct chat_session *s, str code, str message)
{
    struct arena a;
    assert(s->ev);
    arena_init(&a);
    struct json *d = json_new(&a, JSON_OBJECT);
    json_set(&a, d, STR("error"), json_of_str(code));
    json_set(&a, d, STR("message"), json_of_str(message));
    session_tell(s, event_shown_as(EV_ERROR), d);
    session_handle(s, ON(on_error), d);
    arena_done(&a);
}
