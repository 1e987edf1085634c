#include <assert.h>
#include <errno.h>

#include "base/utf8.h"
#include "tools/alias.h"
#include "tools/names.h"
#include "tools/registry_impl.h"
#include "tools/suggest.h"

#define EXPLANATION_BYTES_MAX 4096

struct registry *registry_new(struct loop *loop)
{
    struct registry *r = xcalloc(1, sizeof(*r));

    r->loop = loop;
    r->max_result_chars = REGISTRY_RESULT_CHARS_MAX;
    list_init(&r->groups);
    list_init(&r->observers);
    list_init(&r->ending);
    return r;
}

struct registry_source *registry_source_new(const struct tool_source *src)
{
    struct registry_source *s = xcalloc(1, sizeof *s);
    assert(src->list && src->start && src->cancel);
    s->def = src;
    list_init(&s->running);
    list_init(&s->waiting);
    defer_init(&s->pump, registry_pump, s);
    return s;
}

void registry_source_free(struct registry_source *s)
{
    assert(s->n_running == 0 && s->n_waiting == 0);
    assert(list_empty(&s->running) && list_empty(&s->waiting));
    defer_stop(&s->pump);
    toolset_part_unref(s->part);
    free(s);
}

void registry_free(struct registry *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n_sources; i++) {
        registry_drop_calls(r, r->sources[i], NULL);
        registry_source_free(r->sources[i]);
    }
    registry_groups_free(r);
    registry_drop_calls(r, NULL, NULL);
    LIST_FOREACH (it, &r->observers)
        list_del(it);
    toolset_unref(r->tools);
    free(r->sources);
    free(r->names);
    free(r);
}

void registry_set_result_limit(struct registry *r, size_t max_chars)
{
    r->max_result_chars = max_chars;
}

/* Index of the first source whose name is not below `name`. */
static size_t source_slot(const struct registry *r, str name)
{
    size_t i = 0;
    while (i < r->n_sources && str_cmp(r->names[i], name) < 0)
        i++;
    return i;
}

struct registry_source *registry_source_find(const struct registry *r, str name)
{
    size_t i = source_slot(r, name);
    return i < r->n_sources && str_eq(r->names[i], name) ? r->sources[i] : NULL;
}

static void notify(struct registry *r, str source)
{
    r->tools = toolset_unref(r->tools);
    registry_groups_stale(r);
    LIST_EACH (o, &r->observers, struct registry_observer, node)
        o->changed(o->ctx, source);
}

static void source_insert(struct registry *r, size_t at, struct registry_source *s)
{
    assert(at <= r->n_sources && r->n_sources < REGISTRY_SOURCES_MAX);
    size_t n = r->n_sources + 1, moved = r->n_sources - at;

    r->sources = xrealloc(r->sources, n * sizeof(*r->sources));
    r->names = xrealloc(r->names, n * sizeof(*r->names));
    memmove(&r->sources[at + 1], &r->sources[at], moved * sizeof(*r->sources));
    memmove(&r->names[at + 1], &r->names[at], moved * sizeof(*r->names));
    r->sources[at] = s;
    r->names[at] = str_from(s->def->name);
    r->n_sources = n;
}

int registry_add_source(struct registry *r, const struct tool_source *src, struct err *e)
{
    str name = str_from(src->name);

    if (src->only_for)
        return registry_group_add(r, src, e);
    if (!tool_source_name_valid(name))
        return err_set(e, -EINVAL,
                       "tool source \"%.*s\": a name is 1 to %d letters, digits, '_' or '-'",
                       STR_ARG(name), TOOL_NAME_MAX);
    if (registry_source_find(r, name))
        return err_set(e, -EEXIST,
                       "tool source \"%.*s\" exists already; remove that bundle first, or give "
                       "this one another name (serverName)",
                       STR_ARG(name));
    if (r->n_sources >= REGISTRY_SOURCES_MAX)
        return err_set(e, -ENOSPC, "tool source \"%.*s\": a workspace holds at most %d",
                       STR_ARG(name), REGISTRY_SOURCES_MAX);

    struct registry_source *s = registry_source_new(src);
    source_insert(r, source_slot(r, name), s);
    notify(r, name);
    return 0;
}

void registry_remove_source(struct registry *r, const struct tool_source *src)
{
    size_t at = 0;
    if (src->only_for && registry_group_remove(r, src))
        return;
    while (at < r->n_sources && r->sources[at]->def != src)
        at++;
    if (at == r->n_sources)
        return;

    struct registry_source *s = r->sources[at];
    size_t moved = r->n_sources - at - 1;
    memmove(&r->sources[at], &r->sources[at + 1], moved * sizeof(*r->sources));
    memmove(&r->names[at], &r->names[at + 1], moved * sizeof(*r->names));
    r->n_sources--;
    registry_drop_calls(r, s, "was removed while the call ran");
    notify(r, str_from(s->def->name));
    registry_source_free(s);
}

void registry_changed(struct registry *r, const struct tool_source *src)
{
    struct registry_source *s = registry_source_find(r, str_from(src->name));
    if (src->only_for)
        registry_group_changed(r, src);
    if (!s || s->def != src)
        return;
    s->part = toolset_part_unref(s->part);
    notify(r, str_from(s->def->name));
}

const str *registry_sources(const struct registry *r, size_t *ret_n)
{
    *ret_n = r->n_sources;
    return r->names;
}

void registry_observe(struct registry *r, struct registry_observer *o)
{
    assert(o->changed);
    list_push(&r->observers, &o->node);
}

void registry_unobserve(struct registry_observer *o)
{
    list_del(&o->node);
}

struct toolset_part *registry_source_part(struct registry_source *s)
{
    if (!s->part) {
        size_t n = 0;
        const struct tool *tools = s->def->list(s->def->self, &n);
        str name = str_from(s->def->name);
        s->part = s->def->is_constant ? toolset_part_borrow(name, tools, n)
                                      : toolset_part_new(name, tools, n);
    }
    return s->part;
}

struct toolset *registry_tools(struct registry *r)
{
    if (r->tools)
        return r->tools;
    struct toolset_part *parts[REGISTRY_SOURCES_MAX];
    for (size_t i = 0; i < r->n_sources; i++)
        parts[i] = registry_source_part(r->sources[i]);
    r->tools = toolset_new(parts, r->n_sources);
    return r->tools;
}

static const struct toolset_item *find_in(const struct toolset *all, str name,
                                          const struct json *args, bool is_admin)
{
    const struct toolset_item *it = toolset_find(all, name);

    if (!it)
        it = toolset_find(all, tool_alias(name, args));
    bool is_hidden = it && (it->tool->is_internal || (it->tool->is_admin_only && !is_admin));
    return is_hidden ? NULL : it;
}

const struct toolset_item *registry_find(struct registry *r, str name, const struct json *args,
                                         bool is_admin)
{
    return find_in(registry_tools(r), name, args, is_admin);
}

const struct toolset_item *registry_find_for(struct registry *r, const struct tool_audience *who,
                                             str name, const struct json *args, bool is_admin)
{
    return find_in(registry_tools_for(r, who), name, args, is_admin);
}

str registry_interface_of(struct registry *r, str name)
{
    const struct toolset_item *it = registry_find(r, name, NULL, false);
    return it ? it->tool->ui_uri : STR_NONE;
}

static void add_sources(const struct registry *r, struct buf *out)
{
    buf_add_lit(out, r->n_sources ? " Known sources: " : " No tool is installed.");
    for (size_t i = 0; i < r->n_sources; i++) {
        buf_add_lit(out, i ? ", " : "");
        buf_add_str(out, r->names[i]);
    }
    if (r->n_sources)
        buf_add_lit(out, ".");
}

static void add_suggestions(const struct toolset_item *const *found, size_t n, struct buf *out)
{
    buf_add_lit(out, " Did you mean ");
    for (size_t i = 0; i < n; i++) {
        buf_add_lit(out, i == 0 ? "" : i + 1 == n ? " or " : ", ");
        buf_add_str(out, found[i]->name);
    }
    buf_add_lit(out, "?");
}

str registry_explain_unknown(struct registry *r, struct arena *a, str name, bool is_admin)
{
    const struct toolset_item *found[SUGGEST_MAX];
    size_t n = suggest_tools(registry_tools(r), name, is_admin, found);
    bool is_coming;
    str source = registry_source_of(r, name);
    str absence = registry_absence(r, a, source, &is_coming);
    struct buf out;

    if (absence.n > 0)
        return absence;
    buf_init(&out, EXPLANATION_BYTES_MAX);
    buf_printf(&out, "There is no tool \"%.*s\".", STR_ARG(utf8_truncate(name, 2 * TOOL_NAME_MAX)));
    if (n > 0)
        add_suggestions(found, n, &out);
    if (n == 0 || source.n == 0)
        add_sources(r, &out);
    return buf_keep(&out, a);
}
