/* secret.h - secret values: read from the terminal without echo, from a pipe or from a file; never
 * from a command line, which every user of the machine can read. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/text/secret_name.h"

#define SECRET_MAX 8192

/* False without input, or with more than SECRET_MAX bytes. Removes the line feed. */
bool secret_read(struct arena *a, const char *prompt, str *ret);

/* The first line of a file or a named pipe, with the same limits; "-" is stdin, as above. */
int secret_read_file(struct arena *a, const char *path, str *ret, struct err *e);
