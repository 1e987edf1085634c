/* past.h - what a turn must know about messages that it does not read: who wrote them, whose words
 * their runs could read besides, the tool limits of the tokens they were sent with, and the tools
 * that were called last.
 *
 * It is fed with every message in order. The state after the last message is the same whether it
 * was fed from the start or continued from a copy, also one that has seen some of the messages
 * before: caches keep it (derive.h), and readers of the end of a log continue from it (replay.h).
 * Everything is bounded; what does not fit makes rights narrower, never wider. Pure; any thread. */
#pragma once

#include "base/json/json_decode.h"
#include "workspace/actor.h"

#define PAST_PEOPLE_MAX      (ACTOR_PEOPLE_MAX + 1) /* an actor of more people may do nothing */
#define PAST_LIMITS_MAX      (ACTOR_FILTERS_MAX + 1)
#define PAST_PERSON_BYTES    128u
#define PAST_LIMIT_GLOBS_MAX 1000u         /* a limit of more globs, */
#define PAST_LIMIT_BYTES     (128u * 1024) /* or of more bytes, allows nothing */
#define PAST_TOOLS_MAX       256u
#define PAST_TOOL_BYTES      128u /* names that are longer are not kept: no tool has one */
#define PAST_JSON_MAX        (64u * 1024 * 1024) /* more than all of this, escaped */

struct past {                 /* zeroed = nothing has been written */
    struct json_strs people;  /* user ids, in the order of their first messages */
    struct json_strs others;  /* those who wrote instructions or gave files that runs could read */
    struct json_strs *limits; /* likewise; never without items */
    size_t nlimits;
    struct json_strs tools; /* names of the tools that were called; the latest last */
};

/* A user's message: a parsed event, or a line of the older format; or run.author. */
void past_user(struct past *p, struct arena *a, const struct json *event);
/* Does this line of a user's message add nothing? False also when it would have to be parsed. */
bool past_knows_user(const struct past *p, str line);
/* Does this input.answered give words to the run? Whoever declines has written nothing. */
bool past_is_answer(const struct json *event);
/* An answer of a model: llm.response, or a line of the older format. */
void past_answer(struct past *p, struct arena *a, const struct json *event);

struct past past_copy(struct arena *a, const struct past *p);

/* One line of JSON, and back. Text that is not from past_json gives an error. */
str past_json(struct arena *a, const struct past *p);
int past_parse(struct arena *a, str json, struct past *ret); /* -EINVAL */
