/* tls.h - TLS 1.2 and 1.3 of a server, between memory and memory: it knows no sockets and never
 * waits.
 *
 * struct tls_keys is a certificate with its key. Files that have changed are read again when the
 * next session begins, at most once a second; a pair that is not valid is logged, and the one
 * before stays in use. Sessions that are open keep theirs. A session turns received bytes into
 * plain text, and plain text into bytes to send, which collect in its output. The handshake is
 * part of receiving. Loop thread only. */
#pragma once

#include "base/err.h"
#include "base/log.h"
#include "base/str.h"

#define TLS_RECORD_MAX (17u * 1024) /* bytes on the wire; what was received of one is kept */

struct tls_keys;
struct tls_session;

/* Fails when the files cannot be read or do not belong together. */
int tls_keys_open(str cert_path, str key_path, struct logger *log, struct tls_keys **ret,
                  struct err *e);
void tls_keys_free(struct tls_keys *k); /* accepts NULL; sessions may outlive it */

struct tls_session *tls_session_new(struct tls_keys *k);
bool tls_session_is_ready(const struct tls_session *s); /* the handshake is over */
/* Plain text goes to `out`, whose size is at least that of `in` plus TLS_RECORD_MAX. May add
 * output. -EPROTO: the peer does not follow the protocol; -EPIPE: it has ended the session. */
int tls_session_receive(struct tls_session *s, str in, char *out, size_t size, size_t *ret_n);
void tls_session_send(struct tls_session *s, str plain); /* after the handshake */
void tls_session_end(struct tls_session *s);             /* says that nothing follows */
/* The bytes to send; borrowed until the session is used again. Taken: the next call gives others.
 */
str tls_session_take_output(struct tls_session *s);
void tls_session_free(struct tls_session *s); /* accepts NULL */
