#include "auth/instance.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/nearest.h"
#include "net/url.h"
#include "os/dir.h"
#include "os/file.h"
#include "workspace/roster/roster.h"

#define FILE_MAX_BYTES (64u * 1024)

struct auth_in {
    str adapter;
    struct instance_oidc oidc;
    int64_t session_hours, idle_hours;
    bool signup;
};

struct instance_document {
    struct auth_in auth;
    str org_name, org_id;
    const struct json *schema;
};

#define OIDC(member) offsetof(struct auth_in, oidc.member)

static const struct json_field AUTH_FIELDS[] = {
    {"adapter", JF_STR, offsetof(struct auth_in, adapter), JF_REQUIRED, NULL, 0},
    {"issuer", JF_STR, OIDC(issuer), 0, NULL, 0},
    {"clientId", JF_STR, OIDC(client_id), 0, NULL, 0},
    {"clientSecret", JF_STR, OIDC(client_secret), 0, NULL, 0},
    {"redirectUri", JF_STR, OIDC(redirect_uri), 0, NULL, 0},
    {"jwksUri", JF_STR, OIDC(jwks_uri), 0, NULL, 0},
    {"scopes", JF_STR, OIDC(scopes), 0, NULL, 0},
    {"allowedDomains", JF_STRS, OIDC(allowed_domains), 0, NULL, 0},
    {"trustEmail", JF_BOOL, OIDC(trust_email), 0, NULL, 0},
    {"sessionHours", JF_INT, offsetof(struct auth_in, session_hours), 0, NULL, 0},
    {"idleHours", JF_INT, offsetof(struct auth_in, idle_hours), 0, NULL, 0},
    {"signup", JF_BOOL, offsetof(struct auth_in, signup), 0, NULL, 0},
    {0}};

static const struct json_field FIELDS[] = {
    {"$schema", JF_JSON, offsetof(struct instance_document, schema), 0, NULL, 0},
    {"auth", JF_OBJECT, offsetof(struct instance_document, auth), JF_REQUIRED, AUTH_FIELDS, 0},
    {"orgName", JF_STR, offsetof(struct instance_document, org_name), JF_NULLABLE, NULL, 0},
    {"orgId", JF_STR, offsetof(struct instance_document, org_id), JF_NULLABLE, NULL, 0},
    {0}};

static void note_unknown_key(void *ctx, const char *path, const char *meant)
{
    struct err *first = ctx;
    if (first->code < 0)
        return;
    err_set(first, -EINVAL, "unknown key '%s'", path);
    nearest_hint(first, meant);
}

static void warn(struct instance *i, const char *message)
{
    if (!i->warnings.items)
        i->warnings.items = arena_array(&i->arena, 4, sizeof(str));
    if (i->warnings.len < 4)
        i->warnings.items[i->warnings.len++] = str_from(message);
}

/* ---- OpenID Connect ---- */

/* An attacker who can change the issuer's responses can log in as any user: plain HTTP is allowed
 * on this machine only. */
static int check_url(const char *key, str value, struct err *e)
{
    struct url u;
    struct err why = {0};
    if (url_parse(value, &u, &why) < 0)
        return err_set(e, -EINVAL, "auth.%s: %s", key, why.msg);
    if (!u.is_https && !url_is_local(&u))
        return err_set(e, -EINVAL, "auth.%s: use https", key);
    if (u.has_userinfo)
        return err_set(e, -EINVAL, "auth.%s: must not contain a user name or password", key);
    return 0;
}

static int check_domains(struct json_strs domains, struct err *e)
{
    for (size_t i = 0; i < domains.len; i++)
        if (domains.items[i].n == 0 || str_find_char(domains.items[i], '@') >= 0)
            return err_set(e, -EINVAL,
                           "auth.allowedDomains[%zu]: expected a domain such as example.com", i);
    return 0;
}

static int take_oidc(struct instance *i, const struct auth_in *in, str secret, struct err *e)
{
    struct instance_oidc *o = &i->oidc;
    *o = in->oidc;
    o->is_closed = !in->signup;
    if (secret.n > 0)
        o->client_secret = arena_str(&i->arena, secret);
    if (o->issuer.n == 0)
        return err_set(e, -EINVAL, "auth.issuer: required; the URL of the OpenID provider");
    if (o->client_id.n == 0)
        return err_set(e, -EINVAL,
                       "auth.clientId: required; the client id that the provider assigned");
    int r = check_url("issuer", o->issuer, e);
    if (r == 0 && o->redirect_uri.n > 0)
        r = check_url("redirectUri", o->redirect_uri, e);
    if (r == 0 && o->jwks_uri.n > 0)
        r = check_url("jwksUri", o->jwks_uri, e);
    if (r == 0)
        r = check_domains(o->allowed_domains, e);
    if (r == 0 && o->allowed_domains.len == 0 && !o->is_closed)
        warn(i, "instance.json: without auth.allowedDomains everybody who has an account at the "
                "provider gets an account");
    return r;
}

/* ---- local ---- */

static int take_local(struct instance *i, const struct auth_in *in, str secret, struct err *e)
{
    if (in->oidc.issuer.n > 0 || in->oidc.client_id.n > 0)
        return err_set(e, -EINVAL,
                       "auth.issuer and auth.clientId are only valid with the adapter 'oidc'");
    return 0;
}

static const struct {
    const char *name;
    enum auth_mode mode;
    int (*take)(struct instance *i, const struct auth_in *in, str secret, struct err *e);
} ADAPTERS[] = {
    {"local", AUTH_LOCAL, take_local},
    {"oidc", AUTH_OIDC, take_oidc},
};

#define HOUR_MS (60 * 60 * 1000LL)

static int take_sessions(struct instance *i, const struct auth_in *in, struct err *e)
{
    if (in->session_hours < 1 || in->session_hours > INSTANCE_SESSION_HOURS_MAX)
        return err_set(e, -EINVAL, "auth.sessionHours: expected 1 to %d",
                       INSTANCE_SESSION_HOURS_MAX);
    if (in->idle_hours < 1 || in->idle_hours > INSTANCE_SESSION_HOURS_MAX)
        return err_set(e, -EINVAL, "auth.idleHours: expected 1 to %d", INSTANCE_SESSION_HOURS_MAX);
    i->session_ms = in->session_hours * HOUR_MS;
    i->idle_ms = in->idle_hours * HOUR_MS;
    return 0;
}

static int instance_decode(struct instance *i, str text, str secret, struct err *e)
{
    struct instance_document d = {.auth = {.signup = true,
                                           .session_hours = INSTANCE_SESSION_HOURS,
                                           .idle_hours = INSTANCE_IDLE_HOURS}};
    struct err unknown = {0};
    struct json *doc;
    int r = json_parse(&i->arena, text, JSON_UNIQUE, &doc, e);
    if (r == 0)
        r = json_decode(&i->arena, doc, FIELDS, &d, "", note_unknown_key, &unknown, e);
    if (r < 0)
        return r;
    if (unknown.code < 0)
        return err_set(e, unknown.code, "%s", unknown.msg);
    r = take_sessions(i, &d.auth, e);
    if (r < 0)
        return r;
    i->org_name = d.org_name;
    i->org_id = d.org_id;
    for (size_t k = 0; k < ARRAY_LEN(ADAPTERS); k++) {
        if (!str_eq(d.auth.adapter, str_from(ADAPTERS[k].name)))
            continue;
        i->mode = ADAPTERS[k].mode;
        return ADAPTERS[k].take(i, &d.auth, secret, e);
    }
    return err_set(e, -EINVAL, "auth.adapter: expected 'local' or 'oidc', not '%.*s'",
                   STR_ARG(str_slice(d.auth.adapter, 0, 40)));
}

/* ---- without a file ---- */

static size_t distinct_bytes(str key)
{
    bool is_seen[256] = {0};
    size_t n = 0;
    for (size_t i = 0; i < key.n; i++) {
        unsigned char c = (unsigned char)key.p[i];
        n += !is_seen[c];
        is_seen[c] = true;
    }
    return n;
}

static int take_key(struct instance *i, str key, struct err *e)
{
    if (key.n == 0) {
        i->mode = AUTH_DEV;
        return 0;
    }
    if (key.n < INSTANCE_KEY_MIN)
        return err_set(e, -EINVAL,
                       "NB_API_KEY has %zu characters; it needs at least %d. "
                       "Create one with: openssl rand -hex 24",
                       key.n, INSTANCE_KEY_MIN);
    if (distinct_bytes(key) < INSTANCE_KEY_DISTINCT)
        return err_set(e, -EINVAL,
                       "NB_API_KEY is easy to guess: it has fewer than %d different characters. "
                       "Create one with: openssl rand -hex 24",
                       INSTANCE_KEY_DISTINCT);
    i->mode = AUTH_KEY;
    i->api_key = arena_str(&i->arena, key);
    return 0;
}

static int load_file(struct instance *i, str api_key, str secret, struct err *e)
{
    str text;
    struct stat st;
    int r = file_read(&i->arena, i->path, FILE_MAX_BYTES, &text, e);
    if (r < 0)
        return r;
    r = instance_decode(i, text, secret, e);
    if (r < 0) {
        err_prefix(e, "%s", i->path);
        return r;
    }
    if (api_key.n > 0)
        warn(i, "NB_API_KEY is ignored because instance.json exists; use nb token create");
    if (i->oidc.client_secret.n > 0 && secret.n == 0 && stat(i->path, &st) == 0 &&
        (st.st_mode & 077) != 0)
        warn(i, "instance.json contains a secret and other users can read it; run chmod 600 on it");
    return 0;
}

int instance_load(struct instance *ret, const char *work_dir, str api_key, str client_secret,
                  struct err *e)
{
    *ret = (struct instance){.session_ms = INSTANCE_SESSION_HOURS * HOUR_MS,
                             .idle_ms = INSTANCE_IDLE_HOURS * HOUR_MS};
    arena_init(&ret->arena);
    ret->path = arena_printf(&ret->arena, "%s/instance.json", work_dir).p;
    int r = file_exists(ret->path) ? load_file(ret, api_key, client_secret, e)
                                   : take_key(ret, api_key, e);
    if (r < 0)
        instance_done(ret);
    return r;
}

void instance_done(struct instance *i)
{
    arena_done(&i->arena);
}

/* usr_default is not counted: it is the user of an installation without logins. */
static size_t count_users(const char *dir)
{
    size_t n = 0;
    DIR_EACH (d, dir)
        n += user_id_ok(str_from(d.name)) && strcmp(d.name, ROSTER_SOLE_USER) != 0;
    return n;
}

int instance_check_people(const struct instance *i, const char *work_dir, struct err *e)
{
    struct arena a;
    if (!instance_is_sole(i))
        return 0;
    arena_init(&a);
    size_t n = count_users(arena_printf(&a, "%s/users", work_dir).p);
    arena_done(&a);
    if (n == 0)
        return 0;
    return err_set(e, -ENOENT,
                   "%s is missing, but %s/users has %zu user%s. Without it everybody who reaches "
                   "this server would be its owner. Restore it from a backup, or write "
                   "{\"auth\": {\"adapter\": \"local\"}} into it (for OpenID Connect see "
                   "docs/people.md), or move users/ away",
                   i->path, work_dir, n, n == 1 ? "" : "s");
}

bool instance_is_sole(const struct instance *i)
{
    return i->mode == AUTH_DEV || i->mode == AUTH_KEY;
}

const char *auth_mode_name(enum auth_mode mode)
{
    static const char *const NAMES[] = {"dev", "key", "local", "oidc"};
    return NAMES[mode];
}
