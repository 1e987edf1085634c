#include <errno.h>
#include <sys/stat.h>

#include "auth/instance.h"
#include "os/file.h"
#include "support/tempdir.h"
#include "support/unit.h"

static struct tempdir dir;
static struct instance in;
static struct err e;

static int make_dir(void **state)
{
    return tempdir_make(&dir);
}

static int drop_dir(void **state)
{
    return tempdir_drop(&dir);
}

static int load(const char *text, const char *key)
{
    char path[128];
    snprintf(path, sizeof path, "%s/instance.json", dir.path);
    if (text)
        assert_int_equal(file_write_atomic(path, str_from(text), 0600, NULL), 0);
    err_clear(&e);
    return instance_load(&in, dir.path, str_from(key), STR_NONE, &e);
}

TEST_WITH(without_a_file, make_dir, drop_dir)
{
    assert_int_equal(load(NULL, NULL), 0);
    assert_int_equal(in.mode, AUTH_DEV);
    assert_true(instance_is_sole(&in));
    instance_done(&in);
    assert_int_equal(load(NULL, "12345678"), -EINVAL);
    assert_int_equal(load(NULL, "0123456789abcde"), -EINVAL);
    assert_non_null(strstr(e.msg, "at least 16"));
    assert_int_equal(load(NULL, "aaaaaaaaaaaaaaaaaaaaaaaa"), -EINVAL);
    assert_int_equal(load(NULL, "0123456789abcdef"), 0);
    assert_int_equal(in.mode, AUTH_KEY);
    assert_int_equal(in.warnings.len, 0);
    instance_done(&in);
}

TEST_WITH(local, make_dir, drop_dir)
{
    assert_int_equal(
        load("{\"auth\":{\"adapter\":\"local\"},\"orgName\":\"X\"}", "0123456789abcdef"), 0);
    assert_int_equal(in.mode, AUTH_LOCAL);
    assert_false(instance_is_sole(&in));
    assert_true(str_eq(in.org_name, STR("X")));
    assert_int_equal(in.warnings.len, 1); /* the key has no effect */
    instance_done(&in);
}

TEST_WITH(sessions, make_dir, drop_dir)
{
    assert_int_equal(load("{\"auth\":{\"adapter\":\"local\"}}", NULL), 0);
    assert_int_equal(in.session_ms, 30LL * 24 * 3600 * 1000);
    assert_int_equal(in.idle_ms, 7LL * 24 * 3600 * 1000);
    instance_done(&in);
    assert_int_equal(
        load("{\"auth\":{\"adapter\":\"local\",\"sessionHours\":12,\"idleHours\":1}}", NULL), 0);
    assert_int_equal(in.session_ms, 12LL * 3600 * 1000);
    assert_int_equal(in.idle_ms, 3600 * 1000);
    instance_done(&in);
}

TEST_WITH(oidc, make_dir, drop_dir)
{
    assert_int_equal(load("{\"auth\":{\"adapter\":\"oidc\",\"issuer\":\"https://id.example.com\","
                          "\"clientId\":\"nb\",\"allowedDomains\":[\"example.com\"],"
                          "\"signup\":false,\"clientSecret\":\"s\"}}",
                          NULL),
                     0);
    assert_int_equal(in.mode, AUTH_OIDC);
    assert_true(in.oidc.is_closed);
    assert_int_equal(in.oidc.allowed_domains.len, 1);
    assert_int_equal(in.warnings.len, 0);
    instance_done(&in);

    char path[128];
    snprintf(path, sizeof path, "%s/instance.json", dir.path);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(instance_load(&in, dir.path, STR_NONE, STR_NONE, &e), 0);
    assert_int_equal(in.warnings.len, 1); /* a secret that others may read */
    instance_done(&in);
    assert_int_equal(instance_load(&in, dir.path, STR_NONE, STR("from outside"), &e), 0);
    assert_int_equal(in.warnings.len, 0);
    assert_true(str_eq(in.oidc.client_secret, STR("from outside")));
    instance_done(&in);
}

TEST_WITH(mistakes_are_named, make_dir, drop_dir)
{
    static const struct {
        const char *text, *why;
    } BAD[] = {
        {"{", "line 1"},
        {"{}", "auth"},
        {"{\"auth\":{}}", "auth.adapter"},
        {"{\"auth\":{\"adapter\":\"workos\"}}", "'local' or 'oidc'"},
        {"{\"auth\":{\"adapter\":\"local\",\"alowedDomains\":[]}}", "auth.alowedDomains"},
        {"{\"auth\":{\"adapter\":\"local\",\"sessionHours\":0}}", "auth.sessionHours"},
        {"{\"auth\":{\"adapter\":\"local\",\"idleHours\":8785}}", "auth.idleHours"},
        {"{\"auth\":{\"adapter\":\"local\"},\"orgname\":\"x\"}", "orgname"},
        {"{\"auth\":{\"adapter\":\"local\",\"issuer\":\"https://x\"}}", "adapter 'oidc'"},
        {"{\"auth\":{\"adapter\":\"oidc\",\"clientId\":\"x\"}}", "auth.issuer"},
        {"{\"auth\":{\"adapter\":\"oidc\",\"issuer\":\"https://x\"}}", "auth.clientId"},
        {"{\"auth\":{\"adapter\":\"oidc\",\"issuer\":\"http://x.com\",\"clientId\":\"x\"}}",
         "https"},
        {"{\"auth\":{\"adapter\":\"oidc\",\"issuer\":\"https://a:b@x\",\"clientId\":\"x\"}}",
         "password"},
        {"{\"auth\":{\"adapter\":\"oidc\",\"issuer\":\"https://x\",\"clientId\":\"x\","
         "\"allowedDomains\":\"x.com\"}}",
         "auth.allowedDomains"},
        {"{\"auth\":{\"adapter\":\"oidc\",\"issuer\":\"https://x\",\"clientId\":\"x\","
         "\"allowedDomains\":[\"@x.com\"]}}",
         "auth.allowedDomains[0]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        assert_int_equal(load(BAD[i].text, NULL), -EINVAL);
        if (!strstr(e.msg, BAD[i].why) || !strstr(e.msg, "instance.json"))
            fail_msg("%s: %s", BAD[i].text, e.msg);
    }
}
