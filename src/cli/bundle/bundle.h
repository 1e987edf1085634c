/* bundle.h - shared by the commands about bundles.
 *
 * If a server is running, the commands send requests to it, so that they show its actual state;
 * otherwise they change the settings file, which takes effect with the next start. */
#pragma once

#include "bundle/entry/entry.h"
#include "bundle/plan/inspect.h"
#include "bundle/plan/npm_install.h"
#include "bundle/sandbox/network_reach.h"
#include "cli/args.h"
#include "cli/command.h"

extern const struct command BUNDLE_LIST, BUNDLE_INFO, BUNDLE_LOGS, BUNDLE_ADD, BUNDLE_AUTH,
    BUNDLE_REMOVE, BUNDLE_ENABLE, BUNDLE_DISABLE, BUNDLE_START, BUNDLE_STOP, BUNDLE_RESTART,
    BUNDLE_SEARCH, BUNDLE_IMPORT, BUNDLE_VALIDATE, BUNDLE_APPROVE, BUNDLE_UPDATE;

/* Chooses the workspace, for the frame (NEEDS_PLACE): x->config.path is then the file with its
 * bundles. An exit code. */
int bundle_cli_place(struct cmd *x);
const char *bundle_cli_below(struct cmd *x, const char *name); /* a path in its directory */
const char *bundle_cli_credentials(struct cmd *x);

/* Whether a server is running; then x->client is connected to it. */
bool bundle_cli_served(struct cmd *x);

str bundle_cli_path(struct cmd *x, const char *name, const char *rest); /* /v1/apps/NAME... */

/* Reads the entries of the settings file. Prints an error and returns an exit code. */
int bundle_cli_entries(struct cmd *x, struct bundle_entry **ret, size_t *ret_n);
/* The entry of that name; NULL after printing that there is none. */
const struct bundle_entry *bundle_cli_find(struct cmd *x, const char *name);
/* The entry with this server name or package name, or NULL. */
const struct bundle_entry *bundle_cli_entry_named(const struct bundle_entry *all, size_t n,
                                                  str name);

/* The source of an entry as people write it: "@scope/name", a path, a URL, a command line. It
 * contains no secrets except those on the command line itself. */
str bundle_cli_source(struct arena *a, const struct bundle_entry *b);
/* A command line in the syntax of a shell. */
str bundle_cli_quoted(struct arena *a, const char *const *argv);
/* A copy of an entry in which values that may be secret are masked: variables, headers, tokens. */
struct json *bundle_cli_masked(struct arena *a, const struct json *entry);

/* The member that the user named, for a server where each person signs in: an id or an address;
 * NULL = the only member. An exit code. */
int bundle_cli_person(struct cmd *x, const char *typed, str *ret_id);

struct sign_in_how {
    int port;         /* port of the loopback address; 0 = any */
    bool is_pasted;   /* the user pastes the address at which the browser ended */
    const char *user; /* from bundle_cli_person, for a server where each person signs in; or NULL */
};

/* Lets a person sign in to a remote server and stores the token; an exit code. */
int bundle_cli_sign_in(struct cmd *x, const struct bundle_entry *b, const struct sign_in_how *how);

/* Prints what the registry says about a package that is not installed; an exit code. */
int bundle_cli_registry_info(struct cmd *x, const char *package);

/* The latest version of a package; empty when the registry does not return it, after printing an
 * error. */
str bundle_cli_latest_version(struct cmd *x, str package);

/* Both make the text safe and print nothing for an empty text. */
void bundle_cli_print_line(FILE *out, const char *label, str text); /* with the label in a column */

/* ---- a bundle before it is added: its files, the inspection, the questions ---- */

struct bundle_cli_files {
    const char *dir; /* NULL = not a package */
    str version;     /* version in the registry; empty for other sources */
};

/* The unpacked files of a package. Downloads a package of the registry, unpacks an archive. */
int bundle_cli_find_files(struct cmd *x, const struct bundle_entry *b, struct bundle_cli_files *ret,
                          struct err *e);

/* The same for a package of the registry, downloaded into a different directory. */
int bundle_cli_fetch(struct cmd *x, const struct bundle_entry *b, const char *package_dir,
                     struct bundle_cli_files *ret, struct err *e);

struct bundle_cli_question {
    const struct bundle_entry *entry; /* not of a remote server */
    const char *files;                /* directory of a package, or NULL */
    const struct json *values;        /* values of --set, or NULL */
    const struct npm_package *npm;    /* the package that the command runs, or NULL */
};

struct bundle_place bundle_cli_bundle_place(struct cmd *x);

int bundle_cli_inspect(struct cmd *x, const struct bundle_cli_question *q, struct inspection *ret,
                       struct err *e);
struct json *bundle_cli_inspection_json(struct cmd *x, const struct inspection *in);
void bundle_cli_show(struct cmd *x, FILE *out, const struct inspection *in);

/* Asks for each directory that the manifest proposes; `allowed` (keys or paths of --allow-dir)
 * answers yes. Granted directories are added to `granted` as values of the options. An exit
 * code. */
int bundle_cli_ask_proposals(struct cmd *x, const struct inspection *in,
                             const struct arg_list *allowed, bool may_ask, struct json *granted);

/* ---- packages of npm and uvx ---- */

/* Looks up the exact version that the entry's command means now; installs nothing. */
int bundle_cli_npm_resolve(struct cmd *x, const struct bundle_entry *b, struct npm_package *ret,
                           struct err *e);
/* Installs the version that the entry pins, unless it is installed. */
int bundle_cli_npm_install(struct cmd *x, const struct bundle_entry *b, struct err *e);

/* "pinned" of an entry. */
struct json *bundle_cli_pinned(struct arena *a, const struct npm_pin *pin);

/* Asks uv which version the command means now, and writes that version into "args" of the entry, so
 * that a later start runs what was shown. Does not change commands that name an exact version or
 * run other programs, or any command when uv is not installed: another check reports a missing
 * program. Nothing of the package is built or run. uv still chooses the dependencies of the package
 * at each start. ret: whether "args" has changed. */
int bundle_cli_uvx_pin(struct cmd *x, const struct bundle_entry *b, struct json *entry, bool *ret,
                       struct err *e);
