/* fuzz_json_repair.c - whatever the text is, the repaired one is JSON; and a text that is JSON
 * keeps its value. */
#include <assert.h>

#include "base/json/json_repair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    struct json *whole, *v, *again;
    struct err e = {0};
    str in = str_make((const char *)data, size);
    arena_init(&a);
    str out = json_repair(&a, in);
    if (out.n > 0) {
        assert(json_parse(&a, out, 0, &v, &e) == 0);
        assert(str_eq(json_repair(&a, out), out) || v->type == JSON_INT || v->type == JSON_NUMBER);
    }
    /* A number needs its end: the space is one. */
    str ended = arena_concat(&a, in, STR(" "));
    if (json_parse(&a, in, 0, &whole, NULL) == 0) {
        out = json_repair(&a, ended);
        assert(out.n > 0 && json_parse(&a, out, 0, &again, NULL) == 0);
        assert(json_equal(whole, again));
    }
    arena_done(&a);
    return 0;
}
