/* The clock, the log and the watchers are the test's own: the real ones take ten minutes. */
#include <errno.h>

#include "runtime/others/question_remote.h"
#include "runtime/turn/turn.h"
#include "support/unit.h"

/* ---- what an question needs ---- */

static uint64_t now_ms;
static struct timer *running[2 * TOOL_QUESTIONS_MAX];
static size_t watchers;
static char log_text[64 * 1024];

void timer_init(struct timer *t, struct loop *l, loop_fn fn, void *ctx)
{
    *t = (struct timer){.loop = l, .fn = fn, .ctx = ctx};
}

void timer_stop(struct timer *t)
{
    for (size_t i = 0; i < ARRAY_LEN(running); i++)
        running[i] = running[i] == t ? NULL : running[i];
}

void timer_start(struct timer *t, uint64_t delay_ms)
{
    size_t i = 0;
    timer_stop(t);
    while (running[i])
        i++;
    assert_true(i < ARRAY_LEN(running));
    t->due_ms = now_ms + delay_ms;
    running[i] = t;
}

static void pass(uint64_t ms)
{
    for (uint64_t end = now_ms + ms; now_ms < end; now_ms++) {
        for (size_t i = 0; i < ARRAY_LEN(running); i++) {
            struct timer *t = running[i];
            if (!t || t->due_ms > now_ms)
                continue;
            running[i] = NULL;
            t->fn(t->ctx);
        }
    }
}

size_t bus_subscribers(const struct bus *b, str topic)
{
    return watchers;
}

static bool is_watched_elsewhere;

bool store_is_watched_elsewhere(const struct store *s, str id)
{
    return is_watched_elsewhere;
}

/* No other server exists. */
struct others_ask *others_ask(struct runtime *r, str conversation_id, struct json_writer *w,
                              struct buf *b, others_fn fn, void *ctx)
{
    return NULL;
}

void others_begin(struct json_writer *w, struct buf *b, const char *what) {}

void others_reply(struct runtime *r, str ask_id, const struct err *err) {}

str store_topic(struct arena *a, const struct store *s, str id)
{
    return id;
}

void turn_record(void *tool_host, str line)
{
    snprintf(log_text, sizeof log_text, "%.*s", STR_ARG(line));
}

static const struct turn *joined[4]; /* the turns that got an author, in order */
static size_t njoined;

void turn_add_author(struct turn *t, str user_id, struct json_strs tool_limit)
{
    assert_true(str_eq(user_id, STR("usr_1")));
    assert_true(njoined < ARRAY_LEN(joined));
    joined[njoined++] = t;
}

/* ---- a conversation ---- */

static struct runtime rt;
static struct message message;
static struct turn turn;
static struct busy_conv busy = {.turn = &turn};

struct heard {
    int times;
    enum tool_question_action action;
    char content[256];
};

static void on_end(void *ctx, enum tool_question_action action, const struct json *content)
{
    struct heard *h = ctx;
    struct buf b;
    buf_init(&b, sizeof h->content - 1);
    if (content)
        json_write(&b, content);
    h->times++;
    h->action = action;
    snprintf(h->content, sizeof h->content, "%s", buf_cstr(&b));
    buf_done(&b);
}

static int set_up(void **state)
{
    rt = (struct runtime){0};
    message = (struct message){0};
    turn = (struct turn){
        .rt = &rt, .msg = &message, .conversation_id = STR("conv_1"), .run_id = "run_1"};
    list_init(&rt.tool_questions);
    map_init(&rt.busy);
    memset(running, 0, sizeof running);
    now_ms = watchers = njoined = 0;
    return 0;
}

static int tear_down(void **state)
{
    tool_questions_drop(&turn);
    map_done(&rt.busy);
    return 0;
}

static const struct tool_question_spec LINK = {
    .kind = TOOL_QUESTION_URL, .source = STR_INIT("s"), .url = STR_INIT("https://example.com/")};

static struct tool_question *ask(struct heard *h)
{
    *h = (struct heard){0};
    return tool_question_open(&turn, &LINK, on_end, h);
}

static str open_id(struct arena *a)
{
    struct json *list = tool_questions_json(&rt, STR("conv_1"), a);
    return json_get_string(json_at(list, 0), "inputId");
}

/* ---- time ---- */

TEST_WITH(where_nobody_watches_it_ends_soon, set_up, tear_down)
{
    struct heard h;
    assert_non_null(ask(&h));
    pass(TOOL_QUESTION_ALONE_MS - 1);
    assert_int_equal(h.times, 0);
    pass(2);
    assert_int_equal(h.times, 1);
    assert_int_equal(h.action, TOOL_QUESTION_CANCEL);
    assert_non_null(strstr(log_text, "\"action\":\"timeout\""));
}

TEST_WITH(who_watches_has_ten_minutes, set_up, tear_down)
{
    struct heard h;
    assert_non_null(ask(&h));
    watchers = 1;
    pass(TOOL_QUESTION_MS - 1);
    assert_int_equal(h.times, 0);
    pass(TOOL_QUESTION_ALONE_MS + 1);
    assert_int_equal(h.times, 1);
    assert_int_equal(h.action, TOOL_QUESTION_CANCEL);
}

TEST_WITH(who_watches_on_another_server_counts, set_up, tear_down)
{
    struct heard h;
    assert_non_null(ask(&h));
    is_watched_elsewhere = true;
    pass(3 * TOOL_QUESTION_ALONE_MS);
    assert_int_equal(h.times, 0);
    is_watched_elsewhere = false;
    pass(TOOL_QUESTION_ALONE_MS + 1);
    assert_int_equal(h.times, 1);
}

TEST_WITH(who_leaves_is_waited_for_no_longer, set_up, tear_down)
{
    struct heard h;
    assert_non_null(ask(&h));
    watchers = 1;
    pass(3 * TOOL_QUESTION_ALONE_MS);
    assert_int_equal(h.times, 0);
    watchers = 0;
    pass(TOOL_QUESTION_ALONE_MS + 1);
    assert_int_equal(h.times, 1);
}

/* ---- ceilings ---- */

TEST_WITH(so_many_are_open_at_a_time_and_no_more, set_up, tear_down)
{
    struct heard h[TOOL_QUESTIONS_MAX + 1];
    struct tool_question *first = NULL;
    for (size_t i = 0; i < TOOL_QUESTIONS_MAX; i++) {
        struct tool_question *q = ask(&h[i]);
        assert_non_null(q);
        first = first ? first : q;
    }
    assert_null(ask(&h[TOOL_QUESTIONS_MAX]));
    tool_question_withdraw(first);
    assert_non_null(strstr(log_text, "\"action\":\"withdrawn\""));
    assert_int_equal(h[0].times, 0); /* who withdraws hears nothing */
    assert_non_null(ask(&h[TOOL_QUESTIONS_MAX]));
    tool_questions_drop(&turn);
    for (size_t i = 1; i <= TOOL_QUESTIONS_MAX; i++)
        assert_true(h[i].times == 1 && h[i].action == TOOL_QUESTION_CANCEL);
}

TEST_WITH(where_nobody_can_be_asked_there_is_none, set_up, tear_down)
{
    struct heard h;
    assert_null(tool_question_open(NULL, &LINK, on_end, &h));
    turn.is_unattended = true;
    assert_null(ask(&h));
    turn.is_unattended = false;
    message.is_cancelled = true;
    assert_null(ask(&h));
}

TEST_WITH(a_delegated_run_asks_where_people_are, set_up, tear_down)
{
    struct heard h = {0};
    struct arena a;
    struct turn_child of = {.depth = 1, .parent_conversation_id = STR("conv_1")};
    struct message task = {.req = {.child = &of}};
    struct turn child = {.rt = &rt, .msg = &task, .conversation_id = STR("conv_2")};
    assert_null(tool_question_open(&child, &LINK, on_end, &h)); /* its parent has ended */
    map_put(&rt.busy, STR("conv_1"), &busy);
    assert_non_null(tool_question_open(&child, &LINK, on_end, &h));
    arena_init(&a);
    assert_true(open_id(&a).n > 0);
    arena_done(&a);
    tool_questions_drop(&turn);
    assert_true(h.times == 1 && h.action == TOOL_QUESTION_CANCEL);
}

/* ---- answers ---- */

TEST_WITH(an_answer_has_to_fit_the_form, set_up, tear_down)
{
    struct heard h = {0};
    struct arena a;
    struct json *schema, *wrong, *right;
    struct err e = {0};
    arena_init(&a);
    assert_int_equal(
        json_parse(&a,
                   STR("{\"type\":\"object\",\"properties\":{\"n\":{\"type\":"
                       "\"integer\"},\"c\":{\"type\":\"string\",\"default\":\"crimson\"}},"
                       "\"required\":[\"n\"]}"),
                   0, &schema, NULL),
        0);
    assert_int_equal(json_parse(&a, STR("{\"n\":\"x\"}"), 0, &wrong, NULL), 0);
    assert_int_equal(json_parse(&a, STR("{\"n\":1}"), 0, &right, NULL), 0);
    struct tool_question_spec q = {
        .kind = TOOL_QUESTION_FORM, .source = STR("s"), .schema = schema};
    assert_non_null(tool_question_open(&turn, &q, on_end, &h));
    str id = open_id(&a);
    struct tool_question_answer answer = {
        .conversation_id = STR("conv_1"), .input_id = id, .user_id = STR("usr_1")};
    assert_int_equal(tool_question_answer(&rt, &answer, &e), -EINVAL);
    answer.content = wrong;
    assert_int_equal(tool_question_answer(&rt, &answer, &e), -EINVAL);
    assert_non_null(strstr(e.msg, "content.n"));
    answer.content = right;
    answer.conversation_id = STR("conv_2");
    assert_int_equal(tool_question_answer(&rt, &answer, &e), -ENOENT);
    assert_int_equal(h.times, 0);
    assert_int_equal(njoined, 0);
    map_put(&rt.busy, STR("conv_1"), &busy);
    answer.conversation_id = STR("conv_1");
    assert_int_equal(tool_question_answer(&rt, &answer, &e), 0);
    assert_true(njoined == 1 && joined[0] == &turn);
    assert_int_equal(h.times, 1);
    assert_string_equal(h.content, "{\"n\":1,\"c\":\"crimson\"}");
    assert_non_null(strstr(log_text, "\"userId\":\"usr_1\""));
    assert_null(strstr(log_text, "crimson")); /* what was answered is the server's business */
    answer.action = TOOL_QUESTION_DECLINE;
    assert_int_equal(tool_question_answer(&rt, &answer, &e), -ENOENT);
    arena_done(&a);
}

static void expect_in_log(const char *const *lines, size_t n, const char *ids)
{
    struct arena a;
    char found[64] = "";
    arena_init(&a);
    str *all = arena_array(&a, n, sizeof *all);
    for (size_t i = 0; i < n; i++)
        all[i] = str_from(lines[i]);
    const struct json *list = tool_questions_in_log(&a, all, n);
    for (uint32_t i = 0; i < list->len; i++) {
        str id = json_get_string(&list->items[i], "inputId");
        assert_true(json_get_string(&list->items[i], "message").n > 0);
        (void)snprintf(found + strlen(found), sizeof found - strlen(found), "%.*s ", STR_ARG(id));
    }
    assert_string_equal(found, ids);
    arena_done(&a);
}

#define ASKED(id, run)                                                                             \
    "{\"type\":\"input.requested\",\"runId\":\"" run "\",\"inputId\":\"" id                        \
    "\",\"kind\":\"url\",\"message\":\"m\"}"

TEST(the_log_knows_the_open_questions_of_another_server)
{
    static const char *const LINES[] = {
        "{\"type\":\"user.message\",\"text\":\"input.requested\"}",
        ASKED("1", "run_a"),
        "{\"type\":\"run.error\",\"runId\":\"run_a\"}",
        ASKED("2", "run_b"),
        ASKED("3", "run_b"),
        "{\"type\":\"input.answered\",\"runId\":\"run_b\",\"inputId\":\"2\"}",
        "{\"type\":\"run.done\",\"runId\":\"run_b\"}",
    };
    expect_in_log(LINES, 0, "");
    expect_in_log(LINES, 2, "1 ");
    expect_in_log(LINES, 3, "");
    expect_in_log(LINES, 5, "2 3 ");
    expect_in_log(LINES, 6, "3 ");
    expect_in_log(LINES, 7, "");
}
