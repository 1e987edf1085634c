/* bundle.h - shared by the commands about bundles.
 *
 * If a server is running, the commands send requests to it, so that they show its actual state;
 * otherwise they change the settings file, which takes effect with the next start. */
#pragma once

#include "bundle/entry/entry.h"
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
