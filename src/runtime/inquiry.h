/* inquiry.h - what a tool asks people while its call waits for the answer.
 *
 * An MCP server may want a form filled in, a page visited, or the model used. The question goes
 * into the log (input.requested), so everybody who watches the conversation sees it; who may
 * send there may answer, from any tab or terminal. It ends with input.answered: answered,
 * withdrawn, or nobody was there. A question of a delegated run appears in the conversation
 * that a person watches, not in the child's own. What was answered is not logged: it belongs
 * to the server that asked. Loop thread only. */
#pragma once

#include "runtime/runtime.h"

#define INQUIRIES_MAX      16                /* open in one runtime's conversation at a time */
#define INQUIRY_MS         (10u * 60 * 1000) /* for a person who watches */
#define INQUIRY_ALONE_MS   15000             /* for somebody to begin watching */
#define INQUIRY_ANSWER_MAX (256u * 1024)

enum inquiry_kind {
    INQUIRY_FORM,     /* content by a JSON Schema */
    INQUIRY_URL,      /* go there; accepting means consent, nothing more */
    INQUIRY_SAMPLING, /* may the server use the workspace's model? */
};

enum inquiry_action { INQUIRY_ACCEPT, INQUIRY_DECLINE, INQUIRY_CANCEL };

struct inquiry_question { /* borrowed for inquiry_open */
    enum inquiry_kind kind;
    str source, call_id;
    str only_user_id; /* nobody else may answer: the call uses this person's account; or empty */
    str message;
    const struct json *schema; /* form: requestedSchema */
    str url;                   /* url */
    const struct json *detail; /* sampling: what the model would be given; or NULL */
};

struct inquiry; /* valid until fn was called or it was withdrawn */

/* content is NULL unless a form was accepted; borrowed for the callback. */
typedef void (*inquiry_fn)(void *ctx, enum inquiry_action action, const struct json *content);

/* NULL: nobody can be asked (a pipe, a full list, no conversation), so the answer is no.
 * Never calls back before it returns. tool_host is that of the tool's caller. */
struct inquiry *inquiry_open(void *tool_host, const struct inquiry_question *q, inquiry_fn fn,
                             void *ctx);
void inquiry_withdraw(struct inquiry *q); /* no callback any more */

/* The open questions of a conversation as an array of {inputId, kind, source, message, ...}. */
struct json *inquiries_json(const struct runtime *rt, str conversation_id, struct arena *a);

/* A person's answer. The caller has checked that this person may send. content is checked
 * against the schema's required names and types. -ENOENT: it is not open (any more); -EPERM: it
 * is for somebody else;
 * -EINVAL: the content does not fit, with a message for the person. */
int inquiry_answer(struct runtime *rt, str conversation_id, str input_id, str user_id,
                   enum inquiry_action action, const struct json *content, struct err *e);
bool inquiry_parse_action(str name, enum inquiry_action *ret);
