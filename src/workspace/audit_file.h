/* audit_file.h - the audit log on disk: {workDir}/audit/, JSON lines in a hash chain.
 *
 * Each line is {seq, time, actor, workspace, action, target, outcome, detail, prev, hash}. `hash`
 * is the SHA-256 of all bytes of the line before `,"hash":`, and these include `prev`, the hash
 * of the line before it. So a line that is changed, removed or moved breaks the chain there.
 *
 *   audit-<first seq>-<year><month>.jsonl   0600; a new file every month and at AUDIT_FILE_MAX
 *   head                                    0600; the last seq and hash, and the writers' lock
 *
 * Server and commands append to the same chain, under an exclusive lock on `head`. Lines are
 * synced before `head` names them, so a log that ends before its head was truncated. A last line
 * that was not written completely moves to <file>.torn. The chain has no key: it shows changes
 * unless somebody rewrites all of it. Blocking: for commands and pool threads. */
#pragma once

#include "base/arena.h"
#include "base/bytes/hash.h"
#include "base/err.h"

#define AUDIT_DIR      "audit"
#define AUDIT_FILE_MAX (4u * 1024 * 1024)
#define AUDIT_LINE_MAX (8u * 1024)
#define AUDIT_TEXT_MAX 512 /* bytes of one member; more is cut */

/* An operation, its actor and its outcome. Empty members are left out. Never holds secrets or the
 * text of messages. */
struct audit_entry {
    str user, token, how, address; /* how: "session", "token", "key", "socket", "terminal", ... */
    str via;                       /* the way in: "api", "mcp", "run", "cli" */
    str run;                       /* id of the run that did it */
    str workspace;
    str action;  /* "user.add" */
    str target;  /* an id or a name */
    str outcome; /* "ok", "denied", "failed" */
    str detail;
    int64_t time_ms; /* 0 = now */
};

struct audit_entry audit_entry_copy(struct arena *a, const struct audit_entry *e);

/* *ret_n (may be NULL): how many of them, from the first, are in the log; n unless it failed. */
int audit_append(const char *work_dir, const struct audit_entry *entries, size_t n, size_t *ret_n,
                 struct err *e);

/* Lines of another log, byte for byte. -EEXIST unless they continue the chain of this one. */
#define AUDIT_IS_ANOTHER "the records do not continue those that are there: they are another log"
int audit_extend(const char *work_dir, const str *lines, size_t n, struct err *e);

/* ---- one line ---- */

struct audit_line {
    uint64_t seq;
    char prev[SHA256_HEX_LEN + 1], hash[SHA256_HEX_LEN + 1];
    bool is_true; /* the hash matches the bytes */
};

/* False when this is not a line of an audit log. */
bool audit_line_read(str line, struct audit_line *ret);

/* ---- a chain ---- */

struct audit_head {
    uint64_t seq, first; /* of the last line; of the file it is in. 0 = no line yet */
    char hash[SHA256_HEX_LEN + 1];
};

void audit_head_init(struct audit_head *h); /* of a log without lines */
/* The line after `h` for this entry (a copy of audit_entry_copy), which becomes the head. */
int audit_line_make(struct arena *a, const struct audit_entry *entry, struct audit_head *h,
                    str *ret, struct err *e);
/* Is this a true line that follows `h`? Then it is the head. */
bool audit_line_continues(str line, struct audit_head *h);

/* ---- files ---- */

struct audit_file_name {
    uint64_t first; /* seq of its first line */
    char name[64];
};

/* In the order of their first line; none without a log. */
int audit_files(struct arena *a, const char *work_dir, struct audit_file_name **ret, size_t *ret_n,
                struct err *e);
const char *audit_path(struct arena *a, const char *work_dir, const char *name);

/* -ENOENT when nothing was ever recorded; -EINVAL when the file is damaged. */
int audit_head_read(const char *work_dir, struct audit_head *ret, struct err *e);
