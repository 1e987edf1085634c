/* identity.h - a directory and the identity service over a work directory of a test's own. */
#pragma once

#include <errno.h>

#include "auth/identity.h"
#include "os/file.h"
#include "support/tempdir.h"
#include "support/unit.h"

enum { PATIENCE_MS = 60000 };

static struct tempdir dir;
static struct loop *loop;
static struct instance instance;
static struct directory *directory;
static struct fetcher *fetcher;
static struct auth *auth;
static struct database *shared_database; /* NULL: files in dir */

static inline void put_instance(const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/instance.json", dir.path);
    assert_int_equal(file_write_atomic(path, str_from(text), 0600, NULL), 0);
}

/* Passwords are hashed by a thread that gives way to everything else: on a busy machine dozens of
 * them would take many minutes. */
void __wrap_pool_give_way(struct pool *p);

void __wrap_pool_give_way(struct pool *p) {}

/* Attempts are counted by the minute, and a minute is not enough to hash 30 passwords everywhere.
 */
static inline uint64_t minute_without_end(void)
{
    return 1000;
}

static inline void start_identity(const char *api_key)
{
    struct err e = {0};
    if (instance_load(&instance, dir.path, str_from(api_key), STR_NONE, &e) < 0 ||
        directory_new(loop, NULL, dir.path, instance_is_sole(&instance), &directory, &e) < 0)
        fail_msg("%s", e.msg);
    struct auth_deps deps = {.loop = loop,
                             .directory = directory,
                             .fetcher = fetcher,
                             .instance = &instance,
                             .work_dir = dir.path,
                             .shared = shared_database,
                             .mono_ms = minute_without_end};
    assert_int_equal(auth_new(&deps, &auth, &e), 0);
}

static inline void stop_identity(void)
{
    auth_free(auth);
    directory_free(directory);
    instance_done(&instance);
    auth = NULL;
}

struct answer {
    bool is_done;
    int code;
    char msg[256], id[128], value[128], refresh[128], url[4096], return_to[256];
    int64_t max_age_s;
};

static inline void keep(char *to, size_t size, str from)
{
    snprintf(to, size, "%.*s", STR_ARG(from));
}

static inline void answer_err(struct answer *a, const struct err *err)
{
    a->is_done = true;
    a->code = err->code;
    keep(a->msg, sizeof a->msg, str_from(err->msg));
}

static inline void on_session(void *ctx, const struct err *err, const struct auth_session *s)
{
    struct answer *a = ctx;
    answer_err(a, err);
    assert_true((err->code == 0) == (s != NULL));
    if (!s)
        return;
    keep(a->id, sizeof a->id, s->user_id);
    keep(a->value, sizeof a->value, s->session_value);
    keep(a->refresh, sizeof a->refresh, s->refresh_value);
    keep(a->return_to, sizeof a->return_to, s->return_to);
    a->max_age_s = s->session_max_age_s;
}

static inline void on_change(void *ctx, const struct err *err, str id)
{
    struct answer *a = ctx;
    answer_err(a, err);
    keep(a->id, sizeof a->id, id);
}

/* Waits for an answer that must not be there yet. */
static inline int wait_for(struct answer *a)
{
    assert_false(a->is_done);
    assert_true(loop_run_until(loop, &a->is_done, PATIENCE_MS));
    return a->code;
}

static inline int change(struct change c)
{
    struct answer a = {0};
    directory_change(directory, &c, on_change, &a);
    return wait_for(&a);
}

/* The user id, or "" when the credentials are refused (and the code in *ret). */
static inline const char *who_is(const char *bearer, const char *cookie, int *ret)
{
    static char id[128];
    struct arena a;
    struct identity who;
    struct auth_credentials c = {str_from(bearer), str_from(cookie)};
    arena_init(&a);
    *ret = auth_check(auth, &a, &c, &who);
    keep(id, sizeof id, *ret == 0 ? who.user_id : STR_NONE);
    arena_done(&a);
    return id;
}
