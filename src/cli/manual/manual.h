/* manual.h - manual pages, completions of shells and the schema of settings, from the tables.
 *
 * The tables are those of commands (command.h), settings (config/setting.h) and events
 * (bus/vocabulary.h). Nothing here is written by hand a second time. Pure. */
#pragma once

#include "cli/command.h"

/* A page of section 1 for nb itself (c NULL), or for a command with its subcommands. */
void man_add_command(struct buf *b, const struct command *c);
void man_add_settings(struct buf *b); /* nimblebrain.json(5) */
void man_add_log(struct buf *b);      /* nb-log(5) */

/* ---- what a shell may complete ---- */

enum completion_value {
    COMPLETES_NOTHING, /* a switch, or a value of which nothing is known */
    COMPLETES_FILES,
    COMPLETES_DIRS,
    COMPLETES_CHOICES, /* those of the option */
};

enum completion_value completion_value_of(const struct arg *a);
bool completion_takes_files(const struct command *c); /* as operands */

/* The options of a command; NULL: those of nb itself. Ends with an empty row. */
#define COMPLETION_ARGS_MAX 64
void completion_args(const struct command *c, struct arg ret[COMPLETION_ARGS_MAX]);

/* Calls `visit` for nb itself (NULL, ""), each command that is not hidden and each subcommand, with
 * its path. */
typedef void (*completion_visit)(struct buf *b, const struct command *c, const char *path);
void completion_each(struct buf *b, completion_visit visit);

void completions_add_bash(struct buf *b);
void completions_add_zsh(struct buf *b);
void completions_add_fish(struct buf *b);
