#include "cli/args.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>

#include "base/nearest.h"
#include "cli/term/help_text.h"

static const struct arg *find_long(const struct arg *table, str name)
{
    for (; table->name; table++)
        if (str_eq(name, str_from(table->name)))
            return table;
    return NULL;
}

static const struct arg *find_letter(const struct arg *table, char letter)
{
    for (; table->name; table++)
        if (table->letter == letter)
            return table;
    return NULL;
}

static bool is_choice(const char *choices, const char *value)
{
    str rest = str_from(choices), one;
    while (str_split(&rest, ',', &one))
        if (str_eq(str_trim(one), str_from(value)))
            return true;
    return false;
}

static int store(const struct arg *a, void *into, const char *value, struct err *e)
{
    void *at = (char *)into + a->offset;
    uint64_t number;
    assert(value || a->kind == ARG_FLAG); /* only switches have none */
    struct arg_list *list = at;
    switch (a->kind) {
    case ARG_FLAG:
        *(bool *)at = true;
        return 0;
    case ARG_STRING:
        if (a->choices && !is_choice(a->choices, value))
            return err_set(e, -EINVAL, "--%s: '%s' is not one of %s", a->name, value, a->choices);
        *(const char **)at = value;
        return 0;
    case ARG_INT:
        if (parse_u64(str_from(value), &number) < 0 || number > INT_MAX)
            return err_set(e, -EINVAL, "--%s: '%s' is not a whole number", a->name, value);
        *(int *)at = (int)number;
        return 0;
    case ARG_LIST:
        if (list->len == ARG_LIST_MAX)
            return err_set(e, -EINVAL, "--%s: given more than %d times", a->name, ARG_LIST_MAX);
        list->items[list->len++] = value;
        return 0;
    }
    return -EINVAL;
}

struct cursor {
    int argc, at;
    char **argv;
};

static int take_arg_value(const struct arg *a, struct cursor *c, const char **ret, struct err *e)
{
    if (c->at + 1 >= c->argc)
        return err_set(e, -EINVAL, "--%s needs a value (%s)", a->name, a->value_name);
    *ret = c->argv[++c->at];
    return 0;
}

static int unknown_long(const struct arg *table, str name, struct err *e)
{
    struct nearest n = nearest_to(name);
    for (const struct arg *a = table; a->name; a++)
        nearest_offer(&n, a->name);
    err_set(e, -EINVAL, "unknown option --%.*s", STR_ARG(name));
    if (n.best)
        err_set(e, -EINVAL, "unknown option --%.*s; did you mean --%s?", STR_ARG(name), n.best);
    return -EINVAL;
}

static int parse_long(const struct arg *table, void *into, struct cursor *c, struct err *e)
{
    str word = str_skip(str_from(c->argv[c->at]), 2);
    ptrdiff_t eq = str_find_char(word, '=');
    str name = eq < 0 ? word : str_slice(word, 0, (size_t)eq);
    const struct arg *a = find_long(table, name);
    const char *value = NULL;
    if (!a)
        return unknown_long(table, name, e);
    if (a->kind == ARG_FLAG && eq >= 0)
        return err_set(e, -EINVAL, "--%s takes no value", a->name);
    if (eq >= 0)
        value = word.p + eq + 1;
    else if (a->kind != ARG_FLAG) {
        int r = take_arg_value(a, c, &value, e);
        if (r < 0)
            return r;
    }
    return store(a, into, value, e);
}

static int parse_short(const struct arg *table, void *into, struct cursor *c, struct err *e)
{
    for (const char *p = c->argv[c->at] + 1; *p; p++) {
        const struct arg *a = find_letter(table, *p);
        const char *value = p[1] ? p + 1 : NULL;
        if (!a)
            return err_set(e, -EINVAL, "unknown option -%c", *p);
        if (a->kind != ARG_FLAG && !value) {
            int r = take_arg_value(a, c, &value, e);
            if (r < 0)
                return r;
        }
        int r = store(a, into, value, e);
        if (r < 0 || a->kind != ARG_FLAG)
            return r;
    }
    return 0;
}

int args_parse(const struct arg *table, void *into, int argc, char **argv, bool stop_at_operand,
               int *ret_n, struct err *e)
{
    struct cursor c = {argc, 0, argv};
    int n = 0;
    bool only_operands = false;
    for (; c.at < argc; c.at++) {
        const char *word = argv[c.at];
        bool is_operand = only_operands || word[0] != '-' || word[1] == 0;
        if (is_operand && stop_at_operand)
            break;
        if (is_operand) {
            argv[n++] = argv[c.at];
            continue;
        }
        if (strcmp(word, "--") == 0) {
            only_operands = true;
            continue;
        }
        int r = word[1] == '-' ? parse_long(table, into, &c, e) : parse_short(table, into, &c, e);
        if (r < 0)
            return r;
    }
    while (c.at < argc) /* stopped early: the caller handles the rest */
        argv[n++] = argv[c.at++];
    *ret_n = n;
    return 0;
}

void args_print(const struct arg *table, FILE *out)
{
    for (; table->name; table++) {
        char left[64];
        int n = table->letter ? snprintf(left, sizeof left, "-%c, --%s", table->letter, table->name)
                              : snprintf(left, sizeof left, "    --%s", table->name);
        if (table->value_name)
            snprintf(left + n, sizeof left - (size_t)n, " %s", table->value_name);
        help_print_row(out, left, table->help);
    }
}
