/* bundle.h - what the commands about bundles share.
 *
 * With a server running they ask it, so that what it runs and what it says are the same;
 * otherwise they work on the settings file, which takes effect with the next start. */
#pragma once

#include "bundle/entry/entry.h"
#include "cli/conversations/conversations.h"

extern const struct command BUNDLE_LIST, BUNDLE_INFO, BUNDLE_LOGS, BUNDLE_ADD, BUNDLE_AUTH,
    BUNDLE_REMOVE, BUNDLE_ENABLE, BUNDLE_DISABLE, BUNDLE_START, BUNDLE_STOP, BUNDLE_RESTART,
    BUNDLE_SEARCH, BUNDLE_IMPORT, BUNDLE_VALIDATE, BUNDLE_APPROVE, BUNDLE_UPDATE;

/* Like conv_with, after finding the workspace that is meant: x->config.path is then the file
 * with its bundles. */
int bundle_cli_with(struct cli *cli, conv_fn fn, const void *options, int argc, char **argv);
int bundle_cli_place(struct conv_cli *x); /* the same for who uses conv_with; an exit code */
const char *bundle_cli_below(struct conv_cli *x, const char *name); /* in its directory */
const char *bundle_cli_credentials(struct conv_cli *x);

/* Whether a server runs; then x->client is connected to it. */
bool bundle_cli_served(struct conv_cli *x);

/* Like conv_ask, with the time that an installation may take. */
int bundle_cli_ask(struct conv_cli *x, const char *method, str path, const struct json *body,
                   const char *subject, struct json **ret);
str bundle_cli_path(struct conv_cli *x, const char *name, const char *rest); /* /v1/apps/NAME... */

/* The entries of the settings file. Prints what is wrong and returns an exit code. */
int bundle_cli_entries(struct conv_cli *x, struct bundle_entry **ret, size_t *ret_n);
/* The one with this server name or package name, or NULL. */
const struct bundle_entry *bundle_cli_entry_named(const struct bundle_entry *all, size_t n,
                                                  str name);

/* Where an entry comes from, as people write it: "@scope/name", a path, a URL, a command line.
 * Nothing in it is secret but what stands on the command line itself. */
str bundle_cli_source(struct arena *a, const struct bundle_entry *b);
/* A command line as a shell would take it. */
str bundle_cli_quoted(struct arena *a, const char *const *argv);
/* A copy of an entry with its values masked that may be secret: variables, headers, tokens. */
struct json *bundle_cli_masked(struct arena *a, const struct json *entry);

/* The member whom somebody means, at a server where each person signs in: an id or an address;
 * NULL = the only one there is. An exit code. */
int bundle_cli_person(struct conv_cli *x, const char *typed, str *ret_id);

struct sign_in_how {
    int port;         /* of the loopback address; 0 = any */
    bool is_pasted;   /* the person pastes the address at which the browser ended */
    const char *user; /* bundle_cli_person, of a server where each person signs in; or NULL */
};

/* Has a person sign in to a remote server, and keeps the token; an exit code. */
int bundle_cli_sign_in(struct conv_cli *x, const struct bundle_entry *b,
                       const struct sign_in_how *how);

/* Prints the question and reads y or n; `is_sure` answers yes by itself. */
bool bundle_cli_confirm(const char *question, bool is_sure);

/* What the registry says of a package that is not installed; an exit code. */
int bundle_cli_registry_info(struct conv_cli *x, const char *package);

/* The latest version of a package; empty when the registry does not tell, which is printed. */
str bundle_cli_latest_version(struct conv_cli *x, str package);

/* Both make the text safe and print nothing for an empty one. */
void bundle_cli_print_line(FILE *out, const char *label, str text); /* the label in a column */
