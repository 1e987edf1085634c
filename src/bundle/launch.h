/* launch.h - `nb launch`: a server, and the end of everything it started.
 *
 * Two processes stay beside the server. The outer one is nb's child: the kernel kills it when
 * nb dies. The inner one is the server's parent, in a session of its own, and watches the
 * outer one. Whoever of the two is left when something ends - the server, nb, one of them -
 * kills all descendants before it ends itself; both adopt orphans, so that no double fork and
 * no setsid gets away. They speak to nobody; the server has nb's pipes for itself.
 *
 * A process of its own: it takes over the caller and does not return before the end. */
#pragma once

#include "bundle/confine.h"

struct launch_spec {
    bool is_wrapped;    /* the command line is bubblewrap with the server inside */
    bool is_confined;   /* Landlock and seccomp are put on it here */
    const char *cgroup; /* the server joins it; or NULL */
    struct confine_spec confine;
};

/* {"cgroup": PATH} and {"wrapped": true} or {"confine": true, "network": false, "read": [...],
 * "write": [...], "hide": [...], "ownRead": [...], "ownWrite": [...]}: no secrets, it is seen in
 * process lists. */
int launch_spec_decode(struct arena *a, str json, struct launch_spec *ret, struct err *e);

/* argv[0] is a path. Returns the exit code, or ends by the server's signal. */
int launch_run(struct arena *a, const struct launch_spec *spec, char *const *argv);
