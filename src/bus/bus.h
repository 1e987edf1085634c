/* bus.h - topics, subscribers, messages: distributes one event to many streams.
 *
 * Delivery is synchronous, on the loop thread, in publish order. A subscriber may
 * unsubscribe (itself or another) and publish from inside its callback: messages published
 * during a delivery are queued behind it. Messages are borrowed for the callback. */
#pragma once

#include "loop/loop.h"
#include "workspace/roster/access.h"

struct bus;
struct bus_sub;

/* The members of a workspace who may receive a message about a conversation. */
struct bus_audience {
    str conversation_id;
    struct conv_acl acl;   /* users who may see the conversation */
    bool is_for_lost;      /* only `lost`, except admins, who can still see it */
    struct json_strs lost; /* users who have just lost access */
};

/* Deep; NULL for NULL. */
struct bus_audience *bus_audience_copy(struct arena *a, const struct bus_audience *from);

struct bus_msg {
    str topic;
    str type;     /* of vocabulary.h, or the type of a stored event that nb does not know */
    str data;     /* one line of JSON */
    uint64_t pos; /* position in the log; 0 = ephemeral, never stored */
    const struct bus_audience *audience; /* NULL = all who may see the topic */
    void *shared; /* a place for subscribers to share derived work (a formatted frame) */
    void (*shared_free)(void *shared);
};

typedef void (*bus_fn)(void *ctx, struct bus_msg *msg);

struct bus *bus_new(struct loop *l);
void bus_free(struct bus *b); /* asserts that there are no subscribers */

struct bus_sub *bus_subscribe(struct bus *b, str topic, bus_fn fn, void *ctx);
void bus_unsubscribe(struct bus_sub *s); /* takes NULL */
void bus_publish(struct bus *b, struct bus_msg *msg);
size_t bus_subscribers(const struct bus *b, str topic);
