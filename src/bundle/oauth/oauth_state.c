/* oauth_state.c - tokens in the credentials file of a bundle. */
#include <errno.h>

#include "bundle/oauth/oauth.h"
#include "workspace/secrets/credentials.h"

static const char *const AUTH_NAMES[] = {
    [OAUTH_AUTH_NONE] = "none", [OAUTH_AUTH_BASIC] = "basic", [OAUTH_AUTH_POST] = "post"};

static enum oauth_client_auth auth_named(str name)
{
    ptrdiff_t i = STR_INDEX(name, AUTH_NAMES);
    return i < 0 ? OAUTH_AUTH_NONE : (enum oauth_client_auth)i;
}

#define AT(member) offsetof(struct oauth_state, member)

static const struct {
    const char *key;
    size_t offset;
} TEXTS[] = {
    {"issuer", AT(issuer)},
    {"resource", AT(resource)},
    {"tokenEndpoint", AT(token_endpoint)},
    {"scope", AT(scope)},
    {"askedScope", AT(asked)},
    {"wantedScope", AT(wanted)},
    {"clientId", AT(client_id)},
    {"clientSecret", AT(client_secret)},
    {"accessToken", AT(access_token)},
    {"refreshToken", AT(refresh_token)},
};

static str *text_at(const struct oauth_state *s, size_t i)
{
    return (str *)((char *)s + TEXTS[i].offset);
}

int oauth_state_load(struct arena *a, const char *credentials_dir, str slug,
                     struct oauth_state *ret, struct err *e)
{
    struct json *all;
    int rc = credentials_load(a, credentials_dir, slug, &all, e);
    if (rc < 0)
        return rc;
    const struct json *v = json_get_str(all, STR(OAUTH_CREDENTIAL));
    *ret = (struct oauth_state){
        .step_ups = json_get_int(v, "stepUps", 0),
        .auth = auth_named(json_get_string(v, "clientAuth")),
        .expires_ms = json_get_int(v, "expiresAt", 0),
    };
    for (size_t i = 0; i < ARRAY_LEN(TEXTS); i++)
        *text_at(ret, i) = json_get_string(v, TEXTS[i].key);
    return ret->access_token.n > 0 ? 0 : err_set(e, -ENOKEY, "nobody has signed in");
}

int oauth_state_save(const char *credentials_dir, str slug, const struct oauth_state *s,
                     struct err *e)
{
    struct arena a;
    arena_init(&a);
    struct json *v = json_new(&a, JSON_OBJECT);
    for (size_t i = 0; i < ARRAY_LEN(TEXTS); i++) {
        if (text_at(s, i)->n > 0)
            json_set(&a, v, str_from(TEXTS[i].key), json_of_str(*text_at(s, i)));
    }
    json_set(&a, v, STR("clientAuth"), json_of_str(str_from(AUTH_NAMES[s->auth])));
    json_set(&a, v, STR("expiresAt"), json_of_int(s->expires_ms));
    if (s->step_ups > 0)
        json_set(&a, v, STR("stepUps"), json_of_int(s->step_ups));
    int rc = credentials_set(credentials_dir, slug, STR(OAUTH_CREDENTIAL), v, e);
    arena_done(&a);
    return rc;
}

struct oauth_state oauth_state_copy(struct arena *a, const struct oauth_state *s)
{
    struct oauth_state ret = *s;
    for (size_t i = 0; i < ARRAY_LEN(TEXTS); i++)
        *text_at(&ret, i) = arena_str(a, *text_at(s, i));
    return ret;
}

/* ---- more rights ---- */

str oauth_scope_before(struct arena *a, const struct oauth_state *s)
{
    str before = s->asked.n > 0 ? s->asked : s->scope;
    return oauth_scope_join(a, before, s->wanted);
}

int64_t oauth_step_ups(const struct oauth_state *before)
{
    return before->wanted.n > 0 ? before->step_ups + 1 : 0;
}

int oauth_step_up(struct arena *a, struct oauth_state *s, str scope, struct err *e)
{
    str shown = str_slice(scope, 0, 300);
    if (scope.n == 0 || (s->asked.n > 0 && oauth_scope_has(s->asked, scope)))
        return err_set(
            e, -EPERM,
            "the server refuses the call (scope '%.*s'), although that scope was requested "
            "at the sign-in; ask the people who run the server for more rights",
            STR_ARG(shown));
    if (s->step_ups >= OAUTH_STEP_UPS_MAX)
        return err_set(
            e, -EPERM,
            "the server requires other rights (scope '%.*s') after %d sign-ins in a row; "
            "sign out, then sign in again",
            STR_ARG(shown), OAUTH_STEP_UPS_MAX);
    s->wanted = oauth_scope_join(a, s->wanted, scope);
    return err_set(e, -ENOKEY, "the server requires more rights for this call (scope '%.*s')",
                   STR_ARG(shown));
}
