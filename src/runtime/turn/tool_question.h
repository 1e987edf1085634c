/* tool_question.h - questions that a tool asks people while its call waits for the answer.
 *
 * An MCP server may ask for a form, a visit to a page, or the use of the model. The question is
 * appended to the log (input.requested), so all watchers of the conversation see it; everybody who
 * may send messages there may answer, from any client and on any server. It ends with
 * input.answered (answered, withdrawn, or nobody was watching), or with the end of its run. A
 * question of a delegated run appears in the conversation that a person watches, not in the child's
 * own. The content of an answer is not logged: it is meant for the server that asked. A permission
 * for a call is not one of these questions: it is an ask (turn_ask.c). Loop thread only. */
#pragma once

#include "runtime/runtime.h"

#define TOOL_QUESTIONS_MAX       16 /* open in one runtime's conversation at a time */
#define TOOL_QUESTION_MS         (10u * 60 * 1000) /* while a person watches */
#define TOOL_QUESTION_ALONE_MS   15000             /* for somebody to begin watching */
#define TOOL_QUESTION_ANSWER_MAX (256u * 1024)

enum tool_question_kind {
    TOOL_QUESTION_FORM,     /* content that fits a JSON Schema */
    TOOL_QUESTION_URL,      /* a page to visit; accepting is consent only */
    TOOL_QUESTION_SAMPLING, /* may the server use the workspace's model? */
};

enum tool_question_action { TOOL_QUESTION_ACCEPT, TOOL_QUESTION_DECLINE, TOOL_QUESTION_CANCEL };

struct tool_question_spec { /* borrowed for tool_question_open */
    enum tool_question_kind kind;
    str source, call_id;
    str only_user_id; /* only this person may answer, whose account the call uses; or empty */
    str message;
    const struct json *schema; /* form: requestedSchema */
    str url;                   /* url */
    const struct json *detail; /* sampling: what the model would be given; or NULL */
};

struct tool_question; /* valid until fn was called or it was withdrawn */

/* content is NULL unless a form was accepted; borrowed for the callback. */
typedef void (*tool_question_fn)(void *ctx, enum tool_question_action action,
                                 const struct json *content);

/* NULL: nobody can be asked (a pipe, a full list, no conversation): treat it as declined.
 * Never calls back before it returns. tool_host is that of the tool's caller. */
struct tool_question *tool_question_open(void *tool_host, const struct tool_question_spec *q,
                                         tool_question_fn fn, void *ctx);
void tool_question_withdraw(struct tool_question *q); /* no callback follows */

/* The open questions of a conversation as an array of {inputId, kind, source, message, ...}. */
struct json *tool_questions_json(const struct runtime *rt, str conversation_id, struct arena *a);

struct tool_question_answer { /* of a person who may send messages there */
    str conversation_id, input_id, user_id;
    struct json_strs tool_limit; /* of the person's token; items NULL = none */
    enum tool_question_action action;
    const struct json *content; /* or NULL */
};

/* content is checked against the schema's required names and types. -ENOENT: it is not open;
 * -EPERM: only another person may answer it; -EINVAL: the content does not fit the schema, with a
 * message for the person. With accept, the runs that get the answer have no more rights than this
 * person. */
int tool_question_answer(struct runtime *rt, const struct tool_question_answer *answer,
                         struct err *e);
str tool_question_action_name(enum tool_question_action action);
bool tool_question_parse_action(str name, enum tool_question_action *ret);
