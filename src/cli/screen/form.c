#include "cli/screen/form.h"

#include <assert.h>
#include <errno.h>

#include "base/schema/schema.h"
#include "cli/term/styled.h"
#include "cli/term/text.h"

#define TEXT_MAX    (64u * 1024)
#define CHOICES_MAX 64

void form_init(struct form *f, const struct json *question)
{
    *f = (struct form){0};
    arena_init(&f->arena);
    f->question = json_clone(&f->arena, question);
    f->content = json_new(&f->arena, JSON_OBJECT);
    const struct json *fields = json_get(json_get(f->question, "schema"), "properties");
    if (json_is(fields, JSON_OBJECT) && fields->len > 0)
        f->fields = fields;
}

void form_done(struct form *f)
{
    arena_done(&f->arena);
}

str form_id(const struct form *f)
{
    return json_get_string(f->question, "inputId");
}

void form_give_up(struct form *f, const char *action)
{
    assert(!f->action);
    f->action = action;
}

/* ---- words ---- */

static void add_safe(struct buf *out, bool has_color, unsigned style, str text)
{
    struct buf safe;
    buf_init(&safe, 4 * TEXT_MAX);
    text_add_line(&safe, str_slice(text, 0, TEXT_MAX));
    style_add(out, has_color, style, buf_str(&safe));
    buf_done(&safe);
}

void form_add_heading(const struct form *f, struct buf *out, bool has_color)
{
    str kind = json_get_string(f->question, "kind"), url = json_get_string(f->question, "url");
    add_safe(out, has_color, STYLE_BOLD, json_get_string(f->question, "source"));
    buf_add_lit(out, str_eq(kind, STR("form")) ? " asks: " : ": ");
    add_safe(out, has_color, 0, json_get_string(f->question, "message"));
    buf_add_char(out, '\n');
    if (url.n > 0) {
        buf_add_lit(out, "Open this address yourself, if you trust it: ");
        add_safe(out, has_color, STYLE_BOLD, url);
        buf_add_char(out, '\n');
    }
}

static const struct json_member *field(const struct form *f)
{
    assert(f->fields && f->at < f->fields->len);
    return &f->fields->members[f->at];
}

static bool is_required(const struct form *f, str name)
{
    const struct json *list = json_get(json_get(f->question, "schema"), "required");
    for (size_t i = 0; json_is(list, JSON_ARRAY) && i < list->len; i++)
        if (str_eq(json_string(json_at(list, i), STR_NONE), name))
            return true;
    return false;
}

/* The allowed values: enum, or the consts of oneOf or anyOf. */
static size_t choices(const struct json *schema, const struct json **ret, size_t max)
{
    const struct json *list = json_get(schema, "enum");
    const char *const *key = (const char *const[]){"oneOf", "anyOf", NULL};
    size_t n = 0;
    for (size_t i = 0; json_is(list, JSON_ARRAY) && i < list->len && n < max; i++)
        ret[n++] = json_at(list, i);
    for (; n == 0 && *key; key++) {
        list = json_get(schema, *key);
        for (size_t i = 0; json_is(list, JSON_ARRAY) && i < list->len && n < max; i++)
            if (json_get(json_at(list, i), "const"))
                ret[n++] = json_get(json_at(list, i), "const");
    }
    return n;
}

static bool is_list(const struct json *schema)
{
    return str_eq(json_get_string(schema, "type"), STR("array"));
}

static void add_choices(const struct json *schema, struct buf *out)
{
    const struct json *values[CHOICES_MAX];
    size_t n = choices(is_list(schema) ? json_get(schema, "items") : schema, values, CHOICES_MAX);
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%.*s", i ? ", " : "one of ", STR_ARG(json_string(values[i], STR("?"))));
    if (n > 0)
        buf_add_lit(out, "; ");
    if (is_list(schema))
        buf_add_lit(out, "several with commas; ");
}

static void add_details(const struct form *f, struct buf *out)
{
    const struct json *schema = &field(f)->value, *otherwise = json_get(schema, "default");
    str type = json_get_string(schema, "type");
    add_choices(schema, out);
    if (str_eq(type, STR("boolean")))
        buf_add_lit(out, "y or n; ");
    else if (!str_eq(type, STR("string")) && !is_list(schema))
        buf_printf(out, "%.*s; ", STR_ARG(type));
    if (otherwise) {
        buf_add_lit(out, "Enter for ");
        (void)json_write(out, otherwise);
    } else {
        buf_add_lit(out, is_required(f, field(f)->key) ? "required" : "Enter to leave out");
    }
}

void form_add_prompt(const struct form *f, struct buf *out, bool has_color)
{
    struct buf details;
    if (!f->fields) {
        buf_add_lit(out, "Continue? [y]es / [N]o");
        return;
    }
    str title = json_get_string(&field(f)->value, "title");
    str about = json_get_string(&field(f)->value, "description");
    add_safe(out, has_color, STYLE_BOLD, title.n > 0 ? title : field(f)->key);
    if (about.n > 0) {
        buf_add_lit(out, ": ");
        add_safe(out, has_color, 0, about);
    }
    buf_init(&details, TEXT_MAX);
    add_details(f, &details);
    buf_add_char(out, ' ');
    buf_add_lit(out, "(");
    add_safe(out, has_color, STYLE_DIM, buf_str(&details));
    buf_add_lit(out, ")");
    buf_done(&details);
}

/* ---- values ---- */

static bool is_yes(str s)
{
    return str_starts_nocase(s, STR("y")) || str_eq(s, STR("true"));
}

static struct json list_of(struct arena *a, str line)
{
    struct json *list = json_new(a, JSON_ARRAY);
    str item;
    while (str_split(&line, ',', &item))
        if (str_trim(item).n > 0)
            json_push(a, list, json_of_str(arena_str(a, str_trim(item))));
    return *list;
}

/* Numbers are parsed as JSON; other text fails the check against the schema. */
static struct json value_of(struct arena *a, const struct json *schema, str line)
{
    str type = json_get_string(schema, "type");
    struct json *number;
    if (is_list(schema))
        return list_of(a, line);
    if (str_eq(type, STR("boolean")) &&
        (is_yes(line) || str_starts_nocase(line, STR("n")) || str_eq(line, STR("false"))))
        return json_of_bool(is_yes(line));
    if ((str_eq(type, STR("number")) || str_eq(type, STR("integer"))) &&
        json_parse(a, line, JSON_COPY, &number, NULL) == 0)
        return *number;
    return json_of_str(arena_str(a, line));
}

static void next_field(struct form *f)
{
    f->at++;
    if (f->at == f->fields->len)
        f->action = "accept";
}

int form_enter(struct form *f, str line, struct err *e)
{
    assert(!f->action); /* a complete form gets no more lines */
    line = str_trim(line);
    if (!f->fields) {
        f->action = is_yes(line) ? "accept" : "decline";
        return 0;
    }
    const struct json *schema = &field(f)->value;
    str name = field(f)->key;
    if (line.n == 0) {
        if (is_required(f, name) && !json_get(schema, "default"))
            return err_set(e, -EINVAL, "this is required (Ctrl-C declines the whole form)");
        next_field(f);
        return 0;
    }
    struct json value = value_of(&f->arena, schema, line);
    int r = schema_validate(schema, &value, "this", e);
    if (r < 0)
        return r;
    json_set(&f->arena, f->content, name, value);
    next_field(f);
    return 0;
}
