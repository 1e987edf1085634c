/* session.h - who is logged in.
 *
 * A session lives on the server; the browser has two random values for it: the session value is
 * sent with every request, the refresh value is exchanged for a new pair. Only their hashes are
 * stored, in memory and in {workDir}/auth/sessions.json (0600), so that a restart logs nobody out.
 * A session ends when it was idle for too long, at its absolute end, when it is revoked, or when a
 * refresh value is used a second time. New and ended sessions are written by a pool thread
 * immediately; the time of the last request is written once a minute.
 *
 * Servers that share a database have their sessions in nb_session (session_table.h): memory is then
 * a copy, which fresh.h brings up to date before a request is believed, and a session counts when
 * it is stored (session_await). Times are those of the database. Loop thread. */
#pragma once

#include "auth/session/token.h"
#include "base/err.h"
#include "loop/loop.h"

#define SESSIONS_MAX      20000
#define SESSIONS_PER_USER 100 /* the one that was idle longest makes room */

#define SESSION_GRACE_MS 10000 /* the former value stays valid, for requests in flight */

struct session_policy {
    int64_t value_ms;    /* how long one value is valid */
    int64_t idle_ms;     /* without a request */
    int64_t absolute_ms; /* from the login on */
};

struct login_session {
    char id[32]; /* ses_<16 hex>, not a secret */
    str user_id;
    int64_t created_ms, seen_ms, value_until_ms;
    struct session_policy policy;
    char value_hash[SHA256_HEX_LEN + 1], refresh_hash[SHA256_HEX_LEN + 1];
    char former_hash[SHA256_HEX_LEN + 1], spent_hash[SHA256_HEX_LEN + 1];
    int64_t former_until_ms;
    str provider_refresh; /* the OpenID provider's refresh token; empty = none */
    int64_t generation;   /* of its row; see session_table.h */
    int64_t stored_seen_ms;
};

struct session_values { /* for cookies; known here and to the browser only */
    char value[SECRET_CHARS + 1], refresh[SECRET_CHARS + 1];
};

struct sessions;

typedef void (*session_ended)(void *ctx,
                              const struct login_session *s); /* just before it is freed */

struct database;

/* `origin` names how users log in (mode, issuer or key): sessions of a different origin are
 * dropped. A damaged file is reported and renamed; then all users log in again. `shared`: the
 * database of several servers, which need not be open yet; NULL = the file. */
struct sessions *sessions_new(struct loop *l, struct logger *log, const char *work_dir,
                              struct database *shared, str origin, int64_t (*now_ms)(void),
                              session_ended on_ended, void *ctx);
/* Writes what is not written and answers who waits. Nothing may be changed afterwards. */
void sessions_stop(struct sessions *s);
void sessions_free(struct sessions *s); /* sessions_stop, too; accepts NULL */

const struct login_session *session_begin(struct sessions *s, str user_id,
                                          const struct session_policy *policy, str provider_refresh,
                                          struct session_values *ret);

/* By the value of the cookie: NULL when it is not valid (any more). Updates the last request. */
const struct login_session *session_find(struct sessions *s, str value);
/* By its refresh value. A value that was used before ends its session and finds nothing, because it
 * must have been stolen; but just after its use (*ret_is_spent) the request is of another tab of
 * the same browser, which has the new values already. */
const struct login_session *session_find_refresh(struct sessions *s, str refresh,
                                                 bool *ret_is_spent);

const struct login_session *session_by_id(const struct sessions *s, str id);

/* New values; the old refresh value is used up. provider_refresh empty = keep the stored one. */
const struct login_session *session_rotate(struct sessions *s, const struct login_session *x,
                                           str provider_refresh, struct session_values *ret);

void session_end(struct sessions *s, const struct login_session *x);
/* Ends all sessions of the user that began before then. */
void sessions_end_user(struct sessions *s, str user_id, int64_t before_ms);

/* Who waits for a change to be stored; embedded. err: 0; -ENOTCONN: the database cannot be
 * reached, and what has become of the change is not known; -ESTALE: see session_await. A file that
 * cannot be written is logged, and not an error: the session works until the next start. */
struct session_wait {
    struct list_node node;
    void (*fn)(void *ctx, const struct err *err);
    void *ctx;
    uint64_t change;      /* that it waits for */
    uint64_t roster_mark; /* of the users by which a session begins; 0 = any */
};

/* Calls w->fn once what session_begin or session_rotate has just changed is stored: now for a file,
 * which is written later. -ESTALE: the users have changed since roster_mark, or another server has
 * rotated or ended the session; nothing was stored. */
void session_await(struct sessions *s, const struct login_session *x, struct session_wait *w);
/* Calls w->fn once everything up to now is stored; never before it returns. */
void sessions_sync(struct sessions *s, struct session_wait *w);

/* Ends every session; new ones belong to the new origin. */
void sessions_restart(struct sessions *s, str origin);
