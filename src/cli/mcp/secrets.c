/* nb secrets - lists secrets in plain text in the settings, and moves them to the encrypted
 * store. */
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/mcp/plain_settings.h"
#include "workspace/secrets/sealed.h"

/* ---- list ---- */

static int secrets_list(struct cmd *x)
{
    struct plain_setting *all;
    size_t n = plain_settings_find(&x->arena, &x->config, &all);
    for (size_t i = 0; i < n; i++)
        printf("%s: %.*s%s%.*s\n", all[i].path, STR_ARG(all[i].bundle),
               all[i].bundle.n > 0 ? ": " : "", STR_ARG(all[i].place));
    if (n == 0)
        fprintf(stderr, "No setting holds a secret in plain text. The key of stored secrets: %s.\n",
                sealed_key_place(&x->arena, x->config.work_dir));
    else
        fprintf(stderr, "Encrypt them with: nb secrets seal\n");
    return EXIT_DONE;
}

static const struct command SECRETS_LIST = {
    .name = "list",
    .summary = "list settings that contain a secret in plain text",
    .run = secrets_list,
};

/* ---- seal ---- */

static void secrets_tell(const char *path, size_t n)
{
    printf("%s: %zu %s\n", path, n, n == 1 ? "secret is encrypted" : "secrets are encrypted");
}

static int secrets_seal(struct cmd *x)
{
    struct err e = {0};
    if (plain_settings_seal(&x->arena, &x->config, secrets_tell, &e) < 0)
        return cli_fail(&e);
    cli_record(&x->config, "secrets.seal", STR_NONE, true, STR_NONE);
    fprintf(stderr, "The key is in %s; without it nobody can read them.\n",
            sealed_key_place(&x->arena, x->config.work_dir));
    return EXIT_DONE;
}

static const struct command SECRETS_SEAL = {
    .name = "seal",
    .summary = "move secrets from the settings to the encrypted store",
    .help = "Moves keys of providers and the client secret of OpenID out of their files, and "
            "replaces variables, headers and tokens of bundles by ${sealed}; `nb config set BUNDLE "
            "env.NAME` sets such a value again. Old copies and backups of the settings still "
            "contain the secrets: replace those secrets if others could read them.\n",
    .run = secrets_seal,
};

static const struct command *const SECRETS_COMMANDS[] = {&SECRETS_LIST, &SECRETS_SEAL, NULL};

const struct command CMD_SECRETS = {
    .name = "secrets",
    .summary = "find and encrypt plain secrets in the settings",
    .needs = NEEDS_SETTINGS,
    .subs = SECRETS_COMMANDS,
};
