/* nb conversations convert - copies conversations from the configured store into another type. */
#include "cli/conversations/stores.h"
#include "cli/term/progress.h"
#include "store/event/derive.h"
#include "transfer/convert.h"

static const struct arg CONVERT_ARGS[] = {
    {"to", 0, ARG_STRING, "TYPE", "write a store of type jsonl, folder or postgres",
     .choices = "jsonl, folder, postgres"},
    {"dir", 0, ARG_STRING, "DIR", "write to DIR (default: where nb looks for that type)"},
    {0}};

struct converting {
    struct progress progress;
    struct convert_report report;
    int64_t deleted_usage; /* model calls of deleted conversations */
    struct arena arena;    /* holds the losses of the report */
    struct err err;
    bool is_done;
};

static void on_conv_convert_progress(void *ctx, const struct convert_report *r)
{
    struct converting *k = ctx;
    int64_t done = r->converted + r->existing + r->failed;
    char text[64];
    (void)snprintf(text, sizeof text, "%lld conversations", (long long)done);
    progress_update(&k->progress, r->total > 0 ? (double)done / (double)r->total : -1,
                    str_from(text));
}

static void on_converted(void *ctx, const struct err *err, const struct convert_report *r)
{
    struct converting *k = ctx;
    k->is_done = true;
    if (err)
        k->err = *err;
    k->report = *r;
    for (size_t i = 0; i < r->nlosses; i++)
        k->report.losses[i] = arena_str(&k->arena, r->losses[i]);
}

static struct json *convert_json(struct cmd *x, const struct converting *k)
{
    const struct convert_report *r = &k->report;
    return cmd_object(
        x, {STR("total"), json_of_int(r->total)}, {STR("converted"), json_of_int(r->converted)},
        {STR("existing"), json_of_int(r->existing)}, {STR("failed"), json_of_int(r->failed)},
        {STR("events"), json_of_int(r->events)}, {STR("blobs"), json_of_int(r->blobs)},
        {STR("deletedUsage"), json_of_int(k->deleted_usage)}, {STR("lost"), json_of_int(r->lost)},
        {STR("losses"), cmd_strings(x, r->losses, r->nlosses)});
}

static void print_convert(const struct converting *k, const char *dir)
{
    const struct convert_report *r = &k->report;
    printf("%lld of %lld conversations converted into %s", (long long)r->converted,
           (long long)r->total, dir);
    if (r->existing > 0)
        printf("; %lld were there already", (long long)r->existing);
    if (r->failed > 0)
        printf("; %lld failed", (long long)r->failed);
    putchar('\n');
    if (k->deleted_usage > 0)
        printf("the usage of %lld model calls of deleted conversations was copied\n",
               (long long)k->deleted_usage);
    for (size_t i = 0; i < r->nlosses; i++)
        fprintf(stderr, "  %.*s\n", STR_ARG(r->losses[i]));
}

static int convert_stores(struct cmd *x, struct stores *s, const struct store_conf *from,
                          const struct store_conf *to, str id)
{
    struct converting k = {0};
    struct convert_spec spec = {.id = id, .progress = on_conv_convert_progress};
    arena_init(&k.arena);
    int r = stores_open(s, from, &spec.from, &k.err);
    if (r == 0)
        r = stores_make(s, to, &spec.to, &k.err);
    if (r == 0) {
        progress_begin(&k.progress, "converting");
        (void)convert_run(&spec, on_converted, &k);
        cmd_wait(s->x, &k.is_done);
        progress_end(&k.progress);
        if (!k.err.code && id.n == 0)
            (void)store_copy_deleted_usage(spec.from, spec.to, &k.deleted_usage, &k.err);
        if (!k.err.code)
            (void)store_recount_spending(spec.to, &k.err);
        if (!cmd_json(x, convert_json(x, &k)))
            print_convert(&k, to->dir ? to->dir : "the database");
    }
    stores_close(s, spec.to);
    stores_close(s, spec.from);
    arena_done(&k.arena);
    if (k.err.code)
        return cli_fail(&k.err);
    return k.report.failed > 0 ? EXIT_FAILED : EXIT_DONE;
}

static int conv_convert(struct cmd *x)
{
    struct store_conf from, to;
    struct stores s;
    struct err e = {0};
    if (!cmd_opt(x, "to"))
        return cmd_usage(x, "pass --to jsonl, --to folder or --to postgres");
    if (stores_find(x, NULL, NULL, &from, &e) < 0 ||
        stores_find(x, cmd_opt(x, "to"), cmd_opt(x, "dir"), &to, &e) < 0)
        return cli_fail(&e);
    bool is_one_place = !from.dir || (to.dir && strcmp(from.dir, to.dir) == 0);
    if (strcmp(from.type, to.type) == 0 && is_one_place)
        return cmd_usage(x, "the conversations in %s are %s already",
                         from.dir ? from.dir : "the database", from.type);
    str id = x->argc > 0 ? conv_id(x, x->argv[0]) : STR_NONE;
    if (x->argc > 0 && id.n == 0)
        return EXIT_FAILED;
    from.read_only = true;
    stores_init(&s, x);
    int code = convert_stores(x, &s, &from, &to, id);
    stores_done(&s);
    return code;
}

const struct command CONV_CONVERT = {
    .name = "convert",
    .operands = "[ID]",
    .summary = "copy conversations into another type of store",
    .help =
        "Copies ids, times, notes, sharing and large results, compares each copy with its "
        "original, "
        "and names what the other type cannot store. Also copies the usage of deleted "
        "conversations, unless an ID is given. The originals are not changed. A conversion "
        "that was interrupted can be repeated. To use the copy, set store.type (and store.dir).\n",
    .args = CONVERT_ARGS,
    .needs = NEEDS_LOOP,
    .run = conv_convert,
};
