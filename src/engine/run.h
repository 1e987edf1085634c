/* run.h - the agentic loop: model call, tool calls in parallel, next model call, until the end.
 *
 * A run is a state machine on the loop thread. Every callback stores its result and calls
 * run_step(), the only function that decides on the next state; an error ends the run
 * (run_impl.h has the states). A run knows neither store nor prompt: its host appends events to
 * the log, supplies the messages and tools of each step, and publishes events that are not stored.
 * The run belongs to the host, not to the client that started it: only run_cancel or its own end
 * stops it.
 *
 * The log never claims more than happened: a response and the calls it asks for are durable
 * before the first tool starts, and the end is durable before the host is notified. */
#pragma once

#include "base/arena.h"
#include "llm/llm.h"
#include "tools/registry.h"

struct run;

struct run_limits {
    int max_iterations;
    int64_t max_input_tokens; /* cumulative, cached input included */
    int64_t max_output_tokens;
    bool is_cut_final; /* an answer that is cut off at its length is not continued */
};

enum run_stop {
    RUN_STOP_COMPLETE,
    RUN_STOP_MAX_ITERATIONS,
    RUN_STOP_TOKEN_BUDGET,
    RUN_STOP_LENGTH,
    RUN_STOP_REFUSAL,
    RUN_STOP_WAITING,      /* for a person to allow a tool call */
    RUN_STOP_CLIENT_TOOLS, /* for the program that sent the message: it executes the calls */
    RUN_STOP_CANCELLED,
    RUN_STOP_ERROR,
};

const char *run_stop_name(enum run_stop stop);

struct run_tool_record {         /* one finished call, for the caller's summary */
    str id, name, input, output; /* input is JSON text, output is the text that the model got */
    bool ok;
    uint64_t ms;
};

struct run_answer { /* of one model call; borrowed */
    str model;      /* "provider:model" */
    const struct conv_usage *usage;
    const char *finish_reason; /* as in the log */
    uint64_t ms;               /* 0 = it was cancelled */
};

struct run_result {
    enum run_stop stop;
    str response; /* all text of all iterations; the concatenation of the deltas */
    str model;
    struct conv_usage usage;
    int iterations;
    uint64_t llm_ms, total_ms;
    const struct run_tool_record *tools;
    size_t ntools;
    const struct json *ask;        /* RUN_STOP_WAITING: {askId, calls} */
    const struct run_client_call { /* RUN_STOP_CLIENT_TOOLS */
        str id, name, args;        /* args: JSON text */
    } * client_calls;
    size_t nclient_calls;
    struct err err;         /* RUN_STOP_ERROR */
    const char *error_type; /* "provider_auth_error", ...; NULL without error */
};

typedef void (*run_appended_fn)(void *run_ctx, const struct err *err); /* NULL = durable */

/* Input of one model call; lives in the arena given to host->prepare. */
struct run_input {
    str system_stable, system_volatile;
    const struct llm_message *messages;
    size_t nmessages;
    const struct llm_tool *tools;
    size_t ntools;
    str tools_key; /* llm_request.tools_key; may be empty */
    const char *thinking;
};

/* The model request that a run makes from this input; borrows everything. */
struct llm_request run_request(const struct run_input *in, int64_t max_tokens, str conversation_id);

enum run_gate {
    RUN_ALLOW,
    RUN_ASK,            /* a person decides, and may allow the tool permanently */
    RUN_ASK_EVERY_TIME, /* a person decides on each call */
    RUN_DENY,
    RUN_HAND_OVER, /* the program that sent the message executes it: the run ends with it */
};

struct run_host {
    /* Appends lines in order and calls fn when they are durable, never before it returns. fn may
     * be NULL: then the host reports a failure through run_fail. */
    void (*append)(void *ctx, const str *lines, size_t n, run_appended_fn fn, void *fn_ctx);
    /* Builds the model's input from the log so far. `last` = no further iteration follows. An error
     * ends the run; -EDQUOT: nothing more may be spent. */
    int (*prepare)(void *ctx, struct arena *a, bool last, struct run_input *ret, struct err *e);
    /* The permission for a call now. For RUN_DENY *ret_why has the reason, for the model. */
    enum run_gate (*gate)(void *ctx, str tool, const struct json *args, str *ret_why);
    /* The directory in which the commands of this call run, to be shown to people; empty = it runs
     * no commands, or runs them in the sandbox of the server. May be NULL. */
    str (*directory)(void *ctx, struct arena *a, str tool, const struct json *args);
    /* The words by which a permission for calls like this one can be limited (consent_limit.h);
     * empty = there are none. Borrows from args. May be NULL. */
    str (*words)(void *ctx, str tool, const struct json *args);
    /* The actor of the run now. Its rights can become narrower from one step to the next. */
    struct actor *(*actor)(void *ctx);
    /* The conditions under which the run works, as a JSON value for ask.opened; may be empty. */
    str (*setting)(void *ctx, struct arena *a);
    /* Returns true if a watcher is behind: it has not taken what it was sent before. */
    bool (*publish)(void *ctx, str type, str data);
    /* For measurements, so that nobody reads them out of the lines: a model call was answered, or
     * cancelled after a part of its answer; a tool call has its result (the record is without input
     * and output). Both may be NULL. */
    void (*model_answered)(void *ctx, const struct run_answer *a);
    void (*tool_answered)(void *ctx, const struct run_tool_record *c);
    /* The run has ended and its last event is durable. It is freed after this returns. */
    void (*finished)(void *ctx, const struct run_result *result);
};

/* A call of an earlier run that waited for permission, and the decision. */
struct run_pending {
    str id, name, args;
    bool is_allowed;
    bool was_asked; /* a person decided on this call */
};

#define RUN_CONTINUATIONS_MAX 4 /* of answers that were cut off at their length */
#define RUN_REPEATS_MAX       3 /* of the same calls with the same results */

struct run_spec {
    str run_id, conversation_id, model;
    struct run_limits limits;
    void *tool_host;                   /* tool_caller.host */
    const struct run_pending *pending; /* executed first; copied */
    size_t npending;
};

struct run *run_new(struct loop *l, struct llm *llm, struct registry *tools,
                    const struct run_spec *spec, const struct run_host *host, void *ctx);
void run_start(struct run *r);
void run_cancel(struct run *r); /* host->finished follows when the end is durable */
void run_fail(struct run *r, const struct err *err); /* an append without fn has failed */

str run_id(const struct run *r);

struct run_call_state { /* a call of the current step; borrowed until the loop continues */
    str name;
    str args; /* JSON text; empty while the model writes it */
    bool is_started, is_done;
};
/* False: no call of the current step has this id. */
bool run_find_call(const struct run *r, str call_id, struct run_call_state *ret);
str run_streamed(const struct run *r); /* text published since the last stored event */
/* An array of the calls that the model is writing (drafts.h). */
void run_write_drafts(const struct run *r, struct json_writer *w);
/* If the model call is being repeated: the member `retry` with what the last run.retry said. If
 * calls have told how far they are: the member `progress`, an array with the last tool.progress of
 * each that is not answered. */
void run_write_status(const struct run *r, struct json_writer *w);
