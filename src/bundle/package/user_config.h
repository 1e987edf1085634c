/* user_config.h - the values that a manifest requests from a person.
 *
 * For each option the first of: an explicit setting, the stored value, a variable of nb's
 * environment that the entry allows and the manifest passes on under the same name, the manifest's
 * default.
 *
 * A directory or a file becomes visible to the bundle, so only a person can set it. The manifest's
 * default for it is a proposal: nb shows it and asks when the bundle is added, and it has no effect
 * until a person agrees. Pure, apart from the environment; any thread. */
#pragma once

#include "base/arena.h"
#include "bundle/package/manifest.h"

#define USER_VALUES_MAX 100 /* for one option with "multiple" */

struct user_value {
    const struct manifest_option *option;
    struct json_strs values; /* len 0 = not set; more than 1 only with "multiple" */
    bool is_chosen;          /* set by a person: in the entry, or with a command */
};

struct user_config_sources {
    const struct json *given;  /* "userConfig" of the entry, or NULL */
    const struct json *stored; /* credentials of the workspace, or NULL */
    const struct json *mpak;   /* of ~/.mpak/config.json, or NULL */
    struct json_strs allowed_env;
    const char *(*getenv)(void *ctx, const char *name); /* NULL = no environment */
    void *env_ctx;
    const char *home_dir; /* ${HOME} in defaults; NULL = the literal text stays */
    bool may_lack;        /* missing required values are not an error */
};

/* One value per option, in their order. -ENOKEY when required values are missing: the message names
 * all of them. -EINVAL: a value has the wrong type. */
int user_config_resolve(struct arena *a, const struct manifest *m,
                        const struct user_config_sources *from, struct user_value **ret,
                        struct err *e);

bool option_is_path(const struct manifest_option *o);
/* The manifest's default with ${HOME} and similar variables replaced, or NULL. */
const struct json *user_config_proposal(struct arena *a, const struct manifest_option *o,
                                        const char *home_dir);

/* Checks that one value has the option's type; for `nb config set`. */
int user_config_check(const struct manifest_option *o, str value, struct err *e);

/* ---- ${variables} in the texts of a manifest (substitute.c) ----
 *
 * ${__dirname} the bundle's directory, ${user_config.KEY}, ${HOME}, ${DESKTOP}, ${DOCUMENTS},
 * ${DOWNLOADS}, ${DATA_DIR}, ${/} and ${pathSeparator}. Unknown variables stay as they are.
 * Replaced text is not expanded again. Pure; any thread. */

struct variables {
    const char *dir, *home_dir, *data_dir; /* NULL = not known here */
    const struct user_value *values;
    size_t nvalues;
};

/* Joins several values of one option with commas; an unset option becomes empty. */
str substitute_text(struct arena *a, str text, const struct variables *v);

/* The option that is the whole text ("${user_config.KEY}"), or NULL. */
const struct user_value *substitute_whole(str text, const struct variables *v);

/* The first option marked sensitive that the text uses, or NULL. */
const struct user_value *substitute_secret(str text, const struct variables *v);

/* The first ${user_config.KEY} whose KEY no option has; STR_NONE when there is none. */
str substitute_unknown(str text, const struct variables *v);
