#include "tools/alias.h"

struct alias {
    str from, to;
    const char *arg; /* applies only when this argument ... */
    str value;       /* ... has this value; NULL = always */
};

/* The first row that fits wins. */
static const struct alias ALIASES[] = {
    {STR_INIT("manage_conversation"), STR_INIT("nb__manage_conversation"), NULL, {0}},
    {STR_INIT("nb__search"), STR_INIT("nb__discover_bundles"), "scope", STR_INIT("registry")},
    {STR_INIT("nb__search"), STR_INIT("nb__discover_tools"), NULL, {0}},
    {STR_INIT("nb__manage_app"), STR_INIT("nb__manage_bundle"), NULL, {0}},
    {STR_INIT("nb__manage_apps"), STR_INIT("nb__manage_bundle"), NULL, {0}},
    {STR_INIT("nb__list_apps"), STR_INIT("nb__bundle_status"), NULL, {0}},
    {STR_INIT("bash__execute"), STR_INIT("bash__bash_exec"), NULL, {0}},
};

str tool_alias(str name, const struct json *args)
{
    for (size_t i = 0; i < ARRAY_LEN(ALIASES); i++) {
        const struct alias *a = &ALIASES[i];
        if (str_eq(name, a->from) && (!a->arg || str_eq(json_get_string(args, a->arg), a->value)))
            return a->to;
    }
    return name;
}
