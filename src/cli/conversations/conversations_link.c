/* nb conversations link, links, unlink: reading without an account. */
#include "cli/conversations/conversations.h"

static const struct arg LINK_ARGS[] = {
    {"days", 0, ARG_INT, "DAYS", "keep it valid for DAYS, 1 to 365 (default: 30)"},
    {"tools", 0, ARG_FLAG, NULL, "show inputs and results of tools too"},
    {0}};

/* The address of the page, with a slash at its end; empty when nb does not know it. */
static str link_base(struct cmd *x)
{
    str url = json_get_string(cmd_ask(x, "GET", STR("/v1/workspace"), NULL, NULL), "pageUrl");
    return url.n > 0 && !str_ends(url, STR("/")) ? arena_concat(&x->arena, url, STR("/")) : url;
}

static int conv_link(struct cmd *x)
{
    struct json *body = json_new(&x->arena, JSON_OBJECT);
    if (cmd_int(x, "days") > 0)
        json_set(&x->arena, body, STR("expiresInDays"), json_of_int(cmd_int(x, "days")));
    if (cmd_flag(x, "tools"))
        json_set(&x->arena, body, STR("tools"), json_of_bool(true));
    const struct json *made = conv_ask(x, x->argv[0], "POST", "/links", body);
    if (!made)
        return EXIT_FAILED;
    if (cmd_json(x, made))
        return EXIT_DONE;
    str base = link_base(x);
    printf("%.*s%.*s\n", STR_ARG(base), STR_ARG(json_get_string(made, "path")));
    fprintf(stderr, "%.*s, expires %.*s; not shown again\n", STR_ARG(json_get_string(made, "id")),
            STR_ARG(json_get_string(made, "expiresAt")));
    return EXIT_DONE;
}

const struct command CONV_LINK = {
    .name = "link",
    .operands = "ID",
    .summary = "make a link with which people without an account read a conversation",
    .help = "The link shows what was written before it was made, without inputs and results of "
            "tools. Needs the setting features.publicLinks.\n",
    .args = LINK_ARGS,
    .run = conv_link,
};

static str link_tools(struct cmd *x, const struct json *row)
{
    return json_get_bool(row, "tools", false) ? STR("shown") : STR("names only");
}

static int conv_links(struct cmd *x)
{
    static const struct cmd_column COLUMNS[] = {
        {"LINK", "id", .is_whole = true}, {"CONVERSATION", "conversationId", .is_whole = true},
        {"MADE", "createdAt", CELL_AGO},  {"EXPIRES", "expiresAt"},
        {"TOOLS", .show = link_tools},
    };
    const struct json *found = x->argc > 0 ? conv_ask(x, x->argv[0], "GET", "/links", NULL)
                                           : cmd_ask(x, "GET", STR("/v1/links"), NULL, NULL);
    if (!found)
        return EXIT_FAILED;
    if (!json_get_bool(found, "isOn", false))
        fprintf(stderr, "links are off: features.publicLinks in the settings\n");
    return cmd_list(x, json_get(found, "links"), COLUMNS, ARRAY_LEN(COLUMNS), "no links");
}

const struct command CONV_LINKS = {
    .name = "links",
    .operands = "[ID]",
    .summary = "list such links, of one conversation or of the workspace",
    .run = conv_links,
};

static int conv_unlink(struct cmd *x)
{
    str id = client_encode(&x->arena, str_from(x->argv[1]));
    str rest = arena_printf(&x->arena, "/links/%.*s", STR_ARG(id));
    const struct json *done = conv_ask(x, x->argv[0], "DELETE", rest.p, NULL);
    return done ? cmd_say(x, done, "%s is revoked", x->argv[1]) : EXIT_FAILED;
}

const struct command CONV_UNLINK = {
    .name = "unlink",
    .operands = "ID LINK",
    .summary = "revoke such a link immediately",
    .run = conv_unlink,
};
