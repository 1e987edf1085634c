/* ask.h - questions to the user at the terminal, one line each.
 *
 * Prompts are written to stderr, so that results can be piped. Secrets are not echoed, and the mode
 * of the terminal is restored, also after Ctrl-C. Blocking. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#define ASK_LINE_MAX 4096

/* Reads a line, trimmed; an empty line returns `otherwise` (may be NULL), which the prompt shows.
 * -ECANCELED: Ctrl-C, Ctrl-D or the end of the input. */
int ask_line(struct buf *ret, const char *prompt, const char *otherwise);

/* Not trimmed. Only at a terminal (-ENOTTY). */
int ask_secret(struct buf *ret, const char *prompt);

/* y or n; Enter is no. */
bool ask_yes(const char *prompt);

/* Overwrites what was typed, and frees it (buf_done). */
void ask_forget(struct buf *typed);

/* The next line of stdin, without its end: for secrets from other programs. */
int ask_stdin(struct buf *ret, struct err *e);
