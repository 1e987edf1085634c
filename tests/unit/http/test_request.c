#include "probe.h"

static char seen[1024];

static void note(const char *what, str s)
{
    size_t n = strlen(seen);
    (void)snprintf(seen + n, sizeof(seen) - n, "%s=%s%.*s;", what, s.p ? "" : "(none)", STR_ARG(s));
}

static void look_up(struct http_req *r)
{
    seen[0] = '\0';
    note("a", http_query(r, "a"));
    note("b", http_query(r, "b"));
    note("c d", http_query(r, "c d"));
    note("e", http_query(r, "e"));
    note("bad", http_query(r, "bad"));
    note("nul", http_query(r, "nul"));
    note("no", http_query(r, "no"));
    http_reply(r, 204, NULL, STR_NONE);
}

TEST(query)
{
    struct reply r;
    probe(
        look_up,
        STR("GET /?a=1&b=x%20y+z&c%20d=%C3%A9&a=2&e&bad=%zz&nul=a%00b HTTP/1.1\r\nHost: a\r\n\r\n"),
        &r);
    assert_string_equal(seen, "a=1;b=x y z;c d=\xc3\xa9;e=;bad=(none);nul=(none);no=(none);");
    reply_done(&r);
    probe(look_up, STR("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), &r);
    assert_non_null(strstr(seen, "a=(none)"));
    reply_done(&r);
}

static void check_query(struct http_req *r)
{
    str name = STR_NONE;
    seen[0] = '\0';
    note(http_query_check(r, &name) ? "good" : "bad", name);
    http_reply(r, 204, NULL, STR_NONE);
}

TEST(a_query_that_cannot_be_decoded_is_found_and_named)
{
    static const struct {
        const char *query, *seen;
    } CASES[] = {
        {"", "good=(none);"},          {"?a=1&b=%C3%A9&&c", "good=(none);"},
        {"?a=1&b=%FF", "bad=b;"},      {"?b=%C3", "bad=b;"},
        {"?b=%zz", "bad=b;"},          {"?b=1%", "bad=b;"},
        {"?b=%00", "bad=b;"},          {"?a%20b=%ED%A0%80", "bad=a b;"},
        {"?%FF=1&a=2", "bad=(none);"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct reply r;
        char text[128];
        (void)snprintf(text, sizeof text, "GET /%s HTTP/1.1\r\nHost: a\r\n\r\n", CASES[i].query);
        probe(check_query, str_from(text), &r);
        assert_string_equal(seen, CASES[i].seen);
        reply_done(&r);
    }
}

static void look_up_headers(struct http_req *r)
{
    seen[0] = '\0';
    note("X-One", http_get_header(r, "x-one"));
    note("X-None", http_get_header(r, "x-none"));
    assert_true(http_has_header(r, "X-EMPTY"));
    assert_false(http_has_header(r, "X-Non"));
    note("sid", http_cookie(r, "sid"));
    note("quoted", http_cookie(r, "quoted"));
    note("late", http_cookie(r, "late"));
    note("si", http_cookie(r, "si"));
    note("SID", http_cookie(r, "SID"));
    http_reply(r, 204, NULL, STR_NONE);
}

TEST(headers_and_cookies)
{
    struct reply r;
    probe(look_up_headers,
          STR("GET / HTTP/1.1\r\nHost: a\r\nX-One: first\r\nx-one: second\r\nX-Empty:\r\n"
              "Cookie: a=b; sid=abc=; sid=second;quoted=\"q v\"\r\nCookie: late=1\r\n\r\n"),
          &r);
    assert_string_equal(seen, "X-One=first;X-None=(none);sid=abc=;quoted=q v;late=1;si=(none);"
                              "SID=(none);");
    reply_done(&r);
}

static char ids[2][24];
static unsigned nids;

static void note_id(struct http_req *r)
{
    memcpy(ids[nids++ % 2], r->id, sizeof(ids[0]));
    http_reply(r, 204, NULL, STR_NONE);
}

TEST(ids)
{
    struct reply r;
    for (int i = 0; i < 2; i++) {
        probe(note_id, STR("GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: mine\r\n\r\n"), &r);
        assert_string_equal(reply_header(&r, "X-Request-Id"), ids[i]);
        assert_int_equal(strlen(ids[i]), 20);
        assert_memory_equal(ids[i], "req_", 4);
        reply_done(&r);
    }
    assert_string_not_equal(ids[0], ids[1]);
}

static size_t first_total, last_total;

static void use_arena(struct http_req *r)
{
    memset(arena_alloc(&r->arena, 3000), 1, 3000);
    if (!first_total)
        first_total = r->arena.total;
    last_total = r->arena.total;
    assert_non_null(r->headers);
    assert_int_equal(r->body.n, 4);
    assert_null(r->user);
    assert_null(r->route);
    assert_null(r->on_gone);
    r->user = r;
    r->route = r;
    http_add_header(r, "X-Mine", STR("1"));
    http_reply(r, 200, "text/plain", r->body);
}

/* Requests are recycled: nothing of the last one may shine through, and nothing may grow. */
TEST(reuse)
{
    struct rig rig;
    probe_handler handler = use_arena;
    struct http_handlers h = {.on_request = probe_on_request, .ctx = &handler};
    rig_make(&rig, NULL, &h);
    rig_listen(&rig);
    rig_run(&rig);
    int fd = rig_connect(&rig);
    for (int i = 0; i < 300; i++) {
        struct reply r;
        SEND(fd, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody");
        read_reply(fd, &r, false);
        assert_string_equal(buf_cstr(&r.body), "body");
        assert_string_equal(reply_header(&r, "X-Mine"), "1");
        reply_done(&r);
    }
    close(fd);
    rig_stop(&rig);
    assert_int_equal(first_total > 0, 1);
    assert_true(last_total <= first_total);
}
