#include "runtime/turn/guide.h"

#include <errno.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "bundle/bundle.h"
#include "runtime/turn/turn.h"

struct guide {
    uint64_t until_ms;
    char *text; /* empty: the app has none */
};

struct guide_reading { /* in the arena of the turn */
    struct turn *turn;
    str key;
    void (*then)(struct turn *t);
};

/* ---- those that are known ---- */

void guides_init(struct guides *g)
{
    map_init(&g->by_app);
}

static void guide_free(struct guide *g)
{
    if (g)
        free(g->text);
    free(g);
}

void guides_done(struct guides *g)
{
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&g->by_app, &i)) != NULL;)
        guide_free(e->value);
    map_done(&g->by_app);
}

static void keep_guide(struct guides *all, str key, str text, uint64_t fresh_ms)
{
    if (map_len(&all->by_app) >= GUIDES_MAX) {
        guides_done(all);
        guides_init(all);
    }
    struct guide *g = xcalloc(1, sizeof *g);
    g->until_ms = clock_mono_ms() + fresh_ms;
    g->text = str_dup(text);
    guide_free(map_del(&all->by_app, key));
    map_put(&all->by_app, key, g);
}

static const struct guide *find_guide(const struct guides *all, str key)
{
    const struct guide *g = map_get(&all->by_app, key);
    return g && clock_mono_ms() < g->until_ms ? g : NULL;
}

/* ---- reading one ---- */

static void give(struct turn *t, str text)
{
    if (text.n == 0)
        return;
    struct json *app = json_clone(&t->arena, t->app);
    json_set(&t->arena, app, STR("guide"), json_of_str(arena_str(&t->arena, text)));
    t->app = app;
}

/* The first text among the contents. */
static str text_of(const struct mcp_reply *r)
{
    const struct json *contents = r->result ? json_get(r->result, "contents") : NULL;
    for (size_t i = 0; json_is(contents, JSON_ARRAY) && i < contents->len; i++) {
        str text = json_get_string(&contents->items[i], "text");
        if (text.n > 0)
            return utf8_truncate(text, PROMPT_GUIDE_MAX);
    }
    return STR_NONE;
}

static void on_guide_read(void *ctx, const struct mcp_reply *r)
{
    struct guide_reading *g = ctx;
    bool is_late = r->err && r->err->code == -ETIMEDOUT;
    keep_guide(&g->turn->rt->guides, g->key, text_of(r), is_late ? GUIDE_LATE_MS : GUIDE_FRESH_MS);
    give(g->turn, text_of(r));
    g->then(g->turn);
}

static void read_guide(struct turn *t, struct bundle *b, str key, void (*then)(struct turn *t))
{
    static const struct mcp_call_events EVENTS = {.done = on_guide_read};
    struct arena *a = &t->arena;
    struct guide_reading *g = ARENA_NEW(a, struct guide_reading);
    struct json *params = json_new(a, JSON_OBJECT);
    str uri = arena_printf(a, "skill://%.*s/usage", STR_ARG(bundle_info(b)->name));
    *g = (struct guide_reading){.turn = t, .key = key, .then = then};
    json_set(a, params, STR("uri"), json_of_str(uri));
    struct mcp_request req = {.method = STR("resources/read"),
                              .params = params,
                              .timeout_ms = GUIDE_WAIT_MS,
                              .max_ms = GUIDE_WAIT_MS};
    (void)bundle_request(b, &req, &EVENTS, g);
}

static struct bundle *trusted_app(const struct turn *t)
{
    struct prompt_focus f;
    struct bundle *b = focus_of(t, &f) ? bundles_find(t->rt->bundles, f.app) : NULL;
    bool has_resources = b && json_get(bundle_server_capabilities(b), "resources");
    if (!has_resources || f.trust_score < PROMPT_TRUST_MIN || bundle_is_per_person(b) ||
        bundle_info(b)->nheld > 0)
        return NULL;
    return b;
}

void guide_load(struct turn *t, void (*then)(struct turn *t))
{
    struct bundle *b = trusted_app(t);
    if (!b) {
        then(t);
        return;
    }
    const struct bundle_info *i = bundle_info(b);
    str key = arena_printf(&t->arena, "%.*s\n%.*s\n%.*s", STR_ARG(i->name), STR_ARG(i->package),
                           STR_ARG(i->version));
    const struct guide *known = find_guide(&t->rt->guides, key);
    if (!known) {
        read_guide(t, b, key, then);
        return;
    }
    give(t, str_from(known->text));
    then(t);
}
