/* nb health: for service managers and images without other programs. */
#include "cli/command.h"
#include "cli/session/client.h"
#include "server/server.h"

#define HEALTH_WAIT_MS 5000

static int run_health(struct cmd *x)
{
    struct client *client =
        client_open_socket(x->loop, server_socket_path(&x->config, &x->arena), NULL);
    struct client_ask q = {.path = STR("/v1/health"), .timeout_ms = HEALTH_WAIT_MS};
    struct json *health;
    struct err e = {0};
    int r = client_ask(client, &q, &x->arena, &health, &e);
    str status = r == 0 ? json_get_string(health, "status") : STR_NONE;
    str reason = r == 0 ? json_get_string(health, "reason") : STR_NONE;
    client_close(client);
    if (r < 0)
        return cli_fail(&e);
    if (!str_eq(status, STR("ok")))
        return cli_failed("%.*s: %.*s", STR_ARG(status), STR_ARG(reason));
    if (x->cli->opt.is_json)
        cmd_print_json(health);
    else
        puts("ok");
    return EXIT_DONE;
}

const struct command CMD_HEALTH = {
    .name = "health",
    .summary = "say whether the server of this work directory works",
    .help = "Asks through nb.sock. Exits with 0 if the server works, 1 if it does not run, does "
            "not answer within 5 seconds, or cannot read or write conversations.\n",
    .needs = NEEDS_LOOP,
    .run = run_health,
};
