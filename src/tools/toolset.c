#include "tools/toolset.h"

#include <assert.h>

#include "base/map.h"
#include "tools/names.h"

struct toolset_part {
    size_t refs;
    struct arena arena;
    str source;
    struct tool *tools;
    size_t len;
};

static const struct json *clone_or_null(struct arena *a, const struct json *v)
{
    return v ? json_clone(a, v) : NULL;
}

bool tool_call_reads(const struct tool *t, const struct json *args)
{
    return json_strs_has(&t->reading_actions, json_get_string(args, "action"));
}

static struct tool copy_tool(struct arena *a, const struct tool *t)
{
    return (struct tool){
        .name = arena_str(a, t->name),
        .title = arena_str(a, t->title),
        .description = arena_str(a, t->description),
        .input_schema = clone_or_null(a, t->input_schema),
        .output_schema = clone_or_null(a, t->output_schema),
        .annotations = clone_or_null(a, t->annotations),
        .meta = clone_or_null(a, t->meta),
        .is_internal = t->is_internal,
        .ui_uri = arena_str(a, t->ui_uri),
        .is_for_apps = t->is_for_apps,
        .is_admin_only = t->is_admin_only,
        .scope = t->scope,
        .is_workspace_change = t->is_workspace_change,
        .is_shell = t->is_shell,
        .is_unconfined = t->is_unconfined,
        .reading_actions = json_strs_copy(a, t->reading_actions),
        .is_personal = t->is_personal,
        .is_of_view = t->is_of_view,
        .rule_name = arena_str(a, t->rule_name),
        .timeout_ms = t->timeout_ms,
    };
}

static struct tool borrow_tool(struct arena *a, const struct tool *t)
{
    (void)a;
    return *t;
}

static struct toolset_part *part_new(str source, const struct tool *tools, size_t n,
                                     struct tool (*take)(struct arena *a, const struct tool *t))
{
    struct toolset_part *p = xcalloc(1, sizeof(*p));
    struct map seen;

    if (n > TOOLSET_PART_MAX)
        n = TOOLSET_PART_MAX;
    p->refs = 1;
    arena_init(&p->arena);
    p->source = arena_str(&p->arena, source);
    p->tools = arena_array(&p->arena, n, sizeof(struct tool));
    map_init(&seen);
    for (size_t i = 0; i < n; i++) {
        if (map_get(&seen, tools[i].name))
            continue;
        p->tools[p->len] = take(&p->arena, &tools[i]);
        map_put(&seen, tools[i].name, &p->tools[p->len]);
        p->len++;
    }
    map_done(&seen);
    return p;
}

struct toolset_part *toolset_part_new(str source, const struct tool *tools, size_t n)
{
    return part_new(source, tools, n, copy_tool);
}

struct toolset_part *toolset_part_borrow(str source, const struct tool *tools, size_t n)
{
    return part_new(source, tools, n, borrow_tool);
}

static struct toolset_part *part_ref(struct toolset_part *p)
{
    assert(p->refs > 0);
    p->refs++;
    return p;
}

struct toolset_part *toolset_part_unref(struct toolset_part *p)
{
    if (!p)
        return NULL;
    assert(p->refs > 0);
    if (--p->refs == 0) {
        arena_done(&p->arena);
        free(p);
    }
    return NULL;
}

/* Among tools that want the same public name the one that is spelled exactly so comes
 * first and keeps it; source and tool decide the rest, so the outcome does not depend on
 * the order in which sources arrived. */
static int by_name_then_claim(const void *x, const void *y)
{
    const struct toolset_item *a = x, *b = y;
    int order = str_cmp(a->name, b->name);
    if (order)
        return order;
    bool exact_a = tool_name_is_exact(a->source, a->tool->name);
    bool exact_b = tool_name_is_exact(b->source, b->tool->name);
    if (exact_a != exact_b)
        return exact_a ? -1 : 1;
    order = str_cmp(a->source, b->source);
    return order ? order : str_cmp(a->tool->name, b->tool->name);
}

static int by_public_name(const void *x, const void *y)
{
    const struct toolset_item *a = x, *b = y;
    return str_cmp(a->name, b->name);
}

/* Gives hashed names to all but the first tool of a clash. Returns true when there was a clash. */
static bool rename_losers(struct arena *a, struct toolset_item *items, size_t n)
{
    char name[TOOL_NAME_MAX + 1];
    bool renamed = false;
    str winner = STR_NONE;

    for (size_t i = 0; i < n; i++) {
        if (i == 0 || !str_eq(items[i].name, winner)) {
            winner = items[i].name;
            continue;
        }
        size_t len = tool_name_make_hashed(items[i].source, items[i].tool->name, name);
        items[i].name = arena_str(a, str_make(name, len));
        renamed = true;
    }
    return renamed;
}

/* A server may call a tool exactly what the hash of another would be. Providers refuse a
 * request with the same name twice, so the second one is left out. */
static size_t drop_repeated(struct toolset_item *items, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || !str_eq(items[kept - 1].name, items[i].name))
            items[kept++] = items[i];
    return kept;
}

static size_t settle_clashes(struct arena *a, struct toolset_item *items, size_t n)
{
    qsort(items, n, sizeof(*items), by_name_then_claim);
    if (!rename_losers(a, items, n))
        return n;
    qsort(items, n, sizeof(*items), by_name_then_claim);
    return drop_repeated(items, n);
}

static size_t fill_items(struct arena *a, struct toolset_item *items, const struct toolset_part *p)
{
    char name[TOOL_NAME_MAX + 1];
    for (size_t i = 0; i < p->len; i++) {
        size_t len = tool_name_make(p->source, p->tools[i].name, name);
        items[i] = (struct toolset_item){
            .name = arena_str(a, str_make(name, len)),
            .source = p->source,
            .tool = &p->tools[i],
        };
    }
    return p->len;
}

struct toolset *toolset_new(struct toolset_part *const *parts, size_t n_parts)
{
    struct toolset *t = xcalloc(1, sizeof(*t));
    size_t total = 0, at = 0;

    t->refs = 1;
    arena_init(&t->arena);
    t->parts = arena_array(&t->arena, n_parts, sizeof(*t->parts));
    t->n_parts = n_parts;
    for (size_t i = 0; i < n_parts; i++) {
        t->parts[i] = part_ref(parts[i]);
        total += parts[i]->len;
    }
    struct toolset_item *items = arena_array(&t->arena, total, sizeof(*items));
    for (size_t i = 0; i < n_parts; i++)
        at += fill_items(&t->arena, items + at, parts[i]);
    assert(at == total);
    t->items = items;
    t->len = total ? settle_clashes(&t->arena, items, total) : 0;
    return t;
}

struct toolset *toolset_ref(struct toolset *t)
{
    assert(t->refs > 0);
    t->refs++;
    return t;
}

struct toolset *toolset_unref(struct toolset *t)
{
    if (!t)
        return NULL;
    assert(t->refs > 0);
    if (--t->refs == 0) {
        for (size_t i = 0; i < t->n_parts; i++)
            toolset_part_unref(t->parts[i]);
        arena_done(&t->arena);
        free(t);
    }
    return NULL;
}

const struct toolset_item *toolset_find(const struct toolset *t, str name)
{
    struct toolset_item key = {.name = name};
    return t->len ? bsearch(&key, t->items, t->len, sizeof(key), by_public_name) : NULL;
}

str toolset_rule_name(const struct toolset_item *it)
{
    return it->tool->rule_name.n > 0 ? it->tool->rule_name : it->name;
}

struct toolset *toolset_extend(const struct toolset *t, struct toolset_part *const *more, size_t n)
{
    struct toolset_part **all = xcalloc(t->n_parts + n, sizeof *all);
    if (t->n_parts > 0)
        memcpy(all, t->parts, t->n_parts * sizeof *all);
    memcpy(all + t->n_parts, more, n * sizeof *all);
    struct toolset *ret = toolset_new(all, t->n_parts + n);
    free(all);
    return ret;
}
