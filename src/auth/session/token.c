#include "auth/session/token.h"

#include <assert.h>

#include "base/bytes/base64.h"
#include "base/bytes/random.h"

#define SECRET_BYTES 32

void secret_make(char ret[SECRET_CHARS + 1])
{
    uint8_t bytes[SECRET_BYTES];
    struct buf b;
    random_bytes(bytes, sizeof bytes);
    buf_init(&b, SECRET_CHARS + 1); /* the encoder works with room for padding */
    int r = base64url_encode(&b, str_make((const char *)bytes, sizeof bytes));
    assert(r == 0 && b.n == SECRET_CHARS);
    memcpy(ret, b.p, SECRET_CHARS);
    ret[SECRET_CHARS] = 0;
    buf_done(&b);
}

void token_make(char ret[TOKEN_MAX])
{
    memcpy(ret, TOKEN_PREFIX, sizeof TOKEN_PREFIX - 1);
    secret_make(ret + sizeof TOKEN_PREFIX - 1);
}

bool token_looks_right(str value)
{
    return value.n == TOKEN_CHARS && str_starts(value, STR(TOKEN_PREFIX));
}
