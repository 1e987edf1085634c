/* import_talk.h - builds the events of a foreign conversation: messages, times, tool calls.
 *
 * The parsers of foreign formats call these functions instead of writing events. A talk keeps the
 * time, starts and ends runs, collects the parts of one answer into one llm.response and remembers
 * the names of the tools that were called. Only memory is changed; one thread at a time. */
#pragma once

#include "base/map.h"
#include "transfer/import.h"

enum { TALK_SKIPS_MAX = 16 };

struct talk {
    struct arena out; /* of the events */
    str *events;      /* heap */
    size_t n, cap, bytes;

    char ts[32]; /* time of the next event */
    int64_t first_ms;
    bool is_running;
    int run;
    char run_id[32];
    struct map tools; /* id of a call -> name (heap) */

    struct arena pending; /* of the answer that is being collected */
    struct json *parts;   /* NULL: no answer */
    char answer_ts[32];
    str model, answer_id;
    struct conv_usage usage;

    struct { /* items that were not imported */
        const char *what;
        int64_t n;
    } skips[TALK_SKIPS_MAX];
};

void talk_init(struct talk *t);
void talk_done(struct talk *t);
void talk_restart(struct talk *t); /* the next conversation */
void talk_clear(struct talk *t);   /* the events were taken */

/* Sets the time of the following events; an event without a time gets the previous one. */
void talk_at_ms(struct talk *t, int64_t ms);
void talk_at(struct talk *t, str iso);

/* parts: an array of content parts; an empty array is ignored. */
void talk_user(struct talk *t, const struct json *parts);

/* Parts of an answer. An id that differs from that of the current answer begins a new answer. */
void talk_answer(struct talk *t, str answer_id, str model);
void talk_text(struct talk *t, str text);
void talk_reasoning(struct talk *t, str text);
void talk_call(struct talk *t, str id, str name, const struct json *input);
void talk_usage(struct talk *t, const struct conv_usage *u);

/* content: an array of content parts, or a string. name may be empty. */
void talk_result(struct talk *t, str id, str name, bool ok, const struct json *content);

void talk_title(struct talk *t, str title);
void talk_event(struct talk *t, str line); /* adds the line unchanged */
void talk_skip(struct talk *t, const char *what);
void talk_finish(struct talk *t); /* ends the current answer and run */
/* Reports the skipped items of the conversation `name`. */
void talk_report(struct talk *t, struct import_report *r, str name);

/* One content part {"type":"text","text":...} added to an array. */
void talk_add_text(struct arena *a, struct json *parts, str text);

/* Blocks of a message in the format of Anthropic: text, thinking, tool_use, tool_result. */
void talk_anthropic(struct talk *t, const struct json *content, bool is_user);

void import_lose(struct import_report *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
