/* One suite for every backend: what store.h promises, whatever holds the bytes. */
#include <errno.h>

#include "rig.h"
#include "store/log/journal.h"
#include "support/postgres.h"

#define ID    "conv_0123456789abcdef"
#define OTHER "conv_fedcba9876543210"

static const struct {
    const char *name, *backend;
    struct appender_conf appender;
} GROUPS[] = {
    {"memory", "memory", {.threads = 4}},
    {"jsonl", "jsonl", {.threads = 4}},
    {"jsonl with a journal",
     "jsonl",
     {.threads = 4, .journal_after = 1, .journal_bytes = 4 * JOURNAL_BLOCK}},
    {"folder", "folder", {.threads = 4}},
    {"postgres", "postgres", {.threads = 4}},
};

static const char *backend; /* of the group under way */
static const struct appender_conf *appender;

static int setup(void **state)
{
    struct rig *r = xcalloc(1, sizeof(*r));
    if (strcmp(backend, "postgres") == 0)
        postgres_clear(rig_database_url);
    rig_init_with(r, backend, appender);
    *state = r;
    return 0;
}

static int teardown(void **state)
{
    rig_done(*state);
    free(*state);
    return 0;
}

#define USER(text)                                                                                 \
    "{\"type\":\"user.message\",\"content\":[{\"type\":\"text\",\"text\":\"" text                  \
    "\"}],\"userId\":\"usr_a\"}"
#define RUN_DONE "{\"type\":\"run.done\",\"runId\":\"r1\",\"stopReason\":\"complete\"}"

TEST_WITH(ids, setup, teardown)
{
    static const char *const good[] = {ID, "a_b", "conv_A-b_9", "thread_x"};
    static const char *const bad[] = {"",           "conv_",        "conv",    "_x",
                                      "Conv_x",     "conv_/",       "conv_..", "conv_a/b",
                                      "../conv_aa", "conv_\xc3\xa9"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(store_id_valid(str_from(good[i])));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(store_id_valid(str_from(bad[i])));
    char longest[80] = "c_";
    memset(longest + 2, 'x', 65);
    assert_false(store_id_valid(str_from(longest)));
    longest[66] = 0;
    assert_true(store_id_valid(str_from(longest)));
    struct rig *r = *state;
    assert_int_equal(rig_get(r, "../../etc/passwd"), -ENOENT);
    assert_int_equal(rig_append(r, "conv_/x", USER("x")), -ENOENT);
}

TEST_WITH(create, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, "", "usr_a"), 0);
    assert_int_equal(r->conv->id.n, 21);
    assert_true(str_starts(r->conv->id, STR("conv_")));
    assert_str(r->conv->workspace_id, "ws_test");
    assert_str(r->conv->acl.owner_id, "usr_a");
    assert_false(r->conv->acl.is_shared);
    assert_int_equal(r->conv->acl.participants.len, 1);
    assert_int_equal(r->conv->created_at.n, CLOCK_ISO_LEN);
    assert_int_equal(r->conv->message_count, 0);
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_create(r, ID, "usr_b"), -EEXIST);
    assert_int_equal(rig_get(r, ID), 0);
    assert_str(r->conv->acl.owner_id, "usr_a");
    assert_int_equal(rig_get(r, OTHER), -ENOENT);
}

TEST_WITH(create_with_events_and_more, setup, teardown)
{
    struct rig *r = *state;
    struct arena a;
    arena_init(&a);
    struct json *parent, *meta;
    assert_int_equal(json_parse(&a, STR("{\"conversationId\":\"conv_p\"}"), 0, &parent, NULL), 0);
    assert_int_equal(json_parse(&a, STR("{\"n\":0.1}"), 0, &meta, NULL), 0);
    str events[] = {STR_INIT(USER("hello")), STR_INIT(RUN_DONE)};
    struct conv_create spec = {.id = STR(ID),
                               .owner_id = STR("usr_a"),
                               .channel = STR("tui"),
                               .model = STR("anthropic:x"),
                               .parent = parent,
                               .metadata = meta,
                               .events = events,
                               .nevents = 2};
    assert_int_equal(RIG_CALL(r, store_create(r->store, &spec, rig_on_conv, r)), 0);
    assert_str(r->conv->channel, "tui");
    assert_str(r->conv->model, "anthropic:x");
    assert_str(r->conv->preview, "hello");
    assert_int_equal(r->conv->message_count, 2);
    assert_true(r->conv->is_hidden);
    assert_str(json_get_string(r->conv->parent, "conversationId"), "conv_p");
    assert_str(json_to_str(&r->arena, r->conv->metadata), "{\"n\":0.1}");
    assert_int_equal(rig_read(r, ID, &(struct store_range){0}), 0);
    assert_int_equal(r->page.n, 2);
    arena_done(&a);
}

struct chooser {
    size_t seen;
    size_t stop_after; /* lines */
};

/* Takes the messages of users, and stops when it has seen enough. */
static enum store_choice choose_users(void *ctx, str line)
{
    struct chooser *c = ctx;
    if (c->seen >= c->stop_after)
        return STORE_STOP;
    c->seen++;
    return str_find(line, STR("user.message"), 0) >= 0 ? STORE_TAKE_WHOLE : STORE_SKIP;
}

/* The lines that the caller chooses, newest first, in the order of the log. */
TEST_WITH(a_reader_may_choose, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    static const char *const LINES[] = {USER("one"), RUN_DONE, USER("two"), USER("three"),
                                        RUN_DONE};
    store_pos pos[ARRAY_LEN(LINES)];
    for (size_t i = 0; i < ARRAY_LEN(LINES); i++) {
        assert_int_equal(rig_append(r, ID, LINES[i]), 0);
        pos[i] = r->pos[0];
    }
    struct chooser all = {.stop_after = 100}, some = {.stop_after = 3};
    struct store_range range = {.backwards = true, .choose = choose_users, .choose_ctx = &all};
    assert_int_equal(rig_read(r, ID, &range), 0);
    assert_int_equal(r->page.n, 3);
    assert_true(str_find(r->page.events[0].line, STR("one"), 0) > 0);
    assert_int_equal(r->page.events[2].pos, pos[3]);
    assert_int_equal(r->page.end, pos[4]); /* also behind lines that were not taken */
    assert_true(r->page.reached_start && r->page.reached_end);
    range.choose_ctx = &some;
    assert_int_equal(rig_read(r, ID, &range), 0);
    assert_int_equal(r->page.n, 2);
    assert_int_equal(r->page.start, pos[1]);
    assert_false(r->page.reached_start);
    some.seen = 0;
    range.before = pos[2];
    assert_int_equal(rig_read(r, ID, &range), 0);
    assert_int_equal(r->page.n, 2);
    assert_int_equal(r->page.end, pos[2]);
    some.seen = 0;
    range.max_bytes = 10; /* a limit all the same, after at least one */
    assert_int_equal(rig_read(r, ID, &range), 0);
    assert_int_equal(r->page.n, 1);
}

/* Who wrote, and which tools were called, also by lines that nobody reads any more. */
TEST_WITH(the_past_of_a_conversation, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_append(r, ID, USER("one")), 0);
    assert_int_equal(rig_append(r, ID,
                                "{\"type\":\"llm.response\",\"content\":[{\"type\":"
                                "\"tool-call\",\"toolCallId\":\"1\",\"toolName\":\"x__y\"}]}"),
                     0);
    assert_int_equal(rig_append(r, ID, USER("two")), 0);
    assert_int_equal(rig_append(r, ID,
                                "{\"type\":\"user.message\",\"content\":\"hi\",\"userId\":"
                                "\"usr_b\",\"toolLimit\":[\"x__*\"]}"),
                     0);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(rig_get(r, ID), 0);
        assert_str(
            past_json(&r->arena, &r->conv->past),
            "{\"people\":[\"usr_a\",\"usr_b\"],\"limits\":[[\"x__*\"]],\"tools\":[\"x__y\"]}");
        if (strcmp(backend, "memory") != 0)
            rig_reopen(r, backend);
    }
}

TEST_WITH(a_hidden_conversation_is_listed_only_on_request, setup, teardown)
{
    struct rig *r = *state;
    struct conv_create spec = {.id = STR(ID), .owner_id = STR("usr_a"), .is_hidden = true};
    assert_int_equal(RIG_CALL(r, store_create(r->store, &spec, rig_on_conv, r)), 0);
    assert_int_equal(rig_create(r, OTHER, "usr_a"), 0);
    assert_int_equal(rig_append(r, ID, USER("x")), 0);
    assert_int_equal(rig_get(r, ID), 0);
    assert_true(r->conv->is_hidden);
    assert_int_equal(rig_list(r, &(struct store_query){0}), 0);
    assert_int_equal(r->listing.n, 1);
    assert_int_equal(rig_list(r, &(struct store_query){.with_hidden = true}), 0);
    assert_int_equal(r->listing.n, 2);
}

TEST_WITH(append_and_read, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_append(r, OTHER, USER("x")), -ENOENT);
    store_pos last = 0;
    for (int i = 0; i < 10; i++) {
        char line[128];
        (void)snprintf(line, sizeof(line), "{\"ts\":\"t%d\",\"type\":\"x.%d\",\"n\":1.50}", i, i);
        assert_int_equal(rig_append(r, ID, line), 0);
        assert_int_equal(r->npos, 1);
        assert_true(r->pos[0] > last);
        last = r->pos[0];
    }
    assert_int_equal(rig_read(r, ID, &(struct store_range){0}), 0);
    assert_int_equal(r->page.n, 10);
    assert_true(r->page.reached_start && r->page.reached_end);
    assert_str(r->page.events[3].line, "{\"ts\":\"t3\",\"type\":\"x.3\",\"n\":1.50}");
    assert_int_equal(r->page.events[9].pos, last);
    assert_int_equal(rig_get(r, ID), 0);
    assert_int_equal(r->conv->end, last);
}

TEST_WITH(what_is_not_an_event_is_refused, setup, teardown)
{
    struct rig *r = *state;
    static const char *const bad[] = {"",
                                      "x",
                                      "{}",
                                      "[]",
                                      "{\"ts\":1}",
                                      "{\"type\":1}",
                                      "{\"type\":\"a\"",
                                      "{\"type\":\"\"}",
                                      "{\"type\":\"a\"}\n{}"};
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(rig_append(r, ID, bad[i]), -EINVAL);
    str mixed[] = {STR_INIT(USER("good")), STR_INIT("bad")};
    assert_int_equal(rig_append_n(r, ID, mixed, 2), -EINVAL);
    assert_int_equal(rig_read(r, ID, &(struct store_range){0}), 0);
    assert_int_equal(r->page.n, 0); /* all or nothing */
    assert_int_equal(rig_append_n(r, ID, NULL, 0), 0);
}

TEST_WITH(ts_is_added_and_lines_stay_lines, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_append(r, ID, "{ \"type\":\"a\",\n \"x\": 1e400 }"), 0);
    assert_int_equal(rig_read(r, ID, &(struct store_range){0}), 0);
    assert_int_equal(r->page.n, 1);
    str line = r->page.events[0].line;
    assert_true(str_starts(line, STR("{\"ts\":\"20")));
    assert_true(str_find_char(line, '\n') < 0);
    assert_true(str_find(line, STR("1e400"), 0) > 0);
}

static void add_numbered(struct rig *r, int n)
{
    for (int i = 0; i < n; i++) {
        char line[64];
        (void)snprintf(line, sizeof(line), "{\"type\":\"n\",\"i\":%d}", i);
        assert_int_equal(rig_append(r, ID, line), 0);
    }
}

static int64_t number(struct rig *r, size_t i)
{
    struct json *v;
    assert_int_equal(json_parse(&r->arena, r->page.events[i].line, 0, &v, NULL), 0);
    return json_get_int(v, "i", -1);
}

TEST_WITH(paging_forwards, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    add_numbered(r, 25);
    struct store_range range = {.max_events = 10};
    int64_t next = 0;
    for (int page = 0; page < 3; page++) {
        assert_int_equal(rig_read(r, ID, &range), 0);
        assert_int_equal(r->page.n, page < 2 ? 10 : 5);
        assert_int_equal(r->page.reached_end, page == 2);
        assert_int_equal(r->page.reached_start, page == 0);
        for (size_t i = 0; i < r->page.n; i++)
            assert_int_equal(number(r, i), next++);
        range.after = r->page.events[r->page.n - 1].pos;
    }
    assert_int_equal(rig_read(r, ID, &range), 0);
    assert_int_equal(r->page.n, 0);
    assert_true(r->page.reached_end);
    assert_false(r->page.is_beyond_end);
    range.after += 1;
    assert_int_equal(rig_read(r, ID, &range), 0);
    assert_true(r->page.is_beyond_end);
}

TEST_WITH(paging_backwards, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    add_numbered(r, 25);
    struct store_range range = {.max_events = 10, .backwards = true};
    int64_t expected = 15;
    for (int page = 0; page < 3; page++) {
        assert_int_equal(rig_read(r, ID, &range), 0);
        assert_int_equal(r->page.n, page < 2 ? 10 : 5);
        assert_int_equal(r->page.reached_end, page == 0);
        assert_int_equal(r->page.reached_start, page == 2);
        assert_int_equal(number(r, 0), expected);
        assert_int_equal(number(r, r->page.n - 1), expected + (int64_t)r->page.n - 1);
        expected -= page == 1 ? 5 : 10;
        range.before = r->page.start;
    }
    range.before = 1u << 30;
    assert_int_equal(rig_read(r, ID, &range), 0);
    assert_true(r->page.is_beyond_end);
}

TEST_WITH(page_limits_in_bytes, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    add_numbered(r, 5);
    for (int backwards = 0; backwards < 2; backwards++) {
        struct store_range range = {.max_bytes = 1, .backwards = backwards};
        assert_int_equal(rig_read(r, ID, &range), 0);
        assert_int_equal(r->page.n, 1);
        assert_int_equal(number(r, 0), backwards ? 4 : 0);
    }
}

TEST_WITH(derived_values, setup, teardown)
{
    struct rig *r = *state;
    str events[] = {
        STR_INIT("{\"ts\":\"2026-03-25T10:30:00.000Z\",\"type\":\"user.message\",\"content\":[{"
                 "\"type\":\"text\",\"text\":\"first\"}]}"),
        STR_INIT("{\"ts\":\"2026-03-25T10:30:01.000Z\",\"type\":\"llm.response\",\"model\":"
                 "\"known\",\"inputTokens\":1000,\"outputTokens\":10,\"cacheReadTokens\":7}"),
        STR_INIT("{\"type\":\"llm.response\",\"model\":\"known\",\"usage\":{\"inputTokens\":500,"
                 "\"outputTokens\":5,\"cacheWriteTokens\":9,\"cacheWrite1hTokens\":4}}"),
        STR_INIT("{\"type\":\"aux.usage\",\"source\":\"title\",\"model\":\"known\","
                 "\"inputTokens\":100,\"outputTokens\":1}"),
        STR_INIT("{\"ts\":\"2026-03-25T10:30:09.000Z\",\"type\":\"run.done\"}"),
    };
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_append_n(r, ID, events, ARRAY_LEN(events)), 0);
    assert_int_equal(rig_get(r, ID), 0);
    assert_int_equal(r->conv->usage.input_tokens, 1600);
    assert_int_equal(r->conv->usage.output_tokens, 16);
    assert_int_equal(r->conv->usage.cache_read_tokens, 7);
    assert_int_equal(r->conv->usage.cache_write_5m_tokens, 5);
    assert_int_equal(r->conv->usage.cache_write_1h_tokens, 4);
    assert_true(r->conv->is_cost_known);
    assert_true(r->conv->cost_usd > 0.0016159 && r->conv->cost_usd < 0.0016161);
    assert_str(r->conv->last_model, "known");
    assert_str(r->conv->preview, "first");
    assert_str(r->conv->updated_at, "2026-03-25T10:30:09.000Z");
    assert_int_equal(r->conv->message_count, 2);
    assert_int_equal(
        rig_append(r, ID, "{\"type\":\"llm.response\",\"model\":\"dear\",\"inputTokens\":1}"), 0);
    assert_int_equal(rig_get(r, ID), 0);
    assert_false(r->conv->is_cost_known);
    assert_str(r->conv->last_model, "dear");
}

TEST_WITH(titles, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_title(r, ID, "  auto  ", true), 0);
    assert_str(r->conv->title, "auto");
    assert_int_equal(rig_title(r, ID, "auto again", true), 0);
    assert_str(r->conv->title, "auto");
    assert_int_equal(rig_title(r, ID, "mine \"quoted\"", false), 0);
    assert_str(r->conv->title, "mine \"quoted\"");
    /* A late automatic title loses even when it is written after the rename. */
    assert_int_equal(
        rig_append(r, ID, "{\"type\":\"metadata.title\",\"title\":\"late\",\"auto\":true}"), 0);
    assert_int_equal(rig_get(r, ID), 0);
    assert_str(r->conv->title, "mine \"quoted\"");
    assert_int_equal(rig_title(r, ID, "", false), 0);
    assert_str(r->conv->title, "");
    assert_int_equal(rig_title(r, ID, "\xff", false), -EINVAL);
    assert_int_equal(rig_title(r, OTHER, "x", false), -ENOENT);
}

TEST_WITH(sharing, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    str people[] = {STR_INIT("usr_b"), STR_INIT("usr_a"), STR_INIT("usr_b")};
    struct json_strs set = {people, 3};
    assert_int_equal(
        RIG_CALL(r, rig_set_sharing(r->store, STR(ID), true, &set, NULL, rig_on_conv, r)), 0);
    assert_true(r->conv->acl.is_shared);
    assert_int_equal(r->conv->acl.participants.len, 2);
    assert_str(r->conv->acl.participants.items[0], "usr_a"); /* the owner stays */
    assert_str(r->conv->acl.participants.items[1], "usr_b");
    struct viewer b = {.user_id = STR("usr_b")};
    assert_true(access_allows(&b, &r->conv->acl, CONV_SEND));
    assert_int_equal(
        RIG_CALL(r, rig_set_sharing(r->store, STR(ID), false, NULL, NULL, rig_on_conv, r)), 0);
    assert_false(r->conv->acl.is_shared);
    assert_int_equal(r->conv->acl.participants.len, 1);
    assert_false(access_allows(&b, &r->conv->acl, CONV_VIEW));
    assert_int_equal(
        RIG_CALL(r, rig_set_sharing(r->store, STR(ID), true, NULL, NULL, rig_on_conv, r)), 0);
    assert_int_equal(r->conv->acl.participants.len, 1);
}

static void on_change_counted(void *ctx, const struct err *err, const struct conv *c)
{
    assert_null(err);
    assert_non_null(c);
    ++*(size_t *)ctx;
}

static void start_change(struct rig *r, enum sharing_visibility visibility, const char *add,
                         const char *remove, size_t *count)
{
    str added = str_from(add ? add : ""), removed = str_from(remove ? remove : "");
    struct json_strs more = {&added, 1}, fewer = {&removed, 1};
    struct sharing_change change = {visibility, .add = add ? &more : NULL,
                                    .remove = remove ? &fewer : NULL};
    store_change_sharing(r->store, STR(ID), &change, NULL, on_change_counted, count);
}

static bool takes_part(const struct conv *c, const char *who)
{
    for (size_t i = 0; i < c->acl.participants.len; i++)
        if (str_eq(c->acl.participants.items[i], str_from(who)))
            return true;
    return false;
}

TEST_WITH(changes_of_sharing_at_the_same_time_all_take_effect, setup, teardown)
{
    struct rig *r = *state;
    size_t count = 0;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    start_change(r, SHARING_SHARED, "usr_b", NULL, &count);
    start_change(r, SHARING_SHARED, "usr_c", NULL, &count);
    start_change(r, SHARING_UNCHANGED, NULL, "usr_b", &count);
    start_change(r, SHARING_SHARED, "usr_d", NULL, &count);
    assert_int_equal(count, 0);
    assert_int_equal(rig_get(r, ID), 0);
    while (count < 4)
        assert_int_equal(rig_get(r, ID), 0);
    assert_int_equal(rig_get(r, ID), 0);
    assert_int_equal(r->conv->acl.participants.len, 3);
    assert_false(takes_part(r->conv, "usr_b"));
    assert_true(takes_part(r->conv, "usr_c") && takes_part(r->conv, "usr_d"));
    /* Nobody comes back because somebody else is removed while it becomes private. */
    start_change(r, SHARING_PRIVATE, NULL, NULL, &count);
    start_change(r, SHARING_UNCHANGED, NULL, "usr_c", &count);
    while (count < 6)
        assert_int_equal(rig_get(r, ID), 0);
    assert_int_equal(rig_get(r, ID), 0);
    assert_false(r->conv->acl.is_shared);
    assert_int_equal(r->conv->acl.participants.len, 1);
}

TEST_WITH(notes, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(RIG_CALL(r, store_add_note(r->store, STR(ID), STR("model"),
                                                STR("a \"note\"\n2"), rig_on_conv, r)),
                     0);
    assert_int_equal(
        RIG_CALL(r, store_add_note(r->store, STR(ID), STR("usr_a"), STR("two"), rig_on_conv, r)),
        0);
    assert_int_equal(
        RIG_CALL(r, store_add_note(r->store, STR(ID), STR("usr_a"), STR(""), rig_on_conv, r)),
        -EINVAL);
    assert_int_equal(RIG_CALL(r, store_notes(r->store, STR(ID), rig_on_notes, r)), 0);
    assert_int_equal(r->nnotes, 2);
    assert_str(r->notes[0].author, "model");
    assert_str(r->notes[0].text, "a \"note\"\n2");
    assert_int_equal(r->notes[1].ts.n, CLOCK_ISO_LEN);
    assert_int_equal(RIG_CALL(r, store_notes(r->store, STR(OTHER), rig_on_notes, r)), -ENOENT);
}

TEST_WITH(fork, setup, teardown)
{
    struct rig *r = *state;
    str events[] = {
        STR_INIT(USER("one")),
        STR_INIT("{\"type\":\"run.start\",\"runId\":\"r1\"}"),
        STR_INIT("{\"type\":\"tool.done\",\"id\":\"t\",\"output\":\"x\"}"),
        STR_INIT(RUN_DONE),
        STR_INIT("{\"type\":\"metadata.title\",\"title\":\"T\"}"),
        STR_INIT(USER("two")),
        STR_INIT(RUN_DONE),
    };
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_append_n(r, ID, events, ARRAY_LEN(events)), 0);
    static const struct {
        int64_t at;
        size_t events;
    } cases[] = {{-1, 6}, {0, 0}, {1, 1}, {2, 4}, {3, 5}, {4, 6}, {99, 6}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(rig_fork(r, ID, cases[i].at, "usr_b"), 0);
        assert_str(r->conv->forked_from, ID);
        assert_str(r->conv->acl.owner_id, "usr_b");
        assert_str(r->conv->title, "");
        char id[STORE_ID_MAX + 1];
        (void)snprintf(id, sizeof(id), "%.*s", STR_ARG(r->conv->id));
        assert_string_not_equal(id, ID);
        assert_int_equal(rig_read(r, id, &(struct store_range){0}), 0);
        assert_int_equal(r->page.n, cases[i].events);
        assert_int_equal(rig_append(r, id, USER("more")), 0);
    }
    assert_int_equal(rig_fork(r, OTHER, -1, "usr_b"), -ENOENT);
    assert_int_equal(rig_get(r, ID), 0);
    assert_str(r->conv->title, "T");
    assert_int_equal(r->conv->message_count, 4);
}

TEST_WITH(delete_and_restore, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_append(r, ID, USER("keep me")), 0);
    assert_int_equal(rig_delete(r, ID, false), 0);
    assert_int_equal(rig_get(r, ID), -ENOENT);
    assert_int_equal(rig_append(r, ID, USER("x")), -ENOENT);
    assert_int_equal(rig_delete(r, ID, false), -ENOENT);
    assert_int_equal(rig_list(r, &(struct store_query){0}), 0);
    assert_int_equal(r->listing.n, 0);
    assert_int_equal(rig_restore(r, ID), 0);
    assert_str(r->conv->preview, "keep me");
    assert_int_equal(rig_append(r, ID, USER("again")), 0);
    assert_int_equal(rig_restore(r, ID), -ENOENT);
    assert_int_equal(rig_delete(r, ID, false), 0);
    assert_int_equal(rig_delete(r, ID, true), 0); /* out of the trash */
    assert_int_equal(rig_restore(r, ID), -ENOENT);
    assert_int_equal(rig_create(r, ID, "usr_b"), 0);
    assert_int_equal(rig_delete(r, ID, true), 0);
    assert_int_equal(rig_restore(r, ID), -ENOENT);
    assert_int_equal(rig_delete(r, ID, true), -ENOENT);
}

/* Who may delete may restore and purge, nobody else: not participants, not admins. */
TEST_WITH(trash_is_the_owners, setup, teardown)
{
    struct rig *r = *state;
    str cat = STR("usr_cat");
    struct json_strs with = {&cat, 1};
    assert_int_equal(rig_create(r, ID, "usr_bob"), 0);
    assert_int_equal(rig_append(r, ID, USER("mine")), 0);
    assert_int_equal(
        RIG_CALL(r, rig_set_sharing(r->store, str_from(ID), true, &with, NULL, rig_on_conv, r)), 0);
    assert_int_equal(rig_delete_as(r, ID, false, "usr_cat", false), -ENOENT);
    assert_int_equal(rig_delete_as(r, ID, true, "usr_fay", true), -ENOENT);
    assert_int_equal(rig_get(r, ID), 0);
    assert_int_equal(rig_delete_as(r, ID, false, "usr_bob", false), 0);
    static const char *const OTHERS[] = {"usr_cat", "usr_eve", "usr_fay"};
    for (size_t i = 0; i < ARRAY_LEN(OTHERS); i++) {
        assert_int_equal(rig_restore_as(r, ID, OTHERS[i], i == 2), -ENOENT);
        assert_int_equal(rig_delete_as(r, ID, true, OTHERS[i], i == 2), -ENOENT);
        assert_int_equal(rig_get(r, ID), -ENOENT);
    }
    assert_int_equal(rig_restore_as(r, ID, "usr_bob", false), 0);
    assert_str(r->conv->preview, "mine");
    assert_int_equal(rig_delete_as(r, ID, false, "usr_bob", false), 0);
    assert_int_equal(rig_delete_as(r, ID, true, "usr_bob", false), 0);
    assert_int_equal(rig_restore(r, ID), -ENOENT);
}

/* The same id, deleted by two people one after the other: each purges their own. */
TEST_WITH(purge_leaves_what_others_deleted, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_bob"), 0);
    assert_int_equal(rig_delete(r, ID, false), 0);
    assert_int_equal(rig_create_again(r, ID, "usr_cat"), 0);
    assert_int_equal(rig_delete(r, ID, false), 0);
    assert_int_equal(rig_delete_as(r, ID, true, "usr_cat", false), 0);
    assert_int_equal(rig_delete_as(r, ID, true, "usr_cat", false), -ENOENT);
    assert_int_equal(rig_restore_as(r, ID, "usr_bob", false), 0);
}

/* Who knows the id of a deleted conversation cannot take it away from those who may restore it, and
 * hears the same as about one that is there. */
TEST_WITH(an_id_in_the_trash_is_taken, setup, teardown)
{
    struct rig *r = *state;
    char live[sizeof r->err.msg];
    assert_int_equal(rig_create(r, ID, "usr_bob"), 0);
    assert_int_equal(rig_append(r, ID, USER("mine")), 0);
    assert_int_equal(rig_create(r, ID, "usr_cat"), -EEXIST);
    memcpy(live, r->err.msg, sizeof live);
    assert_int_equal(rig_delete(r, ID, false), 0);
    assert_int_equal(rig_create(r, ID, "usr_cat"), -EEXIST);
    assert_string_equal(r->err.msg, live);
    assert_int_equal(rig_get(r, ID), -ENOENT);
    assert_int_equal(rig_restore_as(r, ID, "usr_bob", false), 0);
    assert_str(r->conv->preview, "mine");
    assert_int_equal(rig_delete(r, ID, false), 0);
    assert_int_equal(rig_delete(r, ID, true), 0);
    assert_int_equal(rig_create(r, ID, "usr_cat"), 0); /* nothing of it is left */
}

/* Nobody can use an id again to hide what somebody else has deleted under it. */
TEST_WITH(a_newer_one_of_another_person_does_not_hide_the_own, setup, teardown)
{
    struct rig *r = *state;
    const struct viewer bob = {.user_id = STR("usr_bob")};
    assert_int_equal(rig_create(r, ID, "usr_bob"), 0);
    assert_int_equal(rig_append(r, ID, USER("mine")), 0);
    assert_int_equal(rig_delete(r, ID, false), 0);
    assert_int_equal(rig_create_again(r, ID, "usr_cat"), 0);
    assert_int_equal(rig_delete(r, ID, false), 0);
    assert_int_equal(RIG_CALL(r, store_list_trash(r->store, &bob, rig_on_list, r)), 0);
    assert_int_equal(r->listing.n, 1);
    assert_str(r->listing.convs[0].preview, "mine");
    assert_int_equal(rig_restore_as(r, ID, "usr_bob", false), 0);
    assert_str(r->conv->preview, "mine");
    assert_int_equal(rig_delete(r, ID, true), 0);
    assert_int_equal(rig_restore_as(r, ID, "usr_cat", false), 0);
}

static void on_links(void *ctx, const struct err *err, const struct share_links *links)
{
    struct rig *r = ctx;
    assert_true((err == NULL) == (links != NULL));
    r->nnotes = links ? links->n : 0;
    rig_end(r, err);
}

static void rig_peek(struct rig *r)
{
    const struct store_conf conf = *store_conf(r->store);
    r->nnotes = 99;
    assert_int_equal(RIG_CALL(r, store_peek_links(&r->env, &conf, on_links, r)), 0);
}

/* Strangers ask for links; the store need not be open for that. */
TEST_WITH(links_are_read_without_opening_the_store, setup, teardown)
{
    struct rig *r = *state;
    const struct share_link one = {
        .id = STR("link_1"),
        .hash = STR("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
        .conv_id = STR(ID),
        .by = STR("usr_a"),
        .title = STR("Then"),
        .made_ms = 1,
        .expires_ms = clock_now_ms() + 3600 * 1000};
    const struct link_change add = {.add = &one, .now_ms = clock_now_ms()};
    bool is_memory = strcmp(store_conf(r->store)->type, "memory") == 0;
    rig_peek(r);
    assert_int_equal(r->nnotes, 0);
    assert_int_equal(RIG_CALL(r, store_links(r->store, &add, on_links, r)), 0);
    rig_peek(r);
    assert_int_equal(r->nnotes, is_memory ? 0 : 1);
    struct links_peek *p = store_peek_links(&r->env, store_conf(r->store), on_links, r);
    store_peek_cancel(p); /* and no callback */
    rig_peek(r);
}

struct purges {
    size_t n;
    char last[STORE_ID_MAX + 1];
};

static void on_purge(void *ctx, str id)
{
    struct purges *p = ctx;
    p->n++;
    (void)snprintf(p->last, sizeof p->last, "%.*s", STR_ARG(id));
}

/* Not while the trash has it: it may come back. */
TEST_WITH(a_purge_is_told_when_nothing_is_left, setup, teardown)
{
    struct rig *r = *state;
    struct purges told = {0};
    store_on_purge(r->store, on_purge, &told);
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_create(r, OTHER, "usr_a"), 0);
    assert_int_equal(rig_delete(r, ID, false), 0);
    assert_int_equal(rig_delete_as(r, ID, true, "usr_b", false), -ENOENT);
    assert_int_equal(told.n, 0);
    assert_int_equal(rig_delete(r, ID, true), 0);
    assert_true(told.n > 0);
    assert_string_equal(told.last, ID);
    assert_int_equal(rig_delete(r, OTHER, true), 0);
    assert_string_equal(told.last, OTHER);
}

/* A branch of ID, whose id is returned. */
static const char *branch_off(struct rig *r, char id[STORE_ID_MAX + 1])
{
    struct arena a;
    struct json *of;
    arena_init(&a);
    assert_int_equal(json_parse(&a, STR("{\"of\":\"" ID "\",\"at\":1,\"rootAt\":1}"), 0, &of, NULL),
                     0);
    assert_int_equal(
        RIG_CALL(r, store_fork(r->store, STR(ID), 1, STR("usr_a"), of, rig_on_conv, r)), 0);
    (void)snprintf(id, STORE_ID_MAX + 1, "%.*s", STR_ARG(r->conv->id));
    arena_done(&a);
    return id;
}

TEST_WITH(a_branch_that_is_promoted_or_shared_is_listed, setup, teardown)
{
    struct rig *r = *state;
    char one[STORE_ID_MAX + 1], two[STORE_ID_MAX + 1];
    str ben = STR("usr_b");
    struct json_strs with = {&ben, 1};
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_append(r, ID, USER("one")), 0);
    branch_off(r, one);
    branch_off(r, two);
    assert_int_equal(rig_list(r, &(struct store_query){0}), 0);
    assert_int_equal(r->listing.n, 1);
    assert_int_equal(RIG_CALL(r, store_promote(r->store, str_from(one), rig_on_conv, r)), 0);
    assert_int_equal(rig_list(r, &(struct store_query){0}), 0);
    assert_int_equal(r->listing.n, 2);
    assert_int_equal(
        RIG_CALL(r, rig_set_sharing(r->store, str_from(two), true, &with, NULL, rig_on_conv, r)),
        0);
    assert_int_equal(rig_list(r, &(struct store_query){0}), 0);
    assert_int_equal(r->listing.n, 3);
}

TEST_WITH(a_purge_out_of_the_trash_takes_the_branches_along, setup, teardown)
{
    struct rig *r = *state;
    char one[STORE_ID_MAX + 1];
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_append(r, ID, USER("one")), 0);
    branch_off(r, one);
    assert_int_equal(rig_delete_as(r, ID, false, "usr_a", false), 0);
    assert_int_equal(rig_get(r, one), -ENOENT);
    assert_int_equal(rig_delete_as(r, ID, true, "usr_b", true), -ENOENT);
    assert_int_equal(rig_delete_as(r, ID, true, "usr_a", false), 0);
    assert_int_equal(rig_restore(r, ID), -ENOENT);
    assert_int_equal(rig_restore(r, one), -ENOENT);
}

/* It came back once with its conversation; that line of the log must not bring it back again. */
TEST_WITH(a_branch_that_was_deleted_alone_stays_deleted, setup, teardown)
{
    struct rig *r = *state;
    char one[STORE_ID_MAX + 1], two[STORE_ID_MAX + 1], before[64];
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_append(r, ID, USER("one")), 0);
    branch_off(r, one);
    branch_off(r, two);
    assert_int_equal(rig_get(r, ID), 0);
    (void)snprintf(before, sizeof before, "%.*s", STR_ARG(r->conv->updated_at));
    assert_int_equal(rig_delete(r, ID, false), 0);
    assert_int_equal(rig_restore(r, ID), 0);
    assert_str(r->conv->updated_at, before);
    assert_int_equal(rig_get(r, two), 0);
    assert_int_equal(rig_delete(r, one, false), 0);
    assert_int_equal(rig_delete(r, two, false), 0);
    assert_int_equal(rig_delete(r, ID, false), 0); /* it has no branch now */
    assert_int_equal(rig_restore(r, ID), 0);
    assert_int_equal(rig_get(r, one), -ENOENT);
    assert_int_equal(rig_restore(r, one), 0);
}

TEST_WITH(a_branch_that_comes_back_alone_is_listed, setup, teardown)
{
    struct rig *r = *state;
    char one[STORE_ID_MAX + 1];
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_append(r, ID, USER("one")), 0);
    branch_off(r, one);
    assert_int_equal(rig_delete(r, ID, false), 0);
    assert_int_equal(rig_restore(r, one), 0);
    assert_null(r->conv->branch);
    assert_int_equal(rig_list(r, &(struct store_query){0}), 0);
    assert_int_equal(r->listing.n, 1);
    assert_str(r->listing.convs[0].id, one);
    assert_int_equal(rig_restore(r, ID), 0); /* which named it */
    assert_int_equal(rig_list(r, &(struct store_query){0}), 0);
    assert_int_equal(r->listing.n, 2);
}

/* A log can be imported, and says what it likes. */
TEST_WITH(only_branches_of_a_conversation_come_back_with_it, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, "conv_other", "usr_b"), 0);
    assert_int_equal(rig_delete(r, "conv_other", false), 0);
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_append(r, ID,
                                "{\"ts\":\"2026-01-01T00:00:00.000Z\",\"type\":"
                                "\"metadata.trashed\",\"branches\":[\"conv_other\"]}"),
                     0);
    assert_int_equal(rig_delete(r, ID, false), 0);
    assert_int_equal(rig_restore(r, ID), 0);
    assert_int_equal(rig_get(r, "conv_other"), -ENOENT);
    assert_int_equal(rig_restore(r, "conv_other"), 0);
}

TEST_WITH(blobs, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(RIG_CALL(r, store_put_blob(r->store, STR(ID), STR("abc"), rig_on_blob, r)),
                     -ENOENT);
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(RIG_CALL(r, store_put_blob(r->store, STR(ID), STR("abc"), rig_on_blob, r)), 0);
    assert_str(r->blob, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    char sha[65];
    memcpy(sha, r->blob.p, 65);
    assert_int_equal(RIG_CALL(r, store_put_blob(r->store, STR(ID), STR("abc"), rig_on_blob, r)), 0);
    assert_int_equal(RIG_CALL(r, store_get_blob(r->store, STR(ID), str_from(sha), rig_on_blob, r)),
                     0);
    assert_str(r->blob, "abc");
    assert_int_equal(rig_fork(r, ID, -1, "usr_a"), 0);
    char fork[STORE_ID_MAX + 1];
    (void)snprintf(fork, sizeof(fork), "%.*s", STR_ARG(r->conv->id));
    assert_int_equal(rig_delete(r, ID, true), 0);
    assert_int_equal(
        RIG_CALL(r, store_get_blob(r->store, str_from(fork), str_from(sha), rig_on_blob, r)), 0);
    assert_str(r->blob, "abc");
    sha[0] = sha[0] == '0' ? '1' : '0';
    assert_int_equal(
        RIG_CALL(r, store_get_blob(r->store, str_from(fork), str_from(sha), rig_on_blob, r)),
        -ENOENT);
    assert_int_equal(
        RIG_CALL(r, store_get_blob(r->store, str_from(fork), STR("../../x"), rig_on_blob, r)),
        -ENOENT);
}

TEST_WITH(shared_blobs, setup, teardown)
{
    static const char SHA[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    struct rig *r = *state;
    for (int i = 0; i < 2; i++) {
        const char *id = i ? OTHER : ID;
        assert_int_equal(rig_create(r, id, "usr_a"), 0);
        assert_int_equal(RIG_CALL(r, store_put_shared(r->store, str_from(id), STR("abc"),
                                                      str_from(SHA), rig_on_blob, r)),
                         0);
        assert_str(r->blob, SHA);
        char line[128];
        (void)snprintf(line, sizeof(line), "{\"type\":\"llm.request\",\"tools\":\"%s\"}", SHA);
        assert_int_equal(rig_append(r, id, line), 0);
        store_release_shared(r->store, str_from(SHA));
    }
    assert_int_equal(rig_fork(r, ID, -1, "usr_a"), 0);
    char fork[STORE_ID_MAX + 1];
    (void)snprintf(fork, sizeof(fork), "%.*s", STR_ARG(r->conv->id));
    assert_int_equal(rig_delete(r, ID, true), 0);
    const char *const left[] = {OTHER, fork};
    for (size_t i = 0; i < ARRAY_LEN(left); i++) {
        assert_int_equal(RIG_CALL(r, store_get_shared(r->store, str_from(left[i]), str_from(SHA),
                                                      rig_on_blob, r)),
                         0);
        assert_str(r->blob, "abc");
    }
    assert_int_equal(
        RIG_CALL(r, store_get_shared(r->store, STR(OTHER), STR("../../x"), rig_on_blob, r)),
        -ENOENT);
}

TEST_WITH(large_results_come_back_whole, setup, teardown)
{
    struct rig *r = *state;
    struct buf b;
    buf_init(&b, 1u << 20);
    buf_add_lit(&b, "{\"type\":\"tool.done\",\"id\":\"t1\",\"result\":{\"content\":[{\"type\":"
                    "\"text\",\"text\":\"needle ");
    for (int i = 0; i < 200000; i++)
        buf_add_char(&b, 'x');
    buf_add_lit(&b, "\"}]},\"odd\":{\"$blob\":\"not ours\"},\"ok\":true}");
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_append(r, ID, buf_cstr(&b)), 0);
    struct store_range range = {.with_blobs = true};
    assert_int_equal(rig_read(r, ID, &range), 0);
    assert_int_equal(r->page.n, 1);
    str line = r->page.events[0].line;
    /* all but the ts that was put in front */
    assert_true(str_ends(line, str_skip(buf_str(&b), 1)));
    assert_int_equal(rig_search(r, "needle", NULL), 0);
    assert_int_equal(r->hits.n, 1);
    buf_done(&b);
}

TEST_WITH(list, setup, teardown)
{
    struct rig *r = *state;
    for (int i = 0; i < 7; i++) {
        char id[32], line[160];
        (void)snprintf(id, sizeof(id), "conv_%d", i);
        (void)snprintf(line, sizeof(line),
                       "{\"ts\":\"2026-01-0%dT00:00:00.000Z\",\"type\":\"user.message\","
                       "\"content\":\"Text %d\"}",
                       9 - (i == 6 ? 5 : i), i); /* the last two share a time */
        assert_int_equal(rig_create(r, id, i % 2 ? "usr_b" : "usr_a"), 0);
        assert_int_equal(rig_append(r, id, line), 0);
    }
    static const char *const order[] = {"conv_0", "conv_1", "conv_2", "conv_3",
                                        "conv_4", "conv_6", "conv_5"};
    struct store_query q = {.limit = 3};
    char cursor[128] = "";
    size_t seen = 0;
    do {
        q.cursor = str_from(cursor);
        assert_int_equal(rig_list(r, &q), 0);
        assert_int_equal(r->listing.total, 7);
        for (size_t i = 0; i < r->listing.n; i++)
            assert_str(r->listing.convs[i].id, order[seen++]);
        (void)snprintf(cursor, sizeof(cursor), "%.*s", STR_ARG(r->listing.next_cursor));
    } while (cursor[0]);
    assert_int_equal(seen, 7);
    q.cursor = STR("nonsense");
    assert_int_equal(rig_list(r, &q), -EINVAL);
    struct viewer b = {.user_id = STR("usr_b")};
    assert_int_equal(rig_list(r, &(struct store_query){.viewer = &b}), 0);
    assert_int_equal(r->listing.n, 3);
    b.is_workspace_admin = true;
    assert_int_equal(rig_list(r, &(struct store_query){.viewer = &b}), 0);
    assert_int_equal(r->listing.n, 7);
    assert_int_equal(rig_list(r, &(struct store_query){.search = STR("tExT 3")}), 0);
    assert_int_equal(r->listing.n, 1);
    assert_str(r->listing.convs[0].id, "conv_3");
}

/* ---- what people keep about conversations ---- */

static struct mark_state marked;

static void on_suite_marked(void *ctx, const struct err *err, const struct mark_state *s)
{
    struct rig *r = ctx;
    if (s)
        marked = *s;
    rig_on_done(r, err);
}

static int mark(struct rig *r, const char *user, const char *id, struct mark_change change)
{
    char updated[64];
    assert_int_equal(rig_get(r, id), 0);
    (void)snprintf(updated, sizeof updated, "%.*s", STR_ARG(r->conv->updated_at));
    struct conv c = {.id = str_from(id),
                     .updated_at = str_from(updated),
                     .message_count = r->conv->message_count};
    return RIG_CALL(r, store_mark(r->store, str_from(user), &c, &change, on_suite_marked, r));
}

#define PIN     ((struct mark_change){.pinned = MARK_SET, .read = -1})
#define ARCHIVE ((struct mark_change){.archived = MARK_SET, .read = -1})

/* The ids of a list, in one text. */
static const char *ids_of(struct rig *r, struct store_query q)
{
    static char text[256];
    text[0] = '\0';
    q.marks_of = q.marks_of.n ? q.marks_of : STR("usr_a");
    assert_int_equal(rig_list(r, &q), 0);
    for (size_t i = 0; i < r->listing.n; i++) {
        size_t n = strlen(text);
        (void)snprintf(text + n, sizeof text - n, "%.*s ", STR_ARG(r->listing.convs[i].id));
    }
    return text;
}

static void make_some(struct rig *r, int n)
{
    for (int i = 0; i < n; i++) {
        char id[32], line[160];
        (void)snprintf(id, sizeof(id), "conv_%d", i);
        (void)snprintf(line, sizeof(line),
                       "{\"ts\":\"2026-01-0%dT00:00:00.000Z\",\"type\":\"user.message\","
                       "\"content\":\"Text %d\"}",
                       9 - i, i);
        assert_int_equal(rig_create(r, id, "usr_a"), 0);
        assert_int_equal(rig_append(r, id, line), 0);
    }
}

TEST_WITH(pins_and_the_archive_belong_to_one_person, setup, teardown)
{
    struct rig *r = *state;
    make_some(r, 5);
    assert_int_equal(mark(r, "usr_a", "conv_3", PIN), 0);
    assert_true(marked.is_pinned);
    assert_int_equal(mark(r, "usr_a", "conv_1", ARCHIVE), 0);
    assert_int_equal(mark(r, "usr_b", "conv_0", ARCHIVE), 0);
    assert_string_equal(ids_of(r, (struct store_query){.archived = STORE_NO}),
                        "conv_0 conv_2 conv_3 conv_4 ");
    assert_int_equal(r->listing.total, 4);
    assert_true(r->listing.convs[2].mark.is_pinned && !r->listing.convs[1].mark.is_pinned);
    assert_string_equal(
        ids_of(r, (struct store_query){.archived = STORE_NO, .pinned = STORE_NO, .limit = 2}),
        "conv_0 conv_2 ");
    assert_int_equal(r->listing.total, 3);
    assert_true(r->listing.next_cursor.n > 0);
    char cursor[128];
    (void)snprintf(cursor, sizeof cursor, "%.*s", STR_ARG(r->listing.next_cursor));
    assert_string_equal(ids_of(r, (struct store_query){.archived = STORE_NO,
                                                       .pinned = STORE_NO,
                                                       .limit = 2,
                                                       .cursor = str_from(cursor)}),
                        "conv_4 ");
    assert_string_equal(ids_of(r, (struct store_query){.pinned = STORE_YES}), "conv_3 ");
    assert_int_equal(r->listing.total, 1);
    assert_string_equal(ids_of(r, (struct store_query){.archived = STORE_YES}), "conv_1 ");
    assert_string_equal(ids_of(r, (struct store_query){.archived = STORE_YES, .pinned = STORE_YES}),
                        "");
    assert_string_equal(
        ids_of(r, (struct store_query){.archived = STORE_YES, .marks_of = STR("usr_b")}),
        "conv_0 ");
    assert_string_equal(
        ids_of(r, (struct store_query){.pinned = STORE_YES, .marks_of = STR("usr_b")}), "");
    assert_int_equal(rig_list(r, &(struct store_query){0}), 0);
    assert_int_equal(r->listing.n, 5); /* nobody's marks */
    struct viewer stranger = {.user_id = STR("usr_b")};
    assert_string_equal(ids_of(r, (struct store_query){.archived = STORE_YES,
                                                       .marks_of = STR("usr_b"),
                                                       .viewer = &stranger}),
                        "");
}

TEST_WITH(a_pin_takes_it_out_of_the_archive_and_the_other_way_round, setup, teardown)
{
    struct rig *r = *state;
    make_some(r, 1);
    assert_int_equal(mark(r, "usr_a", "conv_0", PIN), 0);
    assert_int_equal(mark(r, "usr_a", "conv_0", ARCHIVE), 0);
    assert_true(marked.is_archived && !marked.is_pinned);
    assert_int_equal(mark(r, "usr_a", "conv_0", PIN), 0);
    assert_true(!marked.is_archived && marked.is_pinned);
    assert_int_equal(mark(r, "../usr_a", "conv_0", PIN), -EINVAL);
}

TEST_WITH(what_a_person_has_not_read_is_unread, setup, teardown)
{
    struct rig *r = *state;
    make_some(r, 2);
    assert_string_equal(ids_of(r, (struct store_query){.unread = STORE_YES}), ""); /* all is old */
    assert_int_equal(rig_append(r, "conv_1", RUN_DONE), 0);
    assert_string_equal(ids_of(r, (struct store_query){.unread = STORE_YES}), "conv_1 ");
    assert_true(r->listing.convs[0].mark.is_unread);
    assert_int_equal(mark(r, "usr_a", "conv_1", (struct mark_change){.read = 1}), 0);
    assert_true(marked.is_unread);
    assert_int_equal(mark(r, "usr_a", "conv_1", (struct mark_change){.read = 99}), 0);
    assert_false(marked.is_unread);
    assert_int_equal(mark(r, "usr_a", "conv_1", (struct mark_change){.read = 1}), 0);
    assert_false(marked.is_unread); /* an older look changes nothing */
    assert_string_equal(ids_of(r, (struct store_query){.unread = STORE_YES}), "");
    assert_int_equal(rig_append(r, "conv_1", USER("more")), 0);
    assert_string_equal(ids_of(r, (struct store_query){.unread = STORE_YES}), "conv_1 ");
    assert_string_equal(ids_of(r, (struct store_query){.unread = STORE_NO}), "conv_0 ");
    struct mark_change unread = {.unread = MARK_SET, .read = -1};
    assert_int_equal(mark(r, "usr_a", "conv_0", unread), 0);
    assert_true(marked.is_unread);
}

TEST_WITH(own_and_shared_conversations_are_listed_apart, setup, teardown)
{
    struct rig *r = *state;
    make_some(r, 2);
    assert_int_equal(rig_create(r, "conv_9", "usr_b"), 0);
    str people[] = {STR_INIT("usr_a")};
    struct json_strs set = {people, 1};
    assert_int_equal(
        RIG_CALL(r, rig_set_sharing(r->store, STR("conv_9"), true, &set, NULL, rig_on_conv, r)), 0);
    struct viewer a = {.user_id = STR("usr_a")};
    assert_string_equal(ids_of(r, (struct store_query){.viewer = &a, .own = STORE_YES}),
                        "conv_0 conv_1 ");
    assert_string_equal(ids_of(r, (struct store_query){.viewer = &a, .own = STORE_NO}), "conv_9 ");
    assert_string_equal(ids_of(r, (struct store_query){.viewer = &a, .shared = STORE_YES}),
                        "conv_9 ");
    assert_string_equal(ids_of(r, (struct store_query){.viewer = &a, .shared = STORE_NO}),
                        "conv_0 conv_1 ");
    /* a filter shows nothing that its viewer may not see */
    struct viewer c = {.user_id = STR("usr_c")};
    assert_string_equal(ids_of(r, (struct store_query){.viewer = &c, .shared = STORE_YES}), "");
}

TEST_WITH(the_trash_is_listed_for_those_who_may_restore, setup, teardown)
{
    struct rig *r = *state;
    struct viewer a = {.user_id = STR("usr_a")}, b = {.user_id = STR("usr_b")};
    make_some(r, 3);
    assert_int_equal(rig_delete(r, "conv_1", false), 0);
    assert_int_equal(rig_delete(r, "conv_2", false), 0);
    assert_int_equal(RIG_CALL(r, store_list_trash(r->store, &a, rig_on_list, r)), 0);
    assert_int_equal(r->listing.n, 2);
    assert_true(r->listing.convs[0].deleted_ms >= r->listing.convs[1].deleted_ms);
    bool is_second = str_eq(r->listing.convs[0].id, STR("conv_2")); /* or the same millisecond */
    assert_str(r->listing.convs[0].preview, is_second ? "Text 2" : "Text 1");
    assert_int_equal(RIG_CALL(r, store_list_trash(r->store, &b, rig_on_list, r)), 0);
    assert_int_equal(r->listing.n, 0);
    assert_int_equal(RIG_CALL(r, store_list_trash(r->store, NULL, rig_on_list, r)), 0);
    assert_int_equal(r->listing.n, 2);
}

TEST_WITH(a_full_trash_of_others_does_not_hide_the_own, setup, teardown)
{
    struct rig *r = *state;
    struct viewer a = {.user_id = STR("usr_a")};
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_delete(r, ID, false), 0);
    for (unsigned i = 0; i < STORE_TRASH_MAX; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "conv_%u", i);
        assert_int_equal(rig_create(r, id, "usr_b"), 0);
        assert_int_equal(rig_delete(r, id, false), 0);
    }
    assert_int_equal(RIG_CALL(r, store_list_trash(r->store, &a, rig_on_list, r)), 0);
    assert_int_equal(r->listing.n, 1);
    assert_str(r->listing.convs[0].id, ID);
    assert_int_equal(RIG_CALL(r, store_list_trash(r->store, NULL, rig_on_list, r)), 0);
    assert_int_equal(r->listing.n, STORE_TRASH_MAX);
}

TEST_WITH(cursor_survives_deletion, setup, teardown)
{
    struct rig *r = *state;
    static const char *const ids[] = {"conv_a", "conv_b", "conv_c"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(rig_create(r, ids[i], "usr_a"), 0);
        assert_int_equal(rig_append(r, ids[i], "{\"ts\":\"2026-01-01\",\"type\":\"x\"}"), 0);
    }
    struct store_query q = {.limit = 1};
    assert_int_equal(rig_list(r, &q), 0);
    assert_str(r->listing.convs[0].id, "conv_c");
    char cursor[128];
    (void)snprintf(cursor, sizeof(cursor), "%.*s", STR_ARG(r->listing.next_cursor));
    assert_int_equal(rig_delete(r, "conv_c", false), 0);
    q.cursor = str_from(cursor);
    assert_int_equal(rig_list(r, &q), 0);
    assert_str(r->listing.convs[0].id, "conv_b");
}

TEST_WITH(search, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, "conv_a", "usr_a"), 0);
    assert_int_equal(rig_create(r, "conv_b", "usr_b"), 0);
    str a[] = {
        STR_INIT("{\"ts\":\"2026-01-01T00:00:00.000Z\",\"type\":\"user.message\",\"userId\":\"usr_"
                 "a\",\"content\":[{\"type\":\"text\",\"text\":\"Where is the Caf\xc3\xa9 in "
                 "Z\xc3\xbcrich, please?\"}]}"),
        STR_INIT("{\"ts\":\"2026-01-02T00:00:00.000Z\",\"type\":\"llm.response\",\"content\":[{"
                 "\"type\":\"text\",\"text\":\"The cafe is old.\"}]}"),
        STR_INIT("{\"ts\":\"2026-01-03T00:00:00.000Z\",\"type\":\"tool.done\",\"name\":\"maps__"
                 "find\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"caf\xc3\xa9 list\"}"
                 "]}}"),
        STR_INIT("{\"ts\":\"2026-01-04T00:00:00.000Z\",\"type\":\"user.message\",\"content\":"
                 "\"\xe6\x9d\xb1\xe4\xba\xac\xe3\x81\xae\xe5\xa4\xa9\xe6\xb0\x97\"}"),
    };
    assert_int_equal(rig_append_n(r, "conv_a", a, ARRAY_LEN(a)), 0);
    assert_int_equal(rig_append(r, "conv_b", USER("a private cafe")), 0);
    static const struct {
        const char *text;
        size_t hits;
    } cases[] = {
        {"cafe", 4},
        {"CAF\xc3\x89", 4},
        {"caf*", 4},
        {"caf", 4}, /* the last word may not be complete */
        {"\"caf\"", 0},
        {"caf please", 0},
        {"zurich please", 1},
        {"\"is the cafe\"", 1},
        {"\"cafe the\"", 0},
        {"type", 0},
        {"content", 0},
        {"from:usr_a cafe", 2},
        {"from:assistant cafe", 1},
        {"tool:find cafe", 1},
        {"tool:maps__*", 1},
        {"cafe before:2026-01-02", 1},
        {"cafe after:2026-01-02 before:2026-01-04", 2},
        {"in:title cafe", 0},
        {"\xe4\xba\xac\xe3\x81\xae", 1},
        {"\xe5\xa4\xa9\xe6\xb0\x97", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(rig_search(r, cases[i].text, NULL), 0);
        if (r->hits.n != cases[i].hits)
            fail_msg("search %s: %zu hits, expected %zu", cases[i].text, r->hits.n, cases[i].hits);
    }
    struct viewer viewer = {.user_id = STR("usr_a")};
    assert_int_equal(rig_search(r, "cafe", &viewer), 0);
    assert_int_equal(r->hits.n, 3);
    assert_str(r->hits.hits[0].role, "tool"); /* newest first */
    assert_str(r->hits.hits[2].snippet, "Where is the \x01"
                                        "Caf\xc3\xa9\x02 in Z\xc3\xbcrich, please?");
    assert_int_equal(rig_search(r, "", NULL), -EINVAL);
    assert_int_equal(rig_search(r, "after:soon", NULL), -EINVAL);
}

/* ---- live ---- */

struct watch {
    struct rig *rig;
    struct feed *feed;
    store_pos last;
    size_t events, ephemerals, resets;
    bool is_live, has_ended, is_duplicate;
};

static void on_feed_event(void *ctx, store_pos pos, str line)
{
    struct watch *w = ctx;
    w->is_duplicate |= pos <= w->last;
    w->last = pos;
    w->events++;
}

static void on_feed_ephemeral(void *ctx, struct bus_msg *msg)
{
    ((struct watch *)ctx)->ephemerals++;
}

static void on_feed_live(void *ctx)
{
    ((struct watch *)ctx)->is_live = true;
}

static void on_feed_reset(void *ctx)
{
    struct watch *w = ctx;
    w->resets++;
    w->last = 0;
}

static void on_feed_end(void *ctx, const struct err *err)
{
    struct watch *w = ctx;
    w->has_ended = true;
    w->feed = NULL;
}

static const struct feed_events FEED = {on_feed_event, on_feed_ephemeral, on_feed_live,
                                        on_feed_reset, on_feed_end};

TEST_WITH(feed_has_no_gap_and_no_duplicate, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    add_numbered(r, 600); /* several pages */
    struct watch w = {.rig = r};
    w.feed = feed_open(r->store, STR(ID), 0, &FEED, &w);
    add_numbered(r, 50); /* while it reads */
    assert_true(loop_run_until(r->loop, &w.is_live, RIG_WAIT_MS));
    add_numbered(r, 50);
    assert_int_equal(w.events, 700);
    assert_false(w.is_duplicate);
    struct arena a;
    arena_init(&a);
    struct bus_msg delta = {.topic = store_topic(&a, r->store, STR(ID)), .type = STR("text.delta")};
    bus_publish(r->bus, &delta);
    arena_done(&a);
    assert_int_equal(w.ephemerals, 1);

    struct watch tail = {.rig = r}, lost = {.rig = r};
    tail.feed = feed_open(r->store, STR(ID), STORE_FEED_TAIL, &FEED, &tail);
    assert_true(loop_run_until(r->loop, &tail.is_live, RIG_WAIT_MS));
    lost.feed = feed_open(r->store, STR(ID), 1u << 30, &FEED, &lost);
    assert_true(loop_run_until(r->loop, &lost.is_live, RIG_WAIT_MS));
    assert_int_equal(tail.events, 0);
    assert_int_equal(lost.resets, 1);
    assert_int_equal(lost.events, 700);
    add_numbered(r, 1);
    assert_int_equal(tail.events, 1);
    assert_int_equal(lost.events, 701);
    feed_close(tail.feed);

    assert_int_equal(rig_delete(r, ID, false), 0);
    assert_true(w.has_ended && lost.has_ended);
    assert_int_equal(w.events, 701);
}

TEST_WITH(feed_of_nothing_ends, setup, teardown)
{
    struct rig *r = *state;
    struct watch w = {.rig = r}, closed = {.rig = r};
    w.feed = feed_open(r->store, STR(ID), 0, &FEED, &w);
    closed.feed = feed_open(r->store, STR(ID), 0, &FEED, &closed);
    feed_close(closed.feed);
    assert_true(loop_run_until(r->loop, &w.has_ended, RIG_WAIT_MS));
    assert_false(closed.has_ended);
}

static void on_event_leave(void *ctx, store_pos pos, str line)
{
    struct watch *w = ctx;
    if (++w->events < 3)
        return;
    w->has_ended = true;
    feed_close(w->feed);
}

static void on_live_note(void *ctx)
{
    struct watch *w = ctx;
    w->is_live = true;
}

static void on_live_leave(void *ctx)
{
    struct watch *w = ctx;
    w->is_live = true;
    feed_close(w->feed);
}

static void on_reset_leave(void *ctx)
{
    struct watch *w = ctx;
    w->resets++;
    w->has_ended = true;
    feed_close(w->feed);
}

/* A callback may close the feed; no further callback follows. */
TEST_WITH(feed_closed_in_its_callbacks, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    add_numbered(r, 10);
    static const struct feed_events leave_event = {.on_event = on_event_leave,
                                                   .on_live = on_live_note};
    static const struct feed_events leave_live = {.on_live = on_live_leave};
    static const struct feed_events leave_reset = {.on_reset = on_reset_leave};
    struct watch page = {0}, live = {0}, reset = {0}, later = {.events = 0};
    page.feed = feed_open(r->store, STR(ID), 0, &leave_event, &page);
    live.feed = feed_open(r->store, STR(ID), 0, &leave_live, &live);
    reset.feed = feed_open(r->store, STR(ID), 1u << 30, &leave_reset, &reset);
    later.feed = feed_open(r->store, STR(ID), STORE_FEED_TAIL, &leave_event, &later);
    assert_true(loop_run_until(r->loop, &live.is_live, RIG_WAIT_MS));
    assert_true(loop_run_until(r->loop, &reset.has_ended, RIG_WAIT_MS));
    assert_true(loop_run_until(r->loop, &later.is_live, RIG_WAIT_MS)); /* from here on it hears */
    add_numbered(r, 5);
    assert_true(loop_run_until(r->loop, &page.has_ended, RIG_WAIT_MS));
    assert_true(loop_run_until(r->loop, &later.has_ended, RIG_WAIT_MS));
    add_numbered(r, 5); /* of which they hear nothing */
    assert_int_equal(page.events, 3);
    assert_int_equal(later.events, 3);
    assert_int_equal(reset.resets, 1);
}

struct heard {
    store_pos pos;
    size_t n;
    bool is_done, came_first;
};

static void on_heard(void *ctx, struct bus_msg *msg)
{
    struct heard *h = ctx;
    assert_str(msg->type, "user.message");
    h->pos = msg->pos;
    h->n++;
}

static void on_heard_append(void *ctx, const struct err *err, const store_pos *pos, size_t n)
{
    struct heard *h = ctx;
    assert_null(err);
    h->came_first = h->n == n && h->pos == pos[n - 1];
    h->is_done = true;
}

TEST_WITH(published_before_it_is_answered, setup, teardown)
{
    struct rig *r = *state;
    struct heard h = {0};
    struct arena a;
    arena_init(&a);
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    struct bus_sub *sub = bus_subscribe(r->bus, store_topic(&a, r->store, STR(ID)), on_heard, &h);
    str events[] = {STR_INIT(USER("1")), STR_INIT(USER("2"))};
    store_append(r->store, STR(ID), events, 2, on_heard_append, &h);
    assert_true(loop_run_until(r->loop, &h.is_done, RIG_WAIT_MS));
    assert_true(h.came_first);
    str bad = STR("no event");
    assert_int_equal(rig_append_n(r, ID, &bad, 1), -EINVAL);
    assert_int_equal(h.n, 2); /* what was refused is not heard of */
    bus_unsubscribe(sub);
    arena_done(&a);
}

static void count_append(void *ctx, const struct err *err, const store_pos *pos, size_t n)
{
    struct watch *w = ctx;
    assert_null(err);
    assert_true(pos[0] > w->last);
    w->last = pos[0];
    w->is_live = ++w->events == 200;
}

static void fail_append(void *ctx, const struct err *err, const store_pos *pos, size_t n)
{
    fail_msg("a cancelled call was answered");
}

TEST_WITH(order_and_cancel, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    struct watch w = {.rig = r};
    str event = STR(USER("x"));
    for (int i = 0; i < 200; i++) {
        store_append(r->store, STR(ID), &event, 1, count_append, &w);
        store_op_cancel(store_append(r->store, STR(ID), &event, 1, fail_append, &w));
    }
    assert_true(loop_run_until(r->loop, &w.is_live, RIG_WAIT_MS));
    assert_int_equal(rig_get(r, ID), 0);
    assert_int_equal(r->conv->message_count, 400); /* cancelled, but written */
}

TEST_WITH(read_only, setup, teardown)
{
    struct rig *r = *state;
    struct store_conf conf = {
        .type = backend, .dir = r->conv_dir, .workspace_id = "ws_test", .read_only = true};
    rig_close_store(r);
    assert_int_equal(store_open(&r->env, &conf, &r->store, NULL), 0);
    assert_int_equal(rig_create(r, ID, "usr_a"), -EROFS);
    assert_int_equal(rig_append(r, ID, USER("x")), -EROFS);
    assert_int_equal(rig_get(r, ID), -ENOENT);
    assert_int_equal(rig_list(r, &(struct store_query){0}), 0);
}

int main(void)
{
    int failed = 0;
    struct postgres server;
    postgres_start(&server);
    postgres_init(server.url);
    rig_database_url = server.url;
    for (size_t i = 0; i < ARRAY_LEN(GROUPS); i++) {
        backend = GROUPS[i].backend;
        appender = &GROUPS[i].appender;
        failed += run_unit_tests(GROUPS[i].name, NULL);
    }
    postgres_stop(&server);
    return failed;
}
