/* sandbox.h - the command line that keeps a server in its place.
 *
 * A stdio server sees the system's programs and libraries, its own files and its data
 * directory, and what its entry declares; it has no network unless declared. bubblewrap does
 * that with namespaces, and puts on a seccomp filter. Where bubblewrap does not work, nb's own
 * launcher does it with Landlock and seccomp, which leaves more to be seen; what is missing is part
 * of the description. Where neither works there is no command line, but an error.
 *
 * Whatever the kind, the launcher is the parent: no process of a server outlives it, however
 * nb ends (launch.h). */
#pragma once

#include "bundle/entry/entry.h"
#include "loop/pool.h"

enum sandbox_kind { SANDBOX_NONE, SANDBOX_BUBBLEWRAP, SANDBOX_LANDLOCK };

struct sandbox_offer { /* what this machine has */
    enum sandbox_kind kind;
    char bwrap[4096];  /* its path */
    bool no_userns;    /* bubblewrap can forbid user namespaces */
    int landlock_abi;  /* 0 = none */
    char why_not[512]; /* why it is not bubblewrap; for people */
    bool has_network;  /* servers can have a network of their own */
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
/* Calls w->fn, at once when the answer is known. The first one starts the trial. */
void sandbox_probe_ask(struct sandbox_probe *p, struct sandbox_waiter *w);
void sandbox_probe_forget(struct sandbox_waiter *w); /* no call any more */
bool sandbox_probe_idle(const struct sandbox_probe *p);

void sandbox_look(struct sandbox_offer *ret); /* the trial itself; blocks for some 10 ms */

/* Options of bubblewrap in the trial and in every plan alike. NULL-terminated. */
extern const char *const SANDBOX_BWRAP_ALWAYS[];
const char *const *sandbox_bwrap_user(bool no_userns); /* the same; the first of them */

/* ---- planning ---- */

struct sandbox_want {
    const struct sandbox_offer *offer;
    const struct bundle_sandbox *declared;
    const char *const *argv;  /* NULL-terminated; argv[0] is looked up in the PATH of env */
    const char *const *env;   /* NULL-terminated "K=V" */
    const char *cwd;          /* NULL = the data directory */
    const char *data_dir;     /* exists; written */
    const char *package_dir;  /* its files, or NULL; read. Then argv and env are the package's */
    const char *packages_dir; /* where nb unpacks packages: the one place in work_dir for them */
    struct json_strs chosen;  /* paths that a person chose in its settings; read */
    const char *work_dir;     /* nb's: never seen */
    const char *home_dir;     /* what ~ means */
    const char *own_program;  /* nb, the launcher */
    const char *cgroup;       /* that limits it, or NULL */
    int64_t memory_bytes;     /* ceiling; 0 = 1 GiB */
    bool reads_home;          /* bash in a terminal: all of it but secrets */
    const char *project_dir;  /* bash in a terminal: written; or NULL */
    struct json_strs reach;   /* set by sandbox_plan: "public", "host:port" */
};

struct sandbox_plan {           /* in the arena */
    const char *const *argv;    /* of the launcher, which starts with an empty environment */
    str message;                /* that it reads: the rest of this struct, and the variables */
    const char *const *wrap;    /* bubblewrap and its options; NULL = without it */
    const char *const *program; /* the server's own command line */
    const char *cwd;
    const struct sandbox_rules *rules; /* what both mechanisms enforce; NULL = sandbox off */
    struct json_strs reach;            /* of the network: "public", "host:port" */
    const char *const *env;            /* of the server */
    str description;                   /* "bubblewrap: no network, writes ~/notes" */
};

/* Looks at files: for a pool thread. -ENOENT: no such program or path; -EINVAL: a path that must
 * not be declared; -ENOSYS: no sandbox here. The message says what to do. */
int sandbox_plan(struct arena *a, const struct sandbox_want *w, struct sandbox_plan *ret,
                 struct err *e);
