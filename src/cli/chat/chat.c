/* `nb` without a command: one question, messages from a pipe, or the interactive chat. */
#include "cli/chat/chat.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "cli/chat/permit.h"
#include "cli/chat/view.h"
#include "cli/cli.h"
#include "cli/screen/footer.h"
#include "cli/session/session.h"
#include "cli/session/session_log.h"
#include "cli/term/input.h"
#include "cli/term/signals.h"
#include "os/dir.h"
#include "os/file.h"
#include "store/store.h"

/* ---- one message, printed as it streams ---- */

struct chat_exchange {
    struct chat *chat;
    bool is_done, has_failed;
    bool has_text, ends_in_newline;
    bool has_told; /* the directory of commands was printed */
};

static void on_chat_text(void *ctx, const struct json *d)
{
    struct chat_exchange *x = ctx;
    str delta = json_get_string(d, "text");
    x->has_text = true;
    x->ends_in_newline = str_ends(delta, STR("\n"));
    if (x->chat->cli->opt.is_json)
        return;
    fwrite(delta.p, 1, delta.n, stdout);
    fflush(stdout);
}

/* With a running server it is not obvious where a command runs, so print it once. */
static void tell_directory(struct chat_exchange *x, str tool, str directory)
{
    struct arena a;
    str why;
    if (x->has_told || !session_is_remote(x->chat->session) || !permit_is_shell(tool))
        return;
    x->has_told = true;
    arena_init(&a);
    (void)session_directory(x->chat->session, &why);
    cli_complain(directory.n > 0
                     ? arena_printf(&a, "commands run in %.*s", STR_ARG(directory))
                     : arena_printf(&a, "commands run in the server's own directory%s%.*s",
                                    why.n > 0 ? ": " : "", STR_ARG(why)));
    arena_done(&a);
}

static void on_chat_tool_start(void *ctx, const struct json *d)
{
    struct chat_exchange *x = ctx;
    str name = json_get_string(d, "name");
    tell_directory(x, name, json_get_string(d, "directory"));
    if (x->chat->cli->opt.is_debug)
        fprintf(stderr, "nb: calling %.*s\n", STR_ARG(name));
}

static void on_chat_tool_done(void *ctx, const struct json *d)
{
    struct chat_exchange *x = ctx;
    if (x->chat->cli->opt.is_debug)
        fprintf(stderr, "nb: %.*s %s after %lld ms\n", STR_ARG(json_get_string(d, "name")),
                json_get_bool(d, "ok", false) ? "answered" : "failed",
                (long long)json_get_int(d, "ms", 0));
}

static void on_chat_retry(void *ctx, const struct json *d)
{
    str message = json_get_string(d, "message");
    if (str_ends(message, STR(".")))
        message.n--;
    (void)cli_failed("%.*s; trying again", STR_ARG(message));
}

static void print_json_line(const struct json *v)
{
    struct buf b;
    buf_init(&b, 64u * 1024 * 1024);
    json_write(&b, v);
    buf_add_char(&b, '\n');
    fwrite(b.p, 1, b.n, stdout);
    fflush(stdout);
    buf_done(&b);
}

static void explain_stop(const struct json *report)
{
    const char *words = footer_stop_words(json_get_string(report, "stopReason"));
    if (words)
        fprintf(stderr, "nb: %s\n", words);
}

static void explain_refusals(const struct json *report)
{
    str names[PERMIT_NAMES_MAX];
    size_t n = permit_refused(report, names, PERMIT_NAMES_MAX);
    for (size_t i = 0; i < n; i++)
        fprintf(stderr, "nb: " PERMIT_REFUSED_FORMAT "\n", STR_ARG(names[i]), STR_ARG(names[i]));
}

static void on_chat_done(void *ctx, const struct json *report)
{
    struct chat_exchange *x = ctx;
    assert(!x->is_done);
    x->is_done = true;
    if (x->chat->cli->opt.is_json) {
        print_json_line(report);
        explain_refusals(report);
        return;
    }
    if (x->has_text && !x->ends_in_newline)
        putchar('\n');
    fflush(stdout);
    explain_stop(report);
    explain_refusals(report);
    if (str_eq(json_get_string(report, "stopReason"), STR("cancelled")))
        x->has_failed = true;
}

static void on_chat_error(void *ctx, const struct json *d)
{
    struct chat_exchange *x = ctx;
    assert(!x->is_done);
    x->is_done = x->has_failed = true;
    if (x->chat->cli->opt.is_json) {
        struct arena a;
        arena_init(&a);
        struct json *v = json_new(&a, JSON_OBJECT);
        json_set(&a, v, STR("error"), json_of_str(json_get_string(d, "error")));
        json_set(&a, v, STR("message"), json_of_str(json_get_string(d, "message")));
        print_json_line(v);
        arena_done(&a);
        return;
    }
    if (x->has_text && !x->ends_in_newline)
        putchar('\n');
    fflush(stdout);
    cli_complain(json_get_string(d, "message"));
}

static const struct session_events PRINT = {
    .on_text = on_chat_text,
    .on_tool_start = on_chat_tool_start,
    .on_tool_done = on_chat_tool_done,
    .on_retry = on_chat_retry,
    .on_done = on_chat_done,
    .on_error = on_chat_error,
};

static void on_chat_signal(void *ctx, int signum)
{
    struct chat *c = ctx;
    if (c->is_interrupted)
        _exit(EXIT_FAILED);
    c->is_interrupted = true;
    session_cancel(c->session);
}

/* Whether answers may be redrawn, or only printed. */
static bool is_drawable(const struct cli *cli)
{
    const char *term = getenv("TERM");
    return cli->is_tty_out && !cli->opt.is_json && !(term && strcmp(term, "dumb") == 0);
}

static void on_shown(void *ctx)
{
    *(bool *)ctx = true;
}

/* The same on a terminal: Markdown is rendered, running tools are shown. */
static bool chat_show(struct chat *c, str text)
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
    bool ok = !view.has_failed;
    view_tell_interface(&view, c->session);
    view_done(&view);
    screen_done(&screen);
    return ok;
}

static bool print(struct chat *c, str text)
{
    struct chat_exchange x = {.chat = c};
    session_send(c->session, text, &PRINT, &x);
    while (!x.is_done)
        (void)loop_run_until(c->loop, &x.is_done, UINT32_MAX);
    return !x.has_failed;
}

/* Sends one message and waits for its end. Signals are handled only meanwhile: while nb waits for
 * input no loop runs, and a signal simply ends the process. */
static bool exchange(struct chat *c, str text)
{
    struct signals *signals = signals_new(c->loop, on_chat_signal, c);
    bool ok = is_drawable(c->cli) ? chat_show(c, text) : print(c, text);
    signals_free(signals);
    return ok;
}

/* ---- modes of chat ---- */

static int one_shot(struct chat *c)
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
        code = exchange(c, text) ? EXIT_DONE : EXIT_FAILED;
    arena_done(&a);
    return code;
}

/* One message per line until the input ends. A failed turn does not stop the others. */
static int headless(struct chat *c)
{
    struct buf line;
    int code = EXIT_DONE;
    buf_init(&line, INPUT_LINE_MAX);
    while (!c->is_interrupted && input_read_line(stdin, &line)) {
        str text = str_trim(buf_str(&line));
        if (text.n > 0 && !exchange(c, text))
            code = EXIT_FAILED;
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

static int run_chat(struct chat *c)
{
    struct err e = {0};
    const struct chat_options *o = &c->cli->chat;
    bool is_interactive =
        !o->prompt && o->files.len == 0 && c->cli->is_tty_in && is_drawable(c->cli);
    use_env_model(c);
    /* The running server does not have a log outside of the configured store. */
    bool is_here = find_elsewhere(c) || o->is_here;
    if (session_open(c->loop, c->config, is_here, is_interactive, &c->session, &e) < 0)
        return cli_fail(&e);
    int code = EXIT_DONE;
    if ((o->resume || o->is_continue) &&
        session_resume(c->session, o->is_continue ? STR_NONE : str_from(o->resume), &e) < 0)
        code = cli_fail(&e);
    session_set_permissions(c->session, allowed(c), !is_interactive);
    if (code == EXIT_DONE && is_interactive) {
        code = repl_run(c);
    } else if (code == EXIT_DONE) {
        code = o->prompt || o->files.len > 0 ? one_shot(c) : headless(c);
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
