#include "base/clock.h"
#include "builtin/internal.h"
#include "config/config.h"
#include "skill/skill.h"

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

/* Ready-made calls: this tool changes nothing, so that it needs no consent. */
static void say_calls(struct buf *b, str id)
{
    static const char *const CALLS[][3] = {
        {"all of them", "conversations__list", NULL},
        {"rename", "conversations__update", ",\"title\":\"...\""},
        {"copy", "conversations__fork", ""},
        {"delete", "conversations__delete", ""},
        {"share", "nb__manage_conversation", ",\"action\":\"share\""},
    };
    buf_add_lit(b, "To manage them, call:\n");
    for (size_t i = 0; i < ARRAY_LEN(CALLS); i++) {
        const char *key = str_starts(str_from(CALLS[i][1]), STR("nb__")) ? "conversationId" : "id";
        if (CALLS[i][2])
            buf_printf(b, "- %s: %s {\"%s\":\"%.*s\"%s}\n", CALLS[i][0], CALLS[i][1], key,
                       STR_ARG(id), CALLS[i][2]);
        else
            buf_printf(b, "- %s: %s {}\n", CALLS[i][0], CALLS[i][1]);
    }
}

/* Prefer another conversation than the calling one, which cannot delete itself. */
static str example_id(const struct builtin_call *c, const struct store_listing *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (!str_eq(l->convs[i].id, c->call.who.conversation_id))
            return l->convs[i].id;
    return l->n > 0 ? l->convs[0].id : STR("ID");
}

static void on_recent_listed(void *ctx, const struct err *err, const struct store_listing *l)
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
        say_calls(&b, example_id(c, l));
    }
    builtin_reply(c, buf_str(&b));
    buf_done(&b);
}

static void overview(struct builtin_call *c)
{
    struct store_query q = {.viewer = actor_viewer(c->call.who.actor, &c->call.arena),
                            .limit = RECENT};
    c->op = store_list(runtime_deps(c->builtin->deps.runtime)->store, &q, on_recent_listed, c);
}

static void say_skills(struct builtin_call *c, struct buf *b, str part)
{
    const struct skills *all =
        skills_for(runtime_skills(c->builtin->deps.runtime), actor_sole_user(c->call.who.actor));
    str wanted = skill_fold(&c->call.arena, part);
    for (size_t i = 0; i < skills_len(all); i++) {
        const struct skill *s = skills_at(all, i);
        if (str_find(skill_fold(&c->call.arena, s->name), wanted, 0) >= 0)
            buf_printf(b, "- %.*s (%s, %s): %.*s\n", STR_ARG(s->name), skill_type_name(s->type),
                       skill_origin_name(s->origin), STR_ARG(s->description));
    }
}

/* Nothing here is secret: no keys, no headers, no addresses. */
static void say_config(struct builtin_call *c, struct buf *b, str part)
{
    const struct config *k = runtime_deps(c->builtin->deps.runtime)->config;
    buf_printf(b, "Store: %s, durability %s\n", k->store.type, k->store.durability);
    buf_printf(b, "Limits: %lld iterations, %lld input tokens, %lld output tokens, %lld tools\n",
               (long long)k->limits.max_iterations, (long long)k->limits.max_input_tokens,
               (long long)k->limits.max_output_tokens, (long long)k->limits.max_direct_tools);
    buf_printf(b, "Models: default %.*s, fast %.*s\n",
               STR_ARG(k->models.default_model.n ? k->models.default_model : STR("chosen by nb")),
               STR_ARG(k->models.fast.n ? k->models.fast : STR("the same")));
}

static void say_bundles(struct builtin_call *c, struct buf *b, str part)
{
    (void)builtin_say_bundles(c, b, part);
}

static void status(struct builtin_call *c)
{
    static const struct {
        const char *scope;
        void (*say)(struct builtin_call *c, struct buf *b, str part);
    } SCOPES[] = {{"bundles", say_bundles}, {"skills", say_skills}, {"config", say_config}};
    str scope = json_get_string(c->call.args, "scope");
    for (size_t i = 0; i < ARRAY_LEN(SCOPES); i++) {
        struct buf b;
        if (!str_eq(scope, str_from(SCOPES[i].scope)))
            continue;
        buf_init(&b, STATUS_MAX);
        SCOPES[i].say(c, &b, json_get_string(c->call.args, "name"));
        builtin_reply(c, b.n > 0 ? buf_str(&b) : STR("Nothing found."));
        buf_done(&b);
        return;
    }
    overview(c);
}

const struct builtin_tool BUILTIN_STATUS = {
    .name = "status",
    .title = "Workspace status",
    .description = "Report on this workspace: version, model in use, tools, store, uptime and the "
                   "most recent conversations; or its bundles, its skills, its settings.",
    .schema = "{\"type\":\"object\",\"properties\":{\"scope\":{\"type\":\"string\",\"enum\":["
              "\"overview\",\"bundles\",\"skills\",\"config\"],\"description\":\"The report; "
              "overview when left out\"},\"name\":{\"type\":\"string\",\"description\":\"Part of "
              "a name: only bundles or skills with it\"}},\"additionalProperties\":false}",
    .is_read_only = true,
    .call = status,
};
