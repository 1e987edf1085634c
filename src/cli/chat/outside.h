/* outside.h - other programs in the terminal of the chat: an editor for the message, and commands.
 *
 * The terminal has its former mode while they run. They are the person's own programs, with the
 * rights and the environment of the shell that started nb. Blocking. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "cli/screen/term.h"

#define OUTSIDE_OUTPUT_MAX (64u * 1024) /* bytes of a command's output that can be sent */

/* Edits the text with $VISUAL, $EDITOR or vi, in a file that only the user can read. */
int outside_edit(struct term *t, struct buf *text, struct err *e);

/* Runs a line of the shell and shows what it prints, made safe. `ret` gets the end of that, at most
 * OUTSIDE_OUTPUT_MAX bytes of valid text. *ret_code: as a shell reports it. */
int outside_run(struct term *t, const char *line, struct buf *ret, int *ret_code, struct err *e);
