/* sealed.h - small secret files, encrypted at rest with a key of this installation.
 *
 * XChaCha20-Poly1305 of libsodium, bound to the file's name. The key is the first of:
 *   $CREDENTIALS_DIRECTORY/nb-secrets-key   a credential of systemd (LoadCredential=)
 *   $NB_SECRETS_KEY_FILE                    a file that the administrator names
 *   the kernel's keyring                    a "user" key called nb-secrets
 *   {workDir}/.secrets.key                  0600, created when needed; never part of a backup
 * A key is 32 bytes, or 64 hexadecimal digits. So a backup alone reveals no secret. Plain-text
 * files of older versions are read, and encrypted when they are next written. Blocking: for
 * commands and pool threads. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define SEALED_KEY_NAME ".secrets.key"

/* Reads the text of a file. `dir` is its directory: {workDir}/credentials, that of a workspace
 * below {workDir}/workspaces, or `people` in one of them. -ENOKEY: the file is encrypted and the
 * key is missing or wrong. */
int sealed_read(struct arena *a, const char *dir, const char *path, size_t max_bytes, str *ret,
                struct err *e);
/* Encrypts the text and writes the file atomically, 0600. */
int sealed_write(const char *dir, const char *path, str text, struct err *e);

/* The source of the key, for people: "the file /x/.secrets.key". */
const char *sealed_key_place(struct arena *a, const char *work_dir);
