/* fuzz_schema.c - any two JSON texts, one per line, as schema and value.
 *
 * The validator must end, answer the same twice, explain every refusal in a line of UTF-8
 * that starts with the path, and never refuse both a schema and its opposite. */
#include <assert.h>
#include <errno.h>

#include "base/schema/schema.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct err *e)
{
    str message = str_from(e->msg);
    assert(str_starts(message, STR("arguments")));
    assert(str_find(message, STR(": "), 0) > 0);
    assert(utf8_valid(message));
}

/* References point into the document, so they mean something else inside another document. */
static bool has_references(str text)
{
    return str_find(text, STR("Ref"), 0) >= 0 || str_find(text, STR("$ref"), 0) >= 0 ||
           str_find(text, STR("\\u"), 0) >= 0;
}

static void check_opposite(struct arena *a, const struct json *schema, const struct json *value)
{
    struct json *opposite = json_new(a, JSON_OBJECT);
    json_set(a, opposite, STR("not"), *schema);
    assert(schema_validate(opposite, value, "arguments", NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str rest = str_make((const char *)data, size), first;
    struct json *schema, *value;
    struct err e = {0};
    struct arena a;

    arena_init(&a);
    if (size > 0 && str_split(&rest, '\n', &first) &&
        json_parse(&a, first, 0, &schema, NULL) == 0 &&
        json_parse(&a, rest, 0, &value, NULL) == 0) {
        int rc = schema_validate(schema, value, "arguments", &e);
        assert(rc == 0 || rc == -EINVAL);
        assert(schema_validate(schema, value, "arguments", NULL) == rc);
        if (rc < 0) {
            check_refusal(&e);
            if (!has_references(first))
                check_opposite(&a, schema, value);
        }
    }
    arena_done(&a);
    return 0;
}
