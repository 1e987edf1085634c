/* bundle.h - the MCP servers of one workspace: starts, watches, restarts and stops them.
 *
 * A bundle is a child process or a remote server with a state:
 *
 *   starting -> running -> crashed -> running ... or dead;  any -> stopped by a person
 *
 * A crashed bundle restarts automatically after 1 s, 2 s, 4 s ... until BUNDLE_FAILURES_MAX
 * failures in a row; only bundle_start ends the states dead and stopped. A remote server never
 * becomes dead: it is tried after 0, 500 and 2000 ms, then every 30 s. A bundle that cannot work
 * without a change (no such program, missing settings, no sandbox on this machine) is stopped
 * immediately, with the reason. A call that times out is not a crash. Bundles start concurrently in
 * the background: nothing waits for a start except the calls of that bundle. The transitions are
 * drawn in supervise/supervise.c.
 *
 * The set follows the settings: bundles_apply compares, and starts, restarts or removes only the
 * bundles that differ. This floor does not know tools as models see them; the floor above makes
 * tool sources from bundles. Loop thread only.
 *
 *   confine/    limits of a process: paths, Landlock, seccomp, cgroups, measuring its use
 *   network/    a network namespace for a bundle: rules, names, the filtering proxy
 *   entry/      the parsed entry of the settings; the tools that a person has approved
 *   settings/   the file of entries, credentials and sealed secrets
 *   package/    archives, manifests, the registry: from a name to a command line
 *   sandbox/    the plan of a sandbox, and `nb launch`, which applies it
 *   plan/       what a start needs, and what is shown before installing; packages of npm
 *   oauth/      signing in to remote servers
 *   bash/       the server of the bash tool, a separate program
 *   supervise/  the states of bundles, and their calls
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
#define BUNDLE_LOG_BYTES_MAX (64u * 1024) /* stderr kept for each bundle */
#define BUNDLE_DRAIN_MS      5000

/* Limits of a server where each person signs in (people.c): open connections, time until an unused
 * connection closes, and people whose accounts are known beforehand. */
#define BUNDLE_PEOPLE_MAX     64
#define BUNDLE_PERSON_IDLE_MS (10u * 60 * 1000)
#define BUNDLE_ACCOUNTS_MAX   10000

enum bundle_state { BUNDLE_STARTING, BUNDLE_RUNNING, BUNDLE_CRASHED, BUNDLE_DEAD, BUNDLE_STOPPED };
const char *bundle_state_name(enum bundle_state s);

struct bundles;
struct bundle;

enum bundle_change {
    BUNDLE_ADDED,
    BUNDLE_STATE,      /* state, reason, restarts or version */
    BUNDLE_TOOLS,      /* the list of tools has changed */
    BUNDLE_QUARANTINE, /* after BUNDLE_TOOLS: tools wait for approval, or did before */
    BUNDLE_RESOURCES,
    BUNDLE_PROMPTS,
    BUNDLE_RESOURCE_UPDATED, /* bundle_host.notified says which one */
    /* The last change: do not use the bundle after this callback. Requests in progress are still
     * answered. */
    BUNDLE_REMOVED,
};

/* Services of the floors above; all optional. */
struct bundle_host {
    void (*changed)(void *ctx, struct bundle *b, enum bundle_change what);
    /* A request of a server: sampling, elicitation, roots. Answer with mcp_ask_*. NULL = refuse
     * all. */
    void (*ask)(void *ctx, struct bundle *b, struct mcp_ask *a);
    void (*ask_gone)(void *ctx, struct bundle *b, struct mcp_ask *a);
    void (*notified)(void *ctx, struct bundle *b, str method, const struct json *params);
    void *ctx;
};

struct bundle_times { /* 0 = the default; tests use shorter times */
    uint64_t health_ms, backoff_ms, drain_ms, person_idle_ms;
    uint64_t machine_ms; /* memory_watch.c */
};

struct bundles_conf { /* copied; its pointers must outlive the set */
    struct loop *loop;
    struct logger *log;
    struct fetcher *fetcher;
    struct pool *pool;                  /* for archives, manifests, directories */
    const char *data_dir;               /* {workspace}/data: each bundle has a directory in it */
    const char *credentials_dir;        /* {workspace}/credentials */
    const char *pins_dir;               /* pins of tools; NULL = every tool is trusted */
    const char *package_dir;            /* downloaded and unpacked packages */
    const char *work_dir;               /* hidden from every sandbox */
    const char *home_dir, *project_dir; /* of a terminal; NULL on a server */
    const char *own_program;            /* nb's executable: launcher and built-in bundles */
    const char *registry_url;           /* NULL = the public registry */
    bool allow_insecure_remotes, no_default_bundles;
    bool is_lazy; /* a bundle whose tools are known beforehand starts when a tool is first called */
    const struct json *capabilities; /* declared to servers; NULL = {} */
    struct bundle_times times;
    struct bundle_host host;
};

struct bundles *bundles_new(const struct bundles_conf *conf);
/* Stops all bundles in order, then calls `done`. */
void bundles_stop(struct bundles *s, loop_fn done, void *ctx);
void bundles_free(struct bundles *s); /* after bundles_stop has finished */

/* Whether the built-in bundles are added; takes effect with the next bundles_apply. */
void bundles_set_defaults(struct bundles *s, bool has_defaults);
/* Replaces the set (the built-in bundles are added). Entries are copied. */
void bundles_apply(struct bundles *s, const struct bundle_entry *entries, size_t n);

size_t bundles_count(const struct bundles *s);
struct bundle *bundles_at(const struct bundles *s, size_t i); /* sorted by name */
struct bundle *bundles_find(const struct bundles *s, str server_name);

/* ---- one bundle ---- */

struct bundle_info {
    str name; /* server name */
    enum bundle_kind kind;
    enum bundle_state state;
    /* why it is crashed, dead or stopped: for admins only, because it quotes the server */
    str reason;
    str fault; /* the same for all others: a sentence written by nb (fault.h) */
    str version, description, author, title; /* from the manifest, else serverInfo; may be empty */
    str package;       /* "@scope/name", path, URL or program, without secrets */
    bool is_path;      /* `package` is a file of this machine: show it to admins only */
    int64_t uptime_ms; /* -1 = not running */
    int64_t rss_bytes; /* -1 = unknown or remote */
    unsigned restarts; /* since it was started by a person or by the settings */
    unsigned failures; /* in a row */
    int pid;
    size_t ntools; /* usable tools */
    size_t nheld; /* quarantined tools: changed, new or suspicious; the instructions are included */
    int64_t trust_score; /* -1 = unknown */
    bool is_protected;
    bool needs_sign_in; /* OAuth: a usable token is missing, or it lacks rights; for a server where
                         * each person signs in ask bundle_needs_sign_in */
    str sandbox;        /* "bubblewrap: network no, writes ~/notes": text for people */
    enum mcp_era era;
    str protocol_version;
    const struct json *ui; /* or NULL */
    bool is_upjack;        /* its manifest describes an Upjack app */
};

const struct bundle_info *bundle_info(struct bundle *b); /* valid until the next call */
const struct bundle_entry *bundle_entry(const struct bundle *b);
/* Directories through which calls exchange files with its process (apps/bundle_files.h). False: it
 * has none, because it runs elsewhere, or is the shell. */
struct bundle_dirs {
    const char *data, *inbox; /* in the arena; data is its data directory, which it can write */
};
bool bundle_dirs(const struct bundle *b, struct arena *a, struct bundle_dirs *ret);
str bundle_logs(const struct bundle *b, struct arena *a);
const struct json *bundle_server_capabilities(const struct bundle *b); /* NULL unless running */
str bundle_instructions(const struct bundle *b); /* empty while they wait for approval */
/* of its last connection; UNKNOWN before the first one */
enum mcp_era bundle_era(const struct bundle *b);
/* Changes when the settings make another program, or one with other limits, of it; its tools are
 * announced after that. */
unsigned bundle_generation(const struct bundle *b);

/* The usable tools as the server listed them (Tool objects), without hidden characters; valid until
 * BUNDLE_TOOLS. The list stays known while the bundle is crashed. */
const struct json *const *bundle_tools(const struct bundle *b, size_t *ret_n);
/* The same tools with their hidden characters, for warnings only. */
const struct json *const *bundle_raw_tools(const struct bundle *b, size_t *ret_n);

/* ---- tools that wait for approval (pins.h) ---- */

struct held_tool {
    str name;
    enum pin_why why;
    str detail;                      /* a sentence */
    const struct json *now, *before; /* definitions; before: NULL for a new tool */
    char digest[SHA256_HEX_LEN + 1]; /* of `now` */
};

/* Valid until BUNDLE_TOOLS. */
const struct held_tool *bundle_held_tools(const struct bundle *b, size_t *ret_n);
bool bundle_instructions_held(const struct bundle *b);
str bundle_instructions_now(const struct bundle *b);    /* as the server sends them now */
str bundle_instructions_before(const struct bundle *b); /* as they were approved */
/* A tool that may be called, as bundle_tools has it; or NULL. */
const struct json *bundle_find_tool(const struct bundle *b, str name);

struct bundle_approval {
    str name, digest; /* of the definition that the person has seen */
};

/* Approves these definitions; all of them or none. -ENOENT: no such tool waits for approval,
 * -EBUSY: the tool has changed since, -EPERM: the tool cannot be approved. */
int bundle_approve(struct bundle *b, const struct bundle_approval *what, size_t n,
                   bool with_instructions, struct err *e);

/* Why a request failed, for members and models: "NAME is dead: ...", "NAME did not answer". */
str bundle_failure(struct bundle *b, struct arena *a, const struct err *err);

/* True when the bundle is not started yet: its tools are known, and the first call starts it. Its
 * state is stopped. */
bool bundle_is_waiting(const struct bundle *b);

/* does nothing while it runs; ends the states dead and stopped */
void bundle_start(struct bundle *b);
void bundle_stop(struct bundle *b);
void bundle_restart(struct bundle *b);

/* ---- requests ---- */

struct bundle_call;

/* Sends a request. A crashed bundle is restarted once for it. A request whose connection was lost
 * is repeated once if it was not sent yet, or if a second execution changes nothing: every method
 * but tools/call, and tools that the server declares read-only or idempotent (readOnlyHint,
 * idempotentHint). Other calls get an error that says that it is not known whether they took
 * effect. Tasks and calls that timed out are never repeated. The request is answered exactly once,
 * never before this function has returned. The request is copied, except what the caller keeps
 * (mcp_request.is_kept). */
struct bundle_call *bundle_request(struct bundle *b, const struct mcp_request *req,
                                   const struct mcp_call_events *ev, void *ctx);

/* As bundle_request, on behalf of a person. Calls of tools share the places of a bundle fairly:
 *
 *   - BUNDLE_CALLS_SHARED calls run concurrently; one person may use all of these places. While
 *     calls take BUNDLE_QUICK_US or less, there are BUNDLE_CALLS_QUICK places: a call never waits
 *     long for one, and a server that answers several calls together needs fewer context switches.
 *   - BUNDLE_CALLS_SPARE more places are reserved for people without a running call: they get one
 *     immediately, so that long calls of one person do not delay another.
 *   - A place that becomes free goes to the waiting person with the fewest running calls, then to
 *     the call that has waited longest.
 *   - A waiting call reports that once, as progress. It can be cancelled. Beyond the limits for
 *     waiting calls a call fails with -EBUSY.
 *
 * The empty person, as in bundle_request, is treated as one person. */
#define BUNDLE_CALLS_SHARED     16 /* the parallel calls of one answer are one wave */
#define BUNDLE_CALLS_QUICK      64
#define BUNDLE_CALLS_SPARE      8
#define BUNDLE_QUICK_US         20000
#define BUNDLE_QUEUE_MAX        1024
#define BUNDLE_QUEUE_PERSON_MAX 256
struct bundle_call *bundle_request_for(struct bundle *b, str person, const struct mcp_request *req,
                                       const struct mcp_call_events *ev, void *ctx);
/* As bundle_request_for, in the directory of that person's terminal (grant_plan.h), when the bundle
 * is the built-in shell; other bundles do not learn of the directory. An empty grant means none. */
struct bundle_call *bundle_request_in(struct bundle *b, str person, const struct dir_grant *grant,
                                      const struct mcp_request *req,
                                      const struct mcp_call_events *ev, void *ctx);
void bundle_cancel(struct bundle_call *c, const char *reason); /* no callback follows */

/* ---- servers where each person signs in: transport.auth.per "person" ---- */

bool bundle_is_per_person(const struct bundle *b);

/* As bundle_request for a server that the workspace is signed in to. With other servers the request
 * uses a connection with this person's token; without a token it fails with -ENOKEY. An empty id
 * means that several people are behind the request (actor_sole_user): -EXDEV. Such a server refuses
 * bundle_request. */
struct bundle_call *bundle_request_as(struct bundle *b, str user_id, const struct mcp_request *req,
                                      const struct mcp_call_events *ev, void *ctx);
/* True when this person, or for a shared account an admin, has to sign in. */
bool bundle_needs_sign_in(struct bundle *b, str user_id);
/* The person's token was stored or deleted. */
void bundle_account_changed(struct bundle *b, str user_id, bool is_signed_in);
/* A person has left the workspace: their connections close. Their tokens are deleted together with
 * the membership (workspace/roster/change.h). */
void bundles_forget_person(struct bundles *s, str user_id);

/* Opens a private connection (for a session of /mcp whose questions must not mix with others). It
 * is not restarted; it ends with the bundle, and then `closed` of the events is called. NULL unless
 * the bundle is running. Close it with connections_close, or immediately with bundle_disconnect. */
struct connections *bundle_connect(struct bundle *b, const struct mcp_host *host,
                                   const struct mcp_client_events *ev, void *ctx);
/* No callbacks follow. Allowed until `closed` was called, also after the bundle was removed. */
void bundle_disconnect(struct bundle *b, struct connections *p);
