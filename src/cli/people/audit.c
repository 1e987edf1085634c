/* nb audit, nb audit verify. */
#include <signal.h>
#include <time.h>

#include "base/clock.h"
#include "base/json/json.h"
#include "cli/command.h"
#include "cli/term/text.h"
#include "server/place.h"
#include "server/shared.h"
#include "workspace/roster/roster.h"

#define FOLLOW_MS  500
#define TAIL_COUNT 50
#define DAY_MS     (24LL * 3600 * 1000)

#define FILES_HELP "use the files of this machine, although servers share a log (store.replicas)"

static const struct arg ARGS[] = {
    {"since", 0, ARG_STRING, "WHEN", "show records since a date, or since 30m, 12h or 7d ago"},
    {"actor", 0, ARG_STRING, "USER", "show only actions of this user (e-mail address, name or id)"},
    {"action", 0, ARG_STRING, "GLOB", "show only these actions: login, 'bundle.*'"},
    {"limit", 'n', ARG_INT, "N", "show at most N records, the newest (default: 50)"},
    {"follow", 'f', ARG_FLAG, NULL, "print new records until Ctrl-C"},
    {"files", 0, ARG_FLAG, NULL, FILES_HELP},
    {0}};

static const struct arg VERIFY_ARGS[] = {{"files", 0, ARG_FLAG, NULL, FILES_HELP}, {0}};

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
static void print_record(const struct cmd *x, str line)
{
    struct arena a;
    struct json *v;
    struct buf b;
    const struct roster *people = x->roster;
    if (x->cli->opt.is_json) {
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

/* Prints the records of a page, in order of time. */
static int show_page(struct cmd *x, struct audit_log *log, const struct audit_query *q,
                     uint64_t *ret_next)
{
    struct arena a;
    struct audit_page page;
    struct err e = {0};
    arena_init(&a);
    int r = log->read(log, &a, q, &page, &e);
    for (size_t i = 0; r == 0 && i < page.n; i++)
        print_record(x, page.lines[q->is_newest_first ? page.n - 1 - i : i]);
    if (r == 0 && page.n > 0)
        *ret_next = page.next;
    arena_done(&a);
    return r < 0 ? cli_fail(&e) : EXIT_DONE;
}

static int show_newest(struct cmd *x, struct audit_log *log, struct audit_query q,
                       uint64_t *ret_last)
{
    struct audit_head head;
    uint64_t unused;
    q.is_newest_first = true;
    int code = show_page(x, log, &q, &unused);
    *ret_last = code == EXIT_DONE && log->last(log, &head, NULL) == 0 ? head.seq : 0;
    return code;
}

static int audit_follow(struct cmd *x, struct audit_log *log, struct audit_query q, uint64_t last)
{
    struct timespec pause = {.tv_nsec = FOLLOW_MS * 1000000L};
    while (true) {
        q.after = last;
        int code = show_page(x, log, &q, &last);
        if (code != EXIT_DONE || fflush(stdout) != 0)
            return EXIT_FAILED;
        (void)nanosleep(&pause, NULL);
    }
}

/* Of all servers, or with --files what this machine has recorded in files. */
static int open_audit(struct cmd *x, struct shared_audit *ret, struct err *e)
{
    struct config c = x->config;
    c.store.replicas = c.store.replicas && !cmd_flag(x, "files");
    return shared_audit_open(ret, &c, e);
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
    printf(r->nproblems ? ": %zu problems\n" : ": the hash chain is intact\n", r->nproblems);
}

static struct json *report_json(struct cmd *x, const struct audit_report *r)
{
    size_t shown = r->nproblems < AUDIT_PROBLEMS_MAX ? r->nproblems : AUDIT_PROBLEMS_MAX;
    return cmd_object(x, {STR("ok"), json_of_bool(r->nproblems == 0)},
                      {STR("records"), json_of_int((int64_t)r->records)},
                      {STR("files"), json_of_int((int64_t)r->files)},
                      {STR("last"), json_of_int((int64_t)r->last)},
                      {STR("hash"), json_of_str(str_from(r->hash))},
                      {STR("problems"), cmd_strings(x, r->problems, shown)});
}

static int audit_check(struct cmd *x)
{
    struct audit_report report;
    struct shared_audit from;
    struct err e = {0};
    int r = open_audit(x, &from, &e);
    if (r == 0)
        r = from.log->verify(from.log, &x->arena, &report, &e);
    shared_audit_close(&from);
    if (r < 0)
        return cli_fail(&e);
    if (!cmd_json(x, report_json(x, &report)))
        print_report(&report);
    return report.nproblems > 0 ? EXIT_FAILED : EXIT_DONE;
}

/* ---- list ---- */

static int audit_list(struct cmd *x)
{
    const char *since = cmd_opt(x, "since");
    int limit = cmd_int(x, "limit");
    struct audit_query q = {.action = str_from(cmd_opt(x, "action")),
                            .limit = limit > 0 ? (size_t)limit : TAIL_COUNT};
    struct shared_audit from;
    struct err e = {0};
    uint64_t last;
    if (since && !parse_span(str_from(since), &q.since_ms) &&
        clock_parse_iso(str_from(since), &q.since_ms) < 0)
        return cmd_usage(x, "--since takes a date (2026-03-25) or a span (30m, 12h, 7d)");
    if (since && limit == 0)
        q.limit = AUDIT_LIMIT_MAX;
    if (place_roster(&x->config, &x->roster, NULL) < 0)
        x->roster = NULL; /* records are then printed with ids */
    q.actor = actor_id(x->roster, cmd_opt(x, "actor"));
    if (open_audit(x, &from, &e) < 0) {
        shared_audit_close(&from);
        return cli_fail(&e);
    }
    int code = show_newest(x, from.log, q, &last);
    if (code == EXIT_DONE && cmd_flag(x, "follow"))
        code = audit_follow(x, from.log, q, last);
    shared_audit_close(&from);
    return code;
}

static const struct command AUDIT_LIST = {
    .name = "list",
    .summary = "show the newest records",
    .args = ARGS,
    .needs = NEEDS_SETTINGS,
    .run = audit_list,
};

static const struct command AUDIT_VERIFY = {
    .name = "verify",
    .summary = "check that no record was changed, removed or moved",
    .help = "Prints the number and the hash of the last record. Keep both elsewhere: they show "
            "later whether the whole log was rewritten. Exits with 1 when the chain is broken.\n",
    .args = VERIFY_ARGS,
    .needs = NEEDS_SETTINGS,
    .run = audit_check,
};

static const struct command *const AUDIT_COMMANDS[] = {&AUDIT_LIST, &AUDIT_VERIFY, NULL};

const struct command CMD_AUDIT = {
    .name = "audit",
    .summary = "show who did what, and check the record",
    .help = "Recorded are logins, changes of users, tokens, workspaces, bundles, permissions and "
            "settings, answers to permission questions, sharing, exports and backups. Texts of "
            "messages and secrets are never recorded. The files are in audit/ of the work "
            "directory; with store.replicas the records of all "
            "servers are in the database.\n",
    .args = ARGS,
    .needs = NEEDS_SETTINGS,
    .run = audit_list,
    .subs = AUDIT_COMMANDS,
};
