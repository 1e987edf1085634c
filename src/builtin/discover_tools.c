/* nb__discover_tools - finds tools that are not shown, and makes them callable in this run. */
#include <assert.h>

#include "base/utf8.h"
#include "builtin/internal.h"
#include "skill/skill.h"
#include "tools/tool_selection.h"

#define FOUND_MAX       20
#define TERMS_MAX       16
#define ANSWER_MAX      (256u * 1024)
#define DESCRIPTION_MAX 300

struct found_tool {
    const struct toolset_item *item;
    int score;
};

struct tool_search {
    struct arena *a;
    str phrase;
    str terms[TERMS_MAX];
    size_t nterms;
};

static struct tool_search parse(struct arena *a, str query)
{
    struct tool_search s = {.a = a, .phrase = skill_fold(a, str_trim(query))};
    str rest = s.phrase, term;
    while (s.nterms < TERMS_MAX && str_split(&rest, ' ', &term))
        if (term.n > 0)
            s.terms[s.nterms++] = term;
    return s;
}

/* Score of a tool: the whole phrase weighs most, then the number of words that occur. */
static int score(const struct tool_search *s, const struct toolset_item *it)
{
    str name = skill_fold(s->a, it->name), text = skill_fold(s->a, it->tool->description);
    int points = 0, covered = 0;
    if (s->nterms == 0)
        return 1;
    if (str_find(name, s->phrase, 0) >= 0)
        points += 200;
    if (str_find(text, s->phrase, 0) >= 0)
        points += 100;
    for (size_t i = 0; i < s->nterms; i++) {
        bool in_name = str_find(name, s->terms[i], 0) >= 0;
        bool in_text = str_find(text, s->terms[i], 0) >= 0;
        points += (in_name ? 20 : 0) + (in_text ? 10 : 0);
        covered += in_name || in_text;
    }
    return covered ? points + 50 * covered / (int)s->nterms : 0;
}

/* Keeps the best FOUND_MAX, best first, by name among equals. */
static size_t insert(struct found_tool *best, size_t n, struct found_tool f)
{
    size_t at = n;
    assert(n <= FOUND_MAX && f.score > 0);
    while (at > 0 && best[at - 1].score < f.score)
        at--;
    if (at == FOUND_MAX)
        return n;
    size_t end = n < FOUND_MAX ? n : FOUND_MAX - 1;
    memmove(&best[at + 1], &best[at], (end - at) * sizeof *best);
    best[at] = f;
    return end + 1;
}

static bool is_visible(const struct builtin_call *c, const struct toolset_item *it)
{
    if (it->tool->is_internal || (it->tool->is_admin_only && !actor_is_admin(c->call.who.actor)))
        return false;
    return c->call.who.host ? turn_may_use(c->call.who.host, it)
                            : tool_selection_may_call(c->call.who.actor, false, it);
}

/* The tool may belong to an app that is being installed, starts, or has failed. */
static void add_absent(struct builtin_call *c, const struct registry *tools, struct buf *b)
{
    size_t n;
    bool is_coming;
    const str *sources = registry_sources(tools, &n);
    for (size_t i = 0; i < n; i++) {
        str why = tool_selection_may_use_source(c->call.who.actor, sources[i])
                      ? registry_absence(tools, &c->call.arena, sources[i], &is_coming)
                      : STR_NONE;
        if (why.n > 0)
            buf_printf(b, "\n- %.*s", STR_ARG(why));
    }
}

static void answer_found(struct builtin_call *c, const struct found_tool *best, size_t n,
                         size_t total)
{
    struct buf b;
    buf_init(&b, ANSWER_MAX);
    if (n == 0)
        buf_add_lit(&b, "No tool matches. Try other words, or an empty query to see all sources.");
    else
        buf_printf(&b, "%zu tool%s found%s:\n", total, total == 1 ? "" : "s",
                   total > n ? "; the best matches" : "");
    for (size_t i = 0; i < n; i++) {
        const struct toolset_item *it = best[i].item;
        str text = utf8_truncate(it->tool->description, DESCRIPTION_MAX);
        buf_printf(&b, "- %.*s: %.*s\n", STR_ARG(it->name), STR_ARG(text));
        if (c->call.who.host)
            turn_promote(c->call.who.host, it->name);
    }
    if (n == 0)
        add_absent(c, runtime_deps(c->builtin->deps.runtime)->tools, &b);
    builtin_reply(c, buf_str(&b));
    buf_done(&b);
}

static void search_tools(struct builtin_call *c)
{
    struct registry *tools = runtime_deps(c->builtin->deps.runtime)->tools;
    const struct toolset *set = registry_tools(tools);
    struct tool_search s = parse(&c->call.arena, json_get_string(c->call.args, "query"));
    struct found_tool best[FOUND_MAX];
    size_t n = 0, total = 0;
    for (size_t i = 0; i < set->len; i++) {
        struct found_tool f = {&set->items[i], 0};
        if (!is_visible(c, f.item) || (f.score = score(&s, f.item)) == 0)
            continue;
        total++;
        n = insert(best, n, f);
    }
    answer_found(c, best, n, total);
}

const struct builtin_tool BUILTIN_DISCOVER_TOOLS = {
    .name = "discover_tools",
    .title = "Discover tools",
    .description =
        "Search all installed tools by keyword. The tools it returns can be called immediately.",
    .schema = "{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\",\"description\":"
              "\"Words "
              "from the name or the purpose of the tool; empty lists "
              "all\"}},\"additionalProperties\":false}",
    .is_read_only = true,
    .feature = BUILTIN_FEATURE(tool_discovery),
    .call = search_tools,
};
