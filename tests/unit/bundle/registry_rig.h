/* registry_rig.h - a loop with everything that packages need, and a small web server on it that
 * gives the answers a test has put there. */
#pragma once

#include <signal.h>

#include "http/server.h"
#include "loop/pool.h"
#include "net/fetch.h"
#include "support/tempdir.h"

#define RIG_ANSWERS_MAX 16
#define RIG_WAIT_MS     60000

struct rig_answer {
    const char *target; /* path and query as they are sent */
    int status;         /* 0 = never answered */
    str body;
};

struct rig {
    struct tempdir dir;
    struct arena arena;
    struct loop *loop;
    struct pool *pool;
    struct fetcher *fetcher;
    struct http_server *server;
    const char *url;
    struct rig_answer answers[RIG_ANSWERS_MAX];
    size_t nanswers, nrequests;
    char last[1024]; /* what was asked last */
};

static inline void rig_on_gone(struct http_req *r) {}

static inline void rig_on_request(void *ctx, struct http_req *r)
{
    struct rig *rig = ctx;
    rig->nrequests++;
    snprintf(rig->last, sizeof rig->last, "%.*s", STR_ARG(r->target));
    for (size_t i = 0; i < rig->nanswers; i++) {
        if (!str_eq(r->target, str_from(rig->answers[i].target)))
            continue;
        r->on_gone = rig_on_gone;
        if (rig->answers[i].status > 0)
            http_reply(r, rig->answers[i].status, "application/json", rig->answers[i].body);
        return;
    }
    http_reply(r, 404, "application/json", STR("{}"));
}

static inline int rig_make(struct rig *rig)
{
    uint16_t port;
    struct err e = {0};
    struct http_handlers h = {.on_request = rig_on_request, .ctx = rig};
    *rig = (struct rig){0};
    (void)signal(SIGPIPE, SIG_IGN);
    arena_init(&rig->arena);
    rig->loop = loop_new(NULL);
    rig->pool = pool_new(rig->loop, "test", 2);
    rig->fetcher = fetcher_new(rig->loop);
    rig->server = http_server_new(rig->loop, &HTTP_LIMITS_DEFAULT, &h);
    if (tempdir_make(&rig->dir) < 0 || http_listen_tcp(rig->server, "127.0.0.1", 0, &port, &e) < 0)
        return -1;
    rig->url = arena_printf(&rig->arena, "http://127.0.0.1:%u", port).p;
    return 0;
}

static inline void rig_set_true(void *flag)
{
    *(bool *)flag = true;
}

static inline int rig_drop(struct rig *rig)
{
    bool is_stopped = false;
    fetcher_free(rig->fetcher);
    http_server_stop(rig->server, 100, rig_set_true, &is_stopped);
    (void)loop_run_until(rig->loop, &is_stopped, RIG_WAIT_MS);
    http_server_free(rig->server);
    pool_free(rig->pool);
    loop_free(rig->loop);
    arena_done(&rig->arena);
    return tempdir_drop(&rig->dir);
}

static inline void rig_answer(struct rig *rig, const char *target, int status, str body)
{
    for (size_t i = 0; i < rig->nanswers; i++)
        if (strcmp(rig->answers[i].target, target) == 0)
            rig->answers[i] = (struct rig_answer){target, status, body};
    if (rig->nanswers < RIG_ANSWERS_MAX)
        rig->answers[rig->nanswers++] = (struct rig_answer){target, status, body};
}

static inline const char *rig_path(struct rig *rig, const char *below)
{
    return arena_printf(&rig->arena, "%s/%s", rig->dir.path, below).p;
}
