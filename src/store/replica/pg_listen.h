/* pg_listen.h - the connection that hears what other servers tell (LISTEN), on a thread of its own.
 *
 * The thread connects, and connects again after a failure. on_connected is called for every
 * connection, when everything that is told from then on arrives: what was told before is lost, and
 * has to be read from the tables. Both callbacks run on the loop thread, in order. */
#pragma once

#include <stdatomic.h>

#include "loop/loop.h"

struct database;
struct pg_listener;

struct listener_events {
    void (*on_connected)(void *ctx);
    void (*on_lost)(void *ctx);
    void (*on_notice)(void *ctx, str payload);
};

struct pg_listener *listener_new(struct database *db, const struct listener_events *ev, void *ctx);
void listener_free(struct pg_listener *l); /* no callback afterwards; accepts NULL */
