/* substitute.h - ${variables} in the texts of a manifest.
 *
 * ${__dirname} the bundle's directory, ${user_config.KEY}, ${HOME}, ${DESKTOP}, ${DOCUMENTS},
 * ${DOWNLOADS}, ${DATA_DIR}, ${/} and ${pathSeparator}. Unknown variables stay as they are.
 * Replaced text is not expanded again. Pure; any thread. */
#pragma once

#include "base/arena.h"

struct user_value;

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
