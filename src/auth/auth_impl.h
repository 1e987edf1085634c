/* auth_impl.h - shared by the files of identity.h. */
#pragma once

#include "auth/identity.h"
#include "auth/session/fresh.h"
#include "auth/session/limit.h"
#include "auth/session/session.h"
#include "auth/session/token_use.h"
#include "loop/pool.h"

/* Attempts in a minute that are made immediately. A login is counted for its client, for the
 * client's site and for its account; a client that has logged in to that account before has its
 * own counter and none of these limits. Beyond the total, attempts are not refused but
 * delayed: one every LOGIN_PACE_MS, as long as the wait is not longer than LOGIN_WAIT_MS. */
#define LOGINS_PER_KEY       10
#define LOGINS_PER_SITE      40 /* a /48 of IPv6 */
#define LOGINS_UNDELAYED     20 /* of all clients */
#define LOGIN_PACE_MS        250
#define LOGIN_WAIT_MS        15000
#define WRONG_KEYS_MAX       30  /* of one client in a minute, answered with 401, then 429 */
#define WRONG_TOKENS_MAX     300 /* the same for tokens, which cannot be guessed: many may be old */
#define WRONG_KEY_LINES      30  /* log lines in a minute */
#define AUTHORIZE_PER_CLIENT 30  /* redirects to the OpenID provider */
#define AUTHORIZE_TOTAL      5000
#define KNOWN_CLIENTS_MAX    10000 /* pairs of account and client; beyond it all are dropped */

struct oidc;

struct auth {
    struct auth_deps deps;
    uint8_t key_hash[SHA256_LEN];   /* of the API key or the dev key */
    char dev_key[SECRET_CHARS + 1]; /* empty in other modes */
    struct sessions *sessions;
    struct token_use *use;
    struct limit logins, known_logins, authorize_redirects;
    struct limit wrong_keys, wrong_lines;
    uint64_t next_login_ms;   /* of those that are delayed */
    struct map known_clients; /* account and client of logins that succeeded */
    struct database *shared;  /* where all servers count logins; NULL: there is one server */
    struct fresh *fresh;      /* what other servers change; NULL: there are none */
    struct shared_rate *rate; /* the same */
    struct pool *pool;        /* one thread for passwords: each takes 64 MiB */
    struct oidc *oidc;        /* NULL in other modes */
    struct list_node ops;
    struct list_node observers;
    struct directory_observer news;
};

/* An operation whose result comes later; the first member of each kind of operation.
 *
 *   auth_op_new --> op_defer ---------> next turn of the loop ---+
 *               --> pool job ---------> its `done` --------------+--> callback --> op_free
 *               --> op_change --------> op_is_back --------------+
 *               --> fetch (oidc) -----> its callback ------------+
 *
 * Each operation is freed exactly once, by the step that ends it. auth_cancel only sets
 * is_cancelled: the step that comes next sees op_is_over, skips the callback (the ctx of the caller
 * may be freed) and frees the operation. auth_free cancels all operations, waits for the pool and
 * frees the rest, except those that the directory holds: their `auth` becomes NULL, and op_is_back
 * frees them. Loop thread; a pool job touches only its own operation. */
struct auth_op {
    struct list_node node; /* in auth->ops */
    struct auth *auth;     /* NULL: the service was freed */
    bool is_cancelled;
    bool is_with_directory; /* between op_change and op_is_back */
    struct deferred later;
    struct arena arena;
    struct err err;
    void *ctx;
    bool (*may)(void *ctx);           /* auth_only_if; or NULL */
    void (*drop)(struct auth_op *op); /* frees what is not in the arena; or NULL */
};

/* Zeroed, of `size` bytes, with an arena. */
void *auth_op_new(struct auth *a, size_t size, void *ctx);
void op_free(struct auth_op *op);
static inline bool op_is_over(const struct auth_op *op)
{
    return op->is_cancelled || !op->auth;
}
/* Calls fn in the next turn of the loop: for results that are known immediately. */
void op_defer(struct auth_op *op, void (*fn)(void *op));
/* Passes a change to the directory; `fn` gets the op as its ctx and must call op_is_back first.
 * False: the operation was cancelled and is freed now. */
void op_change(struct auth_op *op, const struct change *c, directory_done fn);
bool op_is_back(struct auth_op *op);

/* Keys of the limits, in the arena: the address of an IPv4 client, or the /64 of an IPv6 client;
 * and its /48, empty for IPv4. */
str client_network(struct arena *a, str client);
str client_site(struct arena *a, str client);

const struct roster *auth_roster(const struct auth *a);

/* The API key or the dev key, from the settings or the work directory; see dev_access.c. */
void auth_load_key(struct auth *a);
bool auth_has_key(const struct auth *a);
/* Sessions belong to one key or one issuer: sessions of a different one are dropped. */
str auth_origin(struct arena *arena, const struct auth *a);

void auth_tell_ended(struct auth *a, str user_id, str session_id, str token_id);

/* The identity of a user that exists. Copies to the arena. */
void identity_fill(const struct user *u, struct arena *arena, enum auth_how how,
                   struct identity *ret);

/* auth_check, of what memory has. */
int auth_check_known(struct auth *a, struct arena *arena, const struct auth_credentials *c,
                     struct identity *ret);
/* Calls fn of the wait when memory is as new as this moment; immediately if there is one server. */
void auth_await_fresh(struct auth *a, struct fresh_wait *w);

/* The result of a login, in the arena. */
struct auth_session session_offer(struct arena *arena, const struct login_session *s,
                                  const struct session_values *v);
