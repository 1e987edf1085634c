/* random.h - unpredictable bytes and the ids made of them. Thread-safe; aborts if the kernel
 * returns no random bytes, because a guessable id is worse than no server. */
#pragma once

#include "base/str.h"

void random_bytes(void *p, size_t n);
uint64_t random_u64(void);

#define RANDOM_ID_MAX 32

/* prefix + "_" + 16 lower-case hex digits, NUL-terminated: random_id("conv", id). The prefix
 * has at most 14 characters. */
void random_id(const char *prefix, char out[RANDOM_ID_MAX]);
