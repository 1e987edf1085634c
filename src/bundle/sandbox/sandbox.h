/* sandbox.h - plans the command line that runs a server in its sandbox.
 *
 * A stdio server sees the system's programs and libraries, its own files, its data directory, and
 * the paths that its entry declares; it has no network unless declared. bubblewrap does that with
 * namespaces and a seccomp filter. Where bubblewrap does not work, nb's own launcher uses Landlock
 * and seccomp, which hide less; the description says what is not hidden. Where neither works there
 * is an error instead of a command line.
 *
 * In every case the launcher is the parent: no process of a server outlives it, however nb ends
 * (launch.h). */
#pragma once

#include "bundle/entry/entry.h"
#include "loop/pool.h"

enum sandbox_kind { SANDBOX_NONE, SANDBOX_BUBBLEWRAP, SANDBOX_LANDLOCK };

struct sandbox_offer { /* mechanisms of this machine */
    enum sandbox_kind kind;
    char bwrap[4096];   /* its path */
    bool no_userns;     /* bubblewrap can forbid user namespaces */
    bool has_pid_space; /* it can be the first process of a PID namespace (pid_space.h) */
    int landlock_abi;   /* 0 = none */
    char why_not[512];  /* why bubblewrap is not used; for people */
    bool has_network;   /* servers can have a network namespace */
    char why_no_network[256];
};

/* ---- finding out: bubblewrap is tried, not just looked for ---- */

struct sandbox_probe;

struct sandbox_waiter { /* embedded in the caller's struct */
    struct list_node node;
    void (*fn)(void *ctx, const struct sandbox_offer *offer); /* the offer stays valid */
    void *ctx;
};

struct sandbox_probe *sandbox_probe_new(struct pool *p);
void sandbox_probe_free(struct sandbox_probe *p); /* when idle */
/* Calls w->fn, immediately when the result is known. The first caller starts the test. */
void sandbox_probe_ask(struct sandbox_probe *p, struct sandbox_waiter *w);
void sandbox_probe_forget(struct sandbox_waiter *w); /* no callback follows */
bool sandbox_probe_idle(const struct sandbox_probe *p);

void sandbox_look(struct sandbox_offer *ret); /* runs the test; blocks for some 10 ms */

/* Options of bubblewrap for the test and for every plan. NULL-terminated. */
extern const char *const SANDBOX_BWRAP_ALWAYS[];
const char *const *sandbox_bwrap_user(bool no_userns); /* the same; they come first */

/* ---- planning ---- */

struct sandbox_want {
    const struct sandbox_offer *offer;
    const struct bundle_sandbox *declared;
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in the PATH of env */
    const char *const *env;  /* NULL-terminated "K=V" */
    const char *cwd;         /* NULL = the data directory */
    const char *data_dir;    /* must exist; writable */
    const char *inbox_dir;   /* files that calls name; must exist; readable; or NULL */
    /* its files, or NULL; readable. If set, argv and env come from the package */
    const char *package_dir;
    /* directory of unpacked packages: the only one for them in work_dir */
    const char *packages_dir;
    struct json_strs chosen; /* paths that a person has set in its settings; readable */
    const char *work_dir;    /* nb's own: never visible */
    const char *home_dir;    /* the meaning of ~ */
    const char *own_program; /* nb, the launcher */
    const char *cgroup;      /* that limits the server, or NULL */
    int64_t memory_bytes;    /* ceiling; 0 = 1 GiB */
    /* For a tool that turns its input into output: its time, its memory as addresses, and it
     * cannot write files. 0 = a server. */
    int64_t cpu_seconds;
    bool reads_home;         /* bash in a terminal: it is readable, except secrets */
    const char *project_dir; /* bash in a terminal: writable; or NULL */
    struct json_strs reach;  /* set by sandbox_plan: "public", "host:port" */
};

struct sandbox_plan {           /* in the arena */
    const char *const *argv;    /* for the launcher, which starts with an empty environment */
    str message;                /* for the launcher: the rest of this struct, and the variables */
    const char *const *wrap;    /* bubblewrap and its options; NULL = without it */
    const char *const *program; /* the server's own command line */
    const char *cwd;
    const struct sandbox_rules *rules; /* rules that both mechanisms enforce; NULL = sandbox off */
    struct json_strs reach;            /* of the network: "public", "host:port" */
    const char *const *env;            /* of the server */
    str description;                   /* "bubblewrap: no network, writes ~/notes" */
};

/* Reads the file system: for a pool thread. -ENOENT: no such program or path; -EINVAL: a path that
 * must not be declared; -ENOSYS: no sandbox here. The message says what to do. */
int sandbox_plan(struct arena *a, const struct sandbox_want *w, struct sandbox_plan *ret,
                 struct err *e);
