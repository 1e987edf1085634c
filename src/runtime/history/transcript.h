/* transcript.h - the messages of a conversation as a turn sees them: those of the log that its
 * model gets (model_lines.h), and the lines that the turn added. Each line is parsed once; a parsed
 * line that is known to be in the log is kept as a message only.
 *
 * A transcript knows how far it agrees with the log: everything up to `known` was read from
 * it or is known to be there; later lines were appended by the turn and have the positions that the
 * store gave them. So a transcript can be kept for the next turn, which reads only the lines after
 * `known` and compares them (transcript_catch_up). Loop thread only. */
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
    struct replay replay;
    size_t replayed; /* lines that are in it */
    store_pos known;
    size_t nknown; /* lines up to there */
    bool is_lost;  /* an append failed: the content of the log is uncertain */
    /* Blobs that are beside this log (request_log.h); empty = none known. */
    char system_sha[SHA256_HEX_LEN + 1], tools_sha[SHA256_HEX_LEN + 1];
};

struct transcript *transcript_new(void);
void transcript_free(struct transcript *t);         /* accepts NULL */
size_t transcript_size(const struct transcript *t); /* in memory */

/* The messages of the log, in a new transcript: page has the lines that model_lines_choose took,
 * with nbefore (model_lines.h) of them in front. past: conv.past, as it was before the page was
 * read. */
void transcript_load(struct transcript *t, const struct store_page *page, size_t nbefore,
                     const struct past *past);
void transcript_add(struct transcript *t, str line); /* copies */
/* The n lines from `first` on are in the log now, at these positions. */
void transcript_place(struct transcript *t, size_t first, const store_pos *pos, size_t n);
/* All lines are in the log, which ends here. */
void transcript_settle(struct transcript *t, store_pos end);
/* page: the lines of the log after `known`, up to its end. False when another writer added lines
 * that messages depend on, or when lines are missing: then read the whole log again. */
bool transcript_catch_up(struct transcript *t, const struct store_page *page);

/* Valid until lines are added. */
const struct replay *transcript_replay(struct transcript *t);
