/* "call nb__calculate {"expression": "2+2"}", once, several at a time, or, with "then"
 * between them, one round after another. */
#include "llm/demo/demo.h"

#define ARGS_DEPTH_MAX 64

struct scan {
    str text;
    size_t at;
    size_t step; /* the round that the next call belongs to */
};

static bool is_tool_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static str take_name(struct scan *s)
{
    size_t from = s->at;
    while (s->at < s->text.n && is_tool_name_char(s->text.p[s->at]))
        s->at++;
    return str_slice(s->text, from, s->at);
}

static void skip_blanks(struct scan *s)
{
    while (s->at < s->text.n && strchr(" \t\r\n`:", s->text.p[s->at]))
        s->at++;
}

/* The object that begins here, by matching its braces outside of strings. */
static str take_object(struct scan *s)
{
    size_t depth = 0, from = s->at;
    bool in_string = false;
    if (s->at >= s->text.n || s->text.p[s->at] != '{')
        return STR("{}");
    for (; s->at < s->text.n; s->at++) {
        char c = s->text.p[s->at];
        if (in_string && c == '\\')
            s->at++;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && c == '{')
            depth++;
        else if (!in_string && c == '}' && --depth == 0)
            break;
    }
    s->at += s->at < s->text.n ? 1 : 0;
    return str_slice(s->text, from, s->at);
}

/* Moves to the name behind the next "call"; "then" on the way starts a new round. */
static bool find_call(struct scan *s, bool is_later)
{
    while (s->at < s->text.n) {
        if (!is_tool_name_char(s->text.p[s->at])) {
            s->at++;
            continue;
        }
        str word = take_name(s);
        if (is_later && str_eq_nocase(word, STR("then")))
            s->step++;
        if (str_eq_nocase(word, STR("call")) || str_eq_nocase(word, STR("use")) ||
            str_eq_nocase(word, STR("run"))) {
            skip_blanks(s);
            return true;
        }
    }
    return false;
}

static void add_use(const struct demo_ask *q, const struct llm_tool *tool, str args,
                    struct demo_plan *ret)
{
    struct json *v;
    struct err e = {0};
    if (json_parse(q->a, args, 0, &v, &e) < 0)
        ret->text = arena_printf(q->a,
                                 "The arguments you gave for `%.*s` are not valid JSON (%s), so I "
                                 "did not call it.\n",
                                 STR_ARG(tool->name), e.msg);
    else if (ret->nuses < DEMO_USES_MAX)
        ret->uses[ret->nuses++] = (struct demo_use){tool->name, json_to_str(q->a, v)};
}

bool demo_explicit_calls(const struct demo_ask *q, struct demo_plan *ret)
{
    struct scan s = {.text = q->text};
    size_t found = 0;
    while (find_call(&s, found > 0)) {
        str name = take_name(&s);
        const struct llm_tool *tool = demo_find_tool(q->req, name);
        skip_blanks(&s);
        bool has_args = s.at < s.text.n && s.text.p[s.at] == '{';
        if (!tool && !has_args && str_find(name, STR("__"), 0) < 0)
            continue; /* "call me Ishmael" */
        found++;
        str args = take_object(&s);
        if (s.step != q->rounds)
            continue;
        if (tool)
            add_use(q, tool, args, ret);
        else if (demo_search_tool(q, name, ret))
            return true;
        else
            ret->text = arena_printf(q->a,
                                     "There is no tool `%.*s` here. Say `tools` to see those "
                                     "I can call.\n",
                                     STR_ARG(name));
    }
    return found > 0;
}
