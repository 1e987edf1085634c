#include "base/clock.h"
#include "builtin/internal.h"
#include "config/config.h"

#define STATUS_MAX (256u * 1024)
#define RECENT     5

static void say_tools(struct buf *b, struct registry *tools)
{
    size_t nsources;
    const struct toolset *set = registry_tools(tools);
    const str *sources = registry_sources(tools, &nsources);
    buf_printf(b, "Tools: %zu from %zu source%s (", set->len, nsources, nsources == 1 ? "" : "s");
    for (size_t i = 0; i < nsources; i++)
        buf_printf(b, "%s%.*s", i ? ", " : "", STR_ARG(sources[i]));
    buf_add_lit(b, ")\n");
}

static void say_uptime(struct buf *b, uint64_t ms)
{
    uint64_t s = ms / 1000;
    buf_printf(b, "Uptime: %llu h %llu min %llu s\n", (unsigned long long)(s / 3600),
               (unsigned long long)(s / 60 % 60), (unsigned long long)(s % 60));
}

static void on_listed(void *ctx, const struct err *err, const struct store_listing *l)
{
    struct builtin_call *c = ctx;
    const struct runtime_deps *d = runtime_deps(c->builtin->deps.runtime);
    c->op = NULL;
    str why, model = llm_default_model(d->llm, &why);
    struct buf b;
    buf_init(&b, STATUS_MAX);
    buf_printf(&b, "nb %s\nModel: %.*s (%.*s)\n", NB_VERSION, STR_ARG(model), STR_ARG(why));
    say_tools(&b, d->tools);
    buf_printf(&b, "Store: %s\n", d->config->store.type);
    say_uptime(&b, clock_mono_ms() - c->builtin->deps.started_ms);
    if (err) {
        buf_printf(&b, "Conversations: cannot be listed (%s)\n", err->msg);
    } else {
        buf_printf(&b, "Conversations: %lld\n", (long long)l->total);
        for (size_t i = 0; i < l->n; i++) {
            const struct conv *v = &l->convs[i];
            str label = v->title.n > 0 ? v->title : v->preview;
            buf_printf(&b, "- %.*s  %.*s  %.*s\n", STR_ARG(v->id), STR_ARG(v->updated_at),
                       STR_ARG(label));
        }
    }
    builtin_reply(c, buf_str(&b));
    buf_done(&b);
}

static void status(struct builtin_call *c)
{
    struct store_query q = {.viewer = &c->viewer, .limit = RECENT};
    c->op = store_list(runtime_deps(c->builtin->deps.runtime)->store, &q, on_listed, c);
}

const struct builtin_tool BUILTIN_STATUS = {
    .name = "status",
    .title = "Workspace status",
    .description = "What this workspace is: version, model in use, tools, store, uptime and the "
                   "most recent conversations.",
    .schema = "{\"type\":\"object\",\"properties\":{\"scope\":{\"type\":\"string\",\"enum\":["
              "\"overview\"],\"description\":\"What to report; overview is everything\"}},"
              "\"additionalProperties\":false}",
    .is_read_only = true,
    .call = status,
};
