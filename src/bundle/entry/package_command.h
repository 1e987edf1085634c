/* package_command.h - command lines that name a package of npm or PyPI: npx, uvx.
 *
 *   npx [-y] [-p SPEC] SPEC|PROGRAM [ARG...]        uvx [--from SPEC] SPEC|PROGRAM [ARG...]
 *
 * Such a package is installed once and then started directly (npm_install.h). A command line with
 * other options, or one that names a URL, a git repository or a file, is not recognised: it is run
 * unchanged. Pure; any thread. */
#pragma once

#include "base/err.h"
#include "base/json/json_decode.h"
#include "bundle/entry/entry.h"

enum package_source { PACKAGE_NPM, PACKAGE_PYPI };

struct package_command {
    enum package_source source;
    str spec;         /* "name", "name@1.2", "@scope/name@latest" */
    str name;         /* without the version */
    str wanted;       /* version, range or tag; empty = latest */
    str program;      /* the program of the package; empty = its only one */
    size_t first_arg; /* of the program, in args */
};

bool package_command_parse(str command, const struct json_strs *args, struct package_command *ret);

/* Splits "name@1.2"; false when it is not a package of a registry. */
bool package_spec_split(str spec, str *ret_name, str *ret_wanted);

/* ---- guesses from the text of a command line what it needs of its sandbox (command_guess.c) ----
 *
 * Hints for the people who write entries, before anything is run. Pure; any thread. */

/* npx, uvx and similar programs download the program that they run. */
bool command_fetches(str command);

/* Paths among its arguments that its sandbox does not show. The first operand is the program or the
 * script, which is always shown. */
struct json_strs command_unseen_paths(struct arena *a, const struct bundle_entry *b);
