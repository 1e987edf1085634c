/* notices.h - what people should know although they were not there: somebody mentioned them,
 * added them to a conversation, or removed them from one.
 *
 * Each person has a short list. The lists of a workspace are one file, read once at the start and
 * written as a whole by a pool thread; or, if several servers share them, a document for each
 * person (documents.h), of which this server has copies. A notice has no text: who may still see
 * the conversation finds it there. Loop thread. */
#pragma once

#include "base/json/json.h"
#include "base/log.h"
#include "loop/pool.h"
#include "workspace/documents.h"

#define NOTICES_EACH   50 /* of a person; the oldest make room */
#define NOTICES_PEOPLE 1000

enum notice_kind { NOTICE_MENTION, NOTICE_ADDED, NOTICE_REMOVED };
const char *notice_kind_name(enum notice_kind kind); /* "mention", "added", "removed" */

struct person_notice {
    enum notice_kind kind;
    str conversation_id;
    str by; /* the person who did it */
    int64_t at_ms;
    bool is_seen;
};

struct notices;

/* Blocking. A file that cannot be read is reported, and the lists begin empty. */
struct notices *notices_new(struct pool *pool, struct logger *log, const char *path);
/* In documents of the workspace instead; the table is borrowed. */
struct notices *notices_new_shared(struct pool *pool, struct logger *log, struct document_table *t,
                                   str workspace_id);
void notices_free(struct notices *n); /* what was changed is still written; accepts NULL */

/* The newest of a kind in a conversation takes the place of an older one. False: too many people.
 */
bool notices_add(struct notices *n, str user_id, const struct person_notice *notice);
/* Those of one conversation, or with an empty id all of them. */
void notices_mark_seen(struct notices *n, str user_id, str conversation_id);

struct notices_wait { /* embedded; until fn is called or it is cancelled */
    void (*fn)(void *ctx, const struct err *err);
    void *ctx;
    bool *is_over; /* NULL: fn is not pending */
};
/* Calls fn when the list of this person is up to date: with everything that was added or seen here
 * before this call, and on other servers. If there are no others, before it returns. */
void notices_await(struct notices *n, str user_id, struct notices_wait *w);
void notices_cancel(struct notices_wait *w); /* also when it is not waiting */
/* Frees the notices of one person, or of all who are not `is_member` any more. */
void notices_forget(struct notices *n, str user_id);
typedef bool (*notices_member_fn)(const void *ctx, str user_id);
void notices_retain(struct notices *n, notices_member_fn is_member, const void *ctx);
/* Writes an array, the newest first: {kind, conversationId, by, timestamp, seen}. */
void notices_write(const struct notices *n, str user_id, struct json_writer *w);
