/* bash_run.h - one shell command: started, limited, its output collected.
 *
 * The caller polls: bash_run_polls says for what, bash_run_step does what is due. The command has
 * a process group of its own, which is killed when the time is up, when it is cancelled, and
 * when the shell itself has ended: nothing goes on in the background. With a sandbox each command
 * has one of its own, processes and /tmp included: commands of two people never meet, except
 * in the files of the data directory. One thread. */
#pragma once

#include <poll.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"

#define BASH_OUTPUT_MAX    (10u * 1024 * 1024) /* of stdout, and of stderr */
#define BASH_TIMEOUT_S     30
#define BASH_TIMEOUT_MAX_S 600
#define BASH_EXIT_TIMEOUT  124 /* as timeout(1) */

struct launch_spec;

struct bash_want {
    const struct launch_spec *sandbox; /* of this command alone; NULL = as the caller */
    str command;
    str cwd;                /* empty = `directory` */
    str directory;          /* what cwd is relative to; empty = that of the sandbox, or ours */
    const struct json *env; /* object of strings, or NULL */
    int64_t timeout_ms;
    int64_t disk_full_mb; /* > 0: it may not write files, since there are more than so many */
};

/* From the arguments of the tool (borrowed; may be NULL). -EINVAL with words for the model. */
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
    uint64_t due_ms; /* when something must happen, whatever is read */
    bool is_timed_out, is_killed, has_exited, is_over;
    int exit_code; /* when it is over */
};

#define BASH_RUN_POLLS 3

/* 0, or -errno with a message for the caller of the tool. */
int bash_run_start(struct bash_run *r, const struct bash_want *w, struct err *e);
void bash_run_polls(const struct bash_run *r, struct pollfd ret[BASH_RUN_POLLS]);
void bash_run_step(struct bash_run *r, uint64_t now_ms); /* is_over may be set afterwards */
void bash_run_end_over(struct bash_run *r, enum bash_limit limit); /* kills; its end follows */
void bash_run_done(struct bash_run *r); /* at any time; kills what is left */
/* The sentence about a limit that it met or was under, "" when there is none. */
void bash_run_explain_limit(const struct bash_run *r, char *ret, size_t size);
