/* bundle.h - the MCP servers of one workspace: started, watched, restarted, stopped.
 *
 * A bundle is a child process or a remote server with a state:
 *
 *   starting -> running -> crashed -> running ... or dead;  any -> stopped by a person
 *
 * crashed restarts by itself after 1 s, 2 s, 4 s ... until BUNDLE_FAILURES_MAX failures came one
 * after another; dead and stopped are left only by bundle_start. A remote server is never given
 * up: it is tried after 0, 500 and 2000 ms, then every 30 s. What cannot work without a change
 * (no such program, missing settings, no sandbox on this machine) is stopped with the reason at
 * once. A call that times out is not a crash. Starting never holds anybody up: bundles start side
 * by side in the background, and a hanging one costs only its own users anything.
 *
 * The set follows the settings: bundles_apply compares and starts, restarts or removes only what
 * differs. This floor knows nothing of tools as models see them; the floor above makes tool
 * sources out of bundles. Loop thread only.
 *
 *   confine/    what limits a process: paths, Landlock, seccomp, cgroups, counting what it uses
 *   network/    a network of its own: rules, names, the filtering proxy
 *   entry/      what an entry of the settings says; the tools a person has accepted
 *   settings/   the file of entries, credentials and sealed secrets
 *   package/    archives, manifests, the registry: from a name to a command line
 *   sandbox/    the plan of a sandbox, and `nb launch`, which carries it out
 *   plan/       what a start needs, and what is shown before installing; packages of npm
 *   oauth/      signing in to remote servers
 *   bash/       the server of the bash tool, a program of its own
 *   supervise/  the life of bundles and of their calls
 *   .           change.h adds and removes bundles while nb runs */
#pragma once

#include "base/list.h"
#include "bundle/entry/entry.h"
#include "bundle/entry/pins.h"
#include "loop/pool.h"
#include "mcp/connections.h"
#include "workspace/dir_grant.h"

#define BUNDLE_FAILURES_MAX  5
#define BUNDLE_HEALTH_MS     30000
#define BUNDLE_LOG_BYTES_MAX (64u * 1024) /* stderr kept for each */
#define BUNDLE_DRAIN_MS      5000

/* Of a server where each person signs in (people.c): connections at one time, how long an unused
 * one stays, and people whose accounts are known beforehand. */
#define BUNDLE_PEOPLE_MAX     64
#define BUNDLE_PERSON_IDLE_MS (10u * 60 * 1000)
#define BUNDLE_ACCOUNTS_MAX   10000

enum bundle_state { BUNDLE_STARTING, BUNDLE_RUNNING, BUNDLE_CRASHED, BUNDLE_DEAD, BUNDLE_STOPPED };
const char *bundle_state_name(enum bundle_state s);

struct bundles;
struct bundle;

enum bundle_change {
    BUNDLE_ADDED,
    BUNDLE_STATE,      /* also the reason, restarts, version */
    BUNDLE_TOOLS,      /* its list is another one */
    BUNDLE_QUARANTINE, /* after BUNDLE_TOOLS: tools wait for approval, or did before */
    BUNDLE_RESOURCES,
    BUNDLE_PROMPTS,
    BUNDLE_RESOURCE_UPDATED, /* bundle_host.notified says which */
    /* The last: do not touch the bundle after this call. Requests under way are still answered. */
    BUNDLE_REMOVED,
};

/* What bundles need of the floors above; all optional. */
struct bundle_host {
    void (*changed)(void *ctx, struct bundle *b, enum bundle_change what);
    /* A server asks: sampling, elicitation, roots. Answer through mcp_ask_*. NULL = refused. */
    void (*ask)(void *ctx, struct bundle *b, struct mcp_ask *a);
    void (*ask_gone)(void *ctx, struct bundle *b, struct mcp_ask *a);
    void (*notified)(void *ctx, struct bundle *b, str method, const struct json *params);
    void *ctx;
};

struct bundle_times { /* 0 = the usual; tests are in a hurry */
    uint64_t health_ms, backoff_ms, drain_ms, person_idle_ms;
};

struct bundles_conf { /* copied; pointers outlive the set */
    struct loop *loop;
    struct logger *log;
    struct fetcher *fetcher;
    struct pool *pool;                  /* archives, manifests, directories */
    const char *data_dir;               /* {workspace}/data: each bundle has a directory in it */
    const char *credentials_dir;        /* {workspace}/credentials */
    const char *pins_dir;               /* pins of tools; NULL = every tool is trusted */
    const char *package_dir;            /* what was downloaded or unpacked */
    const char *work_dir;               /* hidden from every sandbox */
    const char *home_dir, *project_dir; /* a terminal; NULL on a server */
    const char *own_program;            /* nb itself: launcher and built-in bundles */
    const char *registry_url;           /* NULL = the public one */
    bool allow_insecure_remotes, no_default_bundles;
    bool is_lazy; /* a bundle whose tools are known beforehand starts with its first call */
    const struct json *capabilities; /* that we declare to servers; NULL = {} */
    struct bundle_times times;
    struct bundle_host host;
};

struct bundles *bundles_new(const struct bundles_conf *conf);
/* Stops all of them in order, then calls done. */
void bundles_stop(struct bundles *s, loop_fn done, void *ctx);
void bundles_free(struct bundles *s); /* after stop */

/* Whether built-in bundles are added: from the next bundles_apply on. */
void bundles_set_defaults(struct bundles *s, bool has_defaults);
/* From now on these (the built-in ones are added). Entries are copied. */
void bundles_apply(struct bundles *s, const struct bundle_entry *entries, size_t n);

size_t bundles_count(const struct bundles *s);
struct bundle *bundles_at(const struct bundles *s, size_t i); /* sorted by name */
struct bundle *bundles_find(const struct bundles *s, str server_name);

/* ---- one of them ---- */

struct bundle_info {
    str name; /* server name */
    enum bundle_kind kind;
    enum bundle_state state;
    str reason; /* why it is crashed, dead or stopped: for admins, with the server's own words */
    str fault;  /* the same for everybody else: a sentence of nb's (fault.h) */
    str version, description, author, title; /* manifest, else serverInfo; may be empty */
    str package;       /* "@scope/name", path, URL or program, without secrets */
    bool is_path;      /* `package` names a file of this machine: for admins */
    int64_t uptime_ms; /* -1 = not running */
    int64_t rss_bytes; /* -1 = unknown or remote */
    unsigned restarts; /* since it was started by a person or by the settings */
    unsigned failures; /* one after another */
    int pid;
    size_t ntools;       /* that can be used */
    size_t nheld;        /* quarantined: changed, new or suspicious; with the instructions */
    int64_t trust_score; /* -1 = unknown */
    bool is_protected;
    bool needs_sign_in; /* OAuth: there is no usable token, or it lacks rights; for a server where
                         * each person signs in ask bundle_needs_sign_in */
    str sandbox;        /* "bubblewrap: network no, writes ~/notes": for people */
    enum mcp_era era;
    str protocol_version;
    const struct json *ui; /* or NULL */
    bool is_upjack;        /* its manifest describes an app of that kind */
};

const struct bundle_info *bundle_info(struct bundle *b); /* valid until the next call */
const struct bundle_entry *bundle_entry(const struct bundle *b);
str bundle_logs(const struct bundle *b, struct arena *a);
const struct json *bundle_server_capabilities(const struct bundle *b); /* NULL unless running */
str bundle_instructions(const struct bundle *b); /* empty while they wait for approval */
enum mcp_era bundle_era(const struct bundle *b); /* of its last connection; UNKNOWN at first */

/* The tools that may be used, as the server listed them (Tool objects), without hidden characters;
 * stable until BUNDLE_TOOLS. The list stays known while the bundle is crashed. */
const struct json *const *bundle_tools(const struct bundle *b, size_t *ret_n);
/* The same tools with hidden characters, for warnings only. */
const struct json *const *bundle_raw_tools(const struct bundle *b, size_t *ret_n);

/* ---- tools that wait for approval (pins.h) ---- */

struct held_tool {
    str name;
    enum pin_why why;
    str detail;                      /* a sentence */
    const struct json *now, *before; /* definitions; before: NULL when there was none */
    char digest[SHA256_HEX_LEN + 1]; /* of `now` */
};

/* Stable until BUNDLE_TOOLS. */
const struct held_tool *bundle_held_tools(const struct bundle *b, size_t *ret_n);
bool bundle_instructions_held(const struct bundle *b);
str bundle_instructions_now(const struct bundle *b);    /* as the server gives them */
str bundle_instructions_before(const struct bundle *b); /* as they were approved */
bool bundle_has_tool(const struct bundle *b, str name); /* one that may be called */

struct bundle_approval {
    str name, digest; /* of the definition that a person has seen */
};

/* Accepts these definitions from now on; all of them or none. -ENOENT: no such tool waits,
 * -EBUSY: it has changed since, -EPERM: it cannot be approved. */
int bundle_approve(struct bundle *b, const struct bundle_approval *what, size_t n,
                   bool with_instructions, struct err *e);

/* Why a request failed, for members and models: "NAME is dead: ...", "NAME did not answer". */
str bundle_failure(struct bundle *b, struct arena *a, const struct err *err);

/* Not started yet: its tools are known, the first call starts it. Its state is stopped. */
bool bundle_is_waiting(const struct bundle *b);

void bundle_start(struct bundle *b); /* no-op when it runs; leaves dead and stopped */
void bundle_stop(struct bundle *b);
void bundle_restart(struct bundle *b);

/* ---- requests ---- */

struct bundle_call;

/* A crashed bundle is started once for it. A request whose connection was lost is repeated once if
 * it was not sent yet, or if a second time changes nothing: everything but tools/call, and tools
 * that the server calls read-only or idempotent (readOnlyHint, idempotentHint). Other calls get an
 * error that says that their effect is not known. Tasks and calls that timed out are never
 * repeated. Answered exactly once, never before this returned. The request is copied. */
struct bundle_call *bundle_request(struct bundle *b, const struct mcp_request *req,
                                   const struct mcp_call_events *ev, void *ctx);

/* The same on behalf of a person. Calls of tools share the places of a bundle fairly:
 *
 *   - BUNDLE_CALLS_SHARED calls run side by side; one person may have all of these places. While
 *     calls take BUNDLE_QUICK_US or less, there are BUNDLE_CALLS_QUICK places: nobody waits long
 *     for one, and a server that answers many calls in one go needs fewer switches of process.
 *   - BUNDLE_CALLS_SPARE more places are for people of whom no call is running: they get one
 *     immediately, so that long calls of one person do not hold up another.
 *   - A place that becomes free goes to the waiting person with the fewest running calls, then to
 *     the call that has waited longest.
 *   - A call that waits says so once, as progress. It can be cancelled. Beyond the ceilings of
 *     waiting calls a call fails with -EBUSY.
 *
 * An empty person, as in bundle_request, is one person. */
#define BUNDLE_CALLS_SHARED     6
#define BUNDLE_CALLS_QUICK      64
#define BUNDLE_CALLS_SPARE      18
#define BUNDLE_QUICK_US         20000
#define BUNDLE_QUEUE_MAX        1024
#define BUNDLE_QUEUE_PERSON_MAX 256
struct bundle_call *bundle_request_for(struct bundle *b, str person, const struct mcp_request *req,
                                       const struct mcp_call_events *ev, void *ctx);
/* The same in the directory of that person's terminal (grant_plan.h), when the bundle is the
 * built-in shell; others do not learn of it. An empty grant is none. */
struct bundle_call *bundle_request_in(struct bundle *b, str person, const struct dir_grant *grant,
                                      const struct mcp_request *req,
                                      const struct mcp_call_events *ev, void *ctx);
void bundle_cancel(struct bundle_call *c, const char *reason); /* no callback any more */

/* ---- servers where each person signs in: transport.auth.per "person" ---- */

bool bundle_is_per_person(const struct bundle *b);

/* The same as bundle_request for a server that the workspace is signed in to. For others it goes
 * over a connection with this person's token; without one it fails with -ENOKEY. An empty id says
 * that several people are behind the request (actor_sole_user): -EXDEV. bundle_request itself is
 * refused by such a server. */
struct bundle_call *bundle_request_as(struct bundle *b, str user_id, const struct mcp_request *req,
                                      const struct mcp_call_events *ev, void *ctx);
/* Has this person to sign in, or an admin for everybody? */
bool bundle_needs_sign_in(struct bundle *b, str user_id);
/* The person's token was stored or deleted. */
void bundle_account_changed(struct bundle *b, str user_id, bool is_signed_in);
/* Somebody has left the workspace: their connections close. Their tokens are deleted with the
 * membership (workspace/roster/change.h). */
void bundles_forget_person(struct bundles *s, str user_id);

/* A connection of somebody's own (a session of /mcp whose questions must not meet others').
 * It is not restarted; it ends with the bundle, and then `closed` of the events comes. NULL
 * unless the bundle runs. End it with connections_close, or at once with bundle_disconnect. */
struct connections *bundle_connect(struct bundle *b, const struct mcp_host *host,
                                   const struct mcp_client_events *ev, void *ctx);
/* No callbacks any more. Allowed until `closed` came, even of a bundle that was removed. */
void bundle_disconnect(struct bundle *b, struct connections *p);
