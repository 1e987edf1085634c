/* The table of settings, and how a row takes its value. */
#include <errno.h>

#include "config/setting.h"
#include "support/unit.h"

static struct config config;

static int open_config(void **state)
{
    config = (struct config){.path = "/nb.json"};
    arena_init(&config.arena);
    return 0;
}

static int close_config(void **state)
{
    config_done(&config);
    return 0;
}

static const struct setting *row(const char *key)
{
    for (size_t i = 0; i < SETTINGS_LEN; i++)
        if (SETTINGS[i].key && strcmp(SETTINGS[i].key, key) == 0)
            return &SETTINGS[i];
    fail_msg("no setting %s", key);
    return NULL;
}

static struct json *document(const char *text)
{
    struct json *root;
    assert_int_equal(json_parse(&config.arena, str_from(text), JSON_COPY, &root, NULL), 0);
    return root;
}

static int decode(const char *key, const char *text, struct err *e)
{
    return setting_decode(row(key), &config, document(text), e);
}

static bool is_value_kept(const struct setting *s)
{
    return !(s->flags & SETTING_CHECKED);
}

TEST_WITH(each_default_is_a_value_that_the_row_accepts, open_config, close_config)
{
    for (size_t i = 0; i < SETTINGS_LEN; i++) {
        const struct setting *s = &SETTINGS[i];
        struct err e = {0};
        if (!is_value_kept(s))
            continue;
        if (s->initial && setting_set(s, &config, s->initial) < 0)
            fail_msg("%s: the default is '%s'", s->key, s->initial);
        if (setting_check(s, &config, &e) < 0)
            fail_msg("%s: %s", s->key, e.msg);
    }
}

TEST(each_row_has_a_place_of_its_own)
{
    for (size_t i = 0; i < SETTINGS_LEN; i++)
        for (size_t k = i + 1; k < SETTINGS_LEN; k++) {
            const struct setting *a = &SETTINGS[i], *b = &SETTINGS[k];
            if (a->key && b->key && strcmp(a->key, b->key) == 0)
                fail_msg("%s is there twice", a->key);
            if (is_value_kept(a) && is_value_kept(b) && a->offset == b->offset &&
                !(b->flags & SETTING_OLD))
                fail_msg("%s and %s share a member", a->key ? a->key : a->variables,
                         b->key ? b->key : b->variables);
        }
}

TEST(rows_that_name_choices_or_secrets_have_text)
{
    for (size_t i = 0; i < SETTINGS_LEN; i++) {
        const struct setting *s = &SETTINGS[i];
        bool is_text = s->type == JF_STR || s->type == JF_CSTR;
        assert_true(!s->choices || is_text);
        assert_true(!(s->flags & (SETTING_SECRET | SETTING_OLD | SETTING_NO_EFFECT)) || is_text);
        assert_true(!s->is_valid || s->expected);
        assert_true(s->type != JF_INT || !is_value_kept(s) || s->min < s->max);
    }
}

TEST_WITH(a_number_outside_of_its_range_is_not_set, open_config, close_config)
{
    const struct setting *s = row("http.port");
    assert_int_equal(setting_set(s, &config, "8080"), 0);
    static const char *const WRONG[] = {"65536", "-1", "80a", "", " 80", "99999999999999999999"};
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++)
        assert_int_equal(setting_set(s, &config, WRONG[i]), -EINVAL);
    assert_int_equal(config.http.port, 8080);
}

TEST_WITH(a_list_is_separated_by_commas, open_config, close_config)
{
    assert_int_equal(setting_set(row("http.allowedHosts"), &config, " a.example,, b.example ,"), 0);
    assert_int_equal(config.http.allowed_hosts.len, 2);
    assert_true(str_eq(config.http.allowed_hosts.items[1], STR("b.example")));
}

TEST_WITH(a_value_is_found_below_its_sections, open_config, close_config)
{
    struct err e = {0};
    assert_int_equal(decode("http.rateLimits.chat", "{\"http\":{\"rateLimits\":{\"chat\":7}}}", &e),
                     0);
    assert_int_equal(config.http.rates.chat, 7);
    assert_int_equal(decode("http.rateLimits.chat", "{\"http\":{}}", &e), 0);
    assert_int_equal(config.http.rates.chat, 7); /* absent: as it was */
    assert_true(decode("http.rateLimits.chat", "{\"http\":{\"rateLimits\":[]}}", &e) < 0);
    assert_string_equal(e.msg, "http.rateLimits: expected object");
    assert_true(decode("http.rateLimits.chat", "{\"http\":{\"rateLimits\":{\"chat\":\"x\"}}}", &e) <
                0);
    assert_string_equal(e.msg, "http.rateLimits.chat: expected integer");
}

TEST_WITH(an_older_key_is_used_only_when_the_newer_one_is_empty, open_config, close_config)
{
    struct err e = {0};
    assert_int_equal(decode("defaultModel", "{\"defaultModel\":\"old\"}", &e), 0);
    assert_true(str_eq(config.models.default_model, STR("old")));
    config.models.default_model = STR("new");
    assert_int_equal(decode("defaultModel", "{\"defaultModel\":\"old\"}", &e), 0);
    assert_true(str_eq(config.models.default_model, STR("new")));
    assert_true(decode("defaultModel", "{\"defaultModel\":7}", &e) < 0); /* checked all the same */
}

static void note_unknown(void *ctx, const char *path, const char *meant)
{
    struct buf *b = ctx;
    buf_printf(b, "%s(%s) ", path, meant ? meant : "");
}

TEST_WITH(unknown_keys_are_named_with_their_path_and_what_was_meant, open_config, close_config)
{
    struct buf b;
    buf_init(&b, 4096);
    settings_unknown(&config.arena,
                     document("{\"htpp\":{\"port\":1},\"http.port\":2,\"\":3,\"providers\":{\"x\":"
                              "{\"any\":1}},\"http\":{\"prot\":1,\"rateLimits\":{\"chatt\":1}}}"),
                     note_unknown, &b);
    assert_string_equal(buf_cstr(&b), "htpp(http) http.port() () http.prot(port) "
                                      "http.rateLimits.chatt(chat) ");
    buf_done(&b);
}

TEST_WITH(a_wrong_item_of_a_list_is_named, open_config, close_config)
{
    struct err e = {0};
    const struct setting *s = row("http.trustedProxies");
    assert_int_equal(setting_set(s, &config, "127.0.0.1,10.0.0.0/8"), 0);
    assert_int_equal(setting_check(s, &config, &e), 0);
    assert_int_equal(setting_set(s, &config, "127.0.0.1,x"), 0);
    assert_int_equal(setting_check(s, &config, &e), -EINVAL);
    assert_non_null(strstr(e.msg, "/nb.json: http.trustedProxies[1]: expected an address"));
}

TEST_WITH(addresses_and_paths_are_of_the_form_that_is_expected, open_config, close_config)
{
    static const struct {
        const char *key, *value;
        bool is_fine;
    } CASES[] = {
        {"http.basePath", "", true},
        {"http.basePath", "/nb", true},
        {"http.basePath", "/a/b-c_d", true},
        {"http.basePath", "nb", false},
        {"http.basePath", "/", false},
        {"http.basePath", "/nb/", false},
        {"http.basePath", "/a//b", false},
        {"http.basePath", "/a.b", false},
        {"http.publicUrl", "", true},
        {"http.publicUrl", "https://nb.example.com:8443/nb", true},
        {"http.publicUrl", "http://nb.example.com", false},
        {"http.publicUrl", "https://", false},
        {"http.publicUrl", "https://nb.example.com/", false},
        {"http.publicUrl", "https://me@nb.example.com", false},
        {"http.publicUrl", "https:///x", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct err e = {0};
        const struct setting *s = row(CASES[i].key);
        assert_int_equal(setting_set(s, &config, CASES[i].value), 0);
        if ((setting_check(s, &config, &e) == 0) != CASES[i].is_fine)
            fail_msg("%s '%s': %s", CASES[i].key, CASES[i].value, e.msg);
    }
}
