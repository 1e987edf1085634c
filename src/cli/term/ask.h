/* ask.h - questions to the user at the terminal, one line each.
 *
 * Prompts are written to stderr, so that results can be piped. Secrets are not echoed, and the mode
 * of the terminal is restored, also after Ctrl-C. Blocking. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text/secret_name.h"

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

#define SECRET_MAX 8192

/* Secret values: read from the terminal without echo, from a pipe or from a file; never from a
 * command line, which every user of the machine can read. False without input, or with more than
 * SECRET_MAX bytes. Removes the line feed. */
bool secret_read(struct arena *a, const char *prompt, str *ret);

/* The first line of a file or a named pipe, with the same limits; "-" is stdin, as above. */
int secret_read_file(struct arena *a, const char *path, str *ret, struct err *e);
