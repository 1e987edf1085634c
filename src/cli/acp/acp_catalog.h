/* acp_catalog.h - which conversation a session of an editor has, and in which directory it works.
 *
 * An editor gets the id of a session before the first message, a conversation exists only after it.
 * {workDir}/acp/sessions.jsonl connects both, one object per line, oldest first; the newest
 * ACP_CATALOG_MAX are kept. It is a convenience for editors: without it, conversations are loaded
 * by their own ids. Lines that cannot be read are ignored. Blocking. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define ACP_CATALOG_MAX 1000

struct acp_entry {
    str session, conversation, cwd;
};

struct acp_catalog {
    struct acp_entry *entries; /* oldest first; in the arena */
    size_t n;
};

/* A file that does not exist is an empty catalogue. */
void acp_catalog_read(struct arena *a, const char *work_dir, struct acp_catalog *ret);
/* Adds the entry; entries with the same session are replaced. */
int acp_catalog_add(const char *work_dir, const struct acp_entry *entry, struct err *e);

/* NULL = unknown. */
const struct acp_entry *acp_catalog_by_session(const struct acp_catalog *c, str session);
const struct acp_entry *acp_catalog_by_conversation(const struct acp_catalog *c, str conversation);
