/* compat_threads.h - finds the conversation that a stateless request continues.
 *
 * A program that sends all messages with each request continues, as a rule, the conversation of its
 * last request. nb remembers the messages of its newest answers by their hash: a request that
 * begins with exactly these messages continues that conversation instead of a new one, which keeps
 * the results of nb's own tools for the model, and the log short. Everything else (an edited
 * message, a second answer to the same question, a restart) finds nothing, and the messages begin a
 * new conversation. A hash is used once. It covers the user, the token and the workspace, and the
 * turn checks access as always. Loop thread only. */
#pragma once

#include "api/compat/compat.h"
#include "base/bytes/hash.h"

#define COMPAT_THREADS_MAX      512
#define COMPAT_THREAD_BYTES_MAX (2u * 1024 * 1024) /* larger requests are not hashed */

struct compat_threads; /* all that are remembered; of the API */

struct compat_thread {            /* of one request */
    struct sha256_pieces hash;    /* of all its messages */
    char key[SHA256_HEX_LEN + 1]; /* of those up to the last answer; empty = there is none */
    bool is_hashed;
};

void compat_thread_hash(struct compat_thread *t, const struct http_req *r,
                        const struct compat_request *q);
/* The part of the request that is new, with its conversation, in the same arena; NULL: unknown. */
struct compat_request *compat_thread_take(struct api *api, const struct compat_thread *t,
                                          const struct compat_request *q);
/* The messages with this answer are the conversation of the answer. */
void compat_thread_keep(struct api *api, struct compat_thread *t, const struct compat_answer *a,
                        const struct run_result *run);
