/* parse.c - one Markdown file with YAML frontmatter becomes one skill.
 *
 * People write these files by hand: valid values are used, and each invalid value is a warning with
 * its line number. Values are at the top level, under `metadata`, or under
 * `metadata.nimblebrain`. */
#include <assert.h>
#include <errno.h>

#include "base/json/yaml.h"
#include "base/utf8.h"
#include "skill/impl.h"

struct parsing {
    struct arena *a;
    str path, text;
    const struct json *meta;
    bool is_standard;
    struct skill *skill;
    struct skill_problems *problems;
};

void skill_problem_add(struct arena *a, struct skill_problems *list, enum skill_severity severity,
                       str path, unsigned line, const char *fmt, ...)
{
    va_list ap;

    if (list->len >= SKILL_PROBLEMS_MAX)
        return;
    if (list->len % 16 == 0)
        list->items = arena_copy(a, list->items, list->len, list->len + 16, sizeof(*list->items));
    va_start(ap, fmt);
    list->items[list->len++] = (struct skill_problem){
        .severity = severity,
        .path = arena_str(a, path),
        .line = line,
        .message = list->len + 1 < SKILL_PROBLEMS_MAX
                       ? arena_vprintf(a, fmt, ap)
                       : STR("too many problems; the others are not listed"),
    };
    va_end(ap);
}

/* The line a key of the frontmatter is on; 0 when it is not found. */
static unsigned line_of(str text, const char *key)
{
    str rest = text, line;
    for (unsigned n = 1; str_split(&rest, '\n', &line); n++) {
        str t = str_trim(line);
        if (n > 1 && str_eq(t, STR("---")))
            break;
        if (str_starts(t, str_from(key)) && str_starts(str_skip(t, strlen(key)), STR(":")))
            return n;
    }
    return 0;
}

#define WARN(p, key, ...)                                                                          \
    skill_problem_add((p)->a, (p)->problems, SKILL_WARNING, (p)->path, line_of((p)->text, (key)),  \
                      __VA_ARGS__)

static int parse_fail(struct parsing *p, unsigned line, const char *message)
{
    skill_problem_add(p->a, p->problems, SKILL_ERROR, p->path, line, "%s", message);
    return -EINVAL;
}

/* ---- values ---- */

/* "key:" without a value gives null, which is the same as no key. */
static const struct json *get(const struct parsing *p, const char *key)
{
    const struct json *metadata = json_get(p->meta, "metadata");
    const struct json *places[] = {p->meta, metadata, json_get(metadata, "nimblebrain")};

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        const struct json *v = json_get(places[i], key);
        if (v && v->type != JSON_NULL)
            return v;
    }
    return NULL;
}

static bool is_scalar(const struct json *v)
{
    return v->type != JSON_ARRAY && v->type != JSON_OBJECT && v->type != JSON_NULL;
}

/* `version: 1.0` and `- 404` are numbers in YAML, but the author meant text. */
static str yaml_scalar_text(struct parsing *p, const struct json *v)
{
    return v->type == JSON_STRING ? arena_str(p->a, v->s) : json_to_str(p->a, v);
}

static str get_text(struct parsing *p, const char *key, str otherwise)
{
    const struct json *v = get(p, key);
    if (!v)
        return otherwise;
    if (!is_scalar(v)) {
        WARN(p, key, "%s: expected text", key);
        return otherwise;
    }
    return str_trim(yaml_scalar_text(p, v));
}

static struct json_strs get_list(struct parsing *p, const char *key)
{
    const struct json *v = get(p, key);
    struct json_strs out = {0};

    if (!v)
        return out;
    size_t n = v->type == JSON_ARRAY ? v->len : 1;
    if (n > SKILL_PHRASES_MAX) {
        WARN(p, key, "%s: only the first %d entries are used", key, SKILL_PHRASES_MAX);
        n = SKILL_PHRASES_MAX;
    }
    out.items = arena_array(p->a, n, sizeof(str));
    for (size_t i = 0; i < n; i++) {
        const struct json *item = v->type == JSON_ARRAY ? json_at(v, i) : v;
        str s = is_scalar(item) ? yaml_scalar_text(p, item) : STR_NONE;
        if (str_trim(s).n == 0)
            WARN(p, key, "%s: entry %zu is empty or not text", key, i + 1);
        else if (!json_strs_has(&out, s))
            out.items[out.len++] = s;
    }
    return out;
}

/* Removes phrases that are equal in lower case. */
static void get_phrases(struct parsing *p, const char *key, struct json_strs *ret,
                        struct json_strs *ret_folded)
{
    struct json_strs list = get_list(p, key);
    struct json_strs folded = {.items = arena_array(p->a, list.len, sizeof(str))};
    size_t kept = 0;

    for (size_t i = 0; i < list.len; i++) {
        str f = skill_fold(p->a, list.items[i]);
        if (json_strs_has(&folded, f))
            continue;
        folded.items[folded.len++] = f;
        list.items[kept++] = list.items[i];
    }
    assert(kept == folded.len); /* pairs: look_for uses one index for both */
    list.len = kept;
    *ret = list;
    *ret_folded = folded;
}

/* ---- fields ---- */

static bool is_plain_name(str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-';
        if (!ok)
            return false;
    }
    return true;
}

static int read_name(struct parsing *p)
{
    str name = get_text(p, "name", STR_NONE);

    if (name.n == 0)
        return parse_fail(p, line_of(p->text, "name"), "name is missing");
    if (name.n > SKILL_NAME_MAX)
        return parse_fail(p, line_of(p->text, "name"), "name is longer than 64 characters");
    if (!is_plain_name(name))
        WARN(p, "name", "name: only letters, digits, '_' and '-' can be used to edit it later");
    p->skill->name = name;
    return 0;
}

static void read_type(struct parsing *p)
{
    str type = get_text(p, "type", STR_NONE);
    str strategy = get_text(p, "loading-strategy", STR_NONE);

    p->skill->type = SKILL_TASK;
    if (str_eq(type, STR("context")) || (type.n == 0 && str_eq(strategy, STR("always"))))
        p->skill->type = SKILL_CONTEXT;
    else if (type.n == 0 && !p->is_standard)
        WARN(p, "type", "type is missing: using \"skill\"");
    else if (type.n > 0 && !str_eq(type, STR("skill")))
        WARN(p, "type", "type: expected \"skill\" or \"context\"; using \"skill\"");
}

static void read_priority(struct parsing *p)
{
    const struct json *v = get(p, "priority");

    p->skill->priority = SKILL_PRIORITY_DEFAULT;
    if (json_is(v, JSON_INT))
        p->skill->priority = v->i;
    else if (v)
        WARN(p, "priority", "priority: expected a whole number; using 50");
    else if (!p->is_standard)
        WARN(p, "priority", "priority is missing: using 50");
}

/* In the Agent Skills standard this is one string with tool names of another program. Used as globs
 * it would hide every tool. */
static void read_allowed_tools(struct parsing *p)
{
    const struct json *v = get(p, "allowed-tools");

    if (p->is_standard && json_is(v, JSON_STRING))
        WARN(p, "allowed-tools", "allowed-tools: ignored because it is not a list of globs");
    else
        p->skill->allowed_tools = get_list(p, "allowed-tools");
}

/* A SKILL.md describes in its description when to use it; asking for it by name always works. */
static void add_name_triggers(struct parsing *p)
{
    struct skill *s = p->skill;
    str spaced = arena_str(p->a, s->name);
    for (size_t i = 0; i < spaced.n; i++)
        if (spaced.p[i] == '-' || spaced.p[i] == '_')
            ((char *)(uintptr_t)spaced.p)[i] = ' ';

    const str triggers[] = {
        arena_printf(p->a, "/%.*s", STR_ARG(s->name)),
        arena_printf(p->a, "%.*s skill", STR_ARG(s->name)),
        arena_printf(p->a, "%.*s skill", STR_ARG(spaced)),
    };
    s->triggers.items = arena_array(p->a, ARRAY_LEN(triggers), sizeof(str));
    s->folded_triggers.items = arena_array(p->a, ARRAY_LEN(triggers), sizeof(str));
    for (size_t i = 0; i < ARRAY_LEN(triggers); i++) {
        s->triggers.items[i] = triggers[i];
        s->folded_triggers.items[i] = skill_fold(p->a, triggers[i]);
    }
    s->triggers.len = s->folded_triggers.len = ARRAY_LEN(triggers);
}

static void read_phrases(struct parsing *p)
{
    struct skill *s = p->skill;

    get_phrases(p, "triggers", &s->triggers, &s->folded_triggers);
    get_phrases(p, "keywords", &s->keywords, &s->folded_keywords);
    if (s->type != SKILL_TASK || s->triggers.len > 0)
        return;
    if (p->is_standard && s->keywords.len < SKILL_KEYWORDS_MIN)
        add_name_triggers(p);
    else if (s->keywords.len < SKILL_KEYWORDS_MIN)
        WARN(p, "keywords", "never matches: it has no triggers and fewer than %d keywords",
             SKILL_KEYWORDS_MIN);
}

static void warn_unknown_keys(struct parsing *p)
{
    static const char *const KNOWN[] = {
        "name",          "description",   "version",  "type",     "priority",
        "allowed-tools", "metadata",      "triggers", "keywords", "requires-bundles",
        "license",       "compatibility", "category", "tags",     "author",
        "body",
    };
    for (uint32_t i = 0; !p->is_standard && i < p->meta->len; i++) {
        str key = p->meta->members[i].key;
        bool known = false;
        for (size_t k = 0; k < ARRAY_LEN(KNOWN) && !known; k++)
            known = str_eq(key, str_from(KNOWN[k]));
        if (!known)
            WARN(p, arena_cstr(p->a, key), "unknown key \"%.*s\" is ignored",
                 STR_ARG(utf8_truncate(key, SKILL_NAME_MAX)));
    }
}

static void read_description(struct parsing *p)
{
    str d = get_text(p, "description", STR(""));
    if (d.n > SKILL_DESCRIPTION_MAX) {
        WARN(p, "description", "description: cut at %d characters", SKILL_DESCRIPTION_MAX);
        d = utf8_truncate(d, SKILL_DESCRIPTION_MAX);
    }
    p->skill->description = d;
}

/* ---- the file ---- */

/* yaml.h adds "line N: " in front of its messages. */
static int fail_yaml(struct parsing *p, const struct err *e)
{
    str message = str_from(e->msg), number = STR_NONE, rest = message;
    uint64_t line = 0;

    if (str_starts(message, STR("line ")) && str_split(&rest, ':', &number) &&
        parse_u64(str_skip(number, 5), &line) == 0)
        message = str_trim(rest);
    return parse_fail(p, (unsigned)line, arena_cstr(p->a, message));
}

static int read_frontmatter(struct parsing *p)
{
    struct json *meta = NULL;
    struct err e = {0};

    if (yaml_frontmatter(p->a, p->text, &meta, &p->skill->body, &e) < 0)
        return fail_yaml(p, &e);
    if (!meta)
        return parse_fail(p, 1, "no frontmatter: the file must start with a line \"---\"");
    if (meta->type != JSON_OBJECT)
        return parse_fail(p, 2, "the frontmatter must consist of \"key: value\" lines");
    p->meta = meta;
    return 0;
}

static void read_fields(struct parsing *p)
{
    struct skill *s = p->skill;

    read_description(p);
    read_type(p);
    read_priority(p);
    read_allowed_tools(p);
    read_phrases(p);
    s->version = get_text(p, "version", STR("0.0.0"));
    s->requires_bundles = get_list(p, "requires-bundles");
    s->tags = get_list(p, "tags");
    s->category = get_text(p, "category", STR(""));
    s->author = get_text(p, "author", STR(""));
    s->body = arena_str(p->a, str_trim(s->body));
    warn_unknown_keys(p);
}

int skill_from_json(struct arena *a, str path, const struct json *obj, struct skill *ret,
                    struct skill_problems *problems)
{
    struct skill skill = {.path = arena_str(a, path)};
    struct parsing p = {.a = a, .path = path, .meta = obj, .skill = &skill, .problems = problems};

    if (!json_is(obj, JSON_OBJECT))
        return parse_fail(&p, 0, "expected an object");
    if (read_name(&p) < 0)
        return -EINVAL;
    skill.body = get_text(&p, "body", STR(""));
    if (skill.body.n > SKILL_BYTES_MAX)
        return parse_fail(&p, 0, "body is larger than 256 KiB");
    read_fields(&p);
    *ret = skill;
    return 0;
}

int skill_parse(struct arena *a, str path, str text, bool is_standard, struct skill *ret,
                struct skill_problems *problems)
{
    struct skill skill = {.path = arena_str(a, path)};
    struct parsing p = {.a = a,
                        .path = path,
                        .text = text,
                        .is_standard = is_standard,
                        .skill = &skill,
                        .problems = problems};

    if (text.n > SKILL_BYTES_MAX)
        return parse_fail(&p, 0, "the file is larger than 256 KiB");
    if (!utf8_valid(text))
        return parse_fail(&p, 0, "the file is not UTF-8 text");
    if (read_frontmatter(&p) < 0 || read_name(&p) < 0)
        return -EINVAL;
    read_fields(&p);
    *ret = skill;
    return 0;
}
