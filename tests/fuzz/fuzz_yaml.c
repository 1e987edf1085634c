/* fuzz_yaml.c - whatever the YAML reader accepts must be JSON that reads back the same;
 * whatever it refuses must name a line. */
#include <assert.h>

#include "base/json/yaml.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_value(struct arena *a, const struct json *v)
{
    struct json *back;
    str text = json_to_str(a, v);
    assert(json_parse(a, text, JSON_UNIQUE, &back, NULL) == 0);
    assert(json_equal(v, back));
}

static void check_message(const struct err *e)
{
    assert(e->code < 0);
    assert(str_starts(str_from(e->msg), STR("line ")));
    assert(utf8_valid(str_from(e->msg)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str s = str_make((const char *)data, size), body;
    struct arena a;
    struct json *v;
    struct err e = {0};
    arena_init(&a);
    if (yaml_parse(&a, s, 1, &v, &e) == 0)
        check_value(&a, v);
    else
        check_message(&e);
    err_clear(&e);
    if (yaml_frontmatter(&a, s, &v, &body, &e) == 0) {
        assert(str_ends(s, body));
        if (v)
            check_value(&a, v);
    } else {
        check_message(&e);
    }
    arena_done(&a);
    return 0;
}
