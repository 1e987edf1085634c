/* command.h - a command is one struct and one function; everything around them is the frame's.
 *
 * The frame parses the options, checks the number of operands, opens what the command needs, calls
 * its function and closes everything again; it prints usage errors and the help, both from the
 * struct. The function returns the exit code (cli.h). */
#pragma once

#include "auth/instance.h"
#include "base/json/json.h"
#include "cli/cli.h"

enum command_needs {
    NEEDS_SETTINGS = 1 << 0,  /* config; wrong settings end the command */
    NEEDS_LOOP = 1 << 1,      /* config, log and loop. For commands that may send requests to a
                               * running server: then wrong settings are a warning, because the
                               * server uses the settings that it read before */
    NEEDS_CLIENT = 1 << 2,    /* the same, and a client: of a running server, or of one in this
                               * process */
    NEEDS_BUNDLES = 1 << 3,   /* the same, and a server in this process runs the bundles */
    NEEDS_PLACE = 1 << 4,     /* NEEDS_LOOP, and config.path is the file with the bundles of the
                               * chosen workspace */
    NEEDS_PEOPLE = 1 << 5,    /* NEEDS_SETTINGS, instance and roster */
    NEEDS_TERMINAL = 1 << 6,  /* or --yes: the command asks before it does anything */
    WRITES_PROTOCOL = 1 << 7, /* to stdout, which must not be changed for terminals */
    WORKS_ELSEWHERE = 1 << 8, /* needs only the API, and so can use the server of --server */
};

struct cmd { /* one run of a command */
    struct cli *cli;
    const struct command *command;
    unsigned needs;                /* of the command, or of its group */
    const union arg_value *values; /* of command->args, row by row */
    int argc;
    char **argv;        /* operands; their number is what command->operands says */
    struct arena arena; /* lives as long as the run */
    size_t width;       /* columns of the terminal; 0 = no terminal, nothing is cut */
    struct config config;
    struct logger *log;
    struct loop *loop;
    struct client *client; /* session/client.h */
    struct instance instance;
    struct json *members;  /* of a workspace elsewhere; NULL until they are read */
    struct roster *roster; /* the current one; without NEEDS_PEOPLE NULL until it is read */
};

struct command {
    const char *name, *alias;
    const char *operands;   /* "WS USER [ROLE]", "FILE..."; NULL = none. Sets their number. */
    const char *summary;    /* NULL = hidden from the list of commands */
    const char *help;       /* paragraphs after the usage, or NULL */
    const struct arg *args; /* its own options, or NULL */
    const char *yes;        /* help of --yes, for a command that asks; else NULL */
    unsigned needs;         /* enum command_needs; 0 = those of its group */
    int (*run)(struct cmd *x);
    /* subcommands, NULL at the end; run is called when none is named */
    const struct command *const *subs;
};

#define COMMAND_ARGS_MAX 32 /* rows of args */

/* ---- the frame (command.c, help.c) ---- */

/* The commands of nb itself; NULL at the end. */
extern const struct command *const COMMANDS[];
extern const struct command CMD_SERVE, CMD_DOCTOR, CMD_REPLAY, CMD_MODELS, CMD_SKILL, CMD_PROMPT,
    CMD_USAGE, CMD_CONVERSATIONS, CMD_BACKUP, CMD_RESTORE, CMD_LAUNCH, CMD_MEDIA, CMD_MCP,
    CMD_BUNDLE, CMD_MCP_SERVE, CMD_CONFIG, CMD_SECRETS, CMD_STATUS, CMD_RELOAD, CMD_INIT, CMD_USER,
    CMD_TOKEN, CMD_WORKSPACE, CMD_STORE, CMD_LINK, CMD_AUDIT, CMD_ACCESS, CMD_OPENAPI, CMD_MAN,
    CMD_COMPLETIONS, CMD_SCHEMA, CMD_ACP, CMD_RESUME, CMD_LOGIN, CMD_LOGOUT, CMD_INSTRUCTIONS,
    CMD_PROMPTS, CMD_HEALTH, CMD_UPGRADE, CMD_BUDGET;
const struct command *command_find(const struct command *const *among, const char *name);
/* "bundle add" */
str command_path(struct arena *a, const struct command *c);

/* Runs it with its options and operands. */
int command_run(struct cli *cli, const struct command *c, const union arg_value *values, int argc,
                char **argv);

struct help_variable { /* of the environment */
    const char *name, *help;
};
extern const struct help_variable HELP_VARIABLES[]; /* ends with an empty row */

void help_print(FILE *out);
void help_print_command(FILE *out, const struct command *c);
/* "bundle add [OPTIONS] NAME" */
str help_usage(struct arena *a, const struct command *c);
/* Prints how to get help, after a usage error; returns the code. c: NULL = nb itself. */
int help_hint(int code, const struct command *c);

/* ---- for the functions of commands ---- */

/* Values of the command's own options, by name and kind; a name that is not in command->args is a
 * programming error. */
bool cmd_flag(const struct cmd *x, const char *name);
const char *cmd_opt(const struct cmd *x, const char *name); /* NULL = not given */
const char *cmd_opt_or(const struct cmd *x, const char *name, const char *otherwise);
int cmd_int(const struct cmd *x, const char *name); /* 0 = not given */
const struct arg_list *cmd_opts(const struct cmd *x, const char *name);

/* Prints "nb: COMMAND: ..."; EXIT_USAGE. */
int cmd_usage(const struct cmd *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

bool cmd_may_ask(const struct cmd *x); /* a terminal, or --yes */
/* Asks unless --yes was given. EXIT_DONE: yes. EXIT_USAGE: nobody can be asked. EXIT_FAILED: no,
 * after printing `otherwise`. */
int cmd_confirm(const struct cmd *x, const char *question, const char *otherwise);

/* With --json, `v` as one line; otherwise the text, as one line to stdout (say) or stderr (tell).
 * Both return EXIT_DONE. */
#define cmd_say(x, v, ...)  cmd_report(x, stdout, v, __VA_ARGS__)
#define cmd_tell(x, v, ...) cmd_report(x, stderr, v, __VA_ARGS__)
int cmd_report(const struct cmd *x, FILE *out, const struct json *v, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void cmd_print_styled(const struct cmd *x, unsigned style, str safe); /* one line; styled.h */
void cmd_print_text(str foreign); /* as it is, but safe; without a line feed at the end */

/* With --json, prints v as one line; returns whether that was so. */
bool cmd_json(const struct cmd *x, const struct json *v);
void cmd_print_json(const struct json *v);               /* one line */
void cmd_wait(const struct cmd *x, const bool *is_done); /* runs the loop until then */

enum cmd_cell {             /* how a member is shown */
                CELL_TEXT,  /* a string or a whole number */
                CELL_AGO,   /* a time: "5 min ago" */
                CELL_COUNT, /* a number: "1.2 M" */
                CELL_SIZE,  /* the number of items of a list */
                CELL_WORDS, /* a list of strings: "a,b" */
};

/* A column of a list: a member of the row, or what `show` makes of the row. */
struct cmd_column {
    const char *title, *key;
    enum cmd_cell cell;
    const char *otherwise; /* shown when the member is absent, null or empty; or NULL */
    str (*show)(struct cmd *x, const struct json *row);
    bool is_right, is_whole; /* table.h */
    unsigned style;
};

/* Rows as a table; nothing when there are none. with_titles: false for a further part of it. */
void cmd_table(struct cmd *x, const struct json *rows, const struct cmd_column *columns, size_t n,
               bool with_titles);
/* Rows as a table, or `empty` (may be NULL) to stderr; with --json, each row as a line. */
int cmd_list(struct cmd *x, const struct json *rows, const struct cmd_column *columns, size_t n,
             const char *empty);

/* Sends a request to the API. NULL after printing the error, behind `subject` (may be NULL). method
 * NULL = GET; body NULL = none. */
struct json *cmd_ask(struct cmd *x, const char *method, str path, const struct json *body,
                     const char *subject);

/* An object in the arena: cmd_object(x, {STR("id"), json_of_str(id)}, {STR("ok"), ...}). */
#define cmd_object(x, ...)                                                                         \
    cmd_object_of(x, (const struct json_member[]){__VA_ARGS__},                                    \
                  sizeof((const struct json_member[]){__VA_ARGS__}) / sizeof(struct json_member))
struct json *cmd_object_of(struct cmd *x, const struct json_member *members, size_t n);
struct json cmd_strings(struct cmd *x, const str *items, size_t n); /* an array */
struct json cmd_str_or_null(str s);                                 /* null for an empty one */

str cmd_words(struct cmd *x, int from); /* the operands from that one on, with spaces between */
str cmd_joined(struct cmd *x, struct json_strs list, const char *between);
str cmd_line(struct cmd *x, str foreign); /* safe to print, in one line */
str cmd_ago(struct cmd *x, int64_t ms);   /* "5 min ago" */
str cmd_count(struct cmd *x, int64_t n);  /* 1234567 is "1.2 M" */
