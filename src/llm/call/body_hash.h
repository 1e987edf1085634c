/* body_hash.h - the SHA-256 of request bodies, most of which begin alike.
 *
 * Model, tools and system prompt come first in a body, are long, and are mostly equal from call to
 * call. The beginnings that bodies shared are kept with the state of the hash behind them: to
 * compare bytes is ten times quicker than to hash them. The result is always that of the whole
 * body. One owner, the loop thread. */
#pragma once

#include "base/buf.h"
#include "base/bytes/hash.h"

#define BODY_HEADS     4
#define BODY_HEAD_MAX  (64u * 1024)
#define BODY_HEAD_MIN  1024u /* less is not worth keeping */
#define BODY_HEAD_STEP 64u   /* a block of SHA-256 */

struct body_head {
    struct buf bytes; /* empty = not in use */
    struct sha256_pieces state;
};

struct body_hash {
    struct body_head heads[BODY_HEADS];
    size_t next; /* the head that a new one replaces */
};

void body_hash_hex(struct body_hash *h, str body, char out[SHA256_HEX_LEN + 1]);
void body_hash_done(struct body_hash *h);
