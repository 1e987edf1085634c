/* conversations.h - shared by the commands of `nb conversations`.
 *
 * A command declares a struct command and works in a conv_fn; conv_with opens everything before and
 * closes it afterwards. */
#pragma once

#include "cli/cli.h"
#include "cli/session/client.h"

struct conv_cli {
    struct cli *cli;
    struct config config;
    struct logger *log;
    struct loop *loop;
    struct client *client; /* NULL for commands that use files directly */
    struct arena arena;    /* lives as long as the command */
    size_t width;          /* columns of the terminal; 0 = no terminal, nothing is cut */
    struct roster *people; /* read by conv_person; NULL = not read yet */
};

typedef int (*conv_fn)(struct conv_cli *x, const void *options, int argc, char **argv);

/* Returns the exit code. */
int conv_with(struct cli *cli, bool with_client, conv_fn fn, const void *options, int argc,
              char **argv);

/* The id that the user typed; "latest" is the conversation that changed last. Prints an error and
 * returns an exit code otherwise. */
int conv_id(struct conv_cli *x, const char *typed, str *ret);

/* Sends a request to the API; prints an error, after `subject` (may be NULL). */
int conv_ask(struct conv_cli *x, const char *method, str path, str body, const char *subject,
             struct json **ret);
/* "/v1/conversations/<id><rest>" */
str conv_path(struct conv_cli *x, str id, const char *rest);

void conv_print_json(const struct json *v); /* one line */
/* Title, or the beginning of the first message; safe to print. */
str conv_label(struct conv_cli *x, const struct json *conv);
/* The name of a user, else the e-mail address, else the id; safe to print. */
str conv_person(struct conv_cli *x, str user_id);
str conv_ago(struct conv_cli *x, str iso);
str conv_cost(struct conv_cli *x, const struct json *usd); /* "$0.0123", or "?" for null */
str conv_count(struct conv_cli *x, int64_t n);             /* 1234567 is "1.2 M" */

extern const struct command CONV_LIST, CONV_SHOW, CONV_SEARCH, CONV_STATS, CONV_FORK, CONV_RENAME,
    CONV_DELETE, CONV_RESTORE, CONV_NOTE, CONV_EXPORT, CONV_IMPORT, CONV_CONVERT, CONV_VERIFY,
    CONV_REPAIR, CONV_SHARE_WITH, CONV_UNSHARE, CONV_PARTICIPANTS;
