#include "workspace/secrets/sealed.h"

#include <dlfcn.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bytes/base64.h"
#include "base/bytes/hash.h"
#include "base/bytes/random.h"
#include "base/json/json.h"
#include "os/file.h"

#define LIBRARY      "libsodium.so.23"
#define MAGIC        "nb-sealed-1"
#define KEY_BYTES    crypto_aead_xchacha20poly1305_ietf_KEYBYTES
#define NONCE_BYTES  crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG_BYTES    crypto_aead_xchacha20poly1305_ietf_ABYTES
#define KEY_FILE_MAX 256
#define KEY_ID_CHARS 12
#define KEYCTL_READ_ 11

struct sealing {
    typeof(crypto_aead_xchacha20poly1305_ietf_encrypt) *encrypt;
    typeof(crypto_aead_xchacha20poly1305_ietf_decrypt) *decrypt;
    uint8_t key[KEY_BYTES];
    char key_id[KEY_ID_CHARS + 1]; /* from its hash: distinguishes keys */
};

/* Loads libsodium when there is something to encrypt, as for passwords. */
static int load_sodium(struct sealing *ret, struct err *e)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return err_set(e, -ENOENT,
                       "stored secrets need %s, which cannot be loaded (%s); install the package "
                       "libsodium23",
                       LIBRARY, dlerror());
    void *init = dlsym(library, "sodium_init");
    void *encrypt = dlsym(library, "crypto_aead_xchacha20poly1305_ietf_encrypt");
    void *decrypt = dlsym(library, "crypto_aead_xchacha20poly1305_ietf_decrypt");
    dlclose(library);
    typeof(sodium_init) *start = NULL;
    memcpy(&start, &init, sizeof init);
    memcpy(&ret->encrypt, &encrypt, sizeof encrypt);
    memcpy(&ret->decrypt, &decrypt, sizeof decrypt);
    if (!start || !encrypt || !decrypt || start() < 0)
        return err_set(e, -ENOSYS, "%s has no XChaCha20-Poly1305; install a newer one", LIBRARY);
    return 0;
}

/* ---- the key ---- */

/* 32 bytes, or 64 hexadecimal digits. */
static bool key_parse(str text, uint8_t key[KEY_BYTES])
{
    if (text.n == KEY_BYTES) {
        memcpy(key, text.p, KEY_BYTES);
        return true;
    }
    return hex_decode(key, KEY_BYTES, str_trim(text)) == 0;
}

/* {workDir} above {workDir}/credentials or {workDir}/workspaces/<ws>/credentials, or a directory
 * "people" in one of those. */
static str work_dir_of(const char *dir)
{
    str at = str_from(dir);
    if (str_ends(at, STR("/credentials/people")))
        at = str_slice(at, 0, at.n - strlen("/people"));
    if (!str_ends(at, STR("/credentials")))
        return at;
    at = str_slice(at, 0, at.n - strlen("/credentials"));
    ptrdiff_t slash = str_rfind_char(at, '/');
    str above = slash > 0 ? str_slice(at, 0, (size_t)slash) : STR_NONE;
    if (str_ends(above, STR("/workspaces")))
        return str_slice(above, 0, above.n - strlen("/workspaces"));
    return at;
}

/* The file that the environment names, or the one in the work directory. */
static const char *key_path(struct arena *a, str work_dir, bool *ret_own)
{
    const char *systemd = getenv("CREDENTIALS_DIRECTORY"), *named = getenv("NB_SECRETS_KEY_FILE");
    *ret_own = false;
    if (systemd && *systemd) {
        const char *path = arena_printf(a, "%s/nb-secrets-key", systemd).p;
        if (file_exists(path))
            return path;
    }
    if (named && *named)
        return named;
    *ret_own = true;
    return arena_printf(a, "%.*s/" SEALED_KEY_NAME, STR_ARG(work_dir)).p;
}

static bool key_from_kernel(uint8_t key[KEY_BYTES])
{
    char text[KEY_FILE_MAX];
    long id = syscall(SYS_request_key, "user", "nb-secrets", NULL, 0);
    long n = id > 0 ? syscall(SYS_keyctl, KEYCTL_READ_, id, text, sizeof text) : -1;
    bool is_key = n > 0 && n <= (long)sizeof text && key_parse(str_make(text, (size_t)n), key);
    explicit_bzero(text, sizeof text);
    return is_key;
}

static int make_key(const char *path, struct err *e)
{
    uint8_t raw[KEY_BYTES];
    char text[2 * KEY_BYTES + 1];
    random_bytes(raw, sizeof raw);
    hex_encode(text, raw, sizeof raw);
    text[2 * KEY_BYTES] = '\n';
    /* Written under a temporary name first: a reader never sees a part of the key, and the first
     * key stays. */
    char temp[4096], tag[RANDOM_ID_MAX];
    random_id("key", tag);
    snprintf(temp, sizeof temp, "%s.%s", path, tag);
    int r = file_write_atomic(temp, str_make(text, sizeof text), 0600, e);
    if (r == 0 && link(temp, path) < 0 && errno != EEXIST)
        r = err_errno(e, -errno, "cannot create", path);
    (void)unlink(temp);
    explicit_bzero(raw, sizeof raw);
    explicit_bzero(text, sizeof text);
    return r;
}

static void name_key(struct sealing *s)
{
    char hex[SHA256_HEX_LEN + 1];
    sha256_hex(str_make((const char *)s->key, KEY_BYTES), hex);
    snprintf(s->key_id, sizeof s->key_id, "%.*s", KEY_ID_CHARS, hex);
}

static int find_key(struct sealing *s, struct arena *a, const char *dir, bool create, struct err *e)
{
    bool is_own;
    str text;
    const char *path = key_path(a, work_dir_of(dir), &is_own);
    if (is_own && key_from_kernel(s->key)) {
        name_key(s);
        return 0;
    }
    if (is_own && create && !file_exists(path)) {
        int r = make_key(path, e);
        if (r < 0)
            return r;
    }
    if (file_read(a, path, KEY_FILE_MAX, &text, e) < 0)
        return err_set(e, -ENOKEY,
                       "the key of the stored secrets is missing: %s cannot be read. Restore the "
                       "key, or set NB_SECRETS_KEY_FILE to its path, or enter the secrets again",
                       path);
    if (!key_parse(text, s->key))
        return err_set(e, -ENOKEY, "%s is not a key: it must be 32 bytes or 64 hexadecimal digits",
                       path);
    explicit_bzero((char *)text.p, text.n);
    name_key(s);
    return 0;
}

const char *sealed_key_place(struct arena *a, const char *work_dir)
{
    bool is_own;
    uint8_t key[KEY_BYTES];
    const char *path = key_path(a, str_from(work_dir), &is_own);
    bool is_kernel = is_own && key_from_kernel(key);
    explicit_bzero(key, sizeof key);
    return is_kernel ? "the kernel's keyring (nb-secrets)" : arena_printf(a, "the file %s", path).p;
}

/* ---- files ---- */

static str sealed_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return str_from(slash ? slash + 1 : path);
}

static int bad_file(const char *path, struct err *e)
{
    return err_set(e, -EINVAL, "%s is damaged; delete it and enter its secrets again", path);
}

static int open_sealed(struct arena *a, const char *dir, const char *path, const struct json *v,
                       str *ret, struct err *e)
{
    struct sealing s;
    struct buf nonce, data;
    str name = sealed_file_name(path), key_id = json_get_string(v, "keyId");
    int r = load_sodium(&s, e);
    if (r == 0)
        r = find_key(&s, a, dir, false, e);
    if (r < 0)
        return r;
    if (!str_eq(key_id, str_from(s.key_id)))
        return err_set(e, -ENOKEY,
                       "%s is encrypted with another key (%.*s; this is %s). Restore that "
                       "key, or enter the secrets again",
                       path, STR_ARG(key_id), s.key_id);
    buf_init(&nonce, NONCE_BYTES + 8);
    buf_init(&data, 4u << 20);
    r = -EINVAL;
    if (base64_decode(&nonce, json_get_string(v, "nonce")) == 0 && nonce.n == NONCE_BYTES &&
        base64_decode(&data, json_get_string(v, "data")) == 0 && data.n >= TAG_BYTES) {
        unsigned long long n = 0;
        uint8_t *out = arena_alloc(a, data.n + 1);
        r = s.decrypt(out, &n, NULL, (uint8_t *)data.p, data.n, (const uint8_t *)name.p, name.n,
                      (uint8_t *)nonce.p, s.key);
        *ret = str_make((char *)out, (size_t)n);
    }
    explicit_bzero(s.key, sizeof s.key);
    buf_done(&nonce);
    buf_done(&data);
    return r == 0 ? 0 : bad_file(path, e);
}

int sealed_read(struct arena *a, const char *dir, const char *path, size_t max_bytes, str *ret,
                struct err *e)
{
    struct json *v;
    str text;
    int r = file_read(a, path, 2 * max_bytes, &text, e);
    if (r < 0)
        return r;
    if (json_parse(a, text, JSON_COPY, &v, NULL) < 0 ||
        !str_eq(json_get_string(v, "format"), STR(MAGIC))) {
        *ret = text; /* a file from an older version: plain text */
        return 0;
    }
    return open_sealed(a, dir, path, v, ret, e);
}

static void write_sealed(struct buf *b, const struct sealing *s, const uint8_t *nonce, str data)
{
    struct json_writer w;
    struct buf text;
    buf_init(&text, 8u << 20);
    jw_init(&w, b);
    jw_object(&w);
    jw_kstr(&w, "format", STR(MAGIC));
    jw_kstr(&w, "keyId", str_from(s->key_id));
    base64_encode(&text, str_make((const char *)nonce, NONCE_BYTES));
    jw_kstr(&w, "nonce", buf_str(&text));
    buf_clear(&text);
    base64_encode(&text, data);
    jw_kstr(&w, "data", buf_str(&text));
    jw_end(&w);
    buf_add_char(b, '\n');
    buf_done(&text);
}

int sealed_write(const char *dir, const char *path, str text, struct err *e)
{
    struct sealing s;
    struct arena a;
    struct buf b;
    uint8_t nonce[NONCE_BYTES];
    str name = sealed_file_name(path);
    arena_init(&a);
    buf_init(&b, 8u << 20);
    int r = load_sodium(&s, e);
    if (r == 0)
        r = find_key(&s, &a, dir, true, e);
    if (r == 0) {
        unsigned long long n = 0;
        uint8_t *out = arena_alloc(&a, text.n + TAG_BYTES);
        random_bytes(nonce, sizeof nonce);
        (void)s.encrypt(out, &n, (const uint8_t *)text.p, text.n, (const uint8_t *)name.p, name.n,
                        NULL, nonce, s.key);
        write_sealed(&b, &s, nonce, str_make((char *)out, (size_t)n));
        explicit_bzero(s.key, sizeof s.key);
        r = buf_failed(&b) ? err_set(e, -EFBIG, "%s would be too large", path)
                           : file_write_atomic(path, buf_str(&b), 0600, e);
    }
    buf_done(&b);
    arena_done(&a);
    return r;
}
