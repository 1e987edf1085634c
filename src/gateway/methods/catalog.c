#include "gateway/methods/catalog.h"

#include <assert.h>

#include "base/clock.h"

struct list_cache {
    struct gw_catalog *owner;
    enum gw_list what;
    struct arena arena;
    struct json *items;    /* array; NULL = never fetched */
    struct json *fetching; /* pages fetched so far, or NULL */
    struct arena fetch_arena;
    struct bundle_call *call;
    uint64_t fetched_ms, ttl_ms;
    bool is_stale;
    struct list_node waiting; /* struct gather_part */
};

struct gw_catalog {
    struct gw_space *space;
    struct bundle *bundle;
    struct list_cache lists[GW_LISTS];
};

struct gather_part {
    struct list_node node; /* in list_cache.waiting */
    struct gather *gather;
    struct list_cache *list;
};

struct gather { /* in the arena of the request */
    struct gw_request *q;
    gw_entries_fn fn;
    struct gather_part *parts; /* one for each bundle */
    size_t nparts, pending;
    struct timer timeout;
    struct deferred ready;
    void (*on_cancel)(struct gw_request *q); /* of the request, and its work, before the gather */
    void *work;
};

static const char *const METHODS[] = {"tools/list", "resources/list", "resources/templates/list",
                                      "prompts/list"};
static const char *const KEYS[] = {"tools", "resources", "resourceTemplates", "prompts"};
static const char *const CAPABILITIES[] = {"tools", "resources", "resources", "prompts"};

enum gw_list gw_list_of(str method)
{
    ptrdiff_t what = STR_INDEX(method, METHODS);
    assert(what >= 0); /* only rows of the table of methods come here */
    return (enum gw_list)what;
}

const char *gw_list_key(enum gw_list what)
{
    return KEYS[what];
}

bool gw_bundle_offers(const struct bundle *b, const char *capability)
{
    const struct json *can = bundle_server_capabilities(b);
    return !can || json_get(can, capability) != NULL;
}

/* ---- one list of one bundle ---- */

static struct gw_catalog *catalog_of(struct gw_space *s, struct bundle *b)
{
    str name = bundle_entry(b)->server_name;
    struct gw_catalog *c = map_get(&s->catalogs, name);
    if (c)
        return c;
    c = xcalloc(1, sizeof *c);
    c->space = s;
    c->bundle = b;
    for (int i = 0; i < GW_LISTS; i++) {
        c->lists[i].owner = c;
        c->lists[i].what = (enum gw_list)i;
        list_init(&c->lists[i].waiting);
    }
    map_put(&s->catalogs, name, c);
    return c;
}

static bool is_fresh(const struct list_cache *l)
{
    return l->items && !l->is_stale && clock_mono_ms() - l->fetched_ms < l->ttl_ms;
}

static void part_over(struct gather_part *p)
{
    struct gather *g = p->gather;
    assert(g->pending > 0 && !list_empty(&p->node));
    list_del(&p->node);
    if (--g->pending == 0)
        defer_start(g->q->g->deps.loop, &g->ready);
}

static void list_settled(struct list_cache *l)
{
    LIST_FOREACH (n, &l->waiting)
        part_over(LIST_ENTRY(n, struct gather_part, node));
}

/* How long the list may be cached: what the server says, or by whether the server announces
 * changes. */
static uint64_t lifetime(const struct list_cache *l, const struct json *result)
{
    const struct json *can = bundle_server_capabilities(l->owner->bundle);
    int64_t said = json_get_int(result, "ttlMs", -1);
    if (json_get_bool(json_get(can, CAPABILITIES[l->what]), "listChanged", false))
        return GW_LIST_FRESH_MS;
    return said > GW_LIST_SHORT_MS && said < GW_LIST_FRESH_MS ? (uint64_t)said : GW_LIST_SHORT_MS;
}

static void catalog_keep(struct list_cache *l, const struct json *last_page)
{
    assert(l->fetching && !l->call);
    arena_done(&l->arena);
    l->arena = l->fetch_arena;
    l->items = l->fetching;
    l->fetching = NULL;
    arena_init(&l->fetch_arena);
    l->fetched_ms = clock_mono_ms();
    l->ttl_ms = lifetime(l, last_page);
}

static void fetch_page(struct list_cache *l, str cursor);

static void on_catalog_page(void *ctx, const struct mcp_reply *r)
{
    struct list_cache *l = ctx;
    const struct json *items = json_get(r->result, KEYS[l->what]);
    const struct json *next = json_get(r->result, "nextCursor");
    l->call = NULL;
    if (!json_is(items, JSON_ARRAY)) {
        arena_done(&l->fetch_arena);
        arena_init(&l->fetch_arena);
        l->fetching = NULL;
        list_settled(l);
        return;
    }
    for (uint32_t i = 0; i < items->len && l->fetching->len < MCP_LIST_MAX; i++)
        json_push(&l->fetch_arena, l->fetching, *json_clone(&l->fetch_arena, &items->items[i]));
    if (json_is(next, JSON_STRING) && items->len > 0 && l->fetching->len < MCP_LIST_MAX) {
        fetch_page(l, next->s);
        return;
    }
    catalog_keep(l, r->result);
    list_settled(l);
}

static void fetch_page(struct list_cache *l, str cursor)
{
    assert(l->fetching && !l->call); /* one page after the other */
    static const struct mcp_call_events EVENTS = {.done = on_catalog_page};
    struct json_member m = {STR("cursor"), json_of_str(cursor)};
    struct json params = {.type = JSON_OBJECT, .len = cursor.p ? 1 : 0, .members = &m};
    struct mcp_request req = {
        .method = str_from(METHODS[l->what]),
        .params = &params,
        .timeout_ms = GW_LIST_TIMEOUT_MS,
    };
    l->call = bundle_request(l->owner->bundle, &req, &EVENTS, l);
}

static void fetch(struct list_cache *l)
{
    if (l->fetching)
        return;
    l->is_stale = false;
    arena_init(&l->fetch_arena);
    l->fetching = json_new(&l->fetch_arena, JSON_ARRAY);
    fetch_page(l, STR_NONE);
}

void gw_catalog_stale(struct gw_space *s, struct bundle *b, enum gw_list what)
{
    catalog_of(s, b)->lists[what].is_stale = true;
}

static void catalog_free(struct gw_catalog *c)
{
    for (int i = 0; i < GW_LISTS; i++) {
        struct list_cache *l = &c->lists[i];
        if (l->call)
            bundle_cancel(l->call, "The bundle or the workspace is closing.");
        LIST_EACH (p, &l->waiting, struct gather_part, node) {
            p->list = NULL;
            part_over(p);
        }
        arena_done(&l->arena);
        arena_done(&l->fetch_arena);
    }
    free(c);
}

static void gather_stop(struct gather *g)
{
    timer_stop(&g->timeout);
    defer_stop(&g->ready);
    for (size_t i = 0; i < g->nparts; i++)
        list_del(&g->parts[i].node);
}

/* What the request was doing continues, or is cancelled with it. */
static void hand_back(struct gather *g)
{
    g->q->on_cancel = g->on_cancel;
    g->q->work = g->work;
}

static void catalog_cancel(struct gw_request *q)
{
    struct gather *g = q->work;
    gather_stop(g);
    hand_back(g);
    if (q->on_cancel)
        q->on_cancel(q);
}

void gw_catalog_bundle_gone(struct gw_space *s, struct bundle *b)
{
    struct gw_catalog *c = map_del(&s->catalogs, bundle_entry(b)->server_name);
    if (!c)
        return;
    /* Requests that already have this list but have not been notified yet must not use it. */
    LIST_EACH (q, &s->requests, struct gw_request, node) {
        struct gather *g = q->on_cancel == catalog_cancel ? q->work : NULL;
        for (size_t i = 0; g && i < g->nparts; i++) {
            if (g->parts[i].list && g->parts[i].list->owner == c && list_empty(&g->parts[i].node))
                g->parts[i].list = NULL;
        }
    }
    catalog_free(c);
}

void gw_catalogs_done(struct gw_space *s)
{
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&s->catalogs, &i)) != NULL;)
        catalog_free(e->value);
    map_done(&s->catalogs);
}

/* ---- lists of all bundles ---- */

static void on_catalog_ready(void *gather)
{
    struct gather *g = gather;
    struct gw_request *q = g->q;
    struct gw_entries all = {.ttl_ms = GW_LIST_FRESH_MS};
    size_t n = 0;
    assert(q->work == g && q->on_cancel == catalog_cancel);
    gather_stop(g);
    for (size_t i = 0; i < g->nparts; i++)
        n += g->parts[i].list && g->parts[i].list->items ? g->parts[i].list->items->len : 0;
    struct gw_entry *out = arena_array(&q->arena, n + 1, sizeof *out);
    for (size_t i = 0; i < g->nparts; i++) {
        const struct list_cache *l = g->parts[i].list;
        if (!l || !l->items)
            continue;
        if (l->ttl_ms < all.ttl_ms)
            all.ttl_ms = l->ttl_ms == GW_LIST_SHORT_MS ? 0 : l->ttl_ms;
        for (uint32_t k = 0; k < l->items->len; k++)
            out[all.len++] = (struct gw_entry){
                l->owner->bundle, bundle_entry(l->owner->bundle)->server_name, &l->items->items[k]};
    }
    all.items = out;
    hand_back(g);
    g->fn(q, &all);
}

/* Do not wait for servers that are not running, unless the request names the server. */
static bool is_asked(const struct gw_request *q, struct bundle *b, enum gw_list what)
{
    if (!bundle_server_capabilities(b))
        return q->source.n > 0;
    return gw_bundle_offers(b, CAPABILITIES[what]);
}

void gw_catalog_gather(struct gw_request *q, enum gw_list what, gw_entries_fn fn)
{
    struct bundle *b;
    size_t n = q->space->bundles ? bundles_count(q->space->bundles) : 0;
    struct gather *g = ARENA_NEW(&q->arena, struct gather);
    g->q = q;
    g->fn = fn;
    assert(q->on_cancel != catalog_cancel); /* one gather after the other */
    g->on_cancel = q->on_cancel;
    g->work = q->work;
    g->parts = arena_array(&q->arena, n + 1, sizeof *g->parts);
    timer_init(&g->timeout, q->g->deps.loop, on_catalog_ready, g);
    defer_init(&g->ready, on_catalog_ready, g);
    q->on_cancel = catalog_cancel;
    q->work = g;
    for (size_t at = 0; (b = gw_request_next_bundle(q, &at)) != NULL;) {
        if (!is_asked(q, b, what))
            continue;
        struct gather_part *p = &g->parts[g->nparts++];
        p->gather = g;
        p->list = &catalog_of(q->space, b)->lists[what];
        list_init(&p->node);
        if (is_fresh(p->list))
            continue;
        g->pending++;
        list_push(&p->list->waiting, &p->node);
        fetch(p->list);
    }
    if (g->pending == 0)
        on_catalog_ready(g);
    else
        timer_start(&g->timeout, GW_LIST_TIMEOUT_MS);
}
