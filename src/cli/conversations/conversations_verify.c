/* nb conversations verify - checks every line and every hash of the logs. */
#include "cli/conversations/stores.h"
#include "cli/term/progress.h"
#include "cli/term/styled.h"
#include "store/integrity.h"

struct check {
    struct conv_cli *x;
    struct stores stores;
    struct store *store;
    struct progress progress;
    int64_t sound, unchained, bad;
    int argc;
    char **argv;
    /* the current conversation */
    struct integrity_report report;
    struct err err;
    bool is_done, is_foreign; /* line 1 names another conversation */
};

static void on_verified(void *ctx, const struct err *err, const struct integrity_report *r)
{
    struct check *k = ctx;
    k->is_done = true;
    if (err)
        k->err = *err;
    else
        k->report = *r;
}

static void examine(struct check *k, str id)
{
    err_clear(&k->err);
    k->report = (struct integrity_report){0};
    k->is_done = false;
    store_verify(k->store, id, on_verified, k);
    stores_wait(&k->stores, &k->is_done);
    k->is_foreign = *k->report.named_id && !str_eq(id, str_from(k->report.named_id));
}

static bool is_bad(const struct check *k)
{
    const struct integrity_report *r = &k->report;
    return k->err.code || r->is_broken || r->bad_lines > 0 || r->lacks_header ||
           r->torn_bytes > 0 || k->is_foreign;
}

static void print_conv_verify_json(const struct check *k, str id)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, 64 * 1024);
    jw_object(&w);
    jw_kstr(&w, "id", id);
    jw_kbool(&w, "ok", !is_bad(k));
    jw_kint(&w, "lines", k->report.lines);
    jw_kint(&w, "badLines", k->report.bad_lines);
    jw_kint(&w, "tornBytes", k->report.torn_bytes);
    jw_kbool(&w, "lacksHeader", k->report.lacks_header);
    if (k->is_foreign)
        jw_kstr(&w, "namedId", str_from(k->report.named_id));
    jw_kbool(&w, "isChained", k->report.is_chained);
    if (k->report.is_chained)
        jw_kstr(&w, "head", str_from(k->report.head));
    if (k->report.is_broken) {
        jw_kint(&w, "brokenLine", k->report.bad_line);
        jw_kstr(&w, "reason", str_from(k->report.reason));
    }
    if (k->err.code)
        jw_kstr(&w, "error", str_from(k->err.msg));
    jw_end(&w);
    printf("%s\n", buf_cstr(&b));
    buf_done(&b);
}

static str damage(const struct check *k)
{
    struct arena *a = &k->x->arena;
    const struct integrity_report *r = &k->report;
    if (k->err.code)
        return arena_printf(a, "%s", k->err.msg);
    if (r->lacks_header)
        return r->lines == 0 ? STR("the log is empty (nb conv repair)")
                             : STR("line 1 is lost or damaged (nb conv repair)");
    if (r->is_broken)
        return arena_printf(a, "line %lld is broken: %s", (long long)r->bad_line, r->reason);
    if (r->torn_bytes > 0)
        return arena_printf(a, "the last line is not finished: %lld bytes (nb conv repair)",
                            (long long)r->torn_bytes);
    if (k->is_foreign)
        return arena_printf(a, "line 1 names another conversation, %s", r->named_id);
    return arena_printf(a, "%lld line%s cannot be read", (long long)r->bad_lines,
                        r->bad_lines == 1 ? "" : "s");
}

static str verdict(const struct check *k)
{
    struct arena *a = &k->x->arena;
    if (is_bad(k))
        return damage(k);
    if (!k->report.is_chained)
        return arena_printf(a, "%lld lines, no hash chain", (long long)k->report.lines);
    return arena_printf(a, "%lld lines, hash chain whole (head %.12s)", (long long)k->report.lines,
                        k->report.head);
}

static void print_text(const struct check *k, str id)
{
    struct buf b;
    bool bad = is_bad(k);
    buf_init(&b, 64 * 1024);
    style_add(&b, k->x->cli->has_color_out, bad ? STYLE_RED : STYLE_GREEN,
              bad ? STR("BAD") : STR("ok "));
    buf_printf(&b, " %.*s  %.*s", STR_ARG(id), STR_ARG(verdict(k)));
    printf("%s\n", buf_cstr(&b));
    buf_done(&b);
}

static int verify_one(void *ctx, str id, size_t i, int64_t n)
{
    struct check *k = ctx;
    progress_update(&k->progress, n > 0 ? (double)i / (double)n : -1, id);
    examine(k, id);
    if (is_bad(k))
        k->bad++;
    else
        k->sound++;
    k->unchained += !k->report.is_chained && !k->err.code;
    progress_end(&k->progress);
    if (k->x->cli->opt.is_json)
        print_conv_verify_json(k, id);
    else
        print_text(k, id);
    return 0;
}

static int verify_named(struct check *k, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        str id;
        if (conv_id(k->x, argv[i], &id) != EXIT_DONE)
            k->bad++;
        else
            (void)verify_one(k, id, (size_t)i, argc);
    }
    return 0;
}

static int verify_store(void *ctx, const struct store_conf *of, str owner)
{
    struct check *k = ctx;
    struct err e = {0};
    struct store_conf conf = *of;
    conf.read_only = true;
    stores_init(&k->stores, k->x);
    progress_begin(&k->progress, "verifying");
    k->store = NULL;
    int r = stores_open(&k->stores, &conf, &k->store, &e);
    if (r == 0)
        r = k->argc > 0 ? verify_named(k, k->argc, k->argv)
                        : stores_each(&k->stores, k->store, verify_one, k, &e);
    progress_end(&k->progress);
    stores_close(&k->stores, k->store);
    stores_done(&k->stores);
    return r < 0 ? cli_fail(&e) : EXIT_DONE;
}

static int do_verify(struct conv_cli *x, const void *options, int argc, char **argv)
{
    struct check k = {.x = x, .argc = argc, .argv = argv};
    struct store_conf conf;
    struct err e = {0};
    /* an id exists in only one workspace */
    if (argc > 0 && stores_find(x, NULL, NULL, &conf, &e) < 0)
        return cli_fail(&e);
    int code = stores_each_place(x, verify_store, &k);
    if (code != EXIT_DONE)
        return code;
    if (!x->cli->opt.is_json)
        fprintf(stderr, "%lld sound, %lld bad; %lld without a hash chain%s\n", (long long)k.sound,
                (long long)k.bad, (long long)k.unchained,
                k.unchained > 0 ? " (store.integrity makes one)" : "");
    return k.bad > 0 ? EXIT_FAILED : EXIT_DONE;
}

static int run_conv_verify(struct cli *cli, const void *options, int argc, char **argv)
{
    return conv_with(cli, false, do_verify, options, argc, argv);
}

const struct command CONV_VERIFY = {
    .name = "verify",
    .usage = "conversations verify [ID...]",
    .summary = "check that logs are complete and unchanged",
    .help = "Reads every line and names a changed, removed or inserted one when the log has a hash "
            "chain (setting store.integrity). Without an ID, checks all conversations of the "
            "workspace, or of every workspace when --workspace is not given. Exits with 1 when "
            "something is wrong or the store does not exist. With --json, one line per log.\n",
    .run = run_conv_verify,
};
