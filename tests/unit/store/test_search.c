/* Full-text search through the index: what is found, for whom, in which order. */
#include <errno.h>
#include <sqlite3.h>

#include "index_rig.h"
#include "store/index/search_feed.h"

#define ID    "conv_0123456789abcdef"
#define OTHER "conv_fedcba9876543210"

static int setup(void **state)
{
    struct twin *t = xcalloc(1, sizeof(*t));
    twin_init(t);
    *state = t;
    return 0;
}

static int teardown(void **state)
{
    twin_done(*state);
    free(*state);
    return 0;
}

static int64_t ask(struct twin *t, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *st;
    assert_int_equal(sqlite3_open(t->db, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
    int64_t n = sqlite3_step(st) == SQLITE_ROW ? sqlite3_column_int64(st, 0) : -1;
    sqlite3_finalize(st);
    sqlite3_close(db);
    return n;
}

static void settle(struct twin *t)
{
    static const char BEHIND[] = "SELECT count(*) FROM log WHERE text_done <> done";
    bool never = false;
    assert_int_equal(rig_list(&t->a, &(struct store_query){.limit = 1}), 0);
    for (int i = 0; i < RIG_WAIT_MS / 10 && ask(t, BEHIND) != 0; i++)
        (void)loop_run_until(t->a.loop, &never, 10);
    assert_int_equal(ask(t, BEHIND), 0);
}

static void say_at(struct twin *t, const char *id, const char *ts, const char *text)
{
    char event[2000];
    (void)snprintf(event, sizeof(event),
                   "{\"ts\":\"%s\",\"type\":\"user.message\",\"userId\":\"usr_a\","
                   "\"content\":\"%s\"}",
                   ts, text);
    assert_int_equal(rig_append(&t->a, id, event), 0);
}

TEST_WITH(a_cancelled_slice_is_not_written, setup, teardown)
{
    struct twin *t = *state;
    struct index_db db;
    atomic_bool stop = true;
    assert_int_equal(rig_create(&t->a, ID, "usr_a"), 0);
    say_at(t, ID, "2024-05-01T10:00:00.000Z", "hello");
    settle(t);
    index_db_init(&db, t->db, t->a.dir, &t->a.env);
    assert_true(index_db_ready(&db) >= 0);
    struct index_sync sync = {.db = &db, .store = t->a.store, .stop = &stop};
    struct search_slice *slice;
    assert_int_equal(search_gather(&sync, SEARCH_SLICE_MAX, &slice), -ECANCELED);
    assert_null(slice);
    stop = false;
    assert_int_equal(search_gather(&sync, SEARCH_SLICE_MAX, &slice), 0);
    assert_null(slice);
    index_db_close(&db);
}

/* The order of time is not the order in which logs were read. */
TEST_WITH(newest_first, setup, teardown)
{
    struct twin *t = *state;
    assert_int_equal(rig_create(&t->a, ID, "usr_a"), 0);
    assert_int_equal(rig_create(&t->a, OTHER, "usr_a"), 0);
    say_at(t, ID, "2024-05-01T00:00:00.000Z", "word five");
    say_at(t, OTHER, "2024-03-01T00:00:00.000Z", "word three");
    settle(t);
    say_at(t, OTHER, "2024-04-01T00:00:00.000Z", "word four");
    say_at(t, ID, "2024-01-01T00:00:00.000Z", "word one");
    settle(t);
    say_at(t, ID, "2024-02-01T00:00:00.000Z", "word two"); /* not in the full text yet */
    struct store_search_query q = {.text = STR("word"), .limit = 4};
    twin_find(t, &q);
    struct rig *r = &t->a;
    assert_int_equal(RIG_CALL(r, store_search(r->store, &q, rig_on_search, r)), 0);
    static const char *const EXPECTED[] = {"2024-05", "2024-04", "2024-03", "2024-02"};
    assert_int_equal(r->hits.n, 4);
    for (size_t i = 0; i < 4; i++)
        assert_true(str_starts(r->hits.hits[i].ts, str_from(EXPECTED[i])));
    assert_str(r->hits.hits[3].snippet, "\x01word\x02 two");
    q.limit = 2;
    assert_int_equal(RIG_CALL(r, store_search(r->store, &q, rig_on_search, r)), 0);
    assert_int_equal(r->hits.n, 2);
    assert_int_equal(r->hits.total, -1); /* there are more, nobody counted them */
}

TEST_WITH(by_relevance, setup, teardown)
{
    struct twin *t = *state;
    struct rig *r = &t->a;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    say_at(t, ID, "2024-01-01T00:00:00.000Z", "tea tea tea");
    say_at(t, ID, "2024-01-02T00:00:00.000Z", "coffee and tea and a lot of other things to drink");
    say_at(t, ID, "2024-01-03T00:00:00.000Z", "tea, once");
    settle(t);
    say_at(t, ID, "2024-01-04T00:00:00.000Z", "tea tea tea tea");
    struct store_search_query q = {.text = STR("tea"), .by_relevance = true};
    assert_int_equal(RIG_CALL(r, store_search(r->store, &q, rig_on_search, r)), 0);
    assert_int_equal(r->hits.n, 4);
    assert_true(str_starts(r->hits.hits[0].ts, STR("2024-01-04")));
    assert_true(str_starts(r->hits.hits[1].ts, STR("2024-01-01")));
    assert_true(str_starts(r->hits.hits[3].ts, STR("2024-01-02")));
    assert_str(r->hits.hits[1].snippet, "\x01tea\x02 tea tea");
}

static void say_words(struct twin *t, unsigned messages, unsigned words)
{
    for (unsigned i = 0; i < messages; i++) {
        struct buf b;
        buf_init(&b, 1 << 20);
        buf_printf(&b, "{\"ts\":\"2024-05-01T10:00:%02u.000Z\",\"type\":\"user.message\",", i);
        buf_add_lit(&b, "\"userId\":\"usr_a\",\"content\":\"rare");
        for (unsigned k = 0; k < words; k++)
            buf_printf(&b, " pre%07u", i * words + k);
        buf_add_lit(&b, "\"}");
        assert_int_equal(rig_append(&t->a, ID, buf_cstr(&b)), 0);
        buf_done(&b);
    }
}

/* More words begin like this than are merged in memory: found in the newest messages all the same,
 * and only there where they are. */
TEST_WITH(a_beginning_of_very_many_words, setup, teardown)
{
    enum { MESSAGES = 12, WORDS = 25000 };
    struct twin *t = *state;
    assert_int_equal(rig_create(&t->a, ID, "usr_a"), 0);
    say_words(t, MESSAGES, WORDS);
    say_at(t, ID, "2024-05-01T11:00:00.000Z", "other words");
    say_at(t, ID, "2024-05-01T11:00:01.000Z", "prehistoric and other words");
    settle(t);
    assert_true(ask(t, "SELECT count(*) FROM said_data") > 600);
    assert_int_equal(twin_search(t, "pre"), MESSAGES + 1);
    assert_int_equal(twin_search(t, "rare pre"), MESSAGES);
    assert_int_equal(twin_search(t, "other pre"), 1);
    assert_int_equal(twin_search(t, "pre0000001"), 1);
    assert_int_equal(twin_search(t, "prfx"), 0);
}

/* The most that SQLite uses during a search for this, beyond what it uses before. */
static sqlite3_int64 memory_of_search(struct twin *t, const char *text)
{
    struct rig *r = &t->a;
    const struct store_search_query q = {.text = str_from(text), .limit = 10};
    assert_int_equal(RIG_CALL(r, store_search(r->store, &q, rig_on_search, r)), 0);
    sqlite3_int64 before = sqlite3_memory_used();
    (void)sqlite3_memory_highwater(1);
    assert_int_equal(RIG_CALL(r, store_search(r->store, &q, rig_on_search, r)), 0);
    return sqlite3_memory_highwater(0) - before;
}

TEST_WITH(a_search_for_a_beginning_takes_little_memory, setup, teardown)
{
    enum { MESSAGES = 3, WORDS = 25000, MEMORY_MAX = 128 * 1024 };
    struct twin *t = *state;
    assert_int_equal(rig_create(&t->a, ID, "usr_a"), 0);
    say_words(t, MESSAGES, WORDS);
    settle(t);
    assert_true(memory_of_search(t, "pre") < MEMORY_MAX);
}

TEST_WITH(one_conversation, setup, teardown)
{
    struct twin *t = *state;
    assert_int_equal(rig_create(&t->a, ID, "usr_a"), 0);
    assert_int_equal(rig_create(&t->a, OTHER, "usr_b"), 0);
    say_at(t, ID, "2024-01-01T00:00:00.000Z", "word here");
    say_at(t, OTHER, "2024-01-02T00:00:00.000Z", "word there");
    settle(t);
    struct viewer a = {.user_id = STR_INIT("usr_a")};
    struct store_search_query q = {.text = STR("word"), .conv_id = STR(ID), .viewer = &a};
    twin_find(t, &q);
    assert_int_equal(t->a.hits.n, 1);
    q.conv_id = STR(OTHER); /* somebody else's */
    twin_find(t, &q);
    assert_int_equal(t->a.hits.n, 0);
    q.conv_id = STR("conv_none");
    twin_find(t, &q);
    q.conv_id = STR("../x");
    twin_find(t, &q);
    assert_int_equal(t->a.err.code, -ENOENT);
}

/* Thousands of messages in the same millisecond, and without any time at all. */
TEST_WITH(same_time, setup, teardown)
{
    enum { MESSAGES = 3000 };
    struct twin *t = *state;
    struct buf log;
    buf_init(&log, 1u << 22);
    buf_add_lit(&log, "{\"id\":\"" ID "\",\"createdAt\":\"2024-01-01T00:00:00.000Z\"}\n");
    for (int i = 0; i < MESSAGES; i++)
        buf_printf(&log, "{\"type\":\"user.message\",%s\"content\":\"same word %d\"}\n",
                   i % 2 ? "\"ts\":\"2024-01-01T00:00:00.000Z\"," : "", i);
    rig_spit(&t->a, ID ".jsonl", "we", buf_str(&log));
    buf_done(&log);
    settle(t);
    assert_int_equal(ask(t, "SELECT count(*) FROM message"), MESSAGES);
    struct store_search_query q = {.text = STR("word"), .limit = 1000};
    assert_int_equal(RIG_CALL(&t->a, store_search(t->a.store, &q, rig_on_search, &t->a)), 0);
    assert_int_equal(t->a.hits.n, 1000);
    assert_int_equal(twin_search(t, "\"word 17\""), 1);
    assert_int_equal(twin_search(t, "\"word 18\""), 1);
    assert_int_equal(twin_search(t, "same word \"19\""), 1);
}

/* Two feeds, as of two processes, must not put the same message in twice. */
TEST_WITH(two_feeds, setup, teardown)
{
    struct twin *t = *state;
    struct rig c;
    rig_init(&c, NULL, NULL);
    struct store_conf conf = {.type = "jsonl",
                              .dir = t->a.conv_dir,
                              .cache_dir = t->cache_dir,
                              .workspace_id = "ws_test",
                              .read_only = true};
    assert_int_equal(store_open(&c.env, &conf, &c.store, NULL), 0);
    bool never = false;
    for (int i = 0; i < 10; i++) {
        char id[40], text[80];
        (void)snprintf(id, sizeof(id), "conv_%d", i);
        assert_int_equal(rig_create(&t->a, id, "usr_a"), 0);
        for (int k = 0; k < 20; k++) {
            (void)snprintf(text, sizeof(text), "message %d of %d", k, i);
            say_at(t, id, "2024-01-01T00:00:00.000Z", text);
        }
        assert_int_equal(rig_list(&c, &(struct store_query){.limit = 1}), 0);
        assert_int_equal(rig_list(&t->a, &(struct store_query){.limit = 1}), 0);
        (void)loop_run_until(c.loop, &never, 5); /* both are feeding now */
        (void)loop_run_until(t->a.loop, &never, 5);
    }
    settle(t);
    assert_int_equal(ask(t, "SELECT count(*) FROM message"), 200);
    assert_int_equal(twin_search(t, "message"), 200);
    rig_done(&c);
}

/* A log of more than a megabyte is opened from its row, and read on from there. */
TEST_WITH(huge_logs_open_from_the_index, setup, teardown)
{
    struct twin *t = *state;
    struct rig *r = &t->a;
    struct buf event;
    buf_init(&event, 1u << 21);
    buf_add_lit(&event, "{\"type\":\"user.message\",\"content\":\"");
    for (int i = 0; i < 60000; i++)
        buf_add_lit(&event, "word ");
    buf_add_lit(&event, "\"}");
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(rig_append(r, ID, event.p), 0);
    buf_done(&event);
    settle(t);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(t->db, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    assert_int_equal(sqlite3_exec(db, "UPDATE conv SET message_count = 1005", NULL, NULL, NULL), 0);
    sqlite3_close(db);
    twin_reopen(t);
    assert_int_equal(rig_get(r, ID), 0);
    assert_int_equal(r->conv->message_count, 1005); /* nothing was counted again */
    say_at(t, ID, "2024-01-01T00:00:00.000Z", "more");
    assert_int_equal(rig_get(r, ID), 0);
    assert_int_equal(r->conv->message_count, 1006);
    twin_reopen(t);
    assert_int_equal(unlink(t->db), 0);
    assert_int_equal(rig_get(r, ID), 0);
    assert_int_equal(r->conv->message_count, 6);
}

/* ---- notes.jsonl of the folder store, which other programs write too ---- */

#define NOTES_FOLDER "conversations/conversation-2026-03-25T01-32-20-418Z-thread_abc123"
#define NOTES_THREAD "thread_abc123"
#define CHAT_HEADER(more)                                                                          \
    "{\"type\":\"conversation-header\",\"schemaVersion\":1,\"fileKind\":\"chat\","                 \
    "\"conversationId\":\"conversation-x\",\"threadId\":\"" NOTES_THREAD "\",\"channel\":\"tui\"," \
    "\"title\":\"Fruit\",\"createdAt\":1774402340418,\"updatedAt\":1774402340418" more "}\n"
#define NOTE(ms, text)                                                                             \
    "{\"type\":\"note\",\"createdAt\":" ms ",\"author\":\"model\",\"content\":\"" text "\"}"

static int setup_folder(void **state)
{
    struct twin *t = xcalloc(1, sizeof(*t));
    twin_init_type(t, "folder");
    assert_int_equal(mkdir(rig_path(&t->a, NOTES_FOLDER), 0700), 0);
    rig_spit(&t->a, NOTES_FOLDER "/chat.jsonl", "we",
             STR(CHAT_HEADER(",\"ownerId\":\"usr_a\",\"visibility\":\"private\","
                             "\"participants\":[\"usr_a\"]")));
    *state = t;
    return 0;
}

static void write_notes(struct twin *t, const char *mode, const char *lines)
{
    rig_spit(&t->a, NOTES_FOLDER "/notes.jsonl", mode, str_from(lines));
}

TEST_WITH(notes_of_other_programs, setup_folder, teardown)
{
    struct twin *t = *state;
    write_notes(t, "we", NOTE("1774402350000", "pineapple and fig") "\n");
    assert_int_equal(twin_search(t, "pineapple"), 1); /* before the full text has it */
    assert_str(t->a.hits.hits[0].conv_id, NOTES_THREAD);
    assert_str(t->a.hits.hits[0].role, "note");
    settle(t);
    assert_int_equal(twin_search(t, "pineapple"), 1);
    write_notes(t, "ae", "not a note\n" NOTE("1774402360000", "mango") "\n"); /* while it is open */
    assert_int_equal(twin_search(t, "mango"), 1);
    settle(t);
    write_notes(t, "ae", NOTE("1774402370000", "kiwi")); /* without a line feed */
    assert_int_equal(twin_search(t, "kiwi"), 1);
    settle(t);
    assert_int_equal(twin_search(t, "kiwi OR mango"), twin_search(t, "mango kiwi"));
    assert_int_equal(twin_search(t, "mango"), 1);
    write_notes(t, "we", NOTE("1774402380000", "papaya") "\n"); /* another file in its place */
    assert_int_equal(twin_search(t, "papaya"), 1);
    assert_int_equal(twin_search(t, "pineapple"), 0);
    settle(t);
    assert_int_equal(twin_search(t, "pineapple"), 0);
    assert_int_equal(unlink(rig_path(&t->a, NOTES_FOLDER "/notes.jsonl")), 0);
    assert_int_equal(twin_search(t, "papaya"), 0);
}

TEST_WITH(own_notes_are_found_once, setup_folder, teardown)
{
    struct twin *t = *state;
    struct rig *r = &t->a;
    str id = STR(NOTES_THREAD);
    write_notes(t, "we", NOTE("1774402350000", "lemon of others") "\n");
    assert_int_equal(RIG_CALL(r, store_add_note(r->store, id, STR("usr_a"), STR("lemon of ours"),
                                                rig_on_conv, r)),
                     0);
    assert_int_equal(twin_search(t, "lemon"), 2);
    settle(t);
    assert_int_equal(twin_search(t, "lemon"), 2);
    assert_int_equal(twin_search(t, "ours"), 1);
    struct store_search_query q = {.text = STR("lemon"), .conv_id = id, .limit = 10};
    twin_find(t, &q);
    assert_int_equal(t->a.hits.n, 2);
    q.by_relevance = true;
    assert_int_equal(RIG_CALL(r, store_search(r->store, &q, rig_on_search, r)), 0);
    assert_int_equal(r->hits.n, 2);
    assert_true(str_find(r->hits.hits[1].snippet, STR("\x01lemon\x02 of"), 0) >= 0);
}

TEST_WITH(notes_are_for_those_who_see_the_conversation, setup_folder, teardown)
{
    struct twin *t = *state;
    struct viewer a = {.user_id = STR_INIT("usr_a")}, b = {.user_id = STR_INIT("usr_b")};
    struct store_search_query q = {.text = STR("secret"), .viewer = &b, .limit = 10};
    write_notes(t, "we", NOTE("1774402350000", "secret fruit") "\n");
    twin_find(t, &q);
    assert_int_equal(t->a.hits.n, 0);
    settle(t);
    twin_find(t, &q);
    assert_int_equal(t->a.hits.n, 0);
    q.viewer = &a;
    twin_find(t, &q);
    assert_int_equal(t->a.hits.n, 1);
    assert_int_equal(rig_delete(&t->a, NOTES_THREAD, false), 0);
    assert_int_equal(twin_search(t, "secret"), 0);
    assert_int_equal(ask(t, "SELECT count(*) FROM log"), 0);
}
