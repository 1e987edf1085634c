/* runtime.h - from a message to a finished run, for one workspace.
 *
 * A turn is: find or create the conversation, check access, match a skill, compose the prompt,
 * append the message, run the engine, append its events, give the conversation a title. The turn
 * belongs to the runtime: it continues when its client disconnects. There is at most one run per
 * conversation. Watchers subscribe to the conversation's bus topic. Loop thread only.
 *
 *   history/  the lines of a log as messages: replay, transcripts and their cache, escaping
 *   prompt/   the system prompt in four layers
 *   turn/     one turn: actor, setting, the model's input, questions, compaction, title
 *   queue/    turns that wait for another turn of their conversation
 *   .         the runtime itself; agents, consents, files of queued messages, usage, and the
 *             requests of a stored conversation built again (rebuild.h) */
#pragma once

#include "bus/bus.h"
#include "bus/vocabulary.h"
#include "config/config.h"
#include "engine/events.h"
#include "engine/run.h"
#include "llm/llm.h"
#include "runtime/agents.h"
#include "skill/skill.h"
#include "skill/watch.h"
#include "store/store.h"
#include "telemetry/trace_context.h"
#include "tools/registry.h"

struct bundles;
struct directory;
struct runtime;
struct tracer;
struct message; /* a message on its way: it waits, or its turn is in progress */
struct turn;

#define TURN_MESSAGE_MAX (1024u * 1024)

struct runtime_deps { /* all borrowed; they outlive the runtime */
    struct loop *loop;
    struct logger *log;
    const struct config *config;
    struct bus *bus;
    struct store *store;
    struct llm *llm;
    struct registry *tools;
    struct pool *pool;                 /* small files: skills, permissions */
    struct attach *files;              /* that people gave; NULL = none can be given */
    struct media *media;               /* for pictures of results; NULL = they stay as they are */
    const struct texts *texts;         /* instructions of people; NULL = none */
    struct projects *projects;         /* NULL = none */
    struct budgets *budgets;           /* NULL = nothing is limited */
    struct audit *audit;               /* NULL = nothing is recorded */
    struct tracer *tracer;             /* NULL = runs are not traced */
    const struct directory *directory; /* the people of the server; NULL = none have accounts */
    str workspace_id;                  /* may be empty */
    str root_dir;                      /* of the workspace: skills, stored consents */
    struct consent_table *consents;    /* NULL = stored consents are in root_dir */
    const char *settings_path;         /* file of its permissions; NULL = they are not stored */
    str default_model;                 /* of the workspace; empty = the server's */
    str identity, workspace_name;      /* for the prompt; may be empty */
    str home_dir, project_dir;         /* with skills of a terminal user; empty on a server */
};

struct runtime *runtime_new(const struct runtime_deps *deps);
/* Reads permissions and agents from the settings, the stored consents, and the skills; before the
 * first turn. */
int runtime_load_settings(struct runtime *rt, struct err *e);
/* Applies changed settings, from the next turn or question on. Copied; nothing changes on failure.
 * Replaced values stay in memory, because a turn may still use them. */
#define RUNTIME_SETTINGS_MAX 1000
struct runtime_settings {
    str default_model, identity, workspace_name; /* as in runtime_deps */
    const struct json *agents, *permissions;     /* NULL = none */
};
int runtime_use_settings(struct runtime *rt, const struct runtime_settings *s, struct err *e);
void runtime_use_skill_dirs(struct runtime *rt); /* the directories in the config have changed */

/* The apps that prompts describe, borrowed; NULL = none. */
void runtime_use_bundles(struct runtime *rt, struct bundles *bundles);

/* Cancels all runs, waits until their ends are durable, then calls done. */
void runtime_stop(struct runtime *rt, loop_fn done, void *ctx);
void runtime_free(struct runtime *rt); /* after stop */
const struct runtime_deps *runtime_deps(const struct runtime *rt);

/* Called when a message that names people is in the log: neither while it is queued, nor if it is
 * withdrawn. fn NULL: nobody is told. */
typedef void (*runtime_mention_fn)(void *ctx, str conversation_id, str by,
                                   const struct json_strs *people);
void runtime_on_mentions(struct runtime *rt, runtime_mention_fn fn, void *ctx);

/* Publishes an event to all watchers of the workspace (/v1/events). data: an object. */
void runtime_tell(struct runtime *rt, enum event_type type, str data);

/* The current skills; replaced as a whole when their files change. */
struct skills *runtime_skills(const struct runtime *rt);
/* Checks the files now, and calls fn when the skills are up to date. */
void runtime_reload_skills(struct runtime *rt, struct skill_check *c, loop_fn fn, void *ctx);

struct preview;                                                 /* preview.h */
typedef void (*preview_fn)(void *ctx, const struct preview *p); /* the last call */

#define TURN_CONTEXTS_MAX     8 /* of one message; more are left out */
#define TURN_CONTEXT_TEXT_MAX (16u * 1024)

struct turn_request {
    const struct actor *actor; /* of the request; the turn takes a reference */
    str conversation_id;       /* empty: a new conversation */
    str message;
    str app; /* the source whose interface wrote the message; empty = the person did */
    const struct view_context *contexts; /* told to the model with the message; copied */
    size_t ncontexts;
    const struct json *files;       /* content parts that name files (log format), or NULL */
    str model;                      /* empty: the conversation's, else the default */
    str channel;                    /* tui, web, api ... */
    struct json_strs allowed_tools; /* globs of the request; items NULL = no limit. nb__ tools pass,
                                     * unless an interface wrote the message */
    const struct json *metadata;    /* for a new conversation, or NULL */
    str project_id;                 /* likewise: it is put into this project; may be empty */
    struct trace_context trace;     /* of the caller */
    str request_id;                 /* of the HTTP request, for the log */

    /* Instead of a message: the answer to a question that the last run left open. */
    struct turn_answer {
        str ask_id;                   /* empty = this is a message, not an answer */
        bool is_allowed;              /* all calls, unless decisions says otherwise */
        const struct json *decisions; /* {callId: true, false or "always"}, or NULL */
        enum consent_scope {
            CONSENT_ONCE,
            CONSENT_CONVERSATION, /* in this conversation, for the person who answers */
            CONSENT_MINE,
            CONSENT_WORKSPACE,
        } remember;
        str words; /* only commands that begin with them are remembered; empty = no limit */
    } answer;
    struct json_strs auto_allow; /* globs the sender allows in advance, for this turn */
    bool is_unattended;          /* nobody can be asked: calls that would ask are refused with */
#define TURN_NOBODY_TO_ASK                                                                         \
    "This tool needs permission, but no user can answer: the run is unattended."
    /* The directory of the sender's terminal, for the commands of this run; ignored unless the
     * sender is an operator (workspace/actor.h). Empty = none. */
    struct dir_grant grant;
    bool wants_summary; /* of the older messages, before the answer (turn/compact.h) */
    bool is_for_people; /* a message without a run: the agent does not answer it, and reads it later
                         */
    struct json_strs mentions; /* ids of people whom it names (runtime_on_mentions) */
    enum turn_when_busy { TURN_REFUSE_BUSY, TURN_QUEUE, TURN_STEER } when_busy;
    const struct turn_child *child;   /* a delegated run, or NULL */
    const struct turn_client *client; /* a program that brings its own tools, or NULL */
    /* Instead of a run: receives the first request of the run. Nothing is sent or stored. */
    preview_fn on_preview;
};

/* The parent and the limits of a delegated run (nb__delegate). */
struct turn_child {
    str parent_conversation_id, parent_run_id, parent_call_id;
    str owner_id; /* of the parent's conversation: the child has its access */
    str system_prompt;
    struct json_strs tools; /* globs; items NULL = the parent's */
    int max_iterations;
    int depth; /* 1 for a child, 2 for a grandchild */
};

#define TURN_CLIENT_TOOLS_MAX 128
#define TURN_CLIENT_LINES_MAX 4096

/* A program that speaks the protocol of a model (api/compat). Nobody can be asked in such a turn,
 * and it does not wait for another turn: is_unattended and TURN_REFUSE_BUSY. Everything is copied.
 */
struct turn_client {
    str instructions; /* its own, behind those of nb; may be empty */
    /* Its tools: a call of one ends the run (RUN_STOP_CLIENT_TOOLS). A tool of the workspace with
     * the same name cannot be called. */
    const struct llm_tool *tools;
    size_t ntools;
    bool is_toolless; /* neither its own tools nor those of the workspace */
    /* Events in front of the message: what was said before, of a new conversation; else results of
     * calls that the last run handed over. With at least one, the message may be empty. */
    const str *lines;
    size_t nlines;
    bool has_line_files;       /* some of the lines name files */
    str after_run_id;          /* refused unless that run was the last; empty = any */
    int64_t max_output_tokens; /* of one model call; 0 = as in the settings */
    bool is_hidden;            /* a new conversation is not listed and gets no title */
    /* An agent profile; empty, NULL, 0 = none. */
    str system_prompt;       /* instead of nb's own */
    struct json_strs filter; /* globs of tools; items NULL = no limit */
    int64_t max_iterations;
};

#define TURN_FILES_MAX 20 /* of one message */
#define TURN_DEPTH_MAX 3
#define TURN_QUEUE_MAX 16 /* queued messages of one conversation */

/* The properties of a run that its tools may read (tool_caller.host). */
struct turn_info {
    struct runtime *runtime;
    str conversation_id, run_id, model;
    str owner_id; /* of the conversation */
    int depth;
    bool is_unattended;
    struct json_strs auto_allow;
};

enum turn_refusal {
    TURN_NOT_FOUND,   /* no such conversation, or not for this person */
    TURN_FORBIDDEN,   /* this person may see it, but may not do this */
    TURN_BUSY,        /* a run is in progress */
    TURN_BAD_REQUEST, /* the message is empty or too long, the model unknown */
    TURN_NO_QUESTION, /* an answer, but no question is open */
    TURN_FAILED,      /* the conversation could not be read or written */
    TURN_WITHDRAWN,   /* it was queued, and was withdrawn */
    TURN_STOPPING,    /* it was queued, and the server is stopping */
    TURN_OVER_BUDGET, /* the person or the workspace has spent what it may in this month */
};

struct turn_result {
    const struct run_result *run;
    str conversation_id, run_id, skill; /* skill may be empty */
    double cost_usd;
    bool is_cost_known;
};

struct turn_events {
    /* The message is accepted: the run's events will follow on the bus. */
    void (*on_started)(void *ctx, str conversation_id, str run_id, bool is_new);
    void (*on_done)(void *ctx, const struct turn_result *result); /* last call, or: */
    void (*on_refused)(void *ctx, enum turn_refusal why, const struct err *err); /* last call */
    /* The message is queued (queue.h); another callback follows. */
    void (*on_queued)(void *ctx, str conversation_id, str queued_id);
    /* Last call, of a message for people: it is in the log. NULL: nobody sends such messages. */
    void (*on_said)(void *ctx, str conversation_id);
};

/* Never calls back before it returns. The message is valid until the last callback. */
struct message *turn_start(struct runtime *rt, const struct turn_request *req,
                           const struct turn_events *ev, void *ctx);
void turn_forget(struct message *m); /* no callback follows; the run continues */
void turn_cancel(struct message *m); /* on_done or on_refused still follows */

/* Makes a tool that nb__discover_tools returned callable in this run. */
void turn_promote(void *tool_host, str tool);
const struct turn_info *turn_info(void *tool_host);
struct actor *turn_actor(void *tool_host);   /* the current actor of the run; borrowed */
void turn_record(void *tool_host, str line); /* appends an event of the tool to the same log */
bool turn_may_use(void *tool_host, const struct toolset_item *it); /* by its hard limits */

const struct agents *runtime_agents(const struct runtime *rt);

/* ---- rules.c: permissions of tools ---- */

const struct permission_rules *runtime_permissions(const struct runtime *rt); /* stable address */
/* Tools that this person, or with an empty user id the workspace, has allowed permanently. */
struct json_strs runtime_consents(const struct runtime *rt, struct arena *a, str user_id);
/* Would a call of this person run without a question because of a stored consent? */
bool runtime_has_consent(const struct runtime *rt, str user_id, const struct toolset_item *it);
/* The same for one call, which a permission with a limit may cover (consent_limit.h). */
bool runtime_allows_call(const struct runtime *rt, str user_id, const struct toolset_item *it,
                         str conversation_id, const struct json *args);
/* Stores that this person allows the tool permanently; not for tools that change the workspace, nor
 * for those that the settings put under `ask`. */
void runtime_give_consent(struct runtime *rt, str user_id, const struct toolset_item *it);
/* Removes the stored consents of a person whose membership has ended. */
void runtime_forget_user(struct runtime *rt, str user_id);

struct rule_change; /* in progress; freed after its callback */
typedef void (*rule_changed_fn)(void *ctx, const struct err *err); /* err: NULL on success */

/* Writes a section that permission_decode has accepted into the settings, then applies it. Changes
 * are made one after the other; copied; never calls back before it returns. */
struct rule_change *runtime_set_permissions(struct runtime *rt, const struct json *section,
                                            rule_changed_fn fn, void *ctx);
/* Removes a stored consent of this person (empty: of the workspace), effective immediately. NULL:
 * there is none. */
struct rule_change *runtime_withdraw_consent(struct runtime *rt, str user_id, str tool,
                                             rule_changed_fn fn, void *ctx);
void rule_change_forget(struct rule_change *c); /* no callback; the change is still made */

/* The id of the run in progress of a conversation, or empty. */
str runtime_active_run(const struct runtime *rt, str conversation_id);
str runtime_streamed(const struct runtime *rt, str conversation_id); /* for late joiners */
/* For late joiners: an array of the calls that the model is writing, as events told of them. */
void runtime_write_drafts(const struct runtime *rt, str conversation_id, struct json_writer *w);
/* Likewise: the members `retry` and `progress`, if there is something to say (run.h). */
void runtime_write_status(const struct runtime *rt, str conversation_id, struct json_writer *w);
/* A call of the run in progress, from the moment the model begins to write it. Borrowed until the
 * loop continues. False: the run, if there is one, has no such call now; the log may have it. */
bool runtime_find_call(const struct runtime *rt, str conversation_id, str call_id,
                       struct run_call_state *ret);
/* True when this person's turn is the active one of the conversation. */
bool runtime_has_run_of(const struct runtime *rt, str conversation_id, str user_id);
bool runtime_cancel(struct runtime *rt, str conversation_id); /* false: nothing was running */
/* The same, also if another server runs it; `c` was just read. Conversations that are about to be
 * deleted are cancelled by the runtime itself: their last lines are still written. */
bool runtime_cancel_anywhere(struct runtime *rt, const struct conv *c);
/* Refuses its queued messages and cancels its run: it is about to be deleted, here or by another
 * server. */
void runtime_drop_conversation(struct runtime *rt, str conversation_id);
void runtime_cancel_all(struct runtime *rt);
/* Cancels the runs and withdraws the queued messages of this person, or of this token. */
void runtime_cancel_user(struct runtime *rt, str user_id);
void runtime_cancel_token(struct runtime *rt, str token_id);
size_t runtime_runs(const struct runtime *rt);

/* ---- queue/hold.c: other servers on the same database ---- */

/* The server that worked on this conversation is gone: ends its run in the log. */
void runtime_take_over(struct runtime *rt, str conversation_id);
/* Queued messages of servers that are gone are queued here. */
void runtime_adopt_queue(struct runtime *rt);
/* Sends the text of the run in progress, if there is one, to streams of other servers. */
void runtime_forward_progress(struct runtime *rt, str conversation_id);
