/* entry_remote.c - entries with a URL: how to reach it, and whether that is allowed. */
#include <arpa/inet.h>
#include <errno.h>

#include "bundle/entry/entry_impl.h"
#include "net/address.h"
#include "net/fetch.h"
#include "net/url.h"

static bool is_header_name(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c <= 0x20 || c >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", c))
            return false;
    }
    return s.n > 0;
}

static int check_header(struct entry_decoder *d, const char *field, struct bundle_pair h)
{
    if (!is_header_name(h.key))
        return entry_refuse(d, field, "'%.*s' is not a valid header name", STR_ARG(h.key));
    if (entry_has_control(h.value))
        return entry_refuse(d, field, "the value of '%.*s' contains a control character",
                            STR_ARG(h.key));
    return 0;
}

static int unknown_auth(struct entry_decoder *d, const struct json *auth, const char *const *known)
{
    for (size_t i = 0; i < auth->len; i++) {
        str key = auth->members[i].key;
        if (!str_in_cstrs(key, known))
            return entry_refuse(d, "transport.auth", "unknown key '%.*s'", STR_ARG(key));
    }
    return 0;
}

static int decode_oauth(struct entry_decoder *d, const struct json *auth)
{
    str per = json_get_string(auth, "per");
    bool is_known =
        !json_get(auth, "per") || str_eq(per, STR("person")) || str_eq(per, STR("workspace"));
    if (!is_known)
        return entry_refuse(d, "transport.auth", "per '%.*s' is not one of workspace, person",
                            STR_ARG(per));
    d->out->oauth = (struct bundle_oauth){
        .is_on = true,
        .is_per_person = str_eq(per, STR("person")),
        .client_id = json_get_string(auth, "clientId"),
        .client_secret = json_get_string(auth, "clientSecret"),
        .scope = json_get_string(auth, "scope"),
    };
    return 0;
}

/* {"type": "bearer", "token"} | {"type": "header", "name", "value"} | {"type": "none"} |
 * {"type": "oauth", "per", "clientId", "clientSecret", "scope"}, all of them optional.
 * *ret.key stays empty without a header to send. */
static int decode_auth(struct entry_decoder *d, const struct json *auth, struct bundle_pair *ret)
{
    static const char *const KNOWN[] = {"type",         "token", "name", "value", "clientId",
                                        "clientSecret", "scope", "per",  NULL};
    str type = json_get_string(auth, "type");
    int r = unknown_auth(d, auth, KNOWN);
    if (r < 0)
        return r;
    if (json_get(auth, "per") && !str_eq(type, STR("oauth")))
        return entry_refuse(d, "transport.auth", "'per' needs the type 'oauth'");
    if (str_eq(type, STR("none")))
        return 0;
    if (str_eq(type, STR("bearer"))) {
        str token = json_get_string(auth, "token");
        if (token.n == 0)
            return entry_refuse(d, "transport.auth", "the type 'bearer' needs a token");
        *ret = (struct bundle_pair){STR("Authorization"),
                                    arena_printf(d->arena, "Bearer %.*s", STR_ARG(token))};
        return 0;
    }
    if (str_eq(type, STR("header"))) {
        *ret = (struct bundle_pair){json_get_string(auth, "name"), json_get_string(auth, "value")};
        return ret->key.n > 0 ? 0
                              : entry_refuse(d, "transport.auth", "the type 'header' needs a name");
    }
    if (str_eq(type, STR("oauth")))
        return decode_oauth(d, auth);
    return entry_refuse(d, "transport.auth",
                        "type '%.*s' is not one of oauth, bearer, header, none", STR_ARG(type));
}

static int decode_headers(struct entry_decoder *d)
{
    struct bundle_pair *plain, auth = {0};
    struct bundle_entry *out = d->out;
    size_t n;
    int r = entry_decode_pairs(d, "transport.headers", d->doc.headers, &plain, &n);
    if (r == 0 && d->doc.auth)
        r = decode_auth(d, d->doc.auth, &auth);
    if (r < 0)
        return r;
    str taken = out->oauth.is_on ? STR("Authorization") : auth.key;
    out->headers = arena_array(d->arena, n + 1, sizeof *out->headers);
    for (size_t i = 0; r == 0 && i < n; i++) {
        out->headers[out->nheaders++] = plain[i];
        r = check_header(d, "transport.headers", plain[i]);
        if (r == 0 && str_eq_nocase(plain[i].key, taken))
            r = entry_refuse(d, "transport", "auth and headers both set '%.*s'", STR_ARG(taken));
    }
    if (r == 0 && auth.key.n > 0) {
        out->headers[out->nheaders++] = auth;
        r = check_header(d, "transport.auth", auth);
    }
    return r;
}

int entry_decode_remote(struct entry_decoder *d)
{
    struct url u;
    struct err e = {0};
    str type = d->doc.transport_type;
    struct bundle_entry *out = d->out;
    if (url_parse(out->url, &u, &e) < 0)
        return entry_refuse(d, "url", "%s", e.msg);
    if (u.has_userinfo)
        return entry_refuse(d, "url",
                            "a URL must not contain credentials, because it is shown and logged; "
                            "use transport.auth");
    if (type.n > 0 && !str_eq(type, STR("streamable-http")) && !str_eq(type, STR("http")) &&
        !str_eq(type, STR("sse")))
        return entry_refuse(d, "transport.type", "'%.*s' is not one of streamable-http, sse",
                            STR_ARG(type));
    if (out->reconnect_initial_ms < 0 || out->reconnect_max_ms < 0 || out->reconnect_tries < 0)
        return entry_refuse(d, "transport.reconnection", "numbers must not be negative");
    out->is_sse = str_eq(type, STR("sse"));
    return decode_headers(d);
}

/* ---- allowed URLs ---- */

/* Host names are checked when the connection is made; addresses can be checked now. */
static enum address_class classify_literal(const struct url *u)
{
    char host[INET6_ADDRSTRLEN + 1];
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (u->host.n >= sizeof host)
        return ADDRESS_PUBLIC;
    snprintf(host, sizeof host, "%.*s", STR_ARG(u->host));
    if (inet_pton(AF_INET, host, &v4.sin_addr) == 1)
        return address_classify((const struct sockaddr *)&v4, sizeof v4);
    if (u->is_ip_literal && inet_pton(AF_INET6, host, &v6.sin6_addr) == 1)
        return address_classify((const struct sockaddr *)&v6, sizeof v6);
    return url_is_local(u) ? ADDRESS_LOOPBACK : ADDRESS_PUBLIC;
}

/* allowInsecureRemotes applies only to servers on this machine. */
static bool may_be_own(const struct bundle_entry *entry, const struct url *u,
                       bool allow_insecure_remotes)
{
    return entry->allow_private || (allow_insecure_remotes && url_is_local(u));
}

unsigned bundle_entry_fetch_flags(const struct bundle_entry *entry, bool allow_insecure_remotes)
{
    struct url u;
    bool is_own =
        url_parse(entry->url, &u, NULL) == 0 && may_be_own(entry, &u, allow_insecure_remotes);
    return is_own ? FETCH_NO_METADATA : FETCH_PUBLIC_ONLY | FETCH_HTTPS_ONLY;
}

int bundle_entry_check_url(const struct bundle_entry *entry, bool allow_insecure_remotes,
                           struct err *e)
{
    struct url u;
    int r = url_parse(entry->url, &u, e);
    if (r < 0)
        return r;
    enum address_class c = classify_literal(&u);
    bool is_own = may_be_own(entry, &u, allow_insecure_remotes);
    if (c == ADDRESS_METADATA)
        return err_set(e, -EACCES, "the URL points to the metadata service of a cloud");
    if (c != ADDRESS_PUBLIC && !is_own)
        return err_set(
            e, -EACCES,
            "the URL points to %s; \"allowPrivate\": true in its entry, or nb bundle add "
            "--allow-private, allows that",
            address_class_name(c));
    if (!u.is_https && !is_own)
        return err_set(
            e, -EACCES,
            "the URL must start with https://; \"allowPrivate\": true in its entry, or nb "
            "bundle add --allow-private, allows http:// in your own network");
    return 0;
}
