/* Results of tools as text for a terminal. */
#include "cli/term/result_words.h"
#include "support/unit.h"

TEST(results_in_words)
{
    static const struct {
        const char *call, *words;
        bool is_ok;
    } CASES[] = {
        {"{\"ok\":true,\"output\":\"a \\u001b[1;31mred\\u001b[0m text\"}", "a red text", true},
        {"{\"ok\":true,\"output\":\"x\\u001b[\"}", "x\x1b[", true},
        {"{\"ok\":true,\"output\":\"x\\u001b[31\"}", "x", true},
        {"{\"ok\":true,\"output\":\"see\",\"parts\":[{\"type\":\"text\",\"text\":\"see\"},{"
         "\"type\":"
         "\"image\",\"mimeType\":\"image/"
         "png\",\"bytes\":12345},{\"type\":\"resource_link\",\"uri\":"
         "\"a:b\"}]}",
         "see [image: image/png, 12 kB] [resource_link: a:b]", true},
        {"{\"ok\":true,\"output\":\"{}\",\"parts\":[{\"type\":\"text\",\"text\":\"{}\"},{\"type\":"
         "\"structured\",\"value\":{\"stdout\":\"out\",\"stderr\":\"\\u001b[31merr\",\"exit_code\":"
         "3}}]}",
         "exit 3: out\nerr", false},
        {"{\"ok\":true,\"output\":\"{}\",\"parts\":[{\"type\":\"structured\",\"value\":{\"stdout\":"
         "\"out\\n\",\"stderr\":\"\",\"exit_code\":0}}]}",
         "out\n", true},
        {"{\"ok\":true,\"output\":\"t\",\"parts\":[{\"type\":\"structured\",\"value\":{\"exit_"
         "code\":"
         "\"3\"}}]}",
         "t", true},
        {"{\"ok\":false,\"output\":\"why\",\"parts\":7}", "why", false},
        {"{}", "", false},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct json *call;
        assert_int_equal(json_parse(&a, str_from(CASES[i].call), JSON_COPY, &call, NULL), 0);
        str words = result_words(&a, call);
        if (!str_eq(words, str_from(CASES[i].words)))
            fail_msg("%s: %.*s", CASES[i].call, STR_ARG(words));
        assert_int_equal(result_is_ok(call), CASES[i].is_ok);
    }
    arena_done(&a);
}
