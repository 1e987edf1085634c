#include "cli/conversations/conversations.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/term/ago.h"
#include "cli/term/table.h"
#include "cli/term/text.h"
#include "server/place.h"
#include "store/store.h"

#define LABEL_MAX (64u * 1024)

static const struct command *const COMMANDS[] = {
    &CONV_LIST,   &CONV_SHOW,    &CONV_SEARCH,     &CONV_NOTE,    &CONV_RENAME,       &CONV_FORK,
    &CONV_DELETE, &CONV_RESTORE, &CONV_STATS,      &CONV_EXPORT,  &CONV_IMPORT,       &CONV_CONVERT,
    &CONV_VERIFY, &CONV_REPAIR,  &CONV_SHARE_WITH, &CONV_UNSHARE, &CONV_PARTICIPANTS, NULL,
};

const struct command CMD_CONVERSATIONS = {
    .name = "conversations",
    .alias = "conv",
    .usage = "conversations COMMAND [OPTIONS]   (short: nb conv)",
    .summary = "list, read, search, change, export conversations",
    .help = "For an ID, `latest` is the conversation that changed last.\n",
    .subs = COMMANDS,
};

int conv_with(struct cli *cli, bool with_client, conv_fn fn, const void *options, int argc,
              char **argv)
{
    struct conv_cli x = {.cli = cli, .width = table_terminal_width(STDOUT_FILENO)};
    struct err e = {0};
    int code = cli_load_config_to_ask(cli, &x.config);
    if (code != EXIT_DONE)
        return code;
    arena_init(&x.arena);
    x.log = cli_logger(cli, &x.config, LOG_WARN, NULL);
    x.loop = loop_new(x.log);
    if (with_client && client_open(x.loop, &x.config, &x.client, &e) < 0)
        code = cli_fail(&e);
    else
        code = fn(&x, options, argc, argv);
    client_close(x.client);
    roster_free(x.people);
    loop_free(x.loop);
    logger_free(x.log);
    arena_done(&x.arena);
    config_done(&x.config);
    return code;
}

int conv_ask(struct conv_cli *x, const char *method, str path, str body, const char *subject,
             struct json **ret)
{
    struct client_ask q = {.method = method, .path = path, .body = body};
    struct err e = {0};
    if (client_ask(x->client, &q, &x->arena, ret, &e) == 0)
        return EXIT_DONE;
    if (subject)
        err_prefix(&e, "%s", subject);
    return cli_fail(&e);
}

static int latest(struct conv_cli *x, str *ret)
{
    struct json *list;
    int code = conv_ask(x, NULL, STR("/v1/conversations?limit=1"), STR_NONE, NULL, &list);
    if (code != EXIT_DONE)
        return code;
    *ret = json_get_string(json_at(json_get(list, "conversations"), 0), "id");
    if (ret->n > 0)
        return EXIT_DONE;
    fputs("nb: no conversations yet\n", stderr);
    return EXIT_FAILED;
}

int conv_id(struct conv_cli *x, const char *typed, str *ret)
{
    struct buf b;
    *ret = store_id_meant(str_from(typed));
    if (x->client && strcmp(typed, "latest") == 0)
        return latest(x, ret);
    if (store_id_valid(*ret))
        return EXIT_DONE;
    buf_init(&b, LABEL_MAX);
    text_add_line(&b, *ret);
    fprintf(stderr, "nb: no conversation '%s'\n", buf_cstr(&b));
    buf_done(&b);
    return EXIT_FAILED;
}

str conv_path(struct conv_cli *x, str id, const char *rest)
{
    return arena_printf(&x->arena, "/v1/conversations/%.*s%s",
                        STR_ARG(client_encode(&x->arena, id)), rest);
}

void conv_print_json(const struct json *v)
{
    struct buf b;
    buf_init(&b, 2 * CLIENT_BODY_MAX);
    json_write(&b, v);
    printf("%.*s\n", STR_ARG(buf_str(&b)));
    buf_done(&b);
}

str conv_label(struct conv_cli *x, const struct json *conv)
{
    struct buf b;
    str title = json_get_string(conv, "title");
    buf_init(&b, LABEL_MAX);
    text_add_line(&b, title.n > 0 ? title : json_get_string(conv, "preview"));
    str label = arena_str(&x->arena, b.n > 0 ? buf_str(&b) : STR("(untitled)"));
    buf_done(&b);
    return label;
}

str conv_person(struct conv_cli *x, str user_id)
{
    struct buf b;
    if (!x->people && place_roster(&x->config, &x->people, NULL) < 0)
        x->people = NULL;
    const struct user *u = x->people ? roster_user(x->people, user_id) : NULL;
    str name = u && u->display_name.n > 0 ? u->display_name
               : u && u->email.n > 0      ? u->email
                                          : user_id;
    buf_init(&b, LABEL_MAX);
    text_add_line(&b, name);
    return buf_keep(&b, &x->arena);
}

str conv_ago(struct conv_cli *x, str iso)
{
    int64_t ms;
    struct buf b;
    if (clock_parse_iso(iso, &ms) < 0)
        return STR("?");
    buf_init(&b, 64);
    ago_add(&b, ms, clock_now_ms());
    return buf_keep(&b, &x->arena);
}

str conv_cost(struct conv_cli *x, const struct json *usd)
{
    double v = json_double(usd, -1);
    if (v < 0)
        return STR("?");
    return arena_printf(&x->arena, v > 0 && v < 0.01 ? "$%.4f" : "$%.2f", v);
}

str conv_count(struct conv_cli *x, int64_t n)
{
    if (n < 10000)
        return arena_printf(&x->arena, "%lld", (long long)n);
    if (n < 1000000)
        return arena_printf(&x->arena, "%.1f k", (double)n / 1e3);
    return arena_printf(&x->arena, "%.1f M", (double)n / 1e6);
}
