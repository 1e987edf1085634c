/* run_impl.h - the inside of a run, shared by run.c, run_model.c and run_tools.c only.
 *
 *   run.c        the state machine (run_step), its start and its end
 *   run_model.c  one model call, and the decision that follows its response
 *   run_tools.c  the tool calls of one response: permission, execution, results
 *
 *                  +-------------- results are durable ---------------+
 *                  v                                                  |
 *   run_start --> READY --> MODEL --> CHECKING --> SAVING --> TOOLS --+
 *                 |  ^       |  |        |           ^          |
 *                 |  +-------+  |        |           |          |
 *                 |  cut off or |        |           |          |
 *                 |  paused     |        |           |          |
 *                 +-------------|--------|-----------+          |
 *                  pending      |        |                      |
 *                  calls        v        v                      v
 *                            ENDING: the end is appended --> ENDED: host.finished, run_free
 *
 * run_cancel(), run_fail() and errors lead from every state before ENDING to ENDING. Only
 * run_enter() changes the state, and it asserts that the diagram has the transition.
 *
 * Order of callbacks. The model call: on_text and its siblings, then exactly one of
 * on_model_done and on_model_fail. A tool call: on_tool_progress, then on_tool_done, unless it
 * was cancelled. Appends are answered in the order in which they were made, so the end is
 * answered last and nothing calls back after ENDED. host.append never answers before it
 * returns, and neither does the registry or a model call: no callback runs inside run_step().
 *
 * r->call is set in MODEL only. r->calls belongs to the current iteration and is valid in
 * CHECKING, SAVING and TOOLS. The arena `step` is reset when the next model call begins. */
#pragma once

#include "engine/deltas.h"
#include "engine/drafts.h"
#include "engine/events.h"
#include "engine/run.h"
#include "loop/timer.h"

#define RESPONSE_MAX (16u * 1024 * 1024)
#define NOTICE_MAX   (1024u * 1024)
#define CALLS_MAX    128 /* tool calls in one response; the rest get an error result */
#define GATHER_MS    20  /* how long a result waits for those of other calls */

enum run_state {
    RUN_READY,    /* about to call the model, or to start calls that waited for permission */
    RUN_MODEL,    /* the model call is in progress */
    RUN_CHECKING, /* probes find out which calls would be refused whatever a person answers */
    RUN_SAVING,   /* the response and the starts of its calls are being appended */
    RUN_TOOLS,    /* tools are running, or their last results are being appended */
    RUN_ENDING,   /* the last event is being appended */
    RUN_ENDED,    /* the host is being notified; the run is freed after that */
};

/* One tool call of the current iteration. */
enum { RUN_PROGRESS_MAX = 200 }; /* bytes of a message that are kept for who joins later */

struct run_progress { /* what the tool has said last about a call */
    bool is_known;
    double done, total; /* total: 0 = unknown */
    char message[RUN_PROGRESS_MAX];
    size_t message_n;
};

struct run_call {
    struct run *run;
    str id, name, args; /* args: JSON text */
    struct json *input; /* the same, once it was parsed */
    str ui_uri;         /* resource of the tool's interface; empty = none */
    const char *args_error;
    struct registry_wait *wait; /* the source is still starting; or: */
    struct tool_call *handle;   /* NULL = not started or answered */
    struct run_progress progress;
    uint64_t started_ms, ms;
    str line; /* its tool.done event, once it is answered */
    bool is_answered, ok;
    bool is_clients;  /* handed over: its result comes with a later message, if at all */
    bool was_asked;   /* a person decided on it */
    bool is_declined; /* that person refused it */
    str refusal;      /* why the actor may not make this call; known before anybody is asked */
    str output;
};

struct run_retry {        /* of a model call, until it gives something */
    unsigned attempt, of; /* the one that failed; of: 0 = none did */
    uint64_t due_ms;      /* of the next one */
    struct err why;
};

struct run {
    struct loop *loop;
    struct llm *llm;
    struct registry *tools;
    struct run_host host;
    void *ctx;
    struct arena arena; /* lives as long as the run */
    struct arena step;  /* lives for one iteration */

    str id, conversation_id, model;
    struct run_limits limits;
    void *tool_host;

    enum run_state state; /* changed by run_enter() only */
    int iteration;
    uint64_t started_ms;
    struct llm_call *call; /* RUN_MODEL: in progress */
    str response_line;     /* llm.response of this iteration, until it is appended */
    enum llm_stop response_stop;
    uint64_t thinking_since_ms; /* of the call under way; 0 = the model is not thinking */
    uint64_t thinking_ms;       /* so far */
    struct run_retry retry;
    struct run_call *calls;
    size_t ncalls, recorded;
    struct timer gather; /* RUN_TOOLS: results wait to be appended together */
    size_t nchecks;      /* RUN_CHECKING: probes in progress */
    bool has_pending;    /* calls of an earlier run are executed first */

    struct buf response;   /* all text of all iterations */
    size_t response_saved; /* how much of it is in the log */
    size_t response_shown; /* how much of it was published */
    struct deltas deltas;
    struct drafts drafts; /* RUN_MODEL: calls that are being written */
    bool needs_separator;
    struct run_result result;
    struct err lost; /* of an append that failed after the end had begun */
    struct run_tool_record *records;
    size_t records_cap;
    const char *stop_detail;
    int continuations;
    uint64_t calls_hash; /* of the last iteration's calls and results */
    int repeats;
    struct deferred next; /* run_step in the next iteration of the loop */
};

/* ---- run.c: the machine and the end ---- */

void run_enter(struct run *r, enum run_state state); /* asserts that the diagram allows it */
void run_step(struct run *r);  /* continues from the current state, whose result is stored */
void run_again(struct run *r); /* calls the model once more, in the next iteration of the loop */
/* Appends `line` (may be empty) and the closing event, and waits for both. */
void run_end(struct run *r, enum run_stop stop, str line);
void run_end_with_error(struct run *r, const char *type, const struct err *err);

/* Events for watchers only: published immediately and never stored. Text that is still collected
 * in r->deltas is published first, so that watchers see everything in order. */
struct notice {
    struct buf buf;
    struct json_writer w;
};
/* The end returns what host.publish returned. */
void notice_begin(struct notice *n, struct run *r);
bool notice_end(struct notice *n, struct run *r, str type);
/* As host.append. Text that is still collected is published first. */
void run_append(struct run *r, const str *lines, size_t n, run_appended_fn fn);

/* ---- run_model.c: one model call ---- */

/* Usage of the call in progress so far; adds it to the usage of the run. */
struct event_usage run_count_unanswered(struct run *r);
void run_tell_answer(struct run *r, const struct run_answer *a); /* to the host */
void run_call_model(struct run *r);
void run_after_response(struct run *r);                                   /* leaves RUN_MODEL */
void run_after_checks(struct run *r);                                     /* leaves RUN_CHECKING */
void run_write_retry(const struct run *r, struct json_writer *w);         /* for run_write_status */
bool run_publish_delta(void *run, str type, str text);                    /* deltas_fn */
void run_publish_draft(void *run, const struct call_draft *d, str input); /* drafts_fn */

/* ---- run_tools.c: the calls of one response ---- */

void run_write_progress(const struct run *r, struct json_writer *w); /* for run_write_status */
void run_take_calls(struct run *r, const struct llm_result *res);
void run_take_pending(struct run *r, const struct run_spec *spec);
/* Enters RUN_CHECKING: finds out which calls would be refused anyway, so that no person is asked
 * about them. */
void run_check_calls(struct run *r);
/* The calls that a person has to allow first, or NULL. */
const struct json *run_calls_to_ask(struct run *r);
void run_save_response(struct run *r); /* enters RUN_SAVING */
void run_start_pending(
    struct run *r);                  /* enters RUN_SAVING, with calls that waited for permission */
void run_start_tools(struct run *r); /* enters RUN_TOOLS */
void run_watch_repeats(struct run *r); /* leaving RUN_TOOLS */
/* Calls that will not run still get a result, so that the next request is valid. */
void run_drop_calls(struct run *r, str why);
void run_gather_over(void *run); /* loop_fn of r->gather */
void run_cancel_tools(struct run *r, str why);
