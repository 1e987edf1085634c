/* turn.h - the inside of a message and of its turn. Private to runtime/.
 *
 *   message.c     a request, copied, from turn_start() to its last callback; its states
 *   turn.c        from a message to its run: the conversation, access, the history
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
#include "runtime/budget.h"
#include "runtime/consent.h"
#include "runtime/history/model_lines.h"
#include "runtime/history/transcript_cache.h"
#include "runtime/queue_files.h"
#include "runtime/runtime.h"
#include "runtime/turn/guide.h"
#include "runtime/turn/preview.h"
#include "tools/tool_selection.h"
#include "workspace/projects.h"

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
    struct map busy;         /* conversation id -> struct busy_conv */
    struct transcript_cache transcripts;
    struct guides guides;
    struct tools_memo tools_memo; /* request_log.c */
    struct system_memo system_memo;
    struct list_node messages; /* all, in the order of their arrival */
    struct list_node titles;
    struct list_node tool_questions; /* open questions of tools (tool_question.c) */
    struct queue_files queue_files;  /* of queued messages (queue.c) */
    uint64_t nqueued, ntaken;        /* so far */
    char taken[QUEUE_TAKEN_KEPT][RANDOM_ID_MAX];
    struct bus_sub *sharing; /* changes of the rights in conversations */
    struct deferred revoked; /* ends messages of people who may not write any more */
    struct map strays;       /* ids of rows that were not in memory (queue_restore.c) */
    struct map left;         /* queued messages that are kept for the next start */
    runtime_mention_fn on_mentions;
    void *on_mentions_ctx;
    size_t nmessages, nrecords; /* in progress */
    struct timer hold_timer;    /* for conversations that another server works on (hold.c) */
    bool is_released;           /* queue_release was called */
    loop_fn on_stopped;
    void *on_stopped_ctx;
    struct deferred stopped;
};

/* A message is a request of a person: what they sent, and the listener who waits for the end. It
 * lives from turn_start() to its last callback. A turn is the work on a message: it exists while
 * the message is STARTING or RUNNING, and is freed when the message has to wait.
 *
 *                  no other turn is active
 *   turn_start --> STARTING --------------------------------------------> RUNNING --> freed
 *                   |    ^                                                   (run finished)
 *         another   |    |  the active turn has ended
 *         turn is   v    |
 *         active  STORING --> QUEUED, or STEERING --> JOINED --> freed (with that run)
 *                   the file is written      the other run took the message
 *
 *   queue_restore --> QUEUED; queue_release: the first of each conversation --> STARTING
 *
 * message_refuse() leads from every state but RUNNING and JOINED to "freed". Only message_enter()
 * changes the state, and it asserts that the transition exists.
 *
 * Callbacks to the listener: on_queued if the message is queued, on_started when it is accepted
 * (for STEERING: when it joins the other run), then exactly one of on_done and on_refused. */
enum message_state {
    MESSAGE_STARTING, /* its turn checks, reads the conversation, appends the message (turn.c) */
    MESSAGE_STORING,  /* has to wait; it is being written to a file */
    MESSAGE_QUEUED,   /* behind the active turn of its conversation, or until queue_release */
    MESSAGE_STEERING, /* waits for the next step of the run of another turn */
    MESSAGE_JOINED,   /* that run has taken it */
    MESSAGE_RUNNING,  /* its turn has a run */
};

/* A conversation in which a turn is active or messages wait: it exists as long as one of both does.
 * Without a turn its messages are restored ones, which wait for the tools (queue_release), or wait
 * for another server that works on the conversation (hold.c). */
struct busy_conv {
    struct turn *turn; /* the active one; at most one turn of a conversation gets this far */
    struct store_lease *lease; /* keeps other servers from working on it; or NULL (hold.c) */
    struct list_node waiting;  /* messages: QUEUED, STEERING or JOINED, in their order */
};

/* The place of a message in a queue (queue.c). */
struct queue_place {
    struct list_node node;  /* in busy_conv.waiting */
    char id[RANDOM_ID_MAX]; /* empty = it was never queued */
    int64_t since_ms;
    uint64_t number;  /* orders messages of one millisecond */
    bool is_listed;   /* from queue.added to queue.removed */
    bool is_restored; /* from a file of an earlier start */
    enum queue_file {
        QUEUE_FILE_NONE,
        QUEUE_FILE_OWN,  /* removed with the message */
        QUEUE_FILE_KEPT, /* the next start restores the message */
    } file;
};

struct message {
    struct list_node node; /* in runtime.messages */
    struct runtime *rt;
    struct arena arena;
    enum message_state state;
    const struct turn_events *ev; /* NULL after turn_forget */
    void *ctx;
    struct turn_request req; /* a copy; its filters and its grant are part of the actor */
    struct actor *actor;     /* a reference: the sender */
    const struct json
        *app;          /* in front of the sender: {name, state?, summary?} (focus.c), or NULL */
    char *edited;      /* the text of req.message; heap, because it can be edited many times */
    struct turn *turn; /* STARTING and RUNNING */
    struct queue_place place;
    bool is_cancelled;
    bool is_revoked;   /* its sender may not write in the conversation any more */
    bool is_announced; /* on_started was called */
};

/* The settings that a run works under, from its first step to its last, also when a question or a
 * restart lies in between (setting.h). */
struct turn_limits {
    int64_t max_iterations, max_input_tokens, max_output_tokens, max_direct_tools;
    str thinking;
};

#define TURN_REQUEST_LINES_MAX 4 /* llm.request events that wait for the next append */

/* Appends of a turn, in their order (turn_host.c), and the records in front of them
 * (request_log.c). */
struct turn_log {
    size_t appends; /* in progress, or held */
    unsigned holds;
    struct list_node held;                     /* appends that wait (turn_hold) */
    struct list_node records;                  /* blobs that they wait for */
    struct list_node recorded;                 /* blobs that the store keeps for this turn */
    char system_sha[65], tools_sha[65];        /* last recorded */
    str request_lines[TURN_REQUEST_LINES_MAX]; /* events to write in front of the next append */
    size_t nrequest_lines;
};

struct turn {
    struct runtime *rt;
    struct message *msg; /* owns the turn */
    struct arena arena;
    struct deferred begin;
    struct budget_wait spending;
    struct skill_check check;

    str conversation_id;
    struct busy_conv *busy; /* its conversation, while the turn is the active one; else NULL */
    void (*held)(struct turn *t); /* continues when this server has the lease */
    enum turn_conv { TURN_CONV_TITLED, TURN_CONV_UNTITLED, TURN_CONV_NEW } conv;
    str owner_id;                  /* of a conversation that was there before; else empty */
    str branch_of;                 /* the conversation that this one is a branch of; or empty */
    struct json_strs participants; /* of a shared conversation, when the turn began */
    struct transcript *transcript;
    struct past past;               /* of the conversation when it was found */
    struct model_lines model_lines; /* while the history is read */

    /* The setting of the run (setting.h). Begins with that of the message; a resumed run takes over
     * the setting of the run that asked. */
    struct actor *actor;       /* a reference; narrowed when other people's messages are added */
    struct json_strs words_of; /* people who were added for their project; the message has them */
    size_t words_cap;
    str text; /* the message; for an answer: the message before the question */
    str model;
    struct turn_limits limits;
    struct json_strs auto_allow;
    const struct json *app; /* as in the message, and its guide (guide.c) */
    bool is_unattended;
    bool is_stored;            /* its message is in the log, and is read again with its files */
    const struct skill *skill; /* the skill that matched, or NULL */
    struct promoted promoted;  /* tools discovered in this run */

    struct skills *own_skills;         /* with the skills of the terminal (turn_grant.c); or NULL */
    struct grant_load *grant_load;     /* in progress, or NULL */
    struct skills *skills;             /* a reference: a reload must not free them */
    struct compaction *compaction;     /* in progress before the run, or NULL */
    const struct run_pending *pending; /* calls that an answer is about */
    size_t npending;
    struct run_pending *declined; /* calls that the message ended instead of an answer */
    size_t ndeclined;
    struct consent_save consent;

    char run_id[RANDOM_ID_MAX];
    struct run *run; /* MESSAGE_RUNNING */
    int steps;       /* model calls prepared so far */
    struct turn_log log;
    struct turn_info info;
};

/* The project of the conversation, if everybody behind the run may see it. */
bool turn_project(const struct turn *t, struct conv_project *ret);
/* The words of its author are part of the run: it has no more rights than the author has. Call it
 * after turn_join_authors. */
void turn_join_project(struct turn *t);

static inline bool turn_is_child(const struct turn *t)
{
    return t->msg->req.child != NULL;
}

/* The active turn of a conversation, or NULL. */
static inline struct turn *turn_active(const struct runtime *rt, str conversation_id)
{
    const struct busy_conv *b = map_get(&rt->busy, conversation_id);
    return b ? b->turn : NULL;
}

/* ---- message.c ---- */
struct message *message_new(struct runtime *rt, const struct turn_request *req,
                            const struct turn_events *ev, void *ctx);
void message_enter(struct message *m, enum message_state state);
void message_announce(struct message *m, str conversation_id, str run_id, bool is_new);
str message_event(const struct message *m, struct arena *a); /* its user.message */
/* Instead of it, when the request has only results of the program's own tools: its run.author. */
str message_author_event(const struct message *m, struct arena *a);
int message_check_text(str text, struct err *e);
int message_check_request(const struct turn_request *req, struct err *e);
int turn_check_sight(const struct turn *t, struct err *e); /* can its model see its files? */
/* Notifies the listener and frees the message with its turn; the next message gets its turn. */
void message_refuse(struct message *m, enum turn_refusal why, const struct err *err);
void message_free(struct message *m); /* its turn has been freed */

/* ---- turn.c ---- */
struct turn *turn_new(struct message *m); /* not begun yet: defer_start(&t->begin) */
void turn_refuse(struct turn *t, enum turn_refusal why, const struct err *err); /* frees it */
void turn_free(struct turn *t); /* the message stays */
void turn_end(struct turn *t);  /* frees turn and message; the next message gets its turn */

/* ---- queue.c, queue_restore.c: one active turn in each conversation ---- */
void queue_occupy(struct turn *t);   /* makes it the active turn */
void queue_vacate(struct turn *t);   /* the active turn ends: the next message gets its turn */
void queue_wait(struct turn *t);     /* queues its message and frees the turn, or refuses it */
void queue_begin(struct message *m); /* a message that waited gets its turn */
void queue_join(struct message *m, struct busy_conv *b); /* waits there, QUEUED or STEERING */
struct busy_conv *queue_conv(struct runtime *rt, str conversation_id); /* makes one if needed */
void queue_leave(struct message *m);                                   /* a waiting message ends */
void queue_wait_for_other(struct turn *t); /* as queue_wait, for the run of another server */
void queue_detach(struct turn *t); /* it is not the active turn any more; nothing else happens */
/* Publish what happened to a queued message; nothing if it was never queued. */
void queue_taken(struct message *m);
void queue_refused(struct message *m, enum turn_refusal why, const struct err *err);
/* Refuses a message that waits; false: it does not wait. */
bool queue_drop(struct message *m, enum turn_refusal why, const char *words);
void queue_leave_all(struct runtime *rt); /* the server stops: their files stay for the restart */
bool queue_still_member(const struct message *m);
bool queue_was_sent(const struct turn *t); /* a restored message is in the log already */

/* ---- hold.c: one server works on a conversation ---- */
void queue_hold_init(struct runtime *rt);
void queue_hold(struct turn *t, void (*held)(struct turn *t)); /* the turn is the active one */
/* Takes the lease, and ends the run of a server that is gone. True: `again` is called when that has
 * happened, because what was read before may be out of date. */
bool queue_settle(struct turn *t, const struct conv *conv, void (*again)(struct turn *t));
/* queue_restore.c: documents of queued messages */
void queue_restore_rows(struct runtime *rt, const struct json_strs *rows);
void queue_adopt(struct runtime *rt); /* takes the queued messages of servers that are gone */

/* ---- preview.c ---- */
void preview_finish(struct turn *t); /* returns the first request of the run, and frees t */

/* ---- turn_host.c: the run's host ---- */
void turn_start_run(struct turn *t, const struct run_pending *pending, size_t n);
/* Instead of a run: appends a message for people, and ends the turn. */
void turn_tell_people(struct turn *t);
enum turn_refusal turn_not_saved(const struct err *err);
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
str turn_words(void *turn, str tool, const struct json *args); /* run_host.words */

/* ---- actor of a turn (turn_actor.c) ---- */
void turn_narrow(struct turn *t, struct actor *narrower); /* takes the reference */
/* Words of this person reach the model without a message: the run, and by its log later ones, have
 * no more rights than the person. */
void turn_add_author(struct turn *t, str user_id, struct json_strs tool_limit);
void turn_join_authors(struct turn *t);     /* narrows to all authors of the conversation */
bool turn_is_sole(const struct turn *t);    /* nobody else has an account */
bool turn_has_others(const struct turn *t); /* it contains messages of several people */

/* ---- turn_grant.c: the directory of the sender's terminal ---- */
/* Checks the directory and loads its skills, then calls fn. With is_needed a directory that cannot
 * be used refuses the turn instead. */
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
/* The tools of the workspace and those of interfaces that its only author has open here. */
struct toolset *turn_tools(const struct turn *t);
const struct toolset_item *turn_find_tool(const struct turn *t, str name, const struct json *args);
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
void title_start(struct turn *turn, str user_text, str answer);
void title_give_up(struct runtime *rt); /* cancels model calls for titles */

/* ---- rules.c ---- */
int rules_use(struct runtime *rt, const struct json *section, struct err *e);

/* ---- runtime.c ---- */
struct skill_places runtime_skill_places(const struct runtime *rt); /* borrowed */
void runtime_check_stopped(struct runtime *rt); /* a turn or a title has ended */
