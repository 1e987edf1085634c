/* others.h - other servers on the same database, for a store that several servers use
 * (store_has_leases in store.h has the rest). A store that belongs to one server does nothing here.
 * Loop thread. */
#pragma once

#include "store/store.h"

struct file_table;

/* Files that people gave are shared (attach/file_table.h). After store_open, before the first call;
 * borrowed; NULL: they are in store_conf.files_dir only. */
void store_share_files(struct store *s, struct file_table *t);

/* To the streams of the workspace that a person has on other servers. */
void store_tell_person(struct store *s, str user_id, str type, str data);

/* Asks the other servers about something that one of them has in memory, such as a queued message.
 * The question and the reply are JSON objects. The first server that replies is the answer; a
 * server that does not have it says nothing. -ETIMEDOUT: nobody has replied within STORE_ASK_MS. */
#define STORE_ASK_MS 5000
struct store_ask;
typedef void (*store_reply_fn)(void *ctx, const struct err *err, const struct json *reply);
struct store_ask *store_ask_others(struct store *s, str id, str question, store_reply_fn fn,
                                   void *ctx);            /* only with store_has_leases */
void store_ask_cancel(struct store_ask *a);               /* no callback; accepts NULL */
void store_reply(struct store *s, str ask_id, str reply); /* of replica_events.on_ask */
