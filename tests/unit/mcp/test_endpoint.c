#include <errno.h>

#include "mcp/transport/transport.h"
#include "support/unit.h"

TEST(resolves)
{
    static const char *const CASES[][3] = {
        {"http://h:1/sse", "/messages?s=1", "http://h:1/messages?s=1"},
        {"http://h:1/a/sse?x=/y", "messages?s=1", "http://h:1/a/messages?s=1"},
        {"http://h:1", "messages", "http://h:1/messages"},
        {"http://h/sse?k=1", "?s=2", "http://h/sse?s=2"},
        {"https://h/sse", "https://H:443/m", "https://H:443/m"},
        {"http://[::1]:8/sse", "/m", "http://[::1]:8/m"},
        {"http://h/sse", " /m ", "http://h/m"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena a;
        arena_init(&a);
        str out;
        struct err e;
        assert_int_equal(
            endpoint_resolve(&a, str_from(CASES[i][0]), str_from(CASES[i][1]), &out, &e), 0);
        assert_string_equal(arena_cstr(&a, out), CASES[i][2]);
        arena_done(&a);
    }
}

TEST(refuses)
{
    static const struct {
        const char *reference;
        int rc;
    } CASES[] = {
        {"http://evil/m", -EACCES},  {"https://h/m", -EACCES}, {"http://h:81/m", -EACCES},
        {"http://u:p@h/m", -EACCES}, {"//evil/m", -EINVAL},    {"", -EINVAL},
        {"/m\nHost: x", -EINVAL},    {"/\xc3\xbc", -EINVAL},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena a;
        arena_init(&a);
        str out;
        struct err e = {0};
        int rc = endpoint_resolve(&a, STR("http://h/sse"), str_from(CASES[i].reference), &out, &e);

        assert_int_equal(rc, CASES[i].rc);
        arena_done(&a);
    }
}
