#include <errno.h>

#include "net/fetch_impl.h"

/* Codes that are not listed become -EIO. */
static const struct {
    CURLcode code;
    int err;
    const char *advice;
} MEANINGS[] = {
    {CURLE_COULDNT_RESOLVE_HOST, -EHOSTUNREACH, "check the host name and the network"},
    {CURLE_COULDNT_RESOLVE_PROXY, -EHOSTUNREACH, "check the proxy variables"},
    {CURLE_COULDNT_CONNECT, -ECONNREFUSED, "check that the server is running"},
    {CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT, NULL},
    {CURLE_PARTIAL_FILE, -ECONNRESET, NULL},
    {CURLE_RECV_ERROR, -ECONNRESET, NULL},
    {CURLE_SEND_ERROR, -ECONNRESET, NULL},
    {CURLE_GOT_NOTHING, -ECONNRESET, NULL},
    {CURLE_SEND_FAIL_REWIND, -ECONNRESET, "the server closed the connection"},
    {CURLE_HTTP2, -ECONNRESET, NULL},
    {CURLE_HTTP2_STREAM, -ECONNRESET, NULL},
    {CURLE_UNSUPPORTED_PROTOCOL, -EPROTO, NULL},
    {CURLE_WEIRD_SERVER_REPLY, -EPROTO, NULL},
    {CURLE_SSL_CONNECT_ERROR, -EPROTO, "check that this port uses TLS"},
    {CURLE_PEER_FAILED_VERIFICATION, -EPROTO,
     "for a private authority set SSL_CERT_FILE to its certificates"},
    {CURLE_SSL_CACERT_BADFILE, -EPROTO, "check SSL_CERT_FILE"},
    {CURLE_URL_MALFORMAT, -EINVAL, NULL},
    {CURLE_OUT_OF_MEMORY, -ENOMEM, NULL},
};

static void explain_code(struct fetch *f, CURLcode code)
{
    int err = -EIO;
    const char *advice = NULL;
    for (size_t i = 0; i < ARRAY_LEN(MEANINGS); i++) {
        if (MEANINGS[i].code == code) {
            err = MEANINGS[i].err;
            advice = MEANINGS[i].advice;
        }
    }
    /* A kept connection died after the body was sent, and a fresh one could not be made. */
    if (f->body_read > 0 && (err == -ECONNREFUSED || err == -EHOSTUNREACH))
        err = -ECONNRESET;
    const char *text = f->curl_text[0] ? f->curl_text : f->owner->api.easy_strerror(code);
    err_set(&f->result, err, "%s: %s%s%s", f->req.origin, text, advice ? "; " : "",
            advice ? advice : "");
}

void fetch_explain(struct fetch *f, CURLcode code)
{
    if (code == CURLE_OK)
        err_clear(&f->result);
    else if (f->is_too_large && f->head.is_final)
        err_set(&f->result, -EMSGSIZE, "%s: the response is larger than %zu bytes", f->req.origin,
                f->req.body_max);
    else if (f->is_too_large)
        err_set(&f->result, -EMSGSIZE,
                "%s: the response's headers are larger than %u bytes or "
                "more than %d",
                f->req.origin, RESPONSE_HEAD_MAX, RESPONSE_HEADERS_MAX);
    else if (f->refused != ADDRESS_PUBLIC && code == CURLE_COULDNT_CONNECT)
        err_set(&f->result, -EACCES, "%s: refused, because it is %s", f->req.origin,
                address_class_name(f->refused));
    else
        explain_code(f, code);
}
