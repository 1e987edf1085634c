/* Connections with TLS that never become a request: slow and silent handshakes are cut. What a
 * client does after a handshake is shown end to end (tests/e2e/test_tls.mjs). */
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "http/tls/tls.h"
#include "rig.h"
#include "support/tempdir.h"

static void write_pair(const char *cert_path, const char *key_path)
{
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    X509 *cert = X509_new();
    X509_gmtime_adj(X509_getm_notBefore(cert), 0);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    FILE *f = fopen(cert_path, "w");
    assert_int_equal(PEM_write_X509(f, cert), 1);
    fclose(f);
    f = fopen(key_path, "w");
    assert_int_equal(PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(f);
    X509_free(cert);
    EVP_PKEY_free(key);
}

static struct tls_keys *make_keys(const struct tempdir *dir)
{
    char cert[512], key[512];
    struct tls_keys *k = NULL;
    struct err e = {0};
    snprintf(cert, sizeof cert, "%s/cert.pem", dir->path);
    snprintf(key, sizeof key, "%s/key.pem", dir->path);
    write_pair(cert, key);
    if (tls_keys_open(str_from(cert), str_from(key), NULL, &k, &e) < 0)
        fail_msg("%s", e.msg);
    return k;
}

static void start_secure(struct rig *rig, const struct http_limits *l, struct tls_keys *keys)
{
    rig_init(rig, l);
    http_server_use_tls(rig->server, keys);
    rig_run(rig);
}

TEST(handshakes_that_take_too_long_are_cut)
{
    struct tempdir dir;
    struct rig rig;
    struct http_limits l = HTTP_LIMITS_DEFAULT;
    l.head_timeout_ms = 150;
    assert_int_equal(tempdir_make(&dir), 0);
    struct tls_keys *keys = make_keys(&dir);
    start_secure(&rig, &l, keys);
    int silent = rig_connect(&rig), slow = rig_connect(&rig);
    for (int i = 0; i < 3; i++) { /* the head of a record, byte by byte */
        if (!try_send(slow, str_make("\x16\x03\x01" + i, 1)))
            break; /* it is cut already */
        usleep(20000);
    }
    expect_closed(silent);
    expect_closed(slow);
    close(silent);
    close(slow);
    rig_stop(&rig);
    assert_int_equal(rig.requests, 0);
    tls_keys_free(keys);
    tempdir_drop(&dir);
}

TEST(bytes_that_are_not_tls_end_the_connection)
{
    struct tempdir dir;
    struct rig rig;
    assert_int_equal(tempdir_make(&dir), 0);
    struct tls_keys *keys = make_keys(&dir);
    start_secure(&rig, NULL, keys);
    int fd = rig_connect(&rig);
    send_str(fd, STR("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    char answer[256];
    ssize_t n = recv(fd, answer, sizeof answer, 0);
    assert_true(n <= 0 || answer[0] == 0x15); /* nothing, or an alert of TLS */
    close(fd);
    rig_stop(&rig);
    assert_int_equal(rig.requests, 0);
    tls_keys_free(keys);
    tempdir_drop(&dir);
}
