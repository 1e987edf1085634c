/* The document of links: bounded, and what is not a link is left out. */
#include <errno.h>

#include "store/links.h"
#include "support/unit.h"

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define DAY  ((int64_t)86400000)

static struct arena arena;

static int set_up(void **state)
{
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    arena_done(&arena);
    return 0;
}

static struct share_link link_of(const char *id, const char *conv, int64_t expires_ms)
{
    return (struct share_link){.id = str_from(id),
                               .hash = STR(HASH),
                               .conv_id = str_from(conv),
                               .by = STR("usr_a"),
                               .made_ms = DAY,
                               .expires_ms = expires_ms,
                               .until = 77,
                               .has_tools = true};
}

static int add(struct share_links *l, const char *id, const char *conv, int64_t expires_ms)
{
    struct share_link one = link_of(id, conv, expires_ms);
    struct link_change change = {.add = &one, .now_ms = DAY};
    struct err e = {0};
    return links_apply(&arena, l, &change, &e);
}

TEST_WITH(a_link_is_read_as_it_was_written, set_up, tear_down)
{
    struct share_links l = {0}, back;
    struct err e = {0};
    assert_int_equal(add(&l, "link_1", "conv_0000000000000001", 9 * DAY), 0);
    assert_int_equal(links_parse(&arena, links_write(&arena, &l), &back, &e), 0);
    assert_int_equal(back.n, 1);
    assert_true(str_eq(back.items[0].hash, STR(HASH)));
    assert_true(str_eq(back.items[0].conv_id, STR("conv_0000000000000001")));
    assert_int_equal(back.items[0].expires_ms, 9 * DAY);
    assert_int_equal(back.items[0].until, 77);
    assert_true(back.items[0].has_tools);
}

TEST_WITH(entries_that_are_not_links_are_left_out, set_up, tear_down)
{
    static const char *const TEXTS[] = {
        "",
        "{}",
        "{\"links\":7}",
        "{\"links\":[1,{},{\"id\":\"link_1\",\"sha256\":\"short\"}]}",
        "{\"links\":[{\"id\":\"link_1\",\"sha256\":\"" HASH "\",\"conversationId\":\"../x\","
        "\"made\":\"2026-01-01T00:00:00.000Z\",\"expires\":\"2026-01-01T00:00:00.000Z\","
        "\"until\":1}]}",
        "{\"links\":[{\"id\":\"link_1\",\"sha256\":\"" HASH "\",\"conversationId\":"
        "\"conv_0000000000000001\",\"made\":\"x\",\"expires\":\"never\",\"until\":-1}]}",
    };
    struct share_links l;
    struct err e = {0};
    for (size_t i = 0; i < ARRAY_LEN(TEXTS); i++) {
        assert_int_equal(links_parse(&arena, str_from(TEXTS[i]), &l, &e), 0);
        assert_int_equal(l.n, 0);
    }
    assert_true(links_parse(&arena, STR("{\"links\":["), &l, &e) < 0);
}

TEST_WITH(a_conversation_has_so_many_links_and_expired_ones_make_room, set_up, tear_down)
{
    struct share_links l = {0};
    for (unsigned i = 0; i < LINKS_CONV_MAX; i++)
        assert_int_equal(add(&l, arena_printf(&arena, "link_%u", i).p, "conv_0000000000000001",
                             i == 0 ? DAY + 1 : 9 * DAY),
                         0);
    assert_int_equal(add(&l, "link_x", "conv_0000000000000001", 9 * DAY), -E2BIG);
    assert_int_equal(add(&l, "link_x", "conv_0000000000000002", 9 * DAY), 0);
    struct share_link one = link_of("link_y", "conv_0000000000000001", 9 * DAY);
    struct err e = {0};
    assert_int_equal(
        links_apply(&arena, &l, &(struct link_change){.add = &one, .now_ms = 2 * DAY}, &e), 0);
    assert_int_equal(l.n, LINKS_CONV_MAX + 1);
}

TEST_WITH(a_workspace_has_so_many_links, set_up, tear_down)
{
    struct share_links l = {0}, back;
    struct err e = {0};
    for (unsigned i = 0; i < LINKS_MAX; i++)
        assert_int_equal(add(&l, arena_printf(&arena, "link_%016x", i).p,
                             arena_printf(&arena, "conv_%016x", i).p, 9 * DAY),
                         0);
    assert_int_equal(add(&l, "link_x", "conv_x", 9 * DAY), -E2BIG);
    assert_int_equal(links_parse(&arena, links_write(&arena, &l), &back, &e), 0);
    assert_int_equal(back.n, LINKS_MAX);
}

TEST_WITH(a_link_is_removed_by_its_id_and_only_from_its_conversation, set_up, tear_down)
{
    struct share_links l = {0};
    struct err e = {0};
    struct link_change wrong = {
        .remove = STR("link_1"), .conv_id = STR("conv_0000000000000002"), .now_ms = DAY};
    struct link_change right = {.remove = STR("link_1"), .now_ms = DAY};
    assert_int_equal(add(&l, "link_1", "conv_0000000000000001", 9 * DAY), 0);
    assert_int_equal(links_apply(&arena, &l, &wrong, &e), -ENOENT);
    assert_int_equal(l.n, 1);
    assert_int_equal(links_apply(&arena, &l, &right, &e), 0);
    assert_int_equal(l.n, 0);
}

/* A title is for a page, and the document has a limit. */
TEST_WITH(titles_are_cut, set_up, tear_down)
{
    struct share_links l = {0}, back;
    struct err e = {0};
    char text[LINK_TITLE_MAX * 2];
    memset(text, '"', sizeof text);
    for (unsigned i = 0; i < LINKS_MAX; i++) {
        char conv[32];
        snprintf(conv, sizeof conv, "conv_%016u", i);
        struct share_link one = link_of("link_1", arena_printf(&arena, "%s", conv).p, 9 * DAY);
        one.title = str_make(text, LINK_TITLE_MAX);
        assert_int_equal(
            links_apply(&arena, &l, &(struct link_change){.add = &one, .now_ms = DAY}, &e), 0);
    }
    l.items[0].title = str_make(text, sizeof text);
    assert_int_equal(links_parse(&arena, links_write(&arena, &l), &back, &e), 0);
    assert_int_equal(back.n, LINKS_MAX);
    assert_int_equal(back.items[0].title.n, LINK_TITLE_MAX);
}

TEST_WITH(links_go_with_conversations_that_are_purged, set_up, tear_down)
{
    struct share_links l = {0};
    struct err e = {0};
    str gone[] = {STR("conv_0000000000000001"), STR("conv_0000000000000003")};
    struct link_change purge = {.purged = {gone, ARRAY_LEN(gone)}, .now_ms = DAY};
    assert_int_equal(add(&l, "link_1", "conv_0000000000000001", 9 * DAY), 0);
    assert_int_equal(add(&l, "link_2", "conv_0000000000000002", 9 * DAY), 0);
    assert_int_equal(add(&l, "link_3", "conv_0000000000000001", 9 * DAY), 0);
    for (int i = 0; i < 2; i++) { /* that there are none is not an error */
        assert_int_equal(links_apply(&arena, &l, &purge, &e), 0);
        assert_int_equal(l.n, 1);
        assert_true(str_eq(l.items[0].id, STR("link_2")));
    }
}
