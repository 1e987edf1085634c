/* nb secrets - lists secrets in plain text in the settings, and moves them to the encrypted
 * store. */
#include "bundle/settings/sealed.h"
#include "cli/mcp/plain_settings.h"
#include "cli/session/record.h"
#include "cli/term/text.h"

typedef int (*secrets_fn)(struct cli *cli, struct config *c, struct arena *a);

static int with_config(struct cli *cli, secrets_fn fn)
{
    struct config config;
    struct arena a;
    int code = cli_load_config(cli, NULL, &config);
    if (code != EXIT_DONE)
        return code;
    arena_init(&a);
    code = fn(cli, &config, &a);
    arena_done(&a);
    config_done(&config);
    return code;
}

/* ---- list ---- */

static int secrets_list(struct cli *cli, struct config *c, struct arena *a)
{
    struct plain_setting *all;
    size_t n = plain_settings_find(a, c, &all);
    for (size_t i = 0; i < n; i++)
        printf("%s: %.*s%s%.*s\n", all[i].path, STR_ARG(all[i].bundle),
               all[i].bundle.n > 0 ? ": " : "", STR_ARG(all[i].place));
    if (n == 0)
        fprintf(stderr, "No setting holds a secret as plain text. The key of stored secrets: %s.\n",
                sealed_key_place(a, c->work_dir));
    else
        fprintf(stderr, "Encrypt them with: nb secrets seal\n");
    return EXIT_DONE;
}

static int run_secrets_list(struct cli *cli, const void *options, int argc, char **argv)
{
    return argc > 0 ? cli_usage_error("secrets list takes no names")
                    : with_config(cli, secrets_list);
}

static const struct command SECRETS_LIST = {
    .name = "list",
    .usage = "secrets list",
    .summary = "list settings that contain a secret in plain text",
    .run = run_secrets_list,
};

/* ---- seal ---- */

static void secrets_tell(const char *path, size_t n)
{
    printf("%s: %zu %s\n", path, n, n == 1 ? "part is sealed" : "parts are sealed");
}

static int seal(struct cli *cli, struct config *c, struct arena *a)
{
    struct err e = {0};
    if (plain_settings_seal(a, c, secrets_tell, &e) < 0)
        return cli_fail(&e);
    cli_record(c, "secrets.seal", STR_NONE, true, STR_NONE);
    fprintf(stderr, "The key is in %s; without it nobody can read them.\n",
            sealed_key_place(a, c->work_dir));
    return EXIT_DONE;
}

static int run_seal(struct cli *cli, const void *options, int argc, char **argv)
{
    return argc > 0 ? cli_usage_error("secrets seal takes no names") : with_config(cli, seal);
}

static const struct command SECRETS_SEAL = {
    .name = "seal",
    .usage = "secrets seal",
    .summary = "move secrets from the settings to the encrypted store",
    .help = "Moves keys of providers and the client secret of OpenID out of their files, and "
            "replaces variables, headers and tokens of bundles by ${sealed}; `nb config set BUNDLE "
            "env.NAME` sets such a value again. Old copies and backups of the settings still "
            "contain the secrets: replace those secrets if others could read them.\n",
    .run = run_seal,
};

static const struct command *const COMMANDS[] = {&SECRETS_LIST, &SECRETS_SEAL, NULL};

const struct command CMD_SECRETS = {
    .name = "secrets",
    .usage = "secrets COMMAND",
    .summary = "find and encrypt plain secrets in the settings",
    .subs = COMMANDS,
};
