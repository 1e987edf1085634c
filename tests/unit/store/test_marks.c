/* What a person keeps about conversations: the document and its limits. */
#include <errno.h>

#include "store/store.h"
#include "support/unit.h"

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

static struct conv conv_of(unsigned n, int64_t messages)
{
    return (struct conv){.id = arena_printf(&arena, "conv_%u", n),
                         .updated_at = STR("2026-01-01T00:00:00.000Z"),
                         .message_count = messages};
}

static int apply(struct marks *m, unsigned n, struct mark_change change)
{
    struct err e = {0};
    struct conv c = conv_of(n, 1);
    return marks_apply(&arena, m, &c, &change, &e);
}

TEST_WITH(a_document_is_read_as_it_was_written, set_up, tear_down)
{
    struct marks m, again;
    assert_int_equal(marks_parse(&arena, STR_NONE, &m, NULL), 0);
    assert_int_equal(apply(&m, 2, (struct mark_change){.pinned = MARK_SET, .read = -1}), 0);
    assert_int_equal(apply(&m, 1, (struct mark_change){.archived = MARK_SET, .read = -1}), 0);
    assert_int_equal(apply(&m, 3, (struct mark_change){.read = 1}), 0);
    str text = marks_write(&arena, &m);
    assert_int_equal(marks_parse(&arena, text, &again, NULL), 0);
    assert_int_equal(again.n, 3);
    assert_true(marks_find(&again, STR("conv_2"))->is_pinned);
    assert_true(marks_find(&again, STR("conv_1"))->is_archived);
    assert_int_equal(marks_find(&again, STR("conv_3"))->read, 1);
    assert_null(marks_find(&again, STR("conv_4")));
    assert_true(str_eq(again.since, m.since));
    assert_true(str_eq(marks_write(&arena, &again), text));
}

TEST_WITH(a_conversation_of_a_terminal_was_read_there, set_up, tear_down)
{
    struct marks m;
    struct conv c = conv_of(1, 2);
    assert_int_equal(marks_parse(&arena, STR("{\"since\":\"2025-01-01T00:00:00.000Z\"}"), &m, NULL),
                     0);
    c.channel = STR("web");
    assert_true(marks_state(&m, &c).is_unread);
    c.channel = STR("tui");
    assert_false(marks_state(&m, &c).is_unread);
    c.acl.is_shared = true; /* others may have written */
    assert_true(marks_state(&m, &c).is_unread);
    c.acl.is_shared = false;
    assert_int_equal(apply(&m, 1, (struct mark_change){.unread = MARK_SET, .read = -1}), 0);
    assert_true(marks_state(&m, &c).is_unread); /* the person says otherwise */
}

TEST_WITH(what_is_not_a_mark_is_left_out_and_what_is_not_json_is_refused, set_up, tear_down)
{
    struct marks m;
    struct err e = {0};
    assert_int_equal(marks_parse(&arena,
                                 STR("{\"since\":7,\"conversations\":{\"conv_1\":3,"
                                     "\"../x\":{\"pinned\":true},"
                                     "\"conv_2\":{\"pinned\":1,\"read\":-9}}}"),
                                 &m, &e),
                     0);
    assert_int_equal(m.n, 1);
    assert_true(!m.items[0].is_pinned && m.items[0].read == -1);
    assert_true(marks_parse(&arena, STR("{"), &m, &e) < 0);
}

TEST_WITH(a_full_document_forgets_reading_and_keeps_what_people_chose, set_up, tear_down)
{
    struct marks m;
    assert_int_equal(marks_parse(&arena, STR_NONE, &m, NULL), 0);
    m.since = STR("2000-01-01T00:00:00.000Z");
    assert_int_equal(apply(&m, MARKS_MAX, (struct mark_change){.archived = MARK_SET}), 0);
    for (unsigned i = 0; i < MARKS_MAX; i++)
        assert_int_equal(apply(&m, i, (struct mark_change){.read = 1}), 0);
    assert_true(m.n < MARKS_MAX);
    struct conv c = conv_of(5, 7);
    assert_false(marks_state(&m, &c).is_unread); /* older than the moment of forgetting */
    c = conv_of(MARKS_MAX, 1);
    assert_true(marks_state(&m, &c).is_archived);
    for (unsigned i = 0; i + 1 < MARKS_MAX; i++)
        assert_int_equal(apply(&m, i, (struct mark_change){.archived = MARK_SET}), 0);
    assert_int_equal(apply(&m, MARKS_MAX + 1, (struct mark_change){.archived = MARK_SET}), -E2BIG);
    assert_true(marks_write(&arena, &m).n < MARKS_TEXT_MAX);
}

TEST_WITH(pins_have_a_limit, set_up, tear_down)
{
    struct marks m;
    const struct mark_change pin = {.pinned = MARK_SET, .read = -1};
    assert_int_equal(marks_parse(&arena, STR_NONE, &m, NULL), 0);
    for (unsigned i = 0; i < MARKS_PINS_MAX; i++)
        assert_int_equal(apply(&m, i, pin), 0);
    assert_int_equal(apply(&m, MARKS_PINS_MAX, pin), -E2BIG);
    assert_int_equal(apply(&m, 0, pin), 0);
    assert_int_equal(apply(&m, 0, (struct mark_change){.pinned = MARK_CLEAR, .read = -1}), 0);
    assert_int_equal(apply(&m, MARKS_PINS_MAX, pin), 0);
}
