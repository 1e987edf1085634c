/* turn.h - the inside of a turn. Private to runtime/.
 *
 *   turn.c        from a request to a run: the conversation, access, who is first
 *   turn_actor.c  whose words are in a turn, and what that leaves it to do
 *   turn_ask.c    questions to people about tool calls (permission), and the answers
 *   turn_grant.c  a turn in the directory of the sender's terminal
 *   turn_host.c   what a run asks of its turn: persistence, publishing, the end
 *   setting.c     the conditions of a run as its log keeps them; resume and replay read them
 *   compose.c     what the model gets in a step: prompt, messages, tools
 *   context.c     a conversation as the messages that a model gets
 *   compact.c     long conversations made short for the model
 *   request_log.c what a model call was given besides the messages, kept for replay
 *   focus.c, guide.c   the app in front of the person, and how to use it
 *   tool_question.c    questions that a tool asks while its call waits
 *   rules.c       the permissions of the workspace
 *   preview.c     what a message would send; title.c names the conversation */
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

#define QUEUE_TAKEN_KEPT 64 /* messages of which it is known that they were taken */

struct runtime {
    struct runtime_deps deps;
    struct skills *skills;
    struct skill_watch *watch;
    str people_dir;                      /* of personal skills */
    struct skill_check last_check;       /* before the end */
    struct permission_rules permissions; /* of the settings */
    struct arena rules;                  /* what they are made of */
    struct list_node rule_changes;       /* the first one is being written */
    struct consents consents;
    uint8_t setting_key[32]; /* setting.c */
    struct agents agents;
    struct bundles *bundles; /* or NULL */
    struct arena arena;      /* agents */
    size_t nsettings;        /* times that others were to be used */
    struct map active;       /* conversation id -> struct turn, from acceptance to the end */
    struct transcript_cache transcripts;
    struct guides guides;
    struct tools_memo tools_memo; /* request_log.c */
    struct system_memo system_memo;
    struct list_node turns;
    struct list_node titles;
    struct list_node tool_questions; /* questions of tools that are open (question.c) */
    struct queue_files parking;      /* of messages that wait (queue.c) */
    uint64_t nqueued, ntaken;        /* so far */
    char taken[QUEUE_TAKEN_KEPT][RANDOM_ID_MAX];
    size_t nturns, nrecords; /* under way */
    loop_fn on_stopped;
    void *on_stopped_ctx;
    struct deferred stopped;
};

enum turn_state {
    TURN_STARTING, /* reading, or waiting for its turn of the loop */
    TURN_PARKING,  /* has to wait; its message is being written to a file */
    TURN_HELD,     /* waited when the server ended, and is the first of its conversation */
    TURN_QUEUED,   /* behind another turn of the same conversation */
    TURN_STEERING, /* its message goes into another turn's run */
    TURN_RUNNING,
};

/* The settings that a run works under, from its first step to its last, also when a question or a
 * restart lies in between (setting.h). */
struct turn_limits {
    int64_t max_iterations, max_input_tokens, max_output_tokens, max_direct_tools;
    str thinking;
};

#define TURN_REQUEST_LINES_MAX 4 /* llm.request events under way */

struct turn {
    struct list_node node;
    struct runtime *rt;
    struct arena arena;
    enum turn_state state;
    const struct turn_events *ev; /* NULL once the listener has gone */
    void *ctx;

    struct actor *actor; /* held; replaced by a narrower one when others' words come in */
    str answered_by;     /* of an answer: who gave it; the run itself acts for its actor */
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
    size_t appends; /* under way, or held */
    unsigned holds;
    struct list_node held;    /* appends that wait (turn_hold) */
    struct list_node records; /* what they wait for (request_log.c) */
    struct transcript *transcript;
    struct skills *own_skills;     /* the same with those of the terminal (turn_grant.c); or NULL */
    struct grant_load *grant_load; /* under way, or NULL */
    struct skills *skills;         /* a reference, so that a reload does not pull the rug */
    const struct skill *skill;     /* the one that matched, or NULL */
    int steps;                     /* model calls prepared so far */
    char system_sha[65], tools_sha[65];        /* last recorded by request_log.c */
    str request_lines[TURN_REQUEST_LINES_MAX]; /* events that go in front of the next append */
    size_t nrequest_lines;
    struct promoted promoted;      /* tools discovered in this run */
    struct compaction *compaction; /* under way before the run, or NULL */
    struct deferred begin;
    struct skill_check check;
    struct consent_save consent;
    struct list_node queued; /* turns that wait for this one, or steer it */
    struct list_node queue_node;
    char queued_id[RANDOM_ID_MAX]; /* empty = it never had to wait */
    int64_t queued_ms;
    uint64_t queued_number;
    char *edited;     /* the message, once it was changed: not in the arena, it may be often */
    bool is_shown;    /* among those that wait, for people */
    bool is_parked;   /* has a file, which ends with the turn */
    bool is_left;     /* unless it is left for the next start */
    bool is_restored; /* by which it came */
    struct turn_info info;
};

/* ---- turn.c ---- */
struct turn *turn_new(struct runtime *rt, const struct turn_request *req,
                      const struct turn_events *ev, void *ctx);                 /* not begun yet */
void turn_refuse(struct turn *t, enum turn_refusal why, const struct err *err); /* frees it */
void turn_free(struct turn *t);
int turn_check_message(str message, struct err *e);

/* ---- queue.c, queue_restore.c: waiting for another turn of the same conversation ---- */
void queue_wait(struct turn *t, struct turn *busy); /* or refuses it */
void turn_resume_queue(struct turn *from);
void turn_begin_waiting(struct turn *t); /* its time has come */
void queue_hold(struct turn *t);         /* it comes with queue_release */
/* What becomes of one that waited is told; nothing when it did not. */
void queue_taken(struct turn *t);
void queue_refused(struct turn *t, enum turn_refusal why, const struct err *err);
bool queue_drop(struct turn *t);          /* false: it does not wait (any more) */
void queue_leave_all(struct runtime *rt); /* for the next start */
bool queue_still_member(struct turn *t);
bool queue_was_sent(const struct turn *t); /* before the server ended */

/* ---- preview.c ---- */
void preview_finish(struct turn *t); /* shows the request the run would begin with, and frees t */

/* ---- turn_host.c: the run's host ---- */
void turn_start_run(struct turn *t, const struct run_pending *pending, size_t n);
void turn_announce(struct turn *t, str run_id);
void turn_publish(void *turn, str type, str data); /* to the conversation's watchers */
void turn_append(void *turn, const str *lines, size_t n, run_appended_fn fn, void *fn_ctx);
void turn_note_request(struct turn *t, str line); /* goes in front of the next append; borrowed */
/* Appends wait from here to the release: what they follow is not written yet. */
void turn_hold(struct turn *t);
void turn_release(struct turn *t);
str turn_run_start_event(struct turn *t, str resumes);

/* ---- turn_ask.c: questions and their answers ---- */
/* Ends an open question, because the user went on without answering it. */
size_t turn_decline_open(struct turn *t, const struct replay *h, str *lines, size_t max);
void turn_accept_answer(struct turn *t);

/* ---- actor of a turn (turn_actor.c) ---- */
void turn_narrow(struct turn *t, struct actor *narrower); /* takes the reference */
void turn_join_authors(struct turn *t);     /* everybody whose messages the model will read */
bool turn_is_sole(const struct turn *t);    /* nobody else has an account */
bool turn_has_others(const struct turn *t); /* words of more than one person are in it */
str turn_message_event(struct turn *t, str queued_id); /* its user.message */

/* ---- turn_grant.c: the directory of the sender's terminal ---- */
/* Looks at the directory and loads its skills, then calls fn; does so without it when there is
 * none. With is_needed a directory that cannot be used refuses the turn instead. */
void turn_load_grant(struct turn *t, const struct dir_grant *g, bool is_needed,
                     void (*fn)(struct turn *t));
void turn_drop_grant(struct turn *t); /* the turn ends */
str turn_directory(void *turn, struct arena *a, str tool, const struct json *args);

/* ---- question.c ---- */
void tool_questions_drop(struct turn *t); /* its open questions end unanswered */

/* ---- compose.c ---- */
/* Changes nothing but the arena. `is_last`: no further step follows. */
int turn_compose(struct turn *t, struct arena *a, bool is_last, struct composed *ret,
                 struct err *e);
int turn_prepare(void *turn, struct arena *a, bool is_last, struct run_input *ret, struct err *e);
enum run_gate turn_gate(void *turn, str tool, const struct json *args, str *ret_why);
struct skills *turn_skills(const struct turn *t); /* those of its author, if there is one */
void turn_match_skill(struct turn *t);

/* ---- context.c: the log as messages for the model ---- */
int context_messages(struct arena *a, const struct replay *r, const struct llm_message **ret,
                     size_t *ret_n, struct err *e);

/* ---- focus.c: the app in front of the person, as the prompt has it ---- */
bool focus_of(const struct turn *t, struct prompt_focus *ret); /* false: none that it may use */

/* ---- title.c: gives an untitled conversation its title; fire and forget ----
 *
 * After the first answer, or, when the program ended before the title came (nb -p does not wait for
 * it), beside the next message of the conversation. Nothing happens while the runtime stops, or
 * when a title of the conversation is under way. answer may be empty. */
void title_start(struct runtime *rt, str conversation_id, str model, str user_text, str answer);
void title_give_up(struct runtime *rt); /* on those that wait for a model */

/* ---- rules.c ---- */
int rules_use(struct runtime *rt, const struct json *section, struct err *e);

/* ---- runtime.c ---- */
struct skill_places runtime_skill_places(const struct runtime *rt); /* borrowed */
void runtime_check_stopped(struct runtime *rt); /* a turn or a title has ended */
