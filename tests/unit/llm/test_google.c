#include "llm/provider/google_names.h"
#include "unit/llm/build_rig.h"

#define HI "[\"u\",{\"text\":\"hi\"}]"

static int setup(void **state)
{
    *state = build_rig_new(&PROVIDER_GOOGLE, "gemini-3.8-flash");
    return 0;
}

TEST_WITH(writes_these_bytes, setup, build_rig_free)
{
    struct build_rig *b = *state;
    struct llm_tool tools[] = {
        {STR("a__one"), STR("first"), NULL},
        {STR("7zip__x"), STR_NONE,
         rig_json(&b->a, "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"number\"}}}")}};
    b->req.tools = tools;
    b->req.ntools = 2;
    b->req.system_stable = STR("be kind");
    b->req.system_volatile = STR("it is late");
    build_rig_run(
        b, "[" HI ",[\"a\",{\"text\":\"ok\"},{\"use\":\"t1\",\"name\":\"7zip__x\",\"args\":\"{ "
           "\\\"n\\\": 0.10 }\"},{\"opaque\":{\"thoughtSignature\":\"s1\"},\"model\":"
           "\"gemini-3.8-flash\"},{\"use\":\"t2\",\"name\":\"a__one\"}],"
           "[\"u\",{\"result\":\"t1\",\"parts\":[{\"text\":\"r\"},{\"image\":\"image/png\"}]},"
           "{\"result\":\"t2\",\"error\":true,\"parts\":[{\"text\":\"no\"}]},{\"text\":\"x\"}]]");
    assert_string_equal(
        buf_cstr(&b->body),
        "{\"generationConfig\":{\"maxOutputTokens\":100},\"tools\":[{\"functionDeclarations\":["
        "{\"name\":\"a__one\",\"description\":\"first\"},"
        "{\"name\":\"_7zip__x\",\"description\":\"7zip__x\",\"parametersJsonSchema\":{\"type\":"
        "\"object\",\"properties\":{\"n\":{\"type\":\"number\"}}}}]}],"
        "\"systemInstruction\":{\"parts\":[{\"text\":\"be kind\\n\\nit is late\"}]},\"contents\":["
        "{\"role\":\"user\",\"parts\":[{\"text\":\"hi\"}]},"
        "{\"role\":\"model\",\"parts\":[{\"text\":\"ok\"},{\"functionCall\":{\"id\":\"t1\","
        "\"name\":"
        "\"_7zip__x\",\"args\":{\"n\":0.10}},\"thoughtSignature\":\"s1\"},{\"functionCall\":{"
        "\"id\":\"t2\",\"name\":\"a__one\",\"args\":{}}}]},"
        "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"id\":\"t1\",\"name\":\"_7zip__x\","
        "\"response\":{\"output\":\"r\\n\\n[the picture follows below]\"}}},{\"functionResponse\":{"
        "\"id\":\"t2\",\"name\":\"a__one\",\"response\":{\"error\":\"no\"}}}]},"
        "{\"role\":\"user\",\"parts\":[{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":"
        "\"iVBORw0KGgo=\"}},{\"text\":\"x\"}]}]}");
}

TEST_WITH(a_call_of_another_model_gets_the_placeholder, setup, build_rig_free)
{
    struct build_rig *b = *state;
    static const char HISTORY[] = "[" HI ",[\"a\",{\"use\":\"t1\"},{\"use\":\"t2\"}],[\"u\","
                                  "{\"result\":\"t1\"},{\"result\":\"t2\"}]]";
    build_rig_run(b, HISTORY);
    str body = buf_str(&b->body);
    ptrdiff_t at = str_find(body, STR("skip_thought_signature_validator"), 0);
    assert_true(at > 0 && at < str_find(body, STR("\"t2\""), 0)); /* the first call only */
    assert_true(str_find(body, STR("skip_thought_signature_validator"), (size_t)at + 1) < 0);

    b->req.model = STR("gemini-2.5-flash"); /* does not sign calls */
    build_rig_run(b, HISTORY);
    assert_true(str_find(buf_str(&b->body), STR("thoughtSignature"), 0) < 0);
}

TEST_WITH(a_signature_of_words_is_a_part_of_its_own, setup, build_rig_free)
{
    build_rig_expect(
        *state,
        "[" HI ",[\"a\",{\"opaque\":{\"thought\":\"hm\"},\"model\":\"gemini-3.8-flash\"},"
        "{\"text\":\"ok\"},{\"opaque\":{\"thoughtSignature\":\"s\"},\"model\":"
        "\"gemini-3.8-flash\"}]," HI "]",
        "contents",
        "[{\"role\":\"user\",\"parts\":[{\"text\":\"hi\"}]},{\"role\":\"model\",\"parts\":[{"
        "\"text\":\"ok\"},{\"text\":\"\",\"thoughtSignature\":\"s\"}]},{\"role\":\"user\","
        "\"parts\":[{\"text\":\"hi\"}]}]");
}

TEST_WITH(blocks_of_chat_completions_are_left_out, setup, build_rig_free)
{
    build_rig_expect(*state,
                     "[" HI ",[\"a\",{\"opaque\":{\"reasoning_details\":[]},\"model\":"
                     "\"gemini-3.8-flash\"}]," HI "]",
                     "contents",
                     "[{\"role\":\"user\",\"parts\":[{\"text\":\"hi\"}]},{\"role\":\"user\","
                     "\"parts\":[{\"text\":\"hi\"}]}]");
}

TEST_WITH(a_model_that_cannot_see_gets_a_note, setup, build_rig_free)
{
    struct build_rig *b = *state;
    b->caps.can_images = false;
    build_rig_expect(b, "[[\"u\",{\"image\":\"image/png\"}]]", "contents",
                     "[{\"role\":\"user\",\"parts\":[{\"text\":\"[a picture is left out: the model "
                     "cannot see]\"}]}]");
}

TEST_WITH(a_gif_is_left_out, setup, build_rig_free)
{
    build_rig_expect(*state, "[[\"u\",{\"image\":\"image/gif\",\"data\":\"R0lGODlhAQAB\"}]]",
                     "contents",
                     "[{\"role\":\"user\",\"parts\":[{\"text\":\"[a picture is left out: the model "
                     "does not take GIF pictures]\"}]}]");
}

TEST_WITH(a_pdf_goes_inline_or_as_its_text, setup, build_rig_free)
{
    struct build_rig *b = *state;
    assert_non_null(strstr(build_rig_document(b, true),
                           "\"parts\":[{\"inlineData\":{\"mimeType\":\"application/pdf\","
                           "\"data\":\"JVBERi0xLjc=\"}},{\"text\":\"sum up\"}]"));
    assert_non_null(strstr(build_rig_document(b, false),
                           "\"parts\":[{\"text\":\"its text\"},{\"text\":\"sum up\"}]"));
}

TEST_WITH(thinking_is_a_budget_or_a_level, setup, build_rig_free)
{
    static const struct {
        const char *model, *thinking, *effort;
        int64_t budget;
        const char *config;
    } CASES[] = {
        {"gemini-2.5-pro", "off", NULL, 0, "{\"maxOutputTokens\":100}"},
        {"gemini-2.5-pro", "adaptive", "high", 9,
         "{\"maxOutputTokens\":100,\"thinkingConfig\":{\"includeThoughts\":true,"
         "\"thinkingBudget\":-1}}"},
        {"gemini-2.5-pro", "enabled", NULL, 9,
         "{\"maxOutputTokens\":100,\"thinkingConfig\":{\"includeThoughts\":true,"
         "\"thinkingBudget\":128}}"},
        {"gemini-2.5-pro", "enabled", NULL, 1000000,
         "{\"maxOutputTokens\":100,\"thinkingConfig\":{\"includeThoughts\":true,"
         "\"thinkingBudget\":24576}}"},
        {"gemini-4-argon", "enabled", NULL, 2000,
         "{\"maxOutputTokens\":100,\"thinkingConfig\":{\"includeThoughts\":true}}"},
        {"gemini-4-argon", NULL, "max", 0,
         "{\"maxOutputTokens\":100,\"thinkingConfig\":{\"thinkingLevel\":\"high\"}}"},
        {"gemini-9", "adaptive", "low", 0,
         "{\"maxOutputTokens\":100,\"thinkingConfig\":{\"includeThoughts\":true,"
         "\"thinkingLevel\":\"low\"}}"},
    };
    struct build_rig *b = *state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        model_lookup(STR("google"), str_from(CASES[i].model), NULL, &b->caps);
        b->req.thinking = CASES[i].thinking;
        b->req.effort = CASES[i].effort;
        b->req.thinking_budget = CASES[i].budget;
        build_rig_expect(b, "[" HI "]", "generationConfig", CASES[i].config);
    }
}

TEST_WITH(the_model_is_one_segment_of_the_address, setup, build_rig_free)
{
    static const struct {
        str base, model, url;
    } CASES[] = {
        {STR_INIT("https://h"), STR_INIT("gemini-2.5-flash"),
         STR_INIT("https://h/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse")},
        {STR_INIT("http://h:1/v1alpha"), STR_INIT("m"),
         STR_INIT("http://h:1/v1alpha/models/m:streamGenerateContent?alt=sse")},
        {STR_INIT("http://h/x"), STR_INIT("../../a?key=b#c"),
         STR_INIT("http://h/x/v1beta/models/..%2F..%2Fa%3Fkey%3Db%23c:streamGenerateContent"
                  "?alt=sse")},
    };
    struct build_rig *b = *state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct provider p = {.base_url = CASES[i].base};
        assert_true(str_eq(PROVIDER_GOOGLE.url(&p, CASES[i].model, &b->a), CASES[i].url));
    }
}

TEST_WITH(the_key_is_a_header, setup, build_rig_free)
{
    struct build_rig *b = *state;
    struct fetch_header out[AUTH_MAX];
    assert_int_equal(PROVIDER_GOOGLE.auth(&b->provider, &b->a, out), 0);
    b->provider.api_key = STR("k");
    assert_int_equal(PROVIDER_GOOGLE.auth(&b->provider, &b->a, out), 1);
    assert_true(str_eq(out[0].name, STR("x-goog-api-key")) && str_eq(out[0].value, STR("k")));
}

TEST_WITH(names_come_back_as_they_were, setup, build_rig_free)
{
    static const char *const NAMES[] = {"a", "_a", "__7", "_7", "7", "-x", "_-x", "a7", "_", ""};
    struct build_rig *b = *state;
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        str name = str_from(NAMES[i]), sent = google_name(&b->a, name);
        assert_true(str_eq(google_tool_name(sent), name));
        if (sent.n > 0)
            assert_true(sent.p[0] == '_' || (sent.p[0] >= 'a' && sent.p[0] <= 'z'));
    }
}
