/* probe.c - searches for model servers on this machine.
 *
 * Only when nothing is configured or a person asks for it, only on the well-known ports, and with a
 * short timeout. A plain connect detects a closed port, and returns immediately on the loopback, so
 * the HTTP client is not even loaded on machines without such servers. */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "llm/call/llm_impl.h"

#define PROBE_MS       300u
#define NAMED_MS       3000u /* for the server that OLLAMA_HOST names */
#define CONNECT_MS     2     /* to a port of this machine */
#define PROBE_BODY_MAX (1024u * 1024)
#define MODELS_TRIED   8

struct probe_server;

/* How to recognise a server and find its models. */
struct server_kind {
    const char *name; /* of the provider */
    uint16_t port;
    const char *check_path; /* must answer 200 with JSON that ... */
    const char *check_key;  /* ... has this member */
    const char *models_path;
    const char *list_key, *id_key; /* where the models are in its answer */
    const char *owned_by;          /* required owner of the models; NULL = any */
};

static const struct server_kind KINDS[] = {
    {"ollama", 11434, "/api/version", "version", "/api/tags", "models", "name", NULL},
    {"llamacpp", 8080, "/props", "default_generation_settings", "/v1/models", "data", "id", NULL},
    {"lmstudio", 1234, "/api/v0/models", "data", "/api/v0/models", "data", "id", NULL},
    {"vllm", 8000, "/version", "version", "/v1/models", "data", "id", "vllm"},
};

enum look_step { LOOK_CHECK, LOOK_MODELS, LOOK_SHOW, LOOK_DONE };

/* One candidate server. */
struct probe_server {
    struct probe *probe;
    const struct server_kind *kind;
    str base; /* "http://127.0.0.1:11434" */
    uint64_t limit_ms;
    enum look_step step;
    struct fetch *fetch;
    struct buf body;
    int status;
    str models[MODELS_TRIED];
    size_t nmodels, shown; /* Ollama reports the capabilities of each model separately */
    str chosen;
};

struct probe {
    struct llm *llm;
    struct arena arena;
    struct probe_server looks[ARRAY_LEN(KINDS)];
    size_t pending;
    bool keeps_default;
    struct timer timer;
    struct deferred end;
    void (*fn)(void *ctx);
    void *ctx;
};

static void look_next(struct probe_server *k);

void probe_free(struct probe *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < ARRAY_LEN(KINDS); i++) {
        if (p->looks[i].fetch)
            fetch_cancel(p->looks[i].fetch);
        buf_done(&p->looks[i].body);
    }
    timer_stop(&p->timer);
    defer_stop(&p->end);
    p->llm->probe = NULL;
    arena_done(&p->arena);
    free(p);
}

static bool is_noted(const struct provider *p, const struct probe_server *k)
{
    bool is_same = p->found.len == k->nmodels;
    for (size_t i = 0; is_same && i < k->nmodels; i++)
        is_same = str_eq(p->found.items[i], k->models[i]);
    return is_same;
}

/* The arena lives as long as nb: copy new values only. */
static void note_found(struct llm *m, struct provider *p, const struct probe_server *k)
{
    if (is_noted(p, k))
        return;
    p->found = (struct json_strs){arena_strs(&m->arena, k->models, k->nmodels), k->nmodels};
}

static void adopt(struct llm *m, const struct probe_server *k)
{
    if (k->chosen.n == 0)
        return;
    struct provider *p = llm_find_provider(m, str_from(k->kind->name));
    if (!p) {
        p = llm_add_known(m, str_from(k->kind->name));
        if (!p)
            return;
        p->base_url = arena_concat(&m->arena, k->base, STR("/v1"));
        p->default_model = arena_str(&m->arena, k->chosen);
        log_info(m->log, "llm", "found %s on %.*s with the model %.*s", k->kind->name,
                 STR_ARG(k->base), STR_ARG(k->chosen));
    }
    if (str_starts(p->base_url, k->base)) /* the settings may name one on another machine */
        note_found(m, p, k);
}

static void probe_finish(void *ctx)
{
    struct probe *p = ctx;
    struct llm *m = p->llm;
    void (*fn)(void *) = p->fn;
    void *fn_ctx = p->ctx;
    bool keeps_default = p->keeps_default;
    for (size_t i = 0; i < ARRAY_LEN(KINDS); i++)
        adopt(m, &p->looks[i]);
    probe_free(p);
    if (!keeps_default)
        llm_choose_default(m);
    fn(fn_ctx);
}

static void look_end(struct probe_server *k)
{
    struct probe *p = k->probe;
    assert(p->pending > 0 && k->step != LOOK_DONE && !k->fetch);
    k->step = LOOK_DONE;
    if (--p->pending == 0)
        defer_start(p->llm->loop, &p->end);
}

/* ---- reading answers ---- */

static bool note_models(struct probe_server *k, const struct json *root)
{
    const struct json *list = json_get(root, k->kind->list_key);
    for (size_t i = 0; json_is(list, JSON_ARRAY) && i < list->len; i++) {
        const struct json *entry = &list->items[i];
        str id = json_get_string(entry, k->kind->id_key);
        str owner = json_get_string(entry, "owned_by");
        if (k->kind->owned_by && !str_eq(owner, str_from(k->kind->owned_by)))
            continue;
        if (str_eq(json_get_string(entry, "type"), STR("embeddings")))
            continue;
        if (id.n > 0 && k->nmodels < MODELS_TRIED)
            k->models[k->nmodels++] = arena_str(&k->probe->arena, id);
    }
    return k->nmodels > 0;
}

static bool can_use_tools(const struct json *shown)
{
    const struct json *caps = json_get(shown, "capabilities");
    for (size_t i = 0; json_is(caps, JSON_ARRAY) && i < caps->len; i++)
        if (str_eq(json_string(&caps->items[i], STR_NONE), STR("tools")))
            return true;
    return false;
}

/* Decides what the answer means; true = another request is needed. */
static bool look_read(struct probe_server *k, const struct json *root)
{
    assert(k->step != LOOK_DONE && (k->step != LOOK_SHOW || k->shown < k->nmodels));
    bool is_ollama = strcmp(k->kind->name, "ollama") == 0;
    if (k->step == LOOK_CHECK) {
        k->step = LOOK_MODELS;
        return json_get(root, k->kind->check_key) != NULL;
    }
    if (k->step == LOOK_MODELS) {
        if (!note_models(k, root))
            return false;
        k->chosen = k->models[0];
        k->step = LOOK_SHOW;
        return is_ollama;
    }
    if (can_use_tools(root)) {
        k->chosen = k->models[k->shown];
        return false;
    }
    return ++k->shown < k->nmodels;
}

static void on_probe_head(void *ctx, int status, const struct fetch_header *headers, size_t n)
{
    (void)headers, (void)n;
    ((struct probe_server *)ctx)->status = status;
}

static void on_probe_data(void *ctx, str bytes)
{
    (void)buf_add_str(&((struct probe_server *)ctx)->body, bytes);
}

static void on_probe_end(void *ctx, const struct err *err)
{
    struct probe_server *k = ctx;
    struct json *root;
    k->fetch = NULL;
    bool is_good = err->code == 0 && k->status == 200 && !buf_failed(&k->body) &&
                   json_parse(&k->probe->arena, buf_str(&k->body), JSON_COPY, &root, NULL) == 0;
    if (is_good && look_read(k, root))
        look_next(k);
    else
        look_end(k);
}

static void look_next(struct probe_server *k)
{
    static const struct fetch_events EVENTS = {
        .on_head = on_probe_head, .on_data = on_probe_data, .on_done = on_probe_end};
    assert(!k->fetch && k->step != LOOK_DONE);
    struct arena *a = &k->probe->arena;
    struct fetch_spec spec = {.connect_timeout_ms = k->limit_ms,
                              .idle_timeout_ms = k->limit_ms,
                              .body_max = PROBE_BODY_MAX};
    const char *path = k->step == LOOK_CHECK ? k->kind->check_path : k->kind->models_path;
    if (k->step == LOOK_SHOW) {
        struct json ask = {.type = JSON_OBJECT};
        json_set(a, &ask, STR("model"), json_of_str(k->models[k->shown]));
        path = "/api/show";
        spec.body = json_to_str(a, &ask);
        spec.has_body = true;
    }
    spec.url = arena_concat(a, k->base, str_from(path));
    buf_clear(&k->body);
    k->status = 0;
    k->fetch = fetch_start(k->probe->llm->fetcher, &spec, &EVENTS, k);
}

/* ---- starting ---- */

/* True when a connection in progress succeeded. On the loopback this is known immediately; the
 * short wait is for slow machines. */
static bool is_connected(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int why = 0;
    socklen_t size = sizeof why;
    return poll(&p, 1, CONNECT_MS) == 1 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size) == 0 &&
           why == 0;
}

static bool is_port_open(uint16_t port)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    int rc = connect(fd, (struct sockaddr *)&to, sizeof to);
    bool is_open = rc == 0 || (errno == EINPROGRESS && is_connected(fd));
    close(fd);
    return is_open;
}

/* OLLAMA_HOST may be a host, host:port or a URL; it was configured, so the port is not checked. */
static str named_base(struct llm *m, struct arena *a)
{
    str host = str_trim(m->ollama_host);
    if (str_find(host, STR("://"), 0) >= 0)
        return host;
    if (str_starts(host, STR("0.0.0.0")))
        host = arena_concat(a, STR("127.0.0.1"), str_skip(host, 7));
    bool has_port = str_find_char(host, ':') >= 0;
    return arena_printf(a, "http://%.*s%s", STR_ARG(host), has_port ? "" : ":11434");
}

static void look_start(struct probe *p, struct probe_server *k, const struct server_kind *kind)
{
    bool is_named = strcmp(kind->name, "ollama") == 0 && p->llm->ollama_host.n > 0;
    *k = (struct probe_server){.probe = p, .kind = kind, .step = LOOK_CHECK};
    buf_init(&k->body, PROBE_BODY_MAX);
    k->limit_ms = is_named ? NAMED_MS : PROBE_MS;
    k->base = is_named ? named_base(p->llm, &p->arena)
                       : arena_printf(&p->arena, "http://127.0.0.1:%u", kind->port);
    if (!is_named && !is_port_open(kind->port)) {
        k->step = LOOK_DONE;
        return;
    }
    p->pending++;
    look_next(k);
}

static bool is_anything_configured(const struct llm *m)
{
    return m->default_model.n > 0 || !str_eq(m->chosen, STR("demo:demo"));
}

static void probe_start(struct llm *m, bool keeps_default, bool is_wanted, void (*fn)(void *ctx),
                        void *ctx)
{
    struct probe *p = xcalloc(1, sizeof *p);
    probe_free(m->probe);
    m->probe = p;
    *p = (struct probe){.llm = m, .fn = fn, .ctx = ctx, .keeps_default = keeps_default};
    arena_init(&p->arena);
    timer_init(&p->timer, m->loop, probe_finish, p);
    defer_init(&p->end, probe_finish, p);
    uint64_t limit_ms = 0;
    for (size_t i = 0; is_wanted && i < ARRAY_LEN(KINDS); i++) {
        look_start(p, &p->looks[i], &KINDS[i]);
        if (p->looks[i].limit_ms > limit_ms)
            limit_ms = p->looks[i].limit_ms;
    }
    if (p->pending == 0)
        defer_start(m->loop, &p->end);
    else
        timer_start(&p->timer, limit_ms);
}

void llm_probe(struct llm *m, void (*fn)(void *ctx), void *ctx)
{
    probe_start(m, false, !is_anything_configured(m), fn, ctx);
}

void llm_look(struct llm *m, void (*fn)(void *ctx), void *ctx)
{
    probe_start(m, true, true, fn, ctx);
}

void llm_stop_look(struct llm *m)
{
    probe_free(m->probe);
}
