/* nb bundle auth - signs in to a remote server with OAuth. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "bundle/entry/entry.h"
#include "bundle/oauth/oauth.h"
#include "bundle/settings/plain_secrets.h"
#include "cli/bundle/bundle.h"
#include "cli/cli.h"
#include "net/fetch.h"
#include "workspace/secrets/credentials.h"

#define PERSON_MS   (5u * 60 * 1000)
#define BROWSER_MS  5000
#define REQUEST_MAX 16384
#define SERVERS_MS  60000 /* for all requests to servers */
#define CALLBACK    "/callback"
#define PASTES_MAX  5
#define PASTED_PORT 9 /* discard */

/* ---- the loopback address ---- */

static int listen_here(int port, int *ret_port, struct err *e)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, 8) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &n) < 0) {
        int rc = err_set(e, -errno, "cannot listen on 127.0.0.1: %s", err_reason(-errno));
        if (fd >= 0)
            close(fd);
        return rc;
    }
    *ret_port = ntohs(at.sin_port);
    return fd;
}

static bool is_readable(int fd, uint64_t until_ms)
{
    uint64_t now = clock_mono_ms();
    struct pollfd p = {fd, POLLIN, 0};
    return now < until_ms && poll(&p, 1, (int)(until_ms - now)) > 0;
}

/* Reads the head of one request; empty when it is incomplete. */
static str read_head(int fd, char *p, uint64_t until_ms)
{
    size_t n = 0;
    while (n < REQUEST_MAX && is_readable(fd, until_ms)) {
        ssize_t got = read(fd, p + n, REQUEST_MAX - n);
        if (got <= 0)
            break;
        n += (size_t)got;
        if (str_find(str_make(p, n), STR("\r\n\r\n"), 0) >= 0)
            return str_make(p, n);
    }
    return STR_NONE;
}

/* "GET /callback?QUERY HTTP/1.1" */
static bool find_query(str head, str *ret)
{
    str start = STR("GET " CALLBACK "?");
    ptrdiff_t end = str_find(head, STR(" HTTP/1."), 0);
    if (!str_starts(head, start) || end < (ptrdiff_t)start.n)
        return false;
    *ret = str_slice(head, start.n, (size_t)end);
    return true;
}

enum knock { KNOCK_OTHER, KNOCK_STRANGE, KNOCK_ANSWER }; /* the form of a request line */

static void bundle_auth_reply(int fd, enum knock what)
{
#define PAGE                                                                                       \
    "Content-Type: text/plain; charset=utf-8\r\nReferrer-Policy: no-referrer\r\n"                  \
    "Connection: close\r\n\r\n"
    static const char *const TEXTS[] = {
        [KNOCK_OTHER] = "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n",
        [KNOCK_STRANGE] = "HTTP/1.1 400 Bad Request\r\n" PAGE
                          "This does not belong to the sign-in that nb waits for. Open the address "
                          "that the terminal shows.\n",
        [KNOCK_ANSWER] =
            "HTTP/1.1 200 OK\r\n" PAGE "You can close this page and go back to the terminal.\n",
    };
#undef PAGE
    str text = str_from(TEXTS[what]);
    (void)!send(fd, text.p, text.n, MSG_NOSIGNAL);
}

static enum knock what_is(const struct oauth_login *l, str head, str *ret_query)
{
    if (!find_query(head, ret_query))
        return KNOCK_OTHER;
    return oauth_login_is_answer(l, *ret_query) ? KNOCK_ANSWER : KNOCK_STRANGE;
}

/* Waits for the callback of the browser. Other requests are refused: any page that is open on this
 * machine can send some. */
static int await_callback(struct arena *a, int listener, const struct oauth_login *l,
                          str *ret_query, struct err *e)
{
    char *buffer = arena_alloc(a, REQUEST_MAX);
    uint64_t until = clock_mono_ms() + PERSON_MS;
    while (is_readable(listener, until)) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        str head = read_head(fd, buffer, clock_mono_ms() + BROWSER_MS);
        enum knock what = what_is(l, head, ret_query);
        bundle_auth_reply(fd, what);
        close(fd);
        if (what == KNOCK_ANSWER)
            return 0;
    }
    return err_set(e, -ETIMEDOUT, "no sign-in within %u minutes", PERSON_MS / 60000);
}

/* ---- the sign-in ---- */

struct signing {
    struct cmd *x;
    bool is_over;
    str url; /* in the command's arena */
    struct err err;
    const char *dir;
    str slug;
    bool is_personal; /* its file contains nothing else */
};

static void on_bundle_auth_ready(void *ctx, str url, const struct err *err)
{
    struct signing *g = ctx;
    g->url = arena_str(&g->x->arena, url);
    if (err)
        g->err = *err;
    g->is_over = true;
}

static void on_signed_in(void *ctx, const struct oauth_state *s, const struct err *err)
{
    struct signing *g = ctx;
    g->is_over = true;
    if (s && g->is_personal) /* also one that cannot be read */
        (void)credentials_remove(g->dir, g->slug, NULL);
    if (!s)
        g->err = *err;
    else
        (void)oauth_state_save(g->dir, g->slug, s, &g->err);
}

/* Runs the loop until the step is done. */
static int await(struct signing *g)
{
    if (!loop_run_until(g->x->loop, &g->is_over, SERVERS_MS) && g->err.code == 0)
        err_set(&g->err, -ETIMEDOUT, "no answer within %d seconds", SERVERS_MS / 1000);
    g->is_over = false;
    return g->err.code;
}

/* ---- pasting the address ---- */

/* The query of the pasted address, or the pasted query itself. */
static str query_of(str line)
{
    ptrdiff_t mark = str_find_char(line, '?');
    str query = mark < 0 ? line : str_skip(line, (size_t)mark + 1);
    ptrdiff_t fragment = str_find_char(query, '#');
    return fragment < 0 ? query : str_slice(query, 0, (size_t)fragment);
}

/* For a machine without a browser: the browser runs elsewhere, ends at an address that it cannot
 * open, and the user copies that address. */
static int read_pasted(struct arena *a, const struct oauth_login *l, str *ret_query, struct err *e)
{
    char *line = arena_alloc(a, REQUEST_MAX);
    for (int tries = 0; tries < PASTES_MAX; tries++) {
        fprintf(stderr, "Paste the address of the last page in the browser: ");
        if (!fgets(line, REQUEST_MAX, stdin))
            break;
        *ret_query = query_of(str_trim((str){line, strlen(line)}));
        if (oauth_login_is_answer(l, *ret_query))
            return 0;
        fprintf(stderr, "That address does not belong to this sign-in.\n");
    }
    return err_set(e, -EINVAL, "no address was pasted that belongs to this sign-in");
}

static int sign_in(struct signing *g, struct oauth_login *l, int listener)
{
    str query;
    if (await(g) < 0)
        return g->err.code;
    fprintf(stderr, "Open this address to sign in:\n\n  %.*s\n\n", STR_ARG(g->url));
    int rc = listener < 0 ? read_pasted(&g->x->arena, l, &query, &g->err)
                          : await_callback(&g->x->arena, listener, l, &query, &g->err);
    if (rc < 0)
        return g->err.code;
    oauth_login_finish(l, query, on_signed_in, g);
    return await(g);
}

/* The path of the stored token. */
static int choose_file(struct signing *g, const struct bundle_entry *b, const char *user)
{
    struct arena *a = &g->x->arena;
    str user_id;
    g->dir = bundle_cli_credentials(g->x);
    g->slug = entry_credentials(a, b);
    if (!b->oauth.is_per_person)
        return EXIT_DONE;
    int code = bundle_cli_person(g->x, user, &user_id);
    if (code != EXIT_DONE)
        return code;
    g->is_personal = true;
    g->dir = credentials_people_dir(a, g->dir);
    g->slug = credentials_person_slug(a, b->server_name, user_id);
    return EXIT_DONE;
}

int bundle_cli_sign_in(struct cmd *x, const struct bundle_entry *b, const struct sign_in_how *how)
{
    struct signing g = {.x = x};
    struct oauth_state before = {0};
    int listener = -1, port = how->port, code = choose_file(&g, b, how->user);
    if (code != EXIT_DONE)
        return code;
    struct bundle_entry own = bundle_entry_copy(&x->arena, b);
    if (plain_secrets_has_marks(b) &&
        plain_secrets_unseal(&x->arena, bundle_cli_credentials(x), &own, &g.err) < 0)
        return cli_fail(&g.err);
    (void)oauth_state_load(&x->arena, g.dir, g.slug, &before, NULL);
    if (how->is_pasted && port == 0)
        port = PASTED_PORT; /* nothing listens, so any address of the loopback network works */
    else if (!how->is_pasted && (listener = listen_here(port, &port, &g.err)) < 0)
        return cli_fail(&g.err);
    struct fetcher *fetcher = fetcher_new(x->loop);
    struct oauth_login_conf conf = {
        .loop = x->loop,
        .fetcher = fetcher,
        .url = b->url,
        .fetch_flags = bundle_entry_fetch_flags(b, x->config.allow_insecure_remotes),
        .redirect_uri = arena_printf(&x->arena, "http://127.0.0.1:%d" CALLBACK, port),
        .client_id = b->oauth.client_id,
        .client_secret = own.oauth.client_secret,
        .scope = b->oauth.scope,
        .scope_before = oauth_is_about(before.resource, b->url)
                            ? oauth_scope_before(&x->arena, &before)
                            : STR_NONE,
        .step_ups = oauth_step_ups(&before),
    };
    struct oauth_login *l = oauth_login_start(&conf, on_bundle_auth_ready, &g);
    int rc = sign_in(&g, l, listener);
    oauth_login_free(l);
    fetcher_free(fetcher);
    if (listener >= 0)
        close(listener);
    cli_record(&x->config, "bundle.sign_in", b->server_name, rc == 0, STR_NONE);
    if (rc < 0)
        err_prefix(&g.err, "%.*s", STR_ARG(b->server_name));
    return rc < 0 ? cli_fail(&g.err) : EXIT_DONE;
}

/* ---- the command ---- */

static const struct arg AUTH_ARGS[] = {
    {"port", 0, ARG_INT, "PORT", "wait for the browser on this port (default: any free one)"},
    {"paste", 0, ARG_FLAG, NULL, "read the address of the last page from standard input"},
    {"no-browser", 0, ARG_FLAG, NULL, "work without a browser, as --paste does"},
    {"user", 'u', ARG_STRING, "USER", "sign in as this person, where each person signs in"},
    {0}};

static int bundle_auth(struct cmd *x)
{
    const char *name = x->argv[0];
    struct err e = {0};
    if (cmd_int(x, "port") > UINT16_MAX)
        return cli_usage_error("--port: %d is not a port", cmd_int(x, "port"));
    const struct bundle_entry *b = bundle_cli_find(x, name);
    if (!b)
        return EXIT_FAILED;
    if (b->kind != BUNDLE_REMOTE || !b->oauth.is_on)
        return cli_failed("'%s' needs no sign-in: its entry has no \"auth\": {\"type\": \"oauth\"}",
                          name);
    if (bundle_entry_check_url(b, x->config.allow_insecure_remotes, &e) < 0)
        return cli_fail(&e);
    if (cmd_opt(x, "user") && !b->oauth.is_per_person)
        return cli_usage_error("--user: the whole workspace signs in to '%s' (its entry does not "
                               "say \"per\": \"person\")",
                               name);
    struct sign_in_how how = {cmd_int(x, "port"), cmd_flag(x, "paste") || cmd_flag(x, "no-browser"),
                              cmd_opt(x, "user")};
    int code = bundle_cli_sign_in(x, b, &how);
    if (code != EXIT_DONE)
        return code;
    printf("Signed in to %s.\n", name);
    if (!bundle_cli_served(x))
        return EXIT_DONE;
    return cmd_ask(x, "POST", bundle_cli_path(x, name, "/restart"), NULL, name) ? EXIT_DONE
                                                                                : EXIT_FAILED;
}

const struct command BUNDLE_AUTH = {
    .name = "auth",
    .operands = "NAME",
    .summary = "sign in to a remote server with OAuth",
    .help = "Shows an address to open in a browser on this machine, and waits until somebody has "
            "signed in there. Only you can read the stored token; it is refreshed automatically.\n"
            "\n"
            "On a machine without a browser, such as over ssh, use --paste: open the address "
            "anywhere, sign in, and paste the address of the last page. That page does not load; "
            "only its address is needed.\n"
            "\n"
            "Where each person signs in (\"per\": \"person\" in transport.auth), --user names the "
            "person.\n",
    .args = AUTH_ARGS,
    .run = bundle_auth,
};
