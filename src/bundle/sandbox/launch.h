/* launch.h - `nb launch`: runs a server, and ends everything that it started.
 *
 * In a PID namespace (pid_space.h) one process stays beside the server and its bubblewrap: nb's
 * child. The kernel kills it when nb dies, and with it everything in the namespace.
 *
 * Elsewhere two processes stay. The outer one is nb's child, as above. The inner one is the
 * server's parent, in a session of its own, and watches the outer one. When the server, nb or one
 * of the two ends, the remaining one kills all descendants before it ends itself; both adopt
 * orphans, so that neither a double fork nor setsid escapes. They do not use nb's pipes: those
 * belong to the server.
 *
 * The launcher runs outside the sandbox, so it starts with an empty environment and reads its
 * specification from a descriptor. The server's variables, including those that a dynamic loader
 * obeys, are applied only by the last execve: by bubblewrap inside its namespaces, or here after
 * the confinement.
 *
 * It replaces the calling process and does not return before the end. */
#pragma once

#include "bundle/confine/confine.h"
#include "bundle/network/network_rules.h"

struct launch_spec {
    char *const *argv;    /* of the server; argv[0] is a path */
    char *const *env;     /* of the server, "K=V" */
    char *const *wrap;    /* bubblewrap's path and its options; NULL = without it */
    bool has_pid_space;   /* bubblewrap is the first process of a namespace (pid_space.h) */
    bool is_confined;     /* the launcher applies Landlock and seccomp */
    const char *cgroup;   /* the server joins it; or NULL */
    bool no_writes;       /* it may delete files, but not write */
    int64_t memory_bytes; /* limit of each command, for the bash server; 0 = none */
    int64_t cpu_seconds;  /* of a tool (sandbox.h); 0 = a server */
    struct confine_spec confine;
    const struct network_rules
        *network; /* a namespace with these gates; NULL = nb's own, or none */
};

#define LAUNCH_SPEC_MAX (8u * 1024 * 1024)

/* {"argv": [...], "cgroup": PATH, "memoryBytes": N, "cpuSeconds": N} and {"wrap": [...],
 * "pidSpace": true} or
 * {"confine": true, "network": false, "read": [...], "programFiles": [...], "write": [...], "hide":
 * [...], "ownRead":
 * [...], "ownWrite": [...]}, and {"reach": ["host:port", ...]} for a network of its own; then a NUL
 * and the environment, each variable ended by a NUL: values need not be UTF-8. */
int launch_spec_decode(struct arena *a, str text, struct launch_spec *ret, struct err *e);
int launch_spec_read(struct arena *a, int fd, struct launch_spec *ret, struct err *e);

/* Returns the exit code, or ends with the server's signal. */
int launch_run(struct arena *a, const struct launch_spec *spec);
