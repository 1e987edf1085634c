/* turn.h - the inside of a turn. Private to runtime/.
 *
 *   turn.c        from a request to a run: the conversation, access, the history
 *   turn_actor.c  the authors of a turn's messages, and the rights that they have in common
 *   turn_ask.c    questions to people about tool calls (permission), and the answers
 *   turn_grant.c  a turn in the directory of the sender's terminal
 *   turn_host.c   the host of the run: appends, publishing, the end
 *   setting.c     the conditions of a run as its log keeps them; resume and replay read them
 *   compose.c     the model's input of one step: prompt, messages, tools
 *   context.c     a conversation as the messages that a model gets
 *   compact.c     long conversations made short for the model
 *   request_log.c the input of a model call besides the messages, kept for replay
 *   focus.c, guide.c   the app in front of the person, and how to use it
 *   tool_question.c    questions that a tool asks while its call waits
 *   rules.c       the permissions of the workspace
 *   preview.c     the request that a message would send; title.c names the conversation */
#pragma once

#include "base/bytes/random.h"
#include "base/map.h"
#include "engine/permission.h"
#include "loop/timer.h"
#include "runtime/consent.h"
#include "runtime/history/transcript_cache.h"
#include "runtime/queue_files.h"
#include "runtime/runtime.h"
#include "runtime/turn/guide.h"
#include "runtime/turn/preview.h"
#include "tools/tool_selection.h"

/* The tool list that was recorded last, so that it is not written and hashed for every call. */
struct tools_memo {
    struct toolset *set; /* a reference: no other tool can have the same address */
    struct arena arena;
    const struct llm_tool *tools;
    size_t n;
    str json;
    char sha[65];
};

/* The same for the system prompt. */
struct system_memo {
    struct arena arena;
    str stable, volatile_part, json;
    char sha[65];
};

#define QUEUE_TAKEN_KEPT 64 /* ids of taken messages, for -EALREADY instead of -ENOENT */

struct runtime {
    struct runtime_deps deps;
    struct skills *skills;
    struct skill_watch *watch;
    str people_dir;                      /* of personal skills */
    struct skill_check last_check;       /* before the end */
    struct permission_rules permissions; /* of the settings */
    struct arena rules;                  /* what they are made of */
    struct list_node rule_changes;       /* the first is being written, the others wait */
    struct consents consents;
    uint8_t setting_key[32]; /* setting.c */
    struct agents agents;
    struct bundles *bundles; /* or NULL */
    struct arena arena;      /* agents */
    size_t nsettings;        /* changes of the settings so far */
    struct map active;       /* conversation id -> struct turn, from acceptance to the end */
    struct transcript_cache transcripts;
    struct guides guides;
    struct tools_memo tools_memo; /* request_log.c */
    struct system_memo system_memo;
    struct list_node turns;
    struct list_node titles;
    struct list_node tool_questions; /* open questions of tools (tool_question.c) */
    struct queue_files queue_files;  /* of queued messages (queue.c) */
    uint64_t nqueued, ntaken;        /* so far */
    char taken[QUEUE_TAKEN_KEPT][RANDOM_ID_MAX];
    size_t nturns, nrecords; /* in progress */
    loop_fn on_stopped;
    void *on_stopped_ctx;
    struct deferred stopped;
};

/*                  no other turn is active
 *   turn_start --> STARTING --------------------------------------------> RUNNING --> freed
 *                   |    ^                                                   (run finished)
 *         another   |    |  the active turn has ended
 *         turn is   v    |
 *         active  STORING --> QUEUED, or STEERING --> freed (the other run took the message)
 *                   the file is written
 *
 *   queue_restore --> HELD (first of its conversation) or QUEUED; queue_release: HELD --> STARTING
 *
 * turn_refuse() leads from every state but RUNNING to "freed". Only turn_enter() changes the state,
 * and it asserts that the transition exists. Only the active turn of a conversation (rt->active) is
 * STARTING with its conversation open, HELD or RUNNING; the others are in its list `queued`.
 *
 * Callbacks to the listener: on_queued if the turn is queued, on_started when the message is
 * accepted (for STEERING: when it joins the other run), then exactly one of on_done and on_refused.
 */
enum turn_state {
    TURN_STARTING, /* checks, reading the conversation, appending the message (turn.c) */
    TURN_STORING,  /* has to wait; its message is being written to a file */
    TURN_HELD,     /* restored after a restart; waits for the tools (queue_release) */
    TURN_QUEUED,   /* behind another turn of the same conversation */
    TURN_STEERING, /* joins the run of another turn; empty message = that run has taken it */
    TURN_RUNNING,  /* t->run is set, until it has finished */
};

/* The settings that a run works under, from its first step to its last, also when a question or a
 * restart lies in between (setting.h). */
struct turn_limits {
    int64_t max_iterations, max_input_tokens, max_output_tokens, max_direct_tools;
    str thinking;
};

#define TURN_REQUEST_LINES_MAX 4 /* llm.request events that wait for the next append */

struct turn {
    struct list_node node;
    struct runtime *rt;
    struct arena arena;
    enum turn_state state;
    const struct turn_events *ev; /* NULL after turn_forget */
    void *ctx;

    struct actor *actor; /* a reference; narrowed when other people's messages are added */
    str answered_by;     /* user id of the person who answered; the run acts for its actor */
    str conversation_id, message, model, channel;
    struct turn_limits limits;
    struct json_strs auto_allow;
    str owner_id;                  /* of a conversation that was there before; else empty */
    struct json_strs participants; /* of a shared conversation, when the turn began */
    const struct json *metadata;
    const struct json
        *app; /* in front of the person: {name, state?, summary?, guide?} (focus.c), or NULL */
    struct turn_answer answer;
    const struct run_pending *pending; /* calls that the answer is about */
    size_t npending;
    struct turn_child child; /* depth 0 = not a child */
    preview_fn on_preview;   /* instead of a run, or NULL */
    enum turn_when_busy when_busy;
    bool is_new, is_untitled, is_unattended, is_cancelled;
    bool is_announced; /* on_started was called */

    char run_id[RANDOM_ID_MAX];
    struct run *run;
    size_t appends; /* in progress, or held */
    unsigned holds;
    struct list_node held;    /* appends that wait (turn_hold) */
    struct list_node records; /* blobs that they wait for (request_log.c) */
    struct transcript *transcript;
    struct skills *own_skills;     /* with the skills of the terminal (turn_grant.c); or NULL */
    struct grant_load *grant_load; /* in progress, or NULL */
    struct skills *skills;         /* a reference: a reload must not free them */
    const struct skill *skill;     /* the skill that matched, or NULL */
    int steps;                     /* model calls prepared so far */
    char system_sha[65], tools_sha[65];        /* last recorded by request_log.c */
    str request_lines[TURN_REQUEST_LINES_MAX]; /* events to write in front of the next append */
    size_t nrequest_lines;
    struct promoted promoted;      /* tools discovered in this run */
    struct compaction *compaction; /* in progress before the run, or NULL */
    struct deferred begin;
    struct skill_check check;
    struct consent_save consent;
    struct list_node queued; /* turns that wait for this one, or steer its run */
    struct list_node queue_node;
    char queued_id[RANDOM_ID_MAX]; /* empty = it was never queued */
    int64_t queued_ms;
    uint64_t queued_number;
    char *edited;     /* the edited message; heap, because it can be edited many times */
    bool is_shown;    /* listed among the queued messages */
    bool has_file;    /* its file is removed with the turn ... */
    bool keeps_file;  /* ... unless the next start shall restore it */
    bool is_restored; /* from a file of an earlier start */
    struct turn_info info;
};

/* ---- turn.c ---- */
struct turn *turn_new(struct runtime *rt, const struct turn_request *req,
                      const struct turn_events *ev, void *ctx); /* not begun yet */
void turn_enter(struct turn *t, enum turn_state state); /* asserts that the transition exists */
void turn_refuse(struct turn *t, enum turn_refusal why, const struct err *err); /* frees it */
void turn_free(struct turn *t);
int turn_check_message(str message, struct err *e);

/* ---- queue.c, queue_restore.c: waiting for another turn of the same conversation ---- */
void queue_wait(struct turn *t, struct turn *busy); /* queues it behind `busy`, or refuses it */
void turn_resume_queue(struct turn *from);          /* `from` ends: the next turn becomes active */
void turn_begin_waiting(struct turn *t);            /* makes a queued turn the active one */
void queue_hold(struct turn *t);                    /* until queue_release */
/* Publish what happened to a queued message; nothing if the turn was never queued. */
void queue_taken(struct turn *t);
void queue_refused(struct turn *t, enum turn_refusal why, const struct err *err);
bool queue_drop(struct turn *t);          /* withdraws it; false: it is not queued */
void queue_leave_all(struct runtime *rt); /* the server stops: their files stay for the restart */
bool queue_still_member(struct turn *t);
bool queue_was_sent(const struct turn *t); /* a restored message is in the log already */

/* ---- preview.c ---- */
void preview_finish(struct turn *t); /* returns the first request of the run, and frees t */

/* ---- turn_host.c: the run's host ---- */
void turn_start_run(struct turn *t, const struct run_pending *pending, size_t n);
void turn_announce(struct turn *t, str run_id);
void turn_publish(void *turn, str type, str data); /* to the conversation's watchers */
void turn_append(void *turn, const str *lines, size_t n, run_appended_fn fn, void *fn_ctx);
void turn_note_request(struct turn *t, str line); /* written before the next append; borrowed */
/* Appends wait from the hold to the release, because a line before them is not written yet. */
void turn_hold(struct turn *t);
void turn_release(struct turn *t);
str turn_run_start_event(struct turn *t, str resumes);

/* ---- turn_ask.c: questions and their answers ---- */
/* Ends an open question, because the user sent a message instead of an answer. */
size_t turn_decline_open(struct turn *t, const struct replay *h, str *lines, size_t max);
void turn_accept_answer(struct turn *t);

/* ---- actor of a turn (turn_actor.c) ---- */
void turn_narrow(struct turn *t, struct actor *narrower); /* takes the reference */
void turn_join_authors(struct turn *t);     /* narrows to all authors of the conversation */
bool turn_is_sole(const struct turn *t);    /* nobody else has an account */
bool turn_has_others(const struct turn *t); /* it contains messages of several people */
str turn_message_event(struct turn *t, str queued_id); /* its user.message */

/* ---- turn_grant.c: the directory of the sender's terminal ---- */
/* Checks the directory and loads its skills, then calls fn; without a directory fn is called
 * immediately. With is_needed a directory that cannot be used refuses the turn instead. */
void turn_load_grant(struct turn *t, const struct dir_grant *g, bool is_needed,
                     void (*fn)(struct turn *t));
void turn_drop_grant(struct turn *t); /* the turn ends */
str turn_directory(void *turn, struct arena *a, str tool, const struct json *args);

/* ---- tool_question.c ---- */
void tool_questions_drop(struct turn *t); /* its open questions end unanswered */

/* ---- compose.c ---- */
/* Changes nothing but the arena. `is_last`: this is the last step of the run. */
int turn_compose(struct turn *t, struct arena *a, bool is_last, struct composed *ret,
                 struct err *e);
int turn_prepare(void *turn, struct arena *a, bool is_last, struct run_input *ret, struct err *e);
enum run_gate turn_gate(void *turn, str tool, const struct json *args, str *ret_why);
struct skills *turn_skills(const struct turn *t); /* with personal skills if it has one author */
void turn_match_skill(struct turn *t);

/* ---- context.c: the log as messages for the model ---- */
int context_messages(struct arena *a, const struct replay *r, const struct llm_message **ret,
                     size_t *ret_n, struct err *e);

/* ---- focus.c: the app in front of the person, as the prompt has it ---- */
bool focus_of(const struct turn *t, struct prompt_focus *ret); /* false: no app it may use */

/* ---- title.c: gives an untitled conversation its title; no callback ----
 *
 * After the first answer; or together with the next message, if the program ended before the title
 * was stored (nb -p does not wait for it). Does nothing while the runtime stops, or when a title of
 * the conversation is in progress. answer may be empty. */
void title_start(struct runtime *rt, str conversation_id, str model, str user_text, str answer);
void title_give_up(struct runtime *rt); /* cancels model calls for titles */

/* ---- rules.c ---- */
int rules_use(struct runtime *rt, const struct json *section, struct err *e);

/* ---- runtime.c ---- */
struct skill_places runtime_skill_places(const struct runtime *rt); /* borrowed */
void runtime_check_stopped(struct runtime *rt); /* a turn or a title has ended */
