/* input.h - the text of a message: what was typed, what was piped, what was attached. */
#pragma once

#include "cli/cli.h"

/* Joins the prompt, piped input (when stdin is no terminal) and attached files into one
 * message. Foreign text is fenced so that it cannot be taken for the question. */
int input_compose(const struct cli *cli, struct arena *a, str *ret, struct err *e);

/* All of stdin, at most max bytes: -EFBIG beyond. */
int input_read_stdin(struct arena *a, size_t max, str *ret, struct err *e);
