/* nb status, nb reload. */
#include "bundle/settings/settings.h"
#include "cli/bundle/bundle.h"
#include "cli/session/session.h"
#include "cli/term/styled.h"
#include "cli/term/table.h"

#define HEALTH_MS 2000

/* ---- status ---- */

static const struct table_column COLUMNS[] = {{"BUNDLE", false, STYLE_BOLD},
                                              {"STATE", false, 0},
                                              {"UPTIME", true, 0},
                                              {"RESTARTS", true, 0},
                                              {"FROM", false, 0}};

struct status {
    struct conv_cli *x;
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

static const struct bundle_entry *entry_of(const struct status *s, str name)
{
    return bundle_cli_entry_named(s->entries, s->n, name);
}

static void add_row(struct status *s, struct table *t, str name, str from, const struct json *h)
{
    int64_t up = json_get_int(h, "uptime", -1);
    table_row(t);
    table_cell(t, 0, name);
    table_cell(t, 1, h ? json_get_string(h, "state") : STR("not running"));
    if (up >= 0)
        table_cellf(t, 2, "%lld s", (long long)(up / 1000));
    if (h)
        table_cellf(t, 3, "%lld", (long long)json_get_int(h, "restartCount", 0));
    table_cell(t, 4, from);
}

static void print(struct status *s)
{
    struct table t;
    const struct config *c = &s->x->config;
    printf("settings  %s%s\n", c->path, c->is_file_present ? "" : " (not there yet)");
    if (s->err.code)
        printf("server    running; %s\n", s->err.msg);
    else
        printf("server    %s\n", s->health ? "running" : "not running");
    printf("skills    %zu\n", s->skills);
    table_init(&t, COLUMNS, ARRAY_LEN(COLUMNS));
    for (size_t i = 0; i < s->n; i++)
        add_row(s, &t, s->entries[i].server_name, bundle_cli_source(&s->x->arena, &s->entries[i]),
                health_of(s, s->entries[i].server_name));
    for (size_t i = 0; s->health && i < s->health->len; i++) {
        const struct json *h = json_at(s->health, i);
        str name = json_get_string(h, "name");
        if (!entry_of(s, name))
            add_row(s, &t, name, STR("comes with nb"), h);
    }
    if (t.nrows > 0) {
        putchar('\n');
        table_print(&t, stdout, s->x->width, s->x->cli->has_color_out, true);
    }
    table_done(&t);
}

static void print_status_json(struct status *s)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, CLIENT_BODY_MAX);
    jw_object(&w);
    jw_karray(&w, "bundles");
    for (size_t i = 0; i < s->n; i++) {
        jw_object(&w);
        jw_kstr(&w, "name", s->entries[i].server_name);
        jw_kstr(&w, "kind", str_from(bundle_kind_name(s->entries[i].kind)));
        jw_kstr(&w, "source", bundle_cli_source(&s->x->arena, &s->entries[i]));
        jw_kbool(&w, "disabled", s->entries[i].is_disabled);
        jw_end(&w);
    }
    jw_end(&w);
    jw_kint(&w, "skills", (int64_t)s->skills);
    jw_kval(&w, "health", s->health);
    jw_end(&w);
    printf("%s\n", buf_cstr(&b));
    buf_done(&b);
}

static size_t count_skills(struct conv_cli *x)
{
    struct json *answer;
    struct err e = {0};
    struct client_ask q = {.path = STR("/v1/skills")};
    if (client_ask(x->client, &q, &x->arena, &answer, &e) < 0)
        return 0;
    const struct json *all = json_get(answer, "skills");
    return all ? all->len : 0;
}

static int do_status(struct conv_cli *x, const void *options, int argc, char **argv)
{
    struct status s = {.x = x};
    struct json *health;
    int code = bundle_cli_place(x);
    if (code == EXIT_DONE)
        code = bundle_cli_entries(x, &s.entries, &s.n);
    if (code != EXIT_DONE)
        return code;
    struct client_ask q = {.path = STR("/v1/bundles/health"), .timeout_ms = HEALTH_MS};
    if (session_is_served(&x->config) && client_ask(x->client, &q, &x->arena, &health, &s.err) == 0)
        s.health = health;
    s.skills = count_skills(x);
    if (x->cli->opt.is_json)
        print_status_json(&s);
    else
        print(&s);
    return EXIT_DONE;
}

static int run_status(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc > 0)
        return cli_usage_error("status takes no argument '%s'", argv[0]);
    return conv_with(cli, true, do_status, options, argc, argv);
}

const struct command CMD_STATUS = {
    .name = "status",
    .usage = "status [--json]",
    .summary = "show whether a server runs, and its bundles",
    .run = run_status,
};

/* ---- reload ---- */

static int do_reload(struct conv_cli *x, const void *options, int argc, char **argv)
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
    if (x->cli->opt.is_json)
        printf("{\"reloaded\":%s,\"bundles\":%zu}\n", is_served ? "true" : "false", n);
    else
        puts(is_served ? "The server reads its settings again."
                       : "No server is running; the next one reads the settings anyway.");
    return EXIT_DONE;
}

static int run_reload(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc > 0)
        return cli_usage_error("reload takes no argument '%s'", argv[0]);
    return bundle_cli_with(cli, do_reload, options, argc, argv);
}

const struct command CMD_RELOAD = {
    .name = "reload",
    .usage = "reload [--json]",
    .summary = "make a running server read its settings again",
    .help = "Restarts, adds or removes bundles whose entries changed, and applies permissions and "
            "agents. A running server also notices a change of the file automatically. Other "
            "settings take effect with the next start.\n",
    .run = run_reload,
};
