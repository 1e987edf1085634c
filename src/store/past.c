#include "store/past.h"

#include <assert.h>
#include <errno.h>

#include "base/json/json_scan.h"
#include "base/utf8.h"

/* ---- people, and the limits of their tokens ---- */

static void add_person(struct json_strs *to, struct arena *a, str user_id)
{
    str id = utf8_truncate(user_id, PAST_PERSON_BYTES);
    if (id.n == 0 || json_strs_has(to, id) || to->len >= PAST_PEOPLE_MAX)
        return;
    if (!to->items)
        to->items = arena_array(a, PAST_PEOPLE_MAX, sizeof(str));
    to->items[to->len++] = arena_str(a, id);
}

static void add_each_person(struct json_strs *to, struct arena *a, const struct json *ids)
{
    for (size_t i = 0; json_is(ids, JSON_ARRAY) && i < ids->len; i++)
        add_person(to, a, json_string(&ids->items[i], STR_NONE));
}

static bool is_same_limit(const struct json_strs *x, const struct json_strs *y)
{
    for (size_t i = 0; x->len == y->len && i < x->len; i++)
        if (!str_eq(x->items[i], y->items[i]))
            return false;
    return x->len == y->len;
}

static struct json_strs limit_of(struct arena *a, const struct json *globs)
{
    size_t bytes = 0;
    for (size_t i = 0; i < globs->len; i++)
        bytes += json_string(&globs->items[i], STR_NONE).n;
    bool is_kept = globs->len <= PAST_LIMIT_GLOBS_MAX && bytes <= PAST_LIMIT_BYTES;
    size_t n = is_kept ? globs->len : 0;
    struct json_strs limit = {arena_array(a, n + 1, sizeof(str)), n};
    for (size_t i = 0; i < n; i++)
        limit.items[i] = json_string(&globs->items[i], STR_NONE);
    return limit;
}

static struct json_strs copy_limit(struct arena *a, const struct json_strs *from)
{
    return (struct json_strs){arena_strs(a, from->items, from->len), from->len};
}

static void add_limit(struct past *p, struct arena *a, const struct json *globs)
{
    struct arena scratch;
    if (!json_is(globs, JSON_ARRAY) || p->nlimits >= PAST_LIMITS_MAX)
        return;
    arena_init(&scratch);
    struct json_strs limit = limit_of(&scratch, globs);
    bool is_known = false;
    for (size_t i = 0; i < p->nlimits && !is_known; i++)
        is_known = is_same_limit(&p->limits[i], &limit);
    if (!p->limits)
        p->limits = arena_array(a, PAST_LIMITS_MAX, sizeof *p->limits);
    if (!is_known)
        p->limits[p->nlimits++] = copy_limit(a, &limit);
    arena_done(&scratch);
}

void past_user(struct past *p, struct arena *a, const struct json *event)
{
    add_person(&p->people, a, json_get_string(event, "userId"));
    add_each_person(&p->others, a, json_get(event, "wordsOf"));
    add_limit(p, a, json_get(event, "toolLimit"));
}

bool past_is_answer(const struct json *event)
{
    return str_eq(json_get_string(event, "action"), STR("accept"));
}

bool past_knows_user(const struct past *p, str line)
{
    struct json_scan scan;
    str key, value;
    bool is_known = true;
    json_scan_init(&scan, line);
    while (is_known && json_scan_next(&scan, &key, &value)) {
        if (str_eq(key, STR("userId")))
            is_known = json_strs_has(&p->people, json_scan_plain(value));
        else if (str_eq(key, STR("toolLimit")) || str_eq(key, STR("wordsOf")) ||
                 str_find_char(key, '\\') >= 0)
            is_known = false;
    }
    return is_known && !scan.failed;
}

/* ---- tools ---- */

/* Every name has a place of PAST_TOOL_BYTES, which is used again: the arena does not grow with the
 * number of calls. */
static void add_tool(struct past *p, struct arena *a, str name)
{
    struct json_strs *t = &p->tools;
    if (name.n == 0 || name.n > PAST_TOOL_BYTES)
        return;
    size_t i = t->len;
    while (i > 0 && !str_eq(t->items[i - 1], name))
        i--;
    str place;
    if (i > 0) {
        place = t->items[--i];
    } else if (t->len == PAST_TOOLS_MAX) {
        place = t->items[0];
    } else {
        if (!t->items)
            t->items = arena_array(a, PAST_TOOLS_MAX, sizeof(str));
        i = t->len++;
        place = str_make(arena_alloc(a, PAST_TOOL_BYTES), 0);
    }
    assert(t->len <= PAST_TOOLS_MAX && i < t->len);
    memmove((char *)place.p, name.p, name.n);
    memmove(&t->items[i], &t->items[i + 1], (t->len - 1 - i) * sizeof(str));
    t->items[t->len - 1] = str_make(place.p, name.n);
}

static size_t add_calls(struct past *p, struct arena *a, const struct json *content)
{
    size_t n = 0;
    for (size_t i = 0; json_is(content, JSON_ARRAY) && i < content->len; i++) {
        const struct json *part = &content->items[i];
        if (!str_eq(json_get_string(part, "type"), STR("tool-call")))
            continue;
        add_tool(p, a, json_get_string(part, "toolName"));
        n++;
    }
    return n;
}

void past_answer(struct past *p, struct arena *a, const struct json *event)
{
    const struct json *calls = json_get(event, "toolCalls");
    bool is_older = json_get_string(event, "type").n == 0;
    if (!calls)
        calls = json_get(json_get(event, "metadata"), "toolCalls");
    if (add_calls(p, a, json_get(event, "content")) > 0 || !is_older)
        return;
    for (size_t i = 0; json_is(calls, JSON_ARRAY) && i < calls->len; i++)
        add_tool(p, a, json_get_string(&calls->items[i], "name"));
}

/* ---- copies ---- */

struct past past_copy(struct arena *a, const struct past *p)
{
    struct past copy = {0};
    for (size_t i = 0; i < p->people.len; i++)
        add_person(&copy.people, a, p->people.items[i]);
    for (size_t i = 0; i < p->others.len; i++)
        add_person(&copy.others, a, p->others.items[i]);
    if (p->nlimits > 0)
        copy.limits = arena_array(a, PAST_LIMITS_MAX, sizeof *copy.limits);
    for (size_t i = 0; i < p->nlimits; i++)
        copy.limits[copy.nlimits++] = copy_limit(a, &p->limits[i]);
    for (size_t i = 0; i < p->tools.len; i++)
        add_tool(&copy, a, p->tools.items[i]);
    return copy;
}

str past_json(struct arena *a, const struct past *p)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, PAST_JSON_MAX);
    jw_object(&w);
    jw_kstrs(&w, "people", p->people.items, p->people.len);
    if (p->others.len > 0)
        jw_kstrs(&w, "others", p->others.items, p->others.len);
    jw_karray(&w, "limits");
    for (size_t i = 0; i < p->nlimits; i++) {
        jw_array(&w);
        for (size_t k = 0; k < p->limits[i].len; k++)
            jw_str(&w, p->limits[i].items[k]);
        jw_end(&w);
    }
    jw_end(&w);
    jw_kstrs(&w, "tools", p->tools.items, p->tools.len);
    jw_end(&w);
    return buf_keep(&b, a);
}

int past_parse(struct arena *a, str json, struct past *ret)
{
    struct arena scratch;
    struct json *v;
    struct past p = {0};
    arena_init(&scratch);
    int r = json_parse(&scratch, json, 0, &v, NULL) < 0 || !json_is(v, JSON_OBJECT) ? -EINVAL : 0;
    const struct json *people = r == 0 ? json_get(v, "people") : NULL;
    const struct json *limits = r == 0 ? json_get(v, "limits") : NULL;
    const struct json *tools = r == 0 ? json_get(v, "tools") : NULL;
    if (!json_is(people, JSON_ARRAY) || !json_is(limits, JSON_ARRAY) || !json_is(tools, JSON_ARRAY))
        r = -EINVAL;
    if (r == 0) {
        add_each_person(&p.people, a, people);
        add_each_person(&p.others, a, json_get(v, "others"));
    }
    for (size_t i = 0; r == 0 && i < limits->len; i++)
        add_limit(&p, a, &limits->items[i]);
    for (size_t i = 0; r == 0 && i < tools->len; i++)
        add_tool(&p, a, json_string(&tools->items[i], STR_NONE));
    arena_done(&scratch);
    if (r == 0)
        *ret = p;
    return r;
}
