/* ssl_api.h - OpenSSL's libssl, loaded when a server has a certificate.
 *
 * Most servers have a proxy in front of them or listen on the loopback; they do not pay for the
 * library. It stays loaded for the life of the process. */
#pragma once

#include <openssl/ssl.h>

#include "base/err.h"

#define SSL_API_FUNCTIONS(X)                                                                       \
    X(TLS_server_method)                                                                           \
    X(SSL_CTX_new)                                                                                 \
    X(SSL_CTX_free)                                                                                \
    X(SSL_CTX_ctrl)                                                                                \
    X(SSL_CTX_set_options)                                                                         \
    X(SSL_CTX_set_cipher_list)                                                                     \
    X(SSL_CTX_use_certificate_chain_file)                                                          \
    X(SSL_CTX_use_PrivateKey_file)                                                                 \
    X(SSL_CTX_check_private_key)                                                                   \
    X(SSL_CTX_set_alpn_select_cb)                                                                  \
    X(SSL_new)                                                                                     \
    X(SSL_free)                                                                                    \
    X(SSL_ctrl)                                                                                    \
    X(SSL_set_bio)                                                                                 \
    X(SSL_set_accept_state)                                                                        \
    X(SSL_is_init_finished)                                                                        \
    X(SSL_read)                                                                                    \
    X(SSL_write)                                                                                   \
    X(SSL_get_error)                                                                               \
    X(SSL_shutdown)

struct ssl_api {
#define SSL_API_MEMBER(name) typeof(name) *name;
    SSL_API_FUNCTIONS(SSL_API_MEMBER)
#undef SSL_API_MEMBER
};

/* 0, or -ENOENT / -ENOSYS with a message that says what to install. */
int ssl_api_load(struct ssl_api *ret, struct err *e);
