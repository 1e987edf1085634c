#include "tools/tool_selection.h"

#include <assert.h>
#include <stdio.h>

#include "base/text/glob.h"
#include "tools/names.h"

bool globs_match(struct json_strs g, str name)
{
    for (size_t i = 0; i < g.len; i++)
        if (glob_match(g.items[i], name))
            return true;
    return false;
}

static bool is_kept_from_children(const struct toolset_item *it)
{
    return it->tool->is_admin_only || str_eq(it->name, STR("nb__delegate"));
}

static bool passes(const struct tool_filter *f, str name)
{
    if (f->kind == FILTER_REQUEST && tool_name_is_system(name))
        return true;
    return globs_match(f->globs, name);
}

bool tool_selection_may_call(const struct actor *a, bool is_child, const struct toolset_item *it)
{
    bool has_profile = false;
    bool needs_admin = it->tool->scope & SCOPE_ADMIN;
    if (a->is_overfull || (it->tool->is_admin_only && !actor_is_admin(a)) ||
        (needs_admin && !actor_has_scope(a, SCOPE_ADMIN)))
        return false;
    for (size_t i = 0; i < a->nfilters; i++) {
        has_profile |= a->filters[i].kind == FILTER_PROFILE;
        if (!passes(&a->filters[i], toolset_rule_name(it)))
            return false;
    }
    return has_profile || !is_child || !is_kept_from_children(it);
}

bool tool_selection_allows_name(const struct actor *a, str name)
{
    for (size_t i = 0; i < a->nfilters; i++)
        if (!passes(&a->filters[i], name))
            return false;
    return !a->is_overfull;
}

bool tool_selection_may_use_source(const struct actor *a, str source)
{
    char any[TOOL_NAME_MAX + 8];
    int n = snprintf(any, sizeof any, "%.*s__*", STR_ARG(source));
    if (n < 0 || (size_t)n >= sizeof any)
        return a->nfilters == 0 && !a->is_overfull;
    for (size_t i = 0; i < a->nfilters; i++)
        if (!globs_match(a->filters[i].globs, str_make(any, (size_t)n)))
            return false;
    return !a->is_overfull;
}

static ptrdiff_t promoted_find(const struct promoted *p, str name)
{
    for (size_t i = 0; i < p->len; i++)
        if (str_eq(str_from(p->names[i]), name))
            return (ptrdiff_t)i;
    return -1;
}

bool promoted_has(const struct promoted *p, str name)
{
    return promoted_find(p, name) >= 0;
}

void promoted_add(struct promoted *p, str name)
{
    ptrdiff_t old = promoted_find(p, name);

    if (name.n == 0 || name.n > TOOL_NAME_MAX)
        return;
    if (old < 0 && p->len == PROMOTED_MAX)
        old = 0;
    if (old >= 0) {
        size_t behind = p->len - (size_t)old - 1;
        memmove(p->names[old], p->names[old + 1], behind * sizeof(p->names[0]));
        p->len--;
    }
    assert(p->len < PROMOTED_MAX);
    memcpy(p->names[p->len], name.p, name.n);
    p->names[p->len][name.n] = '\0';
    p->len++;
}

static bool is_candidate(const struct tool_selection_input *in, const struct toolset_item *it)
{
    return !it->tool->is_internal && tool_selection_may_call(in->actor, in->is_child, it);
}

/* Tools that do not count towards the limit of app tools: nb's own, and those of open interfaces,
 * which nb__discover_tools cannot find. */
static bool is_free(const struct toolset_item *it)
{
    return tool_name_is_system(it->name) || str_eq(it->source, STR("conversations")) ||
           str_eq(it->source, STR("files")) || it->tool->is_of_view;
}

static bool was_used(const struct tool_selection_input *in, str name, size_t max)
{
    return str_in(name, in->used.items, in->used.len < max ? in->used.len : max);
}

/* The tiers: the globs of a skill; else all tools while they are few; else the system tools and
 * those that the conversation works with. */
static bool is_shown(const struct tool_selection_input *in, const struct toolset_item *it,
                     bool show_all, size_t max_direct)
{
    if (tool_name_is_system(it->name) || it->tool->is_of_view)
        return true;
    if (in->skill.len > 0 ? globs_match(in->skill, it->name)
                          : show_all || was_used(in, it->name, max_direct))
        return true;
    if (in->focused_source.n > 0 && str_eq(it->source, in->focused_source))
        return true;
    return in->promoted && promoted_has(in->promoted, it->name);
}

/* The items are sorted by name, those of one source follow each other. */
static void hide(struct tool_selection *out, const struct toolset_item *it)
{
    struct tool_selection_hidden *h = out->n_sources > 0 ? &out->sources[out->n_sources - 1] : NULL;
    out->hidden++;
    if (!h || !str_eq(h->source, it->source)) {
        h = &out->sources[out->n_sources++];
        h->source = it->source;
    }
    if (h->n++ < TOOL_SELECTION_HIDDEN_NAMES)
        h->names[h->n_names++] = str_skip(it->name, it->source.n + 2);
}

static size_t count_of_apps(const struct tool_selection_input *in)
{
    size_t n = 0;
    for (size_t i = 0; i < in->tools->len; i++)
        n += is_candidate(in, &in->tools->items[i]) && !is_free(&in->tools->items[i]);
    return n;
}

static size_t count_sources(const struct toolset *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->len; i++)
        n += i == 0 || !str_eq(t->items[i].source, t->items[i - 1].source);
    return n;
}

struct tool_selection tool_selection_compute(struct arena *a, const struct tool_selection_input *in)
{
    size_t max_direct = in->max_direct ? in->max_direct : TOOL_SELECTION_MAX_DIRECT;
    bool show_all = count_of_apps(in) <= max_direct;
    struct tool_selection out = {
        .items = arena_array(a, in->tools->len, sizeof(*out.items)),
        .sources = arena_array(a, count_sources(in->tools), sizeof(*out.sources)),
    };

    for (size_t i = 0; i < in->tools->len; i++) {
        const struct toolset_item *it = &in->tools->items[i];
        if (!is_candidate(in, it))
            continue;
        if (is_shown(in, it, show_all, max_direct))
            out.items[out.len++] = it;
        else
            hide(&out, it);
    }
    assert(out.len + out.hidden <= in->tools->len && out.n_sources <= out.hidden);
    return out;
}
