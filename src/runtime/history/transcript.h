/* transcript.h - the lines of a conversation as a turn sees them: what was there, and what it
 * added. Each line is parsed once, when somebody asks for the messages; what was parsed, and is
 * known to be in the log, is kept as messages only.
 *
 * A transcript knows how far it agrees with the log: everything up to `known` was read from
 * it or is known to be there; later lines were appended by the turn and have the places that
 * the store gave them. So it can be kept for the next turn, which reads only what came after
 * `known` and compares (transcript_catch_up). Loop thread only. */
#pragma once

#include "base/bytes/hash.h"
#include "runtime/history/replay.h"

struct transcript_line {
    str text;
    store_pos pos; /* 0 = not in the log yet */
};

struct transcript {
    struct arena arena, fresh; /* of the messages; of the lines */
    struct transcript_line *lines;
    size_t n, cap;
    size_t bytes; /* of all lines, also of those that are kept no more */
    struct replay replay;
    size_t replayed; /* lines that are in it */
    store_pos known;
    size_t nknown; /* lines up to there */
    bool is_lost;  /* an append failed: what the log holds is not certain */
    /* Blobs that are beside this log (request_log.h); empty = none known. */
    char system_sha[SHA256_HEX_LEN + 1], tools_sha[SHA256_HEX_LEN + 1];
};

struct transcript *transcript_new(void);
void transcript_free(struct transcript *t);         /* accepts NULL */
size_t transcript_size(const struct transcript *t); /* in memory */

/* Both copy. Pages are those before what is there already. */
void transcript_add(struct transcript *t, str line);
void transcript_prepend(struct transcript *t, const struct store_page *page);
/* The n lines from `first` on are in the log now, at these places. */
void transcript_place(struct transcript *t, size_t first, const store_pos *pos, size_t n);
/* All lines are in the log, which ends here. */
void transcript_settle(struct transcript *t, store_pos end);
/* page: what the log holds after `known`, to its end. False when somebody else added what
 * messages are made of, or when lines are missing: then read it all again. */
bool transcript_catch_up(struct transcript *t, const struct store_page *page);

/* Valid until lines are added. */
const struct replay *transcript_replay(struct transcript *t);
