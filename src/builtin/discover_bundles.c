/* nb__discover_bundles - finds bundles in the registry that could be installed. */
#include "base/utf8.h"
#include "builtin/internal.h"
#include "bundle/package/mpak.h"

#define ANSWER_MAX      (256u * 1024)
#define DESCRIPTION_MAX 300
#define FOUND_MAX       20

static void on_search_cancel(struct builtin_call *c)
{
    mpak_cancel(c->state);
}

static void say_bundle(struct buf *b, const struct json *v)
{
    str version = json_get_string(v, "version");
    if (version.n == 0)
        version = json_get_string(v, "latest_version");
    buf_printf(b, "- %.*s", STR_ARG(json_get_string(v, "name")));
    if (version.n > 0)
        buf_printf(b, " %.*s", STR_ARG(version));
    int64_t trust = mpak_trust_score(v);
    if (trust >= 0)
        buf_printf(b, " (trust %lld of 100)", (long long)trust);
    str text = utf8_truncate(json_get_string(v, "description"), DESCRIPTION_MAX);
    if (text.n > 0)
        buf_printf(b, ": %.*s", STR_ARG(text));
    buf_add_char(b, '\n');
}

static void on_bundles_found(void *ctx, const struct json *result, const struct err *err)
{
    struct builtin_call *c = ctx;
    c->on_cancel = NULL;
    if (err) {
        builtin_fail(c, "The bundle registry cannot be searched: %s", err->msg);
        return;
    }
    const struct json *list = json_get(result, "bundles");
    struct buf b;
    buf_init(&b, ANSWER_MAX);
    for (size_t i = 0; json_is(list, JSON_ARRAY) && i < list->len && i < FOUND_MAX; i++)
        say_bundle(&b, json_at(list, i));
    if (b.n == 0)
        buf_add_lit(&b, "No bundle matches. Try other words.");
    builtin_reply(c, buf_str(&b));
    buf_done(&b);
}

static void search_registry(struct builtin_call *c)
{
    const struct mpak_conf *registry = &c->builtin->deps.registry;
    if (!registry->fetcher) {
        builtin_fail(c, "No bundle registry is available here.");
        return;
    }
    c->state = mpak_search(registry, json_get_string(c->call.args, "query"), FOUND_MAX, 0,
                           on_bundles_found, c);
    c->on_cancel = on_search_cancel;
}

const struct builtin_tool BUILTIN_DISCOVER_BUNDLES = {
    .name = "discover_bundles",
    .title = "Discover bundles",
    .description = "Search the registry for bundles (MCP servers) that could be installed with "
                   "nb__manage_bundle.",
    .schema = "{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\",\"description\":"
              "\"Purpose of the bundle, in keywords\"}},\"required\":[\"query\"],"
              "\"additionalProperties\":false}",
    .is_read_only = true,
    .feature = BUILTIN_FEATURE(bundle_discovery),
    .call = search_registry,
};
