#include "bundle/package/package_prepare.h"

#include <errno.h>
#include <stdlib.h>

#include "bundle/package/command_line.h"
#include "bundle/package/package.h"
#include "bundle/settings/credentials.h"

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
    str slug = credentials_slug(a, use->entry);
    int rc = credentials_load(a, use->credentials_dir, slug, &stored, e);
    if (rc < 0)
        return rc;
    from.stored = stored;
    rc = user_config_resolve(a, &r->manifest, &from, &r->values, e);
    if (rc == -ENOKEY)
        advise(use->entry, e);
    return rc;
}

static struct resolved resolved_of(const struct package_use *use, const struct manifest *m,
                                   const struct command_line *line)
{
    return (struct resolved){
        .argv = line->argv,
        .env = line->env,
        .cwd = line->cwd,
        .dir = use->dir,
        .chosen_paths = line->chosen_paths,
        .version = m->version,
        .description = m->description,
        .author = m->author,
        .title = m->title,
        .ui = m->ui,
        .is_upjack = m->is_upjack,
        .trust_score = -1,
    };
}

int package_prepare(struct arena *a, const struct package_use *use, struct package_ready *ret,
                    struct err *e)
{
    struct command_line line;
    int rc = package_manifest(a, use->dir, &ret->manifest, e);
    if (rc == 0)
        rc = load_values(a, use, ret, e);
    if (rc < 0)
        return rc;
    const struct manifest *m = &ret->manifest;
    struct variables vars = {use->dir, use->home_dir, use->data_dir, ret->values, m->noptions};
    rc = command_line_build(a, m, &vars, &line, e);
    if (rc < 0) {
        err_prefix(e, "%s/manifest.json", use->dir);
        return rc;
    }
    ret->resolved = resolved_of(use, m, &line);
    return 0;
}
