/* pin_suspects.c - tools that imitate others, and texts that address the model. */
#include "base/text/hidden.h"
#include "base/text/lookalike.h"
#include "bundle/entry/pins.h"

#define SAME_WORDS_MIN 40 /* descriptions of this length are not equal by accident */
#define WARNINGS_MAX   16

/* ---- imitations ---- */

static str joined_words(struct arena *a, str source, str name)
{
    return lookalike_skeleton(a, arena_printf(a, "%.*s__%.*s", STR_ARG(source), STR_ARG(name)),
                              false);
}

void pin_other_init(struct arena *a, struct pin_other *o)
{
    o->skeleton = lookalike_skeleton(a, o->name, true);
    o->joined = joined_words(a, o->source, o->name);
}

static bool names_tool(struct arena *a, str text, str source, str name)
{
    str full = arena_printf(a, "%.*s__%.*s", STR_ARG(source), STR_ARG(name));
    return str_find(text, full, 0) >= 0;
}

static str describe_other(struct arena *a, const char *how, const struct pin_other *o)
{
    return hidden_show(a,
                       arena_printf(a, "%s %.*s__%.*s", how, STR_ARG(o->source), STR_ARG(o->name)));
}

static str shadow_of_own(struct arena *a, str description)
{
    static const char *const OWN[] = {"nb__", "conversations__", "bash__", "skills__"};
    for (size_t i = 0; i < ARRAY_LEN(OWN); i++)
        if (str_find(description, str_from(OWN[i]), 0) >= 0)
            return arena_printf(a, "its description mentions nb's own tools (%s)", OWN[i]);
    return STR_NONE;
}

str pin_shadow(struct arena *a, str source, const struct json *tool, const struct pin_other *others,
               size_t n)
{
    str name = json_get_string(tool, "name"), words = json_get_string(tool, "description");
    str skeleton = lookalike_skeleton(a, name, true), full = joined_words(a, source, name);
    for (size_t i = 0; i < n; i++) {
        const struct pin_other *o = &others[i];
        bool is_same_name = str_eq(o->name, name);
        if (str_eq(full, o->joined) || (!is_same_name && str_eq(skeleton, o->skeleton)))
            return describe_other(a, "its name looks like the name of", o);
        if (names_tool(a, words, o->source, o->name))
            return describe_other(a, "its description mentions", o);
        if (!is_same_name && words.n >= SAME_WORDS_MIN && str_eq(words, o->description))
            return describe_other(a, "its description is the same as that of", o);
    }
    return shadow_of_own(a, words);
}

/* ---- words to the model ---- */

/* In lower case, with one space between words. */
static const char *const PHRASES[] = {
    "ignore previous",
    "ignore all previous",
    "ignore the previous",
    "ignore any previous",
    "disregard previous",
    "disregard all previous",
    "disregard the above",
    "ignore the above",
    "forget your instructions",
    "override your instructions",
    "new instructions:",
    "do not tell the user",
    "don't tell the user",
    "do not inform the user",
    "do not mention this",
    "do not mention that",
    "without telling the user",
    "without informing the user",
    "without asking the user",
    "keep this secret",
    "hide this from the user",
    "before using this tool read",
    "before using this tool, read",
    "before calling this tool, read",
    "before using any other tool",
    "before any other tool",
    "instead of any other tool",
    "always call this tool",
    "system prompt",
    "<important>",
    "<system",
    "</system",
    "<instructions>",
    "<|im_start|>",
    "[system]",
    "### system",
    "you are now",
    ".ssh/",
    "id_rsa",
    "/etc/passwd",
    "api key of the user",
};

static str folded(struct arena *a, str text)
{
    str clean = hidden_strip(a, text);
    char *out = arena_alloc(a, clean.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < clean.n; i++) {
        char c = clean.p[i];
        bool is_space = c == ' ' || c == '\n' || c == '\t';
        if (is_space && (n == 0 || out[n - 1] == ' '))
            continue;
        out[n++] = (char)(is_space ? ' ' : c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    return str_make(out, n);
}

static void add_warning(struct json_strs *to, str warning)
{
    if (to->len < WARNINGS_MAX && !json_strs_has(to, warning))
        to->items[to->len++] = warning;
}

static void judge_text(struct arena *a, str text, struct json_strs *to)
{
    if (hidden_in(text))
        add_warning(to, STR("it has hidden characters"));
    str words = folded(a, text);
    for (size_t i = 0; i < ARRAY_LEN(PHRASES); i++)
        if (str_find(words, str_from(PHRASES[i]), 0) >= 0)
            add_warning(to, arena_printf(a, "it addresses the model: \"%s\"", PHRASES[i]));
}

static void judge(struct arena *a, const struct json *v, struct json_strs *to)
{
    if (to->len == WARNINGS_MAX)
        return;
    if (v->type == JSON_STRING)
        judge_text(a, v->s, to);
    for (size_t i = 0; v->type == JSON_ARRAY && i < v->len; i++)
        judge(a, &v->items[i], to);
    for (size_t i = 0; v->type == JSON_OBJECT && i < v->len; i++) {
        if (hidden_in(v->members[i].key))
            add_warning(to, STR("it has hidden characters"));
        judge(a, &v->members[i].value, to);
    }
}

struct json_strs pin_warnings(struct arena *a, const struct json *definition)
{
    struct json_strs ret = {arena_array(a, WARNINGS_MAX, sizeof(str)), 0};
    if (definition)
        judge(a, definition, &ret);
    return ret;
}

struct json_strs pin_text_warnings(struct arena *a, str text)
{
    struct json_strs ret = {arena_array(a, WARNINGS_MAX, sizeof(str)), 0};
    judge_text(a, text, &ret);
    return ret;
}
