#include "engine/permission.h"

#include <errno.h>

#include "base/nearest.h"
#include "base/utf8.h"
#include "tools/names.h"
#include "tools/tool_selection.h"

struct section {
    str fallback;
    struct json_strs allow, ask, deny;
};

static const struct json_field FIELDS[] = {
    {"default", JF_STR, offsetof(struct section, fallback), 0, NULL, 0},
    {"allow", JF_STRS, offsetof(struct section, allow), 0, NULL, 0},
    {"ask", JF_STRS, offsetof(struct section, ask), 0, NULL, 0},
    {"deny", JF_STRS, offsetof(struct section, deny), 0, NULL, 0},
    {0}};

/* A misspelt key would silently disable its rules. */
static void refuse_unknown(void *ctx, const char *path, const char *meant)
{
    struct err *e = ctx;
    if (e->code)
        return;
    err_set(e, -EINVAL, "%s: unknown key", path);
    nearest_hint(e, meant);
}

int permission_decode(struct arena *a, const struct json *conf, struct permission_rules *ret,
                      struct err *e)
{
    struct section s = {.fallback = STR("allow")};
    *ret = (struct permission_rules){0};
    if (!conf)
        return 0;
    struct err unknown = {0};
    int r = json_decode(a, conf, FIELDS, &s, "permissions", refuse_unknown, &unknown, e);
    if (r < 0)
        return r;
    if (unknown.code)
        return err_set(e, unknown.code, "%s", unknown.msg);
    if (!str_eq(s.fallback, STR("allow")) && !str_eq(s.fallback, STR("ask")))
        return err_set(e, -EINVAL, "permissions.default: '%.*s' is not one of allow, ask",
                       STR_ARG(s.fallback));
    *ret = (struct permission_rules){s.allow, s.ask, s.deny, str_eq(s.fallback, STR("ask"))};
    return 0;
}

static bool is_glob(str s)
{
    static const char CHARS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789_-*";
    for (size_t i = 0; i < s.n; i++)
        if (!memchr(CHARS, s.p[i], sizeof CHARS - 1))
            return false;
    return s.n > 0 && s.n <= PERMISSION_GLOB_MAX;
}

static int check_list(const char *name, struct json_strs list, struct err *e)
{
    if (list.len > PERMISSION_GLOBS_MAX)
        return err_set(e, -EINVAL, "permissions.%s: more than %d names", name,
                       PERMISSION_GLOBS_MAX);
    for (size_t i = 0; i < list.len; i++) {
        str shown = utf8_truncate(list.items[i], PERMISSION_GLOB_MAX);
        if (!is_glob(list.items[i]))
            return err_set(e, -EINVAL,
                           "permissions.%s: '%.*s' matches no tool: a name has letters, digits, _ "
                           "and -, and * for any of them",
                           name, STR_ARG(shown));
    }
    return 0;
}

int permission_check(const struct permission_rules *r, struct err *e)
{
    const struct {
        const char *name;
        struct json_strs list;
    } LISTS[] = {{"allow", r->allow}, {"ask", r->ask}, {"deny", r->deny}};
    for (size_t i = 0; i < ARRAY_LEN(LISTS); i++) {
        int code = check_list(LISTS[i].name, LISTS[i].list, e);
        if (code < 0)
            return code;
    }
    return 0;
}

const char *permission_name(enum permission p)
{
    static const char *const NAMES[] = {
        [PERMISSION_ALLOW] = "allow", [PERMISSION_ASK] = "ask", [PERMISSION_DENY] = "deny"};
    return NAMES[p];
}

static bool is_read_only(const struct tool *t)
{
    return json_get_bool(t->annotations, "readOnlyHint", false);
}

static enum permission by_nature(const struct permission_rules *r, const struct toolset_item *it)
{
    bool is_system = tool_name_is_system(it->name);
    if (is_system)
        return is_read_only(it->tool) ? PERMISSION_ALLOW : PERMISSION_ASK;
    if (r->is_default_ask || it->tool->is_unconfined ||
        json_get_bool(it->tool->annotations, "destructiveHint", false))
        return PERMISSION_ASK;
    return PERMISSION_ALLOW;
}

bool permission_is_explicit_ask(const struct permission_rules *r, const struct toolset_item *it)
{
    str name = toolset_rule_name(it);
    return globs_match(r->ask, name) && !globs_match(r->allow, name) && !globs_match(r->deny, name);
}

enum permission permission_decide(const struct permission_rules *r, const struct toolset_item *it)
{
    str name = toolset_rule_name(it);
    if (globs_match(r->deny, name))
        return PERMISSION_DENY;
    if (it->tool->is_of_view && !is_read_only(it->tool))
        return PERMISSION_ASK; /* a rule for the tools of its server is not consent to this */
    if (globs_match(r->allow, name))
        return PERMISSION_ALLOW;
    if (globs_match(r->ask, name))
        return PERMISSION_ASK;
    return by_nature(r, it);
}
