/* auth_impl.h - what the files of identity.h share. */
#pragma once

#include "auth/identity.h"
#include "auth/session/limit.h"
#include "auth/session/session.h"
#include "auth/session/token_use.h"
#include "loop/pool.h"

/* Attempts in a minute that are made immediately. A login is counted for its client, for the
 * client's site and for its account; a client that has logged in to that account before has a
 * count of its own and looks at none of these. Beyond the total, attempts are not refused but
 * delayed: one every LOGIN_PACE_MS, as long as the wait is not longer than LOGIN_WAIT_MS. */
#define LOGINS_PER_KEY        10
#define LOGINS_PER_SITE       40 /* a /48 of IPv6 */
#define LOGINS_TOTAL          20
#define LOGIN_PACE_MS         250
#define LOGIN_WAIT_MS         15000
#define WRONG_KEYS_MAX        30  /* wrong keys of one client that are answered with 401, */
#define WRONG_TOKENS_MAX      300 /* and wrong tokens, which nobody can guess: many may be stale */
#define WRONG_KEY_LINES       30  /* of the log in a minute */
#define DEPARTURES_PER_CLIENT 30  /* to the OpenID provider */
#define DEPARTURES_TOTAL      5000
#define KNOWN_CLIENTS_MAX     10000 /* of accounts; beyond it all are forgotten */

struct oidc;

struct auth {
    struct auth_deps deps;
    uint8_t key_hash[SHA256_LEN];   /* of the API key or the dev key */
    char dev_key[SECRET_CHARS + 1]; /* empty in other modes */
    struct sessions *sessions;
    struct token_use *use;
    struct limit logins, known_logins, departures;
    struct limit wrong_keys, wrong_lines;
    uint64_t next_login_ms;   /* of those that are delayed */
    struct map known_clients; /* account and client of logins that succeeded */
    struct pool *pool;        /* one thread for passwords: each takes 64 MiB */
    struct oidc *oidc;        /* NULL in other modes */
    struct list_node ops;
    struct list_node observers;
    struct directory_observer news;
};

/* An answer to come; the first member of each kind. It ends by itself: with its callback, or
 * without when it was cancelled or the service has gone meanwhile. */
struct auth_op {
    struct list_node node; /* in auth->ops */
    struct auth *auth;     /* NULL: the service is gone */
    bool is_cancelled;
    bool is_with_directory; /* which will bring it back, whatever happens here */
    struct deferred later;
    struct arena arena;
    struct err err;
    void *ctx;
    bool (*may)(void *ctx);           /* auth_only_if; or NULL */
    void (*drop)(struct auth_op *op); /* more to let go than the arena, or NULL */
};

/* Zeroed, of `size` bytes, with an arena. */
void *auth_op_new(struct auth *a, size_t size, void *ctx);
void op_free(struct auth_op *op);
static inline bool op_is_over(const struct auth_op *op)
{
    return op->is_cancelled || !op->auth;
}
/* Goes on in the next turn: for answers that are known at once. */
void op_defer(struct auth_op *op, void (*fn)(void *op));
/* Hands it to the directory; `fn` gets the op as its ctx and calls op_is_back first, which is
 * false when there is nobody left to answer: then the op is gone. */
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
/* Sessions belong to one key or one issuer: those of another one are dropped. */
str auth_origin(struct arena *arena, const struct auth *a);

void auth_tell_ended(struct auth *a, str user_id, str session_id, str token_id);

/* The identity of a user that exists. Copies to the arena. */
void identity_fill(const struct user *u, struct arena *arena, enum auth_how how,
                   struct identity *ret);

/* What a login gives out, in the arena. */
struct auth_session session_offer(struct arena *arena, const struct session *s,
                                  const struct session_values *v);
