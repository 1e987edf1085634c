#include "bundle/oauth/oauth_token.h"

#include <errno.h>

#include "base/buf.h"
#include "base/bytes/base64.h"
#include "base/clock.h"
#include "net/url.h"

#define TOKEN_MAX 16384

/* RFC 6749, 2.3.1: both parts are form-encoded before they become Basic credentials. */
static void add_basic(struct buf *out, const struct oauth_state *s)
{
    struct buf pair;
    buf_init(&pair, OAUTH_FORM_MAX);
    url_encode(&pair, s->client_id, NULL);
    buf_add_char(&pair, ':');
    url_encode(&pair, s->client_secret, NULL);
    buf_add_lit(out, "Basic ");
    (void)base64_encode(out, buf_str(&pair));
    buf_done(&pair);
}

struct fetch_whole *oauth_token_ask(struct loop *l, struct fetcher *f, unsigned fetch_flags,
                                    const struct oauth_state *s, struct buf *form,
                                    fetch_whole_done done, void *ctx)
{
    struct buf basic;
    buf_init(&basic, 2 * OAUTH_FORM_MAX);
    if (s->auth == OAUTH_AUTH_BASIC)
        add_basic(&basic, s);
    else
        url_add_param(form, "client_id", s->client_id);
    if (s->auth == OAUTH_AUTH_POST)
        url_add_param(form, "client_secret", s->client_secret);
    url_add_param(form, "resource", s->resource);
    struct fetch_header headers[] = {
        {STR("Content-Type"), STR("application/x-www-form-urlencoded")},
        {STR("Accept"), STR("application/json")},
        {STR("Authorization"), buf_str(&basic)},
    };
    struct fetch_spec spec = {
        .url = s->token_endpoint,
        .headers = headers,
        .nheaders = ARRAY_LEN(headers) - (basic.n > 0 ? 0 : 1),
        .body = buf_str(form),
        .has_body = true,
        .flags = fetch_flags,
    };
    struct fetch_whole *ret = fetch_whole_start(l, f, &spec, done, ctx);
    buf_done(&basic);
    return ret;
}

/* The token becomes a part of a header. */
static bool is_bearer_token(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < 0x21 || s.p[i] > 0x7e)
            return false;
    }
    return s.n > 0 && s.n <= TOKEN_MAX;
}

/* Some servers report a temporary failure with its own status, some with 400. */
static bool may_pass(int status, str error)
{
    static const char *const ERRORS[] = {"temporarily_unavailable", "server_error", "slow_down"};
    return STR_INDEX(error, ERRORS) >= 0 || status == 408 || status == 425 || status == 429 ||
           status >= 500;
}

static int refuse_token(const struct json *doc, int status, struct err *e)
{
    str error = json_get_string(doc, "error"), why = json_get_string(doc, "error_description");
    return err_set(e, may_pass(status, error) ? -EREMOTEIO : -EACCES,
                   "the authorization server did not return a token (HTTP status %d%s%.*s%s%.*s)",
                   status, error.n > 0 ? ", " : "", STR_ARG(str_slice(error, 0, 100)),
                   why.n > 0 ? ": " : "", STR_ARG(str_slice(why, 0, 300)));
}

int oauth_token_take(struct arena *a, int status, str body, struct oauth_state *s, struct err *e)
{
    struct json *doc = NULL;
    if (json_parse(a, body, JSON_COPY, &doc, NULL) < 0)
        doc = NULL;
    if (status != 200)
        return refuse_token(doc, status, e);
    str access = json_get_string(doc, "access_token"), type = json_get_string(doc, "token_type");
    str refresh = json_get_string(doc, "refresh_token"), scope = json_get_string(doc, "scope");
    int64_t seconds = json_get_int(doc, "expires_in", 0);
    if (!is_bearer_token(access) || !str_eq_nocase(type, STR("bearer")))
        return err_set(e, -EPROTO, "the authorization server's answer contains no bearer token");
    s->access_token = access;
    if (is_bearer_token(refresh))
        s->refresh_token = refresh;
    if (scope.n > 0 && scope.n <= OAUTH_SCOPE_MAX)
        s->scope = scope;
    s->expires_ms = seconds > 0 && seconds < INT32_MAX ? clock_now_ms() + seconds * 1000 : 0;
    return 0;
}
