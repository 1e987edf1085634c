/* bash_run.h - one shell command: starts it, limits it, collects its output.
 *
 * The caller polls: bash_run_polls names the descriptors, bash_run_step does the work that is due.
 * The command has its own process group, which is killed when its time is up, when it is cancelled,
 * and when the shell itself has ended: nothing continues in the background. With a sandbox each
 * command has its own, processes and /tmp included: commands of two people share nothing except the
 * files of the data directory. One thread. */
#pragma once

#include <poll.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"

#define BASH_OUTPUT_MAX    (10u * 1024 * 1024) /* for stdout, and for stderr */
#define BASH_TIMEOUT_S     30
#define BASH_TIMEOUT_MAX_S 600
#define BASH_EXIT_TIMEOUT  124 /* as timeout(1) */

struct launch_spec;

struct bash_want {
    const struct launch_spec *sandbox; /* for this command only; NULL = as the caller */
    str command;
    str cwd;       /* empty = `directory` */
    str directory; /* base of a relative cwd; empty = that of the sandbox, or the current one */
    const struct json *env; /* object of strings, or NULL */
    int64_t timeout_ms;
    /* > 0: it may not write files, because the data directory holds more megabytes */
    int64_t disk_full_mb;
};

/* From the arguments of the tool (borrowed; may be NULL). -EINVAL with a message for the model. */
int bash_want_read(const struct json *args, struct bash_want *ret, struct err *e);

struct bash_stream {
    int fd; /* -1 after its end */
    struct buf bytes;
    uint64_t dropped;
};

enum bash_limit { BASH_LIMIT_NONE, BASH_LIMIT_MEMORY, BASH_LIMIT_PROCESSES };

struct bash_run {
    pid_t pid; /* of its launcher, or of the shell without a sandbox */
    bool is_sandboxed;
    char *cgroup;          /* of this command alone, or NULL */
    enum bash_limit limit; /* why it was ended */
    int64_t memory_bytes;  /* its ceiling; 0 = none */
    int64_t disk_full_mb;  /* as wanted */
    int pidfd;
    struct bash_stream out, err;
    uint64_t began_ms, ended_ms;
    uint64_t due_ms; /* time of the next action, even without output */
    bool is_timed_out, is_killed, has_exited, is_over;
    int exit_code; /* when it is over */
};

#define BASH_RUN_POLLS 3

/* 0, or -errno with a message for the caller of the tool. */
int bash_run_start(struct bash_run *r, const struct bash_want *w, struct err *e);
void bash_run_polls(const struct bash_run *r, struct pollfd ret[BASH_RUN_POLLS]);
void bash_run_step(struct bash_run *r, uint64_t now_ms); /* is_over may be set afterwards */
void bash_run_end_over(struct bash_run *r, enum bash_limit limit); /* kills it; its end follows */
void bash_run_done(struct bash_run *r); /* at any time; kills what is left */
/* A sentence about the limit that it reached or that applied to it; "" when there is none. */
void bash_run_explain_limit(const struct bash_run *r, char *ret, size_t size);

/* ---- limits of each command of the bash bundle (bash_watch.c) ----
 *
 * Every command may use the memory in the entry of the bundle and PROCESS_COUNT_MAX processes.
 * With cgroups the kernel enforces both, or one of them (cgroup.h). For the rest the server
 * measures /proc while commands run. A command that exceeds a limit is ended, no other command is,
 * and its answer names the limit. One thread. */

struct bash_watch {
    int64_t memory_bytes; /* of one command; 0 = no limit */
    bool is_wrapped;      /* commands are in bubblewrap */
    uint64_t due_ms;      /* time of the next step; 0 = now */
    uint64_t look_ms;     /* time of the next full measurement, unless processes become many */
    unsigned long tasks;  /* of the whole machine at the last measurement */
};

/* True when it has to be measured: false when it has ended, or is about to. */
bool bash_watch_needs(const struct bash_run *r);

/* Measures all of them when it is time, and ends those over a limit. due_ms is the next time. */
void bash_watch_step(struct bash_watch *w, struct bash_run **runs, size_t n, uint64_t now_ms);
