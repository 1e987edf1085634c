/* log.h - diagnostics for the operator (not conversation logs; those are in store/).
 *
 * A logger formats one line, scrubs it and hands it to a sink; base does no I/O itself.
 * Lines are text or JSON. Known key shapes (sk-..., Bearer ..., x-api-key) and the
 * secrets registered with log_secret() are replaced by "[redacted]" before the sink
 * sees them. Any thread may log once the logger is set up; the sink must be thread-safe. */
#pragma once

#include "base/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_OFF };
enum log_format { LOG_TEXT, LOG_JSON };

typedef void (*log_sink)(void *ctx, enum log_level level, str line); /* line ends in '\n' */

struct logger;

struct logger *logger_new(enum log_level level, enum log_format format, log_sink sink, void *ctx);
void logger_free(struct logger *l);
void log_secret(struct logger *l, str secret); /* set-up time only; shorter than 8 is ignored */
bool log_enabled(const struct logger *l, enum log_level level); /* l may be NULL: false */

/* `area` names the floor that logs ("store"). l may be NULL. Line breaks in the message become
 * spaces, so that one call is one line. */
void log_msg(struct logger *l, enum log_level level, const char *area, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* What a line belongs to: members of a JSON line, and at the end of a text line. Empty ones are
 * left out. */
struct log_ids {
    str request, trace;
};
void log_msg_for(struct logger *l, enum log_level level, const char *area,
                 const struct log_ids *ids, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

#define log_debug(l, area, ...) log_msg((l), LOG_DEBUG, (area), __VA_ARGS__)
#define log_info(l, area, ...)  log_msg((l), LOG_INFO, (area), __VA_ARGS__)
#define log_warn(l, area, ...)  log_msg((l), LOG_WARN, (area), __VA_ARGS__)
#define log_error(l, area, ...) log_msg((l), LOG_ERROR, (area), __VA_ARGS__)

int log_level_parse(str name, enum log_level *ret); /* debug info warn error off */
