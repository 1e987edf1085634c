#include "bundle/settings/plain_secrets.h"

#include <errno.h>

#include "base/bytes/hash.h"
#include "base/text/secret_name.h"
#include "workspace/secrets/credentials.h"

#define KEY_PREFIX "@" /* prefix of stored names; no manifest can request them */

/* ---- places ---- */

enum place_kind { PLACE_ENV, PLACE_HEADER, PLACE_AUTH, PLACE_OPTION };

struct place {
    enum place_kind kind;
    str name;
};

static const struct {
    str prefix;
    const char *outer, *inner; /* path of the object in an entry */
} KINDS[] = {
    [PLACE_ENV] = {STR_INIT("env."), "env", NULL},
    [PLACE_HEADER] = {STR_INIT("header."), "transport", "headers"},
    [PLACE_AUTH] = {STR_INIT("auth."), "transport", "auth"},
    [PLACE_OPTION] = {STR_INIT("userConfig."), "userConfig", NULL},
};

static bool is_auth_secret(str name)
{
    return str_eq(name, STR("token")) || str_eq(name, STR("value")) ||
           str_eq(name, STR("clientSecret"));
}

static str place_text(struct arena *a, const struct place *p)
{
    return arena_concat(a, KINDS[p->kind].prefix, p->name);
}

static int place_parse(str text, struct place *ret, struct err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(KINDS); i++) {
        str name = str_skip(text, KINDS[i].prefix.n);
        if (!str_starts(text, KINDS[i].prefix) || name.n == 0)
            continue;
        *ret = (struct place){(enum place_kind)i, name};
        if (i != PLACE_AUTH || is_auth_secret(name))
            return 0;
    }
    return err_set(e, -EINVAL,
                   "'%.*s' is not one of env.NAME, header.NAME, auth.token, auth.value, "
                   "auth.clientSecret",
                   STR_ARG(text));
}

static const struct json *object_of(const struct json *entry, enum place_kind kind)
{
    const struct json *v = json_get(entry, KINDS[kind].outer);
    return KINDS[kind].inner ? json_get(v, KINDS[kind].inner) : v;
}

/* Options are stored under their own names, where user_config.h reads them. */
static str stored_key(struct arena *a, const struct place *p)
{
    return p->kind == PLACE_OPTION ? p->name : arena_concat(a, STR(KEY_PREFIX), place_text(a, p));
}

static bool is_plain_secret(enum place_kind kind, const struct json_member *m)
{
    bool is_named = kind == PLACE_AUTH ? is_auth_secret(m->key) : secret_is_name(m->key);
    return is_named && m->value.type == JSON_STRING && m->value.s.n > 0 &&
           !str_eq(m->value.s, STR(SEALED_MARK));
}

/* ---- finding ---- */

static size_t find_secrets(struct arena *a, const struct json *entry, struct place *ret, size_t max)
{
    size_t n = 0;
    for (size_t k = 0; k < ARRAY_LEN(KINDS); k++) {
        const struct json *obj = object_of(entry, (enum place_kind)k);
        for (size_t i = 0; json_is(obj, JSON_OBJECT) && i < obj->len && n < max; i++)
            if (is_plain_secret((enum place_kind)k, &obj->members[i]))
                ret[n++] = (struct place){(enum place_kind)k, obj->members[i].key};
    }
    return n;
}

size_t plain_secrets_in(struct arena *a, const struct json *entry, str *ret, size_t max)
{
    struct place *places = arena_array(a, max, sizeof *places);
    size_t n = find_secrets(a, entry, places, max);
    for (size_t i = 0; i < n; i++)
        ret[i] = place_text(a, &places[i]);
    return n;
}

/* ---- storing ---- */

/* The server that a value was entered for. The owner of the machine installs programs, so their
 * arguments may change; a URL decides who receives the secret. */
static void source_of(const struct bundle_entry *b, char ret[SHA256_HEX_LEN + 1])
{
    sha256_hex(b->kind == BUNDLE_REMOTE ? b->url : STR("program"), ret);
}

static int store(struct arena *a, const char *dir, const struct bundle_entry *b,
                 const struct place *p, str value, struct err *e)
{
    char source[SHA256_HEX_LEN + 1];
    struct json *kept = json_new(a, JSON_OBJECT), plain = json_of_str(value);
    source_of(b, source);
    json_set(a, kept, STR("source"), json_of_str(arena_str(a, str_from(source))));
    json_set(a, kept, STR("value"), plain);
    return credentials_set(dir, entry_credentials(a, b), stored_key(a, p),
                           p->kind == PLACE_OPTION ? &plain : kept, e);
}

static void put_secret(struct arena *a, struct json *entry, const struct place *p, str text)
{
    const char *outer = KINDS[p->kind].outer, *inner = KINDS[p->kind].inner;
    struct json *root = json_get(entry, outer);
    if (!json_is(root, JSON_OBJECT)) {
        json_set(a, entry, str_from(outer), *json_new(a, JSON_OBJECT));
        root = json_get(entry, outer);
    }
    if (inner && !json_is(json_get(root, inner), JSON_OBJECT))
        json_set(a, root, str_from(inner), *json_new(a, JSON_OBJECT));
    struct json *obj = inner ? json_get(root, inner) : root;
    if (p->kind == PLACE_OPTION)
        json_unset(obj, arena_cstr(a, p->name));
    else
        json_set(a, obj, p->name, json_of_str(text));
}

static int seal_place(struct arena *a, const char *dir, const struct bundle_entry *b,
                      struct json *entry, const struct place *p, str value, struct err *e)
{
    int r = store(a, dir, b, p, value, e);
    if (r == 0)
        put_secret(a, entry, p, STR(SEALED_MARK));
    return r;
}

#define PLACES_MAX 256

int plain_secrets_seal(struct arena *a, const char *credentials_dir, const struct json *entry,
                       const struct json **ret, struct err *e)
{
    struct place places[PLACES_MAX];
    struct bundle_entry b;
    size_t n = find_secrets(a, entry, places, PLACES_MAX);
    int r = 0;
    *ret = entry;
    if (n == 0)
        return 0;
    struct json *sealed = json_clone(a, entry);
    r = bundle_entry_decode(a, entry, "/", &b, e);
    for (size_t i = 0; r == 0 && i < n; i++) {
        const struct json *obj = object_of(entry, places[i].kind);
        r = seal_place(a, credentials_dir, &b, sealed, &places[i],
                       json_string(json_get_str(obj, places[i].name), STR_NONE), e);
    }
    if (r == 0)
        *ret = sealed;
    return r;
}

int plain_secrets_set(struct arena *a, const char *credentials_dir, const struct json *entry,
                      str place, str value, const struct json **ret, struct err *e)
{
    struct place p;
    struct bundle_entry b;
    struct json *sealed = json_clone(a, entry);
    int r = place_parse(place, &p, e);
    if (r < 0)
        return r;
    put_secret(a, sealed, &p, STR(SEALED_MARK)); /* the entry must be valid with the mark */
    r = bundle_entry_decode(a, sealed, "/", &b, e);
    if (r == 0)
        r = seal_place(a, credentials_dir, &b, sealed, &p, value, e);
    *ret = sealed;
    return r;
}

/* ---- using ---- */

static const str BEARER = STR_INIT("Bearer " SEALED_MARK);

static bool is_mark(str value)
{
    return str_eq(value, STR(SEALED_MARK)) || str_eq(value, BEARER);
}

bool plain_secrets_has_marks(const struct bundle_entry *b)
{
    for (size_t i = 0; i < b->nenv; i++)
        if (is_mark(b->env[i].value))
            return true;
    for (size_t i = 0; i < b->nheaders; i++)
        if (is_mark(b->headers[i].value))
            return true;
    return is_mark(b->oauth.client_secret);
}

struct unsealing {
    struct arena *arena;
    const struct bundle_entry *entry;
    const struct json *stored;
    char source[SHA256_HEX_LEN + 1];
    struct err *e;
};

static int look_up(struct unsealing *u, const struct place *p, str *ret)
{
    const struct json *kept = json_get_str(u->stored, stored_key(u->arena, p));
    str value = json_get_string(kept, "value"), place = place_text(u->arena, p);
    bool is_for_it = str_eq(json_get_string(kept, "source"), str_from(u->source));
    if (value.n == 0 || !is_for_it)
        return err_set(u->e, -ENOKEY, "the secret %.*s is %s; set it with: nb config set %.*s %.*s",
                       STR_ARG(place), value.n == 0 ? "not stored" : "stored for another server",
                       STR_ARG(u->entry->server_name), STR_ARG(place));
    for (size_t i = 0; i < value.n; i++)
        if ((unsigned char)value.p[i] < 0x20 && (p->kind != PLACE_ENV || value.p[i] == '\0'))
            return err_set(u->e, -EINVAL, "the secret %.*s contains a control character",
                           STR_ARG(place));
    *ret = value;
    return 0;
}

static const struct json *auth_of(const struct bundle_entry *b)
{
    return json_get(json_get(b->raw, "transport"), "auth");
}

/* A header can come from transport.headers or from transport.auth. */
static int unseal_header(struct unsealing *u, struct bundle_pair *h)
{
    bool is_bearer = str_eq(h->value, BEARER);
    bool is_value = str_eq(json_get_string(auth_of(u->entry), "type"), STR("header")) &&
                    str_eq(json_get_string(auth_of(u->entry), "name"), h->key);
    struct place p = is_bearer  ? (struct place){PLACE_AUTH, STR("token")}
                     : is_value ? (struct place){PLACE_AUTH, STR("value")}
                                : (struct place){PLACE_HEADER, h->key};
    str value;
    int r = look_up(u, &p, &value);
    if (r == 0)
        h->value = is_bearer ? arena_printf(u->arena, "Bearer %.*s", STR_ARG(value)) : value;
    return r;
}

int plain_secrets_unseal(struct arena *a, const char *credentials_dir, struct bundle_entry *b,
                         struct err *e)
{
    struct unsealing u = {.arena = a, .entry = b, .e = e};
    struct json *stored;
    int r = credentials_load(a, credentials_dir, entry_credentials(a, b), &stored, e);
    u.stored = r == 0 ? stored : NULL;
    source_of(b, u.source);
    for (size_t i = 0; r == 0 && i < b->nenv; i++)
        if (is_mark(b->env[i].value))
            r = look_up(&u, &(struct place){PLACE_ENV, b->env[i].key}, &b->env[i].value);
    for (size_t i = 0; r == 0 && i < b->nheaders; i++)
        if (is_mark(b->headers[i].value))
            r = unseal_header(&u, &b->headers[i]);
    if (r == 0 && is_mark(b->oauth.client_secret))
        r = look_up(&u, &(struct place){PLACE_AUTH, STR("clientSecret")}, &b->oauth.client_secret);
    return r;
}
