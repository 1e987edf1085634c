/* drafts.h - tool calls that the model has begun to write.
 *
 * A call is a draft from its announcement to the end of the model's answer; then the answer has it,
 * with complete arguments. The arguments of a tool with an interface are published while they are
 * written: as the JSON value that they hold so far (base/json/json_repair.h), the first piece
 * immediately, then at most every DRAFTS_PACE_MS, a long text less often. Loop thread only. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/json/json.h"
#include "loop/timer.h"

#define DRAFTS_MAX      128 /* of one answer; later ones are not kept */
#define DRAFTS_PACE_MS  100
#define DRAFTS_ARGS_MAX (64u * 1024) /* longer arguments are not published any more */

struct call_draft {
    str id, name;
    str ui_uri; /* resource of the tool's interface; empty = none */

    struct buf args; /* so far; only with an interface */
    struct buf sent; /* the value that was published last */
    bool has_grown;  /* since it was looked at last */
};

/* input: a JSON text. */
typedef void (*drafts_fn)(void *ctx, const struct call_draft *d, str input);

struct drafts {
    struct arena arena;
    struct call_draft *items;
    size_t n, cap;
    struct timer pace; /* runs after each publication */
    drafts_fn publish;
    void *ctx;
};

void drafts_init(struct drafts *d, struct loop *l, drafts_fn publish, void *ctx);
void drafts_done(struct drafts *d); /* publishes nothing */

void drafts_begin(struct drafts *d, str id, str name, str ui_uri); /* copied */
void drafts_add(struct drafts *d, str id, str piece);              /* of the arguments */
void drafts_clear(struct drafts *d); /* the answer has ended; publishes nothing */

const struct call_draft *drafts_find(const struct drafts *d, str id); /* or NULL */
/* An array with the drafts as they were published: {id, name, resourceUri?, input?}. */
void drafts_write(const struct drafts *d, struct json_writer *w);
