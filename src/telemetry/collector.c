#include "telemetry/collector.h"

#include <assert.h>
#include <errno.h>

#include "base/bytes/random.h"

static void keep_headers(struct otlp_collector *c, const struct json *headers)
{
    c->headers[c->nheaders++] = (struct fetch_header){STR("Content-Type"), STR("application/json")};
    for (size_t i = 0;
         json_is(headers, JSON_OBJECT) && i < headers->len && i < COLLECTOR_HEADERS_MAX; i++) {
        const struct json_member *m = &headers->members[i];
        if (json_is(&m->value, JSON_STRING))
            c->headers[c->nheaders++] = (struct fetch_header){arena_str(&c->arena, m->key),
                                                              arena_str(&c->arena, m->value.s)};
    }
}

void collector_init(struct otlp_collector *c, const struct collector_conf *conf)
{
    char id[RANDOM_ID_MAX];
    *c = (struct otlp_collector){.conf = *conf};
    arena_init(&c->arena);
    list_init(&c->requests);
    c->base = arena_str(&c->arena, conf->endpoint);
    while (str_ends(c->base, STR("/")))
        c->base.n--;
    c->conf.service_name = arena_str(&c->arena, conf->service_name);
    random_id("nb", id); /* tells servers of one name apart */
    c->instance = arena_str(&c->arena, str_from(id));
    keep_headers(c, conf->headers);
    if (c->base.n == 0)
        return;
    c->sender = loop_new(NULL);
    c->fetcher = fetcher_new(c->sender);
    c->pool = pool_new(conf->loop, "nb-telemetry", 1);
    pool_give_way(c->pool);
}

/* ---- on the thread ---- */

static void on_response(void *request, const struct err *err, int status, str body)
{
    struct collector_request *r = request;
    r->err = *err;
    r->status = status;
    buf_init(&r->body, FETCH_WHOLE_MAX);
    buf_add_str(&r->body, body);
    r->is_answered = true;
}

static struct fetch_whole *start_fetch(struct collector_request *r)
{
    struct otlp_collector *c = r->collector;
    struct arena a;
    struct buf body;
    arena_init(&a);
    buf_init(&body, COLLECTOR_BODY_MAX);
    r->write(r, &body);
    assert(!buf_failed(&body));
    struct fetch_spec spec = {.method = "POST",
                              .url = arena_concat(&a, c->base, str_from(r->path)),
                              .headers = c->headers,
                              .nheaders = c->nheaders,
                              .body = buf_str(&body),
                              .has_body = true};
    struct fetch_whole *w = fetch_whole_start(c->sender, c->fetcher, &spec, on_response, r);
    buf_done(&body);
    arena_done(&a);
    return w;
}

/* loop_stop (collector_cancel) may be meant for the request before this one: then the loop runs
 * again. */
static void send_request(struct job *j)
{
    struct collector_request *r = CONTAINER_OF(j, struct collector_request, job);
    struct fetch_whole *w = atomic_load(&r->is_cancelled) ? NULL : start_fetch(r);
    while (!r->is_answered && !atomic_load(&r->is_cancelled))
        (void)loop_run_until(r->collector->sender, &r->is_answered, FETCH_WHOLE_TIMEOUT_MS);
    if (r->is_answered)
        return;
    fetch_whole_cancel(w);
    err_set(&r->err, -ECANCELED, "cancelled");
}

/* ---- on the loop thread ---- */

static void on_request_sent(struct job *j)
{
    struct collector_request *r = CONTAINER_OF(j, struct collector_request, job);
    struct buf body = r->body; /* `done` may send again */
    list_del(&r->node);
    r->done(r);
    buf_done(&body);
}

void collector_send(struct otlp_collector *c, struct collector_request *r)
{
    assert(c->pool && !c->is_stopping && r->path && r->write && r->done);
    r->collector = c;
    r->err = (struct err){0};
    r->status = 0;
    r->body = (struct buf){0};
    r->is_answered = false;
    atomic_store(&r->is_cancelled, false);
    list_push(&c->requests, &r->node);
    pool_run(c->pool, &r->job, send_request, on_request_sent);
}

void collector_cancel(struct collector_request *r)
{
    atomic_store(&r->is_cancelled, true);
    loop_stop(r->collector->sender);
}

void collector_stop(struct otlp_collector *c)
{
    if (!c->pool)
        return;
    c->is_stopping = true;
    LIST_EACH (r, &c->requests, struct collector_request, node)
        collector_cancel(r);
    pool_free(c->pool);
    c->pool = NULL;
    fetcher_free(c->fetcher);
    loop_free(c->sender);
}

void collector_done(struct otlp_collector *c)
{
    assert(!c->pool);
    arena_done(&c->arena);
}
