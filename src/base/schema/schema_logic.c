/* schema_logic.c - keywords that combine schemas, and references between them. */
#include "base/schema/schema_impl.h"

/* Fails at this path. If the deepest failure of the branches is inside the value, it is the best
 * explanation and is reported instead. */
static bool fail_with_guess(struct schema_run *r, const struct schema_path *at, const char *what)
{
    if (r->speculating > 0 || r->guess_depth <= at->depth)
        return schema_fail(r, at, "%s", what);
    *r->error = r->guess;
    return false;
}

static void forget_guess(struct schema_run *r)
{
    if (r->speculating == 0)
        r->guess_depth = 0;
}

bool schema_all_of(struct schema_run *r, const struct json *schema, const struct json *arg,
                   const struct json *value, const struct schema_path *at)
{
    for (size_t i = 0; i < (arg->type == JSON_ARRAY ? arg->len : 0); i++)
        if (!schema_check(r, json_at(arg, i), value, at))
            return false;
    return true;
}

bool schema_any_of(struct schema_run *r, const struct json *schema, const struct json *arg,
                   const struct json *value, const struct schema_path *at)
{
    if (arg->type != JSON_ARRAY || arg->len == 0)
        return true;
    forget_guess(r);
    for (size_t i = 0; i < arg->len; i++)
        if (schema_fits(r, json_at(arg, i), value, at))
            return true;
    return fail_with_guess(r, at, "fits none of the allowed forms (anyOf)");
}

bool schema_one_of(struct schema_run *r, const struct json *schema, const struct json *arg,
                   const struct json *value, const struct schema_path *at)
{
    if (arg->type != JSON_ARRAY || arg->len == 0)
        return true;
    size_t fitting = 0;
    forget_guess(r);
    for (size_t i = 0; i < arg->len; i++)
        fitting += schema_fits(r, json_at(arg, i), value, at);
    if (fitting == 1 || r->gave_up)
        return true;
    if (fitting == 0)
        return fail_with_guess(r, at, "fits none of the allowed forms (oneOf)");
    return schema_fail(r, at, "fits %zu forms where exactly one is allowed (oneOf)", fitting);
}

bool schema_not(struct schema_run *r, const struct json *schema, const struct json *arg,
                const struct json *value, const struct schema_path *at)
{
    bool understood = arg->type == JSON_BOOL || arg->type == JSON_OBJECT;
    if (!understood || !schema_fits(r, arg, value, at) || r->gave_up)
        return true;
    return schema_fail(r, at, "has a form that is not allowed (not)");
}

bool schema_if(struct schema_run *r, const struct json *schema, const struct json *arg,
               const struct json *value, const struct schema_path *at)
{
    const char *branch = schema_fits(r, arg, value, at) ? "then" : "else";
    return schema_check(r, json_get(schema, branch), value, at);
}

bool schema_ref(struct schema_run *r, const struct json *schema, const struct json *arg,
                const struct json *value, const struct schema_path *at)
{
    const struct json *target = schema_resolve(r, json_string(arg, STR_NONE));
    return target ? schema_check(r, target, value, at) : true;
}

/* ---- references ---- */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Undoes %XX and then ~0 ~1 of one part of a JSON pointer in place. */
static size_t unescape_part(char *p, size_t n)
{
    size_t decoded = 0, out = 0;

    for (size_t i = 0; i < n; i++) {
        int high = p[i] == '%' && i + 2 < n ? hex_value(p[i + 1]) : -1;
        int low = high >= 0 ? hex_value(p[i + 2]) : -1;
        if (low >= 0) {
            p[decoded++] = (char)(high << 4 | low);
            i += 2;
        } else {
            p[decoded++] = p[i];
        }
    }
    for (size_t i = 0; i < decoded; i++) {
        bool escaped = p[i] == '~' && i + 1 < decoded && (p[i + 1] == '0' || p[i + 1] == '1');
        if (escaped)
            p[out++] = p[++i] == '0' ? '~' : '/';
        else
            p[out++] = p[i];
    }
    return out;
}

static const struct json *step_into(const struct json *v, str part)
{
    char key[256];
    uint64_t index;

    if (part.n > sizeof(key))
        return NULL;
    if (part.n > 0)
        memcpy(key, part.p, part.n);
    part = str_make(key, unescape_part(key, part.n));
    if (json_is(v, JSON_ARRAY))
        return parse_u64(part, &index) == 0 ? json_at(v, (size_t)index) : NULL;
    return json_get_str(v, part);
}

static const struct json *follow_pointer(struct schema_run *r, str pointer)
{
    const struct json *v = r->root;
    str rest = str_skip(pointer, 1); /* the first '/' */

    while (v && schema_spend(r)) {
        ptrdiff_t slash = str_find_char(rest, '/');
        v = step_into(v, slash < 0 ? rest : str_slice(rest, 0, (size_t)slash));
        if (slash < 0)
            return v;
        rest = str_skip(rest, (size_t)slash + 1);
    }
    return NULL;
}

/* Schemas with this $anchor (or the "#name" $id of draft 7) anywhere in the document. */
static const struct json *find_anchor(struct schema_run *r, const struct json *v, str anchor)
{
    if ((v->type != JSON_OBJECT && v->type != JSON_ARRAY) || !schema_spend(r))
        return NULL;
    str id = json_get_string(v, "$id");
    if (str_eq(json_get_string(v, "$anchor"), anchor) ||
        str_eq(json_get_string(v, "$dynamicAnchor"), anchor) ||
        (str_starts(id, STR("#")) && str_eq(str_skip(id, 1), anchor)))
        return v;
    for (uint32_t i = 0; i < v->len; i++) {
        const struct json *child = v->type == JSON_ARRAY ? &v->items[i] : &v->members[i].value;
        const struct json *found = find_anchor(r, child, anchor);
        if (found)
            return found;
    }
    return NULL;
}

const struct json *schema_resolve(struct schema_run *r, str ref)
{
    if (!str_starts(ref, STR("#")))
        return NULL;
    ref = str_skip(ref, 1);
    if (ref.n == 0)
        return r->root;
    return ref.p[0] == '/' ? follow_pointer(r, ref) : find_anchor(r, r->root, ref);
}
