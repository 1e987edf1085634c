/* bundle_impl.h - declarations that the files of the supervisor share. No other file includes it.
 *
 *   bundles.c          the set: apply, find, stop
 *   bundle.c           one bundle as other floors see it: facts, logs, tools, private connections
 *   supervise.c        the states of a bundle: start, crash, restart, stop
 *   bundle_start.c     one attempt, from an entry to a connection: resolve, plan the sandbox, dial
 *   bundle_call.c      requests, and their one repetition
 *   places.c           the limits of running calls, and which waiting call is next
 *   supervise_watch.c  while it runs: health checks, lists
 *   memory_watch.c     while it runs: memory, processes, disk
 *   pin_watch.c        which of its tools a person has approved
 *   people.c           servers where each person signs in: a connection for each person
 *   grant_plan.c       the sandbox of a command in the directory of a terminal
 *   failure_hint.c     the reason of a failure, for admins
 *   fault.c            the reason of a failure, for everybody else
 *   stderr_ring.c      the newest lines of stderr */
#pragma once

#include "bundle/bundle.h"
#include "bundle/entry/entry.h"
#include "bundle/package/resolve.h"
#include "bundle/plan/bundle_want.h"
#include "bundle/sandbox/sandbox.h"
#include "bundle/supervise/stderr_ring.h"
#include "loop/timer.h"
#include "mcp/relay.h"

struct start;        /* an attempt, until there is a connection */
struct memory_watch; /* one for the whole set */

struct bundle_facts { /* from the package or the server; kept after a crash */
    struct arena arena;
    str version, description, author, title; /* from the manifest */
    str sandbox;
    const struct json *ui;
    bool is_upjack;
    int64_t trust_score;
};

struct server_facts { /* from the connection; kept after it has ended */
    struct arena arena;
    str version, title, description, protocol_version, instructions;
    const struct json *capabilities;
};

struct bundle_toolset {
    struct arena arena;
    const struct json *list;   /* the array as it was received */
    const struct json **items; /* usable tools, without hidden characters */
    const struct json **raw;   /* the same tools as they were received */
    size_t n;
    struct held_tool *held;
    size_t nheld;
};

struct bundle_pins {
    struct arena arena; /* owns doc; grows only when people approve tools */
    struct json *doc;   /* the pin file, or NULL: nothing is pinned yet */
    const char *dir, *path;
    bool is_loaded, is_broken, is_busy, is_dirty, is_gone;
    unsigned nremembered; /* lists of trusted tools that were written */
    char *text;           /* that the pool writes */
    struct job job;
    int rc;
    struct err err;
};

struct people_load { /* loads the ids of people with an account, or deletes all accounts */
    struct arena arena;
    struct job job;
    const char *dir;
    str server_name;
    str *ids;
    size_t n;
    bool is_busy;
};

struct bundle {
    struct list_node node;   /* in set->leaving after the bundle was removed */
    struct bundle *face;     /* for the connection of one person, until it is closed; else NULL */
    str user_id;             /* the person of that connection; else empty */
    struct list_node people; /* for a face: struct person */
    struct people_load people_load;
    struct bundles *set;
    struct arena arena; /* owns the entry */
    struct bundle_entry entry;

    enum bundle_state state;
    char reason[ERR_MAX];
    int reason_code;           /* code of the error in `reason`; 0 = no error */
    char kill_reason[ERR_MAX]; /* why nb ended it; empty = nb did not */
    unsigned failures, restarts;
    uint64_t running_since_ms;
    bool is_removed;
    bool wants_start; /* start again when the old connection has closed */

    struct start *start;
    struct connections *connections; /* open; ready or not */
    bool is_ready, is_closing;
    bool is_waiting;       /* not started; starts when a tool is first called */
    char *token;           /* the token of the last attempt, or NULL */
    bool is_token_refused; /* the next attempt needs a new token */
    bool lacks_token;      /* a person has to sign in */
    bool wants_rights;     /* a call was refused that a new sign-in can allow */
    bool is_lost;          /* nb has ended it, or it does not answer: nothing more is sent */
    struct mcp_host host;
    struct arena dial_arena;
    struct mcp_dial dial; /* valid while connections is set */
    char *cgroup;         /* of its child, or NULL */
    unsigned generation;  /* of its entry */
    enum mcp_era era;     /* of the last connection: makes detection unnecessary */
    struct list_node guests;
    struct list_node calls;    /* all requests without an answer */
    struct list_node callers;  /* people with requests (places.c) */
    size_t nrunning, nwaiting; /* calls of tools */
    uint64_t call_us;          /* recent average duration of a tool call; 0 = not known */
    struct deferred dispatch;  /* sends or refuses waiting requests */

    struct timer retry, health, relist;
    struct mcp_call *listing, *check;
    unsigned unanswered_checks;
    unsigned unused_checks;              /* since the last call */
    bool is_list_stale, is_list_missing; /* changed during the request; could not be received */
    bool is_listed;                      /* this connection has listed its tools */
    bool wants_list;                     /* list the tools when the pins are loaded */

    struct bundle_facts facts;
    struct server_facts server;
    struct bundle_toolset tools;
    struct bundle_pins pins;
    struct stderr_ring stderr_lines;
    int64_t rss_bytes;
    bool is_disk_full; /* for bash: its commands may delete files, but not write */
    struct bundle_info info;
};

struct bundles {
    struct bundles_conf conf;
    struct resolver *resolver;
    struct bundle *items[BUNDLES_MAX + 1]; /* sorted by name; one more for the built-in */
    size_t n;
    struct list_node leaving; /* removed, but something is still in progress */
    struct deferred sweep;    /* frees removed bundles, and reports when all have stopped */
    bool is_stopping;
    int64_t made_ms; /* when the set was made */
    loop_fn stopped;
    void *stopped_ctx;
    size_t nstarts;          /* attempts that are not over, cancelled ones included */
    struct list_node tokens; /* token requests in progress, each for one attempt */

    struct sandbox_probe *probe; /* what this machine offers; detected once, by the first start */
    struct sandbox_waiter probe_over;
    struct memory_watch *memory;
};

static inline bool bundle_is_child(const struct bundle *b)
{
    return b->entry.kind != BUNDLE_REMOTE;
}

static inline bool bundle_takes_calls(const struct bundle *b)
{
    return b->is_ready && !b->is_closing && !b->is_lost;
}

/* ---- supervise.c ---- */

void supervise_init(struct bundle *b);
void supervise_done(struct bundle *b);
void supervise_start(struct bundle *b);
/* tools: the expected result of tools/list, as text */
void supervise_wait(struct bundle *b, str tools);
void supervise_stop(struct bundle *b, const char *reason);
void supervise_restart(struct bundle *b);
void supervise_hurry(struct bundle *b); /* restarts a crashed child without further delay */
/* True when a remote server has failed several times in a row, so that nb waits before it tries
 * again. */
bool supervise_is_cooling(const struct bundle *b);
void supervise_state(struct bundle *b, enum bundle_state state, const char *reason);
/* The connection, or the attempt to open one, has ended without being asked to. */
void supervise_failed(struct bundle *b, const struct err *err, bool was_connected);
extern const struct mcp_client_events SUPERVISE_EVENTS;
/* Ends the server immediately; it is then crashed with this reason. */
void supervise_kill(struct bundle *b, const char *reason);

/* ---- people.c ---- */

void people_init(struct bundle *b);
void people_done(struct bundle *b);
/* True when each person signs in and b is not the connection of one of them. */
bool people_is_face(const struct bundle *b);
/* the bundle whose pins apply: b itself, or its face */
struct bundle *people_face(struct bundle *b);
void people_open(struct bundle *face);
void people_close(struct bundle *face);  /* closes all connections */
void people_forget(struct bundle *face); /* deletes all tokens: the bundle was removed */
void people_pins_loaded(struct bundle *face);
void people_judge_again(struct bundle *face);
void people_changed(struct bundle *own, enum bundle_change what);
void people_wants_rights(struct bundle *own);

/* ---- bundle_start.c ---- */

void start_begin(struct bundle *b);
void start_cancel(struct bundle *b);
struct bundle_place start_place(const struct bundles_conf *c);

/* ---- supervise_watch.c ---- */

void watch_init(struct bundle *b);
void watch_begin(struct bundle *b); /* the connection is ready */
void watch_know_tools(struct bundle *b, str tools);
void watch_take_tools(struct bundle *b, const struct json *list);
void watch_used(struct bundle *b); /* a call is sent */
void watch_end(struct bundle *b);
void watch_notified(struct bundle *b, str method, const struct json *params);
/* True when the error of a request means that a remote server cannot be reached at all. */
bool watch_is_unreachable(const struct bundle *b, const struct err *err);

void watch_pins_loaded(struct bundle *b);
void watch_judge_again(struct bundle *b); /* other tools are approved now */

/* ---- pin_watch.c ---- */

void pins_init(struct bundle *b);
void pins_done(struct bundle *b);
void pins_forget(struct bundle *b); /* the bundle was removed */
bool pins_are_used(const struct bundle *b);
/* Computes all members of `s` from s->list. The first list of a bundle is pinned. */
void pins_judge(struct bundle *b, struct bundle_toolset *s);
const struct json *pins_clean(struct arena *a, const struct json *tool);
/* The pinned definitions as a list of tools; NULL when nothing is pinned. Borrows from the pins. */
struct json *pins_as_tools(struct bundle *b, struct arena *a);

/* ---- memory_watch.c ---- */

void memory_explain(const struct bundle_entry *e, char ret[ERR_MAX]); /* why it was ended */
struct memory_watch *memory_watch_new(struct bundles *s);
void memory_watch_used(struct memory_watch *w); /* a child runs, gets a call or sends something */
/* Stops measuring. Returns false while a measurement is in progress: set->sweep follows. */
bool memory_watch_stop(struct memory_watch *w);
void memory_watch_free(struct memory_watch *w);

/* ---- bundle.c ---- */

struct bundle *bundle_new(struct bundles *s, const struct bundle_entry *e);
void bundle_free(struct bundle *b);
void bundle_changed(struct bundle *b, enum bundle_change what);
void bundle_learn_server(struct bundle *b); /* from the connection that has become ready */
void bundle_close_guests(struct bundle *b);
/* Stores the token in use; empty = none. */
void bundle_keep_token(struct bundle *b, str token);
const char *bundle_token_dir(const struct bundle *b, struct arena *a);
str bundle_token_slug(const struct bundle *b, struct arena *a);
/* the failure can be solved by a sign-in */
bool bundle_wants_sign_in(const struct bundle *b, int code);
str bundle_sign_in_advice(const struct bundle *b, struct arena *a);
bool bundle_is_idle(const struct bundle *b); /* nothing is in progress: it may be freed */

/* ---- bundle_call.c ---- */

struct grant_plan;
struct rights_wait;

struct bundle_call {
    struct call_relay relay; /* first: the struct is the context of the request */
    struct list_node node;
    struct bundle *bundle;
    struct arena arena;
    struct caller *caller;      /* the person whose limits apply */
    struct mcp_request req;     /* kept: by the caller, or by the arena */
    struct mcp_call *sent;      /* NULL while it waits */
    struct rights_wait *rights; /* or NULL */
    struct grant_plan *plan;    /* plans its sandbox; or NULL */
    str directory, sandbox;     /* in the directory of a terminal (grant_plan.h); or empty */
    bool is_second;             /* it was sent before */
    bool is_refused;            /* too many calls wait: an error follows */
    bool has_told;              /* the caller knows that the call waits */
    bool is_running;            /* it has one of the bundle's places, since since_us */
    uint64_t since_us;
    struct err refusal; /* it is never sent, and answered with this error; or code 0 */
};

static inline bool bundle_call_is_tool(const struct bundle_call *c)
{
    return str_eq(c->req.method, STR("tools/call"));
}

void bundle_calls_init(struct bundle *b);
/* A request that is answered with this error in a later turn of the loop. */
struct bundle_call *bundle_request_refused(struct bundle *b, const struct err *why,
                                           const struct mcp_call_events *ev, void *ctx);
void bundle_dispatch_later(struct bundle *b);
/* all that are not with the server */
void bundle_calls_fail(struct bundle *b, const struct err *err);
size_t bundle_calls_sent(const struct bundle *b);

/* ---- places.c ---- */

/* the call begins to wait, or is refused if too many wait */
void places_enter(struct bundle_call *c, str person);
void places_run(struct bundle_call *c);            /* the call was sent to the server */
void places_answered(const struct bundle_call *c); /* the server has answered the call */
void places_wait(struct bundle_call *c);           /* the call waits again */
void places_leave(struct bundle_call *c);          /* the call has ended */
bool places_has_one(const struct bundle_call *c);
size_t places_of(const struct bundle_call *c); /* running calls of its person */
void places_tell_waiting(struct bundle *b);    /* reports to each caller once */
