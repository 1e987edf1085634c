/* oauth_login.c - one sign-in:
 *
 *   ask the server -> its metadata -> its authorization server's -> register -> (a person) -> token
 *
 * The first location that answers with a document is used; a document that must not be trusted ends
 * the search. */
#include <assert.h>
#include <errno.h>

#include "auth/oidc/provider.h"
#include "base/buf.h"
#include "base/bytes/base64.h"
#include "base/bytes/hash.h"
#include "base/bytes/random.h"
#include "bundle/oauth/oauth_token.h"
#include "net/url.h"

#define SECRET_BYTES 32
#define QUERY_MAX    (16u * 1024)

struct oauth_login {
    struct oauth_login_conf conf;
    struct arena arena;
    struct fetch *probe;
    struct fetch_whole *call;
    struct oauth_challenge challenge;
    struct oauth_resource resource;
    struct oauth_server server;
    str places[OAUTH_PLACES_MAX];
    size_t nplaces, at;
    struct err last; /* the error of the last location */
    str state, verifier;
    struct oauth_state result;
    oauth_ready_fn ready;
    oauth_done_fn done;
    void *ctx;
};

static str secret(struct arena *a)
{
    char bytes[SECRET_BYTES];
    struct buf b;
    random_bytes(bytes, sizeof bytes);
    buf_init(&b, 2 * SECRET_BYTES);
    (void)base64url_encode(&b, str_make(bytes, sizeof bytes));
    return buf_keep(&b, a);
}

static void fail_login(struct oauth_login *l, const struct err *e)
{
    assert(e->code < 0 && !l->call && !l->probe);
    l->ready(l->ctx, STR_NONE, e);
}

static void get(struct oauth_login *l, str url, fetch_whole_done done)
{
    assert(!l->call && !l->probe);
    struct fetch_header accept = {STR("Accept"), STR("application/json")};
    struct fetch_spec spec = {
        .url = url, .headers = &accept, .nheaders = 1, .flags = l->conf.fetch_flags};
    l->call = fetch_whole_start(l->conf.loop, l->conf.fetcher, &spec, done, l);
}

/* ---- the address for a person ---- */

static str wanted_scope(struct oauth_login *l)
{
    struct arena *a = &l->arena;
    str scope = l->conf.scope.n > 0        ? l->conf.scope
                : l->challenge.scope.n > 0 ? l->challenge.scope
                                           : l->resource.scope;
    scope = oauth_scope_join(a, scope, l->conf.scope_before);
    bool is_offline = l->server.has_offline_access && scope.n > 0;
    return is_offline ? oauth_scope_join(a, scope, STR("offline_access")) : scope;
}

static void add_challenge(struct buf *out, str verifier)
{
    uint8_t hash[SHA256_LEN];
    struct buf text;
    sha256(verifier, hash);
    buf_init(&text, 2 * SHA256_LEN);
    (void)base64url_encode(&text, str_make((const char *)hash, sizeof hash));
    url_add_param(out, "code_challenge", buf_str(&text));
    url_add_param(out, "code_challenge_method", STR("S256"));
    buf_done(&text);
}

/* If requests have to use https, the person's browser has to as well. */
static bool is_unsafe(const struct oauth_login *l)
{
    return (l->conf.fetch_flags & FETCH_HTTPS_ONLY) &&
           !str_starts_nocase(l->server.authorization_endpoint, STR("https://"));
}

static void finish_ready(struct oauth_login *l)
{
    assert(!l->call && l->result.client_id.n > 0 && l->state.n == 0);
    struct buf query;
    struct err e = {0};
    str endpoint = l->server.authorization_endpoint;
    buf_init(&query, QUERY_MAX);
    l->state = secret(&l->arena);
    l->verifier = secret(&l->arena);
    l->result.scope = l->result.asked = wanted_scope(l);
    url_add_param(&query, "response_type", STR("code"));
    url_add_param(&query, "client_id", l->result.client_id);
    url_add_param(&query, "redirect_uri", l->conf.redirect_uri);
    url_add_param(&query, "state", l->state);
    add_challenge(&query, l->verifier);
    url_add_param(&query, "resource", l->resource.resource);
    if (l->result.scope.n > 0)
        url_add_param(&query, "scope", l->result.scope);
    str url = arena_printf(&l->arena, "%.*s%c%.*s", STR_ARG(endpoint),
                           str_find_char(endpoint, '?') < 0 ? '?' : '&', STR_ARG(buf_str(&query)));
    if (buf_failed(&query))
        err_set(&e, -EMSGSIZE, "the authorization URL is too long");
    buf_done(&query);
    l->ready(l->ctx, e.code ? STR_NONE : url, e.code ? &e : NULL);
}

/* ---- identifying nb as a client ---- */

static const char *auth_method(enum oauth_client_auth auth)
{
    static const char *const NAMES[] = {[OAUTH_AUTH_NONE] = "none",
                                        [OAUTH_AUTH_BASIC] = "client_secret_basic",
                                        [OAUTH_AUTH_POST] = "client_secret_post"};
    return NAMES[auth];
}

static void take_registration(struct oauth_login *l, const struct json *doc)
{
    struct oauth_state *s = &l->result;
    str method = json_get_string(doc, "token_endpoint_auth_method");
    s->client_id = json_get_string(doc, "client_id");
    s->client_secret = json_get_string(doc, "client_secret");
    s->auth = s->client_secret.n == 0 ? OAUTH_AUTH_NONE : l->server.auth;
    for (enum oauth_client_auth i = OAUTH_AUTH_NONE; i <= OAUTH_AUTH_POST; i++) {
        if (s->client_secret.n > 0 && str_eq(method, str_from(auth_method(i))))
            s->auth = i;
    }
}

static void on_registered(void *ctx, const struct err *err, int status, str body)
{
    struct oauth_login *l = ctx;
    struct err e = *err;
    struct json *doc;
    l->call = NULL;
    if (e.code == 0 &&
        (status < 200 || status > 299 || json_parse(&l->arena, body, JSON_COPY, &doc, NULL) < 0 ||
         json_get_string(doc, "client_id").n == 0))
        err_set(&e, -EACCES,
                "the authorization server refused to register nb (HTTP status %d); register a "
                "client there, and set \"clientId\" in transport.auth",
                status);
    if (e.code) {
        fail_login(l, &e);
        return;
    }
    take_registration(l, doc);
    finish_ready(l);
}

static str registration(struct oauth_login *l)
{
    enum oauth_client_auth auth = l->server.takes_public ? OAUTH_AUTH_NONE : l->server.auth;
    struct buf out;
    struct json_writer w;
    jw_start(&w, &out, QUERY_MAX);
    jw_object(&w);
    jw_kstr(&w, "client_name", STR("nb"));
    jw_kstr(&w, "application_type", l->conf.is_web ? STR("web") : STR("native"));
    jw_kstrs(&w, "redirect_uris", &l->conf.redirect_uri, 1);
    jw_kraw(&w, "grant_types", STR("[\"authorization_code\",\"refresh_token\"]"));
    jw_kraw(&w, "response_types", STR("[\"code\"]"));
    jw_kcstr(&w, "token_endpoint_auth_method", auth_method(auth));
    jw_end(&w);
    return buf_keep(&out, &l->arena);
}

static bool is_registered(const struct oauth_login *l)
{
    return l->conf.client_id.n > 0 && !oauth_is_document_url(l->conf.client_id);
}

static str document_of(const struct oauth_login *l)
{
    return l->conf.client_id.n > 0 ? l->conf.client_id : l->conf.document_url;
}

static void identify_client(struct oauth_login *l)
{
    assert(!l->call && l->result.client_id.n == 0); /* once for a login */
    struct err e = {0};
    if (is_unsafe(l)) {
        err_set(&e, -EACCES, "the sign-in page of the authorization server does not use https");
        fail_login(l, &e);
        return;
    }
    l->result.issuer = l->server.issuer;
    l->result.step_ups = l->conf.step_ups;
    l->result.resource = l->resource.resource;
    l->result.token_endpoint = l->server.token_endpoint;
    if (is_registered(l)) {
        l->result.client_id = l->conf.client_id;
        l->result.client_secret = l->conf.client_secret;
        l->result.auth = l->conf.client_secret.n > 0 ? l->server.auth : OAUTH_AUTH_NONE;
        finish_ready(l);
        return;
    }
    if (l->server.takes_document && document_of(l).n > 0) {
        l->result.client_id = document_of(l);
        l->result.auth = OAUTH_AUTH_NONE;
        finish_ready(l);
        return;
    }
    if (l->server.registration_endpoint.n == 0) {
        err_set(&e, -EACCES,
                "the authorization server does not register clients automatically; register a "
                "client there, "
                "with %.*s as its redirect address, and set \"clientId\" in transport.auth",
                STR_ARG(l->conf.redirect_uri));
        fail_login(l, &e);
        return;
    }
    struct fetch_header type = {STR("Content-Type"), STR("application/json")};
    struct fetch_spec spec = {
        .url = l->server.registration_endpoint,
        .headers = &type,
        .nheaders = 1,
        .body = registration(l),
        .has_body = true,
        .flags = l->conf.fetch_flags,
    };
    l->call = fetch_whole_start(l->conf.loop, l->conf.fetcher, &spec, on_registered, l);
}

/* ---- metadata ---- */

static void look_for_server(struct oauth_login *l);

static void on_server(void *ctx, const struct err *err, int status, str body)
{
    struct oauth_login *l = ctx;
    struct err e = *err;
    l->call = NULL;
    if (e.code == 0 && status == 200 &&
        oauth_server_decode(&l->arena, body, l->resource.issuer, &l->server, &e) == 0) {
        identify_client(l);
        return;
    }
    if (e.code)
        l->last = e;
    look_for_server(l);
}

static void look_for_server(struct oauth_login *l)
{
    assert(!l->call && l->at <= l->nplaces && l->nplaces <= OAUTH_PLACES_MAX);
    if (l->at < l->nplaces) {
        get(l, l->places[l->at++], on_server);
        return;
    }
    if (l->last.code == 0)
        err_set(&l->last, -EPROTO, "the authorization server '%.*s' has no usable metadata",
                STR_ARG(str_slice(l->resource.issuer, 0, 200)));
    fail_login(l, &l->last);
}

static void look_for_resource(struct oauth_login *l);

static void on_resource(void *ctx, const struct err *err, int status, str body)
{
    struct oauth_login *l = ctx;
    struct err e = *err;
    l->call = NULL;
    if (e.code || status != 200) {
        l->last = e;
        look_for_resource(l);
        return;
    }
    if (oauth_resource_decode(&l->arena, body, l->conf.url, &l->resource, &e) < 0) {
        fail_login(l, &e);
        return;
    }
    l->nplaces = oauth_server_places(&l->arena, l->resource.issuer, l->places);
    l->at = 0;
    l->last = (struct err){0};
    look_for_server(l);
}

static void look_for_resource(struct oauth_login *l)
{
    if (l->at < l->nplaces) {
        get(l, l->places[l->at++], on_resource);
        return;
    }
    if (l->last.code == 0)
        err_set(&l->last, -EPROTO,
                "the server does not say where to sign in (no protected resource metadata)");
    fail_login(l, &l->last);
}

/* ---- the first request ---- */

static void on_login_head(void *ctx, int status, const struct fetch_header *headers, size_t n)
{
    struct oauth_login *l = ctx;
    for (size_t i = 0; i < n; i++) {
        if (status == 401 && str_eq(headers[i].name, STR("www-authenticate")))
            oauth_challenge_parse(arena_str(&l->arena, headers[i].value), &l->challenge);
    }
}

static void on_login_data(void *ctx, str bytes) {}

static void on_probed(void *ctx, const struct err *err)
{
    struct oauth_login *l = ctx;
    l->probe = NULL;
    if (err->code) {
        fail_login(l, err);
        return;
    }
    l->nplaces = oauth_resource_places(&l->arena, l->conf.url, &l->challenge, l->places);
    look_for_resource(l);
}

/* Sends a request without a token, so that the refusal names the source of tokens. */
static void probe(struct oauth_login *l)
{
    static const struct fetch_events EVENTS = {on_login_head, on_login_data, on_probed};
    static const char BODY[] = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}";
    struct fetch_header headers[] = {
        {STR("Content-Type"), STR("application/json")},
        {STR("Accept"), STR("application/json, text/event-stream")},
    };
    struct fetch_spec spec = {
        .url = l->conf.url,
        .headers = headers,
        .nheaders = ARRAY_LEN(headers),
        .body = str_from(BODY),
        .has_body = true,
        .idle_timeout_ms = FETCH_WHOLE_TIMEOUT_MS,
        .body_max = FETCH_WHOLE_MAX,
        .flags = l->conf.fetch_flags,
    };
    l->probe = fetch_start(l->conf.fetcher, &spec, &EVENTS, l);
}

/* ---- life ---- */

struct oauth_login *oauth_login_start(const struct oauth_login_conf *conf, oauth_ready_fn fn,
                                      void *ctx)
{
    struct oauth_login *l = xcalloc(1, sizeof(*l));
    arena_init(&l->arena);
    l->conf = *conf;
    str *const TEXTS[] = {&l->conf.url,           &l->conf.redirect_uri, &l->conf.client_id,
                          &l->conf.client_secret, &l->conf.scope,        &l->conf.scope_before,
                          &l->conf.document_url};
    for (size_t i = 0; i < ARRAY_LEN(TEXTS); i++)
        *TEXTS[i] = arena_str(&l->arena, *TEXTS[i]);
    l->ready = fn;
    l->ctx = ctx;
    probe(l);
    return l;
}

static void on_token(void *ctx, const struct err *err, int status, str body)
{
    struct oauth_login *l = ctx;
    struct err e = *err;
    l->call = NULL;
    int rc = e.code ? e.code : oauth_token_take(&l->arena, status, body, &l->result, &e);
    l->done(l->ctx, rc == 0 ? &l->result : NULL, &e);
}

bool oauth_login_is_answer(const struct oauth_login *l, str query)
{
    struct oauth_callback c;
    struct arena a;
    arena_init(&a);
    oauth_callback_parse(&a, query, &c);
    bool ret = str_eq(c.state, l->state);
    arena_done(&a);
    return ret;
}

void oauth_login_finish(struct oauth_login *l, str query, oauth_done_fn fn, void *ctx)
{
    struct oauth_callback c;
    struct err e = {0};
    struct buf form;
    l->done = fn;
    l->ctx = ctx;
    oauth_callback_parse(&l->arena, query, &c);
    if (oauth_callback_check(&c, &l->server, l->state, &e) < 0) {
        fn(ctx, NULL, &e);
        return;
    }
    buf_init(&form, OAUTH_FORM_MAX);
    url_add_param(&form, "grant_type", STR("authorization_code"));
    url_add_param(&form, "code", c.code);
    url_add_param(&form, "redirect_uri", l->conf.redirect_uri);
    url_add_param(&form, "code_verifier", l->verifier);
    l->call = oauth_token_ask(l->conf.loop, l->conf.fetcher, l->conf.fetch_flags, &l->result, &form,
                              on_token, l);
    buf_done(&form);
}

void oauth_login_free(struct oauth_login *l)
{
    if (!l)
        return;
    if (l->probe)
        fetch_cancel(l->probe);
    fetch_whole_cancel(l->call);
    arena_done(&l->arena);
    free(l);
}
