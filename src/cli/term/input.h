/* input.h - the text of a message: prompt, piped input, attached files. */
#pragma once

#include <stdio.h>

#include "cli/cli.h"
#include "runtime/runtime.h"

/* Joins the prompt, piped input (when stdin is not a terminal) and attached files into one message.
 * Foreign text is fenced so that it cannot be mistaken for the question. */
int input_compose(const struct cli *cli, struct arena *a, str *ret, struct err *e);

/* One line without its end. A line that is too long for a message is cut, but stays too
 * long, so that it is refused. False at the end of the input, or when it cannot be read. */
#define INPUT_LINE_MAX (TURN_MESSAGE_MAX + 1u)
bool input_read_line(FILE *in, struct buf *line);

/* All of stdin, at most max bytes: -EFBIG beyond. */
int input_read_stdin(struct arena *a, size_t max, str *ret, struct err *e);
