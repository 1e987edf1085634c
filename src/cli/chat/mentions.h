/* mentions.h - files in a message that is typed in a terminal: @path, and the path of a picture or
 * a PDF that was pasted, as terminals write it when a file is dropped on them. The text of the
 * message stays as it is. Blocking: looks at the disk. */
#pragma once

#include "base/buf.h"
#include "cli/screen/editor.h"

#define MENTIONS_MAX 20u /* of one message, as the server has it */

struct mentions {
    const char *paths[MENTIONS_MAX];
    size_t n;
    bool is_cut; /* there are more */
};

/* A word that names no file that can be read is only text. Paths begin at `dir`; `home` is for
 * "~/", and may be NULL. Quotes and backslashes protect spaces, as in a shell. */
void mentions_find(struct arena *a, str text, const char *dir, const char *home,
                   struct mentions *ret);

/* For Tab: editor_complete_fn. `ctx` is the home directory, or NULL. */
bool mentions_complete(void *ctx, str typed, struct buf *ret_common, struct buf *ret_all);

#define MENTIONS_CONVERSATIONS_MAX 5u

/* The ids of conversations in a message: @conv_0123456789abcdef, each once; at most
 * MENTIONS_CONVERSATIONS_MAX. They are parts of the text. */
size_t mentions_conversations(str text, str ret[MENTIONS_CONVERSATIONS_MAX]);
