/* people.h - shared by the commands about users, tokens and workspaces.
 *
 * They change the files under the lock, whether a server runs or not: a running server detects the
 * change. */
#pragma once

#include "auth/instance.h"
#include "cli/cli.h"
#include "workspace/roster/change.h"

struct people {
    struct cli *cli;
    struct config config;
    struct instance instance;
    struct roster *roster; /* the current roster */
    struct arena arena;    /* lives as long as the command */
    size_t width;          /* of the terminal; 0 = none */
};

typedef int (*people_fn)(struct people *p, const void *options, int argc, char **argv);

/* Opens everything, runs fn, closes it again; returns the exit code. */
int people_with(struct cli *cli, people_fn fn, const void *options, int argc, char **argv);

/* The user or workspace that was named: an e-mail address or an id; an id with or without ws_, or a
 * name. NULL after printing an error. */
const struct user *people_user(struct people *p, const char *typed);
const struct workspace *people_workspace(struct people *p, const char *typed);

/* Applies the change and reads p->roster again. `id` (CHANGE_ID_MAX, may be NULL): id of what was
 * created. Prints an error and returns an exit code otherwise. */
int people_change(struct people *p, const struct change *c, char *ret_id);

/* A new password, typed twice or read from stdin, as a hash in the arena; an exit code. */
int people_password(struct people *p, bool from_stdin, str *ret_hash);

/* Asks, unless `is_sure`; false after printing why not. */
bool people_confirm(struct people *p, bool is_sure, const char *question);

void people_print(struct people *p, const struct json *v); /* one line of JSON */
str people_iso(struct people *p, int64_t ms);
str people_ago(struct people *p, int64_t ms);
void people_set_str(struct people *p, struct json *obj, const char *key, str value);
