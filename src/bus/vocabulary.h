/* vocabulary.h - every event that nb stores or sends, one row each.
 *
 * A row says the name of the event in the log and on the bus, the name that clients receive, and
 * the members besides `ts` and `type`. Writers, the reader of logs, frames, the documents and the
 * types of the page refer to this table; tests/checks/test_events.mjs fails where they differ. */
#pragma once

#include <assert.h>

#include "base/str.h"

enum event_type {
    EV_UNKNOWN, /* in a log: stored and returned, without effect on derived properties */

    /* stored in the log of a conversation */
    EV_USER_MESSAGE,
    EV_RUN_START,
    EV_LLM_REQUEST,
    EV_LLM_RESPONSE,
    EV_TOOL_START,
    EV_TOOL_DONE,
    EV_APP_CALL,
    EV_ASK_OPENED,
    EV_ASK_ANSWERED,
    EV_INPUT_REQUESTED,
    EV_INPUT_ANSWERED,
    EV_RUN_AUTHOR,
    EV_RUN_DONE,
    EV_RUN_ERROR,
    EV_AUX_USAGE,
    EV_HISTORY_COMPACTED,
    EV_TITLE,
    EV_VISIBILITY,
    EV_PARTICIPANTS,
    EV_PROMOTED,
    EV_TRASHED,
    EV_NOTE,
    EV_STORED_END,

    /* sent to the people who watch a conversation, never stored */
    EV_TEXT_DELTA = EV_STORED_END,
    EV_REASONING_DELTA,
    EV_RUN_RETRY,
    EV_TOOL_PREPARING,
    EV_TOOL_INPUT,
    EV_TOOL_PROGRESS,
    EV_TOOL_SETTLED,
    EV_QUEUE_ADDED,
    EV_QUEUE_CHANGED,
    EV_QUEUE_REMOVED,
    EV_TYPING,
    EV_PRESENCE,

    /* sent to a stream when it begins or ends, never on the bus */
    EV_TEXT_SNAPSHOT,
    EV_QUEUE_SNAPSHOT,
    EV_PRESENCE_SNAPSHOT,
    EV_CHAT_QUEUED,
    EV_CHAT_START,
    EV_SUBSCRIBED,
    EV_RESET,
    EV_WATCH_ENDED,
    EV_HEARTBEAT,
    EV_CHAT_DONE,
    EV_ERROR,

    /* sent to the members of a workspace */
    EV_CONVERSATION_CREATED,
    EV_CONVERSATION_RENAMED,
    EV_CONVERSATION_SHARED,
    EV_CONVERSATION_MARKED,  /* to one person */
    EV_CONVERSATION_DELETED, /* also to users who lose access, with the id alone */
    EV_MEMBER_JOINED,
    EV_MEMBER_CHANGED,
    EV_MEMBER_LEFT,
    EV_BUNDLE_INSTALLED,
    EV_BUNDLE_UNINSTALLED,
    EV_BUNDLE_STATE,
    EV_BUNDLE_CRASHED,
    EV_BUNDLE_RECOVERED,
    EV_BUNDLE_DEAD,
    EV_BUNDLE_TOOLS_CHANGED,
    EV_BRIDGE_CALL,
    EV_BRIDGE_DONE,
    EV_DATA_CHANGED,
    EV_VIEW_CALLED,
    EV_NOTICE,
    EV_CONFIG_CHANGED,
    EV_SKILL_CREATED,
    EV_SKILL_UPDATED,
    EV_SKILL_DELETED,
    EV_END,

    EV_LEGACY_MESSAGE = EV_END, /* a line of an older format: no type, but a role */
};

struct event_kind {
    str name;
    str shown; /* the name that clients receive; empty: they do not receive it */
    /* Names separated by spaces; a '?' marks those that may be absent. Nothing at run time depends
     * on them: they are what tests compare events, documents and types with. */
    const char *members;
};

extern const struct event_kind EVENT_KINDS[EV_END];

static inline str event_name(enum event_type t)
{
    assert(t > EV_UNKNOWN && t < EV_END);
    return EVENT_KINDS[t].name;
}

/* STR_NONE: clients do not receive this event. */
static inline str event_shown_as(enum event_type t)
{
    return t > EV_UNKNOWN && t < EV_END ? EVENT_KINDS[t].shown : STR_NONE;
}

/* A stored type; EV_UNKNOWN for any other name. */
enum event_type event_type_of(str name);
