/* run_impl.h - the inside of a run, shared by run.c, run_model.c and run_tools.c only. */
#pragma once

#include "engine/deltas.h"
#include "engine/events.h"
#include "engine/run.h"

#define RESPONSE_MAX (16u * 1024 * 1024)
#define NOTICE_MAX   (1024u * 1024)
#define CALLS_MAX    128 /* tool calls in one response; the rest get an error result */

enum run_state {
    RUN_READY,    /* about to call the model */
    RUN_MODEL,    /* the model is answering */
    RUN_CHECKING, /* whether calls that would be asked about may be made at all */
    RUN_SAVING,   /* its response is on its way to the disk */
    RUN_TOOLS,    /* tools are running */
    RUN_ENDING,   /* the last event is on its way to the disk */
    RUN_ENDED,
};

/* One tool call of the current iteration. */
struct call {
    struct run *run;
    str id, name, args; /* args: JSON text */
    const char *args_error;
    struct registry_wait *wait;   /* for a tool that is on its way; or: */
    struct registry_call *handle; /* NULL = not started or answered */
    uint64_t started_ms, ms;
    str line; /* its tool.done event, once it is answered */
    bool is_answered, ok;
    bool was_asked;   /* a person decided on it */
    bool is_declined; /* and said no */
    str refusal;      /* why those the run acts for may not make it; known before it is asked */
    str output;
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

    enum run_state state;
    int iteration;
    uint64_t started_ms;
    struct llm_call *call;
    struct call *calls;
    size_t ncalls, recorded;
    str checked_line; /* RUN_CHECKING: the response, which is not in the log yet */
    size_t nchecks;   /* RUN_CHECKING: probes under way */
    bool has_pending; /* calls of an earlier run are to be executed first */

    struct buf response;   /* all text of all iterations */
    size_t response_saved; /* how much of it is in the log */
    size_t response_shown; /* how much of it was published */
    struct deltas deltas;
    bool needs_separator;
    struct run_result result;
    struct err lost; /* an append that nobody waited for has failed */
    struct run_tool_record *records;
    size_t records_cap;
    const char *stop_detail;
    int continuations;
    uint64_t calls_hash; /* of the last iteration's calls and results */
    int repeats;
    struct deferred next; /* run_step on the next turn of the loop */
};

/* ---- run.c: the machine and the end ---- */

void run_step(struct run *r);  /* goes on from the state it is in */
void run_again(struct run *r); /* calls the model once more, on the next turn of the loop */
/* Appends `line` (may be empty) and the closing event, and waits for both. */
void run_end(struct run *r, enum run_stop stop, str line);
void run_end_with_error(struct run *r, const char *type, const struct err *err);

/* What watchers see at once, and the log never. Streamed text that waits goes first. */
struct notice {
    struct buf buf;
    struct json_writer w;
};
void notice_begin(struct notice *n, struct run *r);
/* As host.append; watchers see what was streamed before. */
void run_append(struct run *r, const str *lines, size_t n, run_appended_fn fn);
void notice_end(struct notice *n, struct run *r, str type);

/* ---- run_model.c: one call of the model ---- */

/* What the call under way has cost so far; added to the run's usage. */
struct event_usage run_count_unanswered(struct run *r);
void run_call_model(struct run *r);
void run_calls_checked(struct run *r, str response_line); /* asks, or starts the calls */
void run_publish_delta(void *run, str type, str text);    /* deltas_fn */

/* ---- run_tools.c: the calls of one response ---- */

void run_take_calls(struct run *r, const struct llm_result *res);
void run_take_pending(struct run *r, const struct run_spec *spec);
void run_save_and_start_tools(struct run *r, str response_line);
void run_start_pending(struct run *r); /* calls that waited for permission */
/* Calls that will not run still get a result, so that the next request is valid. */
void run_drop_calls(struct run *r, str why);
void run_cancel_tools(struct run *r, str why);
/* Finds out which calls would be refused anyway, so that nobody is asked about them; then
 * run_calls_checked. */
void run_check_calls(struct run *r, str response_line);
/* The calls that a person has to allow first, or NULL. */
const struct json *run_calls_to_ask(struct run *r);
