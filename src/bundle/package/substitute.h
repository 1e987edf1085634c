/* substitute.h - ${variables} in the texts of a manifest.
 *
 * ${__dirname} the bundle's directory, ${user_config.KEY}, ${HOME}, ${DESKTOP}, ${DOCUMENTS},
 * ${DOWNLOADS}, ${DATA_DIR}, ${/} and ${pathSeparator}. What is not known stays as it is.
 * Replaced text is not looked at again. Pure; any thread. */
#pragma once

#include "base/arena.h"

struct user_value;

struct variables {
    const char *dir, *home_dir, *data_dir; /* NULL = not known here */
    const struct user_value *values;
    size_t nvalues;
};

/* Several values of one option are joined by commas here; an unset one becomes empty. */
str substitute_text(struct arena *a, str text, const struct variables *v);

/* The option that the whole text stands for ("${user_config.KEY}"), or NULL. */
const struct user_value *substitute_whole(str text, const struct variables *v);

/* The first option marked sensitive that the text uses, or NULL. */
const struct user_value *substitute_secret(str text, const struct variables *v);

/* The first ${user_config.KEY} whose KEY no option has; STR_NONE when there is none. */
str substitute_unknown(str text, const struct variables *v);
