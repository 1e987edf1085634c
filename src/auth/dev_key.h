/* dev_key.h - the key of an installation without authentication.
 *
 * Without instance.json and NB_API_KEY there is one owner, and a client of the TCP port is not
 * necessarily that owner: it may be another user of the machine, a bundle with network access or a
 * container. So every TCP request needs a key: 256 random bits in {workDir}/auth/dev.key (0600),
 * made the first time that the server listens. Bundles cannot read the work directory. The owner
 * of the files needs no key over nb.sock, which checks the uid of the peer. Blocking: for start-up
 * and pool threads. */
#pragma once

#include "auth/session/token.h"
#include "base/err.h"

#define DEV_KEY_FILE "auth/dev.key"

/* -ENOENT when there is none yet. A file that others may read or that another user owns is
 * refused with -EACCES, because its key is not a secret. */
int dev_key_read(const char *work_dir, char ret[SECRET_CHARS + 1], struct err *e);

/* Reads the key, or makes one. Two processes that start together agree on one key. */
int dev_key_ensure(const char *work_dir, char ret[SECRET_CHARS + 1], struct err *e);

/* Replaces the key. */
int dev_key_renew(const char *work_dir, char ret[SECRET_CHARS + 1], struct err *e);
