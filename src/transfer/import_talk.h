/* import_talk.h - a foreign conversation told as events: who said what, when, with which tools.
 *
 * The parsers of foreign formats speak to this instead of writing events. It keeps the time,
 * opens and closes runs, gathers the parts of one answer into one llm.response and remembers
 * the names of the tools that were called. Pure but for its memory; one thread at a time. */
#pragma once

#include "base/map.h"
#include "transfer/import.h"

enum { TALK_SKIPS_MAX = 16 };

struct talk {
    struct arena out; /* of the events */
    str *events;      /* heap */
    size_t n, cap, bytes;

    char ts[32]; /* of what comes next */
    int64_t first_ms;
    bool is_running;
    int run;
    char run_id[32];
    struct map tools; /* id of a call -> name (heap) */

    struct arena pending; /* of the answer that is being gathered */
    struct json *parts;   /* NULL: none */
    char answer_ts[32];
    str model, answer_id;
    struct conv_usage usage;

    struct { /* what was not taken over */
        const char *what;
        int64_t n;
    } skips[TALK_SKIPS_MAX];
};

void talk_init(struct talk *t);
void talk_done(struct talk *t);
void talk_restart(struct talk *t); /* the next conversation */
void talk_clear(struct talk *t);   /* the events were taken */

/* The time of what follows; what has none keeps the time before it. */
void talk_at_ms(struct talk *t, int64_t ms);
void talk_at(struct talk *t, str iso);

/* parts: an array of content parts; nothing happens when it is empty. */
void talk_user(struct talk *t, const struct json *parts);

/* Parts of an answer. Another id than that of the answer under way begins a new one. */
void talk_answer(struct talk *t, str answer_id, str model);
void talk_text(struct talk *t, str text);
void talk_reasoning(struct talk *t, str text);
void talk_call(struct talk *t, str id, str name, const struct json *input);
void talk_usage(struct talk *t, const struct conv_usage *u);

/* content: an array of content parts, or a string. name may be empty. */
void talk_result(struct talk *t, str id, str name, bool ok, const struct json *content);

void talk_title(struct talk *t, str title);
void talk_event(struct talk *t, str line); /* as it is */
void talk_skip(struct talk *t, const char *what);
void talk_finish(struct talk *t); /* closes what is open */
/* Reports what was skipped, for the conversation `name`. */
void talk_report(struct talk *t, struct import_report *r, str name);

/* One content part {"type":"text","text":...} added to an array. */
void talk_add_text(struct arena *a, struct json *parts, str text);

/* Blocks of a message in Anthropic's form: text, thinking, tool_use, tool_result. */
void talk_anthropic(struct talk *t, const struct json *content, bool is_user);

void import_lose(struct import_report *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
