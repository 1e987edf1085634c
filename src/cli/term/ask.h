/* ask.h - questions to the person at the terminal, one line each.
 *
 * Prompts go to stderr, so that results can be piped. Secrets are not shown while they are
 * typed, and the terminal is given back as it was, also after Ctrl-C. Blocking. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#define ASK_LINE_MAX 4096

/* What was typed, trimmed; `otherwise` (may be NULL) for an empty line, and shown in the
 * prompt. -ECANCELED: Ctrl-C, Ctrl-D or the end of the input. */
int ask_line(struct buf *ret, const char *prompt, const char *otherwise);

/* As typed. Only at a terminal (-ENOTTY). */
int ask_secret(struct buf *ret, const char *prompt);

/* y or n; Enter is no. */
bool ask_yes(const char *prompt);

/* The first line of stdin, without its end: for secrets from another program. */
int ask_stdin(struct buf *ret, struct err *e);
