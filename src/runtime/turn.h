/* turn.h - the inside of a turn, shared by turn.c, context.c and compose.c only. */
#pragma once

#include "base/map.h"
#include "base/random.h"
#include "loop/timer.h"
#include "runtime/runtime.h"

struct runtime {
    struct runtime_deps deps;
    struct skills *skills;
    struct map active; /* conversation id -> struct turn, from acceptance to the end */
    struct list_node turns;
    struct list_node titles;
    size_t nturns;
    loop_fn on_stopped;
    void *on_stopped_ctx;
    struct deferred stopped;
};

/* The lines of a conversation as a turn sees them: what was there, and what it added. */
struct transcript {
    struct arena arena;
    str *lines;
    size_t n, cap;
};

void transcript_init(struct transcript *t);
void transcript_done(struct transcript *t);
void transcript_add(struct transcript *t, str line); /* copies */

struct turn {
    struct list_node node;
    struct runtime *rt;
    struct arena arena;
    const struct turn_events *ev; /* NULL once the listener has gone */
    void *ctx;

    struct viewer viewer;
    str conversation_id, message, model, channel;
    struct json_strs allowed_tools;
    const struct json *metadata;
    bool is_new, is_untitled;

    char run_id[RANDOM_ID_MAX];
    struct run *run;
    struct store_op *op; /* a read or create before the run starts */
    size_t appends;      /* under way */
    struct transcript transcript;
    struct skills *skills;      /* a reference, so that a reload does not pull the rug */
    const struct skill *skill;  /* the one that matched, or NULL */
    struct deferred begin;
};

/* compose.c: host->prepare and host->may_call of a turn. */
int turn_prepare(void *turn, struct arena *a, bool is_last, struct run_input *ret, struct err *e);
bool turn_may_call(void *turn, str tool, str *ret_why);
void turn_match_skill(struct turn *t);

/* context.c: the log as messages for the model. */
int context_messages(struct arena *a, const struct transcript *t, str model,
                     const struct llm_message **ret, size_t *ret_n, struct err *e);

/* title.c: gives an untitled conversation its title; fire and forget. */
void title_start(struct runtime *rt, str conversation_id, str model, str user_text, str answer);
void title_hurry(struct runtime *rt); /* those under way are settled without a model */

/* runtime.c: a turn or a title has ended. */
void runtime_check_stopped(struct runtime *rt);
