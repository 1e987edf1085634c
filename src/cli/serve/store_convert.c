/* nb store convert - what workspaces have beside their conversations: from files into the tables
 * that several servers share, and back. */
#include "cli/serve/store_convert.h"

#include <errno.h>

#include "cli/command.h"
#include "server/place.h"
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
                              .arena = &s->x->arena};
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

static int report(struct store_convert *s)
{
    const struct carry_report *r = &s->carry.report;
    struct json *v = cmd_object(
        s->x, {STR("files"), json_of_int(r->files)}, {STR("notices"), json_of_int(r->notices)},
        {STR("marks"), json_of_int(r->marks)}, {STR("existing"), json_of_int(r->existing)},
        {STR("failed"), json_of_int(r->failed)},
        {STR("problems"), cmd_strings(s->x, r->problems, r->nproblems)});
    for (size_t i = 0; i < r->nproblems; i++)
        fprintf(stderr, "  %.*s\n", STR_ARG(r->problems[i]));
    int code = cmd_say(s->x, v,
                       "%lld files, notices of %lld and marks of %lld people were copied and "
                       "compared; %lld were there already; %lld failed.",
                       (long long)r->files, (long long)r->notices, (long long)r->marks,
                       (long long)r->existing, (long long)r->failed);
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
        r = convert_all(&s, &e);
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
    .summary = "copy files, notices, marks, settings and skills into PostgreSQL, or back",
    .help =
        "Copies what workspaces have beside their conversations (nb conversations convert copies "
        "these) into the tables that servers share with store.replicas, or from there into "
        "files. Each copy is compared with its original. Nothing that exists on "
        "the other side is changed, so that the command can be repeated. Stop the servers first.\n",
    .args = CONVERT_ARGS,
    .needs = NEEDS_LOOP,
    .run = store_convert,
};
