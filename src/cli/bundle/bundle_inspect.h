/* bundle_inspect.h - a bundle before it is added: its files, the inspection, the questions. */
#pragma once

#include "bundle/plan/inspect.h"
#include "bundle/sandbox/network_reach.h"
#include "cli/args.h"
#include "cli/bundle/bundle.h"

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
