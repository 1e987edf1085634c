/* nb status, nb reload. */
#include "bundle/settings/settings.h"
#include "cli/bundle/bundle.h"
#include "cli/session/client.h"
#include "cli/session/session.h"
#include "cli/term/styled.h"

#define HEALTH_MS 10000 /* a busy server is not one that does not run */

/* ---- status ---- */

static const struct cmd_column COLUMNS[] = {
    {"BUNDLE", "name", .style = STYLE_BOLD},
    {"STATE", "state"},
    {"UPTIME", "uptime", .is_right = true},
    {"RESTARTS", "restarts", .is_right = true},
    {"FROM", "from"},
};

struct status {
    struct cmd *x;
    struct bundle_entry *entries;
    size_t n;
    const struct json *health; /* NULL = no server responds */
    struct err err;            /* why a running server returned no bundles */
    size_t skills;
};

static const struct json *health_of(const struct status *s, str name)
{
    for (size_t i = 0; s->health && i < s->health->len; i++)
        if (str_eq(json_get_string(json_at(s->health, i), "name"), name))
            return json_at(s->health, i);
    return NULL;
}

static void add_row(struct status *s, struct json *rows, str name, str from, const struct json *h)
{
    struct cmd *x = s->x;
    int64_t up = json_get_int(h, "uptime", -1);
    struct json *row = cmd_object(
        x, {STR("name"), json_of_str(name)},
        {STR("state"), json_of_str(h ? json_get_string(h, "state") : STR("not running"))},
        {STR("from"), json_of_str(from)});
    if (up >= 0)
        json_set(&x->arena, row, STR("uptime"),
                 json_of_str(arena_printf(&x->arena, "%lld s", (long long)(up / 1000))));
    if (h)
        json_set(&x->arena, row, STR("restarts"), json_of_int(json_get_int(h, "restartCount", 0)));
    json_push(&x->arena, rows, *row);
}

static void print_status(struct status *s)
{
    struct cmd *x = s->x;
    const struct config *c = &x->config;
    struct json *rows = json_new(&x->arena, JSON_ARRAY);
    printf("settings  %s%s\n", c->path, c->is_file_present ? "" : " (does not exist yet)");
    if (s->err.code)
        printf("server    running; %s\n", s->err.msg);
    else
        printf("server    %s\n", s->health ? "running" : "not running");
    printf("skills    %zu\n", s->skills);
    for (size_t i = 0; i < s->n; i++)
        add_row(s, rows, s->entries[i].server_name, bundle_cli_source(&x->arena, &s->entries[i]),
                health_of(s, s->entries[i].server_name));
    for (size_t i = 0; s->health && i < s->health->len; i++) {
        const struct json *h = json_at(s->health, i);
        str name = json_get_string(h, "name");
        if (!bundle_cli_entry_named(s->entries, s->n, name))
            add_row(s, rows, name, STR("comes with nb"), h);
    }
    if (rows->len > 0)
        putchar('\n');
    cmd_table(x, rows, COLUMNS, ARRAY_LEN(COLUMNS), true);
}

static struct json *status_json(struct status *s)
{
    struct cmd *x = s->x;
    struct json *bundles = json_new(&x->arena, JSON_ARRAY);
    for (size_t i = 0; i < s->n; i++) {
        const struct bundle_entry *b = &s->entries[i];
        json_push(&x->arena, bundles,
                  *cmd_object(x, {STR("name"), json_of_str(b->server_name)},
                              {STR("kind"), json_of_str(str_from(bundle_kind_name(b->kind)))},
                              {STR("source"), json_of_str(bundle_cli_source(&x->arena, b))},
                              {STR("disabled"), json_of_bool(b->is_disabled)}));
    }
    return cmd_object(x, {STR("bundles"), *bundles},
                      {STR("skills"), json_of_int((int64_t)s->skills)},
                      {STR("health"), s->health ? *s->health : json_of_null()});
}

static size_t count_skills(struct cmd *x)
{
    struct json *answer;
    struct err e = {0};
    struct client_ask q = {.path = STR("/v1/skills")};
    if (client_ask(x->client, &q, &x->arena, &answer, &e) < 0)
        return 0;
    const struct json *all = json_get(answer, "skills");
    return all ? all->len : 0;
}

static int run_status(struct cmd *x)
{
    struct status s = {.x = x};
    struct json *health;
    int code = bundle_cli_entries(x, &s.entries, &s.n);
    if (code != EXIT_DONE)
        return code;
    struct client_ask q = {.path = STR("/v1/bundles/health"), .timeout_ms = HEALTH_MS};
    if (session_is_served(&x->config) && client_ask(x->client, &q, &x->arena, &health, &s.err) == 0)
        s.health = health;
    s.skills = count_skills(x);
    if (!cmd_json(x, status_json(&s)))
        print_status(&s);
    return EXIT_DONE;
}

const struct command CMD_STATUS = {
    .name = "status",
    .summary = "show whether a server runs, and its bundles",
    .needs = NEEDS_CLIENT | NEEDS_PLACE,
    .run = run_status,
};

/* ---- reload ---- */

static int run_reload(struct cmd *x)
{
    struct err e = {0};
    struct bundle_entry *all;
    size_t n;
    int code = bundle_cli_entries(x, &all, &n); /* better reported here than in the server's log */
    if (code != EXIT_DONE)
        return code;
    if (settings_request_reload(config_path(&x->config, ".reload"), &e) < 0)
        return cli_fail(&e);
    bool is_served = session_is_served(&x->config);
    return cmd_say(x,
                   cmd_object(x, {STR("reloaded"), json_of_bool(is_served)},
                              {STR("bundles"), json_of_int((int64_t)n)}),
                   "%s",
                   is_served ? "The server reads its settings again."
                             : "No server is running; the next one reads the settings anyway.");
}

const struct command CMD_RELOAD = {
    .name = "reload",
    .summary = "make a running server read its settings again",
    .help = "Restarts, adds or removes bundles whose entries changed, and applies permissions and "
            "agents. A running server also notices a change of the file automatically. Other "
            "settings take effect with the next start.\n",
    .needs = NEEDS_PLACE,
    .run = run_reload,
};
