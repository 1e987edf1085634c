/* nb bundle search - searches the registry. */
#include "bundle/package/mpak.h"
#include "cli/bundle/bundle.h"
#include "cli/term/styled.h"

#define LIMIT_DEFAULT 20
#define LIMIT_MAX     100

static const struct arg SEARCH_ARGS[] = {{"limit", 0, ARG_INT, "N", "show at most N (default: 20)"},
                                         {0}};

struct registry_answer {
    struct cmd *x;
    bool is_done;
    const struct json *result;
    struct err err;
};

static void on_bundle_search_found(void *ctx, const struct json *result, const struct err *err)
{
    struct registry_answer *a = ctx;
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

static str show_version(struct cmd *x, const struct json *b)
{
    return version_of(b);
}

static str show_trust(struct cmd *x, const struct json *b)
{
    int64_t trust = mpak_trust_score(b);
    return trust >= 0 ? arena_printf(&x->arena, "%lld", (long long)trust) : STR_NONE;
}

struct registry_question {
    str text;
    int64_t limit;    /* 0 = only the package that text names */
    bool of_versions; /* ask for the versions of that package */
};

/* Runs the loop until the registry has responded; NULL after printing an error. */
static const struct json *bundle_search_ask(struct cmd *x, const struct registry_question *q)
{
    struct registry_answer a = {.x = x};
    struct fetcher *f = fetcher_new(x->loop);
    struct mpak_conf conf = {f, x->config.registry_url};
    if (q->limit > 0)
        mpak_search(&conf, q->text, q->limit, 0, on_bundle_search_found, &a);
    else if (q->of_versions)
        mpak_versions(&conf, q->text, on_bundle_search_found, &a);
    else
        mpak_info(&conf, q->text, on_bundle_search_found, &a);
    cmd_wait(x, &a.is_done);
    fetcher_free(f);
    if (!a.result)
        cli_fail(&a.err);
    return a.result;
}

static void print_versions(struct cmd *x, const struct json *answer)
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

int bundle_cli_registry_info(struct cmd *x, const char *package)
{
    struct registry_question q = {str_from(package), 0, false};
    const struct json *b = bundle_search_ask(x, &q);
    if (!b)
        return EXIT_FAILED;
    if (cmd_json(x, b))
        return EXIT_DONE;
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

str bundle_cli_latest_version(struct cmd *x, str package)
{
    struct registry_question q = {package, 0, false};
    return version_of(bundle_search_ask(x, &q));
}

static int bundle_search(struct cmd *x)
{
    static const struct cmd_column COLUMNS[] = {
        {"PACKAGE", "name", .style = STYLE_BOLD},
        {"VERSION", .show = show_version},
        {"TRUST", .show = show_trust, .is_right = true},
        {"", "description"},
    };
    struct registry_question q = {
        cmd_words(x, 0), cmd_int(x, "limit") > 0 ? cmd_int(x, "limit") : LIMIT_DEFAULT, false};
    if (cmd_int(x, "limit") > LIMIT_MAX)
        return cli_usage_error("--limit: at most %d", LIMIT_MAX);
    const struct json *found = bundle_search_ask(x, &q);
    if (!found)
        return EXIT_FAILED;
    const struct json *bundles = json_get(found, "bundles");
    if (x->cli->opt.is_json || bundles->len == 0)
        return cmd_say(x, found, "Nothing found.");
    cmd_table(x, bundles, COLUMNS, ARRAY_LEN(COLUMNS), true);
    return EXIT_DONE;
}

const struct command BUNDLE_SEARCH = {
    .name = "search",
    .operands = "WORDS...",
    .summary = "search the registry for bundles",
    .help = "`nb bundle add @scope/package` adds a package that was found. The setting registryUrl "
            "names another registry.\n",
    .args = SEARCH_ARGS,
    .run = bundle_search,
};
