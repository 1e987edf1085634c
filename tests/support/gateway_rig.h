/* gateway_rig.h - a gateway with clients in front of it and servers behind it.
 *
 * The workspace is that of rig.h: people, fake tools (t__ping, t__slow ...), a scripted model. The
 * servers are two bundles (gateway_peers.h) with the tools t and k, where k must run as a task:
 *
 *   old    speaks the revisions with sessions, and may send requests of its own
 *   new    speaks the stateless revision
 *
 * Clients send HTTP/1.0 over a Unix socket to a real HTTP server, so that a response lasts until
 * the connection ends; or lines on a pipe. JSON in tests is written with ' instead of ".
 *
 *     struct gw_client *c = gw_modern("tools/call", "{'name':'old__t','arguments':{}}");
 *     gw_answer(gw_heard("tools/call"), "{'content':[]}");
 *     assert_like(gw_reply(c), "{'result':{'content':[]}}");
 *
 * assert_like compares what the pattern names: members that it does not name may be there, and null
 * stands for a member that is not there.
 *
 * One gateway for a test: TEST_GATEWAY(name) { ... }. Everything hangs on `gw`. */
#pragma once

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "gateway/session.h"
#include "support/gateway_peers.h"
#include "support/rig.h"

#define GW_MODERN  "2026-07-28"
#define GW_LEGACY  "2025-11-25"
#define GW_ASKABLE "{'sampling':{},'elicitation':{'form':{},'url':{}},'roots':{}}"

enum { GW_CLIENTS_MAX = 64, GW_HEARD_MAX = 512, GW_PEOPLE_MAX = 8, GW_ROWS_MAX = 16 };

struct gw_client {
    int fd; /* -1: the connection has ended */
    struct buf got;
    int id; /* of the request */
};

struct gw_heard { /* a message that a server got */
    struct peer *peer;
    struct rpc_message m;
    str id;
    bool is_seen;
};

static struct gw_rig {
    struct rig *base;
    struct arena *arena;
    struct gateway *g;
    struct http_server *server;
    struct sockaddr_un addr;
    struct bundles bundles;
    struct bundle *old, *new;
    struct tool_source sources[2]; /* of both bundles */
    struct tool tools[2][2];
    bool is_for_apps_alone[2]; /* the tools t and k */
    struct actor *people[GW_PEOPLE_MAX];
    size_t npeople;
    struct actor *who;        /* the next request comes from */
    const char *capabilities; /* the client of the next request declares */
    const struct permission_rules *permissions;
    int next_id;
    int64_t login_until_ms; /* answer of gateway_deps.login_until */
    const char *audit_path; /* for gw_use_limits */
    struct gw_client clients[GW_CLIENTS_MAX];
    size_t nclients;
    struct gw_heard heard[GW_HEARD_MAX];
    size_t nheard;
    struct {
        const char *bundle, *method, *result; /* result NULL: the test answers */
    } rows[GW_ROWS_MAX];
    size_t nrows;
    struct gateway_pipe *pipe;
    str lines[GW_HEARD_MAX]; /* that the client on the pipe got */
    size_t nlines;
} gw;

/* ---- JSON ---- */

static inline str gw_text(const char *quoted)
{
    char *text = arena_cstr(gw.arena, str_from(quoted));
    for (char *p = text; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    return str_from(text);
}

static inline struct json *gw_json_of(str text)
{
    struct json *v;
    struct err e = {0};
    if (json_parse(gw.arena, text, JSON_COPY, &v, &e) < 0)
        fail_msg("%s in %.*s", e.msg, STR_ARG(text));
    return v;
}

static inline struct json *gw_json(const char *quoted)
{
    return gw_json_of(gw_text(quoted));
}

static inline bool is_like(const struct json *v, const struct json *pattern)
{
    if (pattern->type == JSON_NULL)
        return !v || v->type == JSON_NULL;
    if (!v || v->type != pattern->type)
        return false;
    if (pattern->type == JSON_ARRAY && v->len != pattern->len)
        return false;
    for (uint32_t i = 0; pattern->type == JSON_ARRAY && i < pattern->len; i++)
        if (!is_like(&v->items[i], &pattern->items[i]))
            return false;
    for (uint32_t i = 0; pattern->type == JSON_OBJECT && i < pattern->len; i++)
        if (!is_like(json_get_str(v, pattern->members[i].key), &pattern->members[i].value))
            return false;
    return pattern->type == JSON_ARRAY || pattern->type == JSON_OBJECT || json_equal(v, pattern);
}

#define assert_like(value, quoted)                                                                 \
    do {                                                                                           \
        const struct json *v_ = (value);                                                           \
        if (!is_like(v_, gw_json(quoted)))                                                         \
            fail_msg("%.*s\n   is not like %s",                                                    \
                     STR_ARG(v_ ? json_to_str(gw.arena, v_) : STR("nothing")), quoted);            \
    } while (0)

/* ---- time ---- */

static inline void gw_read_clients(void)
{
    for (size_t i = 0; i < gw.nclients; i++) {
        struct gw_client *c = &gw.clients[i];
        ssize_t n = 1;
        while (c->fd >= 0 && n > 0) {
            assert_int_equal(buf_reserve(&c->got, 65536), 0);
            n = recv(c->fd, c->got.p + c->got.n, 65536, MSG_DONTWAIT);
            c->got.n += n > 0 ? (size_t)n : 0;
        }
        if (c->fd >= 0 && (n == 0 || (errno != EAGAIN && errno != EINTR))) {
            close(c->fd);
            c->fd = -1;
        }
    }
}

static inline void gw_spin(void)
{
    while (peers_step())
        ;
    rig_spin(gw.base);
    gw_read_clients();
}

#define gw_until(condition)                                                                        \
    do {                                                                                           \
        uint64_t until_ms_ = clock_mono_ms() + RIG_PATIENCE_MS;                                    \
        while (!(condition) && clock_mono_ms() < until_ms_)                                        \
            gw_spin();                                                                             \
        assert_true(condition);                                                                    \
    } while (0)

/* Everything that was caused so far has happened: for assertions that nothing more happens. */
static inline void gw_settle(void)
{
    for (int i = 0; i < 6; i++)
        gw_spin();
}

/* The time of this timer has come. */
static inline void gw_fire(struct timer *t)
{
    assert_true(timer_active(t));
    timer_start(t, 0);
    gw_settle();
}

/* ---- servers ---- */

static inline const char *gw_row(const struct peer *p, str method, bool *ret_is_held)
{
    for (size_t i = gw.nrows; i > 0; i--) {
        if (strcmp(gw.rows[i - 1].bundle, p->name) != 0 ||
            !str_eq(method, str_from(gw.rows[i - 1].method)))
            continue;
        *ret_is_held = !gw.rows[i - 1].result;
        return gw.rows[i - 1].result;
    }
    return NULL;
}

static inline bool on_gw_heard(struct peer *p, const struct rpc_message *m)
{
    assert_true(gw.nheard < GW_HEARD_MAX);
    struct gw_heard *h = &gw.heard[gw.nheard++];
    bool is_held = false;
    const char *result = m->kind == RPC_REQUEST ? gw_row(p, m->method, &is_held) : NULL;
    *h = (struct gw_heard){.peer = p, .m = {.kind = m->kind}};
    h->m.method = arena_str(gw.arena, m->method);
    h->m.params = m->params ? json_clone(gw.arena, m->params) : NULL;
    h->m.result = m->result ? json_clone(gw.arena, m->result) : NULL;
    h->m.error = m->error ? json_clone(gw.arena, m->error) : NULL;
    h->id = m->id ? json_to_str(gw.arena, m->id) : STR_NONE;
    if (result)
        peer_say(p, arena_printf(gw.arena, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%.*s}",
                                 STR_ARG(h->id), STR_ARG(gw_text(result))));
    return result || is_held ||
           (m->kind == RPC_REQUEST && !peer_answer_to(p, m->method) &&
            !str_eq(m->method, STR("server/discover")));
}

static inline void on_gw_peer_freed(struct peer *p)
{
    for (size_t i = 0; i < gw.nheard; i++)
        if (gw.heard[i].peer == p)
            gw.heard[i].peer = NULL;
}

/* From now on the server of this bundle answers the method with `result`; NULL: it waits for
 * gw_answer. */
static inline void gw_serve(const char *bundle, const char *method, const char *result)
{
    assert_true(gw.nrows < GW_ROWS_MAX);
    gw.rows[gw.nrows].bundle = bundle;
    gw.rows[gw.nrows].method = method;
    gw.rows[gw.nrows++].result = result;
}

static inline struct gw_heard *gw_next_heard(const char *method)
{
    for (size_t i = 0; i < gw.nheard; i++)
        if (!gw.heard[i].is_seen && str_eq(gw.heard[i].m.method, str_from(method)))
            return &gw.heard[i];
    return NULL;
}

/* Waits until a server gets this request or notification; each is returned once. "": an answer to
 * a question of the server. */
static inline struct gw_heard *gw_heard(const char *method)
{
    gw_until(gw_next_heard(method));
    struct gw_heard *h = gw_next_heard(method);
    h->is_seen = true;
    return h;
}

static inline void assert_not_heard(const char *method)
{
    gw_settle();
    assert_null(gw_next_heard(method));
}

static inline void gw_say(struct peer *p, const char *quoted)
{
    assert_non_null(p);
    peer_say(p, gw_text(quoted));
}

static inline void gw_answer(const struct gw_heard *h, const char *result)
{
    gw_say(h->peer,
           arena_printf(gw.arena, "{'jsonrpc':'2.0','id':%.*s,'result':%s}", STR_ARG(h->id), result)
               .p);
}

static inline void gw_fail(const struct gw_heard *h, const char *error)
{
    gw_say(
        h->peer,
        arena_printf(gw.arena, "{'jsonrpc':'2.0','id':%.*s,'error':%s}", STR_ARG(h->id), error).p);
}

/* The server asks the client something during the call h. */
static inline void gw_server_asks(const struct gw_heard *h, const char *id, const char *method,
                                  const char *params)
{
    gw_say(h->peer, arena_printf(gw.arena, "{'jsonrpc':'2.0','id':'%s','method':'%s','params':%s}",
                                 id, method, params)
                        .p);
}

static inline void gw_server_tells(const struct gw_heard *h, const char *method, const char *params)
{
    gw_say(h->peer,
           arena_printf(gw.arena, "{'jsonrpc':'2.0','method':'%s','params':%s}", method, params).p);
}

/* ---- clients: HTTP ---- */

static inline size_t gw_person(struct actor *a)
{
    for (size_t i = 0; i < gw.npeople; i++)
        if (gw.people[i] == a)
            return i;
    assert_true(gw.npeople < GW_PEOPLE_MAX);
    gw.people[gw.npeople] = actor_ref(a);
    return gw.npeople++;
}

/* Somebody with this credential; `tools`: the globs of a token as a JSON list, or NULL. Freed at
 * the end of the test. */
static inline struct actor *gw_actor(struct principal p, const char *tools)
{
    struct json_strs globs = {0};
    const struct json *list = tools ? gw_json(tools) : NULL;
    p.how = p.token_id.n > 0 || tools ? AUTH_BY_TOKEN : AUTH_BY_SESSION;
    p.scopes = SCOPE_ALL;
    if (list)
        globs.items = arena_array(gw.arena, list->len + 1, sizeof(str));
    for (uint32_t i = 0; list && i < list->len; i++)
        globs.items[globs.len++] = list->items[i].s;
    struct actor *a = actor_new(gw.base->directory, STR(RIG_WORKSPACE), &p, globs);
    (void)gw_person(a);
    actor_unref(a);
    return a;
}

static inline struct gw_client *gw_connect(str request)
{
    assert_true(gw.nclients < GW_CLIENTS_MAX);
    struct gw_client *c = &gw.clients[gw.nclients++];
    *c = (struct gw_client){.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    buf_init(&c->got, 64u << 20);
    assert_int_equal(connect(c->fd, (struct sockaddr *)&gw.addr, sizeof gw.addr), 0);
    for (str rest = request; rest.n > 0;) {
        ssize_t n = send(c->fd, rest.p, rest.n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0)
            rest = str_skip(rest, (size_t)n);
        else
            gw_spin();
    }
    return c;
}

/* `headers`: lines with \r\n, or "". */
static inline struct gw_client *gw_send(const char *method, const char *path, const char *headers,
                                        str body)
{
    struct buf b;
    buf_init(&b, 64u << 20);
    buf_printf(&b, "%s %s HTTP/1.0\r\nHost: a\r\nX-Person: %zu\r\nContent-Length: %zu\r\n", method,
               path, gw_person(gw.who), body.n);
    if (!strstr(headers, "Accept:"))
        buf_add_lit(&b, "Accept: application/json, text/event-stream\r\n");
    if (!strstr(headers, "Content-Type:"))
        buf_add_lit(&b, "Content-Type: application/json\r\n");
    buf_printf(&b, "%s\r\n", headers);
    buf_add_str(&b, body);
    struct gw_client *c = gw_connect(buf_str(&b));
    buf_done(&b);
    return c;
}

static inline struct gw_client *gw_post(const char *headers, const char *quoted)
{
    return gw_send("POST", "/mcp", headers, gw_text(quoted));
}

/* The client disconnects. */
static inline void gw_leave(struct gw_client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    gw_settle();
}

static inline str gw_head(struct gw_client *c)
{
    gw_until(str_find(buf_str(&c->got), STR("\r\n\r\n"), 0) > 0);
    return str_slice(buf_str(&c->got), 0, (size_t)str_find(buf_str(&c->got), STR("\r\n\r\n"), 0));
}

static inline int gw_status(struct gw_client *c)
{
    uint64_t status;
    assert_int_equal(parse_u64(str_slice(gw_head(c), 9, 12), &status), 0);
    return (int)status;
}

/* Empty when the response has no such header. */
static inline str gw_header(struct gw_client *c, const char *name)
{
    str rest = gw_head(c), line, value;
    while (str_split(&rest, '\n', &line)) {
        value = line;
        str key;
        if (str_split(&value, ':', &key) && str_eq_nocase(key, str_from(name)))
            return str_trim(value);
    }
    return STR_NONE;
}

static inline bool gw_is_stream(struct gw_client *c)
{
    return str_eq(gw_header(c, "content-type"), STR("text/event-stream"));
}

static inline str gw_got(struct gw_client *c)
{
    return str_skip(buf_str(&c->got), gw_head(c).n + 4);
}

/* The whole response, after its end. */
static inline str gw_body(struct gw_client *c)
{
    gw_until(c->fd < 0);
    return gw_got(c);
}

/* One field ("data", "id", "event") of the nth complete event that has it; p NULL: not yet. */
static inline str gw_field(struct gw_client *c, const char *name, size_t n)
{
    str rest = gw_got(c);
    for (ptrdiff_t end; (end = str_find(rest, STR("\n\n"), 0)) >= 0;
         rest = str_skip(rest, (size_t)end + 2)) {
        str event = str_slice(rest, 0, (size_t)end), line;
        while (event.n > 0) {
            if (!str_split(&event, '\n', &line))
                line = event, event = STR_NONE;
            ptrdiff_t colon = str_find(line, STR(": "), 0);
            if (colon < 0 || !str_eq(str_slice(line, 0, (size_t)colon), str_from(name)))
                continue;
            if (n-- == 0)
                return str_skip(line, (size_t)colon + 2);
        }
    }
    return STR_NONE;
}

/* Waits for the nth message of the response, from 0: of a stream, or the only one. */
static inline struct json *gw_message(struct gw_client *c, size_t n)
{
    if (!gw_is_stream(c)) {
        assert_int_equal(n, 0);
        return gw_json_of(gw_body(c));
    }
    gw_until(gw_field(c, "data", n).p);
    return gw_json_of(gw_field(c, "data", n));
}

static inline size_t gw_messages(struct gw_client *c)
{
    size_t n = 0;
    while (gw_field(c, "data", n).p)
        n++;
    return n;
}

/* Waits for the end of the response and returns its last message. */
static inline struct json *gw_reply(struct gw_client *c)
{
    gw_until(c->fd < 0);
    size_t n = gw_is_stream(c) ? gw_messages(c) : 1;
    assert_true(n > 0);
    return gw_message(c, n - 1);
}

static inline void assert_open(struct gw_client *c)
{
    gw_settle();
    assert_true(c->fd >= 0);
}

/* ---- clients: the stateless era ---- */

static inline struct json *gw_modern_body(const char *method, const char *params, int id)
{
    struct json *p = gw_json(params);
    struct json *doc = gw_json("{'jsonrpc':'2.0'}");
    if (!json_get(p, "_meta"))
        json_set(gw.arena, p, STR("_meta"), *json_new(gw.arena, JSON_OBJECT));
    struct json *meta = json_get(p, "_meta");
    if (!json_get(meta, META_VERSION))
        json_set(gw.arena, meta, STR(META_VERSION), json_of_str(STR(GW_MODERN)));
    json_set(gw.arena, meta, STR(META_CAPABILITIES), *gw_json(gw.capabilities));
    json_set(gw.arena, meta, STR(META_CLIENT_INFO), *gw_json("{'name':'modern'}"));
    json_set(gw.arena, doc, STR("id"), json_of_int(id));
    json_set(gw.arena, doc, STR("method"), json_of_str(str_from(method)));
    json_set(gw.arena, doc, STR("params"), *p);
    return doc;
}

static inline struct gw_client *gw_modern_at(const char *path, const char *headers,
                                             const char *method, const char *params)
{
    int id = ++gw.next_id;
    struct json *doc = gw_modern_body(method, params, id);
    const char *member = protocol_name_member(str_from(method));
    str name = member ? json_get_string(json_get(doc, "params"), member) : STR_NONE;
    str all = arena_printf(gw.arena, "%sMCP-Protocol-Version: " GW_MODERN "\r\nMcp-Method: %s\r\n",
                           headers, method);
    if (name.n > 0)
        all = arena_printf(gw.arena, "%.*sMcp-Name: %.*s\r\n", STR_ARG(all), STR_ARG(name));
    struct gw_client *c = gw_send("POST", path, all.p, json_to_str(gw.arena, doc));
    c->id = id;
    return c;
}

static inline struct gw_client *gw_modern(const char *method, const char *params)
{
    return gw_modern_at("/mcp", "", method, params);
}

/* ---- clients: sessions ---- */

static inline struct gw_client *gw_legacy_at(const char *path, const char *session,
                                             const char *method, const char *params)
{
    int id = ++gw.next_id;
    str body = arena_printf(gw.arena, "{'jsonrpc':'2.0','id':%d,'method':'%s','params':%s}", id,
                            method, params);
    str header = session[0] ? arena_printf(gw.arena, "Mcp-Session-Id: %s\r\n", session) : STR("");
    struct gw_client *c = gw_send("POST", path, header.p, gw_text(body.p));
    c->id = id;
    return c;
}

static inline struct gw_client *gw_legacy(const char *session, const char *method,
                                          const char *params)
{
    return gw_legacy_at("/mcp", session, method, params);
}

/* Posts a message that gets no response of its own: a notification or an answer. */
static inline void gw_tell(const char *session, const char *message)
{
    str header = arena_printf(gw.arena, "Mcp-Session-Id: %s\r\n", session);
    struct gw_client *c = gw_post(header.p, message);
    assert_int_equal(gw_status(c), 202);
    assert_int_equal(gw_body(c).n, 0);
}

static inline const char *gw_open_at(const char *path, const char *version)
{
    str params = arena_printf(
        gw.arena, "{'protocolVersion':'%s','capabilities':%s,'clientInfo':{'name':'legacy'}}",
        version, gw.capabilities);
    struct gw_client *c = gw_legacy_at(path, "", "initialize", params.p);
    assert_like(gw_reply(c), "{'result':{'serverInfo':{'name':'nimblebrain'}}}");
    str id = gw_header(c, "mcp-session-id");
    assert_int_equal(id.n, GW_SESSION_ID_LEN);
    return arena_cstr(gw.arena, id);
}

/* Opens a session of the newest revision that has them, and returns its id. */
static inline const char *gw_open(void)
{
    return gw_open_at("/mcp", GW_LEGACY);
}

static inline struct gw_session *gw_session(const char *id)
{
    return map_get(&gw.g->sessions, str_from(id));
}

/* GET: the stream of messages that belong to no request. `last`: event id to resume after, or "".
 */
static inline struct gw_client *gw_get(const char *session, const char *last)
{
    str headers =
        arena_printf(gw.arena, "Accept: text/event-stream\r\nMcp-Session-Id: %s\r\n", session);
    if (last[0])
        headers = arena_printf(gw.arena, "%.*sLast-Event-ID: %s\r\n", STR_ARG(headers), last);
    return gw_send("GET", "/mcp", headers.p, STR_NONE);
}

/* The workspace, after the first request. */
static inline struct gw_space *gw_space(void)
{
    assert_false(list_empty(&gw.g->spaces));
    return LIST_ENTRY(gw.g->spaces.next, struct gw_space, node);
}

/* ---- clients: a pipe ---- */

static inline void on_gw_line(void *ctx, str message)
{
    assert_true(gw.nlines < GW_HEARD_MAX);
    gw.lines[gw.nlines++] = arena_str(gw.arena, message);
}

static inline struct gateway_caller gw_caller(struct actor *who)
{
    return (struct gateway_caller){.tools = gw.base->tools,
                                   .bundles = &gw.bundles,
                                   .runtime = gw.base->runtime,
                                   .workspace_id = STR(RIG_WORKSPACE),
                                   .actor = who,
                                   .permissions = gw.permissions};
}

static inline void gw_line(const char *quoted)
{
    struct gateway_caller who = gw_caller(gw.who);
    if (!gw.pipe)
        gw.pipe = gateway_pipe_open(gw.g, &who, STR_NONE, on_gw_line, NULL);
    gateway_pipe_line(gw.pipe, gw_text(quoted));
}

/* Waits for the nth line that the client on the pipe got. */
static inline struct json *gw_line_got(size_t n)
{
    gw_until(gw.nlines > n);
    return gw_json_of(gw.lines[n]);
}

/* ---- life ---- */

static inline void on_gw_request(void *ctx, struct http_req *r)
{
    uint64_t person = 0;
    str path = r->path;
    assert_int_equal(parse_u64(http_get_header(r, "x-person"), &person), 0);
    struct gateway_caller who = gw_caller(gw.people[person]);
    if (str_eq(path, STR("/sse")))
        gateway_sse_open(gw.g, r, &who);
    else if (str_eq(path, STR("/sse/message")))
        gateway_sse_post(gw.g, r, &who);
    else
        gateway_handle(gw.g, r, &who, str_starts(path, STR("/mcp/")) ? str_skip(path, 5) : STR(""));
}

static inline const struct tool *gw_list_tools(void *self, size_t *ret_n)
{
    struct bundle *b = self;
    struct tool *tools = gw.tools[b == gw.old];
    *ret_n = b->is_without_tools ? 0 : ARRAY_LEN(b->tools);
    for (size_t i = 0; i < ARRAY_LEN(b->tools); i++)
        tools[i] = (struct tool){
            .name = json_get_string(b->tools[i], "name"),
            .description = STR("d"),
            .input_schema = json_get(b->tools[i], "inputSchema"),
            .ui_uri = json_get_string(json_get(b->tools[i], "_meta"), "ui/resourceUri"),
            .is_internal = gw.is_for_apps_alone[i]};
    return tools;
}

static inline str gw_absence(void *self, struct arena *a, bool *ret_is_coming)
{
    const struct bundle *b = self;
    *ret_is_coming = b->is_without_tools && !b->capabilities;
    return *ret_is_coming ? STR("It is starting.") : STR_NONE;
}

/* The gateway sends calls of these tools to the bundle, not to the registry. */
static inline void gw_start_tool(void *self, struct tool_call *c)
{
    fail_msg("the tool of a bundle was called through the registry");
}

static inline void gw_cancel_tool(void *self, struct tool_call *c) {}

static inline void gw_add_bundle(struct bundle *b, const char *name, enum mcp_era era)
{
    struct err e = {0};
    struct tool_source *source = &gw.sources[b == gw.old];
    struct json *list = gw_json_of(STR(FUZZ_TOOLS "}"));
    b->loop = gw.base->loop;
    b->era = era;
    b->entry.server_name = str_from(name);
    b->capabilities = gw_json_of(STR("{" FUZZ_CAPABILITIES ",\"tasks\":{\"list\":{}},\"extensions\""
                                     ":{\"io.modelcontextprotocol/tasks\":{}}}"));
    for (uint32_t i = 0; i < ARRAY_LEN(b->tools); i++)
        b->tools[i] = json_at(json_get(list, "tools"), i);
    *source = (struct tool_source){.name = name,
                                   .list = gw_list_tools,
                                   .start = gw_start_tool,
                                   .cancel = gw_cancel_tool,
                                   .absence = gw_absence,
                                   .self = b};
    if (registry_add_source(gw.base->tools, source, &e) < 0)
        fail_msg("%s", e.msg);
}

/* Lists of MCP need a schema; that of t__ping wants an integer n. */
static inline void gw_add_schemas(void)
{
    for (size_t i = 0; i < ARRAY_LEN(rig_tools.tools); i++)
        rig_tools.tools[i].input_schema = gw_json("{'type':'object'}");
    rig_tools.tools[0].input_schema =
        gw_json("{'type':'object','properties':{'n':{'type':'integer'}}}");
    registry_changed(gw.base->tools, &rig_tools.source);
}

static inline int64_t gw_login_until(void *ctx, str session_id)
{
    return gw.login_until_ms;
}

/* Replaces the gateway of the set-up, before the first request. */
static inline void gw_use_limits(struct gateway_limits limits)
{
    struct gateway_deps deps = {.loop = gw.base->loop,
                                .pool = gw.base->pool,
                                .audit_path = gw.audit_path,
                                .base_path = STR("/nb"),
                                .limits = limits,
                                .login_until = gw_login_until};
    gateway_free(gw.g);
    gw.g = gateway_new(&deps);
}

static inline int gw_set_up(void **state)
{
    struct http_handlers h = {.on_request = on_gw_request};
    struct err e = {0};
    int r = rig_set_up(state);
    memset(&gw, 0, sizeof gw);
    memset(&peers, 0, sizeof peers);
    signal(SIGPIPE, SIG_IGN);
    gw.base = *state;
    gw.arena = &gw.base->arena;
    gw.who = gw.base->ana;
    gw.capabilities = "{}";
    list_init(&peers.open);
    peers.on_heard = on_gw_heard;
    peers.on_freed = on_gw_peer_freed;
    gw.bundles.n = 2;
    gw.new = &gw.bundles.items[0];
    gw.old = &gw.bundles.items[1];
    gw_add_bundle(gw.new, "new", MCP_ERA_MODERN);
    gw_add_bundle(gw.old, "old", MCP_ERA_LEGACY);
    gw_add_schemas();
    gw_use_limits((struct gateway_limits){0});
    gw.server = http_server_new(gw.base->loop, NULL, &h);
    gw.addr.sun_family = AF_UNIX;
    snprintf(gw.addr.sun_path, sizeof gw.addr.sun_path, "%s/gw.sock", gw.base->dir.path);
    assert_int_equal(http_listen_unix(gw.server, gw.addr.sun_path, &e), 0);
    return r;
}

/* At the end nothing is left: no connection of a client, no connection to a server. */
static inline int gw_tear_down(void **state)
{
    bool is_stopped = false;
    for (size_t i = 0; i < gw.nclients; i++)
        if (gw.clients[i].fd >= 0)
            close(gw.clients[i].fd), gw.clients[i].fd = -1;
    gw_settle();
    if (gw.pipe)
        gateway_pipe_close(gw.pipe);
    gateway_free(gw.g);
    for (size_t i = 0; i < ARRAY_LEN(gw.bundles.items); i++) {
        if (gw.bundles.items[i].connections)
            connections_abort(gw.bundles.items[i].connections);
        gw.bundles.items[i].connections = NULL;
    }
    gw_until(list_empty(&peers.open));
    http_server_stop(gw.server, 1000, rig_set_true, &is_stopped);
    gw_until(is_stopped);
    http_server_free(gw.server);
    for (size_t i = 0; i < gw.nclients; i++)
        buf_done(&gw.clients[i].got);
    for (size_t i = 0; i < gw.npeople; i++)
        actor_unref(gw.people[i]);
    return rig_tear_down(state);
}

#define TEST_GATEWAY(name) TEST_WITH(name, gw_set_up, gw_tear_down)
