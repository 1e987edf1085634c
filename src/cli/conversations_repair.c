/* nb conversations repair - mends what a crash or a full disk left behind. */
#include <errno.h>

#include "cli/progress.h"
#include "cli/stores.h"
#include "server/server.h"
#include "store/repair.h"

struct repair {
    struct conv_cli *x;
    struct stores stores;
    struct store *store;
    struct progress progress;
    int64_t sound, repaired, failed;
    struct repair_report report;
    struct err err;
    bool is_done;
};

static void on_repaired(void *ctx, const struct err *err, const struct repair_report *r)
{
    struct repair *k = ctx;
    k->is_done = true;
    k->err = err ? *err : (struct err){0};
    k->report = r ? *r : (struct repair_report){0};
}

static void print_repair_json(const struct repair *k, str id)
{
    struct buf b;
    struct json_writer w;
    buf_init(&b, 64 * 1024);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstr(&w, "id", id);
    jw_kint(&w, "tornBytes", k->report.torn_bytes);
    jw_kbool(&w, "wasTerminated", k->report.was_terminated);
    jw_kint(&w, "badLines", k->report.bad_lines);
    jw_kbool(&w, "isInUse", k->err.code == -EBUSY);
    if (k->err.code && k->err.code != -EBUSY)
        jw_kstr(&w, "error", str_from(k->err.msg));
    jw_end(&w);
    printf("%s\n", buf_cstr(&b));
    buf_done(&b);
}

static void print_repair(const struct repair *k, str id)
{
    printf("%.*s  ", STR_ARG(id));
    if (k->err.code == -EBUSY)
        printf("in use; who writes it mended it on opening it");
    else if (k->err.code)
        printf("%s", k->err.msg);
    else if (k->report.torn_bytes > 0)
        printf("repaired: %lld bytes of an unfinished line were moved aside (.torn)",
               (long long)k->report.torn_bytes);
    else if (k->report.was_terminated)
        printf("repaired: the last line got its line feed");
    else
        printf("ok");
    if (k->report.bad_lines > 0)
        printf("; %lld lines cannot be read and are passed over", (long long)k->report.bad_lines);
    putchar('\n');
}

static int repair_one(void *ctx, str id, size_t i, int64_t n)
{
    struct repair *k = ctx;
    progress_update(&k->progress, n > 0 ? (double)i / (double)n : -1, id);
    k->is_done = false;
    store_repair(k->store, id, on_repaired, k);
    stores_wait(&k->stores, &k->is_done);
    bool is_mended = k->report.torn_bytes > 0 || k->report.was_terminated;
    if (k->err.code && k->err.code != -EBUSY)
        k->failed++;
    else if (is_mended)
        k->repaired++;
    else
        k->sound++;
    progress_end(&k->progress);
    if (k->x->cli->opt.is_json)
        print_repair_json(k, id);
    else if (is_mended || k->err.code || k->report.bad_lines > 0)
        print_repair(k, id);
    return 0;
}

static int repair_all(struct repair *k, int argc, char **argv, struct err *e)
{
    if (argc == 0)
        return stores_each(&k->stores, k->store, repair_one, k, e);
    for (int i = 0; i < argc; i++) {
        str id;
        if (conv_id(k->x, argv[i], &id) != EXIT_DONE)
            k->failed++;
        else
            (void)repair_one(k, id, (size_t)i, argc);
    }
    return 0;
}

static int do_repair(struct conv_cli *x, const void *options, int argc, char **argv)
{
    struct repair k = {.x = x};
    struct err e = {0};
    struct store_conf conf = server_store_conf(&x->config, NULL, NULL);
    stores_init(&k.stores, x);
    progress_begin(&k.progress, "repairing");
    int r = stores_open(&k.stores, &conf, &k.store, &e);
    if (r == 0)
        r = repair_all(&k, argc, argv, &e);
    progress_end(&k.progress);
    stores_close(&k.stores, k.store);
    stores_done(&k.stores);
    stores_drop_index(&x->config);
    if (r < 0)
        return cli_fail(&e);
    if (!x->cli->opt.is_json)
        fprintf(stderr, "%lld sound, %lld repaired, %lld failed; the index will be made anew\n",
                (long long)k.sound, (long long)k.repaired, (long long)k.failed);
    return k.failed > 0 ? EXIT_FAILED : EXIT_DONE;
}

static int run_repair(struct cli *cli, const void *options, int argc, char **argv)
{
    return conv_with(cli, false, do_repair, options, argc, argv);
}

const struct command CONV_REPAIR = {
    .name = "repair",
    .usage = "conversations repair [ID...]",
    .summary = "mend logs that a crash or a full disk left behind",
    .help = "Moves an unfinished last line to <log>.torn, adds a missing line feed, and drops the\n"
            "index, which is made again. Nothing else is changed: lines that cannot be read stay\n"
            "and are passed over. Opening a log for writing does the same by itself.\n",
    .run = run_repair,
};
