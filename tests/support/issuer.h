/* issuer.h - support/issuer.mjs beside a unit test, and words with it.
 *
 * issuer_start needs the pinned Node of the source tree; SRC_DIR says where that is, otherwise
 * the current directory or its parent. The issuer ends with the test, however that ends. */
#pragma once

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json/json.h"
#include "net/fetch.h"

extern char **environ;

struct issuer {
    pid_t pid;
    int to; /* closing it ends the issuer */
    char url[128];
};

static inline const char *issuer_root(void)
{
    const char *src = getenv("SRC_DIR");
    return src ? src : access("tests/support", F_OK) == 0 ? "." : "..";
}

static inline int issuer_start(struct issuer *i, const char *options)
{
    char node[512], script[512], line[256];
    int in[2], out[2];
    snprintf(node, sizeof node, "%s/node_modules/.bin/node", issuer_root());
    snprintf(script, sizeof script, "%s/tests/support/issuer.mjs", issuer_root());
    char *argv[] = {node, script, str_dup(str_from(options)), NULL};
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
        return -1;
    posix_spawn_file_actions_t io;
    posix_spawn_file_actions_init(&io);
    posix_spawn_file_actions_adddup2(&io, in[0], 0);
    posix_spawn_file_actions_adddup2(&io, out[1], 1);
    int r = posix_spawn(&i->pid, node, &io, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&io);
    free(argv[2]);
    close(in[0]);
    close(out[1]);
    i->to = in[1];
    if (r != 0)
        return -1;
    FILE *f = fdopen(out[0], "r");
    bool is_up = fgets(line, sizeof line, f) && sscanf(line, "issuer %127s", i->url) == 1;
    fclose(f);
    (void)signal(SIGPIPE, SIG_IGN);
    return is_up ? 0 : -1;
}

static inline void issuer_stop(struct issuer *i)
{
    close(i->to);
    kill(i->pid, SIGTERM);
    waitpid(i->pid, NULL, 0);
}

/* One exchange; the caller frees the body. */
struct issuer_reply {
    bool is_done;
    int status;
    char location[4096];
    struct buf body;
};

static inline void issuer_on_head(void *ctx, int status, const struct fetch_header *h, size_t n)
{
    struct issuer_reply *r = ctx;
    r->status = status;
    for (size_t i = 0; i < n; i++)
        if (str_eq(h[i].name, STR("location")))
            snprintf(r->location, sizeof r->location, "%.*s", STR_ARG(h[i].value));
}

static inline void issuer_on_data(void *ctx, str bytes)
{
    buf_add_str(&((struct issuer_reply *)ctx)->body, bytes);
}

static inline void issuer_on_done(void *ctx, const struct err *err)
{
    ((struct issuer_reply *)ctx)->is_done = true;
}

static inline void issuer_ask(struct loop *l, struct fetcher *f, const char *url, const char *body,
                              struct issuer_reply *r)
{
    static const struct fetch_events EVENTS = {issuer_on_head, issuer_on_data, issuer_on_done};
    *r = (struct issuer_reply){0};
    buf_init(&r->body, 1 << 20);
    struct fetch_spec spec = {
        .url = str_from(url), .body = str_from(body), .has_body = body != NULL};
    fetch_start(f, &spec, &EVENTS, r);
    bool is_answered = loop_run_until(l, &r->is_done, 60000);
    assert(is_answered);
}

/* Gives it a command; the answer is in the arena. */
static inline const struct json *issuer_tell(struct issuer *i, struct loop *l, struct fetcher *f,
                                             struct arena *a, const char *command)
{
    struct issuer_reply r;
    struct json *doc;
    char url[256];
    snprintf(url, sizeof url, "%s/control", i->url);
    issuer_ask(l, f, url, command, &r);
    int parsed = json_parse(a, buf_str(&r.body), JSON_COPY, &doc, NULL);
    assert(r.status == 200 && parsed == 0);
    buf_done(&r.body);
    return doc;
}
