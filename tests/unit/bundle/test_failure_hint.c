#include <errno.h>

#include "bundle/supervise/failure_hint.h"
#include "support/unit.h"

static const struct bundle_sandbox CLOSED = {0}, OFF = {.is_off = true}, ONLINE = {.network = true};

static void check(const char *said, const struct bundle_sandbox *s, const char *with,
                  const char *without)
{
    char ret[ERR_MAX];
    struct err what = {-ECONNRESET, "the server has exited with status 1"};
    failure_hint(&what, str_from(said), s, ret);
    assert_true(str_starts(str_from(ret), STR("the server has exited with status 1")));
    if (with)
        assert_non_null(strstr(ret, with));
    if (without)
        assert_null(strstr(ret, without));
}

TEST(the_last_words_are_part_of_it)
{
    check("starting\nbad config\n\n", &CLOSED, "its last line on stderr: bad config", "sandbox");
    check("\033[31mred\a\n", &CLOSED, "its last line on stderr:  [31mred ", "\033");
    check("", &CLOSED, NULL, "its last line");
    check("the server has exited with status 1\n", &CLOSED, NULL, "its last line");
}

TEST(words_of_an_earlier_life_are_not)
{
    check("EACCES old\n-- crashed\nnew trouble\n", &CLOSED, "new trouble", "sandbox");
    check("EACCES old\n-- crashed\n", &CLOSED, NULL, "its last line");
}

TEST(hints_say_what_to_declare)
{
    check("Error: EACCES: permission denied, open '/x'\n", &CLOSED, "\"read\": [...]", "network");
    check("Error: Cannot find module 'y'\n", &CLOSED, "\"read\": [...]", NULL);
    check("getaddrinfo EAI_AGAIN example.com\n", &CLOSED, "\"network\": true", "read");
    check("getaddrinfo EAI_AGAIN example.com\n", &ONLINE, NULL, "\"network\"");
    check("EACCES\n", &OFF, NULL, "sandbox\":");
    check("EACCES\n", NULL, NULL, "sandbox");
}

/* npx without a network tries for minutes, without a word. */
TEST(silence_may_be_a_lack_of_network)
{
    char ret[ERR_MAX];
    struct err late = {-ETIMEDOUT, "it did not answer within 30 s"};
    failure_hint(&late, STR(""), &CLOSED, ret);
    assert_non_null(strstr(ret, "\"network\": true"));
    failure_hint(&late, STR(""), &ONLINE, ret);
    assert_string_equal(ret, late.msg);
    failure_hint(&late, STR("loading data\n"), &CLOSED, ret);
    assert_null(strstr(ret, "network"));
    check("", &CLOSED, NULL, "network");
}

TEST(long_and_broken_words_are_cut)
{
    char said[5000], ret[ERR_MAX];
    memset(said, '\xff', sizeof(said) - 1);
    said[sizeof(said) - 1] = '\0';
    struct err what = {-ECONNRESET, "ended"};
    failure_hint(&what, str_from(said), &CLOSED, ret);
    assert_true(strlen(ret) < ERR_MAX);
    assert_null(strchr(ret, '\xff'));
}
