#include <errno.h>

#include "cli/session/client.h"
#include "support/unit.h"

TEST(encode)
{
    static const struct {
        const char *in, *out;
    } CASES[] = {
        {"", ""},
        {"conv_a1-B2.~", "conv_a1-B2.~"},
        {"../x", "..%2Fx"},
        {"a b&c=d?e#f%", "a%20b%26c%3Dd%3Fe%23f%25"},
        {"ü\n", "%C3%BC%0A"},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        str got = client_encode(&a, str_from(CASES[i].in));
        assert_true(str_eq(got, str_from(CASES[i].out)));
    }
    arena_done(&a);
}

TEST(nobody_listens)
{
    struct loop *l = loop_new(NULL);
    struct client *c = client_open_socket(l, "/nonexistent/nb.sock", NULL);
    struct client_ask q = {.path = STR("/v1/health"), .timeout_ms = 2000};
    struct arena a;
    struct json *answer;
    struct err e = {0};
    arena_init(&a);
    assert_null(client_server(c));
    assert_true(client_ask(c, &q, &a, &answer, &e) < 0);
    assert_true(e.code < 0 && e.msg[0] != 0);
    arena_done(&a);
    client_close(c);
    client_close(NULL);
    loop_free(l);
}
