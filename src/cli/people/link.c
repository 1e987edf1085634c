/* nb link - prints the link that opens the page, or the key for programs. */
#include "auth/dev_key.h"
#include "cli/command.h"
#include "cli/session/browser.h"

static const struct arg LINK_ARGS[] = {
    {"key", 0, ARG_FLAG, NULL, "print only the key, for Authorization: Bearer"},
    {"rotate", 0, ARG_FLAG, NULL,
     "replace the key first; browsers and programs with the old key are logged out"},
    {"open", 0, ARG_FLAG, NULL, "open the link in the browser of this desktop"},
    {0}};

/* A server that never listened has no key yet; then this command creates it. */
static int print_key(struct cmd *x, const struct json *answer)
{
    char made[SECRET_CHARS + 1];
    struct err e = {0};
    str key = json_get_string(answer, "key");
    if (!str_eq(json_get_string(answer, "mode"), STR("dev")))
        return cli_failed("this installation has users or NB_API_KEY, and so no key of its own: "
                          "use nb token create, or NB_API_KEY");
    if (key.n == 0) {
        if (dev_key_ensure(x->config.work_dir, made, &e) < 0)
            return cli_fail(&e);
        key = str_from(made);
    }
    printf("%.*s\n", STR_ARG(key));
    return EXIT_DONE;
}

static int print_link(struct cmd *x, const struct json *answer)
{
    str link = json_get_string(answer, "link");
    if (x->cli->opt.is_json || (link.n == 0 && cmd_flag(x, "rotate")))
        return cmd_say(x, answer, "The key is replaced. nb serve prints the link.");
    if (link.n == 0)
        return cli_failed("no server is running for this work directory; nb serve starts one and "
                          "prints the link");
    printf("%.*s\n", STR_ARG(link));
    if (cmd_flag(x, "open"))
        browser_open(x->config.work_dir, link);
    return EXIT_DONE;
}

static int run_link(struct cmd *x)
{
    const struct json *answer = cmd_flag(x, "rotate")
                                    ? cmd_ask(x, "POST", STR("/v1/auth/link/rotate"), NULL, NULL)
                                    : cmd_ask(x, "GET", STR("/v1/auth/link"), NULL, NULL);
    if (!answer)
        return EXIT_FAILED;
    return cmd_flag(x, "key") ? print_key(x, answer) : print_link(x, answer);
}

const struct command CMD_LINK = {
    .name = "link",
    .summary = "print the link to the page of the running server",
    .help = "Without users and without NB_API_KEY, requests over TCP need the key of this "
            "installation ({workDir}/auth/dev.key). The link contains the key; the page exchanges "
            "it for a cookie. Programs send the key in a header:\n"
            "\n"
            "  curl -H \"Authorization: Bearer $(nb link --key)\" \\\n"
            "    http://127.0.0.1:27247/v1/tools\n",
    .args = LINK_ARGS,
    .needs = NEEDS_CLIENT,
    .run = run_link,
};
