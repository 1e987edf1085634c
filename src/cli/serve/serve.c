#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/session/browser.h"
#include "cli/session/session_log.h"
#include "cli/term/signals.h"
#include "server/server.h"

#define GRACE_MS 10000

static const struct arg ARGS[] = {
    {"port", 0, ARG_STRING, "N", "listen on this port (default: 27247; 0 picks a free one)"},
    {"host", 0, ARG_STRING, "ADDR", "listen on this address (default: 127.0.0.1)"},
    {"web", 0, ARG_STRING, "DIR", "serve the page in this directory, and load it again on changes"},
    {"open", 0, ARG_FLAG, NULL, "open the page in the browser, if there is a desktop"},
    {0}};

struct serve {
    struct loop *loop;
    struct server *server;
    struct service service;
    bool is_stopping;
};

static void on_serve_stopped(void *ctx)
{
    struct serve *s = ctx;
    assert(s->is_stopping);
    loop_stop(s->loop);
}

static void on_serve_signal(void *ctx, int signum)
{
    struct serve *s = ctx;
    if (s->is_stopping)
        _exit(EXIT_FAILED); /* second signal: stop immediately */
    s->is_stopping = true;
    log_info(loop_log(s->loop), "server", "stopping (a second signal stops immediately)");
    service_stopping(&s->service);
    server_stop(s->server, GRACE_MS, on_serve_stopped, s);
}

/* The one that commands use when none is named. */
static bool is_usual_dir(const char *dir)
{
    const char *home = getenv("HOME");
    size_t n = home ? strlen(home) : 0;
    return n > 0 && strncmp(dir, home, n) == 0 && strcmp(dir + n, "/.nimblebrain") == 0;
}

/* Standard output that is a file or a pipe is often a log that others can read: the key is not
 * printed there. */
static void announce(const struct cli *cli, const struct config *c, const struct server *s,
                     str link, str url)
{
    bool is_hidden = !cli->is_tty_out && !str_eq(link, url);
    bool is_usual = is_usual_dir(c->work_dir);
    str why, model = llm_default_model(server_llm(s), &why);
    const char *bold = cli->has_color_out ? "\033[1m" : "";
    const char *plain = cli->has_color_out ? "\033[0m" : "";
    printf("nb %s is ready\n\n", NB_VERSION);
    printf("  Open    %s%.*s%s\n", bold, STR_ARG(is_hidden ? url : link), plain);
    if (is_hidden)
        printf("          it asks for a key: nb link%s%s prints the link with the key\n",
               is_usual ? "" : " --workdir ", is_usual ? "" : c->work_dir);
    printf("  Model   %.*s (%.*s)\n", STR_ARG(model), STR_ARG(why));
    printf("  Data    %s (%s)\n", c->work_dir, c->store.type);
    printf("  Config  %s%s\n\n", c->path,
           c->is_file_present ? "" : " (does not exist; defaults apply)");
    puts("Press Ctrl-C to stop.");
    fflush(stdout);
}

static int listen_or_explain(struct serve *s, uint16_t *ret_port)
{
    struct err e = {0};
    int r = server_listen(s->server, ret_port, &e);
    if (r == -EADDRINUSE)
        fprintf(stderr, "nb: %s\nChoose another port with --port N (0 picks a free one).\n", e.msg);
    else if (r < 0)
        cli_fail(&e);
    return r;
}

static int serve_until_stopped(struct cmd *x, struct serve *s)
{
    struct err e = {0};
    struct config *c = &x->config;
    struct server_options opt = {.with_bundles = true,
                                 .with_local_probe = true,
                                 .is_serving = true,
                                 .service = &s->service,
                                 .page_dir = cmd_opt(x, "web")};
    uint16_t port;
    if (service_open(&s->service, s->loop, &e) < 0)
        return cli_fail(&e);
    if (server_new(s->loop, loop_log(s->loop), c, &opt, &s->server, &e) < 0)
        return cli_fail(&e);
    if (listen_or_explain(s, &port) < 0) {
        server_close(s->server, 0);
        return EXIT_FAILED;
    }
    /* Before the announcement, so that a signal already means a graceful end. */
    struct signals *signals = signals_new(s->loop, on_serve_signal, s);
    str link = server_page_link(s->server, &c->arena);
    announce(x->cli, c, s->server, link, server_page_url(s->server, &c->arena));
    service_ready(&s->service, port);
    if (cmd_flag(x, "open"))
        browser_open(c->work_dir, link);
    loop_run(s->loop);
    signals_free(signals);
    server_free(s->server);
    return EXIT_DONE;
}

static int run_serve(struct cmd *x)
{
    struct config_flags flags = CONFIG_FLAGS_NONE;
    struct config *c = &x->config;
    uint64_t port;
    if (cmd_opt(x, "port") && (parse_u64(str_from(cmd_opt(x, "port")), &port) < 0 || port > 65535))
        return cli_usage_error("--port: '%s' is not a port (0 to 65535)", cmd_opt(x, "port"));
    if (cmd_opt(x, "port"))
        flags.port = (int)port;
    flags.host = cmd_opt(x, "host");
    int code = cli_load_config(x->cli, &flags, c);
    if (code != EXIT_DONE)
        return code;
    struct session_log session;
    session_log_begin(&session, c, "server");
    struct logger *log = cli_logger(x->cli, c, LOG_DEBUG, &session);
    struct serve s = {.loop = loop_new(log)};
    code = serve_until_stopped(x, &s);
    service_close(&s.service);
    loop_free(s.loop);
    logger_free(log);
    session_log_end(&session, code);
    return code;
}

const struct command CMD_SERVE = {
    .name = "serve",
    .summary = "serve the HTTP API and the web page",
    .help =
        "Listens on 127.0.0.1:27247, and on nb.sock in the work directory for other nb commands. "
        "Without users, prints a link that contains the key of this installation when standard "
        "output is a terminal; nb link prints it again. Ctrl-C or SIGTERM stops the server after "
        "requests had up to 10 seconds to finish; a second signal stops it immediately.\n"
        "\n"
        "A service manager such as systemd may pass the listening sockets (then --host and --port "
        "have no effect; a socket named apps is that of http.appsPort), receives READY, STOPPING "
        "and WATCHDOG states, and may queue connections while the server restarts.\n",
    .args = ARGS,
    .needs = WRITES_PROTOCOL,
    .run = run_serve,
};
