/* bundle_impl.h - what the files of the supervisor share. Nobody else includes it.
 *
 *   bundles.c          the set: apply, find, stop
 *   bundle.c           one bundle as others see it: facts, logs, tools, guests
 *   bundle_call.c      requests, and the one repetition
 *   places.c           which of the waiting calls is next
 *   bundle_start.c     from an entry to a connection: resolve, plan the sandbox, dial
 *   supervise.c        its life: start, crash, restart, stop
 *   supervise_watch.c  while it runs: health, lists
 *   memory_watch.c     while it runs: memory
 *   pin_watch.c        which of its tools a person has accepted
 *   people.c           servers where each person signs in: a connection for each of them */
#pragma once

#include "bundle/bundle.h"
#include "bundle/entry/entry_copy.h"
#include "bundle/package/resolve.h"
#include "bundle/plan/bundle_want.h"
#include "bundle/sandbox/sandbox.h"
#include "bundle/supervise/stderr_ring.h"
#include "loop/timer.h"
#include "mcp/relay.h"

struct start;        /* an attempt as long as there is no connection */
struct memory_watch; /* one for the whole set */

struct bundle_facts { /* what the package or the server said last; outlives a crash */
    struct arena arena;
    str version, description, author, title; /* of the manifest */
    str sandbox;
    const struct json *ui;
    bool is_upjack;
    int64_t trust_score;
};

struct server_facts { /* of the connection, kept after its end */
    struct arena arena;
    str version, title, description, protocol_version, instructions;
    const struct json *capabilities;
};

struct bundle_toolset {
    struct arena arena;
    const struct json *list;   /* the array as it was listed */
    const struct json **items; /* that may be used, without hidden characters */
    const struct json **raw;   /* the same as the server gave them */
    size_t n;
    struct held_tool *held;
    size_t nheld;
};

struct bundle_pins {
    struct arena arena; /* of doc; grows only by what people approve */
    struct json *doc;   /* the pin file, or NULL: nothing is pinned yet */
    const char *dir, *path;
    bool is_loaded, is_broken, is_busy, is_dirty, is_gone;
    unsigned nremembered; /* lists of trusted tools */
    char *text_memory;    /* what the pool writes */
    str text;
    struct job job;
    int rc;
    struct err err;
};

struct people_load { /* who has an account there; or deleting all of them */
    struct arena arena;
    struct job job;
    const char *dir;
    str server_name;
    str *ids;
    size_t n;
    bool is_busy;
};

struct bundle {
    struct list_node node;   /* of set->leaving, once removed */
    struct bundle *face;     /* of a person's own connection, until it is closed; else NULL */
    str user_id;             /* of that person; else empty */
    struct list_node people; /* of a face: struct person */
    struct people_load people_load;
    struct bundles *set;
    struct arena arena; /* of the entry */
    struct bundle_entry entry;

    enum bundle_state state;
    char reason[ERR_MAX];
    int reason_code;           /* of the error that the reason tells; 0 = nobody failed */
    char kill_reason[ERR_MAX]; /* why we ended it ourselves; empty = it was not us */
    unsigned failures, restarts;
    uint64_t running_since_ms;
    bool is_removed;
    bool wants_start; /* as soon as the old connection has closed */

    struct start *start;
    struct connections *connections; /* opened; ready or not */
    bool is_ready, is_closing;
    bool is_waiting;       /* for its first call, with tools that are known */
    char *token;           /* that the last attempt began with, or NULL */
    bool is_token_refused; /* the next attempt gets another one */
    bool lacks_token;      /* somebody has to sign in */
    bool wants_rights;     /* a call was refused that another sign-in can allow */
    bool is_lost;          /* we ended it, or it does not answer: nothing more is sent */
    struct mcp_host host;
    struct arena dial_arena;
    struct mcp_dial dial; /* valid while connections is set */
    char *cgroup;         /* of its child, or NULL */
    enum mcp_era era;     /* of the last connection: saves the probe */
    struct list_node guests;
    struct list_node calls;    /* all that are not answered */
    struct list_node callers;  /* the people who have some (places.c) */
    size_t nrunning, nwaiting; /* calls of tools */
    uint64_t call_us;          /* how long a call of a tool takes of late; 0 = not known */
    struct deferred dispatch;  /* sends or answers what waits */

    struct timer retry, health, relist;
    struct mcp_call *listing, *check;
    unsigned unanswered_checks;
    bool is_list_stale, is_list_missing; /* changed meanwhile; could not be had */
    bool is_listed;                      /* this connection has shown its tools */
    bool wants_list;                     /* as soon as the pins are loaded */

    struct bundle_facts facts;
    struct server_facts server;
    struct bundle_toolset tools;
    struct bundle_pins pins;
    struct stderr_ring said;
    int64_t rss_bytes;
    bool is_disk_full; /* of bash: its commands may delete files, and write none */
    struct bundle_info info;
};

struct bundles {
    struct bundles_conf conf;
    struct resolver *resolver;
    struct bundle *items[BUNDLES_MAX + 1]; /* sorted by name; one more for the built-in */
    size_t n;
    struct list_node leaving; /* removed, and something is still under way */
    struct deferred sweep;    /* frees what has left, and says when all is stopped */
    bool is_stopping;
    loop_fn stopped;
    void *stopped_ctx;
    size_t nstarts;          /* attempts that are not over, abandoned ones included */
    struct list_node tokens; /* that are being fetched, each by an attempt */

    struct sandbox_probe *probe; /* what this machine offers: asked once, by the first start */
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
void supervise_wait(struct bundle *b, str tools); /* tools: what tools/list will say, as text */
void supervise_stop(struct bundle *b, const char *reason);
void supervise_restart(struct bundle *b);
void supervise_hurry(struct bundle *b); /* a crashed child does not wait any longer */
/* A remote server that failed several times in a row is left alone for a while. */
bool supervise_is_cooling(const struct bundle *b);
void supervise_state(struct bundle *b, enum bundle_state state, const char *reason);
/* Of an attempt: it ended without a connection, or with one (connections is set). */
void supervise_failed(struct bundle *b, const struct err *err);
extern const struct mcp_client_events SUPERVISE_EVENTS;
/* Ends the server now; what follows is a crash with this reason. */
void supervise_kill(struct bundle *b, const char *reason);

/* ---- people.c ---- */

void people_init(struct bundle *b);
void people_done(struct bundle *b);
/* Each person signs in, and this is not the connection of one of them. */
bool people_is_face(const struct bundle *b);
struct bundle *people_face(struct bundle *b); /* whose pins count: itself, or its face */
void people_open(struct bundle *face);
void people_close(struct bundle *face);  /* all connections */
void people_forget(struct bundle *face); /* all tokens: the bundle was removed */
void people_pins_loaded(struct bundle *face);
void people_judge_again(struct bundle *face);
void people_changed(struct bundle *own, enum bundle_change what);
void people_wants_rights(struct bundle *own);

/* ---- bundle_start.c ---- */

void start_begin(struct bundle *b);
void start_cancel(struct bundle *b);

/* ---- supervise_watch.c ---- */

void watch_init(struct bundle *b);
void watch_begin(struct bundle *b); /* the connection is ready */
void watch_know_tools(struct bundle *b, str tools);
void watch_take_tools(struct bundle *b, const struct json *list);
void watch_end(struct bundle *b);
void watch_notified(struct bundle *b, str method, const struct json *params);
/* The error of a request: does it mean that a remote server cannot be reached at all? */
bool watch_is_unreachable(const struct bundle *b, const struct err *err);

void watch_pins_loaded(struct bundle *b);
void watch_judge_again(struct bundle *b); /* other tools are accepted now */

/* ---- pin_watch.c ---- */

void pins_init(struct bundle *b);
void pins_done(struct bundle *b);
void pins_forget(struct bundle *b); /* the bundle was removed */
bool pins_are_used(const struct bundle *b);
/* Fills in everything of `s` from s->list. The first list of a bundle is pinned. */
void pins_judge(struct bundle *b, struct bundle_toolset *s);
const struct json *pins_clean(struct arena *a, const struct json *tool);
/* The pinned definitions as a list of tools; NULL when nothing is pinned. Borrows from the pins. */
struct json *pins_as_tools(struct bundle *b, struct arena *a);

/* ---- memory_watch.c ---- */

void memory_explain(const struct bundle_entry *e, char ret[ERR_MAX]); /* why it was ended */
struct memory_watch *memory_watch_new(struct bundles *s);
void memory_watch_start(struct memory_watch *w); /* a child runs; a no-op when it is started */
/* No more looks. False while one is under way: set->sweep follows. */
bool memory_watch_stop(struct memory_watch *w);
void memory_watch_free(struct memory_watch *w);

/* ---- bundle.c ---- */

struct bundle *bundle_new(struct bundles *s, const struct bundle_entry *e);
void bundle_free(struct bundle *b);
void bundle_changed(struct bundle *b, enum bundle_change what);
void bundle_learn_server(struct bundle *b); /* from the connection that became ready */
void bundle_close_guests(struct bundle *b);
/* The directory of the credentials that hold its token; and who has to sign in where. */
void bundle_keep_token(struct bundle *b, str token); /* the one that is in use; empty = none */
const char *bundle_token_dir(const struct bundle *b, struct arena *a);
str bundle_token_slug(const struct bundle *b, struct arena *a);
bool bundle_wants_sign_in(const struct bundle *b, int code); /* a failure that a sign-in ends */
str bundle_sign_in_advice(const struct bundle *b, struct arena *a);
bool bundle_is_idle(const struct bundle *b); /* nothing under way: may be freed */

/* ---- bundle_call.c ---- */

struct grant_plan;
struct rights_wait;

struct bundle_call {
    struct call_relay relay; /* first: it is the context of the call */
    struct list_node node;
    struct bundle *bundle;
    struct arena arena;
    struct caller *caller; /* whose share it counts against */
    struct mcp_request req;
    struct connections_call *sent;
    struct rights_wait *rights; /* or NULL */
    struct grant_plan *plan;    /* of its sandbox, while that is being made; or NULL */
    str directory, sandbox;     /* of a terminal (grant_plan.h); or empty */
    bool is_second;             /* it has been sent before */
    bool is_refused;            /* too many wait already: an error follows */
    bool has_told;              /* its caller knows that it waits */
    bool is_running;            /* it has one of the bundle's places, since */
    uint64_t since_us;
    struct err refusal; /* it is never sent, and answered with this; or code 0 */
};

static inline bool bundle_call_is_tool(const struct bundle_call *c)
{
    return str_eq(c->req.method, STR("tools/call"));
}

void bundle_calls_init(struct bundle *b);
/* A request that is answered with this error, later. */
struct bundle_call *bundle_request_refused(struct bundle *b, const struct err *why,
                                           const struct mcp_call_events *ev, void *ctx);
void bundle_dispatch_later(struct bundle *b);
void bundle_calls_fail(struct bundle *b, const struct err *err); /* those not with the server */
size_t bundle_calls_sent(const struct bundle *b);

/* ---- places.c ---- */

void places_enter(struct bundle_call *c, str person); /* it waits; refused if too many do */
void places_run(struct bundle_call *c);               /* it is with the server, */
void places_answered(const struct bundle_call *c);    /* the server has answered it, */
void places_wait(struct bundle_call *c);              /* and it waits again, */
void places_leave(struct bundle_call *c);             /* or is over */
bool places_has_one(const struct bundle_call *c);
size_t places_of(const struct bundle_call *c); /* how many places its person has */
void places_tell_waiting(struct bundle *b);    /* once to each caller */
