/* nb schema - prints a JSON Schema of nimblebrain.json, from the table of settings. */
#include "bundle/entry/entry.h"
#include "cli/manual/manual.h"
#include "cli/manual/roff.h"
#include "config/setting.h"

#define SCHEMA_MAX (1024u * 1024)

#define TEXT    "{\"type\":\"string\"}"
#define TEXTS   "{\"type\":\"array\",\"items\":" TEXT "}"
#define NULLTXT "{\"type\":[\"string\",\"null\"]}"

/* Values that upper floors decode. */
static const struct {
    const char *key, *schema;
} SHAPES[] = {
    {"$schema", "{\"type\":\"string\",\"description\":\"address of this schema\"}"},
    {"version", "{\"description\":\"version of the format\",\"enum\":[\"1\",1,null]}"},
    {"permissions", "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
                    "\"default\":{\"enum\":[\"allow\",\"ask\"]},"
                    "\"allow\":" TEXTS ",\"ask\":" TEXTS ",\"deny\":" TEXTS "}}"},
    {"agents", "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"object\",\"required\":["
               "\"description\",\"systemPrompt\"],\"properties\":{\"description\":" TEXT
               ",\"systemPrompt\":" TEXT ",\"tools\":" TEXTS
               ",\"maxIterations\":{\"type\":\"integer\"},\"model\":" NULLTXT "}}}"},
    {"providers",
     "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"object\",\"properties\":{"
     "\"type\":{\"enum\":[\"anthropic\",\"openai\",\"openai-responses\",\"google\",\"bedrock\"]},"
     "\"baseURL\":" TEXT ",\"apiKey\":" NULLTXT ",\"apiKeyFile\":" NULLTXT
     ",\"headers\":{\"type\":\"object\"}}}}"},
    {"skills", "{\"type\":\"array\"}"},
};

static const char *shape_of(const char *key)
{
    for (size_t i = 0; i < ARRAY_LEN(SHAPES); i++)
        if (strcmp(SHAPES[i].key, key) == 0)
            return SHAPES[i].schema;
    return NULL;
}

static const char *json_type(enum json_field_type t)
{
    switch (t) {
    case JF_INT:
        return "integer";
    case JF_DOUBLE:
        return "number";
    case JF_BOOL:
        return "boolean";
    case JF_STRS:
    case JF_OBJECTS:
        return "array";
    case JF_OBJECT:
    case JF_JSON_OBJECT:
        return "object";
    case JF_STR:
    case JF_CSTR:
        return "string";
    case JF_JSON:
        break;
    }
    return NULL;
}

static void put_type(struct json_writer *w, enum json_field_type t, bool is_nullable)
{
    const char *type = json_type(t);
    if (!type)
        return;
    if (is_nullable) {
        jw_karray(w, "type");
        jw_cstr(w, type);
        jw_cstr(w, "null");
        jw_end(w);
    } else
        jw_kcstr(w, "type", type);
    if (t == JF_STRS)
        jw_kraw(w, "items", STR(TEXT));
}

static void put_fields(struct json_writer *w, const struct json_field *fields)
{
    jw_kobject(w, "properties");
    for (const struct json_field *f = fields; f->name; f++) {
        jw_kobject(w, f->name);
        put_type(w, f->type, f->flags & JF_NULLABLE);
        if (f->about)
            jw_kcstr(w, "description", f->about);
        if (f->fields)
            put_fields(w, f->fields);
        jw_end(w);
    }
    jw_end(w);
}

static void put_choices(struct json_writer *w, const struct setting *s)
{
    str rest = str_from(s->choices), one;
    jw_karray(w, "enum");
    while (str_split(&rest, ',', &one))
        jw_str(w, str_trim(one));
    if (s->flags & SETTING_NULLABLE)
        jw_null(w);
    jw_end(w);
}

static void put_default(struct json_writer *w, const struct setting *s)
{
    if (s->type == JF_BOOL || (s->initial && s->type == JF_INT))
        jw_kraw(w, "default", str_from(s->initial ? s->initial : "false"));
    else if (s->initial)
        jw_kcstr(w, "default", s->initial);
}

static void put_setting(struct json_writer *w, struct arena *a, const struct setting *s)
{
    if (shape_of(s->key) && !s->help) {
        jw_raw(w, str_from(shape_of(s->key)));
        return;
    }
    jw_object(w);
    if (s->help)
        jw_kstr(w, "description", roff_plain(a, str_from(s->help)));
    if (shape_of(s->key))
        jw_kraw(w, "allOf", arena_printf(a, "[%s]", shape_of(s->key)));
    else if (strcmp(s->key, "bundles") == 0) {
        jw_kcstr(w, "type", "array");
        jw_kobject(w, "items");
        jw_kcstr(w, "type", "object");
        put_fields(w, BUNDLE_ENTRY_FIELDS);
        jw_end(w);
    } else
        put_type(w, s->type, s->flags & SETTING_NULLABLE);
    if (s->choices)
        put_choices(w, s);
    if (s->type == JF_INT && !(s->flags & SETTING_CHECKED)) {
        jw_kint(w, "minimum", s->min);
        if (s->max != INT64_MAX)
            jw_kint(w, "maximum", s->max);
    }
    put_default(w, s);
    jw_end(w);
}

/* The sections are objects in objects: "http", then "rateLimits" in it. */
struct schema_node {
    str name;
    const struct setting *setting; /* NULL: a section only */
    struct schema_node *below, *next;
};

static struct schema_node *node_below(struct arena *a, struct schema_node *up, str name)
{
    struct schema_node **at = &up->below;
    while (*at && !str_eq((*at)->name, name))
        at = &(*at)->next;
    if (!*at) {
        *at = arena_array(a, 1, sizeof **at);
        **at = (struct schema_node){.name = name};
    }
    return *at;
}

static void put_section(struct json_writer *w, struct arena *a, const struct schema_node *up)
{
    jw_kcstr(w, "type", "object");
    jw_kbool(w, "additionalProperties", false); /* nb warns about an unknown key */
    jw_kobject(w, "properties");
    for (const struct schema_node *n = up->below; n; n = n->next) {
        jw_key_str(w, n->name);
        if (n->setting)
            put_setting(w, a, n->setting);
        else {
            jw_object(w);
            put_section(w, a, n);
            jw_end(w);
        }
    }
    jw_end(w);
}

static void put_schema(struct json_writer *w, struct arena *a)
{
    struct schema_node root = {0};
    for (size_t i = 0; i < SETTINGS_LEN; i++) {
        const struct setting *s = &SETTINGS[i];
        str rest = str_from(s->key), one;
        struct schema_node *n = &root;
        /* keys of one provider are described with `providers` */
        if (!s->key || s->flags & SETTING_FILE_FIRST)
            continue;
        while (str_split(&rest, '.', &one))
            n = node_below(a, n, one);
        n->setting = s;
    }
    jw_object(w);
    jw_kcstr(w, "$schema", "https://json-schema.org/draft/2020-12/schema");
    jw_kcstr(w, "title", "nimblebrain.json");
    jw_kcstr(w, "description", "settings of nb " NB_VERSION);
    put_section(w, a, &root);
    jw_end(w);
}

static int run_schema(struct cmd *x)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, SCHEMA_MAX);
    put_schema(&w, &x->arena);
    buf_add_char(&b, '\n');
    fwrite(b.p, 1, b.n, stdout);
    buf_done(&b);
    return EXIT_DONE;
}

const struct command CMD_SCHEMA = {
    .name = "schema",
    .summary = "print a JSON Schema of the settings file",
    .help = "Editors that know JSON Schema complete and check nimblebrain.json with it. Write it "
            "to a file, and name the file in \"$schema\" of the settings.\n"
            "\n"
            "  nb schema > ~/.nimblebrain/schema.json\n",
    .run = run_schema,
};
