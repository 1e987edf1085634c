/* acp_blocks.h - the content blocks of a prompt as one message and its files.
 *
 * Text stays as it is. A resource is mentioned where it stands, as [@name](address); its text
 * follows the message in a fence of its own, because it was written by somebody else, unless it is
 * so long that it becomes a file. Pictures and bytes become files. A link to a file of this machine
 * names it. Pure. */
#pragma once

#include "base/json/json.h"

#define ACP_BLOCKS_MAX      256
#define ACP_FILES_MAX       16
#define ACP_INLINE_MAX      (64u * 1024) /* bytes of one resource */
#define ACP_PROMPT_TEXT_MAX (1024u * 1024)

struct acp_file {
    str name;
    str bytes; /* or, when it has none: */
    str path;  /* of a file that may exist on this machine */
};

struct acp_blocks {
    str text;
    struct acp_file files[ACP_FILES_MAX];
    size_t nfiles;
};

/* -EINVAL with the reason, which names the block. Everything is copied to the arena. */
int acp_blocks_read(struct arena *a, const struct json *prompt, struct acp_blocks *ret,
                    struct err *e);
