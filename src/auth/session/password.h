/* password.h - argon2id, by libsodium, which is loaded for the first password.
 *
 * Each call takes tens of milliseconds and 64 MiB: for pool threads and commands. Thread-safe. */
#pragma once

#include "base/err.h"

#define PASSWORD_MIN      8
#define PASSWORD_MAX      1024
#define PASSWORD_HASH_MAX 128

/* Long enough, not too long, and text. */
int password_check(str password, struct err *e);

int password_hash(str password, char ret[PASSWORD_HASH_MAX], struct err *e);

/* 0 = correct, -EACCES = wrong. An empty hash (the user does not exist, or has no password)
 * takes as long as a wrong password and is always wrong. */
int password_verify(str hash, str password, struct err *e);
