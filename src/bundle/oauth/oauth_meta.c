#include "bundle/oauth/oauth_meta.h"

#include <errno.h>

#include "base/buf.h"
#include "base/bytes/base64.h"
#include "net/url.h"

/* ---- the challenge ---- */

static bool is_token_char(char c)
{
    return c > ' ' && c != ',' && c != '"' && c != '=';
}

/* The value of name="..." or name=token; the parameters that are read here have no escapes. */
static str parameter(str header, str name)
{
    for (size_t i = 0; i + name.n < header.n; i++) {
        str rest = str_skip(header, i);
        bool is_start = i == 0 || !is_token_char(header.p[i - 1]);
        if (!is_start || !str_starts_nocase(rest, name) || rest.p[name.n] != '=')
            continue;
        rest = str_skip(rest, name.n + 1);
        bool is_quoted = rest.n > 0 && rest.p[0] == '"';
        rest = str_skip(rest, is_quoted ? 1 : 0);
        size_t n = 0;
        while (n < rest.n && (is_quoted ? rest.p[n] != '"' : is_token_char(rest.p[n])))
            n++;
        return str_slice(rest, 0, n);
    }
    return STR_NONE;
}

void oauth_challenge_parse(str header, struct oauth_challenge *ret)
{
    *ret = (struct oauth_challenge){
        .resource_metadata = parameter(header, STR("resource_metadata")),
        .scope = parameter(header, STR("scope")),
        .is_scope_missing = str_eq(parameter(header, STR("error")), STR("insufficient_scope")),
    };
    if (ret->scope.n > OAUTH_SCOPE_MAX)
        ret->scope = STR_NONE;
}

/* ---- scopes ---- */

static bool has_word(str all, str wanted)
{
    str word;
    while (str_split(&all, ' ', &word)) {
        if (str_eq(word, wanted))
            return true;
    }
    return false;
}

str oauth_scope_join(struct arena *a, str some, str more)
{
    str word, all = some;
    while (str_split(&more, ' ', &word)) {
        if (word.n > 0 && !has_word(all, word))
            all = arena_printf(a, "%.*s%s%.*s", STR_ARG(all), all.n > 0 ? " " : "", STR_ARG(word));
    }
    return all;
}

bool oauth_scope_has(str all, str some)
{
    str word;
    while (str_split(&some, ' ', &word)) {
        if (word.n > 0 && !has_word(all, word))
            return false;
    }
    return true;
}

bool oauth_is_document_url(str url)
{
    struct url u;
    return url_parse(url, &u, NULL) == 0 && u.is_https && !u.has_userinfo && u.target.n > 1 &&
           str_find_char(url, '#') < 0 && str_find_char(url, '?') < 0;
}

/* ---- locations of the metadata ---- */

static str origin_of(struct arena *a, const struct url *u)
{
    struct buf b;
    buf_init(&b, URL_MAX);
    url_add_origin(&b, u);
    return buf_keep(&b, a);
}

/* The path without query and trailing slashes: "/mcp", or empty. */
static str url_path_of(const struct url *u)
{
    ptrdiff_t query = str_find_char(u->target, '?');
    str path = query < 0 ? u->target : str_slice(u->target, 0, (size_t)query);
    while (path.n > 0 && path.p[path.n - 1] == '/')
        path.n--;
    return path;
}

size_t oauth_resource_places(struct arena *a, str server_url, const struct oauth_challenge *c,
                             str ret[OAUTH_PLACES_MAX])
{
    static const char WELL_KNOWN[] = "/.well-known/oauth-protected-resource";
    struct url u;
    size_t n = 0;
    if (c->resource_metadata.n > 0)
        ret[n++] = arena_str(a, c->resource_metadata);
    if (n > 0 || url_parse(server_url, &u, NULL) < 0)
        return n;
    str origin = origin_of(a, &u), path = url_path_of(&u);
    if (path.n > 0)
        ret[n++] = arena_printf(a, "%.*s%s%.*s", STR_ARG(origin), WELL_KNOWN, STR_ARG(path));
    ret[n++] = arena_printf(a, "%.*s%s", STR_ARG(origin), WELL_KNOWN);
    return n;
}

size_t oauth_server_places(struct arena *a, str issuer, str ret[OAUTH_PLACES_MAX])
{
    struct url u;
    size_t n = 0;
    if (url_parse(issuer, &u, NULL) < 0)
        return 0;
    str origin = origin_of(a, &u), path = url_path_of(&u);
    ret[n++] = arena_printf(a, "%.*s/.well-known/oauth-authorization-server%.*s", STR_ARG(origin),
                            STR_ARG(path));
    ret[n++] = arena_printf(a, "%.*s/.well-known/openid-configuration%.*s", STR_ARG(origin),
                            STR_ARG(path));
    if (path.n > 0)
        ret[n++] = arena_printf(a, "%.*s%.*s/.well-known/openid-configuration", STR_ARG(origin),
                                STR_ARG(path));
    return n;
}

/* ---- decoding the metadata ---- */

static int parse_object(struct arena *a, str text, struct json **ret, struct err *e)
{
    if (json_parse(a, text, JSON_COPY, ret, NULL) == 0 && json_is(*ret, JSON_OBJECT))
        return 0;
    return err_set(e, -EPROTO, "its metadata is not a JSON object");
}

bool oauth_is_about(str resource, str server_url)
{
    struct url r, s;
    if (url_parse(resource, &r, NULL) < 0 || url_parse(server_url, &s, NULL) < 0 ||
        !url_same_origin(&r, &s))
        return false;
    str part = url_path_of(&r), path = url_path_of(&s);
    return str_starts(path, part) && (path.n == part.n || path.p[part.n] == '/');
}

/* Empty when it is too long. */
static str join_strings(struct arena *a, const struct json *list)
{
    struct buf all;
    buf_init(&all, OAUTH_SCOPE_MAX);
    for (size_t i = 0; json_is(list, JSON_ARRAY) && i < list->len; i++) {
        str one = json_string(json_at(list, i), STR_NONE);
        if (one.n > 0)
            buf_printf(&all, "%s%.*s", all.n > 0 ? " " : "", STR_ARG(one));
    }
    return buf_keep_whole(&all, a);
}

int oauth_resource_decode(struct arena *a, str text, str server_url, struct oauth_resource *ret,
                          struct err *e)
{
    struct json *doc;
    int rc = parse_object(a, text, &doc, e);
    if (rc < 0)
        return rc;
    *ret = (struct oauth_resource){
        .resource = json_get_string(doc, "resource"),
        .issuer = json_string(json_at(json_get(doc, "authorization_servers"), 0), STR_NONE),
        .scope = join_strings(a, json_get(doc, "scopes_supported")),
    };
    if (!oauth_is_about(ret->resource, server_url))
        return err_set(e, -EACCES,
                       "its metadata is about another server (resource '%.*s'): no token is "
                       "requested",
                       STR_ARG(str_slice(ret->resource, 0, 200)));
    if (ret->issuer.n == 0)
        return err_set(e, -EPROTO, "its metadata names no authorization server");
    return 0;
}

/* If the metadata does not say, Basic is the default of RFC 8414. */
static enum oauth_client_auth client_auth(const struct json *methods)
{
    if (!methods || json_has_string(methods, STR("client_secret_basic")))
        return OAUTH_AUTH_BASIC;
    return json_has_string(methods, STR("client_secret_post")) ? OAUTH_AUTH_POST : OAUTH_AUTH_NONE;
}

static bool is_web(str url)
{
    struct url u;
    return url_parse(url, &u, NULL) == 0 && !u.has_userinfo;
}

int oauth_server_decode(struct arena *a, str text, str issuer, struct oauth_server *ret,
                        struct err *e)
{
    struct json *doc;
    int rc = parse_object(a, text, &doc, e);
    if (rc < 0)
        return rc;
    *ret = (struct oauth_server){
        .issuer = json_get_string(doc, "issuer"),
        .authorization_endpoint = json_get_string(doc, "authorization_endpoint"),
        .token_endpoint = json_get_string(doc, "token_endpoint"),
        .registration_endpoint = json_get_string(doc, "registration_endpoint"),
        .device_endpoint = json_get_string(doc, "device_authorization_endpoint"),
        .takes_document = json_get_bool(doc, "client_id_metadata_document_supported", false),
        .has_offline_access =
            json_has_string(json_get(doc, "scopes_supported"), STR("offline_access")),
        .sends_issuer = json_get_bool(doc, "authorization_response_iss_parameter_supported", false),
        .auth = client_auth(json_get(doc, "token_endpoint_auth_methods_supported")),
        .takes_public =
            json_has_string(json_get(doc, "token_endpoint_auth_methods_supported"), STR("none")),
    };
    if (!str_eq(ret->issuer, issuer))
        return err_set(e, -EACCES,
                       "the metadata of the authorization server names another issuer ('%.*s')",
                       STR_ARG(str_slice(ret->issuer, 0, 200)));
    if (!is_web(ret->authorization_endpoint) || !is_web(ret->token_endpoint))
        return err_set(e, -EPROTO,
                       "an endpoint of the authorization server is missing or is not a URL");
    if (!json_has_string(json_get(doc, "code_challenge_methods_supported"), STR("S256")))
        return err_set(e, -EACCES, "the authorization server does not offer PKCE (S256)");
    return 0;
}

/* ---- the way back ---- */

static str form_decode(struct arena *a, str s)
{
    char *out = arena_alloc(a, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++, n++) {
        out[n] = s.p[i] == '+' ? ' ' : s.p[i];
        if (s.p[i] == '%' && hex_decode(&out[n], 1, str_slice(s, i + 1, i + 3)) == 0)
            i += 2;
    }
    out[n] = '\0';
    return str_make(out, n);
}

void oauth_callback_parse(struct arena *a, str query, struct oauth_callback *ret)
{
    str one;
    *ret = (struct oauth_callback){0};
    const struct {
        str name;
        str *to;
    } FIELDS[] = {
        {STR("code"), &ret->code},
        {STR("state"), &ret->state},
        {STR("iss"), &ret->issuer},
        {STR("error"), &ret->error},
        {STR("error_description"), &ret->error_description},
    };
    while (str_split(&query, '&', &one)) {
        ptrdiff_t eq = str_find_char(one, '=');
        for (size_t i = 0; eq > 0 && i < ARRAY_LEN(FIELDS); i++) {
            if (str_eq(str_slice(one, 0, (size_t)eq), FIELDS[i].name))
                *FIELDS[i].to = form_decode(a, str_skip(one, (size_t)eq + 1));
        }
    }
}

int oauth_callback_check(const struct oauth_callback *c, const struct oauth_server *s, str state,
                         struct err *e)
{
    if (!str_eq(c->state, state))
        return err_set(e, -EACCES,
                       "the response does not belong to this sign-in (\"state\" differs)");
    if (c->issuer.n > 0 ? !str_eq(c->issuer, s->issuer) : s->sends_issuer)
        return err_set(e, -EACCES,
                       "the response comes from another authorization server (\"iss\" differs)");
    if (c->error.n > 0)
        return err_set(e, -EPERM, "the authorization server refused the sign-in: %.*s%s%.*s",
                       STR_ARG(str_slice(c->error, 0, 100)), c->error_description.n > 0 ? ": " : "",
                       STR_ARG(str_slice(c->error_description, 0, 300)));
    if (c->code.n == 0)
        return err_set(e, -EPROTO, "the response of the authorization server has no \"code\"");
    return 0;
}
