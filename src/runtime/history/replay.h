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
#include "bus/vocabulary.h"
#include "store/store.h"

enum replay_role { REPLAY_USER, REPLAY_ASSISTANT };

struct replay_tool { /* one call of an assistant message */
    str id, name;
    const struct json
        *input; /* as stored: an object, or a string when the model's text was not JSON */
    const struct json *result; /* {content, structuredContent, _meta, isError}; NULL = no result */
    const struct json *views;  /* of pictures in it, as models get them; NULL = as they came */
    bool ok;
    int64_t ms;
    str ui_uri; /* resource of the tool's interface; or empty */
};

struct replay_message {
    enum replay_role role;
    str ts, user_id, run_id, model;
    bool is_for_people;         /* the agent was not asked */
    str queued_id;              /* of a message that was queued */
    str app;                    /* whose interface wrote a user's message; or empty */
    const struct json *context; /* [{app, callId?, text}] of the sender's views; NULL = none */
    store_pos pos;              /* of its event; 0 when positions are not known */
    size_t bytes;               /* of its line, and of those that add to it */
    const struct json *content; /* array of parts: text, tool-call, opaque, files ... */
    struct replay_tool *tools;
    size_t ntools;
    struct conv_usage usage;
    int64_t llm_ms;
    str finish_reason;
    str stop_reason;       /* how the run ended, on its last message; empty otherwise */
    str error, error_type; /* run.error after this message; empty = none */

    /* Of a history for people only. */
    str next_run_id; /* of a run that began behind this message; empty = none */
    str next_skill;  /* that was matched for it; empty = none */
    int64_t thinking_ms;
    const struct json *compacted; /* history.compacted just before this message, or NULL */
    struct json *asks;            /* answered questions about its calls: [{askId, callIds, decision,
                                     decisions?, always?, words?, userId?, timestamp}]; NULL = none
                                   */
};

struct replay_ask { /* an open question */
    str ask_id, run_id;
    const struct json *calls;   /* [{id, name, input, needsPermission}] */
    const struct json *setting; /* of the run that asked, or NULL (setting.h) */
};

/* Bytes of users' messages that stay when a summary replaces them: of all, and of one. */
#define REPLAY_SAID_BYTES 80000
#define REPLAY_SAID_ONE   8000

struct replay_said { /* what a user wrote, of a message that a summary stands for */
    str text;        /* bounded */
    size_t bytes;    /* of the whole text */
    str queued_id;
};

struct replay {
    struct replay_message *messages; /* heap while lines are added */
    size_t n;
    struct replay_ask ask; /* ask_id is empty when there is none */
    size_t cap;
    struct arena *arena;          /* of messages */
    struct arena line;            /* the one at work, parsed */
    struct map open_tools;        /* call id -> struct replay_tool without a result */
    const struct json *compacted; /* for people: shown with the next message of a user, or NULL */

    bool is_for_model;        /* if not, the following is not used */
    struct arena *kept;       /* of the following, which outlives messages */
    str summary;              /* of the messages that are left out; empty = none are */
    struct replay_said *said; /* the last users' messages among them; heap */
    size_t nsaid, said_cap, said_bytes;
    struct past past; /* of all messages, those that were left out included */
    str last_run_id;  /* of the newest answer */
    size_t bytes;     /* of the messages */
};

/* ---- line by line ---- */

/* For a model: messages that a summary (history.compacted) stands for are left out. The content of
 * the others is copied to the arena: the lines may be freed. past: of the lines before the first
 * one that is added; NULL = that is the first one of the log. */
void replay_init_model(struct replay *r, struct arena *a, const struct past *past);
/* A line before all messages that will not be left out: a summary for it is still to be added. */
void replay_add_before(struct replay *r, str line);
void replay_add(struct replay *r, str line, store_pos pos);
void replay_pause(struct replay *r); /* gives back memory that only adding needs */
void replay_done(struct replay *r);
bool replay_reads(enum event_type type); /* do a model's messages depend on such events? */

/* ---- a whole log in one call, everything in the arena; pos may be NULL ---- */

struct replay replay_lines(struct arena *a, const str *lines, const store_pos *pos, size_t n);
struct replay replay_lines_model(struct arena *a, const str *lines, size_t n);

/* ---- what a line would be ---- */

enum replay_kind {
    REPLAY_NOTHING,
    REPLAY_PART, /* adds to a message, or is a question */
    REPLAY_OF_USER,
    REPLAY_OF_MODEL,
    REPLAY_SUMMARY,
};
/* type: of the line (event_peek). bytes: REPLAY_OF_USER, of the text (replay_said.bytes); kept:
 * REPLAY_SUMMARY, how many messages before it stay. A summary that replay_add ignores in any case
 * is REPLAY_NOTHING. */
enum replay_kind replay_kind_of(struct arena *scratch, enum event_type type, str line,
                                size_t *ret_bytes, uint64_t *ret_kept);

/* The open question as reports have it: {askId, calls}; NULL = none. Borrows. */
const struct json *replay_ask_json(struct arena *a, const struct replay *r);

/* The text parts of a message, joined by blank lines. */
str replay_text(struct arena *a, const struct replay_message *m);
