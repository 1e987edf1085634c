/* The input of a model is the same whether it is built from a whole log, or from the lines that are
 * chosen from its end and what the store knows about the rest. */
#include "runtime/history/model_lines.h"
#include "runtime/turn/turn.h"
#include "store/event/derive.h"
#include "support/unit.h"

/* ---- random logs ---- */

struct log {
    struct arena arena;
    str *lines;
    size_t n, cap, nmessages;
    uint64_t seed;
};

static unsigned pick(struct log *l, unsigned n)
{
    l->seed ^= l->seed << 13;
    l->seed ^= l->seed >> 7;
    l->seed ^= l->seed << 17;
    return (unsigned)(l->seed % n);
}

static void add(struct log *l, str line)
{
    GROW(l->lines, l->n, l->cap);
    l->lines[l->n++] = line;
}

/* Mostly short, sometimes of a size that fills what is kept of users' words. */
static str words(struct log *l)
{
    static const unsigned MOST[] = {20, 20, 20, 200, 2000, 30000};
    unsigned n = pick(l, MOST[pick(l, ARRAY_LEN(MOST))] + 1);
    char *p = arena_alloc(&l->arena, n + 1);
    for (unsigned i = 0; i < n; i++)
        p[i] = (char)('a' + (l->seed + i) % 26);
    return str_make(p, n);
}

static void add_user(struct log *l)
{
    static const char *const WHO[] = {"", ",\"userId\":\"usr_a\"", ",\"userId\":\"usr_b\"",
                                      ",\"userId\":\"usr_c\",\"toolLimit\":[\"x__*\"]"};
    static const char *const MORE[] = {
        "", "", ",\"queuedId\":\"msg_7\"", ",\"app\":\"notes\"",
        ",\"context\":[{\"app\":\"notes\",\"text\":\"</app-context>\"}]"};
    const char *who = WHO[pick(l, ARRAY_LEN(WHO))], *more = MORE[pick(l, ARRAY_LEN(MORE))];
    str text = words(l);
    unsigned form = pick(l, 8);
    l->nmessages++;
    if (form == 0)
        add(l, arena_printf(&l->arena, "{\"role\":\"user\",\"content\":\"%.*s\"%s}", STR_ARG(text),
                            who));
    else if (form == 1)
        add(l, arena_printf(&l->arena, "{\"type\":\"user\\u002emessage\",\"content\":\"%.*s\"%s}",
                            STR_ARG(text), who));
    else if (form == 2)
        add(l, arena_printf(&l->arena,
                            "{\"type\":\"user.message\",\"content\":[{\"type\":\"text\",\"text\":"
                            "\"%.*s\"},{\"type\":\"text\",\"text\":\"more\"}]%s%s}",
                            STR_ARG(text), who, more));
    else
        add(l, arena_printf(&l->arena,
                            "{\"ts\":\"2026-01-01T00:00:00.000Z\",\"type\":\"user.message\","
                            "\"content\":[{\"type\":\"text\",\"text\":\"%.*s\"}]%s%s}",
                            STR_ARG(text), who, more));
}

static void add_answer(struct log *l)
{
    unsigned form = pick(l, 6);
    str text = words(l);
    l->nmessages++;
    if (form == 0) {
        add(l, arena_printf(&l->arena,
                            "{\"role\":\"assistant\",\"content\":\"%.*s\",\"toolCalls\":[{\"id\":"
                            "\"c%u\",\"name\":\"t%u\",\"output\":\"x\"}]}",
                            STR_ARG(text), pick(l, 9), pick(l, 300)));
        return;
    }
    struct buf b;
    buf_init(&b, 1u << 20);
    buf_printf(&b,
               "{\"type\":\"llm.response\",\"runId\":\"run_%u\",\"finishReason\":\"%s\","
               "\"inputTokens\":5,\"content\":[{\"type\":\"text\",\"text\":\"%.*s\"}",
               pick(l, 1000), form == 1 ? "length" : "stop", STR_ARG(text));
    for (unsigned n = pick(l, 4); n > 0; n--)
        buf_printf(&b,
                   ",{\"type\":\"tool-call\",\"toolCallId\":\"c%u\",\"toolName\":\"%s%u\","
                   "\"input\":{\"n\":%u}}",
                   pick(l, 9), pick(l, 3) ? "t" : "nb__", pick(l, 300), n);
    buf_add_lit(&b, "]}");
    add(l, buf_keep(&b, &l->arena));
}

/* Sums up a random number of messages: also more than there are. */
static void add_summary(struct log *l)
{
    unsigned form = pick(l, 12);
    unsigned kept = form == 0 ? (unsigned)l->nmessages + 3 : pick(l, 12);
    if (form == 1)
        add(l, STR("{\"type\":\"history.compacted\",\"summary\":\"S\",\"keptMessages\":-1}"));
    else if (form == 2)
        add(l, STR("{\"type\":\"history.compacted\",\"summary\":\"\",\"keptMessages\":1}"));
    else if (form == 3)
        add(l, STR("{\"type\":\"history.compacted\",\"summary\":\"none kept\"}"));
    else
        add(l, arena_printf(&l->arena,
                            "{\"type\":\"history.compacted\",\"summary\":\"S%zu\",\"keptMessages\":"
                            "%u}",
                            l->n, kept));
}

static void add_other(struct log *l)
{
    static const char *const OTHERS[] = {
        "{\"type\":\"run.start\",\"runId\":\"r\",\"userId\":\"usr_z\"}",
        "{\"type\":\"run.done\",\"stopReason\":\"complete\"}",
        "{\"type\":\"run.error\",\"error\":\"e\",\"errorType\":\"context_too_long\"}",
        "{\"type\":\"metadata.title\",\"title\":\"t\"}",
        "{\"type\":\"aux.usage\",\"source\":\"title\",\"inputTokens\":1}",
        "{\"type\":\"llm.request\",\"runId\":\"r\",\"system\":\"user.message\"}",
        "{\"type\":\"ask.answered\",\"askId\":\"ask_1\",\"decision\":\"allow\"}",
        "{\"type\":\"user.message\",\"content\":[{\"type\":\"text\",\"text\":\"torn",
        "{\"type\":\"llm.response\",\"content\":[}",
        "not JSON",
        "",
        "[1,2]",
        "{\"type\":7}",
        "{\"role\":\"system\",\"content\":\"x\"}",
    };
    unsigned form = pick(l, 6);
    if (form == 0)
        add(l,
            arena_printf(&l->arena, "{\"type\":\"ask.opened\",\"askId\":\"ask_%u\",\"calls\":[]}",
                         pick(l, 3)));
    else if (form < 3)
        add(l, arena_printf(&l->arena,
                            "{\"type\":\"tool.done\",\"id\":\"c%u\",\"ok\":true,\"result\":{"
                            "\"content\":[{\"type\":\"text\",\"text\":\"result %zu\"}]}}",
                            pick(l, 9), l->n));
    else if (form == 3)
        add(l, arena_printf(&l->arena,
                            "{\"type\":\"tool.start\",\"id\":\"c%u\",\"resourceUri\":"
                            "\"ui://%zu\"}",
                            pick(l, 9), l->n));
    else
        add(l, str_from(OTHERS[pick(l, ARRAY_LEN(OTHERS))]));
}

static void log_make(struct log *l, uint64_t seed)
{
    *l = (struct log){.seed = seed * 0x9e3779b97f4a7c15u + 1};
    arena_init(&l->arena);
    add(l, STR("{\"id\":\"conv_x\",\"createdAt\":\"2026-01-01T00:00:00.000Z\"}"));
    unsigned n = pick(l, 300), rarity = 5 + pick(l, 60);
    for (unsigned i = 0; i < n; i++) {
        unsigned what = pick(l, 10);
        if (pick(l, rarity) == 0)
            add_summary(l);
        else if (what < 3)
            add_user(l);
        else if (what < 6)
            add_answer(l);
        else
            add_other(l);
    }
}

static void log_done(struct log *l)
{
    arena_done(&l->arena);
    free(l->lines);
}

/* ---- both ways ---- */

static void put_block(struct buf *b, const struct llm_block *k)
{
    struct arena a;
    arena_init(&a);
    buf_printf(b, "(%d|%.*s|%.*s|%.*s|%.*s|%d|%.*s", (int)k->type, STR_ARG(k->text), STR_ARG(k->id),
               STR_ARG(k->name), STR_ARG(k->args), k->is_error,
               STR_ARG(k->json ? json_to_str(&a, k->json) : STR_NONE));
    for (size_t i = 0; i < k->nparts; i++)
        put_block(b, &k->parts[i]);
    buf_add_char(b, ')');
    arena_done(&a);
}

/* Everything that a turn gets from a log, as text. */
static str input_of(struct arena *a, const struct replay *r)
{
    const struct llm_message *messages = NULL;
    size_t n = 0;
    struct err e = {0};
    struct buf b;
    buf_init(&b, 1u << 26);
    int status = context_messages(a, r, &messages, &n, &e);
    buf_printf(&b, "status %d, run %.*s\n", status, STR_ARG(r->last_run_id));
    for (size_t i = 0; i < n; i++) {
        buf_printf(&b, "%d: ", (int)messages[i].role);
        for (size_t k = 0; k < messages[i].n; k++)
            put_block(&b, &messages[i].blocks[k]);
        buf_add_char(&b, '\n');
    }
    for (size_t i = 0; i < r->n; i++)
        buf_printf(&b, "%zu: %.*s %.*s %.*s\n", i, STR_ARG(r->messages[i].queued_id),
                   STR_ARG(r->messages[i].error_type), STR_ARG(r->messages[i].stop_reason));
    const struct json *ask = replay_ask_json(a, r);
    buf_printf(&b, "ask %.*s\npast %.*s\n", STR_ARG(ask ? json_to_str(a, ask) : STR_NONE),
               STR_ARG(past_json(a, &r->past)));
    assert_false(buf_failed(&b));
    return buf_keep(&b, a);
}

static struct past past_of(struct arena *a, const struct log *l)
{
    struct store_env env = {0};
    struct derive d;
    derive_init(&d, &env);
    for (size_t i = 0; i < l->n; i++)
        derive_line(&d, l->lines[i], i + 1);
    struct past past = past_copy(a, &d.conv.past);
    derive_done(&d);
    return past;
}

/* The lines that are chosen, in log order. */
static size_t choose(struct arena *a, const struct log *l, struct model_lines *m, str **ret)
{
    str *chosen = arena_array(a, l->n, sizeof *chosen);
    size_t first = l->n;
    enum store_choice choice;
    model_lines_init(m);
    for (size_t i = l->n; i > 0; i--) {
        if ((choice = model_lines_choose(m, l->lines[i - 1])) == STORE_STOP)
            break;
        if (choice != STORE_SKIP)
            chosen[--first] = l->lines[i - 1];
    }
    model_lines_done(m);
    *ret = chosen + first;
    return l->n - first;
}

static str from_the_end(struct arena *a, const struct log *l, struct model_lines *m)
{
    struct past past = past_of(a, l);
    struct replay r;
    str *lines;
    size_t n = choose(a, l, m, &lines);
    replay_init_model(&r, a, &past);
    for (size_t i = 0; i < n; i++)
        if (i < m->nbefore)
            replay_add_before(&r, lines[i]);
        else
            replay_add(&r, lines[i], 0);
    str text = input_of(a, &r);
    replay_done(&r);
    return text;
}

static str from_the_start(struct arena *a, const struct log *l)
{
    struct replay r = replay_lines_model(a, l->lines, l->n);
    return input_of(a, &r);
}

static void assert_same(uint64_t seed, str whole, str end)
{
    size_t at = 0;
    while (at < whole.n && at < end.n && whole.p[at] == end.p[at])
        at++;
    if (at == whole.n && at == end.n)
        return;
    size_t from = at > 60 ? at - 60 : 0;
    fail_msg("log %llu differs at %zu:\n%.160s\n----\n%.160s", (unsigned long long)seed, at,
             whole.p + from, end.p + from);
}

TEST(the_end_of_a_log_gives_what_the_whole_log_gives)
{
    size_t looked = 0, all = 0;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        struct log l;
        struct arena a;
        struct model_lines m;
        log_make(&l, seed);
        arena_init(&a);
        assert_same(seed, from_the_start(&a, &l), from_the_end(&a, &l, &m));
        looked += m.nlooked;
        all += l.n;
        arena_done(&a);
        log_done(&l);
    }
    assert_true(looked < all * 9 / 10); /* the logs are long enough to show anything */
}

/* A transcript that was kept, and got the new lines one by one, agrees with both. */
TEST(a_transcript_that_was_kept_agrees)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct log l;
        struct arena a;
        struct model_lines m;
        log_make(&l, seed);
        arena_init(&a);
        size_t n = l.n, half = n / 2;
        str *lines;
        l.n = half;
        struct past past = past_of(&a, &l);
        size_t chosen = choose(&a, &l, &m, &lines);
        struct store_event *events = arena_array(&a, chosen + 1, sizeof *events);
        for (size_t i = 0; i < chosen; i++)
            events[i] = (struct store_event){i + 1, lines[i]};
        struct store_page page = {.events = events, .n = chosen, .end = half};
        struct transcript *t = transcript_new();
        transcript_load(t, &page, m.nbefore, &past);
        l.n = n;
        for (size_t i = half; i < n; i++)
            transcript_add(t, l.lines[i]);
        assert_same(seed, from_the_start(&a, &l), input_of(&a, transcript_replay(t)));
        transcript_free(t);
        arena_done(&a);
        log_done(&l);
    }
}

/* ---- how much is read ---- */

#define TEXT_40 "0123456789012345678901234567890123456789"

/* n turns of four events each, with a summary after every `every` of them. */
static void make_long(struct log *l, size_t turns, size_t every)
{
    *l = (struct log){.seed = 1};
    arena_init(&l->arena);
    for (size_t i = 1; i <= turns; i++) {
        add(l, STR("{\"type\":\"user.message\",\"content\":[{\"type\":\"text\",\"text\":\"" TEXT_40
                   "\"}]}"));
        add(l, STR("{\"type\":\"run.start\",\"runId\":\"r\"}"));
        add(l, STR("{\"type\":\"llm.response\",\"runId\":\"r\",\"content\":\"" TEXT_40 "\"}"));
        add(l, STR("{\"type\":\"run.done\",\"runId\":\"r\",\"stopReason\":\"complete\"}"));
        if (every && i % every == 0)
            add(l, STR("{\"type\":\"history.compacted\",\"summary\":\"S\",\"keptMessages\":100}"));
    }
}

/* 50 turns that are kept, and 80,000 bytes of what users said before: 2,000 messages. */
TEST(a_longer_log_is_not_read_further)
{
    static const size_t TURNS[] = {2500, 25000};
    for (size_t i = 0; i < ARRAY_LEN(TURNS); i++) {
        struct log l;
        struct arena a;
        struct model_lines m;
        str *lines;
        make_long(&l, TURNS[i], 500);
        arena_init(&a);
        size_t chosen = choose(&a, &l, &m, &lines);
        assert_int_equal(chosen, 1 + 50 * 3 + 2000);
        assert_int_equal(m.nparsed, 1 + 50 * 2 + 2000);
        assert_int_equal(m.nlooked, 1 + 50 * 4 + 2000 * 4 + 4);
        arena_done(&a);
        log_done(&l);
    }
}

TEST(a_log_without_a_summary_is_read_to_a_limit)
{
    struct log l;
    struct arena a;
    struct model_lines m;
    make_long(&l, 10000, 0);
    arena_init(&a);
    str *lines;
    size_t chosen = choose(&a, &l, &m, &lines);
    assert_int_equal(m.nmessages, MODEL_LINES_MESSAGES_MAX);
    assert_int_equal(chosen, MODEL_LINES_MESSAGES_MAX / 2 * 3 + 2000);
    arena_done(&a);
    log_done(&l);
}
