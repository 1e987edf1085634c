/* A chained log proves itself; whatever is done to it is found at the line it was done to. */
#include <errno.h>

#include "rig.h"
#include "store/integrity.h"

#define ID "conv_0123456789abcdef"

static const char *backend; /* of the group under way */

static struct integrity_report report; /* of the last verification */

static void open_chained(struct rig *r, bool integrity)
{
    struct store_conf conf = {
        .type = backend, .dir = r->conv_dir, .workspace_id = "ws_test", .integrity = integrity};
    assert_int_equal(store_open(&r->env, &conf, &r->store, NULL), 0);
}

static int setup(void **state)
{
    struct rig *r = xcalloc(1, sizeof(*r));
    rig_init(r, NULL, NULL);
    open_chained(r, true);
    *state = r;
    return 0;
}

static int teardown(void **state)
{
    rig_done(*state);
    free(*state);
    return 0;
}

static void on_verified(void *ctx, const struct err *err, const struct integrity_report *rep)
{
    if (rep)
        report = *rep;
    rig_end(ctx, err);
}

static int verify(struct rig *r, const char *id)
{
    return RIG_CALL(r, store_verify(r->store, str_from(id), on_verified, r));
}

static void add_events(struct rig *r, int n)
{
    for (int i = 0; i < n; i++) {
        char line[64];
        (void)snprintf(line, sizeof(line), "{\"type\":\"user.message\",\"content\":\"%d\"}", i);
        assert_int_equal(rig_append(r, ID, line), 0);
    }
}

/* The path of the log below conv_dir. */
static const char *log_name(struct rig *r)
{
    if (strcmp(backend, "jsonl") == 0)
        return ID ".jsonl";
    assert_int_equal(rig_get(r, ID), 0);
    struct buf name;
    buf_init(&name, 512);
    buf_add_lit(&name, "conversations/conversation-");
    for (size_t i = 0; i < r->conv->created_at.n; i++) {
        char c = r->conv->created_at.p[i];
        buf_add_char(&name, c == ':' || c == '.' ? '-' : c);
    }
    buf_add_lit(&name, "-" ID "/chat.jsonl");
    const char *made = arena_str(&r->arena, buf_str(&name)).p;
    buf_done(&name);
    return made;
}

TEST_WITH(a_whole_chain, setup, teardown)
{
    struct rig *r = *state;
    str given[] = {STR_INIT("{\"type\":\"user.message\",\"content\":\"with create\"}")};
    struct conv_create spec = {
        .id = STR(ID), .owner_id = STR("usr_a"), .events = given, .nevents = 1};
    assert_int_equal(RIG_CALL(r, store_create(r->store, &spec, rig_on_conv, r)), 0);
    add_events(r, 20);
    assert_int_equal(verify(r, ID), 0);
    assert_true(report.is_chained);
    assert_false(report.is_broken);
    assert_int_equal(report.lines, 22);
    assert_int_equal(report.uncovered, 0);
    char head[65];
    memcpy(head, report.head, 65);
    rig_close_store(r);
    open_chained(r, false); /* a chain that was begun goes on */
    add_events(r, 3);
    str together[] = {STR_INIT("{\"type\":\"a\"}"), STR_INIT("bad"), STR_INIT("{\"type\":\"b\"}")};
    assert_int_equal(rig_append_n(r, ID, together, 3), -EINVAL);
    assert_int_equal(rig_append(r, ID, "{\"type\":\"c\"}"), 0);
    assert_int_equal(verify(r, ID), 0);
    assert_false(report.is_broken);
    assert_int_equal(report.lines, 26);
    assert_string_not_equal(report.head, head);
    assert_int_equal(verify(r, "conv_missing"), -ENOENT);
}

TEST_WITH(many_writers_share_a_batch, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    str event = STR("{\"type\":\"x\"}"), bad = STR("bad");
    for (int i = 0; i < 50; i++) {
        store_op_cancel(store_append(r->store, STR(ID), &event, 1, rig_on_append, r));
        store_op_cancel(store_append(r->store, STR(ID), &bad, 1, rig_on_append, r));
    }
    add_events(r, 1);
    assert_int_equal(verify(r, ID), 0);
    assert_false(report.is_broken);
    assert_int_equal(report.lines, 52);
}

struct edit {
    const char *name;
    str (*make)(struct arena *a, str text);
    int64_t bad_line;
};

static str line_at(str text, size_t n, size_t *ret_at)
{
    size_t at = 0;
    for (; n > 1; n--)
        at += (size_t)str_find_char(str_skip(text, at), '\n') + 1;
    *ret_at = at;
    return str_slice(text, at, at + (size_t)str_find_char(str_skip(text, at), '\n') + 1);
}

/* text with [from, to) replaced */
static str splice(struct arena *a, str text, size_t from, size_t to, str with)
{
    return arena_concat(a, arena_concat(a, str_slice(text, 0, from), with), str_skip(text, to));
}

static str change_header(struct arena *a, str text)
{
    ptrdiff_t at = str_find(text, STR("usr_a"), 0);
    return splice(a, text, (size_t)at, (size_t)at + 5, STR("usr_b"));
}

static str change_text(struct arena *a, str text)
{
    size_t at;
    (void)line_at(text, 6, &at);
    ptrdiff_t digit = str_find(text, STR("\"4\""), at);
    return splice(a, text, (size_t)digit, (size_t)digit + 3, STR("\"7\""));
}

static str remove_line(struct arena *a, str text)
{
    size_t at;
    str line = line_at(text, 5, &at);
    return splice(a, text, at, at + line.n, STR_NONE);
}

static str swap_lines(struct arena *a, str text)
{
    size_t first, second;
    str x = line_at(text, 4, &first), y = line_at(text, 5, &second);
    return splice(a, text, first, second + y.n, arena_concat(a, y, x));
}

static str insert_line(struct arena *a, str text)
{
    size_t at;
    (void)line_at(text, 7, &at);
    return splice(a, text, at, at, STR("{\"type\":\"x\"}\n"));
}

static str strip_hash(struct arena *a, str text)
{
    size_t at;
    str line = line_at(text, 8, &at), body, hash;
    assert_true(chain_split(str_slice(line, 0, line.n - 1), &body, &hash, a));
    return splice(a, text, at, at + line.n - 1, body);
}

static const struct edit EDITS[] = {
    {"the owner changed", change_header, 2}, {"a text changed", change_text, 6},
    {"a line removed", remove_line, 5},      {"two lines swapped", swap_lines, 4},
    {"a line inserted", insert_line, 7},     {"a hash taken off", strip_hash, 8},
};

TEST_WITH(every_edit_is_found, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    add_events(r, 9);
    char name[400];
    (void)snprintf(name, sizeof(name), "%s", log_name(r));
    struct arena a;
    arena_init(&a);
    str text = arena_str(&a, rig_slurp(r, name));
    for (size_t i = 0; i < ARRAY_LEN(EDITS); i++) {
        rig_spit(r, name, "we", EDITS[i].make(&a, text));
        assert_int_equal(verify(r, ID), 0);
        if (!report.is_broken || report.bad_line != EDITS[i].bad_line)
            fail_msg("%s: %s line %lld", EDITS[i].name, report.is_broken ? "broken at" : "whole",
                     (long long)report.bad_line);
        assert_true(report.reason[0]);
    }
    rig_spit(r, name, "we", text);
    assert_int_equal(verify(r, ID), 0);
    assert_false(report.is_broken);
    arena_done(&a);
}

TEST_WITH(a_chain_begun_later, setup, teardown)
{
    struct rig *r = *state;
    rig_close_store(r);
    open_chained(r, false);
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    add_events(r, 5);
    assert_int_equal(verify(r, ID), 0);
    assert_false(report.is_chained);
    rig_close_store(r);
    open_chained(r, true);
    add_events(r, 5);
    assert_int_equal(verify(r, ID), 0);
    assert_true(report.is_chained);
    assert_false(report.is_broken);
    assert_int_equal(report.lines, 11);
    assert_int_equal(report.uncovered, 4);
}

TEST_WITH(a_fork_has_its_own_chain, setup, teardown)
{
    struct rig *r = *state;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    add_events(r, 5);
    assert_int_equal(verify(r, ID), 0);
    char head[65], fork[STORE_ID_MAX + 1];
    memcpy(head, report.head, 65);
    assert_int_equal(rig_fork(r, ID, 3, "usr_a"), 0);
    assert_int_equal(r->conv->bad_lines, 0);
    (void)snprintf(fork, sizeof(fork), "%.*s", STR_ARG(r->conv->id));
    assert_int_equal(verify(r, fork), 0);
    assert_true(report.is_chained);
    assert_false(report.is_broken);
    assert_int_equal(report.lines, 4);
    if (strcmp(backend, "jsonl") == 0) {
        str text = rig_slurp(r, arena_printf(&r->arena, "%s.jsonl", fork).p);
        ptrdiff_t at = str_find(text, STR("\"originHash\":\""), 0);
        assert_true(at > 0 && at < str_find_char(text, '\n'));
        assert_true(str_starts(str_skip(text, (size_t)at + 14), str_from(head)));
    }
}

TEST_WITH(memory_has_nothing_to_verify, setup, teardown)
{
    struct rig *r = *state;
    rig_close_store(r);
    rig_open_store(r, "memory");
    assert_int_equal(verify(r, ID), -ENOTSUP);
}

int main(void)
{
    static const char *const BACKENDS[] = {"jsonl", "folder"};
    int failed = 0;
    for (size_t i = 0; i < ARRAY_LEN(BACKENDS); i++) {
        backend = BACKENDS[i];
        failed += run_unit_tests(backend, NULL);
    }
    return failed;
}
