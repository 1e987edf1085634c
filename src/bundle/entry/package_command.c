#include "bundle/entry/package_command.h"

#define NAME_MAX_BYTES 214 /* npm's own limit */
#define SPEC_MAX_BYTES 400

/* ---- names ---- */

static bool is_plain_name(str s)
{
    return s.n > 0 && str_is_made_of(s, "-_.~") && s.p[0] != '.' && s.p[0] != '-';
}

static bool is_package_name(str name)
{
    if (name.n == 0 || name.n > NAME_MAX_BYTES)
        return false;
    if (name.p[0] != '@')
        return is_plain_name(name);
    ptrdiff_t slash = str_find_char(name, '/');
    return slash > 1 && is_plain_name(str_slice(name, 1, (size_t)slash)) &&
           is_plain_name(str_skip(name, (size_t)slash + 1));
}

/* A version, a range or a tag; never a URL, a path or an option. */
static bool is_version_wanted(str wanted)
{
    return wanted.n == 0 || (str_is_made_of(wanted, "-_.~+^<>=|* ") && wanted.p[0] != '-');
}

bool package_spec_split(str spec, str *ret_name, str *ret_wanted)
{
    size_t from = spec.n > 0 && spec.p[0] == '@' ? 1 : 0;
    ptrdiff_t at = str_find_char(str_skip(spec, from), '@');
    if (spec.n > SPEC_MAX_BYTES)
        return false;
    *ret_name = at < 0 ? spec : str_slice(spec, 0, from + (size_t)at);
    *ret_wanted = at < 0 ? STR_NONE : str_skip(spec, from + (size_t)at + 1);
    return is_package_name(*ret_name) && is_version_wanted(*ret_wanted) &&
           (at < 0 || ret_wanted->n > 0);
}

/* ---- command lines ---- */

struct words {
    const struct json_strs *args;
    size_t at;
};

/* "--package X" and "--package=X": true with the value, which is required. */
static bool take_value(struct words *w, const char *const *names, str *ret)
{
    str arg = w->args->items[w->at];
    for (; *names; names++) {
        str name = str_from(*names);
        if (str_eq(arg, name) && w->at + 1 < w->args->len) {
            *ret = w->args->items[w->at + 1];
            w->at += 2;
            return true;
        }
        if (str_starts(arg, name) && arg.n > name.n && arg.p[name.n] == '=') {
            *ret = str_skip(arg, name.n + 1);
            w->at++;
            return true;
        }
    }
    return false;
}

struct runner {
    const char *program;
    enum package_source source;
    const char *const *flags;    /* options without effect on the result */
    const char *const *packages; /* the option that names the package */
};

static const char *const NPX_FLAGS[] = {
    "-y", "--yes", "-q", "--quiet", "--prefer-online", "--prefer-offline", NULL};
static const char *const NPX_PACKAGES[] = {"-p", "--package", NULL};
static const char *const UVX_FLAGS[] = {"-q", "--quiet", "--isolated", "--no-progress", NULL};
static const char *const UVX_PACKAGES[] = {"--from", NULL};

static const struct runner RUNNERS[] = {
    {"npx", PACKAGE_NPM, NPX_FLAGS, NPX_PACKAGES},
    {"uvx", PACKAGE_PYPI, UVX_FLAGS, UVX_PACKAGES},
};

static const struct runner *runner_of(str command)
{
    str name = str_skip(command, (size_t)(str_rfind_char(command, '/') + 1));
    for (size_t i = 0; i < ARRAY_LEN(RUNNERS); i++)
        if (str_eq(name, str_from(RUNNERS[i].program)))
            return &RUNNERS[i];
    return NULL;
}

/* Advances to the first operand. Returns false for an unknown option. */
static bool skip_options(const struct runner *r, struct words *w, str *ret_package)
{
    while (w->at < w->args->len && str_starts(w->args->items[w->at], STR("-"))) {
        if (str_eq(w->args->items[w->at], STR("--"))) {
            w->at++;
            return true;
        }
        if (str_in_cstrs(w->args->items[w->at], r->flags))
            w->at++;
        else if (ret_package->n > 0 || !take_value(w, r->packages, ret_package))
            return false;
    }
    return true;
}

bool package_command_parse(str command, const struct json_strs *args, struct package_command *ret)
{
    const struct runner *r = runner_of(command);
    struct words w = {args, 0};
    str package = STR_NONE;
    if (!r || !skip_options(r, &w, &package) || w.at >= args->len)
        return false;
    str operand = args->items[w.at];
    *ret = (struct package_command){
        .source = r->source,
        .spec = package.n > 0 ? package : operand,
        .program = package.n > 0 ? operand : STR_NONE,
        .first_arg = w.at + 1,
    };
    return (ret->program.n == 0 || is_plain_name(ret->program)) &&
           package_spec_split(ret->spec, &ret->name, &ret->wanted);
}
