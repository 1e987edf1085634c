/* pg_relay_impl.h - the inside of the relay.
 *
 *   pg_relay.c       conversations that are watched here: the order of their events
 *   pg_relay_wire.c  notifications: writing and reading them, who watches elsewhere
 *   pg_ask.c         questions to other servers
 *   pg_relay_poll.c  its life, and what it does without notifications */
#pragma once

#include "loop/timer.h"
#include "store/postgres/database.h"
#include "store/postgres/pg_relay.h"
#include "store/replica/pg_listen.h"

struct relay_conv { /* streams of it are open here */
    struct pg_relay *relay;
    struct store *store;
    struct arena arena;
    str topic, id;
    bool is_known;       /* else no stream has said where it is */
    store_pos known;     /* published on the bus up to here, for the stream that has least */
    store_pos wanted;    /* the log was announced up to here */
    store_pos checked;   /* the rules of the conversation were read at this end or later */
    bool has_failed;     /* the last attempt to read */
    struct store_op *op; /* lines or rules are being read; then nothing is published */
    store_pos reading_after, reading_to;   /* known and wanted when the reading of lines began */
    uint64_t progress_echo, progress_load; /* of the last order "progress" (relay_ask_progress) */
    struct list_node waiting;
    size_t nwaiting;
};

struct relay_part { /* a long message of another server */
    struct buf text;
};

struct pg_relay {
    struct database *db;
    struct bus *bus;
    struct store **stores;
    size_t nstores, stores_cap;
    struct map convs;  /* "<workspace>/<id>" -> struct relay_conv */
    struct map remote; /* "<workspace>/<id>" -> struct remote_watch: watched elsewhere */
    struct map parts;  /* server -> struct relay_part */
    struct map known;  /* servers that were alive at the last pulse -> themselves */
    size_t nservers;   /* other ones that are alive */
    struct pg_listener *listener;
    bool is_listening, is_dead;
    bool is_deaf;           /* it listens, but its last echo has not come */
    uint64_t echo_us;       /* when the echo was told that has not been heard; 0 = none */
    bool must_load;         /* reading who watches elsewhere has failed */
    struct list_node asks;  /* struct store_ask: questions of this server */
    uint64_t lag_us;        /* of the last echo */
    uint64_t echoes, heard; /* numbered messages: told, and heard again */
    /* The ends of logs were read: what was told before this echo belongs in front of lines that are
     * published already. */
    uint64_t stale_until;
    struct timer poll;
    struct relay_poll *polling; /* under way, or NULL */
    struct relay_load *loading;
};

/* ---- pg_relay.c ---- */
struct relay_conv *relay_conv_of(const struct pg_relay *r, str key);
void relay_on_topic(void *ctx, str topic, bool is_watched);
void relay_conv_refresh(struct relay_conv *v);
void relay_conv_retry(struct relay_conv *v);
void relay_conv_grown(struct relay_conv *v, store_pos last);
void relay_event(struct pg_relay *r, struct bus_msg *msg);

/* ---- pg_relay_wire.c ---- */
void relay_forward(struct pg_relay *r, str workspace, const struct bus_msg *msg);
void relay_tell_watch(struct pg_relay *r, str workspace, str id, bool is_on);
/* Asks for the text so far of a run on another server. Returns the number of the echo after which
 * everything is heard that was told before the question: the answer follows it. */
uint64_t relay_ask_progress(struct relay_conv *v);
/* kind: "ask" or "reply"; json: an object. */
void relay_tell_ask(struct pg_relay *r, const char *kind, str workspace, str id, str ask_id,
                    str json);
void relay_on_notice(void *ctx, str payload);
void remote_set(struct pg_relay *r, str workspace, str id, str server, bool is_on);
void remote_clear(struct pg_relay *r);
void parts_clear(struct pg_relay *r);

/* ---- pg_ask.c ---- */
void relay_take_reply(struct pg_relay *r, str ask_id, const struct json *reply);

/* ---- pg_relay_poll.c ---- */
struct store *relay_store(const struct pg_relay *r, str workspace); /* NULL: not open here */
void relay_set_deaf(struct pg_relay *r, bool is_deaf);
void relay_ask(struct pg_relay *r); /* ends of watched logs, from the tables */
