/* nb audit, nb audit verify. */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "auth/instance.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "cli/cli.h"
#include "cli/term/styled.h"
#include "cli/term/table.h"
#include "cli/term/text.h"
#include "workspace/audit_read.h"
#include "workspace/roster/roster.h"

#define FOLLOW_MS  500
#define TAIL_COUNT 50
#define DAY_MS     (24LL * 3600 * 1000)

struct audit_options {
    const char *since, *actor, *action;
    bool is_followed;
    int limit;
};

#define AUDIT(member) offsetof(struct audit_options, member)

static const struct arg ARGS[] = {
    {"since", 0, ARG_STRING, AUDIT(since), "WHEN",
     "show records since a date, or since 30m, 12h or 7d ago"},
    {"actor", 0, ARG_STRING, AUDIT(actor), "USER",
     "show only actions of this user (e-mail address, name or id)"},
    {"action", 0, ARG_STRING, AUDIT(action), "GLOB", "show only these actions: login, 'bundle.*'"},
    {"limit", 'n', ARG_INT, AUDIT(limit), "N", "show at most N records, the newest (default: 50)"},
    {"follow", 'f', ARG_FLAG, AUDIT(is_followed), NULL, "print new records until Ctrl-C"},
    {0}};

/* 30m, 12h, 7d */
static bool parse_span(str s, int64_t *ret_ms)
{
    static const struct {
        char unit;
        int64_t ms;
    } UNITS[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}, {'d', DAY_MS}};
    uint64_t n;
    for (size_t i = 0; s.n > 1 && i < ARRAY_LEN(UNITS); i++)
        if (s.p[s.n - 1] == UNITS[i].unit && parse_u64(str_slice(s, 0, s.n - 1), &n) == 0 &&
            n < 100000) {
            *ret_ms = clock_now_ms() - (int64_t)n * UNITS[i].ms;
            return true;
        }
    return false;
}

static void add_part(struct buf *b, const char *before, str s)
{
    if (s.n == 0)
        return;
    buf_add_lit(b, before);
    text_add_line(b, s);
}

/* ---- current names of people ---- */

/* NULL when names are not available: records are then printed with ids. */
static struct roster *load_roster(const struct config *c)
{
    struct instance instance = {0};
    struct roster *r = NULL;
    if (instance_load(&instance, c->work_dir, c->secrets.nb_api_key, STR_NONE, NULL) == 0 &&
        roster_load(c->work_dir, instance_is_sole(&instance), &r, NULL) < 0)
        r = NULL;
    instance_done(&instance);
    return r;
}

static str shown(const struct roster *r, str id)
{
    const struct user *u = r ? roster_user(r, id) : NULL;
    return u && u->email.n > 0 ? u->email : id;
}

/* Records contain ids; removed users and system accounts are searched by the typed text. */
static str actor_id(const struct roster *r, const char *typed)
{
    const struct user *u;
    str s = str_from(typed);
    return r && s.n > 0 && roster_find_user(r, s, &u, NULL) == 0 ? u->id : s;
}

/* 2026-11-16 22:05:46  ok      user.add  usr_x  by a@x.org, session from 127.0.0.1  in ws_a  detail
 */
static void print_record(const struct cli *cli, const struct roster *people, str line)
{
    struct arena a;
    struct json *v;
    struct buf b;
    if (cli->opt.is_json) {
        printf("%.*s\n", STR_ARG(line));
        return;
    }
    arena_init(&a);
    buf_init(&b, 64u * 1024);
    if (json_parse(&a, line, 0, &v, NULL) == 0) {
        const struct json *actor = json_get(v, "actor");
        str time = json_get_string(v, "time"), user = shown(people, json_get_string(actor, "user"));
        text_add_line(&b, str_slice(time, 0, 10));
        add_part(&b, " ", str_slice(time, 11, 19));
        buf_printf(&b, "  %-12.*s", STR_ARG(json_get_string(v, "outcome")));
        add_part(&b, "  ", json_get_string(v, "action"));
        add_part(&b, "  ", shown(people, json_get_string(v, "target")));
        add_part(&b, "  by ", user.n > 0 ? user : STR("unknown"));
        add_part(&b, ", ", json_get_string(actor, "how"));
        add_part(&b, " ", json_get_string(actor, "token"));
        add_part(&b, " from ", json_get_string(actor, "address"));
        add_part(&b, " via ", json_get_string(actor, "via"));
        add_part(&b, " ", json_get_string(actor, "run"));
        add_part(&b, "  in ", json_get_string(v, "workspace"));
        add_part(&b, "  ", json_get_string(v, "detail"));
        printf("%s\n", buf_cstr(&b));
    }
    buf_done(&b);
    arena_done(&a);
}

/* The newest records, in order of time. */
static int show_newest(const struct cli *cli, const struct config *c, const struct roster *people,
                       struct audit_query q, uint64_t *ret_last)
{
    struct arena a;
    struct audit_page page;
    struct err e = {0};
    arena_init(&a);
    q.is_newest_first = true;
    int r = audit_read(&a, c->work_dir, &q, &page, &e);
    for (size_t i = r == 0 ? page.n : 0; i > 0; i--)
        print_record(cli, people, page.lines[i - 1]);
    struct audit_head head;
    *ret_last = r == 0 && audit_head_read(c->work_dir, &head, NULL) == 0 ? head.seq : 0;
    arena_done(&a);
    return r < 0 ? cli_fail(&e) : EXIT_DONE;
}

static int audit_follow(const struct cli *cli, const struct config *c, const struct roster *people,
                        struct audit_query q, uint64_t last)
{
    struct timespec pause = {.tv_nsec = FOLLOW_MS * 1000000L};
    while (true) {
        struct arena a;
        struct audit_page page;
        struct err e = {0};
        arena_init(&a);
        q.after = last;
        int r = audit_read(&a, c->work_dir, &q, &page, &e);
        for (size_t i = 0; r == 0 && i < page.n; i++)
            print_record(cli, people, page.lines[i]);
        if (r == 0 && page.n > 0)
            last = page.next;
        arena_done(&a);
        if (r < 0)
            return cli_fail(&e);
        if (fflush(stdout) != 0)
            return EXIT_FAILED;
        (void)nanosleep(&pause, NULL);
    }
}

/* ---- verify ---- */

static void print_report(const struct audit_report *r)
{
    for (size_t i = 0; i < r->nproblems && i < AUDIT_PROBLEMS_MAX; i++)
        cli_complain(r->problems[i]);
    if (r->nproblems > AUDIT_PROBLEMS_MAX)
        fprintf(stderr, "nb: and %zu more problems\n", r->nproblems - AUDIT_PROBLEMS_MAX);
    printf("%llu records in %llu files", (unsigned long long)r->records,
           (unsigned long long)r->files);
    if (r->records > 0)
        printf(", the last is %llu %s", (unsigned long long)r->last, r->hash);
    printf(r->nproblems ? ": %zu problems\n" : ": the chain holds\n", r->nproblems);
}

static void print_report_json(const struct audit_report *r)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, 1u << 20);
    jw_object(&w);
    jw_kbool(&w, "ok", r->nproblems == 0);
    jw_kint(&w, "records", (int64_t)r->records);
    jw_kint(&w, "files", (int64_t)r->files);
    jw_kint(&w, "last", (int64_t)r->last);
    jw_kstr(&w, "hash", str_from(r->hash));
    jw_kstrs(&w, "problems", r->problems,
             r->nproblems < AUDIT_PROBLEMS_MAX ? r->nproblems : AUDIT_PROBLEMS_MAX);
    jw_end(&w);
    printf("%s\n", buf_cstr(&b));
    buf_done(&b);
}

static int run_verify(struct cli *cli, const void *options, int argc, char **argv)
{
    struct audit_report report;
    struct config c;
    struct arena a;
    struct err e = {0};
    if (argc != 0)
        return cli_usage_error("audit verify: it takes no arguments");
    int code = cli_load_config(cli, NULL, &c);
    if (code != EXIT_DONE)
        return code;
    arena_init(&a);
    if (audit_verify(&a, c.work_dir, &report, &e) < 0)
        code = cli_fail(&e);
    else if (cli->opt.is_json)
        print_report_json(&report);
    else
        print_report(&report);
    if (code == EXIT_DONE && report.nproblems > 0)
        code = EXIT_FAILED;
    arena_done(&a);
    config_done(&c);
    return code;
}

/* ---- list ---- */

static int run_audit_list(struct cli *cli, const void *options, int argc, char **argv)
{
    const struct audit_options *o = options;
    struct audit_query q = {.action = str_from(o->action),
                            .limit = o->limit > 0 ? (size_t)o->limit : TAIL_COUNT};
    struct config c;
    uint64_t last;
    if (argc == 1 && strcmp(argv[0], "verify") == 0) /* nb audit --json verify */
        return run_verify(cli, NULL, 0, NULL);
    if (argc != 0)
        return cli_usage_error("audit: '%.64s' is not a command; there is nb audit verify",
                               argv[0]);
    if (o->since && !parse_span(str_from(o->since), &q.since_ms) &&
        clock_parse_iso(str_from(o->since), &q.since_ms) < 0)
        return cli_usage_error("audit: --since takes a date (2026-03-25) or a span (30m, 12h, 7d)");
    if (o->since && o->limit == 0)
        q.limit = AUDIT_LIMIT_MAX;
    int code = cli_load_config(cli, NULL, &c);
    if (code != EXIT_DONE)
        return code;
    struct roster *people = load_roster(&c);
    q.actor = actor_id(people, o->actor);
    code = show_newest(cli, &c, people, q, &last);
    if (code == EXIT_DONE && o->is_followed)
        code = audit_follow(cli, &c, people, q, last);
    roster_free(people);
    config_done(&c);
    return code;
}

static const struct command AUDIT_LIST = {
    .name = "list",
    .usage = "audit list [--since WHEN] [--actor USER] [--action GLOB] [--follow] [--json]",
    .summary = "show the newest records",
    .args = ARGS,
    .options_size = sizeof(struct audit_options),
    .run = run_audit_list,
};

static const struct command AUDIT_VERIFY = {
    .name = "verify",
    .usage = "audit verify [--json]",
    .summary = "check that no record was changed, removed or moved",
    .help = "Prints the number and the hash of the last record. Keep both elsewhere: they show "
            "later whether the whole log was rewritten. Exits with 1 when the chain is broken.\n",
    .run = run_verify,
};

static const struct command *const COMMANDS[] = {&AUDIT_LIST, &AUDIT_VERIFY, NULL};

const struct command CMD_AUDIT = {
    .name = "audit",
    .usage = "audit [--since WHEN] [--actor USER] [--action GLOB] [--follow] [--json] | verify",
    .summary = "show who did what, and check the record",
    .help =
        "Recorded are logins, changes of users, tokens, workspaces, bundles, permissions and "
        "settings, answers to permission questions, sharing, exports and backups. Texts of "
        "messages and secrets are never recorded. The files are in audit/ of the work directory.\n",
    .args = ARGS,
    .options_size = sizeof(struct audit_options),
    .run = run_audit_list,
    .subs = COMMANDS,
};
