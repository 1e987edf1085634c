#include "net/fetch.h"
#include "unit/bundle/entry_rig.h"

TEST_WITH(a_remote_bundle, setup, teardown)
{
    struct bundle_entry b =
        good("{\"url\":\"https://mcp.example.com/mcp\",\"transport\":{\"type\":\"sse\",\"auth\":"
             "{\"type\":\"bearer\",\"token\":\"t0ken\"},\"headers\":{\"X-A\":\"1\"},"
             "\"reconnection\":{\"maxRetries\":2},\"sessionId\":\"s\"}}");
    assert_int_equal(b.kind, BUNDLE_REMOTE);
    is(b.server_name, "mcp-example-com");
    assert_true(b.is_sse);
    assert_int_equal(b.nheaders, 2);
    is(b.headers[0].key, "X-A");
    is(b.headers[1].key, "Authorization");
    is(b.headers[1].value, "Bearer t0ken");
    assert_int_equal(b.reconnect_initial_ms, 0); /* the client's default */
    assert_int_equal(b.reconnect_max_ms, 0);
    assert_int_equal(b.reconnect_tries, 2);

    b = good("{\"url\":\"https://x.io\",\"serverName\":\"X\",\"transport\":{\"auth\":{\"type\":"
             "\"header\",\"name\":\"X-Key\",\"value\":\"v\"}}}");
    is(b.server_name, "x");
    assert_false(b.is_sse);
    is(b.headers[0].key, "X-Key");

    b = good("{\"url\":\"https://x.io\",\"transport\":{\"auth\":{\"type\":\"oauth\"}}}");
    assert_true(b.oauth.is_on && !b.oauth.is_per_person);
    b = good("{\"url\":\"https://x.io\",\"transport\":{\"auth\":{\"type\":\"oauth\",\"per\":"
             "\"person\"}}}");
    assert_true(b.oauth.is_per_person);
    bad("{\"url\":\"https://x.io\",\"transport\":{\"auth\":{\"type\":\"oauth\",\"per\":\"user\"}}}",
        "workspace, person");
    bad("{\"url\":\"https://x.io\",\"transport\":{\"auth\":{\"type\":\"oauth\",\"per\":1}}}",
        "workspace, person");
    bad("{\"url\":\"https://x.io\",\"transport\":{\"auth\":{\"type\":\"bearer\",\"token\":\"t\","
        "\"per\":\"person\"}}}",
        "needs the type 'oauth'");

    bad("{\"url\":\"https://user:secret@x.io\"}", "a URL must not contain credentials");
    bad("{\"url\":\"ftp://x.io\"}", "url: ");
    bad("{\"url\":\"https://x.io\",\"transport\":{\"type\":\"carrier\"}}", "transport.type");
    bad("{\"url\":\"https://x.io\",\"transport\":{\"auth\":{\"type\":\"basic\"}}}", "basic");
    bad("{\"url\":\"https://x.io\",\"transport\":{\"auth\":{\"type\":\"bearer\"}}}", "a token");
    bad("{\"url\":\"https://x.io\",\"transport\":{\"auth\":{\"type\":\"none\",\"x\":1}}}", "'x'");
    bad("{\"url\":\"https://x.io\",\"transport\":{\"headers\":{\"a b\":\"1\"}}}",
        "not a valid header name");
    bad("{\"url\":\"https://x.io\",\"transport\":{\"headers\":{\"A\":\"1\\r\\nB: 2\"}}}",
        "control character");
    bad("{\"url\":\"https://x.io\",\"transport\":{\"headers\":{\"authorization\":\"1\"},"
        "\"auth\":{\"type\":\"bearer\",\"token\":\"t\"}}}",
        "both set");
}

static int check(const char *url, bool allow_private, bool allow_insecure)
{
    struct err e = {0};
    struct bundle_entry b = {
        .kind = BUNDLE_REMOTE, .url = str_from(url), .allow_private = allow_private};
    int r = bundle_entry_check_url(&b, allow_insecure, &e);
    assert_int_equal(r < 0, e.msg[0] != 0);
    return r;
}

TEST_WITH(urls_stay_outside, setup, teardown)
{
    assert_int_equal(check("https://example.com/mcp", false, false), 0);
    assert_int_equal(check("https://8.8.8.8/mcp", false, false), 0);
    assert_int_equal(check("http://example.com/mcp", false, false), -EACCES);
    assert_int_equal(check("http://example.com/mcp", false, true), -EACCES);
    assert_int_equal(check("https://127.0.0.1/", false, false), -EACCES);
    assert_int_equal(check("https://10.0.0.1/", false, false), -EACCES);
    assert_int_equal(check("https://[::1]/", false, false), -EACCES);
    assert_int_equal(check("https://[::ffff:10.0.0.1]/", false, false), -EACCES);
    assert_int_equal(check("https://[fd00::1]/", false, false), -EACCES);
    assert_int_equal(check("http://localhost:3000/mcp", false, false), -EACCES);
    assert_int_equal(check("http://localhost:3000/mcp", false, true), 0);
    assert_int_equal(check("http://192.168.1.9:3000/mcp", false, true), -EACCES);
    assert_int_equal(check("http://192.168.1.9:3000/mcp", true, false), 0);
    assert_int_equal(check("http://169.254.169.254/", false, true), -EACCES);
    assert_int_equal(check("http://169.254.169.254/", true, true), -EACCES);
}

static unsigned flags(const char *url, bool allow_private, bool allow_insecure)
{
    struct bundle_entry b = {
        .kind = BUNDLE_REMOTE, .url = str_from(url), .allow_private = allow_private};
    return bundle_entry_fetch_flags(&b, allow_insecure);
}

/* Whatever is allowed for servers on this machine: a name elsewhere that leads here, or an
 * address that a server elsewhere names, stays refused. */
TEST_WITH(requests_stay_outside, setup, teardown)
{
    unsigned outside = FETCH_PUBLIC_ONLY | FETCH_HTTPS_ONLY;
    assert_int_equal(flags("https://example.com/mcp", false, false), outside);
    assert_int_equal(flags("https://example.com/mcp", false, true), outside);
    assert_int_equal(flags("http://localhost:3000/mcp", false, false), outside);
    assert_int_equal(flags("http://localhost:3000/mcp", false, true), FETCH_NO_METADATA);
    assert_int_equal(flags("http://192.168.1.9:3000/mcp", true, false), FETCH_NO_METADATA);
}
