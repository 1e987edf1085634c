#include "cli/cli.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/nearest.h"
#include "cli/command.h"
#include "cli/session/remote.h"
#include "cli/session/session.h"
#include "cli/session/session_log.h"
#include "cli/term/safe_out.h"
#include "cli/term/text.h"
#include "config/setting.h"
#include "net/first_process.h"
#include "server/place.h"
#include "server/shared.h"

#define COMPLAINT_MAX (64u * 1024)

const struct command *const COMMANDS[] = {
    &CMD_INIT,    &CMD_SERVE,         &CMD_LINK,        &CMD_STATUS,    &CMD_RELOAD,
    &CMD_HEALTH,  &CMD_CONVERSATIONS, &CMD_RESUME,      &CMD_BUNDLE,    &CMD_CONFIG,
    &CMD_SECRETS, &CMD_USER,          &CMD_TOKEN,       &CMD_WORKSPACE, &CMD_LOGIN,
    &CMD_LOGOUT,  &CMD_ACP,           &CMD_MCP,         &CMD_MODELS,    &CMD_SKILL,
    &CMD_PROMPT,  &CMD_INSTRUCTIONS,  &CMD_PROMPTS,     &CMD_USAGE,     &CMD_BUDGET,
    &CMD_AUDIT,   &CMD_BACKUP,        &CMD_RESTORE,     &CMD_STORE,     &CMD_DOCTOR,
    &CMD_UPGRADE, &CMD_REPLAY,        &CMD_LAUNCH,      &CMD_MEDIA,     &CMD_ACCESS,
    &CMD_OPENAPI, &CMD_SCHEMA,        &CMD_COMPLETIONS, &CMD_MAN,       NULL,
};

#define OPT(member)  offsetof(struct cli, opt.member)
#define CHAT(member) offsetof(struct cli, chat.member)

const struct arg CLI_GLOBAL_ARGS[] = {
    {"config", 'c', ARG_STRING, "FILE",
     "read settings from FILE (default: nimblebrain.json in the work directory)", OPT(config)},
    {"workdir", 0, ARG_STRING, "DIR", "keep data in DIR (default: ~/.nimblebrain)", OPT(work_dir)},
    {"workspace", 0, ARG_STRING, "WS", "use this workspace, by name or id", OPT(workspace)},
    {"model", 'm', ARG_STRING, "NAME", "use this model: provider:model, or a name", OPT(model)},
    {"store", 0, ARG_STRING, "TYPE", "use a store of type jsonl, folder, memory or postgres",
     OPT(store), .choices = "jsonl, folder, memory, postgres"},
    {"server", 0, ARG_STRING, "URL", "work on this server, with the token of nb login",
     OPT(server)},
    {"token-file", 0, ARG_STRING, "FILE", "read the token for that server from FILE",
     OPT(token_file)},
    {"insecure", 0, ARG_FLAG, NULL, "allow http:// for a server on another machine",
     OPT(is_insecure)},
    {"json", 'j', ARG_FLAG, NULL, "print results as JSON, one per line", OPT(is_json)},
    {"debug", 0, ARG_FLAG, NULL, "log what happens to stderr", OPT(is_debug)},
    {"help", 'h', ARG_FLAG, NULL, "show help for nb or a command", OPT(is_help)},
    {"version", 'V', ARG_FLAG, NULL, "show the version", OPT(is_version)},
    {0}};

const struct arg CLI_CHAT_ARGS[] = {
    {"prompt", 'p', ARG_STRING, "TEXT", "ask once, print the answer and exit", CHAT(prompt)},
    {"file", 'f', ARG_LIST, "FILE", "attach a text, picture or other file (may be repeated)",
     CHAT(files)},
    {"allow", 0, ARG_LIST, "GLOB", "call these tools without asking (may be repeated)",
     CHAT(allow)},
    {"resume", 'r', ARG_STRING, "ID", "continue a conversation", CHAT(resume)},
    {"continue", 0, ARG_FLAG, NULL, "continue the latest conversation", CHAT(is_continue)},
    {"events", 0, ARG_FLAG, NULL, "print every event of an answer as a line of JSON",
     CHAT(is_events)},
    {"output-schema", 0, ARG_STRING, "FILE", "print only JSON that fits this JSON Schema",
     CHAT(output_schema)},
    {"max-cost", 0, ARG_STRING, "USD", "stop when the model calls have cost this much",
     CHAT(max_cost)},
    {"timeout", 0, ARG_INT, "SECONDS", "stop after this time", CHAT(timeout)},
    {"plain", 0, ARG_FLAG, NULL, "print lines only, for screen readers", CHAT(is_plain)},
    {"no-project-context", 0, ARG_FLAG, NULL, "do not read AGENTS.md and CLAUDE.md of the project",
     CHAT(is_without_project)},
    {"here", 0, ARG_FLAG, NULL, "run in this process and directory, even when a server runs",
     CHAT(is_here)},
    {0}};

/* Global and chat options in one table, because both may precede a command. */
#define TOP_ARGS_MAX 32

static void top_args(struct arg ret[TOP_ARGS_MAX])
{
    size_t n = 0;
    for (const struct arg *a = CLI_CHAT_ARGS; a->name; a++)
        ret[n++] = *a;
    for (const struct arg *a = CLI_GLOBAL_ARGS; a->name; a++)
        ret[n++] = *a;
    ret[n] = (struct arg){0};
}

void cli_complain(str message)
{
    struct buf b;
    buf_init(&b, COMPLAINT_MAX);
    text_add(&b, message);
    fprintf(stderr, "nb: %.*s\n", STR_ARG(buf_str(&b)));
    buf_done(&b);
}

int cli_error(int code, const char *fmt, ...)
{
    struct buf b;
    va_list ap;
    buf_init(&b, COMPLAINT_MAX);
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    cli_complain(buf_str(&b));
    buf_done(&b);
    return code;
}

int cli_fail(const struct err *e)
{
    cli_complain(str_from(e->msg));
    return EXIT_FAILED;
}

/* A command's own options and the global ones are parsed into one block, the global ones first. */
struct both {
    struct cli cli;
    union arg_value values[COMMAND_ARGS_MAX];
};

#define GLOBAL_ARGS_MAX 16

static int no_such_command(const struct command *group, const char *name)
{
    struct err e;
    struct nearest n = nearest_to(str_from(name));
    for (const struct command *const *list = group ? group->subs : COMMANDS; *list; list++)
        nearest_offer(&n, (*list)->name);
    err_set(&e, -EINVAL, "%s%sno such command '%s'", group ? group->name : "", group ? ": " : "",
            name);
    nearest_hint(&e, n.best);
    (void)cli_usage_error("%s", e.msg);
    if (!group && !n.best)
        fputs("To ask a question, put it in quotes: nb -p \"QUESTION\".\n", stderr);
    return help_hint(EXIT_USAGE, group);
}

/* Parses the options of c, or of all commands when c is a group, before its subcommand. */
static int parse_options(struct both *b, const struct command *c, bool is_group, int argc,
                         char **argv, int *ret_n)
{
    struct arg table[COMMAND_ARGS_MAX + GLOBAL_ARGS_MAX] = {0}; /* ends with an empty row */
    struct cmd x = {.command = c};
    struct err e = {0};
    size_t n = 0;
    for (const struct arg *a = is_group ? NULL : c->args; a && a->name; a++) {
        assert(n < COMMAND_ARGS_MAX);
        table[n] = *a;
        table[n].offset = offsetof(struct both, values) + n * sizeof(union arg_value);
        n++;
    }
    for (const struct arg *a = CLI_GLOBAL_ARGS; a->name; a++) {
        assert(n < ARRAY_LEN(table) - 2);
        table[n++] = *a;
    }
    if (c->yes && !is_group)
        table[n++] = (struct arg){"yes", 'y', ARG_FLAG, NULL, c->yes, OPT(is_sure)};
    if (args_parse(table, b, argc, argv, is_group, ret_n, &e) == 0)
        return EXIT_DONE;
    return help_hint(cmd_usage(&x, "%s", e.msg), c);
}

static int run_command(struct both *b, const struct command *c, int argc, char **argv)
{
    bool is_group = c->subs && !(c->run && (argc == 0 || argv[0][0] == '-')); /* nb audit --json */
    int code = parse_options(b, c, is_group, argc, argv, &argc);
    if (code != EXIT_DONE)
        return code;
    if (c->subs && argc > 0) {
        const struct command *sub = command_find(c->subs, argv[0]);
        return sub ? run_command(b, sub, argc - 1, argv + 1) : no_such_command(c, argv[0]);
    }
    if (b->cli.opt.is_help || is_group) {
        help_print_command(b->cli.opt.is_help ? stdout : stderr, c);
        return b->cli.opt.is_help ? EXIT_DONE : EXIT_USAGE;
    }
    return command_run(&b->cli, c, b->values, argc, argv);
}

static bool is_color_wanted(int fd)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fd) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

static int help_command(int argc, char **argv)
{
    if (argc == 0) {
        help_print(stdout);
        return EXIT_DONE;
    }
    const struct command *c = NULL, *const *among = COMMANDS;
    for (int i = 0; among && i < argc; i++) {
        const struct command *up = c;
        c = command_find(among, argv[i]);
        if (!c)
            return no_such_command(up, argv[i]);
        among = c->subs;
    }
    help_print_command(stdout, c);
    return EXIT_DONE;
}

/* A closed descriptor below 3 would be reused by the next opened file, and output would be written
 * into a log. Children inherit these three, hence no O_CLOEXEC. */
static void open_standard_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

static bool is_pipe(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

/* Lost output is a failure; a reader that closes a pipe early is not an error. */
static int check_output(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    if (!is_pipe(STDOUT_FILENO))
        fputs("nb: the output could not be written\n", stderr);
    return code == EXIT_DONE ? EXIT_FAILED : code;
}

/* nb "a question": commands are single words, so several words are a question. */
static int ask_once(struct both *b, const struct arg *table, int argc, char **argv)
{
    struct err e = {0};
    int n;
    b->cli.chat.prompt = argv[0];
    if (args_parse(table, b, argc - 1, argv + 1, false, &n, &e) < 0)
        return help_hint(cli_usage_error("%s", e.msg), NULL);
    if (n > 0)
        return help_hint(cli_usage_error("there is a word after the question: '%s'; put all of it "
                                         "in quotes",
                                         argv[1]),
                         NULL);
    if (b->cli.opt.is_json || b->cli.chat.is_events)
        safe_out_begin(SAFE_JSON);
    return help_hint(cli_chat(&b->cli), NULL);
}

static int cli_dispatch(int argc, char **argv)
{
    struct both b = {0};
    struct arg table[TOP_ARGS_MAX];
    struct err e = {0};
    int n;
    /* a peer that closes the connection must be an error code and must not end the process */
    (void)signal(SIGPIPE, SIG_IGN);
    b.cli.is_tty_in = isatty(STDIN_FILENO);
    b.cli.is_tty_out = isatty(STDOUT_FILENO);
    b.cli.has_color_out = is_color_wanted(STDOUT_FILENO);
    b.cli.has_color_err = is_color_wanted(STDERR_FILENO);
    top_args(table);
    if (args_parse(table, &b, argc - 1, argv + 1, true, &n, &e) < 0)
        return help_hint(cli_usage_error("%s", e.msg), NULL);
    char **rest = argv + 1;
    if (b.cli.opt.is_version) {
        puts("nb " NB_VERSION);
        return EXIT_DONE;
    }
    if (n == 0 && b.cli.opt.is_help) {
        help_print(stdout);
        return EXIT_DONE;
    }
    if (n == 0 && (b.cli.opt.is_json || b.cli.chat.is_events))
        safe_out_begin(SAFE_JSON);
    if (n == 0)
        return help_hint(cli_chat(&b.cli), NULL);
    if (strcmp(rest[0], "help") == 0)
        return help_command(n - 1, rest + 1);
    const struct command *c = command_find(COMMANDS, rest[0]);
    if (!c && strchr(rest[0], ' '))
        return ask_once(&b, table, n, rest);
    if (!c)
        return no_such_command(NULL, rest[0]);
    return run_command(&b, c, n - 1, rest + 1);
}

int cli_main(int argc, char **argv)
{
    open_standard_streams();
    first_process_step_back();
    return check_output(cli_dispatch(argc, argv));
}

/* ---- shared by commands ---- */

static const char *from_environment(void *ctx, const char *name)
{
    return getenv(name);
}

void cli_use_server(struct cli *cli)
{
    const char *from_env = getenv("NB_SERVER");
    if (!cli->opt.server && from_env && *from_env && !cli->chat.is_here)
        cli->opt.server = from_env;
}

/* Replaces a workspace's name by its id. An unknown name stays unchanged: the command that needs
 * the workspace reports it. */
static int find_workspace(struct config *c, struct err *e)
{
    struct roster *all = NULL;
    const struct workspace *w;
    int r = 0;
    if (!c->workspace || place_roster(c, &all, NULL) < 0)
        return 0;
    r = roster_find_workspace(all, str_from(c->workspace), &w, e);
    if (r == 0)
        c->workspace = arena_cstr(&c->arena, w->id);
    roster_free(all);
    return r == -EINVAL ? r : 0;
}

/* The workspace that a command names: its id if it is of this machine. */
static int choose_workspace(const struct cli *cli, struct config *ret, struct err *e)
{
    const char *from_env = getenv("NB_WORKSPACE");
    ret->workspace = cli->opt.workspace      ? cli->opt.workspace
                     : from_env && *from_env ? from_env
                                             : NULL;
    if (!cli->opt.server)
        return find_workspace(ret, e);
    return remote_use(ret, cli->opt.server, cli->opt.token_file, cli->opt.is_insecure, e);
}

static int load_config(const struct cli *cli, const struct config_flags *more, bool without_file,
                       struct config *ret, struct err *e)
{
    struct config_flags f = more ? *more : CONFIG_FLAGS_NONE;
    f.config_path = cli->opt.config;
    f.work_dir = cli->opt.work_dir;
    f.model = cli->opt.model;
    f.store_type = cli->opt.store;
    f.is_debug = cli->opt.is_debug;
    f.without_file =
        without_file || cli->opt.server; /* the settings of this machine do not matter */
    int r = config_load(ret, &f, from_environment, NULL, e);
    if (r < 0)
        return r;
    r = choose_workspace(cli, ret, e);
    if (r < 0) {
        config_done(ret);
        return r;
    }
    for (size_t i = 0; i < ret->warnings.len; i++)
        fprintf(stderr, "nb: warning: %.*s\n", STR_ARG(ret->warnings.items[i]));
    return 0;
}

int cli_load_config(const struct cli *cli, const struct config_flags *more, struct config *ret)
{
    struct err e = {0};
    return load_config(cli, more, false, ret, &e) < 0 ? cli_fail(&e) : EXIT_DONE;
}

int cli_load_config_to_ask(const struct cli *cli, struct config *ret)
{
    struct err e = {0};
    if (load_config(cli, NULL, false, ret, &e) == 0)
        return EXIT_DONE;
    if (load_config(cli, NULL, true, ret, NULL) < 0)
        return cli_fail(&e);
    if (!session_is_served(ret)) {
        config_done(ret);
        return cli_fail(&e);
    }
    err_prefix(&e, "warning: the running server keeps the settings that it read before");
    (void)cli_fail(&e);
    return EXIT_DONE;
}

/* To stderr, and to the log of the session, if there is one. */
static void write_line(void *ctx, enum log_level level, str line)
{
    const struct session_log *also = ctx;
    if (!also || level >= also->to_stderr)
        (void)!write(STDERR_FILENO, line.p, line.n);
    if (also)
        (void)!write(also->fd, line.p, line.n);
}

struct logger *cli_logger(const struct cli *cli, const struct config *c, enum log_level at_least,
                          struct session_log *also)
{
    enum log_level level = LOG_INFO;
    (void)log_level_parse(str_from(c->logging.level), &level); /* checked by config_load */
    if (c->logging.disabled)
        level = LOG_OFF;
    enum log_level to_stderr = level < at_least && !cli->opt.is_debug ? at_least : level;
    if (also && also->fd >= 0)
        also->to_stderr = to_stderr;
    else
        level = to_stderr;
    bool is_json = strcmp(c->logging.format, "json") == 0;
    struct logger *l = logger_new(level, is_json ? LOG_JSON : LOG_TEXT, write_line,
                                  also && also->fd >= 0 ? also : NULL);
    for (size_t i = 0; i < SETTINGS_LEN; i++)
        if (SETTINGS[i].flags & SETTING_SECRET)
            log_secret(l, setting_str(&SETTINGS[i], c));
    log_secret(l, c->remote.token);
    const struct json *headers = c->otlp.headers; /* often with a key of the collector */
    for (size_t i = 0; json_is(headers, JSON_OBJECT) && i < headers->len; i++)
        log_secret(l, json_string(&headers->members[i].value, STR_NONE));
    return l;
}

static void account_name(char *ret, size_t size)
{
    struct passwd p, *found = NULL;
    char room[4096];
    if (getpwuid_r(getuid(), &p, room, sizeof room, &found) == 0 && found)
        snprintf(ret, size, "%s", found->pw_name);
    else
        snprintf(ret, size, "uid %u", (unsigned)getuid());
}

void cli_record(const struct config *c, const char *action, str target, bool is_done, str detail)
{
    char account[128];
    struct err e = {0};
    account_name(account, sizeof account);
    struct audit_entry entry = {
        .user = str_from(account),
        .how = STR("terminal"),
        .via = STR("cli"),
        .workspace = str_from(c->workspace),
        .action = str_from(action),
        .target = target,
        .outcome = is_done ? STR("ok") : STR("failed"),
        .detail = detail,
    };
    struct shared_audit to;
    int r = shared_audit_open(&to, c, &e);
    if (r == 0)
        r = to.log->append(to.log, &entry, 1, NULL, &e);
    shared_audit_close(&to);
    if (r < 0) {
        err_prefix(&e, "warning: this was not recorded in the audit log");
        cli_complain(str_from(e.msg));
    }
}
