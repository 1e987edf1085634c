#include <errno.h>

#include "base/nearest.h"
#include "base/text/hidden.h"
#include "base/text/lookalike.h"
#include "bundle/entry/entry.h"

#define TYPO_LENGTH_MIN 8 /* shorter names may differ by one letter without deception */

/* Names of nb's own sources, and the singular forms that a model would take for them. */
static const char *const OWN[] = {"nb",     "conversations", "conversation", "bash",
                                  "skills", "skill",         "files",        "file"};

str bundle_last_segment(str s)
{
    while (s.n > 0 && s.p[s.n - 1] == '/')
        s.n--;
    return str_skip(s, (size_t)(str_rfind_char(s, '/') + 1));
}

char *package_slug(struct arena *a, str name, char sep)
{
    char *slug = arena_cstr(a, str_starts(name, STR("@")) ? str_skip(name, 1) : name);
    for (char *c = slug; *c; c++)
        *c = *c == '/' ? sep : *c;
    return slug;
}

str entry_credentials(struct arena *a, const struct bundle_entry *entry)
{
    if (entry->kind != BUNDLE_NAMED)
        return entry->server_name;
    /* "@scope/package": neither part can hold an @ or a slash. */
    return str_from(package_slug(a, entry->name, '@'));
}

/* ---- reserved names ---- */

static bool is_taken_for(struct arena *a, str name, str own)
{
    if (lookalike_eq(a, name, own))
        return true;
    return own.n >= TYPO_LENGTH_MIN &&
           edit_distance(lookalike_skeleton(a, name, true), lookalike_skeleton(a, own, true)) <= 1;
}

static const char *own_name_like(struct arena *a, str name)
{
    for (size_t i = 0; i < ARRAY_LEN(OWN); i++)
        if (is_taken_for(a, name, str_from(OWN[i])))
            return OWN[i];
    return NULL;
}

/* The index of two separators in a row: "conversations__list" reads like a tool. */
static ptrdiff_t double_separator(str s)
{
    for (size_t i = 0; i + 1 < s.n; i++)
        if (strchr("-_", s.p[i]) && strchr("-_", s.p[i + 1]))
            return (ptrdiff_t)i;
    return -1;
}

const char *bundle_reserved_name(struct arena *a, str name)
{
    const char *own = own_name_like(a, name);
    ptrdiff_t at = double_separator(name);
    if (!own && at > 0)
        own = own_name_like(a, str_slice(name, 0, (size_t)at));
    if (!own && str_starts(lookalike_skeleton(a, name, true), STR("nb-")))
        own = OWN[0];
    return own;
}

/* ---- making a name ---- */

/* Lower case, with other characters replaced by '-', and none at the ends. */
static str normalise(struct arena *a, str s)
{
    char *out = arena_alloc(a, s.n + 1);
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        out[i] = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
    }
    str name = str_make(out, s.n);
    while (name.n > 0 && name.p[0] == '-')
        name = str_skip(name, 1);
    while (name.n > 0 && name.p[name.n - 1] == '-')
        name.n--;
    return arena_str(a, name);
}

int bundle_server_name(struct arena *a, str source, str *ret, struct err *e)
{
    str given = bundle_last_segment(source), name = normalise(a, given);
    const char *own = bundle_reserved_name(a, given);
    if (!own)
        own = bundle_reserved_name(a, name);
    if (own)
        return err_set(e, -EPERM,
                       "'%.*s' is reserved: it is, or looks like, '%s', the name of nb's own "
                       "tools; give it another serverName",
                       STR_ARG(hidden_show(a, given)), own);
    if (name.n == 0)
        return err_set(e, -EINVAL, "'%.*s' contains no letter or digit; give it a serverName",
                       STR_ARG(hidden_show(a, source)));
    if (name.n > BUNDLE_NAME_MAX)
        return err_set(e, -EINVAL, "'%.*s' is longer than %d characters; give it a serverName",
                       STR_ARG(name), BUNDLE_NAME_MAX);
    *ret = name;
    return 0;
}

int bundle_derived_name(struct arena *a, str source, str prefix, str *ret, struct err *e)
{
    int r = bundle_server_name(a, source, ret, e);
    if (r != -EPERM || prefix.n == 0)
        return r;
    err_clear(e);
    str longer = arena_printf(a, "%.*s-%.*s", STR_ARG(normalise(a, prefix)),
                              STR_ARG(normalise(a, bundle_last_segment(source))));
    return bundle_server_name(a, longer, ret, e);
}
