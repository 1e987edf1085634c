/* announce.c - publishes changes of conversations to all members of the workspace who may see them.
 *
 * Each event has its audience, the access list at that moment: a subscriber that forwards the event
 * need not ask the store, and a stream whose user lost access can be closed before the next event.
 */
#include "base/clock.h"
#include "bus/vocabulary.h"
#include "store/backend/backend.h"

enum { ANNOUNCEMENT_MAX = 1024 * 1024 };

struct announcement announcement_of(struct arena *a, const struct conv *c,
                                    const struct conv_acl *acl, str title)
{
    struct buf b;
    struct json_writer w;
    char now[CLOCK_ISO_LEN + 1];
    if (c->is_hidden)
        return (struct announcement){0};
    clock_iso(clock_now_ms(), now);
    jw_start(&w, &b, ANNOUNCEMENT_MAX);
    jw_object(&w);
    jw_kstr(&w, "conversationId", c->id);
    jw_kstr_or_null(&w, "title", title);
    jw_kstr_or_null(&w, "ownerId", acl->owner_id);
    jw_kstr(&w, "visibility", acl->is_shared ? STR("shared") : STR("private"));
    jw_kstrs(&w, "participants", acl->participants.items, acl->participants.len);
    if (acl->readers.len > 0)
        jw_kstrs(&w, "readers", acl->readers.items, acl->readers.len);
    if (c->channel.n > 0)
        jw_kstr(&w, "channel", c->channel);
    jw_kstr(&w, "timestamp", str_from(now));
    jw_end(&w);
    return (struct announcement){
        .audience = {.conversation_id = arena_str(a, c->id), .acl = conv_acl_copy(a, acl)},
        .data = buf_keep_whole(&b, a),
    };
}

void announce(struct store_op *op, enum event_type type, const struct announcement *n)
{
    if (n->data.n == 0)
        return;
    struct bus_msg msg = {
        .topic = store_space_topic(&op->arena, op->store),
        .type = event_name(type),
        .data = n->data,
        .audience = &n->audience,
    };
    publish_everywhere(op->store, &msg);
}

static bool takes_part(const struct conv_acl *acl, str user)
{
    return str_eq(acl->owner_id, user) ||
           (acl->is_shared && json_strs_has(&acl->participants, user));
}

void announce_lost(struct store_op *op, const struct conv_acl *before, const struct conv_acl *after)
{
    struct json_strs lost = {arena_array(&op->arena, before->participants.len + 1, sizeof(str)), 0};
    for (size_t i = 0; before->is_shared && i < before->participants.len; i++)
        if (!takes_part(after, before->participants.items[i]))
            lost.items[lost.len++] = before->participants.items[i];
    if (lost.len == 0)
        return;
    const struct announcement n = {
        .audience = {.conversation_id = op->id, .is_for_lost = true, .lost = lost},
        .data = arena_printf(&op->arena, "{\"conversationId\":\"%.*s\"}", STR_ARG(op->id)),
    };
    announce(op, EV_CONVERSATION_DELETED, &n);
}
