#include "base/bytes/random.h"

#include <assert.h>
#include <errno.h>
#include <sys/random.h>

#include "base/bytes/base64.h"

void random_bytes(void *p, size_t n)
{
    char *at = p;
    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            fputs("nb: the kernel returned no random bytes\n", stderr);
            abort();
        }
        at += got;
        n -= (size_t)got;
    }
}

uint64_t random_u64(void)
{
    uint64_t v;
    random_bytes(&v, sizeof(v));
    return v;
}

void random_id(const char *prefix, char out[RANDOM_ID_MAX])
{
    uint8_t bytes[8];
    size_t n = strlen(prefix);
    assert(n + 1 + 2 * sizeof(bytes) < RANDOM_ID_MAX);
    random_bytes(bytes, sizeof(bytes));
    (void)snprintf(out, RANDOM_ID_MAX, "%s_", prefix);
    hex_encode(out + n + 1, bytes, sizeof(bytes));
}
