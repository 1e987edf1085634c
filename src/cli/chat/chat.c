/* `nb` without a command: one question, messages from a pipe, or the interactive chat. */
#include "cli/chat/chat.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "cli/chat/project.h"
#include "cli/cli.h"
#include "cli/headless/exchange.h"
#include "cli/headless/exit_code.h"
#include "cli/session/session.h"
#include "cli/session/session_log.h"
#include "cli/term/input.h"
#include "cli/term/signals.h"
#include "cli/view/view.h"
#include "os/dir.h"
#include "os/file.h"
#include "store/store.h"

static void on_chat_signal(void *ctx, int signum)
{
    struct chat *c = ctx;
    if (c->is_interrupted)
        _exit(EXIT_INTERRUPTED);
    c->is_interrupted = true;
    session_cancel(c->session);
}

/* Whether answers may be redrawn, or only printed. */
static bool is_drawable(const struct cli *cli)
{
    const char *term = getenv("TERM");
    return cli->is_tty_out && !cli->opt.is_json && !cli->chat.is_events &&
           !(term && strcmp(term, "dumb") == 0);
}

static void on_shown(void *ctx)
{
    *(bool *)ctx = true;
}

/* The same on a terminal: Markdown is rendered, running tools are shown. */
static int chat_show(struct chat *c, str text)
{
    struct screen screen;
    struct view view;
    bool is_done = false;
    screen_init(&screen, STDOUT_FILENO);
    view_init(&view, c->loop, &screen, c->cli->has_color_out);
    view.tells_directory = true;
    view_begin(&view, on_shown, &is_done);
    session_send(c->session, text, &VIEW_EVENTS, &view);
    while (!is_done)
        (void)loop_run_until(c->loop, &is_done, UINT32_MAX);
    int code = view.error.n > 0 ? exit_code_of_error(view.error) : exit_code_of_stop(view.stop);
    view_tell_interface(&view, c->session);
    if (!view.has_failed)
        media_show(&view, c->session);
    view_done(&view);
    screen_done(&screen);
    return code;
}

static void tell_project_file(void *ctx, const struct project_file *f)
{
    if (f->is_too_large)
        (void)cli_failed("%s has more than %u bytes and is not read", f->path, PROJECT_BYTES_MAX);
}

/* Sends one message and waits for its end. Signals are handled only meanwhile: while nb waits for
 * input no loop runs, and a signal simply ends the process. */
static int exchange(struct chat *c, struct exchange_limits *limits, str text)
{
    bool is_limited = limits->end_ms > 0 || limits->schema.schema || limits->spending.limit >= 0;
    struct err e = {0};
    if (project_attach(c->cli, c->config, c->session, tell_project_file, NULL, &e) < 0)
        return cli_fail(&e);
    struct signals *signals = signals_new(c->loop, on_chat_signal, c);
    int code = is_drawable(c->cli) && !is_limited
                   ? chat_show(c, text)
                   : exchange_run(c->cli, c->loop, c->session, limits, text);
    signals_free(signals);
    return code;
}

/* ---- modes of chat ---- */

static int one_shot(struct chat *c, struct exchange_limits *limits)
{
    struct arena a;
    struct err e = {0};
    struct input_files files;
    str text;
    arena_init(&a);
    int code = EXIT_FAILED;
    int r = input_compose(c->cli, &a, &text, &files, &e);
    for (size_t i = 0; r == 0 && i < files.n; i++)
        r = session_attach(c->session, files.paths[i], &e);
    if (r < 0)
        cli_fail(&e);
    else
        code = exchange(c, limits, text);
    arena_done(&a);
    return code;
}

/* One message per line until the input ends. A failed turn does not stop the others; the code is
 * that of the last one that failed. */
static int headless(struct chat *c, struct exchange_limits *limits)
{
    struct buf line;
    int code = EXIT_DONE;
    buf_init(&line, INPUT_LINE_MAX);
    while (!c->is_interrupted && input_read_line(stdin, &line)) {
        str text = str_trim(buf_str(&line));
        int ended = text.n > 0 ? exchange(c, limits, text) : EXIT_DONE;
        code = ended != EXIT_DONE ? ended : code;
        if (ended == EXIT_COST || ended == EXIT_TIME) /* of the whole command */
            break;
    }
    buf_done(&line);
    if (ferror(stdin)) {
        struct err e = {0};
        err_set(&e, -errno, "cannot read the piped input: %s", err_reason(-errno));
        code = cli_fail(&e);
    }
    return code;
}

static struct json_strs allowed(struct chat *c)
{
    const struct arg_list *given = &c->cli->chat.allow;
    struct json_strs globs = {arena_array(&c->config->arena, given->len, sizeof(str)), given->len};
    for (size_t i = 0; i < given->len; i++)
        globs.items[i] = str_from(given->items[i]);
    return globs;
}

/* ---- a conversation that is not where new ones are stored ---- */

static bool is_log_in(struct config *c, const char *dir, str id)
{
    return file_exists(arena_printf(&c->arena, "%s/%.*s.jsonl", dir, STR_ARG(id)).p);
}

static const char *in_workspaces(struct config *c, str id)
{
    const char *root = config_path(c, "workspaces"), *found = NULL;
    DIR_EACH (d, root) {
        if (d.name[0] == '.' || found)
            continue;
        const char *dir = arena_printf(&c->arena, "%s/%s/conversations", root, d.name).p;
        if (is_log_in(c, dir, id))
            found = dir;
    }
    return found;
}

/* The directory of <id>.jsonl, in the config's arena; NULL when it is in the configured store, or
 * nowhere, or when the store does not use files. Logs may be in the configured directory, in the
 * flat default, or in the directory of a workspace, depending on earlier settings. */
static const char *locate_log(struct config *c, str id)
{
    if (strcmp(c->store.type, "jsonl") != 0 || !store_id_valid(id))
        return NULL;
    const char *flat = config_path(c, "conversations");
    if (is_log_in(c, c->store.dir ? c->store.dir : flat, id))
        return NULL;
    return is_log_in(c, flat, id) ? flat : in_workspaces(c, id);
}

static bool find_elsewhere(struct chat *c)
{
    const char *id = c->cli->chat.resume;
    const char *dir = id ? locate_log(c->config, str_from(id)) : NULL;
    if (!dir)
        return false;
    fprintf(stderr, "nb: %s is in %s\n", id, dir);
    c->config->store.dir = dir;
    return true;
}

/* NB_MODEL applies to new conversations; others keep the model that answered last. Sending the name
 * makes it effective in a running server too, which has its own default. */
static void use_env_model(struct chat *c)
{
    const char *model = getenv("NB_MODEL");
    const struct chat_options *o = &c->cli->chat;
    if (!model || !*model || c->config->models.named.n > 0 || o->resume || o->is_continue)
        return;
    c->config->models.named = str_from(model);
    c->has_env_model = true;
}

static int without_person(struct chat *c)
{
    const struct chat_options *o = &c->cli->chat;
    struct exchange_limits limits;
    int code = exchange_limits_open(&limits, o, c->session);
    if (code == EXIT_DONE)
        code = o->prompt || o->files.len > 0 ? one_shot(c, &limits) : headless(c, &limits);
    exchange_limits_done(&limits);
    return code;
}

static int run_chat(struct chat *c)
{
    struct err e = {0};
    const struct chat_options *o = &c->cli->chat;
    bool is_typed = !o->prompt && o->files.len == 0 && c->cli->is_tty_in;
    bool is_plain = is_typed && o->is_plain && c->cli->is_tty_out;
    bool is_interactive = is_plain || (is_typed && is_drawable(c->cli));
    use_env_model(c);
    /* The running server does not have a log outside of the configured store. */
    bool is_here = o->is_here || (!c->config->remote.url && find_elsewhere(c));
    if (session_open(c->loop, c->config, is_here, is_interactive, &c->session, &e) < 0)
        return cli_fail(&e), exit_code_of_opening(c->config->remote.url != NULL, e.code);
    int code = EXIT_DONE;
    if ((o->resume || o->is_continue) &&
        session_resume(c->session, o->is_continue ? STR_NONE : str_from(o->resume), &e) < 0)
        code = cli_fail(&e);
    session_set_permissions(c->session, allowed(c), !is_interactive);
    if (code == EXIT_DONE && is_interactive) {
        code = is_plain ? plain_run(c) : repl_run(c);
    } else if (code == EXIT_DONE) {
        code = without_person(c);
    }
    session_close(c->session);
    return code;
}

int cli_chat(struct cli *cli)
{
    if (cli->chat.resume && cli->chat.is_continue)
        return cli_usage_error("--resume and --continue exclude each other");
    if (cli->chat.resume && !*cli->chat.resume)
        return cli_usage_error("--resume needs the id of a conversation");
    if (cli->opt.server && cli->chat.is_here)
        return cli_usage_error("--server and --here exclude each other");
    cli_use_server(cli);
    struct config config;
    int code = cli_load_config(cli, NULL, &config);
    if (code != EXIT_DONE)
        return code;
    struct session_log session;
    const struct chat_options *o = &cli->chat;
    session_log_begin(&session, &config,
                      o->prompt || o->files.len > 0 ? "prompt"
                      : cli->is_tty_in              ? "terminal"
                                                    : "pipe");
    struct logger *log = cli_logger(cli, &config, LOG_WARN, &session);
    struct chat c = {.cli = cli, .config = &config, .loop = loop_new(log)};
    code = run_chat(&c);
    loop_free(c.loop);
    logger_free(log);
    session_log_end(&session, code);
    config_done(&config);
    return code;
}
