/* audit.h - who did what on this server: records for the audit log of a running process.
 *
 * audit_record copies the entry and returns; a pool thread writes it (audit_file.h). Records that
 * cannot be written stay in the queue and are tried again; when the queue is full, new ones are
 * dropped and counted, and the count is recorded once writing works again. No operation waits for
 * the audit log: it records what has already happened. Files: audit_file.h (writing),
 * audit_read.h (queries, verifying). Loop thread only. */
#pragma once

#include "base/log.h"
#include "loop/pool.h"
#include "workspace/audit_file.h"

struct audit;
struct audit_log;

#define AUDIT_QUEUE_MAX 4096
#define AUDIT_RETRY_MS  5000

struct audit *audit_new(struct loop *l, struct logger *log, const char *work_dir);
/* Another log (audit_log.h) in place of the files; before the first record. Borrowed. */
void audit_share(struct audit *a, struct audit_log *to);
struct audit_log *audit_place(struct audit *a); /* for readers */
void audit_free(struct audit *a); /* writes what is in the queue first; accepts NULL */

void audit_record(struct audit *a, const struct audit_entry *e); /* a may be NULL */

struct audit_state {
    bool is_failing; /* the last attempt to write failed */
    size_t waiting;
    uint64_t dropped; /* since the last successful write */
    str reason;       /* of the failure; valid until control returns to the loop */
};

struct audit_state audit_state(const struct audit *a); /* a may be NULL: not failing */
