#include <errno.h>
#include <gnu/libc-version.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "bundle/confine/cgroup.h"
#include "bundle/sandbox/sandbox.h"
#include "cli/command.h"
#include "cli/mcp/plain_settings.h"
#include "cli/session/client.h"
#include "cli/session/session.h"
#include "config/setting.h"
#include "os/file.h"
#include "os/zone.h"
#include "server/place.h"
#include "server/server.h"
#include "store/database/pg_lock.h"
#include "store/database/pg_schema.h"
#include "store/postgres/database.h"
#include "workspace/secrets/sealed.h"

enum { LIST_MS = 30000, SECRETS_SHOWN = 10 };

/* Prints one line of the report. */
enum finding { GOOD, NOTE, BAD };

struct doctor_report {
    struct cmd *x;
    struct json *items;
    int bad;
};

static void doctor_line(struct doctor_report *r, enum finding f, const char *what, const char *fmt,
                        ...) __attribute__((format(printf, 4, 5)));

static void doctor_line(struct doctor_report *r, enum finding f, const char *what, const char *fmt,
                        ...)
{
    static const char *const NAMES[] = {"ok", "note", "problem"};
    static const char *const MARKS[] = {"\033[32m✓\033[0m", "\033[33m•\033[0m", "\033[31m✗\033[0m"};
    static const char *const PLAIN[] = {"ok     ", "note   ", "PROBLEM"};
    va_list ap;
    va_start(ap, fmt);
    str text = arena_vprintf(&r->x->arena, fmt, ap);
    va_end(ap);
    r->bad += f == BAD;
    if (!r->x->cli->opt.is_json) /* names of workspaces and errors are foreign text */
        printf("%s %-12s %.*s\n", r->x->cli->has_color_out ? MARKS[f] : PLAIN[f], what,
               STR_ARG(cmd_line(r->x, text)));
    json_push(&r->x->arena, r->items,
              *cmd_object(r->x, {STR("check"), json_of_str(str_from(what))},
                          {STR("status"), json_of_str(str_from(NAMES[f]))},
                          {STR("detail"), json_of_str(text)}));
}

static void check_sandbox(struct doctor_report *r)
{
    struct sandbox_offer offer;
    sandbox_look(&offer);
    if (offer.kind == SANDBOX_BUBBLEWRAP)
        doctor_line(r, GOOD, "sandbox", "bundles run in bubblewrap");
    else if (offer.kind == SANDBOX_LANDLOCK)
        doctor_line(r, NOTE, "sandbox",
                    "bundles run with Landlock and seccomp, which hides less: %s", offer.why_not);
    else
        doctor_line(r, NOTE, "sandbox",
                    "none, so bundles will not start: %s; this kernel does not support Landlock",
                    offer.why_not);
    if (offer.has_network)
        doctor_line(
            r, GOOD, "network",
            "bundles with network access reach public and declared addresses only, through a "
            "network namespace and nb's proxy");
    else if (offer.kind != SANDBOX_NONE)
        doctor_line(
            r, NOTE, "network",
            "bundles that need the network will not start: this machine cannot create a network "
            "namespace (%s)",
            offer.why_no_network);
}

/* Without cgroups, nb reads /proc instead (bundle/supervise/memory_watch.c). */
static void check_limits(struct doctor_report *r)
{
    str by_kernel = cgroup_controllers(&r->x->arena, &CGROUP_SYSTEM);
    bool has_memory = str_find(by_kernel, STR("memory"), 0) >= 0;
    if (has_memory)
        doctor_line(r, GOOD, "limits", "the kernel enforces the limits of bundles (cgroup: %.*s)",
                    STR_ARG(by_kernel));
    else if (by_kernel.n > 0)
        doctor_line(
            r, NOTE, "limits",
            "the kernel limits the processes of bundles (cgroup: %.*s); nb watches their memory, "
            "without memory that no process has mapped",
            STR_ARG(by_kernel));
    else
        doctor_line(
            r, NOTE, "limits",
            "nb watches memory and processes of bundles, without memory that no process has "
            "mapped; with a delegated cgroup (Delegate=yes in the unit) the kernel limits both");
}

static void check_work_dir(struct doctor_report *r, const struct config *c)
{
    struct stat st;
    struct statvfs fs;
    struct err e = {0};
    if (file_make_dirs(c->work_dir, &e) < 0) {
        doctor_line(r, BAD, "data", "%s", e.msg);
        return;
    }
    if (access(c->work_dir, W_OK) < 0)
        doctor_line(r, BAD, "data", "%s is not writable: %s", c->work_dir, err_reason(-errno));
    else if (stat(c->work_dir, &st) == 0 && (st.st_mode & 077))
        doctor_line(r, NOTE, "data", "%s can be read by other users; run chmod 700 on it",
                    c->work_dir);
    else
        doctor_line(r, GOOD, "data", "%s", c->work_dir);
    if (statvfs(c->work_dir, &fs) == 0) {
        double free_mb = (double)fs.f_bavail * (double)fs.f_frsize / 1e6;
        doctor_line(r, free_mb < 100 ? BAD : GOOD, "disk", "%.0f MB free", free_mb);
    }
}

/* ---- what a report about a bug needs ---- */

static str distribution(struct arena *a)
{
    char head[4096];
    str text = file_head("/etc/os-release", head, sizeof head), line;
    const str name = STR("PRETTY_NAME=\"");
    while (str_split(&text, '\n', &line))
        if (str_starts(line, name) && line.n > name.n && str_ends(line, STR("\"")))
            return arena_str(a, str_slice(line, name.n, line.n - 1));
    return STR("unknown distribution");
}

static void check_machine(struct doctor_report *r)
{
    struct utsname u = {0};
    struct sysinfo m = {0};
    (void)uname(&u);
    (void)sysinfo(&m);
    doctor_line(r, GOOD, "system", "%.*s, %s %s %s, %ld processors, %.1f GB",
                STR_ARG(distribution(&r->x->arena)), u.sysname, u.release, u.machine,
                sysconf(_SC_NPROCESSORS_ONLN), (double)m.totalram * m.mem_unit / 1e9);
    doctor_line(r, GOOD, "libraries", "glibc %s, libuv %s", gnu_get_libc_version(),
                uv_version_string());
}

/* Numbers, switches and words of a fixed list have a value; of anything else, which may be a secret
 * or a name, only that it is set. */
static void add_changed(struct buf *out, const struct setting *s, const struct config *c,
                        const struct config *plain)
{
    const char *at = (const char *)c + s->offset, *was = (const char *)plain + s->offset;
    char value[64] = "(set)";
    bool is_changed;
    if (s->type == JF_INT || s->type == JF_BOOL) {
        size_t n = s->type == JF_INT ? sizeof(int64_t) : sizeof(bool);
        is_changed = memcmp(at, was, n) != 0;
        snprintf(value, sizeof value, "%lld",
                 s->type == JF_INT ? (long long)*(const int64_t *)at
                                   : (long long)*(const bool *)at);
    } else if (s->type == JF_STR || s->type == JF_CSTR) {
        str text = setting_str(s, c);
        is_changed = !str_eq(text, setting_str(s, plain));
        if (s->choices)
            snprintf(value, sizeof value, "%.*s", STR_ARG(text));
    } else {
        is_changed = s->type == JF_STRS ? ((const struct json_strs *)at)->len > 0
                                        : *(const struct json *const *)at != NULL;
    }
    if (is_changed)
        (void)buf_printf(out, "%s%s=%s", out->n > 0 ? ", " : "", s->key, value);
}

static void check_settings(struct doctor_report *r, const struct config *c)
{
    struct config *plain = ARENA_NEW(&r->x->arena, struct config);
    struct buf changed;
    arena_init(&plain->arena);
    buf_init(&changed, 16u * 1024);
    for (size_t i = 0; i < SETTINGS_LEN; i++) {
        const struct setting *s = &SETTINGS[i];
        if (!s->key || (s->flags & (SETTING_SECRET | SETTING_CHECKED | SETTING_HIDDEN)) ||
            strcmp(s->key, "workDir") == 0) /* check_work_dir shows it */
            continue;
        if (s->initial)
            (void)setting_set(s, plain, s->initial);
        add_changed(&changed, s, c, plain);
    }
    doctor_line(r, GOOD, "settings", "%s",
                changed.n > 0 ? buf_cstr(&changed) : "all have their defaults");
    buf_done(&changed);
    arena_done(&plain->arena);
}

static void check_secrets(struct doctor_report *r, const struct config *c)
{
    struct plain_setting *all;
    size_t n = plain_settings_find(&r->x->arena, c, &all);
    for (size_t i = 0; i < n && i < SECRETS_SHOWN; i++)
        doctor_line(r, NOTE, "secrets", "%s: %.*s%s%.*s is plain text", all[i].path,
                    STR_ARG(all[i].bundle), all[i].bundle.n > 0 ? ": " : "", STR_ARG(all[i].place));
    if (n > 0)
        doctor_line(r, NOTE, "secrets",
                    "%zu in the settings can be encrypted with: nb secrets seal", n);
    else
        doctor_line(r, GOOD, "secrets", "none in plain text; their key: %s",
                    sealed_key_place(&r->x->arena, c->work_dir));
}

/* Providers other than the first two are listed only when they are configured. */
static void check_keys(struct doctor_report *r, const struct config *c)
{
    size_t providers = 0;
    for (size_t i = 0; i < SETTINGS_LEN; i++) {
        const struct setting *s = &SETTINGS[i];
        if (!(s->flags & SETTING_FILE_FIRST))
            continue;
        str rest = str_from(s->key), name; /* providers.NAME.apiKey */
        (void)(str_split(&rest, '.', &name) && str_split(&rest, '.', &name));
        const char *shown = arena_cstr(&r->x->arena, name);
        if (setting_str(s, c).n > 0)
            doctor_line(r, GOOD, shown, "key is set");
        else if (providers < 2)
            doctor_line(r, NOTE, shown, "no key (%s)", s->variables);
        providers++;
    }
}

static void check_addresses(struct doctor_report *r, const struct config *c)
{
    const struct {
        const char *provider, *variable;
        str url;
    } ADDRESSES[] = {
        {"anthropic", "ANTHROPIC_BASE_URL", c->base_urls.anthropic},
        {"openai", "OPENAI_BASE_URL", c->base_urls.openai},
        {"google", "GOOGLE_GEMINI_BASE_URL", c->base_urls.google},
    };
    for (size_t i = 0; i < ARRAY_LEN(ADDRESSES); i++)
        if (ADDRESSES[i].url.n > 0)
            doctor_line(r, NOTE, ADDRESSES[i].provider, "%s is %.*s", ADDRESSES[i].variable,
                        STR_ARG(ADDRESSES[i].url));
}

static void check_models(struct doctor_report *r, const struct config *c, const struct server *s)
{
    str why, model = llm_default_model(server_llm(s), &why);
    bool is_demo = str_starts(model, STR("demo:"));
    struct llm_model_info info;
    struct err e = {0};
    str provider, name;
    if (llm_resolve(server_llm(s), model, &provider, &name, &e) < 0)
        doctor_line(r, BAD, "model", "%.*s cannot be used: %s", STR_ARG(model), e.msg);
    else
        doctor_line(r, is_demo ? NOTE : GOOD, "model", "%.*s (%.*s)", STR_ARG(model), STR_ARG(why));
    if (llm_model_info(server_llm(s), model, &info) && info.retires_on.n > 0)
        doctor_line(r, NOTE, "model", "%.*s retires on %.*s; its successor is %.*s", STR_ARG(model),
                    STR_ARG(info.retires_on), STR_ARG(info.successor));
    check_keys(r, c);
    check_addresses(r, c);
}

static void check_tools(struct doctor_report *r, const struct server *s)
{
    const struct toolset *set = registry_tools(server_tools(s));
    doctor_line(r, GOOD, "tools", "%zu", set->len);
}

/* Of the server that runs. Reasons are left out, because they may quote what a bundle has printed;
 * starting and restarting are not problems yet. */
static void check_bundles(struct doctor_report *r, struct client *client, const char *of)
{
    struct client_ask q = {.path = STR("/v1/bundles/health"), .timeout_ms = LIST_MS};
    struct json *all;
    struct err e = {0};
    size_t running = 0;
    if (client_ask(client, &q, &r->x->arena, &all, &e) < 0) {
        doctor_line(r, BAD, "bundles", "%s%s", of, e.msg);
        return;
    }
    for (size_t i = 0; json_is(all, JSON_ARRAY) && i < all->len; i++) {
        str name = json_get_string(json_at(all, i), "name");
        str state = json_get_string(json_at(all, i), "state");
        bool is_dead = str_eq(state, STR("dead"));
        running += str_eq(state, STR("running"));
        if (!str_eq(state, STR("running")))
            doctor_line(r, is_dead ? BAD : NOTE, "bundles",
                        "%s%.*s is %.*s; see: nb bundle info %.*s", of, STR_ARG(name),
                        STR_ARG(state), STR_ARG(name));
    }
    doctor_line(r, GOOD, "bundles", "%s%zu running", of, running);
}

/* ---- conversations ---- */

/* `of`: "", or the name of the workspace and a colon. */
struct listed {
    struct doctor_report *report;
    const char *of;
    bool is_done;
};

static void say_count(struct doctor_report *r, const char *of, int64_t n)
{
    doctor_line(r, GOOD, "store", "%s%lld conversation%s", of, (long long)n, n == 1 ? "" : "s");
}

static void on_doctor_listed(void *ctx, const struct err *err, const struct store_listing *l)
{
    struct listed *k = ctx;
    k->is_done = true;
    if (err) {
        doctor_line(k->report, BAD, "store", "%s%s", k->of, err->msg);
        return;
    }
    for (size_t i = 0; i < l->nunreadable; i++)
        doctor_line(k->report, BAD, "store", "%s%.*s", k->of, STR_ARG(l->unreadable[i]));
    say_count(k->report, k->of, l->total);
}

static void check_own_store(struct doctor_report *r, const struct server *s, const char *of)
{
    struct listed k = {.report = r, .of = of};
    struct store_query q = {.limit = 1};
    store_list(server_store(s), &q, on_doctor_listed, &k);
    if (!loop_run_until(r->x->loop, &k.is_done, LIST_MS))
        doctor_line(r, BAD, "store", "%sthe conversations could not be listed in time", of);
}

/* If a server runs, ask it: it knows what it cannot read, and this command must not create a
 * directory that the server reports as missing. */
static bool check_served_store(struct doctor_report *r, const struct workspace *w, const char *of)
{
    struct cmd *x = r->x;
    struct client *client = client_open_socket(x->loop, server_socket_path(&x->config, &x->arena),
                                               arena_cstr(&x->arena, w->id));
    struct client_ask q = {.path = STR("/v1/conversations?limit=1"), .timeout_ms = LIST_MS};
    struct json *list;
    struct err e = {0};
    bool is_readable = client_ask(client, &q, &r->x->arena, &list, &e) == 0;
    if (is_readable)
        check_bundles(r, client, of);
    client_close(client);
    if (!is_readable) {
        doctor_line(r, BAD, "store", "%s%s", of, e.msg);
        return false;
    }
    const struct json *unreadable = json_get(list, "unreadable");
    for (size_t i = 0; json_is(unreadable, JSON_ARRAY) && i < unreadable->len; i++)
        doctor_line(r, BAD, "store", "%s%.*s", of,
                    STR_ARG(json_string(json_at(unreadable, i), STR_NONE)));
    say_count(r, of, json_get_int(list, "totalCount", 0));
    return true;
}

/* A store of type postgres: can its tables be used? */
static void check_database(struct doctor_report *r, const struct config *c)
{
    struct arena *a = &r->x->arena;
    struct pg_conn *conn = NULL;
    struct err e = {0};
    str writer = STR_NONE;
    if (strcmp(c->store.type, "postgres") != 0)
        return;
    struct database *db = database_new(r->x->loop, r->x->log, c->store.url);
    int status = database_connect(db, &conn, &e);
    if (status == 0)
        status = pg_schema_check(conn, &e);
    if (status == 0)
        status = pg_lock_holder(conn, a, &writer, &e);
    struct pg_servers servers = {0};
    if (status == 0 && c->store.replicas)
        status = pg_lock_servers(conn, &servers, &e);
    if (status < 0)
        doctor_line(r, BAD, "database", "%s", e.msg);
    else
        doctor_line(r, GOOD, "database", "PostgreSQL %d, %s, schema %d; writer: %.*s",
                    conn->api->serverVersion(conn->pq) / 10000,
                    conn->api->sslInUse(conn->pq) ? "encrypted" : "not encrypted",
                    PG_SCHEMA_VERSION, STR_ARG(writer.n > 0 ? writer : STR("none")));
    if (status == 0 && c->store.replicas)
        doctor_line(r, servers.alive > 0 ? GOOD : NOTE, "database",
                    "%lld server%s alive, %lld conversations in work, %lld queued messages",
                    (long long)servers.alive, servers.alive == 1 ? " is" : "s are",
                    (long long)servers.leases, (long long)servers.queued);
    pg_conn_close(conn);
    database_free(db);
}

static void check_time_zone(struct doctor_report *r, const struct config *c)
{
    int32_t offset;
    char abbr[ZONE_ABBR_MAX];
    struct err e = {0};
    if (zone_offset(c->time_zone, clock_now_ms() / 1000, &offset, abbr, &e) < 0)
        doctor_line(r, NOTE, "config", "timeZone: %s", e.msg);
}

static void check_running(struct doctor_report *r)
{
    struct cmd *x = r->x;
    struct client_ask q = {.path = STR("/v1/health"), .timeout_ms = LIST_MS};
    struct json *health;
    struct err e = {0};
    if (!session_is_served(&x->config)) {
        doctor_line(r, NOTE, "server", "not running (start it with: nb serve)");
        return;
    }
    struct client *client =
        client_open_socket(x->loop, server_socket_path(&x->config, &x->arena), NULL);
    if (client_ask(client, &q, &r->x->arena, &health, &e) < 0)
        doctor_line(r, BAD, "server", "%s", e.msg);
    else if (!str_eq(json_get_string(health, "status"), STR("ok")))
        doctor_line(r, BAD, "server", "running, but %.*s: %.*s See the server's log.",
                    STR_ARG(json_get_string(health, "status")),
                    STR_ARG(json_get_string(health, "reason")));
    else
        doctor_line(r, GOOD, "server", "running; this terminal joins it through nb.sock");
    client_close(client);
}

/* Checks the workspace w; models and tools only for the first. */
static void check_workspace(struct doctor_report *r, const struct workspace *w, bool is_first,
                            const char *of)
{
    struct cmd *x = r->x;
    bool is_served = session_is_served(&x->config);
    struct server_options opt = {.workspace_id = w->id.p,
                                 .needs_home = true,
                                 .with_local_probe = true,
                                 .is_read_only = is_served};
    struct server *s;
    struct err e = {0};
    if (is_served && (!check_served_store(r, w, of) || !is_first))
        return;
    if (server_new(x->loop, x->log, &x->config, &opt, &s, &e) < 0) {
        doctor_line(r, BAD, "start", "%s", e.msg);
        return;
    }
    if (is_first) {
        check_models(r, &x->config, s);
        check_tools(r, s);
    }
    if (!is_served)
        check_own_store(r, s, of);
    server_close(s, 0);
}

/* The workspace that was named, or all. */
static void check_workspaces(struct doctor_report *r)
{
    struct config *c = &r->x->config;
    struct roster *all = NULL;
    const struct workspace *one = NULL;
    struct err e = {0};
    if (place_roster(c, &all, &e) < 0 ||
        (c->workspace && place_choose(all, c->workspace, &one, &e) < 0))
        doctor_line(r, BAD, "start", "%s", e.msg);
    else if (all->nworkspaces == 0)
        doctor_line(r, NOTE, "store", "no workspaces yet; create one: nb workspace create NAME");
    size_t n = e.code ? 0 : one ? 1 : all->nworkspaces;
    for (size_t i = 0; i < n; i++) {
        const struct workspace *w = one ? one : &all->workspaces[i];
        str of = n > 1 ? arena_printf(&r->x->arena, "%.*s: ", STR_ARG(w->name)) : STR("");
        check_workspace(r, w, i == 0, of.p);
    }
    roster_free(all);
}

static void examine(struct doctor_report *r)
{
    const struct config *c = &r->x->config;
    doctor_line(r, GOOD, "version", "nb %s", NB_VERSION);
    check_machine(r);
    doctor_line(r, c->is_file_present ? GOOD : NOTE, "config", "%s%s", c->path,
                c->is_file_present ? "" : " (does not exist; defaults apply)");
    for (size_t i = 0; i < c->warnings.len; i++)
        doctor_line(r, NOTE, "config", "%.*s", STR_ARG(c->warnings.items[i]));
    check_settings(r, c);
    check_time_zone(r, c);
    check_work_dir(r, c);
    check_database(r, c);
    check_secrets(r, c);
    check_sandbox(r);
    check_limits(r);
    check_running(r);
    check_workspaces(r);
}

static int run_doctor(struct cmd *x)
{
    struct doctor_report r = {.x = x, .items = json_new(&x->arena, JSON_ARRAY)};
    x->log = cli_logger(x->cli, &x->config, LOG_ERROR, NULL);
    x->loop = loop_new(x->log);
    examine(&r);
    if (x->cli->opt.is_json)
        cmd_print_json(r.items);
    return r.bad ? EXIT_FAILED : EXIT_DONE;
}

const struct command CMD_DOCTOR = {
    .name = "doctor",
    .summary = "check settings, models, bundles and the sandbox",
    .help =
        "Exits with 1 when something is wrong, 0 when there are only notes. The output has what "
        "a report about a bug needs: it has no secrets, and of settings that may be names or "
        "secrets only that they are set.\n",
    .needs = NEEDS_SETTINGS,
    .run = run_doctor,
};
