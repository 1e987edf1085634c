#include "skill/edit.h"

#include <errno.h>
#include <unistd.h>

#include "os/file.h"

const struct json_field SKILL_DRAFT_FIELDS[] = {
    {"description", JF_STR, offsetof(struct skill_draft, description), 0, NULL, 0,
     "What the skill is for, in one line."},
    {"body", JF_STR, offsetof(struct skill_draft, body), 0, NULL, 0,
     "The instructions, as Markdown."},
    {"type", JF_STR, offsetof(struct skill_draft, type_name), 0, NULL, 0,
     "A task skill is chosen by the message; a context skill always applies.", "'skill'|'context'"},
    {"priority", JF_INT, offsetof(struct skill_draft, priority), 0, NULL, 0,
     "The order among context skills; lower ones first.", "integer(11..99)"},
    {"triggers", JF_STRS, offsetof(struct skill_draft, triggers), 0, NULL, 0,
     "Phrases that select a task skill."},
    {"keywords", JF_STRS, offsetof(struct skill_draft, keywords), 0, NULL, 0,
     "Words that select a task skill."},
    {"allowed_tools", JF_STRS, offsetof(struct skill_draft, allowed_tools), 0, NULL, 0,
     "Patterns of the only tools that a run with it may use."},
    {"requires_bundles", JF_STRS, offsetof(struct skill_draft, requires_bundles), 0, NULL, 0,
     "Apps without which it is not used."},
    {"tags", JF_STRS, offsetof(struct skill_draft, tags), 0, NULL, 0, "Words to sort it by."},
    {"category", JF_STR, offsetof(struct skill_draft, category), 0, NULL, 0,
     "A group to sort it into."},
    {0},
};

/* Compared in lower case with white space as single spaces. */
static const char *const TAKEOVERS[] = {
    "ignore previous instructions",    "ignore all previous",       "ignore your instructions",
    "disregard previous instructions", "disregard all previous",    "forget your instructions",
    "override your instructions",      "reveal your system prompt",
};

int skill_draft_from_json(struct arena *a, str name, const struct json *obj,
                          struct skill_draft *ret, struct err *e)
{
    ret->name = name;
    ret->type_name = STR_NONE;
    int code = json_decode(a, obj, SKILL_DRAFT_FIELDS, ret, "skill", NULL, NULL, e);
    if (code < 0)
        return code;
    if (str_eq(ret->type_name, STR("context")))
        ret->type = SKILL_CONTEXT;
    else if (str_eq(ret->type_name, STR("skill")))
        ret->type = SKILL_TASK;
    else if (ret->type_name.p)
        return err_set(e, -EINVAL, "skill.type: expected \"skill\" or \"context\"");
    return 0;
}

struct skill_draft skill_draft_of(const struct skill *s)
{
    return (struct skill_draft){
        .name = s->name,
        .description = s->description,
        .body = s->body,
        .type = s->type,
        .priority = s->priority,
        .triggers = s->triggers,
        .keywords = s->keywords,
        .allowed_tools = s->allowed_tools,
        .requires_bundles = s->requires_bundles,
        .tags = s->tags,
        .category = s->category,
    };
}

/* ---- checking ---- */

static int check_name(str name, struct err *e)
{
    if (name.n == 0 || name.n > SKILL_NAME_MAX)
        return err_set(e, -EINVAL, "name: expected 1 to %d characters", SKILL_NAME_MAX);
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-';
        if (!ok)
            return err_set(e, -EINVAL, "name: only letters, digits, '_' and '-' are allowed");
    }
    if (skill_name_reserved(name))
        return err_set(e, -EPERM, "name: \"%.*s\" is a core skill; choose another name",
                       STR_ARG(name));
    return 0;
}

static str with_single_spaces(struct arena *a, str s)
{
    char *out = arena_alloc(a, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        bool is_space = (unsigned char)s.p[i] <= ' ';
        if (!is_space)
            out[n++] = s.p[i];
        else if (n > 0 && out[n - 1] != ' ')
            out[n++] = ' ';
    }
    return str_make(out, n);
}

static int check_body(str body, struct err *e)
{
    struct arena a;
    int rc = 0;

    if (str_trim(body).n == 0)
        return err_set(e, -EINVAL, "body: required");
    if (body.n > SKILL_BYTES_MAX / 2)
        return err_set(e, -EINVAL, "body: larger than 128 KiB");
    arena_init(&a);
    str folded = with_single_spaces(&a, skill_fold(&a, body));
    for (size_t i = 0; i < ARRAY_LEN(TAKEOVERS) && rc == 0; i++)
        if (str_find(folded, str_from(TAKEOVERS[i]), 0) >= 0)
            rc = err_set(e, -EPERM, "body: \"%s\" is not allowed in a skill", TAKEOVERS[i]);
    arena_done(&a);
    return rc;
}

int skill_draft_check(const struct skill_draft *d, str *ret_warning, struct err *e)
{
    int rc = check_name(d->name, e);

    if (rc < 0 || (rc = check_body(d->body, e)) < 0)
        return rc;
    if (d->priority != 0 &&
        (d->priority < SKILL_DRAFT_PRIORITY_MIN || d->priority > SKILL_DRAFT_PRIORITY_MAX))
        return err_set(e, -EINVAL, "priority: expected %d to %d", SKILL_DRAFT_PRIORITY_MIN,
                       SKILL_DRAFT_PRIORITY_MAX);
    *ret_warning = STR_NONE;
    for (size_t i = 0; i < d->allowed_tools.len; i++)
        if (str_eq(d->allowed_tools.items[i], STR("*")))
            *ret_warning = STR("allowed_tools contains \"*\", so this skill does not limit tools.");
    if (d->type == SKILL_TASK && d->triggers.len == 0 && d->keywords.len < SKILL_KEYWORDS_MIN)
        *ret_warning = STR("It never matches: give it a trigger or at least two keywords.");
    return 0;
}

/* ---- the file ---- */

/* A JSON string is a valid double-quoted string of YAML. */
static void put_text(struct buf *out, const char *key, str value)
{
    if (value.n == 0)
        return;
    buf_printf(out, "%s: ", key);
    json_write_string(out, value);
    buf_add_char(out, '\n');
}

static void put_list(struct buf *out, const char *indent, const char *key, struct json_strs list)
{
    if (list.len == 0)
        return;
    buf_printf(out, "%s%s:\n", indent, key);
    for (size_t i = 0; i < list.len; i++) {
        buf_printf(out, "%s  - ", indent);
        json_write_string(out, list.items[i]);
        buf_add_char(out, '\n');
    }
}

str skill_draft_render(struct arena *a, const struct skill_draft *d)
{
    struct buf out;

    buf_init(&out, 8 * SKILL_BYTES_MAX);
    buf_add_lit(&out, "---\n");
    put_text(&out, "name", d->name);
    put_text(&out, "description", d->description);
    buf_printf(&out, "version: \"1.0\"\ntype: %s\npriority: %lld\n", skill_type_name(d->type),
               (long long)(d->priority ? d->priority : SKILL_PRIORITY_DEFAULT));
    put_list(&out, "", "allowed-tools", d->allowed_tools);
    put_list(&out, "", "requires-bundles", d->requires_bundles);
    if (d->triggers.len + d->keywords.len + d->tags.len + d->category.n > 0)
        buf_add_lit(&out, "metadata:\n");
    put_list(&out, "  ", "triggers", d->triggers);
    put_list(&out, "  ", "keywords", d->keywords);
    put_list(&out, "  ", "tags", d->tags);
    put_text(&out, "  category", d->category);
    buf_add_lit(&out, "---\n");
    buf_add_str(&out, str_trim(d->body));
    buf_add_char(&out, '\n');
    return buf_keep(&out, a);
}

/* Parses the text first, so that a file that cannot be loaded is not written. */
static int check_draft_text(str text, struct err *e)
{
    struct skill_problems problems = {0};
    struct skill skill;
    struct arena a;

    arena_init(&a);
    int rc = skill_parse(&a, STR("skill"), text, false, &skill, &problems);
    for (size_t i = 0; rc < 0 && i < problems.len; i++)
        if (problems.items[i].severity == SKILL_ERROR)
            err_set(e, rc, "line %u: %.*s", problems.items[i].line,
                    STR_ARG(problems.items[i].message));
    arena_done(&a);
    return rc;
}

static const char *skill_path(struct arena *a, str dir, str name)
{
    return arena_printf(a, "%.*s/%.*s.md", STR_ARG(dir), STR_ARG(name)).p;
}

int skill_file_write(str dir, str name, str text, struct err *e)
{
    struct arena a;
    int rc = check_name(name, e);

    if (rc < 0 || (rc = check_draft_text(text, e)) < 0)
        return rc;
    arena_init(&a);
    rc = file_make_dirs(arena_cstr(&a, dir), e);
    if (rc == 0)
        rc = file_write_atomic(skill_path(&a, dir, name), text, 0600, e);
    arena_done(&a);
    return rc;
}

int skill_file_delete(str dir, str name, struct err *e)
{
    struct arena a;
    int rc = check_name(name, e);

    if (rc < 0)
        return rc;
    arena_init(&a);
    const char *path = skill_path(&a, dir, name);
    if (unlink(path) < 0)
        rc = errno == ENOENT
                 ? err_set(e, -ENOENT, "No skill '%.*s' can be deleted here.", STR_ARG(name))
                 : err_errno(e, -errno, "cannot delete", path);
    arena_done(&a);
    return rc;
}
