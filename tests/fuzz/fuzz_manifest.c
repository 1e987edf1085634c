/* Any bytes as a manifest: what is accepted makes a command line, or is refused with words; a
 * value marked sensitive is on none. */
#include <assert.h>

#include "bundle/package/package_prepare.h"

#define SECRET "zq8Secret"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *always(void *ctx, const char *name)
{
    return SECRET;
}

/* Every option gets a value; the sensitive ones the secret. */
static struct json *values_for(struct arena *a, const struct manifest *m)
{
    struct json *v = json_new(a, JSON_OBJECT);
    for (size_t i = 0; i < m->noptions; i++) {
        const struct manifest_option *o = &m->options[i];
        str text = o->type == OPTION_BOOLEAN  ? STR("true")
                   : o->type == OPTION_NUMBER ? STR("1")
                   : o->is_sensitive          ? STR(SECRET)
                                              : STR("plain");
        json_set(a, v, o->key, json_of_str(text));
    }
    return v;
}

static void build(struct arena *a, const struct manifest *m)
{
    struct user_config_sources from = {.given = values_for(a, m), .getenv = always};
    struct user_value *values;
    struct resolved line;
    struct err e = {0};
    if (user_config_resolve(a, m, &from, &values, &e) < 0) {
        assert(e.msg[0]);
        return;
    }
    struct variables vars = {"/opt/b", "/home/x", "/data", values, m->noptions};
    if (command_line_build(a, m, &vars, &line, &e) < 0) {
        assert(e.msg[0]);
        return;
    }
    assert(line.argv[0]);
    for (size_t i = 0; line.argv[i]; i++)
        assert(!strstr(line.argv[i], SECRET));
    for (size_t i = 0; line.env[i]; i++)
        assert(strchr(line.env[i], '='));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    struct manifest m;
    struct err e = {0};
    if (size > 64 * 1024 || memmem(data, size, SECRET, strlen(SECRET)))
        return 0;
    arena_init(&a);
    if (manifest_parse(&a, str_make((const char *)data, size), &m, &e) == 0)
        build(&a, &m);
    else
        assert(e.msg[0]);
    arena_done(&a);
    return 0;
}
