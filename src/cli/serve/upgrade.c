/* nb upgrade --check URL: is there a newer version? nb has no address of its own to ask, so that
 * nothing is sent unless a person names one; the request says nothing about this installation. */
#include <errno.h>

#include "cli/command.h"
#include "net/fetch.h"
#include "net/url.h"

/* Readers of an installed nb have no docs/. */
#define HOW_TO_UPGRADE                                                                             \
    "To upgrade: back up (nb backup FILE), install the newer package (apt install ./nb_NEW.deb) "  \
    "or\nunpack the newer archive, and restart the server. Its page has the details: "             \
    "/docs/upgrade.html\n"

static const struct arg ARGS[] = {
    {"check", 0, ARG_STRING, "URL", "ask this address for the newest version"}, {0}};

struct upgrade {
    struct cmd *x;
    struct err err;
    str newest;
    bool is_done;
};

struct version {
    uint64_t parts[3];
};

/* "1.2.3" or "v1.2.3", and nothing else. */
static int parse_version(str text, struct version *ret)
{
    str part;
    size_t n = 0;
    if (str_starts(text, STR("v")))
        text = str_skip(text, 1);
    if (text.n == 0 || text.n > 32 || str_ends(text, STR(".")))
        return -EINVAL;
    while (str_split(&text, '.', &part))
        if (n == 3 || parse_u64(part, &ret->parts[n++]) < 0)
            return -EINVAL;
    return n == 3 ? 0 : -EINVAL;
}

static int compare_versions(const struct version *a, const struct version *b)
{
    for (size_t i = 0; i < 3; i++)
        if (a->parts[i] != b->parts[i])
            return a->parts[i] < b->parts[i] ? -1 : 1;
    return 0;
}

/* {"version": "1.2.3"}, or {"tag_name": "v1.2.3"} as releases of GitHub have it. */
static int read_newest(struct upgrade *u, str body)
{
    struct json *doc;
    struct version v;
    if (json_parse(&u->x->arena, body, 0, &doc, NULL) < 0)
        return err_set(&u->err, -EBADMSG, "the answer is not JSON");
    str named = json_get_string(doc, "version");
    if (named.n == 0)
        named = json_get_string(doc, "tag_name");
    if (parse_version(named, &v) < 0)
        return err_set(&u->err, -EBADMSG,
                       "the answer has no \"version\" or \"tag_name\" such as \"1.2.3\"");
    u->newest = arena_str(&u->x->arena, str_starts(named, STR("v")) ? str_skip(named, 1) : named);
    return 0;
}

static void on_upgrade_answer(void *ctx, const struct err *err, int status, str body)
{
    struct upgrade *u = ctx;
    u->is_done = true;
    if (err->code)
        u->err = *err;
    else if (status != 200)
        err_set(&u->err, -EBADMSG, "the server answered with %d", status);
    else
        (void)read_newest(u, body);
}

static void ask_newest(struct upgrade *u, str url)
{
    struct fetch_header accept = {STR("Accept"), STR("application/json")};
    struct fetch_spec spec = {.method = "GET", .url = url, .headers = &accept, .nheaders = 1};
    struct fetcher *f = fetcher_new(u->x->loop);
    fetch_whole_start(u->x->loop, f, &spec, on_upgrade_answer, u);
    while (!u->is_done)
        (void)loop_run_until(u->x->loop, &u->is_done, UINT32_MAX);
    fetcher_free(f);
}

static int tell_newest(struct upgrade *u)
{
    struct cmd *x = u->x;
    struct version own, newest;
    if (parse_version(STR(NB_VERSION), &own) < 0 || parse_version(u->newest, &newest) < 0)
        return cli_failed("the version %s cannot be compared", NB_VERSION);
    bool is_newer = compare_versions(&own, &newest) < 0;
    if (x->cli->opt.is_json)
        cmd_print_json(cmd_object(x, {STR("version"), json_of_str(STR(NB_VERSION))},
                                  {STR("newest"), json_of_str(u->newest)},
                                  {STR("isNewer"), json_of_bool(is_newer)}));
    else if (is_newer)
        printf("nb %.*s is available; this is %s.\n" HOW_TO_UPGRADE, STR_ARG(u->newest),
               NB_VERSION);
    else
        printf("nb %s is the newest version.\n", NB_VERSION);
    return EXIT_DONE;
}

static int run_upgrade(struct cmd *x)
{
    struct upgrade u = {.x = x};
    struct url parts;
    str url = str_from(cmd_opt(x, "check"));
    if (url.n == 0) {
        fputs("nb does not look for new versions. To ask for one: nb upgrade --check "
              "URL\n" HOW_TO_UPGRADE,
              stdout);
        return EXIT_DONE;
    }
    if (url_parse(url, &parts, &u.err) < 0)
        return cli_usage_error("--check: %s", u.err.msg);
    if (!parts.is_https && !url_is_local(&parts))
        return cli_usage_error("--check: use an https address");
    ask_newest(&u, url);
    return u.err.code ? cli_fail(&u.err) : tell_newest(&u);
}

const struct command CMD_UPGRADE = {
    .name = "upgrade",
    .summary = "say whether there is a newer version",
    .help = "nb sends nothing automatically: it asks only the address that --check names. The "
            "answer is JSON with \"version\", or a release of GitHub's API with \"tag_name\" "
            "(https://api.github.com/repos/OWNER/NAME/releases/latest).\n",
    .args = ARGS,
    .needs = NEEDS_LOOP,
    .run = run_upgrade,
};
