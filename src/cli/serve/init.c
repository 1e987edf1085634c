/* nb init - the setup: users, how they log in, and the first workspace. */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/people/people.h"
#include "cli/session/session.h"
#include "cli/term/ask.h"
#include "os/dir.h"
#include "os/file.h"
#include "server/shared.h"
#include "workspace/texts.h"

#define PAGE "http://127.0.0.1:27247"

static const struct arg INIT_ARGS[] = {
    {"mode", 0, ARG_STRING, "MODE", "set up single, local or oidc without asking",
     .choices = "single, local, oidc"},
    {"email", 0, ARG_STRING, "EMAIL", "set the owner's e-mail address (local, oidc)"},
    {"name", 0, ARG_STRING, "NAME", "set the owner's display name"},
    {"password-stdin", 0, ARG_FLAG, NULL, "read the owner's password from standard input (local)"},
    {"workspace", 'w', ARG_STRING, "NAME", "name the first workspace (default: Team)"},
    {"org", 0, ARG_STRING, "NAME", "set the name of the organisation"},
    {"issuer", 0, ARG_STRING, "URL", "use this OpenID provider (oidc)"},
    {"client-id", 0, ARG_STRING, "ID", "use this client id at the provider (oidc)"},
    {"domain", 0, ARG_LIST, "DOMAIN",
     "create accounts automatically for addresses of DOMAIN (oidc; may be repeated)"},
    {0}};

enum init_mode { INIT_SINGLE, INIT_LOCAL, INIT_OIDC };

static const char *const MODES[] = {"single", "local", "oidc"};

/* Known so far, from options or answers. */
struct init {
    struct cmd *people;
    enum init_mode mode;
    const char *email, *name, *workspace, *org, *issuer, *client_id, *client_secret;
    struct arg_list domains;
    str password;
};

/* ---- questions ---- */

static int init_ask(struct init *x, const char **ret, const char *prompt, const char *otherwise)
{
    struct buf b;
    buf_init(&b, ASK_LINE_MAX);
    int r = ask_line(&b, prompt, otherwise);
    if (r == 0)
        *ret = arena_cstr(&x->people->arena, buf_str(&b));
    buf_done(&b);
    return r;
}

/* Repeats the question until there is an answer. */
static int ask_needed(struct init *x, const char **ret, const char *prompt)
{
    int r = 0;
    while (r == 0 && (!*ret || !**ret))
        r = init_ask(x, ret, prompt, NULL);
    return r;
}

static int ask_mode(struct init *x)
{
    const char *typed = NULL;
    fputs("Who will use this nb?\n"
          "  1  only me, on this machine; no login\n"
          "  2  several people, with passwords stored here\n"
          "  3  several people, who log in with an OpenID provider (Google, Okta, Keycloak ...)\n",
          stderr);
    for (;;) {
        int r = init_ask(x, &typed, "1, 2 or 3", "1");
        if (r < 0)
            return r;
        if (strlen(typed) == 1 && *typed >= '1' && *typed <= '3') {
            x->mode = (enum init_mode)(*typed - '1');
            return 0;
        }
    }
}

static int ask_provider(struct init *x)
{
    const char *domain = NULL;
    struct buf secret;
    fputs("\nRegister nb with the provider as a web application. Its redirect address is\n"
          "  <where nb is reached>/v1/auth/callback\n\n",
          stderr);
    int r = ask_needed(x, &x->issuer, "Issuer, such as https://accounts.google.com");
    if (r == 0)
        r = ask_needed(x, &x->client_id, "Client id");
    if (r < 0)
        return r;
    buf_init(&secret, ASK_LINE_MAX);
    r = ask_secret(&secret, "Client secret (Enter for none)");
    if (r == 0)
        x->client_secret = arena_cstr(&x->people->arena, buf_str(&secret));
    buf_done(&secret);
    if (r == 0)
        r = init_ask(
            x, &domain,
            "Create accounts automatically for all addresses of this domain (Enter for none)",
            NULL);
    if (r == 0 && *domain)
        x->domains = (struct arg_list){.items = {domain}, .len = 1};
    return r;
}

static int ask_rest(struct init *x)
{
    int r = x->mode == INIT_OIDC ? ask_provider(x) : 0;
    fputs("\nThe owner of this server (usually you):\n", stderr);
    if (r == 0)
        r = ask_needed(x, &x->email, "E-mail address");
    if (r == 0)
        r = init_ask(x, &x->name, "Name", x->name);
    if (r == 0)
        r = init_ask(x, &x->workspace, "Name of the first workspace", x->workspace);
    return r;
}

static int ask_all(struct init *x)
{
    int r = ask_mode(x);
    if (r == 0 && x->mode != INIT_SINGLE)
        r = ask_rest(x);
    if (r == 0)
        return EXIT_DONE;
    fputs("Nothing was changed.\n", stderr);
    return EXIT_FAILED;
}

/* ---- options ---- */

static int take_mode(struct init *x, const char *name)
{
    for (x->mode = INIT_SINGLE; x->mode < INIT_OIDC && strcmp(name, MODES[x->mode]) != 0;)
        x->mode++;
    assert(strcmp(name, MODES[x->mode]) == 0); /* it is one of the choices */
    return EXIT_DONE;
}

static int check_options(const struct init *x)
{
    if (x->mode == INIT_SINGLE)
        return EXIT_DONE;
    if (!x->email)
        return cli_usage_error("init: --email is required: the address of the owner");
    if (x->mode == INIT_OIDC && (!x->issuer || !x->client_id))
        return cli_usage_error("init: --issuer and --client-id are required");
    return EXIT_DONE;
}

/* ---- existing data ---- */

/* The data of the single user in the work directory becomes the first workspace, with the same ids,
 * so that the conversations keep their owner. */
static const char *const MOVED[] = {
    "conversations", "storage",          "data",     "credentials", "files",
    "queue",         "permissions.json", TEXTS_FILE, PROJECTS_FILE, BUDGETS_FILE,
    "notices.json",  "people",           "pins",
};

/* A directory named in the settings stays, and gets one subdirectory for each workspace. */
static bool is_own_store(const struct cmd *p, const char *path)
{
    struct stat own, other;
    return p->config.store.dir && stat(p->config.store.dir, &own) == 0 && stat(path, &other) == 0 &&
           own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

static bool has_data(const struct cmd *p)
{
    struct stat st;
    if (roster_user(p->roster, STR(ROSTER_SOLE_USER)))
        return true;
    if (p->config.store.dir && stat(p->config.store.dir, &st) == 0)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(MOVED); i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", p->config.work_dir, MOVED[i]);
        if (stat(path, &st) == 0)
            return true;
    }
    return false;
}

/* Whether store.dir contains the work directory: then it has more in it than conversations. */
static bool is_store_around(const struct cmd *p)
{
    char store[PATH_MAX], work[PATH_MAX];
    if (!p->config.store.dir || !realpath(p->config.store.dir, store) ||
        !realpath(p->config.work_dir, work))
        return false;
    size_t n = strlen(store);
    return strncmp(work, store, n) == 0 && (work[n] == '\0' || work[n] == '/');
}

static int move(const char *from, const char *to)
{
    struct err e;
    if (rename(from, to) == 0 || errno == ENOENT)
        return EXIT_DONE;
    err_errno(&e, -errno, "cannot move", from);
    return cli_fail(&e);
}

/* Moves entries one by one, because the directory itself may be a mount point. Continues an
 * interrupted move. */
static int move_store(struct cmd *p)
{
    struct arena *a = &p->arena;
    struct err e = {0};
    const char *dir = p->config.store.dir;
    const char *to = dir ? arena_printf(a, "%s/" ROSTER_SOLE_WORKSPACE, dir).p : NULL;
    int code = EXIT_DONE;
    struct dir d = dir ? dir_open(dir) : (struct dir){0};
    if (d.handle && file_make_dirs(to, &e) < 0)
        code = cli_fail(&e);
    while (code == EXIT_DONE && dir_next(&d)) {
        if (strcmp(d.name, ROSTER_SOLE_WORKSPACE) != 0)
            code = move(arena_printf(a, "%s/%s", dir, d.name).p,
                        arena_printf(a, "%s/%s", to, d.name).p);
    }
    dir_close(&d);
    return code;
}

static int move_data(struct cmd *p)
{
    struct arena *a = &p->arena;
    int code = move_store(p);
    for (size_t i = 0; code == EXIT_DONE && i < ARRAY_LEN(MOVED); i++) {
        const char *from = arena_printf(a, "%s/%s", p->config.work_dir, MOVED[i]).p;
        if (!is_own_store(p, from))
            code = move(from, arena_printf(a, "%s/workspaces/" ROSTER_SOLE_WORKSPACE "/%s",
                                           p->config.work_dir, MOVED[i])
                                  .p);
    }
    return code;
}

/* The bundles of the settings, with paths made absolute. */
static struct json *own_bundles(struct cmd *p)
{
    struct arena *a = &p->arena;
    struct json *settings = json_new(a, JSON_OBJECT);
    if (!json_is(p->config.bundles, JSON_ARRAY) || p->config.bundles->len == 0)
        return NULL;
    struct json *list = json_clone(a, p->config.bundles);
    str file = str_from(p->config.path);
    str dir = str_slice(file, 0, (size_t)(str_rfind_char(file, '/') + 1));
    for (size_t i = 0; i < list->len; i++) {
        struct json *entry = json_at(list, i);
        str path = json_get_string(entry, "path");
        if (path.n > 0 && path.p[0] != '/' && path.p[0] != '~')
            json_set(a, entry, STR("path"), json_of_str(arena_concat(a, dir, path)));
    }
    json_set(a, settings, STR("bundles"), *list);
    return settings;
}

/* ---- writing the setup ---- */

static str init_name_of(const struct init *x)
{
    str email = str_from(x->email);
    ptrdiff_t at = str_find_char(email, '@');
    return x->name && *x->name ? str_from(x->name) : str_slice(email, 0, at < 0 ? 0 : (size_t)at);
}

static int add_owner(struct init *x, bool is_heir, char *ret_id)
{
    struct cmd *p = x->people;
    const struct user *u = roster_user_by_email(p->roster, str_from(x->email));
    if (!u && is_heir)
        u = roster_user(p->roster, STR(ROSTER_SOLE_USER));
    struct change c = {.kind = u ? CHANGE_USER_SET : CHANGE_USER_ADD,
                       .user_id = is_heir ? STR(ROSTER_SOLE_USER) : STR_NONE,
                       .email = str_from(x->email),
                       .display_name = init_name_of(x),
                       .has_role = true,
                       .role = ORG_OWNER,
                       .password = x->password};
    if (u) /* the single user until now, or an interrupted setup */
        c.user_id = arena_str(&p->arena, u->id);
    bool is_new = !u;
    int code = people_change(p, &c, ret_id);
    if (code == EXIT_DONE && !is_new && x->password.n > 0) {
        c = (struct change){
            .kind = CHANGE_USER_PASSWORD, .user_id = c.user_id, .password = x->password};
        code = people_change(p, &c, NULL);
    }
    return code;
}

static int add_workspace(struct init *x, bool is_heir, const char *owner_id)
{
    struct cmd *p = x->people;
    const struct workspace *w = roster_workspace(p->roster, STR(ROSTER_SOLE_WORKSPACE));
    if (w || roster_memberships(p->roster, str_from(owner_id), &w) > 0)
        return EXIT_DONE;
    struct change c = {.kind = CHANGE_WORKSPACE_ADD,
                       .workspace_id = is_heir ? STR(ROSTER_SOLE_WORKSPACE) : STR_NONE,
                       .name = str_from(x->workspace),
                       .user_id = str_from(owner_id),
                       .settings = own_bundles(p)};
    return people_change(p, &c, NULL);
}

static void set(struct init *x, struct json *o, const char *key, const char *value)
{
    if (value && *value)
        json_set(&x->people->arena, o, str_from(key), json_of_str(str_from(value)));
}

/* The last step: from now on people must log in. */
static int write_instance(struct init *x)
{
    struct cmd *p = x->people;
    struct arena *a = &p->arena;
    struct json *doc = json_new(a, JSON_OBJECT), *auth = json_new(a, JSON_OBJECT);
    struct json *domains = json_new(a, JSON_ARRAY);
    set(x, auth, "adapter", MODES[x->mode]);
    set(x, auth, "issuer", x->issuer);
    set(x, auth, "clientId", x->client_id);
    set(x, auth, "clientSecret", x->client_secret);
    for (size_t i = 0; i < x->domains.len; i++)
        json_push(a, domains, json_of_str(str_from(x->domains.items[i])));
    if (x->mode == INIT_OIDC && domains->len > 0)
        json_set(a, auth, STR("allowedDomains"), *domains);
    else if (x->mode == INIT_OIDC)
        json_set(a, auth, STR("signup"), json_of_bool(false));
    json_set(a, doc, STR("auth"), *auth);
    set(x, doc, "orgName", x->org);
    struct buf text;
    struct err e = {0};
    buf_init(&text, 64 * 1024);
    json_write_pretty(&text, doc);
    buf_add_char(&text, '\n');
    int r = file_write_atomic(p->instance.path, buf_str(&text), 0600, &e);
    cli_record(&p->config, "instance.set_up", STR_NONE, r == 0, STR_NONE);
    buf_done(&text);
    return r < 0 ? cli_fail(&e) : EXIT_DONE;
}

static int say_done(const struct init *x, const char *owner_id)
{
    struct cmd *p = x->people;
    const char *path = x->mode == INIT_SINGLE ? p->config.work_dir : p->instance.path;
    const struct json *v = cmd_object(p, {STR("mode"), json_of_str(str_from(MODES[x->mode]))},
                                      {STR("path"), json_of_str(str_from(path))},
                                      {STR("owner"), json_of_str(str_from(owner_id))});
    if (x->mode == INIT_SINGLE)
        return cmd_tell(p, v,
                        "\nNothing more is needed.\n"
                        "  nb          chat in the terminal\n"
                        "  nb serve    the page at " PAGE);
    return cmd_tell(p, v,
                    "\nDone: %s\n"
                    "  nb serve                    the page at " PAGE "; log in as %s\n"
                    "  nb user add EMAIL           more people\n"
                    "  nb workspace create NAME    more workspaces\n"
                    "  nb token create NAME        a token for scripts and MCP clients",
                    p->instance.path, x->email);
}

static int set_up(struct init *x)
{
    struct cmd *p = x->people;
    char owner_id[CHANGE_ID_MAX] = ROSTER_SOLE_USER;
    if (x->mode == INIT_SINGLE)
        return say_done(x, owner_id);
    if (is_store_around(p))
        return cli_failed("store.dir is the work directory or contains it; set store.dir to a "
                          "directory of its own first");
    int code = EXIT_DONE;
    bool is_heir = has_data(p);
    if (x->mode == INIT_LOCAL)
        code = people_password(p, cmd_flag(x->people, "password-stdin"), &x->password);
    if (code == EXIT_DONE)
        code = add_owner(x, is_heir, owner_id);
    if (code == EXIT_DONE)
        code = add_workspace(x, is_heir, owner_id);
    if (code == EXIT_DONE && is_heir)
        code = move_data(p);
    if (code == EXIT_DONE)
        code = write_instance(x);
    return code == EXIT_DONE ? say_done(x, owner_id) : code;
}

/* From here on the files are used instead of the single implicit user. */
static int see_files(struct cmd *p)
{
    struct err e = {0};
    roster_free(p->roster);
    p->roster = NULL;
    p->instance.mode = AUTH_LOCAL;
    if (shared_roster(&p->config, false, &p->roster, &e) < 0)
        return cli_fail(&e);
    return EXIT_DONE;
}

static int run_init(struct cmd *p)
{
    struct init x = {.people = p,
                     .email = cmd_opt(p, "email"),
                     .name = cmd_opt(p, "name"),
                     .workspace = cmd_opt_or(p, "workspace", "Team"),
                     .org = cmd_opt(p, "org"),
                     .issuer = cmd_opt(p, "issuer"),
                     .client_id = cmd_opt(p, "client-id"),
                     .domains = *cmd_opts(p, "domain")};
    if (!instance_is_sole(&p->instance))
        return cli_failed("%s exists: this installation is already set up", p->instance.path);
    if (!cmd_opt(p, "mode") && !p->cli->is_tty_in)
        return cmd_usage(p, "stdin is not a terminal; pass --mode and its options");
    int code = cmd_opt(p, "mode") ? take_mode(&x, cmd_opt(p, "mode")) : ask_all(&x);
    if (code == EXIT_DONE)
        code = check_options(&x);
    if (code == EXIT_DONE && x.mode != INIT_SINGLE && session_is_served(&p->config))
        return cli_failed("a server is running; stop it, run nb init, then start it again");
    if (code == EXIT_DONE && x.mode != INIT_SINGLE)
        code = see_files(p);
    return code == EXIT_DONE ? set_up(&x) : code;
}

const struct command CMD_INIT = {
    .name = "init",
    .summary = "set up users and how they log in",
    .help = "Asks when --mode is not given. Modes:\n"
            "  single  one person, no login: the default without a setup\n"
            "  local   several people with passwords: needs --email, and in scripts\n"
            "          --password-stdin\n"
            "  oidc    several people of an OpenID provider: needs --email, --issuer and\n"
            "          --client-id; the client secret comes from NB_OIDC_CLIENT_SECRET\n"
            "\n"
            "Existing conversations then belong to the owner, in the first workspace.\n",
    .args = INIT_ARGS,
    .needs = NEEDS_PEOPLE,
    .run = run_init,
};
