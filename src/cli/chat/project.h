/* project.h - AGENTS.md and CLAUDE.md of the project in whose directory the terminal is.
 *
 * They are given as files with the first message of a conversation, so they have the rights of that
 * message and no others: a cloned repository can say something, but allow nothing. Only regular
 * files that belong to the user are read, never symbolic links, which could name a secret; and only
 * where commands may run (workspace/dir_grant.h). Blocking: looks at the disk. */
#pragma once

#include "cli/session/session.h"

#define PROJECT_FILES_MAX 4u
#define PROJECT_BYTES_MAX (64u * 1024) /* larger ones are left out */

struct project {
    struct project_file {
        const char *path, *name; /* name: as the user knows it, relative to the root */
        int64_t bytes;
        bool is_too_large;
    } files[PROJECT_FILES_MAX];
    size_t n;
};

/* In `dir` and in the root of its project, the directory above it that has .git. */
void project_find(struct arena *a, const char *dir, struct project *ret);

/* For the next message, if it is the first one of a conversation. `tell` gets a line for each file;
 * may be NULL. -errno with the reason. Runs the loop. */
int project_attach(const struct cli *cli, const struct config *c, struct chat_session *s,
                   void (*tell)(void *ctx, const struct project_file *f), void *ctx, struct err *e);
/* Whether it is turned off, or there is no directory. */
bool project_is_off(const struct cli *cli, const struct config *c, const struct chat_session *s);
