/* call_log.h - records which user called which tool, when, for how long, and with which result
 * (JSONL).
 *
 * Lines are collected in memory and written by a pool thread a few times per second. The file is
 * rotated by size (CALL_LOG_FILE_MAX, CALL_LOG_FILES kept); when the disk is too slow, lines beyond
 * CALL_LOG_BUFFER_MAX are dropped and counted. Loop thread only. */
#pragma once

#include "loop/pool.h"

#define CALL_LOG_FILE_MAX    (16u * 1024 * 1024)
#define CALL_LOG_FILES       4
#define CALL_LOG_BUFFER_MAX  (8u * 1024 * 1024)
#define CALL_LOG_FLUSH_MS    250
#define CALL_LOG_SPARE_BYTES (64u * 1024) /* of a buffer that is kept for the next lines */
#define CALL_LOG_CLIENT_MAX  128          /* bytes of the name that a client gives itself */

struct call_log;

struct call_log_entry {
    str user_id, workspace_id, tool, client;
    const char *outcome;
    uint64_t took_us;
};

struct call_log *call_log_new(struct loop *l, struct pool *p, struct logger *log, const char *path);
void call_log_add(struct call_log *a, const struct call_log_entry *e);
/* Writes the remaining lines. A write in progress ends first: the pool must be freed afterwards,
 * and no later than then everything is written. Accepts NULL. */
void call_log_free(struct call_log *a);
