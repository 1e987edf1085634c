/* mirror.h - settings and skills of a workspace, the same on several servers.
 *
 * They are files that people edit and that most of nb reads as files, so they stay files: each
 * server has them in its directory of the workspace, and makes them equal to the documents of the
 * workspace (documents.h), in both directions:
 *
 *   workspace.json                  apps, models, rules; not if the server has one workspace only
 *   texts.json                      instructions and saved prompts (texts.h)
 *   skills/, people/<user>/skills/  with everything in them
 *   credentials/                    encrypted; each server needs the same key (sealed.h)
 *   pins/                           accepted definitions of tools
 *
 * What both sides had in common the last time is kept in .shared.json, so that a difference says
 * who has changed a file. If both have, the documents win, and the file is moved to
 * shared-conflicts/. Names that begin with a dot, links, empty files and those of more than
 * MIRROR_FILE_MAX are left alone. Blocking: one pool thread at a time. */
#pragma once

#include "base/log.h"
#include "workspace/documents.h"

#define MIRROR_FILE_MAX (1024u * 1024)
#define MIRROR_FILES    2000u

struct mirror;

struct mirror_conf { /* copied */
    struct document_table *table;
    struct logger *log;
    const char *root; /* of the workspace */
    str workspace_id;
    bool has_settings; /* workspace.json */
};

struct mirror *mirror_new(const struct mirror_conf *conf);
void mirror_free(struct mirror *m); /* accepts NULL */

/* *ret_changed: files of this server were changed. */
int mirror_sync(struct mirror *m, bool *ret_changed, struct err *e);
