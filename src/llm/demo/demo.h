/* demo.h - the built-in model: rules instead of a neural net.
 *
 * Offline and deterministic, and it tells the user so. Its rules are enough to show the whole
 * product: it answers help, lists tools, calls them by name or for an obvious request, several in
 * parallel or one after another, and reports their results. No state, no I/O. */
#pragma once

#include "llm/provider/answer.h"

#define DEMO_USES_MAX  16
#define DEMO_COUNT_MAX 10000 /* "count to N" */

struct demo_use {
    str name;
    str args; /* a JSON object */
};

struct demo_plan {
    str text;
    struct demo_use uses[DEMO_USES_MAX];
    size_t nuses;
};

/* The user's request, taken out of a model request. */
struct demo_ask {
    struct arena *a;
    const struct llm_request *req;
    str all;        /* the newest message of the user */
    str text;       /* its words, without attachments */
    size_t context; /* bytes of attached text */
    size_t images;
    size_t rounds;   /* answers with tool calls since then, without searches for a tool */
    bool is_first;   /* the conversation has no answer yet */
    size_t question; /* index of the message that holds it */
};

/* ---- demo_intent.c: what to do ---- */
void demo_plan(struct arena *a, const struct llm_request *req, struct demo_plan *ret);
const struct llm_tool *demo_find_tool(const struct llm_request *req, str name); /* or NULL */
/* A tool that is not in the request may be hidden because there are too many: searches for it, once
 * per question. False when it was searched for already, or cannot be. */
bool demo_search_tool(const struct demo_ask *q, str name, struct demo_plan *ret);
bool demo_is_search(const struct llm_message *m); /* an answer that does this */

/* ---- demo_call.c: explicit "call tool {json}" ---- */
/* False when the text names no call. Calls of the round that is due go to the plan. */
bool demo_explicit_calls(const struct demo_ask *q, struct demo_plan *ret);

/* ---- demo_text.c: what to say ---- */
str demo_introduction(void);
str demo_help(const struct demo_ask *q);
str demo_tool_list(const struct demo_ask *q);
str demo_shrug(const struct demo_ask *q);  /* for what no rule covers */
str demo_report(const struct demo_ask *q); /* what the tools returned since the question */
str demo_title(const struct demo_ask *q);
str demo_summary(const struct demo_ask *q);

/* ---- demo.c: an answer being spoken ---- */
struct demo_speech {
    struct demo_plan plan;
    size_t at; /* bytes of the text that were sent already */
    size_t next_use;
    size_t args_at;      /* bytes of that call's arguments that were sent already */
    size_t calls_before; /* tool calls in the history: numbers the new ones */
    size_t bytes_in;     /* of the request, for the estimate of its tokens */
};

void demo_begin(struct demo_speech *d, struct arena *a, const struct llm_request *req,
                size_t bytes_in);
/* Says one more word, or writes one more piece of a call; false when the answer is complete. */
bool demo_step(struct demo_speech *d, struct answer *an);
