/* nb bundle search - searches the registry. */
#include "bundle/package/mpak.h"
#include "cli/bundle/bundle.h"
#include "cli/term/styled.h"
#include "cli/term/table.h"

#define LIMIT_DEFAULT 20
#define LIMIT_MAX     100

struct search_options {
    int limit;
};

static const struct arg SEARCH_ARGS[] = {{"limit", 0, ARG_INT,
                                          offsetof(struct search_options, limit), "N",
                                          "show at most N (default: 20)"},
                                         {0}};

static const struct table_column COLUMNS[] = {
    {"PACKAGE", false, STYLE_BOLD}, {"VERSION", false, 0}, {"TRUST", true, 0}, {"", false, 0}};

struct answer {
    struct conv_cli *x;
    bool is_done;
    const struct json *result;
    struct err err;
};

static void on_bundle_search_found(void *ctx, const struct json *result, const struct err *err)
{
    struct answer *a = ctx;
    a->is_done = true;
    if (err)
        a->err = *err;
    else
        a->result = json_clone(&a->x->arena, result);
}

static str version_of(const struct json *b)
{
    str v = json_get_string(b, "latest_version");
    return v.n > 0 ? v : json_get_string(b, "version");
}

static void print(struct conv_cli *x, const struct json *bundles)
{
    struct table t;
    table_init(&t, COLUMNS, ARRAY_LEN(COLUMNS));
    for (size_t i = 0; i < bundles->len; i++) {
        const struct json *b = json_at(bundles, i);
        int64_t trust = mpak_trust_score(b);
        table_row(&t);
        table_cell(&t, 0, json_get_string(b, "name"));
        table_cell(&t, 1, version_of(b));
        if (trust >= 0)
            table_cellf(&t, 2, "%lld", (long long)trust);
        table_cell(&t, 3, json_get_string(b, "description"));
    }
    table_print(&t, stdout, x->width, x->cli->has_color_out, true);
    table_done(&t);
}

static str words(struct conv_cli *x, int argc, char **argv)
{
    str s = STR_NONE;
    for (int i = 0; i < argc; i++)
        s = arena_printf(&x->arena, "%.*s%s%s", STR_ARG(s), i ? " " : "", argv[i]);
    return s;
}

struct question {
    str text;
    int64_t limit;    /* 0 = only the package that text names */
    bool of_versions; /* ask for the versions of that package */
};

/* Runs the loop until the registry has responded; NULL after printing an error. */
static const struct json *bundle_search_ask(struct conv_cli *x, const struct question *q)
{
    struct answer a = {.x = x};
    struct fetcher *f = fetcher_new(x->loop);
    struct mpak_conf conf = {f, x->config.registry_url};
    if (q->limit > 0)
        mpak_search(&conf, q->text, q->limit, 0, on_bundle_search_found, &a);
    else if (q->of_versions)
        mpak_versions(&conf, q->text, on_bundle_search_found, &a);
    else
        mpak_info(&conf, q->text, on_bundle_search_found, &a);
    while (!a.is_done)
        (void)loop_run_until(x->loop, &a.is_done, UINT32_MAX);
    fetcher_free(f);
    if (!a.result)
        cli_fail(&a.err);
    return a.result;
}

static void print_versions(struct conv_cli *x, const struct json *answer)
{
    const struct json *all = json_get(answer, "versions");
    str list = STR_NONE;
    for (size_t i = 0; all && i < all->len; i++) {
        const struct json *v = json_at(all, i);
        str version = json_string(v, json_get_string(v, "version"));
        list = arena_printf(&x->arena, "%.*s%s%.*s", STR_ARG(list), i > 0 ? ", " : "",
                            STR_ARG(version));
    }
    bundle_cli_print_line(stdout, "versions", list);
}

int bundle_cli_registry_info(struct conv_cli *x, const char *package)
{
    struct question q = {str_from(package), 0, false};
    const struct json *b = bundle_search_ask(x, &q);
    if (!b)
        return EXIT_FAILED;
    if (x->cli->opt.is_json) {
        conv_print_json(b);
        return EXIT_DONE;
    }
    int64_t trust = mpak_trust_score(b);
    bundle_cli_print_line(stdout, "package", json_get_string(b, "name"));
    bundle_cli_print_line(stdout, "status", STR("not installed"));
    bundle_cli_print_line(stdout, "version", version_of(b));
    bundle_cli_print_line(stdout, "about", json_get_string(b, "description"));
    if (trust >= 0)
        printf("%-12s %lld of 100\n", "trust", (long long)trust);
    q.of_versions = true;
    print_versions(x, bundle_search_ask(x, &q));
    return EXIT_DONE;
}

str bundle_cli_latest_version(struct conv_cli *x, str package)
{
    struct question q = {package, 0, false};
    return version_of(bundle_search_ask(x, &q));
}

static int do_search(struct conv_cli *x, const void *options, int argc, char **argv)
{
    const struct search_options *o = options;
    struct question q = {words(x, argc, argv), o->limit > 0 ? o->limit : LIMIT_DEFAULT, false};
    const struct json *found = bundle_search_ask(x, &q);
    if (!found)
        return EXIT_FAILED;
    const struct json *bundles = json_get(found, "bundles");
    if (x->cli->opt.is_json)
        conv_print_json(found);
    else if (bundles->len == 0)
        puts("Nothing found.");
    else
        print(x, bundles);
    return EXIT_DONE;
}

static int run_search(struct cli *cli, const void *options, int argc, char **argv)
{
    const struct search_options *o = options;
    if (argc == 0)
        return cli_usage_error("bundle search: pass the words to search for");
    if (o->limit > LIMIT_MAX)
        return cli_usage_error("--limit: at most %d", LIMIT_MAX);
    return bundle_cli_with(cli, do_search, options, argc, argv);
}

const struct command BUNDLE_SEARCH = {
    .name = "search",
    .usage = "bundle search WORDS... [--limit N] [--json]",
    .summary = "search the registry for bundles",
    .help = "`nb bundle add @scope/package` adds a package that was found. The setting registryUrl "
            "names another registry.\n",
    .args = SEARCH_ARGS,
    .options_size = sizeof(struct search_options),
    .run = run_search,
};
