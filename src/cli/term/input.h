/* input.h - the text of a message: prompt, piped input, attached files. */
#pragma once

#include <stdio.h>

#include "cli/cli.h"
#include "runtime/runtime.h"

/* Joins the prompt, piped input (when stdin is not a terminal) and attached texts into one message.
 * Foreign text is fenced so that it cannot be mistaken for the question. *ret_files: the attached
 * files that are not text, such as pictures. */
struct input_files {
    const char **paths;
    size_t n;
};
int input_compose(const struct cli *cli, struct arena *a, str *ret, struct input_files *ret_files,
                  struct err *e);

/* One line without its end. A line that is too long for a message is cut, but stays too
 * long, so that it is refused. False at the end of the input, or when it cannot be read. */
#define INPUT_LINE_MAX (TURN_MESSAGE_MAX + 1u)
bool input_read_line(FILE *in, struct buf *line);

/* All of stdin, at most max bytes: -EFBIG beyond. */
int input_read_stdin(struct arena *a, size_t max, str *ret, struct err *e);

/* Adds foreign text with a label, fenced. -EILSEQ: it is not UTF-8. */
int input_add_block(struct buf *b, const char *label, str text, struct err *e);
