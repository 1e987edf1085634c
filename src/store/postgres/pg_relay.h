/* pg_relay.h - live events between the servers of one database.
 *
 *     this server                                      the other servers
 *     relay_publish --+--> bus: streams here
 *                     +--> outbox ---- NOTIFY ---->    on_notice --> bus: streams there
 *     a batch (pg_sql.c) -- NOTIFY "log, end" ---->    read the new lines --> bus
 *
 * Lines of a log never travel in notifications: a server that has streams of the conversation reads
 * them, once for all its streams, after the position that it published last. So they are published
 * in the order of the log on every server, each once, also when two servers append at the same
 * time: a line of this server waits for lines of others in front of it.
 *
 * An event that is not in the log has its place among the lines by the order of notifications,
 * which is that of commits: it waits for the lines that were announced before it, and lines that
 * were not announced yet wait for it. The log is read only up to what was announced.
 *
 * A stream reads the log itself until it is live, and may be ahead of the notifications then. So it
 * asks for the text of the run so far (progress), drops events of runs on other servers until
 * this server hears its own question, and gets the answer, a text.snapshot, after that.
 *
 * Events that are not in the log (text deltas, presence, typing, the queue) travel only if another
 * server has streams of the conversation (nb_watch). News of a workspace travel if they are
 * about something that all servers share. Before the lines of a change of sharing are published,
 * the access list is read and announced to the streams here.
 *
 * When the connection that listens is lost, ends of watched logs are asked for every RELAY_POLL_MS.
 * Loop thread. */
#pragma once

#include "base/map.h"
#include "store/backend/backend.h"

#define RELAY_POLL_MS 2000
#define RELAY_WAITING 1024 /* events that wait for lines in front of them; more are dropped */

struct pg_relay;

/* With the first store of the process, until the last one is closed. */
void relay_add_store(struct store *s);
void relay_remove_store(struct store *s);

/* store_ops.publish */
void pg_publish(struct store *s, struct bus_msg *msg);
bool pg_is_watched_elsewhere(const struct store *s, str id);
uint64_t pg_feed_live(struct store *s, str id, store_pos at);
void pg_tell(struct store *s, str id, str order);
void pg_forward(struct store *s, const struct bus_msg *msg);
struct store_ask *pg_ask(struct store *s, str id, str question, store_reply_fn fn, void *ctx);
void pg_reply(struct store *s, str ask_id, str reply);
void pg_tell_person(struct store *s, str user_id, str type, str data);

/* ---- pg_queue.c: small things that servers have in common; blocking, any thread ---- */

/* Queued messages (nb_queue), so that they outlive their server. Each belongs to one server, in
 * whose memory it waits; a different server takes it when that is gone. */
int pg_queue_put(struct store *s, str id, str document, struct err *e); /* empty = remove it */
int pg_queue_take(struct store *s, struct arena *a, struct json_strs *ret, struct err *e);
void pg_read_queue(struct store_op *op); /* blocking */
int pg_shared_key(struct store *s, const char *name, uint8_t key[32], struct err *e); /* nb_key */

struct relay_state {
    bool is_listening;
    uint64_t servers; /* other ones that are alive */
    uint64_t watched; /* conversations with streams here */
    uint64_t lag_us;  /* from telling to hearing it, of this server's own last echo; 0 = none yet */
};
struct relay_state pg_relay_state(const struct database *db); /* loop thread */
void pg_relay_echo(struct database *db);                      /* measures the lag once more */
void pg_relay_servers(struct database *db, const str *ids, size_t n); /* those who are alive */
/* After each pulse: repeats what may have been lost on its way, and reads that have failed. */
void pg_relay_repeat(struct database *db);
