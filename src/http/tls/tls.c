#include "http/tls/tls.h"

#include <assert.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509err.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "http/tls/ssl_api.h"

#define LOOK_EACH_MS 1000

/* Of TLS 1.2; those of 1.3 are all modern. Forward secret, with authenticated encryption. */
#define CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"

struct tls_keys {
    struct ssl_api api;
    struct logger *log;
    char *cert_path, *key_path;
    SSL_CTX *context;
    struct stat seen[2]; /* of the files when they were last read */
    uint64_t looked_ms;
};

struct tls_session {
    struct ssl_api api;
    SSL *ssl;
    BIO *in, *out; /* owned by ssl */
    char *taken;   /* output that was handed out */
};

/* ---- keys ---- */

static const char *ssl_reason(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_last_error());
    return text ? text : "not a certificate or key in PEM format";
}

/* "http/1.1", or no answer: a client that offers only other protocols gets none of them. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_n,
                           const unsigned char *in, unsigned in_n, void *ctx)
{
    for (unsigned i = 0; i < in_n && i + in[i] < in_n; i += in[i] + 1u) {
        if (!str_eq(str_make((const char *)in + i + 1, in[i]), STR("http/1.1")))
            continue;
        *out = in + i + 1;
        *out_n = in[i];
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_NOACK;
}

static int read_pair(const struct tls_keys *k, SSL_CTX *c, struct err *e)
{
    ERR_clear_error();
    if (k->api.SSL_CTX_use_certificate_chain_file(c, k->cert_path) != 1)
        return err_set(e, -EINVAL, "http.tls.cert: %s cannot be used: %s", k->cert_path,
                       ssl_reason());
    bool is_read = k->api.SSL_CTX_use_PrivateKey_file(c, k->key_path, SSL_FILETYPE_PEM) == 1;
    bool is_other = ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH;
    if (!is_read && !is_other)
        return err_set(e, -EINVAL, "http.tls.key: %s cannot be used: %s", k->key_path,
                       ssl_reason());
    if (!is_read || k->api.SSL_CTX_check_private_key(c) != 1)
        return err_set(e, -EINVAL, "http.tls.key: %s is not the key of the certificate in %s",
                       k->key_path, k->cert_path);
    return 0;
}

static int make_context(const struct tls_keys *k, SSL_CTX **ret, struct err *e)
{
    const struct ssl_api *a = &k->api;
    SSL_CTX *c = a->SSL_CTX_new(a->TLS_server_method());
    if (!c)
        return err_set(e, -ENOMEM, "http.tls: OpenSSL cannot be used: %s", ssl_reason());
    a->SSL_CTX_ctrl(c, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
    a->SSL_CTX_ctrl(c, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, NULL);
    a->SSL_CTX_ctrl(c, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
    a->SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    a->SSL_CTX_set_alpn_select_cb(c, choose_protocol, NULL);
    int r = a->SSL_CTX_set_cipher_list(c, CIPHERS) == 1
                ? read_pair(k, c, e)
                : err_set(e, -ENOSYS, "http.tls: OpenSSL has no modern ciphers");
    if (r == 0)
        *ret = c;
    else
        a->SSL_CTX_free(c);
    return r;
}

static void stat_files(const struct tls_keys *k, struct stat ret[2])
{
    memset(ret, 0, 2 * sizeof *ret);
    (void)stat(k->cert_path, &ret[0]);
    (void)stat(k->key_path, &ret[1]);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Two small local files, and only when a client connects: a thread would cost more. While one of
 * the two has been replaced and the other has not, they do not belong together: the next look finds
 * a change again. */
static void look_again(struct tls_keys *k)
{
    struct stat now[2];
    struct err e = {0};
    SSL_CTX *fresh;
    uint64_t now_ms = clock_mono_ms();
    if (now_ms - k->looked_ms < LOOK_EACH_MS)
        return;
    k->looked_ms = now_ms;
    stat_files(k, now);
    if (is_same_file(&now[0], &k->seen[0]) && is_same_file(&now[1], &k->seen[1]))
        return;
    memcpy(k->seen, now, sizeof now);
    if (make_context(k, &fresh, &e) < 0) {
        log_warn(k->log, "http", "%s; the certificate that was read before stays in use", e.msg);
        return;
    }
    k->api.SSL_CTX_free(k->context);
    k->context = fresh;
    log_info(k->log, "http", "the changed certificate in %s is used from now on", k->cert_path);
}

int tls_keys_open(str cert_path, str key_path, struct logger *log, struct tls_keys **ret,
                  struct err *e)
{
    struct tls_keys *k = xcalloc(1, sizeof *k);
    k->log = log;
    k->cert_path = str_dup(cert_path);
    k->key_path = str_dup(key_path);
    k->looked_ms = clock_mono_ms();
    int r = ssl_api_load(&k->api, e);
    stat_files(k, k->seen); /* before they are read: a change in between is found later */
    if (r == 0)
        r = make_context(k, &k->context, e);
    if (r == 0)
        *ret = k;
    else
        tls_keys_free(k);
    return r;
}

void tls_keys_free(struct tls_keys *k)
{
    if (!k)
        return;
    if (k->context)
        k->api.SSL_CTX_free(k->context);
    free(k->cert_path);
    free(k->key_path);
    free(k);
}

/* ---- sessions ---- */

struct tls_session *tls_session_new(struct tls_keys *k)
{
    struct tls_session *s = xcalloc(1, sizeof *s);
    look_again(k);
    s->api = k->api;
    s->ssl = k->api.SSL_new(k->context);
    s->in = BIO_new(BIO_s_mem());
    s->out = BIO_new(BIO_s_mem());
    if (!s->ssl || !s->in || !s->out)
        abort(); /* memory */
    k->api.SSL_set_bio(s->ssl, s->in, s->out);
    k->api.SSL_set_accept_state(s->ssl);
    return s;
}

void tls_session_free(struct tls_session *s)
{
    if (!s)
        return;
    s->api.SSL_free(s->ssl);
    free(s->taken);
    free(s);
}

bool tls_session_is_ready(const struct tls_session *s)
{
    return s->api.SSL_is_init_finished(s->ssl) == 1;
}

static int result_of(const struct tls_session *s, int rc)
{
    switch (s->api.SSL_get_error(s->ssl, rc)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return 0;
    case SSL_ERROR_ZERO_RETURN:
        return -EPIPE;
    default:
        return -EPROTO;
    }
}

int tls_session_receive(struct tls_session *s, str in, char *out, size_t size, size_t *ret_n)
{
    size_t n = 0;
    int rc;
    assert(size >= in.n + TLS_RECORD_MAX && in.n <= INT_MAX);
    *ret_n = 0;
    ERR_clear_error();
    if (BIO_write(s->in, in.p, (int)in.n) != (int)in.n)
        abort(); /* memory */
    while (n < size && (rc = s->api.SSL_read(s->ssl, out + n, (int)(size - n))) > 0)
        n += (size_t)rc;
    *ret_n = n;
    return n < size ? result_of(s, rc) : -EPROTO;
}

void tls_session_send(struct tls_session *s, str plain)
{
    assert(tls_session_is_ready(s));
    while (plain.n > 0) {
        int part = plain.n > INT_MAX / 2 ? INT_MAX / 2 : (int)plain.n;
        ERR_clear_error();
        int rc = s->api.SSL_write(s->ssl, plain.p, part);
        if (rc <= 0)
            return; /* the session has failed: the next thing received says so */
        plain = str_skip(plain, (size_t)rc);
    }
}

void tls_session_end(struct tls_session *s)
{
    ERR_clear_error();
    if (tls_session_is_ready(s))
        (void)s->api.SSL_shutdown(s->ssl);
}

str tls_session_take_output(struct tls_session *s)
{
    size_t n = BIO_ctrl_pending(s->out);
    free(s->taken);
    s->taken = NULL;
    if (n == 0)
        return STR_NONE;
    s->taken = xcalloc(1, n);
    int got = BIO_read(s->out, s->taken, (int)n);
    return str_make(s->taken, got > 0 ? (size_t)got : 0);
}
