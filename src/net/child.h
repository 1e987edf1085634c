/* child.h - child processes that speak lines over pipes.
 *
 * Each child has its own session and process group and dies with nb (parent-death signal).
 * Its environment is exactly what is given, and it gets no descriptors but 0, 1 and 2; with a
 * message also CHILD_MESSAGE_FD.
 * stdout is cut into lines with a ceiling; stderr is delivered as it comes. Stopping is
 * orderly: close stdin, then SIGTERM to the group, then SIGKILL. Processes that are left in the
 * group when the child itself has ended are killed. No callback is called before child_spawn
 * returns.
 *
 * Loop thread only, and that must be the main thread: the kernel ties the parent-death
 * signal to the thread that started the child. The process must ignore SIGPIPE. */
#pragma once

#include "base/err.h"
#include "loop/loop.h"

struct child;

#define CHILD_LINE_MAX   (64u * 1024 * 1024)
#define CHILD_MESSAGE_FD 3

struct child_events {
    void (*on_line)(void *ctx, str line);    /* one line of stdout without its LF */
    void (*on_stderr)(void *ctx, str bytes); /* may be NULL */
    void (*on_overflow)(void *ctx);          /* a line passed line_max; it is dropped */
    /* The process has ended and all its output was delivered. The child is freed after
     * this. code >= 0: exit status; code < 0: killed by signal -code. */
    void (*on_exit)(void *ctx, int code);
};

struct child_spec {
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in the PATH of env */
    const char *const *env;  /* NULL-terminated "K=V"; NULL = empty */
    const char *cwd;         /* NULL = inherit */
    str message;             /* read by the child from CHILD_MESSAGE_FD, a file; empty = none.
                              * Unlike argv and env no other process sees it. */
    size_t line_max;         /* 0 = CHILD_LINE_MAX */
    size_t write_max;        /* ceiling of bytes not yet taken by the child; 0 = 64 MiB */
};

/* Returns 0, or -errno with a message (no such program, not executable ...). */
int child_spawn(struct loop *l, const struct child_spec *spec, const struct child_events *ev,
                void *ctx, struct child **ret, struct err *e);
int child_write(struct child *c, str bytes); /* copied; -ENOBUFS above write_max, -EPIPE */
void child_close_stdin(struct child *c);
/* Closes stdin immediately; SIGTERM and SIGKILL follow after these times unless the child ends
 * before. A second call sets new times. */
void child_stop(struct child *c, uint64_t term_after_ms, uint64_t kill_after_ms);
void child_kill(struct child *c, int sig); /* to the whole group */
int child_pid(const struct child *c);

/* Builds an environment from the allow-list `names` (values from our own environment) and
 * `extra` "K=V" pairs, which win. The result is one block for free(). */
char **child_env(const char *const *names, const char *const *extra);
