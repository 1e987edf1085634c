#include "auth/session/password.h"

#include <dlfcn.h>
#include <errno.h>
#include <sodium.h>

#include "base/utf8.h"

#define LIBRARY "libsodium.so.23"

#define OPSLIMIT crypto_pwhash_OPSLIMIT_INTERACTIVE
#define MEMLIMIT crypto_pwhash_MEMLIMIT_INTERACTIVE

_Static_assert(PASSWORD_HASH_MAX >= crypto_pwhash_STRBYTES, "a hash fits");

/* A hash without a password, with the current parameters: it is verified for names that do not
 * exist, so that the time reveals nothing. */
#define NOBODY                                                                                     \
    "$argon2id$v=19$m=65536,t=2,p=1$bm9ib2R5IGlzIGhlcmUgOg$"                                       \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

struct sodium {
    typeof(sodium_init) *init;
    typeof(crypto_pwhash_str) *hash;
    typeof(crypto_pwhash_str_verify) *verify;
};

/* Not linked, because only logins need it and every start would pay for it. dlopen counts
 * references and NODELETE keeps the library, so that later calls cost microseconds. */
static int sodium_load(struct sodium *ret, struct err *e)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return err_set(e, -ENOENT,
                       "passwords need %s, which cannot be loaded (%s); install the package "
                       "libsodium23",
                       LIBRARY, dlerror());
    void *init = dlsym(library, "sodium_init"), *hash = dlsym(library, "crypto_pwhash_str");
    void *verify = dlsym(library, "crypto_pwhash_str_verify");
    dlclose(library);
    if (!init || !hash || !verify)
        return err_set(e, -ENOSYS, "%s does not support argon2id; install a newer version",
                       LIBRARY);
    memcpy(&ret->init, &init, sizeof init);
    memcpy(&ret->hash, &hash, sizeof hash);
    memcpy(&ret->verify, &verify, sizeof verify);
    return ret->init() < 0 ? err_set(e, -ENOSYS, "%s cannot be initialised", LIBRARY) : 0;
}

int password_check(str password, struct err *e)
{
    if (password.n < PASSWORD_MIN)
        return err_set(e, -EINVAL, "a password must have at least %d characters", PASSWORD_MIN);
    if (password.n > PASSWORD_MAX)
        return err_set(e, -EINVAL, "a password must have at most %d bytes", PASSWORD_MAX);
    if (!utf8_valid(password))
        return err_set(e, -EINVAL, "the password is not valid UTF-8");
    return 0;
}

int password_hash(str password, char ret[PASSWORD_HASH_MAX], struct err *e)
{
    struct sodium s;
    int r = password_check(password, e);
    if (r == 0)
        r = sodium_load(&s, e);
    if (r < 0)
        return r;
    if (s.hash(ret, password.p, password.n, OPSLIMIT, MEMLIMIT) < 0)
        return err_set(e, -ENOMEM, "not enough memory to hash a password (%zu MiB)",
                       (size_t)MEMLIMIT >> 20);
    return 0;
}

int password_verify(str hash, str password, struct err *e)
{
    char text[PASSWORD_HASH_MAX] = NOBODY;
    struct sodium s;
    int r = sodium_load(&s, e);
    if (r < 0)
        return r;
    bool is_somebody = hash.n > 0 && hash.n < sizeof text;
    if (is_somebody)
        snprintf(text, sizeof text, "%.*s", STR_ARG(hash));
    if (password.n > PASSWORD_MAX)
        password.n = 0;
    bool is_right = s.verify(text, password.p ? password.p : "", password.n) == 0;
    if (!is_right || !is_somebody || password.n == 0)
        return err_set(e, -EACCES, "wrong e-mail address or password");
    return 0;
}
