#include "bundle/package/package_prepare.h"

#include <errno.h>
#include <stdlib.h>

#include "bundle/package/package.h"
#include "workspace/secrets/credentials.h"

static const char *from_environment(void *ctx, const char *name)
{
    return getenv(name);
}

static void advise(const struct bundle_entry *entry, struct err *e)
{
    size_t n = strlen(e->msg);
    snprintf(e->msg + n, sizeof e->msg - n, "; set it with: nb config set %.*s KEY=VALUE",
             STR_ARG(entry->server_name));
}

static const struct json *given_values(struct arena *a, const struct package_use *use)
{
    const struct json *own = use->entry->user_config;
    if (!use->given || !own)
        return use->given ? use->given : own;
    struct json *both = json_clone(a, own);
    for (size_t i = 0; i < use->given->len; i++)
        json_set(a, both, use->given->members[i].key, use->given->members[i].value);
    return both;
}

static int load_values(struct arena *a, const struct package_use *use, struct package_ready *r,
                       struct err *e)
{
    struct json *stored;
    struct user_config_sources from = {
        .given = given_values(a, use),
        .mpak = credentials_of_mpak(a, use->home_dir, use->entry->name),
        .allowed_env = use->entry->allowed_env,
        .getenv = from_environment,
        .home_dir = use->home_dir,
        .may_lack = use->may_lack_values,
    };
    str slug = entry_credentials(a, use->entry);
    int rc = credentials_load(a, use->credentials_dir, slug, &stored, e);
    if (rc < 0)
        return rc;
    from.stored = stored;
    rc = user_config_resolve(a, &r->manifest, &from, &r->values, e);
    if (rc == -ENOKEY)
        advise(use->entry, e);
    return rc;
}

int package_prepare(struct arena *a, const struct package_use *use, struct package_ready *ret,
                    struct err *e)
{
    struct manifest *m = &ret->manifest;
    int rc = package_manifest(a, use->dir, m, e);
    if (rc == 0)
        rc = load_values(a, use, ret, e);
    if (rc < 0)
        return rc;
    struct variables vars = {use->dir, use->home_dir, use->data_dir, ret->values, m->noptions};
    ret->resolved = (struct resolved){.dir = use->dir, .manifest = m, .trust_score = -1};
    rc = command_line_build(a, m, &vars, &ret->resolved, e);
    if (rc < 0)
        err_prefix(e, "%s/manifest.json", use->dir);
    return rc;
}
