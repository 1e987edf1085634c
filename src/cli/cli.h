/* cli.h - the command line: one file per command, one table of commands.
 *
 * Exit codes: 0 done, 1 failed, 2 usage error; answers have more (headless/exit_code.h). Results
 * are printed to stdout, everything else to stderr. NO_COLOR and redirected output turn colours
 * off.
 *
 *   term/           output and questions of every command: styles, tables, progress, secrets
 *   screen/         the terminal as a screen: keys, line editor, Markdown, forms
 *   panel/          lists and choices of the chat, as text
 *   session/        a conversation with an agent: in this process, in a running server, or
 * elsewhere view/           an answer on the terminal, its media, questions about tool calls
 *   headless/       answers without a screen: events, limits, exit codes
 *   chat/           nb, nb -p: the interactive chat and one answer
 *   acp/            nb acp: the agent of an editor
 *   conversations/  nb conv, replay, prompt, usage
 *   bundle/         nb bundle
 *   mcp/            nb mcp, skill, models, config, secrets, launch
 *   people/         nb user, workspace, token, audit, access, link, login
 *   manual/         nb man, completions, schema: written from tables
 *   serve/          nb serve, status, doctor, init, backup, restore
 *   .               the options, the table of commands and their frame (command.h) */
#pragma once

#include "cli/args.h"
#include "config/config.h"
#include "loop/loop.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct cli_options { /* accepted before and after the command's name */
    const char *config, *work_dir, *workspace, *model, *store;
    const char *server, *token_file; /* work on a server elsewhere */
    bool is_insecure;                /* also without TLS */
    bool is_json, is_debug, is_help, is_version;
    bool is_sure; /* --yes, for commands that ask */
};

struct chat_options {
    const char *prompt, *resume;
    const char *first; /* a line that the chat begins with, as if it had been typed; or NULL */
    const char *output_schema, *max_cost;
    int timeout; /* seconds; 0 = none */
    struct arg_list files, allow;
    bool is_continue;
    bool is_without_project;
    bool is_plain;  /* for screen readers: nothing is redrawn */
    bool is_events; /* print every event as JSON */
    bool is_here;   /* use a server in this process, even when a server runs */
};

struct cli {
    struct cli_options opt;
    struct chat_options chat;
    bool has_color_out, has_color_err;
    bool is_tty_in, is_tty_out;
};

extern const struct arg CLI_GLOBAL_ARGS[], CLI_CHAT_ARGS[];

int cli_main(int argc, char **argv);
int cli_chat(struct cli *cli); /* `nb` without a command */

/* ---- shared by commands ---- */

/* Prints the message, returns the code. After a usage error the caller adds how to get help. */
int cli_error(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define cli_usage_error(...) cli_error(EXIT_USAGE, __VA_ARGS__)
#define cli_failed(...)      cli_error(EXIT_FAILED, __VA_ARGS__)
int cli_fail(const struct err *e); /* prints it, returns EXIT_FAILED */
void cli_complain(str message);    /* to stderr; makes foreign text safe for a terminal */

/* Takes the server from NB_SERVER, if no option names one. */
void cli_use_server(struct cli *cli);

/* Loads the configuration, printing its warnings; 0 or an exit code. */
int cli_load_config(const struct cli *cli, const struct config_flags *more, struct config *ret);
/* For commands that send requests to a running server, if there is one: then wrong settings are
 * only a warning, because the server uses the settings that it read before. */
int cli_load_config_to_ask(const struct cli *cli, struct config *ret);
/* Writes log lines to stderr at the configured level, or at `at_least` if that is higher; and at
 * the configured level to the log of the session, which may be NULL and must outlive the logger. */
struct session_log;
struct logger *cli_logger(const struct cli *cli, const struct config *c, enum log_level at_least,
                          struct session_log *also);

/* commands without a server write their own audit records. */

/* The actor is the account that runs the command. If the log cannot be written, a warning is
 * printed. */
void cli_record(const struct config *c, const char *action, str target, bool is_done, str detail);
