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
    const struct bus_audience *audience; /* NULL = all who may see the topic; with empty data: only
                                          * the rules of a conversation have changed */
    bool is_watcher_late; /* set by a subscriber whose client has not taken the messages before */
    bool is_of_other_run; /* ephemeral, of a run on another server (store/feed.h) ... */
    uint64_t heard;       /* ... and the last echo that this server had heard before it */
    void *shared;         /* a place for subscribers to share derived work (a formatted frame) */
    void (*shared_free)(void *shared);
};

typedef void (*bus_fn)(void *ctx, struct bus_msg *msg);

struct bus *bus_new(struct loop *l);
void bus_free(struct bus *b); /* asserts that there are no subscribers */

struct bus_sub *bus_subscribe(struct bus *b, str topic, bus_fn fn, void *ctx);
void bus_unsubscribe(struct bus_sub *s); /* takes NULL */
void bus_publish(struct bus *b, struct bus_msg *msg);
/* fn is called when a topic gets its first subscriber and when it loses its last; NULL ends that.
 * It may not publish or subscribe. */
typedef void (*bus_topic_fn)(void *ctx, str topic, bool is_watched);
void bus_observe(struct bus *b, bus_topic_fn fn, void *ctx);
size_t bus_subscribers(const struct bus *b, str topic);
