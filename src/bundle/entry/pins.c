#include "bundle/entry/pins.h"

#include <errno.h>

#include "base/text/hidden.h"
#include "base/utf8.h"

#define PINS_VERSION 1
#define FIELD_MAX    512 /* bytes of a path to a value */

static const char *const FIELDS[] = {"title", "description", "inputSchema", "outputSchema",
                                     "annotations"};

const char *pin_why_name(enum pin_why w)
{
    static const char *const NAMES[] = {"new",    "changed",  "shadows",
                                        "hidden", "repeated", "too_large"};
    return NAMES[w];
}

/* ---- identity ---- */

static void add_part(struct buf *b, str s)
{
    (void)buf_add_str(b, s);
    (void)buf_add_char(b, '\0');
}

void pin_source(const struct bundle_entry *e, char ret[SHA256_HEX_LEN + 1])
{
    struct buf b;
    buf_init(&b, PINS_BYTES_MAX);
    add_part(&b, str_from(bundle_kind_name(e->kind)));
    add_part(&b, e->name);
    add_part(&b, e->path);
    add_part(&b, e->url);
    add_part(&b, e->command);
    for (size_t i = 0; i < e->args.len; i++)
        add_part(&b, e->args.items[i]);
    sha256_hex(buf_str(&b), ret);
    buf_done(&b);
}

struct json *pin_definition(struct arena *a, const struct json *tool)
{
    struct json *ret = json_new(a, JSON_OBJECT);
    for (size_t i = 0; i < ARRAY_LEN(FIELDS); i++) {
        const struct json *v = json_get(tool, FIELDS[i]);
        if (v && v->type != JSON_NULL)
            json_set(a, ret, str_from(FIELDS[i]), *v);
    }
    return ret;
}

void pin_digest(struct arena *a, str name, const struct json *definition,
                char ret[SHA256_HEX_LEN + 1])
{
    str text = json_to_str(a, definition);
    struct buf b;
    buf_init(&b, name.n + text.n + 2);
    add_part(&b, name);
    (void)buf_add_str(&b, text);
    sha256_hex(buf_str(&b), ret);
    buf_done(&b);
}

/* ---- the file ---- */

struct json *pins_new(struct arena *a, str source)
{
    struct json *ret = json_new(a, JSON_OBJECT);
    json_set(a, ret, STR("version"), json_of_int(PINS_VERSION));
    json_set(a, ret, STR("source"), json_of_str(arena_str(a, source)));
    json_set(a, ret, STR("tools"), *json_new(a, JSON_OBJECT));
    return ret;
}

int pins_parse(struct arena *a, str text, struct json **ret, struct err *e)
{
    struct json *v;
    if (text.n > PINS_BYTES_MAX)
        return err_set(e, -EINVAL, "the pin file is larger than %u MiB", PINS_BYTES_MAX >> 20);
    int r = json_parse(a, text, JSON_COPY | JSON_UNIQUE, &v, e);
    if (r < 0)
        return r;
    const struct json *tools = json_get(v, "tools"), *instructions = json_get(v, "instructions");
    if (json_get_int(v, "version", 0) != PINS_VERSION || !json_is(tools, JSON_OBJECT) ||
        json_get_string(v, "source").n != SHA256_HEX_LEN ||
        (instructions && instructions->type != JSON_STRING))
        return err_set(e, -EINVAL, "it is not a pin file of version %d", PINS_VERSION);
    for (size_t i = 0; i < tools->len; i++)
        if (tools->members[i].value.type != JSON_OBJECT)
            return err_set(e, -EINVAL, "tools: a definition is not an object");
    *ret = v;
    return 0;
}

const struct json *pins_tool(const struct json *pins, str name)
{
    return json_get_str(json_get(pins, "tools"), name);
}

/* ---- differences ---- */

struct differ {
    struct arena *arena;
    struct pin_change *out;
    size_t n;
};

static str value_text(struct differ *d, const struct json *v)
{
    if (!v)
        return STR_NONE;
    str text = v->type == JSON_STRING ? v->s : json_to_str(d->arena, v);
    bool is_cut = text.n > PIN_TEXT_MAX;
    text = hidden_show(d->arena, utf8_truncate(text, PIN_TEXT_MAX));
    return is_cut ? arena_printf(d->arena, "%.*s ...", STR_ARG(text)) : text;
}

static void add_change(struct differ *d, str field, const struct json *x, const struct json *y)
{
    if (d->n == PIN_CHANGES_MAX)
        return;
    d->out[d->n++] = (struct pin_change){
        .field = hidden_show(d->arena, field),
        .before = value_text(d, x),
        .after = value_text(d, y),
    };
}

static void compare_values(struct differ *d, str field, const struct json *x, const struct json *y);

static void compare_member(struct differ *d, str field, str key, const struct json *x,
                           const struct json *y)
{
    str below =
        field.n == 0 ? key : arena_printf(d->arena, "%.*s.%.*s", STR_ARG(field), STR_ARG(key));
    compare_values(d, utf8_truncate(below, FIELD_MAX), json_get_str(x, key), json_get_str(y, key));
}

/* Members of both; those of x first. */
static void compare_objects(struct differ *d, str field, const struct json *x, const struct json *y)
{
    for (size_t i = 0; i < x->len && d->n < PIN_CHANGES_MAX; i++)
        compare_member(d, field, x->members[i].key, x, y);
    for (size_t i = 0; i < y->len && d->n < PIN_CHANGES_MAX; i++)
        if (!json_get_str(x, y->members[i].key))
            compare_member(d, field, y->members[i].key, x, y);
}

static void compare_values(struct differ *d, str field, const struct json *x, const struct json *y)
{
    if (x && y && json_equal(x, y))
        return;
    if (json_is(x, JSON_OBJECT) && json_is(y, JSON_OBJECT))
        compare_objects(d, field, x, y);
    else if (x || y)
        add_change(d, field, x, y);
}

size_t pin_diff(struct arena *a, const struct json *before, const struct json *after,
                struct pin_change ret[PIN_CHANGES_MAX])
{
    static const struct json NOTHING = {.type = JSON_OBJECT};
    struct differ d = {.arena = a, .out = ret};
    compare_values(&d, STR_NONE, before ? before : &NOTHING, after ? after : &NOTHING);
    return d.n;
}
