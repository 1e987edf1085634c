/* nb login, nb logout - tokens for servers elsewhere. */
#include <errno.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/session/client.h"
#include "cli/session/logins.h"
#include "cli/session/remote.h"
#include "cli/term/ask.h"
#include "cli/term/styled.h"

/* ---- login ---- */

static int list_logins(struct cmd *x)
{
    static const struct cmd_column COLUMNS[] = {{"SERVER", "url", .style = STYLE_BOLD},
                                                {"WORKSPACE", "workspace"}};
    struct logins all;
    struct err e = {0};
    struct json *rows = json_new(&x->arena, JSON_ARRAY);
    if (logins_read(&x->arena, &x->config, &all, &e) < 0)
        return cli_fail(&e);
    for (size_t i = 0; i < all.n; i++)
        json_push(&x->arena, rows,
                  *cmd_object(x, {STR("url"), json_of_str(all.items[i].url)},
                              {STR("workspace"), cmd_str_or_null(all.items[i].workspace)}));
    return cmd_list(x, rows, COLUMNS, ARRAY_LEN(COLUMNS), "No logins. nb login URL stores one.");
}

static int read_token(struct cmd *x, str *ret, struct err *e)
{
    const char *file = x->cli->opt.token_file;
    if (file)
        return secret_read_file(&x->arena, file, ret, e);
    if (isatty(STDIN_FILENO))
        fprintf(stderr,
                "A token is made on the page of the server (Account, Tokens), or there with\n"
                "nb token create NAME --user USER.\n");
    return secret_read(&x->arena, "Token", ret)
               ? 0
               : err_set(e, -EINVAL, "no token was given; nothing is stored");
}

/* The id of the workspace that the user named, among those of the answer. */
static int choose_workspace(struct cmd *x, const struct json *me, str *ret, struct err *e)
{
    const struct json *list = json_get(me, "workspaces");
    str typed = str_from(x->cli->opt.workspace);
    *ret = STR_NONE;
    for (size_t i = 0; typed.n > 0 && json_is(list, JSON_ARRAY) && i < list->len; i++) {
        const struct json *w = json_at(list, i);
        if (str_eq(json_get_string(w, "id"), typed) ||
            str_eq_nocase(json_get_string(w, "name"), typed))
            *ret = json_get_string(w, "id");
    }
    return typed.n > 0 && ret->n == 0
               ? err_set(e, -ENOENT, "no workspace '%.*s' for you on this server", STR_ARG(typed))
               : 0;
}

/* Who the token belongs to; a token that the server does not accept is not stored. */
static int try_login(struct cmd *x, struct login *l, str *ret_name, struct err *e)
{
    struct client_ask q = {.path = STR("/v1/bootstrap")};
    struct json *me;
    x->config.remote = (struct config_remote){arena_cstr(&x->arena, l->url), l->token};
    x->config.workspace = NULL;
    int r = client_open_served(x->loop, &x->config, &x->client, e);
    if (r == 0)
        r = client_ask(x->client, &q, &x->arena, &me, e);
    if (r < 0)
        return r;
    const struct json *user = json_get(me, "user");
    str name = json_get_string(user, "displayName"), email = json_get_string(user, "email");
    if (!json_is(json_get(me, "workspaces"), JSON_ARRAY))
        return err_set(e, -EPROTO, "there is no server of nb at %.*s", STR_ARG(l->url));
    *ret_name = cmd_line(x, name.n > 0 ? name : email.n > 0 ? email : STR("its owner"));
    return choose_workspace(x, me, &l->workspace, e);
}

static int run_login(struct cmd *x)
{
    struct err e = {0};
    struct login l = {0};
    const char *url;
    str name;
    if (x->argc == 0)
        return list_logins(x);
    if (remote_url(&x->arena, x->argv[0], x->cli->opt.is_insecure, &url, &e) < 0)
        return cmd_usage(x, "%s", e.msg);
    l.url = str_from(url);
    if (read_token(x, &l.token, &e) < 0)
        return cli_fail(&e);
    log_secret(x->log, l.token);
    if (!remote_token_is_valid(l.token))
        return cli_failed("a token has no spaces and no control characters");
    if (try_login(x, &l, &name, &e) < 0 || logins_put(&x->config, &l, &e) < 0)
        return cli_fail(&e);
    return cmd_say(x,
                   cmd_object(x, {STR("url"), json_of_str(l.url)}, {STR("user"), json_of_str(name)},
                              {STR("workspace"), cmd_str_or_null(l.workspace)}),
                   "Logged in to %s as %.*s. nb --server %s works there; NB_SERVER=%s makes it the "
                   "default.",
                   url, STR_ARG(name), url, url);
}

const struct command CMD_LOGIN = {
    .name = "login",
    .operands = "[URL]",
    .summary = "store a token for a server, or list the stored ones",
    .help =
        "The token is read from the terminal without echo, from stdin, or from --token-file; the "
        "server must accept it. It is kept in {workDir}/logins.json, which only you can read, "
        "and sent to that address only. --workspace stores the workspace to use there. "
        "http:// is for this machine; --insecure allows it elsewhere.\n",
    .needs = NEEDS_LOOP,
    .run = run_login,
};

/* ---- logout ---- */

static int run_logout(struct cmd *x)
{
    struct err e = {0};
    const char *url;
    if (remote_url(&x->arena, x->argv[0], true, &url, &e) < 0)
        return cmd_usage(x, "%s", e.msg);
    if (logins_remove(&x->config, str_from(url), &e) < 0)
        return cli_fail(&e);
    return cmd_say(x, cmd_object(x, {STR("url"), json_of_str(str_from(url))}),
                   "The token for %s is removed from this machine. It is valid until it is revoked "
                   "there, or ends.",
                   url);
}

const struct command CMD_LOGOUT = {
    .name = "logout",
    .operands = "URL",
    .summary = "remove the stored token for a server",
    .needs = NEEDS_SETTINGS,
    .run = run_logout,
};
