/* nb store convert - what workspaces have beside their conversations: from files into the tables
 * that several servers share, and back. */
#include "cli/serve/store_convert.h"

#include <errno.h>

#include "cli/command.h"
#include "server/place.h"
#include "store/postgres/pg_roster.h"
#include "store/shared/pg_audit.h"
#include "store/shared/pg_carry.h"
#include "store/shared/pg_documents.h"
#include "store/shared/pg_file_table.h"
#include "workspace/mirror.h"

struct store_convert {
    struct cmd *x;
    bool is_to_tables;
    const char *files_type; /* jsonl or folder: where marks are files */
    struct database *db;
    struct pg_file_table files;
    struct pg_documents documents;
    struct carry carry;
    int64_t audit; /* records */
    str stays[8];  /* what is not copied, and why */
    size_t nstays;
};

static int open_database(struct store_convert *s, struct err *e)
{
    struct config *c = &s->x->config;
    s->db = database_new(s->x->loop, s->x->log, c->store.url);
    database_share(s->db); /* it reads what others have just written */
    int r = database_open(s->db, false, e);
    pg_file_table_init(&s->files, s->db);
    pg_documents_init(&s->documents, s->db);
    s->carry = (struct carry){.db = s->db,
                              .files = &s->files.table,
                              .documents = &s->documents.table,
                              .arena = &s->x->arena,
                              .is_shared = c->store.replicas};
    return r;
}

/* Settings and skills: files and documents become equal, whatever the direction. */
static int share_settings(struct store_convert *s, const struct workspace *w, struct err *e)
{
    bool has_changed;
    const struct mirror_conf conf = {
        .table = &s->documents.table,
        .log = s->x->log,
        .root = arena_cstr(&s->x->arena, str_from(w->root)),
        .workspace_id = w->id,
        .has_settings = strcmp(w->root, s->x->config.work_dir) != 0,
    };
    struct mirror *m = mirror_new(&conf);
    int r = mirror_sync(m, &has_changed, e);
    mirror_free(m);
    return r;
}

static int convert_workspace(struct store_convert *s, const struct workspace *w, struct err *e)
{
    struct arena *a = &s->x->arena;
    struct store_conf conf = place_store(&s->x->config, w, s->files_type, NULL);
    const struct carry_place place = {
        .root = arena_cstr(a, str_from(w->root)),
        .people_dir = conf.dir ? arena_printf(a, "%s/.people", conf.dir).p : NULL,
        .workspace_id = w->id,
        .workspace = w,
    };
    int r = s->is_to_tables ? carry_to_tables(&s->carry, &place, e)
                            : carry_to_files(&s->carry, &place, e);
    if (r == 0)
        r = share_settings(s, w, e);
    if (r < 0)
        err_prefix(e, "workspace %.*s", STR_ARG(w->id));
    return r;
}

static int convert_all(struct store_convert *s, struct err *e)
{
    struct config *c = &s->x->config;
    struct roster *all = NULL;
    const struct workspace *one = NULL;
    int r = place_roster(c, &all, e);
    if (r == 0 && c->workspace)
        r = place_choose(all, c->workspace, &one, e);
    size_t n = r < 0 ? 0 : one ? 1 : all->nworkspaces;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = convert_workspace(s, one ? one : &all->workspaces[i], e);
    roster_free(all);
    return r;
}

/* Users and workspaces are brought into the tables when these are opened first (pg_roster.h). */
static int convert_people(struct store_convert *s, struct err *e)
{
    const struct config *c = &s->x->config;
    struct pg_roster table;
    struct roster_source files = roster_files(c->work_dir, false);
    if (s->is_to_tables || !c->store.replicas || c->workspace)
        return 0;
    int r = pg_roster_init(&table, s->db, c->work_dir, false, e);
    return r < 0 ? r : carry_people(&s->carry, &table.source, &files, e);
}

static void stays(struct store_convert *s, const char *what)
{
    if (s->nstays < ARRAY_LEN(s->stays))
        s->stays[s->nstays++] = str_from(what);
}

/* One chain cannot be appended to another. */
static int convert_audit(struct store_convert *s, struct err *e)
{
    struct audit_dir files;
    struct pg_audit table;
    struct err why = {0};
    audit_dir_init(&files, s->x->config.work_dir);
    pg_audit_init(&table, s->db);
    int r = s->is_to_tables ? audit_carry(&files.log, &table.log, &s->audit, &why)
                            : audit_carry(&table.log, &files.log, &s->audit, &why);
    if (r == -EEXIST)
        stays(
            s,
            s->is_to_tables
                ? "the audit log of this work directory, because the database has a different log: "
                  "nb audit --files shows it"
                : "the audit log of the database, because this work directory has a different log");
    else if (r < 0)
        return err_set(e, r, "%s", why.msg);
    return 0;
}

/* What belongs to the instance, not to a workspace. */
static int convert_rest(struct store_convert *s, struct err *e)
{
    if (s->x->config.workspace)
        stays(s, "users, workspaces and the audit log, because of --workspace");
    int r = s->x->config.workspace ? 0 : convert_audit(s, e);
    if (!s->is_to_tables && !s->x->config.store.replicas)
        stays(s, "users and workspaces, because store.replicas is not set: they are files");
    stays(s, "logins: people log in again, and sign in again where a login was under way");
    stays(s, "conversations in the trash: restore what is still needed");
    return r;
}

static int report(struct store_convert *s)
{
    const struct carry_report *r = &s->carry.report;
    struct json *v = cmd_object(
        s->x, {STR("files"), json_of_int(r->files)}, {STR("notices"), json_of_int(r->notices)},
        {STR("marks"), json_of_int(r->marks)}, {STR("permissions"), json_of_int(r->consents)},
        {STR("people"), json_of_int(r->people)}, {STR("audit"), json_of_int(s->audit)},
        {STR("existing"), json_of_int(r->existing)}, {STR("failed"), json_of_int(r->failed)},
        {STR("stays"), cmd_strings(s->x, s->stays, s->nstays)},
        {STR("problems"), cmd_strings(s->x, r->problems, r->nproblems)});
    for (size_t i = 0; i < r->nproblems; i++)
        fprintf(stderr, "  %.*s\n", STR_ARG(r->problems[i]));
    int code = cmd_say(s->x, v,
                       "%lld files, notices of %lld and marks of %lld people, %lld permissions, "
                       "%lld documents of people and workspaces and %lld records of the audit log "
                       "were copied and compared; %lld were there already; %lld failed.",
                       (long long)r->files, (long long)r->notices, (long long)r->marks,
                       (long long)r->consents, (long long)r->people, (long long)s->audit,
                       (long long)r->existing, (long long)r->failed);
    for (size_t i = 0; i < s->nstays && !s->x->cli->opt.is_json; i++)
        printf("Not copied: %.*s.\n", STR_ARG(s->stays[i]));
    return r->failed > 0 ? EXIT_FAILED : code;
}

static int store_convert(struct cmd *x)
{
    struct store_convert s = {.x = x};
    struct err e = {0};
    const char *to = cmd_opt(x, "to"), *type = x->config.store.type;
    if (!to)
        return cmd_usage(x, "pass --to postgres, --to jsonl or --to folder");
    s.is_to_tables = strcmp(to, "postgres") == 0;
    s.files_type = !s.is_to_tables ? to : store_type_has_files(type) ? type : "jsonl";
    int r = open_database(&s, &e);
    if (r == 0)
        r = convert_people(&s, &e); /* first: settings are added to the files of workspaces */
    if (r == 0)
        r = convert_all(&s, &e);
    if (r == 0)
        r = convert_rest(&s, &e);
    int code = r < 0 ? cli_fail(&e) : report(&s);
    database_free(s.db);
    return code;
}

static const struct arg CONVERT_ARGS[] = {{"to", 0, ARG_STRING, "TYPE",
                                           "write tables (postgres), or files (jsonl, folder)",
                                           .choices = "jsonl, folder, postgres"},
                                          {0}};

const struct command STORE_CONVERT = {
    .name = "convert",
    .summary = "copy what is beside conversations into PostgreSQL, or back",
    .help =
        "Copies what workspaces have beside their conversations (nb conversations convert copies "
        "these) into the tables that servers share with store.replicas, or from there into "
        "files: files that people gave, notices, marks, links, permissions, settings, skills, the "
        "audit log; with store.replicas in the settings also users and workspaces. It says what is "
        "not copied. Each copy is compared with its original. Nothing that exists on "
        "the other side is changed, so that the command can be repeated. Stop the servers first.\n",
    .args = CONVERT_ARGS,
    .needs = NEEDS_LOOP,
    .run = store_convert,
};
