#include "runtime/history/transcript.h"
#include "support/unit.h"

#define USER    STR("{\"type\":\"user.message\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}")
#define ANSWER  STR("{\"type\":\"llm.response\",\"content\":[{\"type\":\"text\",\"text\":\"yes\"}]}")
#define TITLE   STR("{\"type\":\"metadata.title\",\"title\":\"t\"}")
#define LEGACY  STR("{\"role\":\"user\",\"content\":\"old\"}")
#define ESCAPED STR("{\"type\":\"user\\u002emessage\",\"content\":\"sly\"}")

static const struct past NOTHING;

static struct store_page page_of(const struct store_event *events, size_t n)
{
    return (struct store_page){
        .events = events, .n = n, .reached_end = true, .end = n > 0 ? events[n - 1].pos : 0};
}

/* What a log of two lines gave, and two more that the turn appended at 300 and 400. */
static struct transcript *make(void)
{
    const struct store_event old[] = {{100, USER}, {200, ANSWER}};
    struct store_page page = page_of(old, 2);
    struct transcript *t = transcript_new();
    transcript_load(t, &page, 0, &NOTHING);
    transcript_add(t, USER);
    transcript_add(t, ANSWER);
    transcript_place(t, 0, (store_pos[]){300, 400}, 2);
    return t;
}

/* Lines become messages as they are read; what the store knows about the other lines is kept. */
TEST(what_is_read_becomes_messages)
{
    const struct store_event lines[] = {{100, LEGACY}, {200, USER}, {300, ANSWER}};
    struct store_page page = page_of(lines, 3);
    struct past past = {.people = {(str[]){STR_INIT("usr_a"), STR_INIT("usr_b")}, 2}};
    struct transcript *t = transcript_new();
    page.end = 450; /* behind lines that were not taken */
    transcript_load(t, &page, 0, &past);
    assert_int_equal(t->known, 450);
    const struct replay *r = transcript_replay(t);
    assert_int_equal(r->bytes, ANSWER.n + LEGACY.n + USER.n);
    assert_int_equal(r->n, 3);
    assert_int_equal(r->messages[0].role, REPLAY_USER);
    assert_int_equal(r->messages[2].role, REPLAY_ASSISTANT);
    assert_int_equal(r->past.people.len, 2);
    transcript_free(t);
}

TEST(own_lines_and_harmless_ones_agree)
{
    const struct store_event news[] = {{300, USER}, {350, TITLE}, {400, ANSWER}, {450, TITLE}};
    struct store_page page = page_of(news, 4);
    struct transcript *t = make();
    assert_true(transcript_catch_up(t, &page));
    assert_int_equal(t->known, 450);
    assert_int_equal(transcript_replay(t)->n, 4);
    page = page_of(NULL, 0);
    assert_true(transcript_catch_up(t, &page));
    assert_int_equal(t->known, 450);
    transcript_free(t);
}

static void assert_refused(const struct store_event *events, size_t n)
{
    struct store_page page = page_of(events, n);
    struct transcript *t = make();
    assert_false(transcript_catch_up(t, &page));
    transcript_free(t);
}

TEST(what_others_added_is_noticed)
{
    const struct store_event between[] = {{300, USER}, {350, USER}, {400, ANSWER}};
    const struct store_event behind[] = {{300, USER}, {400, ANSWER}, {500, LEGACY}};
    const struct store_event sly[] = {{300, USER}, {400, ANSWER}, {500, ESCAPED}};
    const struct store_event missing[] = {{300, USER}};
    const struct store_event elsewhere[] = {{310, USER}, {410, ANSWER}};
    assert_refused(between, ARRAY_LEN(between));
    assert_refused(behind, ARRAY_LEN(behind));
    assert_refused(sly, ARRAY_LEN(sly));
    assert_refused(missing, ARRAY_LEN(missing));
    assert_refused(elsewhere, ARRAY_LEN(elsewhere));
}

/* What a turn appends, with places from `at` on. Returns where the log ends then. */
static store_pos turn(struct transcript *t, store_pos at)
{
    static const str LINES[] = {
        STR_INIT("{\"type\":\"user.message\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}"),
        STR_INIT("{\"type\":\"run.start\",\"runId\":\"run_0123456789abcdef\",\"model\":\"m\"}"),
        STR_INIT(
            "{\"type\":\"llm.response\",\"content\":[{\"type\":\"text\",\"text\":\"yes\"}],"
            "\"requestParts\":{\"a\":[1,2,3,4,5,6,7,8,9,10],\"b\":[\"#12345678/90\",\"#1/2\"],"
            "\"messages\":{\"n\":5,\"newest\":[\"#1/1\",\"#2/2\",\"#3/3\",\"#4/4\",\"#5/5\"]}}}"),
        STR_INIT(
            "{\"type\":\"run.done\",\"runId\":\"run_0123456789abcdef\",\"stopReason\":\"end\"}"),
    };
    for (size_t i = 0; i < ARRAY_LEN(LINES); i++) {
        transcript_add(t, LINES[i]);
        transcript_place(t, t->n - 1, &(store_pos){at += LINES[i].n + 1}, 1);
    }
    return at;
}

/* What was read is kept as messages: they stay the same, and cost no more than they say. */
TEST(lines_are_dropped_once_they_are_messages)
{
    enum { TURNS = 256, BYTES_PER_TURN = 1500 };
    struct transcript *t = transcript_new();
    store_pos end = turn(t, 100);
    transcript_settle(t, end);
    for (size_t i = 1; i < TURNS; i++) {
        const struct replay *r = transcript_replay(t);
        assert_int_equal(r->n, 2 * i);
        assert_int_equal(t->n, 0);
        end = turn(t, end);
        size_t mine = t->n;
        assert_int_equal(transcript_replay(t)->n, 2 * i + 2);
        assert_int_equal(t->n, mine); /* the log may still disagree */
        struct store_event news[8];
        for (size_t k = 0; k < mine; k++)
            news[k] = (struct store_event){t->lines[k].pos, t->lines[k].text};
        struct store_page page = page_of(news, mine);
        assert_true(transcript_catch_up(t, &page));
    }
    const struct replay *r = transcript_replay(t);
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < r->n; i++)
        assert_true(str_eq(replay_text(&a, &r->messages[i]), i % 2 ? STR("yes") : STR("hi")));
    assert_true(str_eq(r->messages[1].stop_reason, STR("end")));
    assert_true(transcript_size(t) < TURNS * BYTES_PER_TURN);
    arena_done(&a);
    transcript_free(t);
}

TEST(doubt_means_reading_again)
{
    const struct store_event news[] = {{300, USER}, {400, ANSWER}};
    struct transcript *t = make();
    struct store_page page = page_of(news, 2);
    page.reached_end = false;
    assert_false(transcript_catch_up(t, &page));
    page = page_of(NULL, 0);
    page.is_beyond_end = true;
    assert_false(transcript_catch_up(t, &page));
    page = page_of(news, 2);
    t->is_lost = true;
    assert_false(transcript_catch_up(t, &page));
    t->is_lost = false;
    transcript_add(t, USER); /* on its way to the log, or lost on it */
    assert_false(transcript_catch_up(t, &page));
    transcript_free(t);
}

TEST(a_new_log_is_settled_at_once)
{
    struct transcript *t = transcript_new();
    struct store_page page = page_of(NULL, 0);
    transcript_add(t, USER);
    assert_false(transcript_catch_up(t, &page));
    transcript_settle(t, 120);
    assert_true(transcript_catch_up(t, &page));
    assert_int_equal(t->known, 120);
    transcript_free(t);
}
