/* model_lines.h - chooses the lines of a log that a model's input depends on, from the newest
 * backwards: a turn reads these, and not what the file holds.
 *
 * They are: all that make up messages, back to the first one that the newest summary
 * (history.compacted) keeps; before that only messages of users, as many as the model gets word by
 * word, and the newest answer. Messages built from them are those built from all lines, together
 * with what the store knows about the others (past.h). A log without a summary is read back to
 * MODEL_LINES_MESSAGES_MAX messages; then a compaction is due in any case. Any thread. */
#pragma once

#include "runtime/history/replay.h"

#define MODEL_LINES_MESSAGES_MAX 4000

struct model_lines {
    struct arena scratch;
    bool has_summary, has_answer, has_user;
    bool is_before;    /* only users' messages are wanted from here on */
    uint64_t kept;     /* messages that the summary keeps, still to come */
    size_t nmessages;  /* until is_before */
    size_t said_bytes; /* of users' messages since */
    size_t nbefore;    /* lines taken since, if there is a summary: the first ones of the page */
    size_t nlooked, nparsed; /* lines: what the reading cost */
};

void model_lines_init(struct model_lines *m);
void model_lines_done(struct model_lines *m);
/* store_range.choose of a reading backwards, with a struct model_lines as its context. */
enum store_choice model_lines_choose(void *model_lines, str line);
