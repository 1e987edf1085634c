#include "telemetry/collector.h"

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
    c->base = arena_str(&c->arena, conf->endpoint);
    while (str_ends(c->base, STR("/")))
        c->base.n--;
    c->conf.service_name = arena_str(&c->arena, conf->service_name);
    random_id("nb", id); /* tells servers of one name apart */
    c->instance = arena_str(&c->arena, str_from(id));
    keep_headers(c, conf->headers);
}

struct fetch_whole *collector_post(const struct otlp_collector *c, const char *path, str body,
                                   fetch_whole_done done, void *ctx)
{
    struct arena a;
    arena_init(&a);
    struct fetch_spec spec = {.method = "POST",
                              .url = arena_concat(&a, c->base, str_from(path)),
                              .headers = c->headers,
                              .nheaders = c->nheaders,
                              .body = body,
                              .has_body = true};
    struct fetch_whole *w = fetch_whole_start(c->conf.loop, c->conf.fetcher, &spec, done, ctx);
    arena_done(&a);
    return w;
}

void collector_done(struct otlp_collector *c)
{
    arena_done(&c->arena);
}
