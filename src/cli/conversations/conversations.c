#include "cli/conversations/conversations.h"

#include <time.h>

#include "base/clock.h"
#include "cli/session/members.h"
#include "server/place.h"
#include "store/store.h"

enum { ASK_AGAIN_MS = 200 };

static const struct command *const CONV_COMMANDS[] = {
    &CONV_LIST,       &CONV_SHOW,    &CONV_SEARCH,       &CONV_NOTE,    &CONV_RENAME,
    &CONV_FORK,       &CONV_PROMOTE, &CONV_DELETE,       &CONV_RESTORE, &CONV_STATS,
    &CONV_EXPORT,     &CONV_IMPORT,  &CONV_CONVERT,      &CONV_VERIFY,  &CONV_REPAIR,
    &CONV_SHARE_WITH, &CONV_UNSHARE, &CONV_PARTICIPANTS, &CONV_LINK,    &CONV_LINKS,
    &CONV_UNLINK,     NULL,
};

const struct command CMD_CONVERSATIONS = {
    .name = "conversations",
    .alias = "conv",
    .summary = "list, read, search, change and export conversations",
    .help =
        "`nb conv` is the short form. For an ID, `latest` is the conversation that changed last.\n",
    .needs = NEEDS_CLIENT | WORKS_ELSEWHERE,
    .subs = CONV_COMMANDS,
};

struct json *conv_ask_all(struct cmd *x, str path, const char *subject)
{
    const struct timespec nap = {.tv_nsec = ASK_AGAIN_MS * 1000000};
    struct json *page = cmd_ask(x, NULL, path, NULL, subject);
    while (page && json_get(page, "indexing")) {
        (void)nanosleep(&nap, NULL);
        page = cmd_ask(x, NULL, path, NULL, subject);
    }
    return page;
}

static str latest(struct cmd *x)
{
    const struct json *list = conv_ask_all(x, STR("/v1/conversations?limit=1"), NULL);
    str id = json_get_string(json_at(json_get(list, "conversations"), 0), "id");
    if (list && id.n == 0)
        (void)cli_failed("no conversations yet");
    return id;
}

str conv_id(struct cmd *x, const char *typed)
{
    str id = store_id_meant(str_from(typed));
    if (x->client && strcmp(typed, "latest") == 0)
        return latest(x);
    if (store_id_valid(id))
        return id;
    (void)cli_failed("no conversation '%.*s'", STR_ARG(cmd_line(x, id)));
    return STR_NONE;
}

str conv_path(struct cmd *x, str id, const char *rest)
{
    return arena_printf(&x->arena, "/v1/conversations/%.*s%s",
                        STR_ARG(client_encode(&x->arena, id)), rest);
}

struct json *conv_ask(struct cmd *x, const char *typed, const char *method, const char *rest,
                      const struct json *body)
{
    str id = conv_id(x, typed);
    return id.n > 0 ? cmd_ask(x, method, conv_path(x, id, rest), body, typed) : NULL;
}

str conv_label(struct cmd *x, const struct json *conv)
{
    str title = json_get_string(conv, "title");
    str label = cmd_line(x, title.n > 0 ? title : json_get_string(conv, "preview"));
    return label.n > 0 ? label : STR("(untitled)");
}

/* A server elsewhere has its own people. */
str conv_person(struct cmd *x, str user_id)
{
    if (x->config.remote.url) {
        if (!x->members)
            x->members = members_ask(x->client, x->config.workspace, &x->arena);
        return cmd_line(x, members_name(x->members, user_id));
    }
    if (!x->roster && place_roster(&x->config, &x->roster, NULL) < 0)
        x->roster = NULL;
    const struct user *u = x->roster ? roster_user(x->roster, user_id) : NULL;
    return cmd_line(x, u && u->display_name.n > 0 ? u->display_name
                       : u && u->email.n > 0      ? u->email
                                                  : user_id);
}

str conv_ago(struct cmd *x, str iso)
{
    int64_t ms;
    return clock_parse_iso(iso, &ms) < 0 ? STR("?") : cmd_ago(x, ms);
}

str conv_cost(struct cmd *x, const struct json *usd)
{
    double v = json_double(usd, -1);
    if (v < 0)
        return STR("?");
    return arena_printf(&x->arena, v > 0 && v < 0.01 ? "$%.4f" : "$%.2f", v);
}

str conv_known_cost(struct cmd *x, const struct json *row, const char *unpriced)
{
    str cost = conv_cost(x, json_get(row, "knownCostUsd"));
    return json_get_int(row, unpriced, 0) == 0 ? cost
                                               : arena_printf(&x->arena, ">%.*s", STR_ARG(cost));
}
