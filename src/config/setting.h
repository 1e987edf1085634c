/* setting.h - the table of settings: one row for each, with everything that is fixed about it.
 *
 * config_load fills struct config by this table: the default, then the value in the settings file,
 * then the variable of the environment, and checks the result. Rows without a key exist only in the
 * environment. docs/configuration.md has the same keys, defaults, values and variables: a unit test
 * compares them. */
#pragma once

#include "config/config.h"

enum setting_flags {
    SETTING_NULLABLE = JF_NULLABLE,
    SETTING_LIVE = 1 << 2,       /* a running server uses a changed value immediately */
    SETTING_SECRET = 1 << 3,     /* never logged, never written */
    SETTING_FILE_FIRST = 1 << 4, /* the file overrides the environment */
    SETTING_OLD = 1 << 5,        /* older key of the row above; used when that is empty */
    SETTING_CHECKED = 1 << 6,    /* only the type is checked; the row has no member */
    SETTING_NO_EFFECT = 1 << 7,  /* not used yet: a value causes a warning */
    SETTING_HIDDEN = 1 << 8,     /* not in the documentation's table of settings */
};

struct setting {
    const char *key; /* in the file: "http.port" */
    enum json_field_type type;
    size_t offset;         /* in struct config */
    const char *initial;   /* default, in the syntax of the environment; NULL = empty or 0 */
    const char *variables; /* of the environment, separated by spaces; the first one set is used */
    int64_t min, max;      /* JF_INT */
    const char *unit;      /* JF_INT: "ms"; or NULL */
    const char *choices;   /* strings: "text, json"; or NULL = any */
    bool (*is_valid)(str); /* strings, and every item of a list; or NULL */
    const char *expected;  /* by is_valid, for its error */
    const char *help;      /* what it does, in Markdown; NULL only for hidden rows */
    unsigned flags;
};

extern const struct setting SETTINGS[];
extern const size_t SETTINGS_LEN;

/* The value of a row with a string. */
str setting_str(const struct setting *s, const struct config *c);

/* Sets the value from text: a whole number within the row's range, true, a string, or strings
 * separated by commas. -EINVAL, and no change, when the text is not a value of that type. */
int setting_set(const struct setting *s, struct config *c, const char *text);

/* Sets the value from the settings file, if it is there. Errors name the path of the key. */
int setting_decode(const struct setting *s, struct config *c, const struct json *root,
                   struct err *e);

/* Refuses values outside the row's range or choices. Errors name file and key. */
int setting_check(const struct setting *s, const struct config *c, struct err *e);

/* Calls `unknown` for every key of the file that is neither a setting nor a section of settings, as
 * json_decode does. */
void settings_unknown(struct arena *a, const struct json *root, json_unknown_key unknown,
                      void *ctx);
