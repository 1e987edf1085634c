#include <errno.h>

#include "net/response_head.h"
#include "support/unit.h"

static int add(struct response_head *h, const char *line)
{
    return response_head_add(h, str_from(line));
}

TEST(collects_the_final_head)
{
    struct response_head h;
    response_head_init(&h);
    assert_int_equal(add(&h, "HTTP/1.1 200 OK\r\n"), 0);
    assert_int_equal(add(&h, "Content-Type:  text/event-stream \r\n"), 0);
    assert_int_equal(add(&h, "X-Empty:\r\n"), 0);
    assert_int_equal(add(&h, "  folded: line\r\n"), 0);
    assert_int_equal(add(&h, "no colon\r\n"), 0);
    assert_int_equal(add(&h, "\r\n"), 1);
    assert_int_equal(h.status, 200);
    assert_int_equal(h.n, 2);
    assert_true(str_eq(response_head_get(&h, "content-type"), STR("text/event-stream")));
    assert_int_equal(response_head_get(&h, "x-empty").n, 0);
    assert_null(response_head_get(&h, "absent").p);
    response_head_done(&h);
}

TEST(drops_interim_heads_and_trailers)
{
    struct response_head h;
    response_head_init(&h);
    assert_int_equal(add(&h, "HTTP/1.1 103 Early Hints\r\n"), 0);
    assert_int_equal(add(&h, "Link: x\r\n"), 0);
    assert_int_equal(add(&h, "\r\n"), 0);
    assert_int_equal(add(&h, "HTTP/2 404\r\n"), 0);
    assert_int_equal(add(&h, "a: b\r\n"), 0);
    assert_int_equal(add(&h, "\r\n"), 1);
    assert_int_equal(h.status, 404);
    assert_int_equal(h.n, 1);
    assert_int_equal(add(&h, "trailer: x\r\n"), 0);
    assert_int_equal(add(&h, "\r\n"), 0);
    assert_int_equal(h.n, 1);
    response_head_done(&h);
}

TEST(survives_nonsense)
{
    static const char *const LINES[] = {"x: y\r\n",         "\r\n", "HTTP/\r\n", "HTTP/1.1\r\n",
                                        "HTTP/1.1 abc\r\n", "\r\n", "",          ":\r\n",
                                        "HTTP/1.1 99999 x"};
    struct response_head h;
    response_head_init(&h);
    for (size_t i = 0; i < ARRAY_LEN(LINES); i++)
        assert_int_equal(add(&h, LINES[i]), 0);
    response_head_done(&h);
}

TEST(has_ceilings)
{
    struct response_head h;
    response_head_init(&h);
    add(&h, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < RESPONSE_HEADERS_MAX; i++)
        assert_int_equal(add(&h, "a: b\r\n"), 0);
    assert_int_equal(add(&h, "a: b\r\n"), -EMSGSIZE);
    response_head_done(&h);

    response_head_init(&h);
    add(&h, "HTTP/1.1 200 OK\r\n");
    static char line[64 * 1024];
    memset(line, 'x', sizeof(line) - 1);
    line[1] = ':';
    for (int i = 0; i < 4; i++)
        assert_int_equal(add(&h, line), 0);
    assert_int_equal(add(&h, line), -EMSGSIZE);
    response_head_done(&h);
}
