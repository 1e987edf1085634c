#include "auth/session/session.h"

#include <assert.h>
#include <stdlib.h>

#include "auth/session/session_impl.h"
#include "auth/session/session_table.h"
#include "base/bytes/random.h"

#define SWEEP_MS 60000

/* ---- the maps ---- */

static void put_hash(struct sessions *s, struct login_session *x, const char *hash)
{
    if (*hash)
        map_put(&s->by_hash, str_from(hash), x);
}

static void drop_hash(struct sessions *s, const char *hash)
{
    if (*hash)
        map_del(&s->by_hash, str_from(hash));
}

void session_index(struct sessions *s, struct login_session *x)
{
    map_put(&s->all, str_from(x->id), x);
    put_hash(s, x, x->value_hash);
    put_hash(s, x, x->refresh_hash);
    put_hash(s, x, x->former_hash);
    put_hash(s, x, x->spent_hash);
}

void session_release(struct login_session *x)
{
    free((void *)x->user_id.p);
    if (x->provider_refresh.n > 0)
        explicit_bzero((void *)x->provider_refresh.p, x->provider_refresh.n);
    free((void *)x->provider_refresh.p);
    free(x);
}

static void session_free(struct sessions *s, struct login_session *x)
{
    drop_hash(s, x->value_hash);
    drop_hash(s, x->refresh_hash);
    drop_hash(s, x->former_hash);
    drop_hash(s, x->spent_hash);
    map_del(&s->all, str_from(x->id));
    session_release(x);
}

void session_replace(struct sessions *s, struct login_session *x)
{
    struct login_session *old = map_get(&s->all, str_from(x->id));
    if (old)
        session_free(s, old);
    session_index(s, x);
}

void session_remove(struct sessions *s, struct login_session *x)
{
    s->on_ended(s->ctx, x);
    session_free(s, x);
}

static void set_provider_refresh(struct login_session *x, str token)
{
    if (token.n == 0)
        return;
    free((void *)x->provider_refresh.p);
    x->provider_refresh = str_make(str_dup(token), token.n);
}

/* ---- life ---- */

/* Servers that share sessions agree on the time, by the clock of the database. */
static int64_t sessions_now(const struct sessions *s)
{
    return s->now_ms() + session_table_ahead_ms(s->table);
}

static bool session_is_over(const struct login_session *x, int64_t now)
{
    return now - x->seen_ms >= x->policy.idle_ms || now - x->created_ms >= x->policy.absolute_ms;
}

static void on_sweep(void *ctx)
{
    struct sessions *s = ctx;
    struct map_entry *e;
    int64_t now = sessions_now(s);
    for (size_t i = 0; (e = map_next(&s->all, &i)) != NULL;)
        if (session_is_over(e->value, now))
            session_end(s, e->value);
    s->keeper->sweep(s);
    if (map_len(&s->all) > 0 || s->table)
        timer_start(&s->sweep, SWEEP_MS);
}

struct sessions *sessions_new(struct loop *l, struct logger *log, const char *work_dir,
                              struct database *shared, str origin, int64_t (*now_ms)(void),
                              session_ended on_ended, void *ctx)
{
    struct sessions *s = xcalloc(1, sizeof *s);
    s->loop = l;
    s->log = log;
    s->origin = str_dup(origin);
    s->on_ended = on_ended;
    s->ctx = ctx;
    s->now_ms = now_ms;
    map_init(&s->all);
    map_init(&s->by_hash);
    list_init(&s->waiting);
    timer_init(&s->sweep, l, on_sweep, s);
    struct buf path;
    buf_init(&path, 8192);
    buf_printf(&path, "%s/auth/sessions.json", work_dir);
    s->path = buf_take(&path, NULL);
    s->keeper = &SESSION_FILE;
    if (shared)
        session_table_use(s, shared);
    else
        sessions_read(s);
    if (map_len(&s->all) > 0 || shared)
        timer_start(&s->sweep, SWEEP_MS);
    return s;
}

void sessions_stop(struct sessions *s)
{
    if (s->is_stopped)
        return;
    timer_stop(&s->sweep);
    s->keeper->stop(s);
    s->is_stopped = true;
}

void sessions_free(struct sessions *s)
{
    struct map_entry *e;
    if (!s)
        return;
    sessions_stop(s);
    for (size_t i = 0; (e = map_next(&s->all, &i)) != NULL;)
        session_release(e->value);
    map_done(&s->all);
    map_done(&s->by_hash);
    session_table_free(s->table);
    free(s->path);
    free(s->origin);
    free(s);
}

static void end_idlest(struct sessions *s, str user_id)
{
    struct map_entry *e;
    struct login_session *idlest = NULL;
    for (size_t i = 0; (e = map_next(&s->all, &i)) != NULL;) {
        struct login_session *x = e->value;
        if ((user_id.n == 0 || str_eq(x->user_id, user_id)) &&
            (!idlest || x->seen_ms < idlest->seen_ms))
            idlest = x;
    }
    if (idlest)
        session_end(s, idlest);
}

static void session_make_room(struct sessions *s, str user_id)
{
    struct map_entry *e;
    size_t n = 0;
    for (size_t i = 0; (e = map_next(&s->all, &i)) != NULL;)
        n += str_eq(((struct login_session *)e->value)->user_id, user_id);
    if (n >= SESSIONS_PER_USER)
        end_idlest(s, user_id);
    if (map_len(&s->all) >= SESSIONS_MAX)
        end_idlest(s, STR_NONE);
}

static void draw(struct login_session *x, int64_t now, struct session_values *ret)
{
    secret_make(ret->value);
    secret_make(ret->refresh);
    sha256_hex(str_from(ret->value), x->value_hash);
    sha256_hex(str_from(ret->refresh), x->refresh_hash);
    x->value_until_ms = now + x->policy.value_ms;
}

const struct login_session *session_begin(struct sessions *s, str user_id,
                                          const struct session_policy *policy, str provider_refresh,
                                          struct session_values *ret)
{
    assert(user_id.n > 0 && policy->idle_ms > 0 && policy->absolute_ms > 0);
    session_make_room(s, user_id);
    struct login_session *x = xcalloc(1, sizeof *x);
    random_id("ses", x->id);
    x->user_id = str_make(str_dup(user_id), user_id.n);
    x->policy = *policy;
    x->created_ms = x->seen_ms = sessions_now(s);
    set_provider_refresh(x, provider_refresh);
    draw(x, x->created_ms, ret);
    session_index(s, x);
    s->keeper->note(s, x->id, SESSION_BEGUN);
    if (!timer_active(&s->sweep))
        timer_start(&s->sweep, SWEEP_MS);
    return x;
}

static struct login_session *find_by_secret(struct sessions *s, str secret,
                                            char hash[SHA256_HEX_LEN + 1])
{
    if (secret.n != SECRET_CHARS)
        return NULL;
    sha256_hex(secret, hash);
    struct login_session *x = map_get(&s->by_hash, str_make(hash, SHA256_HEX_LEN));
    if (!x || !session_is_over(x, sessions_now(s)))
        return x;
    session_end(s, x);
    return NULL;
}

const struct login_session *session_find(struct sessions *s, str value)
{
    char hash[SHA256_HEX_LEN + 1];
    struct login_session *x = find_by_secret(s, value, hash);
    if (!x)
        return NULL;
    int64_t now = sessions_now(s);
    bool is_current = strcmp(hash, x->value_hash) == 0 && now < x->value_until_ms;
    bool is_former = strcmp(hash, x->former_hash) == 0 && now < x->former_until_ms;
    if (!is_current && !is_former)
        return NULL;
    x->seen_ms = now;
    s->is_seen_dirty = true;
    return x;
}

const struct login_session *session_find_refresh(struct sessions *s, str refresh,
                                                 bool *ret_is_spent)
{
    char hash[SHA256_HEX_LEN + 1];
    struct login_session *x = find_by_secret(s, refresh, hash);
    *ret_is_spent = false;
    if (!x || strcmp(hash, x->refresh_hash) == 0)
        return x;
    if (strcmp(hash, x->spent_hash) != 0)
        return NULL;
    if (sessions_now(s) < x->former_until_ms) {
        *ret_is_spent = true;
        return x;
    }
    log_warn(s->log, "auth", "a refresh value was used twice: session %s of %.*s was revoked",
             x->id, STR_ARG(x->user_id));
    session_end(s, x);
    return NULL;
}

const struct login_session *session_by_id(const struct sessions *s, str id)
{
    return map_get(&s->all, id);
}

const struct login_session *session_rotate(struct sessions *s, const struct login_session *of,
                                           str provider_refresh, struct session_values *ret)
{
    struct login_session *x = map_get(&s->all, str_from(of->id));
    assert(x == of);
    drop_hash(s, x->former_hash);
    drop_hash(s, x->spent_hash);
    memcpy(x->former_hash, x->value_hash, sizeof x->former_hash);
    memcpy(x->spent_hash, x->refresh_hash, sizeof x->spent_hash);
    x->seen_ms = sessions_now(s);
    x->former_until_ms = x->seen_ms + SESSION_GRACE_MS;
    set_provider_refresh(x, provider_refresh);
    draw(x, x->seen_ms, ret);
    session_index(s, x);
    s->keeper->note(s, x->id, SESSION_ROTATED);
    return x;
}

void session_end(struct sessions *s, const struct login_session *of)
{
    struct login_session *x = map_get(&s->all, str_from(of->id));
    char id[sizeof x->id];
    assert(x == of);
    memcpy(id, x->id, sizeof id);
    session_remove(s, x);
    s->keeper->note(s, id, SESSION_ENDED);
}

void session_await(struct sessions *s, const struct login_session *x, struct session_wait *w)
{
    s->keeper->await(s, x, w);
}

void sessions_sync(struct sessions *s, struct session_wait *w)
{
    s->keeper->sync(s, w);
}

void sessions_restart(struct sessions *s, str origin)
{
    struct map_entry *e;
    free(s->origin);
    s->origin = str_dup(origin);
    for (size_t i = 0; (e = map_next(&s->all, &i)) != NULL;)
        session_end(s, e->value);
    session_table_forget(s->table);
}

void sessions_end_user(struct sessions *s, str user_id, int64_t before_ms)
{
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&s->all, &i)) != NULL;) {
        struct login_session *x = e->value;
        if (str_eq(x->user_id, user_id) && x->created_ms < before_ms)
            session_end(s, x);
    }
}
