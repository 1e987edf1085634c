#include "api/describe/shape.h"

#include <assert.h>

#define NODES_MAX 48

enum shape_kind { SHAPE_WORD, SHAPE_LITERAL, SHAPE_MODEL, SHAPE_LIST, SHAPE_MAP, SHAPE_UNION };

struct shape_node {
    enum shape_kind kind;
    str text;        /* the word, the literal or the name of the model */
    str from, to;    /* of a range; empty = without */
    int child, next; /* indices of nodes; 0 = none */
};

struct shape_parser {
    str rest;
    bool is_wrong;
    int n; /* nodes in use; the first is not used */
    struct shape_node nodes[NODES_MAX];
};

/* type NULL: every value. */
static const struct {
    const char *word, *type, *format;
} WORDS[] = {
    {"string", "string", NULL},   {"integer", "integer", NULL},    {"number", "number", NULL},
    {"boolean", "boolean", NULL}, {"null", "null", NULL},          {"object", "object", NULL},
    {"any", NULL, NULL},          {"time", "string", "date-time"}, {"uri", "string", "uri"},
};

static int find_word(str text)
{
    for (size_t i = 0; i < ARRAY_LEN(WORDS); i++)
        if (str_eq(text, str_from(WORDS[i].word)))
            return (int)i;
    return -1;
}

/* ---- reading ---- */

static int read_union(struct shape_parser *p);

static int shape_new(struct shape_parser *p, enum shape_kind kind)
{
    if (p->n + 1 >= NODES_MAX) {
        p->is_wrong = true;
        return p->n;
    }
    p->nodes[++p->n] = (struct shape_node){.kind = kind};
    return p->n;
}

static bool accept_char(struct shape_parser *p, char c)
{
    if (p->rest.n == 0 || p->rest.p[0] != c)
        return false;
    p->rest = str_skip(p->rest, 1);
    return true;
}

/* The text in front of `c`, which is taken too. */
static str take_until(struct shape_parser *p, char c)
{
    ptrdiff_t at = str_find_char(p->rest, c);
    if (at < 0) {
        p->is_wrong = true;
        return STR_NONE;
    }
    str text = str_slice(p->rest, 0, (size_t)at);
    p->rest = str_skip(p->rest, (size_t)at + 1);
    return text;
}

static void read_range(struct shape_parser *p, struct shape_node *node)
{
    str text = take_until(p, ')');
    ptrdiff_t dots = str_find(text, STR(".."), 0);
    int64_t v;
    if (dots < 0) {
        p->is_wrong = true;
        return;
    }
    node->from = str_slice(text, 0, (size_t)dots);
    node->to = str_skip(text, (size_t)dots + 2);
    p->is_wrong |= node->from.n > 0 && parse_i64(node->from, &v) < 0;
    p->is_wrong |= node->to.n > 0 && parse_i64(node->to, &v) < 0;
}

static int read_name(struct shape_parser *p)
{
    size_t n = 0;
    while (n < p->rest.n && str_is_made_of(str_slice(p->rest, n, n + 1), "_."))
        n++;
    str text = str_slice(p->rest, 0, n);
    bool is_model = n > 0 && text.p[0] >= 'A' && text.p[0] <= 'Z';
    int i = shape_new(p, is_model ? SHAPE_MODEL : SHAPE_WORD);
    p->rest = str_skip(p->rest, n);
    p->nodes[i].text = text;
    p->is_wrong |= n == 0 || (!is_model && find_word(text) < 0);
    if (accept_char(p, '('))
        read_range(p, &p->nodes[i]);
    return i;
}

static int read_one(struct shape_parser *p)
{
    int i;
    if (accept_char(p, '(')) {
        i = read_union(p);
        p->is_wrong |= !accept_char(p, ')');
    } else if (accept_char(p, '{')) {
        i = shape_new(p, SHAPE_MAP);
        int child = read_union(p);
        p->nodes[i].child = child;
        p->is_wrong |= !accept_char(p, '}');
    } else if (accept_char(p, '\'')) {
        i = shape_new(p, SHAPE_LITERAL);
        p->nodes[i].text = take_until(p, '\'');
    } else {
        i = read_name(p);
    }
    while (str_starts(p->rest, STR("[]"))) {
        int list = shape_new(p, SHAPE_LIST);
        p->rest = str_skip(p->rest, 2);
        p->nodes[list].child = i;
        i = list;
    }
    return i;
}

static int read_union(struct shape_parser *p)
{
    int first = read_one(p), last = first;
    if (p->rest.n == 0 || p->rest.p[0] != '|')
        return first;
    int all = shape_new(p, SHAPE_UNION);
    p->nodes[all].child = first;
    while (!p->is_wrong && accept_char(p, '|')) {
        int one = read_one(p);
        p->nodes[last].next = one;
        last = one;
    }
    return all;
}

/* The root, or 0: the shape is not valid. */
static int shape_parse(struct shape_parser *p, const char *shape)
{
    *p = (struct shape_parser){.rest = str_from(shape)};
    int root = read_union(p);
    return p->is_wrong || p->rest.n > 0 ? 0 : root;
}

bool shape_is_valid(const char *shape)
{
    struct shape_parser p;
    return shape_parse(&p, shape) > 0;
}

/* ---- writing ---- */

static void write_members(struct json_writer *w, const struct shape_parser *p, int i);

static void write_bound(struct json_writer *w, const char *key, str number)
{
    if (number.n > 0)
        jw_kraw(w, key, number);
}

/* is_null: null is another value. */
static void write_word(struct json_writer *w, const struct shape_node *node, bool is_null)
{
    int i = find_word(node->text);
    if (!WORDS[i].type)
        return;
    jw_key(w, "type");
    if (is_null)
        jw_array(w);
    jw_cstr(w, WORDS[i].type);
    if (is_null) {
        jw_cstr(w, "null");
        jw_end(w);
    }
    if (WORDS[i].format)
        jw_kcstr(w, "format", WORDS[i].format);
    bool is_text = strcmp(WORDS[i].type, "string") == 0;
    write_bound(w, is_text ? "minLength" : "minimum", node->from);
    write_bound(w, is_text ? "maxLength" : "maximum", node->to);
}

static bool is_null_node(const struct shape_node *node)
{
    return node->kind == SHAPE_WORD && str_eq(node->text, STR("null"));
}

static void write_enum(struct json_writer *w, const struct shape_parser *p, int first, bool is_null)
{
    static const struct shape_node STRING = {.kind = SHAPE_WORD, .text = STR_INIT("string")};
    write_word(w, &STRING, is_null);
    jw_karray(w, "enum");
    for (int i = first; i > 0; i = p->nodes[i].next)
        if (p->nodes[i].kind == SHAPE_LITERAL)
            jw_str(w, p->nodes[i].text);
    if (is_null)
        jw_null(w);
    jw_end(w);
}

static void write_any_of(struct json_writer *w, const struct shape_parser *p, int first)
{
    jw_karray(w, "anyOf");
    for (int i = first; i > 0; i = p->nodes[i].next) {
        jw_object(w);
        write_members(w, p, i);
        jw_end(w);
    }
    jw_end(w);
}

static void write_union(struct json_writer *w, const struct shape_parser *p, int first)
{
    int n = 0, nliterals = 0, word = 0;
    bool is_null = false;
    for (int i = first; i > 0; i = p->nodes[i].next) {
        is_null |= is_null_node(&p->nodes[i]);
        n += !is_null_node(&p->nodes[i]);
        nliterals += p->nodes[i].kind == SHAPE_LITERAL;
        if (p->nodes[i].kind == SHAPE_WORD && !is_null_node(&p->nodes[i]))
            word = i;
    }
    if (n == nliterals)
        write_enum(w, p, first, is_null);
    else if (n == 1 && word > 0)
        write_word(w, &p->nodes[word], is_null);
    else
        write_any_of(w, p, first);
}

static void write_child(struct json_writer *w, const struct shape_parser *p, const char *type,
                        const char *key, int child)
{
    jw_kcstr(w, "type", type);
    jw_kobject(w, key);
    write_members(w, p, child);
    jw_end(w);
}

static void write_members(struct json_writer *w, const struct shape_parser *p, int i)
{
    const struct shape_node *node = &p->nodes[i];
    char address[128];
    switch (node->kind) {
    case SHAPE_WORD:
        write_word(w, node, false);
        break;
    case SHAPE_LITERAL:
        jw_kstr(w, "const", node->text);
        break;
    case SHAPE_MODEL:
        snprintf(address, sizeof address, "#/components/schemas/%.*s", STR_ARG(node->text));
        jw_kcstr(w, "$ref", address);
        break;
    case SHAPE_LIST:
        write_child(w, p, "array", "items", node->child);
        break;
    case SHAPE_MAP:
        write_child(w, p, "object", "additionalProperties", node->child);
        break;
    case SHAPE_UNION:
        write_union(w, p, node->child);
        break;
    }
}

void shape_write(struct json_writer *w, const char *shape, const char *about)
{
    struct shape_parser p;
    assert(shape_is_valid(shape));
    int root = shape_parse(&p, shape);
    jw_object(w);
    write_members(w, &p, root);
    if (about)
        jw_kcstr(w, "description", about);
    jw_end(w);
}
