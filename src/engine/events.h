/* events.h - the lines that a run writes into the log, one builder per event type.
 *
 * Pure: values in, one line of JSON out (in the arena). The store adds "ts". */
#pragma once

#include "engine/run.h"

struct event_run {
    str run_id, model, user_id;
    str skill, resumes, parent_run_id; /* may be empty */
    str setting;                       /* a JSON value (runtime/turn/setting.h); may be empty */
};
str event_run_start(struct arena *a, const struct event_run *r);
/* Somebody whose words the run reads without a message of theirs; as in event_message. */
struct event_author {
    str run_id, user_id;
    struct json_strs tool_limit, words_of;
};
str event_run_author(struct arena *a, const struct event_author *by);
const char *event_finish_name(enum llm_stop stop); /* finishReason */
#define EVENT_FINISH_CANCELLED "cancelled"         /* that of event_llm_partial */
/* thinking_ms: how long the model was seen thinking; 0 = not at all. */
str event_llm_response(struct arena *a, str run_id, const struct llm_result *r,
                       uint64_t thinking_ms);
/* An answer that a program quotes, with blocks of text and calls: of no run here, and not billed.
 */
#define EVENT_QUOTED_RUN STR("run_quoted")
str event_quoted_response(struct arena *a, const struct llm_block *blocks, size_t n);
/* Text that had arrived when the run was cancelled. */
struct event_usage { /* of a model call that was cancelled or failed */
    bool is_known, is_estimated;
    struct conv_usage usage;
};
str event_llm_partial(struct arena *a, str run_id, str model, str text,
                      const struct event_usage *u);
/* aux.usage: a model call without a stored response is still billed. source: cancelled, failed. */
str event_unanswered(struct arena *a, str run_id, str model, const char *source,
                     const struct event_usage *u);
struct event_call { /* a tool call */
    str run_id, id, name;
    str ui_uri; /* resource of the tool's interface; may be empty */
};
/* directory: where its commands run; may be empty */
str event_tool_start(struct arena *a, const struct event_call *c, str args, str directory);
str event_tool_done(struct arena *a, const struct event_call *c, const struct tool_result *r,
                    uint64_t ms);
struct event_app_call {   /* a tool call of an interface */
    str app, tool;        /* the source, and the tool's name within it */
    str call_id, user_id; /* whose interface it is; who used it; may be empty */
    bool ok;
    uint64_t ms;
};
str event_app_call(struct arena *a, const struct event_app_call *c);
/* calls: array of {id, name, input, needsPermission}; setting: as in struct event_run */
str event_ask_opened(struct arena *a, str run_id, str ask_id, const struct json *calls,
                     str setting);
struct event_answer {
    str ask_id, user_id;          /* user_id may be empty */
    const char *decision;         /* allow, deny, declined */
    const struct json *decisions; /* of single calls, or NULL */
    const char *always; /* where it is remembered: conversation, me, workspace; NULL = not */
    str words;          /* only for commands that begin with them; empty = for all */
};
str event_ask_answered(struct arena *a, const struct event_answer *answer);
/* detail: more about the reason, or NULL */
str event_run_done(struct arena *a, str run_id, enum run_stop stop, const char *detail,
                   int iterations, uint64_t ms);
str event_run_error(struct arena *a, str run_id, const char *type, str message, str partial);
struct view_context { /* what a view of the sender shows (ui/update-model-context) */
    str app, call_id, text;
};
struct event_message {
    str user_id, text;
    str queued_id;               /* of a message that was queued; or empty */
    struct json_strs tool_limit; /* of the sender's token; items NULL = no limit */
    struct json_strs words_of;   /* people whose words its run can read besides; may be empty */
    str app;                     /* whose interface wrote it; empty = the person did */
    const struct view_context *contexts;
    size_t ncontexts;
    const struct json *files; /* parts of the content, before the text; or NULL */
    bool is_for_people;       /* the agent was not asked */
};
str event_user_message(struct arena *a, const struct event_message *m);
