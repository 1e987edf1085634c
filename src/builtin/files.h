/* files.h - shared by the files__* tools.
 *
 *   files.c        files__list, files__search
 *   files_read.c   files__read
 *   files_write.c  files__write */
#pragma once

#include "builtin/internal.h"
#include "runtime/seen_files.h"

#define FILES_TOOL_CHARS 30000 /* of one answer */

/* Calls `then` with the files that the call can see (runtime/seen_files.h), or answers it. They
 * live as long as the call. The conversation is that of the argument conversationId, else that of
 * the call. */
void file_tool_gather(struct builtin_call *c,
                      void (*then)(struct builtin_call *c, const struct file_set *set));
/* The file that the argument `file` means. NULL: the call is answered. */
const struct attached *file_tool_pick(struct builtin_call *c, const struct file_set *set);
