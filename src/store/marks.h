/* marks.h - the marks of one person on conversations: pins, the archive, how far they have read.
 *
 * Marks are not in the logs, which belong to all participants: a backend keeps one small document
 * per person and workspace (store_ops.person_read, person_change). The document is bounded. When it
 * is full, entries that only say how far a conversation was read are dropped, and everything up to
 * that moment counts as read. Pure; any thread. */
#pragma once

#include "base/err.h"
#include "base/json/json.h"

#define MARKS_MAX      10000u /* conversations of one person */
#define MARKS_PINS_MAX 100u
#define MARKS_TEXT_MAX (4u * 1024 * 1024) /* the document, as JSON */

struct conv;

struct mark {
    str id;
    bool is_pinned, is_archived;
    int64_t read; /* messages, as in conv.message_count; -1 = none since `marks.since` */
};

struct marks {
    str since;          /* conversations without `read` that were changed before it count as read */
    struct mark *items; /* by id */
    size_t n, cap;
};

enum mark_flag { MARK_KEEP, MARK_SET, MARK_CLEAR };

struct mark_change {
    enum mark_flag pinned, archived;
    enum mark_flag unread; /* set: the last message; clear: none */
    int64_t read;          /* number of messages read, if more than before; -1 = no change */
};

/* The state of a conversation for a person. */
struct mark_state {
    bool is_pinned, is_archived, is_unread;
};

/* Empty text: a person who has no document yet; everything up to now counts as read. */
int marks_parse(struct arena *a, str text, struct marks *ret, struct err *e);
str marks_write(struct arena *a, const struct marks *m);

const struct mark *marks_find(const struct marks *m, str id); /* NULL = none */
struct mark_state marks_state(const struct marks *m, const struct conv *c);
/* -E2BIG: too many pins, or nothing can be forgotten. */
int marks_apply(struct arena *a, struct marks *m, const struct conv *c,
                const struct mark_change *change, struct err *e);
