/* audit.h - who called which tool, when, for how long, and how it ended: JSONL.
 *
 * Lines are gathered and written by a pool thread a few times a second. The file is rotated by
 * size (AUDIT_FILE_MAX, AUDIT_FILES kept); when the disk does not keep up, lines beyond
 * AUDIT_BUFFER_MAX are dropped and counted. Loop thread only. */
#pragma once

#include "loop/pool.h"

#define AUDIT_FILE_MAX   (16u * 1024 * 1024)
#define AUDIT_FILES      4
#define AUDIT_BUFFER_MAX (8u * 1024 * 1024)
#define AUDIT_FLUSH_MS   250
#define AUDIT_CLIENT_MAX 128 /* bytes of what a client calls itself */

struct audit;

struct audit_entry {
    str user_id, workspace_id, tool, client;
    const char *outcome;
    uint64_t took_us;
};

struct audit *audit_new(struct loop *l, struct pool *p, struct logger *log, const char *path);
void audit_add(struct audit *a, const struct audit_entry *e);
/* Writes what is left, waiting for it; accepts NULL. */
void audit_free(struct audit *a);
