/* replay.h - the lines of a log as messages of people and models.
 *
 * The only reader of logs: the model's context and the history that clients see come from here,
 * live and after a restart. Events and the message lines of older formats may be
 * mixed. A run without an end is treated as ended; a tool call without a result is marked
 * unanswered; lines that are not JSON are skipped. Pure. */
#pragma once

#include "base/arena.h"
#include "base/json/json.h"
#include "base/json/json_decode.h"
#include "base/map.h"
#include "store/store.h"

enum replay_role { REPLAY_USER, REPLAY_ASSISTANT };

struct replay_tool { /* one call of an assistant message */
    str id, name;
    const struct json
        *input; /* as stored: an object, or a string when the model's text was not JSON */
    const struct json *result; /* {content, structuredContent, _meta, isError}; NULL = no result */
    bool ok;
    int64_t ms;
    str ui_uri; /* resource of the tool's interface; or empty */
};

struct replay_message {
    enum replay_role role;
    str ts, user_id, run_id, model;
    str queued_id;               /* of a message that was queued */
    struct json_strs tool_limit; /* of the token a user sent it with; items NULL = none */
    str app;                     /* whose interface wrote a user's message; or empty */
    const struct json *context;  /* [{app, callId?, text}] of the sender's views; NULL = none */
    store_pos pos;               /* of its event; 0 when positions are not known */
    const struct json *content;  /* array of parts: text, tool-call, opaque, files ... */
    struct replay_tool *tools;
    size_t ntools;
    struct conv_usage usage;
    int64_t llm_ms;
    str finish_reason;
    str stop_reason;       /* how the run ended, on its last message; empty otherwise */
    str error, error_type; /* run.error after this message; empty = none */
};

struct replay_ask { /* an open question */
    str ask_id, run_id;
    const struct json *calls;   /* [{id, name, input, needsPermission}] */
    const struct json *setting; /* of the run that asked, or NULL (setting.h) */
};

struct replay {
    struct replay_message *messages; /* heap while lines are added */
    size_t n;
    struct replay_ask ask; /* ask_id is empty when there is none */
    size_t cap;
    struct arena *arena;
    struct arena line;     /* the one at work, parsed */
    struct map open_tools; /* call id -> struct replay_tool without a result */
    size_t compacted;      /* number of messages at the front that the summary covers */
    str summary;           /* empty = none */
};

/* ---- line by line ---- */

/* The content of messages is copied to the arena: the lines may be freed. */
void replay_init(struct replay *r, struct arena *a);
void replay_add(struct replay *r, str line, store_pos pos);
void replay_done(struct replay *r);
/* True when messages depend on events of this type. An empty type is that of older formats. */
bool replay_reads(str type);

/* ---- a whole log in one call, everything in the arena; pos may be NULL ---- */

struct replay replay_lines(struct arena *a, const str *lines, const store_pos *pos, size_t n);

/* The open question as reports have it: {askId, calls}; NULL = none. Borrows. */
const struct json *replay_ask_json(struct arena *a, const struct replay *r);

/* The text parts of a message, joined by blank lines. */
str replay_text(struct arena *a, const struct replay_message *m);
