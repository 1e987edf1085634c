/* One store into another and back: nothing that both can hold is lost on the way. */
#include <errno.h>

#include "base/bytes/hash.h"
#include "store/integrity.h"
#include "support/postgres.h"
#include "transfer/convert.h"
#include "unit/store/rig.h"

#define ID "conv_0123456789abcdef"

struct two {
    struct rig from; /* the target lies in its directory and shares its loop */
    struct store *target;
    struct convert_report report;
    char losses[4096];
};

static void open_target(struct two *t, const char *type, bool integrity)
{
    static char dir[300];
    (void)snprintf(dir, sizeof(dir), "%s/target", t->from.dir);
    struct store_conf conf = {
        .type = type, .dir = dir, .workspace_id = "ws_test", .integrity = integrity};
    struct err e = {0};
    if (store_open(&t->from.env, &conf, &t->target, &e) < 0)
        fail_msg("store_open: %s", e.msg);
}

static void close_target(struct two *t)
{
    t->from.done = false;
    store_close(t->target, rig_set_done, &t->from);
    rig_wait(&t->from);
}

static void on_converted(void *ctx, const struct err *err, const struct convert_report *r)
{
    struct two *t = ctx;
    t->report = *r;
    size_t at = 0;
    t->losses[0] = 0;
    for (size_t i = 0; i < r->nlosses && at < sizeof(t->losses); i++)
        at += (size_t)snprintf(t->losses + at, sizeof(t->losses) - at, "%.*s\n",
                               STR_ARG(r->losses[i]));
    rig_end(&t->from, err);
}

static int convert(struct two *t, struct store *from, struct store *to, const char *id)
{
    struct convert_spec spec = {.from = from, .to = to, .id = str_from(id)};
    return RIG_CALL(&t->from, convert_run(&spec, on_converted, t));
}

/* Calls of the rig, on either store. */
static struct rig *with(struct two *t, struct store *s)
{
    t->from.store = s;
    return &t->from;
}

#define SHARED STR("a tool list")

static void fill(struct rig *r)
{
    struct buf big;
    buf_init(&big, 1u << 20);
    buf_add_lit(&big, "{\"ts\":\"2026-01-01T00:00:03.000Z\",\"type\":\"tool.done\",\"id\":\"t\","
                      "\"name\":\"x\",\"ok\":true,\"result\":\"");
    for (int i = 0; i < 100000; i++)
        buf_add_char(&big, 'z');
    buf_add_lit(&big, "\"}");
    struct conv_create spec = {.id = STR(ID),
                               .owner_id = STR("usr_a"),
                               .channel = STR("tui"),
                               .model = STR("m"),
                               .forked_from = STR("conv_before"),
                               .created_ms = 1767225600000};
    assert_int_equal(RIG_CALL(r, store_create(r->store, &spec, rig_on_conv, r)), 0);
    str blob = STR("a system prompt");
    assert_int_equal(RIG_CALL(r, store_put_blob(r->store, STR(ID), blob, rig_on_blob, r)), 0);
    char start[256];
    (void)snprintf(start, sizeof(start),
                   "{\"ts\":\"2026-01-01T00:00:02.000Z\",\"type\":\"run.start\",\"runId\":\"r\","
                   "\"systemPrompt\":{\"$blob\":\"%.*s\"}}",
                   STR_ARG(r->blob));
    for (int i = 0; i < 1200; i++)
        assert_int_equal(rig_append(r, ID,
                                    "{\"ts\":\"2026-01-01T00:00:01.000Z\",\"type\":\"user."
                                    "message\",\"content\":\"hello\",\"n\":1.50}"),
                         0);
    assert_int_equal(rig_append(r, ID, start), 0);
    char hex[SHA256_HEX_LEN + 1];
    sha256_hex(SHARED, hex);
    assert_int_equal(
        RIG_CALL(r, store_put_shared(r->store, STR(ID), SHARED, str_from(hex), rig_on_blob, r)), 0);
    (void)snprintf(start, sizeof(start),
                   "{\"ts\":\"2026-01-01T00:00:02.000Z\",\"type\":\"llm.request\","
                   "\"runId\":\"r\",\"tools\":\"%s\"}",
                   hex);
    assert_int_equal(rig_append(r, ID, start), 0);
    store_release_shared(r->store, str_from(hex));
    assert_int_equal(rig_append(r, ID, buf_cstr(&big)), 0);
    assert_int_equal(rig_title(r, ID, "The title", false), 0);
    str people[] = {STR_INIT("usr_b")};
    struct json_strs set = {people, 1};
    assert_int_equal(
        RIG_CALL(r, rig_set_sharing(r->store, STR(ID), true, &set, NULL, rig_on_conv, r)), 0);
    assert_int_equal(
        RIG_CALL(r, store_add_note(r->store, STR(ID), STR("usr_a"), STR("n"), rig_on_conv, r)), 0);
    buf_done(&big);
}

/* All events with their results whole, in an arena. */
static str everything(struct rig *r, struct arena *a, const char *id)
{
    struct buf b;
    struct store_range range = {.with_blobs = true};
    buf_init(&b, 1u << 26);
    do {
        assert_int_equal(rig_read(r, id, &range), 0);
        for (size_t i = 0; i < r->page.n; i++) {
            str body, hash;
            (void)chain_split(r->page.events[i].line, &body, &hash, a);
            buf_add_str(&b, body);
            buf_add_char(&b, '\n');
            range.after = r->page.events[i].pos;
        }
    } while (!r->page.reached_end);
    str text = arena_str(a, buf_str(&b));
    buf_done(&b);
    return text;
}

static void same(struct two *t, struct store *a, struct store *b, const char *id)
{
    struct arena arena;
    arena_init(&arena);
    str before = everything(with(t, a), &arena, id), after = everything(with(t, b), &arena, id);
    assert_int_equal(before.n, after.n);
    assert_true(str_eq(before, after));
    assert_int_equal(rig_get(with(t, a), id), 0);
    struct conv *x = conv_clone(&arena, t->from.conv);
    assert_int_equal(rig_get(with(t, b), id), 0);
    struct conv *y = conv_clone(&arena, t->from.conv);
    const str pairs[][2] = {{x->title, y->title},
                            {x->created_at, y->created_at},
                            {x->updated_at, y->updated_at},
                            {x->channel, y->channel},
                            {x->model, y->model},
                            {x->forked_from, y->forked_from},
                            {x->acl.owner_id, y->acl.owner_id},
                            {x->preview, y->preview}};
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
        assert_true(str_eq(pairs[i][0], pairs[i][1]));
    assert_int_equal(x->acl.is_shared, y->acl.is_shared);
    assert_int_equal(x->acl.participants.len, y->acl.participants.len);
    assert_int_equal(x->message_count, y->message_count);
    arena_done(&arena);
}

static void there_and_back(const char *first, const char *second, bool integrity)
{
    struct two *t = xcalloc(1, sizeof(*t));
    rig_init(&t->from, first, NULL);
    struct store *source = t->from.store;
    fill(&t->from);
    open_target(t, second, integrity);
    assert_int_equal(convert(t, source, t->target, ""), 0);
    assert_int_equal(t->report.total, 1);
    assert_int_equal(t->report.converted, 1);
    assert_int_equal(t->report.lost, 0);
    assert_true(t->report.blobs >= 1);
    same(t, source, t->target, ID);
    char sha[65];
    struct rig *r = with(t, t->target);
    assert_int_equal(
        RIG_CALL(r, store_put_blob(source, STR(ID), STR("a system prompt"), rig_on_blob, r)), 0);
    memcpy(sha, r->blob.p, 65);
    assert_int_equal(RIG_CALL(r, store_get_blob(t->target, STR(ID), str_from(sha), rig_on_blob, r)),
                     0);
    sha256_hex(SHARED, sha);
    assert_int_equal(
        RIG_CALL(r, store_get_shared(t->target, STR(ID), str_from(sha), rig_on_blob, r)), 0);
    /* again: nothing is made twice */
    assert_int_equal(convert(t, source, t->target, ID), 0);
    assert_int_equal(t->report.existing, 1);
    assert_int_equal(t->report.converted, 0);
    /* and back */
    assert_int_equal(rig_delete(with(t, source), ID, true), 0);
    assert_int_equal(convert(t, t->target, source, ID), 0);
    assert_int_equal(t->report.converted, 1);
    same(t, source, t->target, ID);
    close_target(t);
    t->from.store = source;
    rig_done(&t->from);
    free(t);
}

TEST(jsonl_and_folder)
{
    there_and_back("jsonl", "folder", false);
}

TEST(folder_and_jsonl)
{
    there_and_back("folder", "jsonl", false);
}

TEST(jsonl_and_postgres)
{
    postgres_clear(rig_database_url);
    there_and_back("jsonl", "postgres", false);
}

TEST(postgres_and_folder)
{
    postgres_clear(rig_database_url);
    there_and_back("postgres", "folder", false);
}

static void add_lines(struct rig *r, const char *id, int from, int to)
{
    for (int i = from; i < to; i++) {
        char line[80];
        (void)snprintf(line, sizeof line,
                       "{\"ts\":\"2026-01-01T00:00:00.000Z\",\"type\":\"n\",\"i\":%d}", i);
        assert_int_equal(rig_append(r, id, line), 0);
    }
}

/* The target has `has` lines from number `from` on of a conversation with 20. */
static void convert_again(const char *type, int from, int has, bool is_copied, const char *loss)
{
    struct two *t = xcalloc(1, sizeof(*t));
    postgres_clear(rig_database_url);
    rig_init(&t->from, "jsonl", NULL);
    struct store *source = t->from.store;
    open_target(t, type, false);
    assert_int_equal(rig_create(&t->from, ID, "usr_a"), 0);
    add_lines(&t->from, ID, 0, 20);
    assert_int_equal(rig_create(with(t, t->target), ID, "usr_a"), 0);
    add_lines(&t->from, ID, from, from + has);
    assert_int_equal(convert(t, source, t->target, ""), 0);
    assert_int_equal(t->report.converted, is_copied);
    assert_int_equal(t->report.existing, !is_copied);
    assert_non_null(strstr(t->losses, loss));
    assert_int_equal(rig_get(with(t, t->target), ID), 0);
    assert_int_equal(rig_read(&t->from, ID, &(struct store_range){0}), 0);
    assert_int_equal(t->from.page.n, is_copied ? 20 : has);
    close_target(t);
    t->from.store = source;
    rig_done(&t->from);
    free(t);
}

TEST(an_interrupted_conversion_is_repeated)
{
    static const char *const TYPES[] = {"folder", "postgres"};
    for (size_t i = 0; i < ARRAY_LEN(TYPES); i++) {
        convert_again(TYPES[i], 0, 0, true, "");
        convert_again(TYPES[i], 0, 7, true, "");
        convert_again(TYPES[i], 0, 20, false, "");
        convert_again(TYPES[i], 0, 25, false, ""); /* continued in the target */
        convert_again(TYPES[i], 3, 7, false, "has a different conversation");
    }
}

TEST(into_a_chain_and_out_of_it)
{
    there_and_back("jsonl", "folder", true);
    there_and_back("folder", "jsonl", true);
}

TEST(what_others_wrote_goes_along)
{
    struct two *t = xcalloc(1, sizeof(*t));
    rig_init(&t->from, "folder", NULL);
    struct rig *r = &t->from;
    struct store *source = r->store;
    assert_int_equal(mkdir(rig_path(r, "conversations/x"), 0700), 0);
    rig_spit(r, "conversations/x/chat.jsonl", "we",
             STR("{\"type\":\"conversation-header\",\"threadId\":\"thread_x\",\"channel\":\"tui\","
                 "\"title\":\"Theirs\",\"createdAt\":1774402340418}\n"
                 "{\"type\":\"message\",\"role\":\"user\",\"content\":\"hello\",\"createdAt\":"
                 "1774402350000}\nnot json\n"));
    rig_spit(r, "conversations/x/notes.jsonl", "we",
             STR("{\"type\":\"note\",\"createdAt\":1774402360000,\"author\":\"model\",\"content\":"
                 "\"remember\"}\n"));
    open_target(t, "jsonl", false);
    assert_int_equal(convert(t, source, t->target, ""), 0);
    assert_int_equal(t->report.converted, 1);
    assert_int_equal(t->report.lost, 1);
    assert_non_null(strstr(t->losses, "thread_x: 1 lines that are not events"));
    with(t, t->target);
    assert_int_equal(rig_get(r, "thread_x"), 0);
    assert_str(r->conv->title, "Theirs");
    assert_str(r->conv->preview, "hello");
    assert_str(r->conv->created_at, "2026-03-25T01:32:20.418Z");
    assert_int_equal(RIG_CALL(r, store_notes(t->target, STR("thread_x"), rig_on_notes, r)), 0);
    assert_int_equal(r->nnotes, 1);
    assert_str(r->notes[0].text, "remember");
    close_target(t);
    r->store = source;
    rig_done(r);
    free(t);
}

TEST(a_hidden_conversation_stays_hidden)
{
    struct two *t = xcalloc(1, sizeof(*t));
    rig_init(&t->from, "jsonl", NULL);
    struct rig *r = &t->from;
    struct store *source = r->store;
    struct conv_create spec = {.id = STR("conv_h"), .owner_id = STR("usr_a"), .is_hidden = true};
    assert_int_equal(RIG_CALL(r, store_create(source, &spec, rig_on_conv, r)), 0);
    open_target(t, "folder", false);
    assert_int_equal(convert(t, source, t->target, "conv_h"), 0);
    assert_int_equal(t->report.converted, 1);
    with(t, t->target);
    assert_int_equal(rig_get(r, "conv_h"), 0);
    assert_true(r->conv->is_hidden);
    close_target(t);
    r->store = source;
    rig_done(r);
    free(t);
}

TEST(what_is_not_there)
{
    struct two *t = xcalloc(1, sizeof(*t));
    rig_init(&t->from, "jsonl", NULL);
    open_target(t, "memory", false);
    assert_int_equal(convert(t, t->from.store, t->target, "conv_missing"), 0);
    assert_int_equal(t->report.failed, 1);
    assert_int_equal(t->report.lost, 1);
    assert_int_equal(convert(t, t->from.store, t->target, ""), 0);
    assert_int_equal(t->report.total, 0);
    close_target(t);
    rig_done(&t->from);
    free(t);
}

int main(int argc, char **argv)
{
    struct postgres server;
    postgres_start(&server);
    postgres_init(server.url);
    rig_database_url = server.url;
    int failed = run_unit_tests("convert", argc > 1 ? argv[1] : NULL);
    postgres_stop(&server);
    return failed;
}
