/* nb conversations repair - repairs logs after a crash or a full disk. */
#include <errno.h>

#include "cli/conversations/stores.h"
#include "cli/term/progress.h"
#include "store/integrity.h"
#include "store/repair.h"

struct repair_options {
    bool is_sure;
};

static const struct arg REPAIR_ARGS[] = {{"yes", 'y', ARG_FLAG,
                                          offsetof(struct repair_options, is_sure), NULL,
                                          "replace a lost first line without asking"},
                                         {0}};

struct repair {
    struct conv_cli *x;
    const struct repair_options *opt;
    struct stores stores;
    struct store *store;
    int argc;
    char **argv;
    str owner; /* new owner, for a first line that is written again */
    struct progress progress;
    int64_t sound, repaired, damaged, failed;
    struct repair_report report;
    struct integrity_report left; /* what verify reports afterwards */
    struct err err;
    bool is_done, has_new_header;
};

static void on_repaired(void *ctx, const struct err *err, const struct repair_report *r)
{
    struct repair *k = ctx;
    k->is_done = true;
    k->err = err ? *err : (struct err){0};
    k->report = r ? *r : (struct repair_report){0};
}

static void on_mended(void *ctx, const struct err *err)
{
    struct repair *k = ctx;
    k->is_done = true;
    k->has_new_header = !err;
    k->err = err ? *err : (struct err){0};
}

static bool may_mend(const struct repair *k, str id)
{
    char answer[16];
    if (k->opt->is_sure)
        return true;
    if (!k->x->cli->is_tty_in)
        return false;
    fprintf(stderr,
            "%.*s  line 1 is lost or damaged, so the conversation has no owner.\nWrite a new line "
            "1 that makes the first owner of this instance its owner, and keep the old log as "
            ".damaged? [y/N] ",
            STR_ARG(id));
    fflush(stderr);
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

static void mend_header(struct repair *k, str id)
{
    if (!may_mend(k, id))
        return;
    k->is_done = false;
    store_mend_header(k->store, id, k->owner, on_mended, k);
    stores_wait(&k->stores, &k->is_done);
}

/* ---- remaining problems: repair and verify agree ---- */

static void on_verified(void *ctx, const struct err *err, const struct integrity_report *r)
{
    struct repair *k = ctx;
    k->is_done = true;
    if (!err)
        k->left = *r;
}

static void look_again(struct repair *k, str id)
{
    k->left = (struct integrity_report){0};
    k->is_done = false;
    store_verify(k->store, id, on_verified, k);
    stores_wait(&k->stores, &k->is_done);
}

static bool is_foreign(const struct repair *k, str id)
{
    return *k->left.named_id && !str_eq(id, str_from(k->left.named_id));
}

static bool is_damaged(const struct repair *k, str id)
{
    return k->left.bad_lines > 0 || k->left.is_broken || is_foreign(k, id);
}

static void print_damage(const struct repair *k, str id)
{
    if (k->left.is_broken)
        printf("; line %lld is broken: %s", (long long)k->left.bad_line, k->left.reason);
    if (is_foreign(k, id))
        printf("; line 1 names another conversation, %s: restore this log from a backup",
               k->left.named_id);
    if (k->left.bad_lines > 0)
        printf("; %lld line%s cannot be read (left in the log; readers skip them)",
               (long long)k->left.bad_lines, k->left.bad_lines == 1 ? "" : "s");
}

static void print_repair_json(const struct repair *k, str id)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, 64 * 1024);
    jw_object(&w);
    jw_kstr(&w, "id", id);
    jw_kint(&w, "tornBytes", k->report.torn_bytes);
    jw_kbool(&w, "wasTerminated", k->report.was_terminated);
    jw_kint(&w, "badLines", k->left.bad_lines);
    jw_kbool(&w, "isDamaged", is_damaged(k, id));
    jw_kbool(&w, "lacksHeader", k->report.lacks_header && !k->has_new_header);
    jw_kbool(&w, "hasNewHeader", k->has_new_header);
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
        printf("in use; the process that writes the log repaired it on opening");
    else if (k->err.code)
        printf("%s", k->err.msg);
    else if (k->has_new_header)
        printf("repaired: line 1 was replaced; the old log is kept (.damaged)");
    else if (k->report.lacks_header)
        printf("line 1 is lost or damaged, so the conversation has no owner; repair --yes writes a "
               "new line 1");
    else if (k->report.torn_bytes > 0)
        printf("repaired: %lld bytes of an unfinished line were moved aside (.torn)",
               (long long)k->report.torn_bytes);
    else if (k->report.was_terminated)
        printf("repaired: the last line got its line feed");
    else
        printf(is_damaged(k, id) ? "damaged" : "ok");
    print_damage(k, id);
    putchar('\n');
}

static int repair_one(void *ctx, str id, size_t i, int64_t n)
{
    struct repair *k = ctx;
    progress_update(&k->progress, n > 0 ? (double)i / (double)n : -1, id);
    k->is_done = false;
    store_repair(k->store, id, on_repaired, k);
    stores_wait(&k->stores, &k->is_done);
    k->has_new_header = false;
    progress_end(&k->progress);
    if (!k->err.code && k->report.lacks_header)
        mend_header(k, id);
    look_again(k, id);
    bool is_mended = k->report.torn_bytes > 0 || k->report.was_terminated || k->has_new_header;
    bool is_left = k->report.lacks_header && !k->has_new_header;
    if ((k->err.code && k->err.code != -EBUSY) || is_left)
        k->failed++;
    else if (is_damaged(k, id))
        k->damaged++;
    else if (is_mended)
        k->repaired++;
    else
        k->sound++;
    if (k->x->cli->opt.is_json)
        print_repair_json(k, id);
    else if (is_mended || is_left || k->err.code || is_damaged(k, id))
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

static int repair_store(void *ctx, const struct store_conf *conf, str owner)
{
    struct repair *k = ctx;
    struct err e = {0};
    k->owner = owner;
    k->store = NULL;
    stores_init(&k->stores, k->x);
    progress_begin(&k->progress, "repairing");
    int r = stores_open(&k->stores, conf, &k->store, &e);
    if (r == 0)
        r = repair_all(k, k->argc, k->argv, &e);
    progress_end(&k->progress);
    stores_close(&k->stores, k->store);
    stores_done(&k->stores);
    stores_drop_index(conf);
    return r < 0 ? cli_fail(&e) : EXIT_DONE;
}

static int do_repair(struct conv_cli *x, const void *options, int argc, char **argv)
{
    struct repair k = {.x = x, .opt = options, .argc = argc, .argv = argv};
    struct store_conf conf;
    struct err e = {0};
    /* an id exists in only one workspace */
    if (argc > 0 && stores_find(x, NULL, NULL, &conf, &e) < 0)
        return cli_fail(&e);
    int code = stores_each_place(x, repair_store, &k);
    if (code != EXIT_DONE)
        return code;
    if (!x->cli->opt.is_json)
        fprintf(stderr,
                "%lld sound, %lld repaired, %lld still damaged, %lld failed; the index will be "
                "rebuilt\n",
                (long long)k.sound, (long long)k.repaired, (long long)k.damaged,
                (long long)k.failed);
    return k.failed + k.damaged > 0 ? EXIT_FAILED : EXIT_DONE;
}

static int run_repair(struct cli *cli, const void *options, int argc, char **argv)
{
    return conv_with(cli, false, do_repair, options, argc, argv);
}

const struct command CONV_REPAIR = {
    .name = "repair",
    .usage = "conversations repair [--yes] [ID...]",
    .summary = "repair logs after a crash or a full disk",
    .help = "Moves an unfinished last line to <log>.torn, adds a missing line feed, and rebuilds "
            "the index. Lines that cannot be read stay and are skipped; such a log is reported as "
            "still damaged (exit code 1). Opening a log for writing does the same.\n"
            "\n"
            "Asks before it replaces a lost first line: the conversation then belongs to the first "
            "owner of this instance, and the old log is kept as <log>.damaged. Without an ID, "
            "repairs all conversations of the workspace, or of every workspace when --workspace is "
            "not given.\n",
    .args = REPAIR_ARGS,
    .options_size = sizeof(struct repair_options),
    .run = run_repair,
};
