#include <errno.h>

#include "base/json/json.h"
#include "base/log.h"
#include "base/utf8.h"
#include "support/unit.h"

struct sink {
    struct buf text;
    int lines;
    enum log_level last;
};

static void keep(void *ctx, enum log_level level, str line)
{
    struct sink *s = ctx;
    (void)buf_add_str(&s->text, line);
    s->lines++;
    s->last = level;
}

static struct logger *open_log(struct sink *s, enum log_level level, enum log_format format)
{
    *s = (struct sink){0};
    buf_init(&s->text, 100000);
    return logger_new(level, format, keep, s);
}

static void close_log(struct sink *s, struct logger *l)
{
    logger_free(l);
    buf_done(&s->text);
}

TEST(text_line)
{
    struct sink s;
    struct logger *l = open_log(&s, LOG_INFO, LOG_TEXT);
    log_warn(l, "store", "odd %s number %d", "thing", 7);
    assert_int_equal(s.lines, 1);
    assert_int_equal(s.last, LOG_WARN);
    assert_int_equal(s.text.p[23], 'Z');
    assert_string_equal(s.text.p + 24, " warn  store: odd thing number 7\n");
    close_log(&s, l);
}

TEST(levels)
{
    struct sink s;
    struct logger *l = open_log(&s, LOG_WARN, LOG_TEXT);
    log_debug(l, "x", "no");
    log_info(l, "x", "no");
    assert_int_equal(s.lines, 0);
    log_error(l, "x", "yes");
    assert_int_equal(s.lines, 1);
    assert_false(log_enabled(l, LOG_INFO));
    assert_true(log_enabled(l, LOG_WARN));
    close_log(&s, l);
    l = open_log(&s, LOG_OFF, LOG_TEXT);
    log_error(l, "x", "no");
    assert_int_equal(s.lines, 0);
    close_log(&s, l);
    log_error(NULL, "x", "no");
    assert_false(log_enabled(NULL, LOG_ERROR));
}

TEST(json_line)
{
    struct sink s;
    struct arena a;
    struct json *v;
    arena_init(&a);
    struct logger *l = open_log(&s, LOG_DEBUG, LOG_JSON);
    log_debug(l, "net", "say \"hi\"\n\\ \x1b[31m \xff end");
    assert_int_equal(json_parse(&a, buf_str(&s.text), 0, &v, NULL), 0);
    assert_int_equal(v->len, 4);
    assert_int_equal(json_get_string(v, "ts").n, 24);
    assert_true(str_eq(json_get_string(v, "level"), STR("debug")));
    assert_true(str_eq(json_get_string(v, "area"), STR("net")));
    assert_true(str_eq(json_get_string(v, "msg"), STR("say \"hi\" \\  [31m \xef\xbf\xbd end")));
    close_log(&s, l);
    arena_done(&a);
}

TEST(one_call_is_one_line)
{
    struct sink s;
    struct logger *l = open_log(&s, LOG_DEBUG, LOG_TEXT);
    log_info(l, "x", "first\r\nforged second\tline");
    assert_int_equal(str_find_char(buf_str(&s.text), '\n'), s.text.n - 1);
    assert_non_null(strstr(s.text.p, "first  forged second line\n"));
    close_log(&s, l);
}

TEST(secrets)
{
    struct sink s;
    struct logger *l = open_log(&s, LOG_DEBUG, LOG_TEXT);
    log_secret(l, STR("correct horse"));
    log_secret(l, STR("short"));
    log_secret(l, STR("correct horse battery"));
    log_info(l, "x", "correct horse battery, correct horse, short, sk-0123456789");
    assert_non_null(strstr(s.text.p, ": [redacted], [redacted], short, [redacted]\n"));
    close_log(&s, l);
}

TEST(many_secrets)
{
    struct sink s;
    struct arena a;
    arena_init(&a);
    struct logger *l = open_log(&s, LOG_DEBUG, LOG_TEXT);
    for (int i = 0; i < 200; i++)
        log_secret(l, arena_printf(&a, "secret-%03d", i));
    for (int i = 0; i < 200; i++)
        log_info(l, "x", "secret-%03d", i);
    assert_int_equal(s.lines, 200);
    assert_null(strstr(s.text.p, "secret"));
    close_log(&s, l);
    arena_done(&a);
}

/* Quotes double in JSON, and the message must still end between characters. */
TEST(long_lines_are_cut)
{
    char msg[40000];
    for (int shift = 0; shift < 4; shift++)
        for (int json = 0; json < 2; json++) {
            memset(msg, 'x', (size_t)shift);
            for (size_t i = (size_t)shift; i + 4 < sizeof(msg); i += 4)
                memcpy(msg + i, "\"\xe2\x82\xac", 4);
            struct sink s;
            struct logger *l = open_log(&s, LOG_DEBUG, json ? LOG_JSON : LOG_TEXT);
            log_info(l, "area", "%.*s", 39996 + shift, msg);
            assert_int_equal(s.lines, 1);
            assert_true(s.text.n <= 8192);
            assert_true(s.text.n > 8000);
            assert_true(utf8_valid(buf_str(&s.text)));
            assert_int_equal(s.text.p[s.text.n - 1], '\n');
            close_log(&s, l);
        }
}

TEST(ids_are_members_of_json_and_the_end_of_text_and_survive_a_long_message)
{
    struct sink s;
    char msg[20000], id[64], trace[64];
    memset(msg, '"', sizeof msg);
    memset(id, 'r', sizeof id);
    memset(trace, 't', sizeof trace);
    const struct log_ids ids = {str_make(id, sizeof id), str_make(trace, sizeof trace)};
    struct logger *l = open_log(&s, LOG_INFO, LOG_JSON);
    log_msg_for(l, LOG_INFO, "http", &ids, "%.*s", (int)sizeof msg, msg);
    assert_int_equal(s.lines, 1);
    assert_non_null(strstr(buf_cstr(&s.text), "\",\"requestId\":\"rrrr"));
    assert_non_null(strstr(buf_cstr(&s.text), "\",\"traceId\":\"tttt"));
    close_log(&s, l);
    l = open_log(&s, LOG_INFO, LOG_TEXT);
    const struct log_ids one = {STR("req_1"), STR("not an id\n")};
    log_msg_for(l, LOG_INFO, "http", &one, "done");
    assert_string_equal(buf_cstr(&s.text) + 24, " info  http: done request=req_1\n");
    close_log(&s, l);
}

/* A secret across the cut must not leave its first half behind. */
TEST(scrubbing_comes_before_cutting)
{
    struct sink s;
    struct logger *l = open_log(&s, LOG_DEBUG, LOG_TEXT);
    log_secret(l, STR("0123456789abcdef"));
    for (int pad = 7900; pad < 8300; pad++) {
        buf_clear(&s.text);
        log_info(l, "x", "%*s0123456789abcdef tail", pad, "");
        assert_null(strstr(s.text.p + 24, "0")); /* behind the time */
    }
    close_log(&s, l);
}

TEST(huge_messages_are_dropped)
{
    struct sink s;
    struct logger *l = open_log(&s, LOG_DEBUG, LOG_TEXT);
    log_info(l, "x", "%2000000d", 1);
    assert_non_null(strstr(s.text.p, "dropped"));
    close_log(&s, l);
}

TEST(level_names)
{
    enum log_level level = LOG_DEBUG;
    assert_int_equal(log_level_parse(STR("warn"), &level), 0);
    assert_int_equal(level, LOG_WARN);
    assert_int_equal(log_level_parse(STR("off"), &level), 0);
    assert_int_equal(level, LOG_OFF);
    assert_int_equal(log_level_parse(STR("WARN"), &level), -EINVAL);
    assert_int_equal(log_level_parse(STR_NONE, &level), -EINVAL);
}
