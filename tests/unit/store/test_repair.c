#include <errno.h>

#include "rig.h"
#include "store/repair.h"

struct answer {
    struct repair_report report;
    int code;
    bool is_done;
};

static void on_repaired(void *ctx, const struct err *err, const struct repair_report *r)
{
    struct answer *a = ctx;
    a->is_done = true;
    a->code = err ? err->code : 0;
    if (r)
        a->report = *r;
}

static struct answer repair(struct rig *r, const char *id)
{
    struct answer a = {0};
    store_repair(r->store, str_from(id), on_repaired, &a);
    assert_true(loop_run_until(r->loop, &a.is_done, RIG_WAIT_MS));
    return a;
}

#define META                                                                                       \
    "{\"id\":\"conv_1\",\"createdAt\":\"2026-03-25T10:30:00.000Z\",\"format\":\"events\"}\n"
#define EVENT                                                                                      \
    "{\"ts\":\"2026-03-25T10:30:00.000Z\",\"type\":\"user.message\",\"content\":[{\"type\":"       \
    "\"text\",\"text\":\"hi\"}]}"

static void put(struct rig *r, const char *text)
{
    char path[400];
    (void)snprintf(path, sizeof path, "%s/conv_1.jsonl", r->conv_dir);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

TEST(reports)
{
    static const struct {
        const char *text;
        int64_t torn, bad;
        bool was_terminated;
    } CASES[] = {
        {META EVENT "\n", 0, 0, false},
        {META EVENT "\n{\"ts\":", 6, 0, false},
        {META EVENT, 0, 0, true},
        {META "garbage\n" EVENT "\n", 0, 1, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct rig rig, *r = &rig;
        rig_init(r, "jsonl", NULL);
        put(r, CASES[i].text);
        struct answer a = repair(r, "conv_1");
        assert_int_equal(a.code, 0);
        assert_int_equal(a.report.torn_bytes, CASES[i].torn);
        assert_int_equal(a.report.bad_lines, CASES[i].bad);
        assert_int_equal(a.report.was_terminated, CASES[i].was_terminated);
        struct answer again = repair(r, "conv_1");
        assert_int_equal(again.report.torn_bytes, 0);
        assert_false(again.report.was_terminated);
        rig_done(r);
    }
}

struct mended {
    int code;
    bool is_done;
};

static void on_mended(void *ctx, const struct err *err)
{
    struct mended *m = ctx;
    *m = (struct mended){err ? err->code : 0, true};
}

static int mend(struct rig *r, const char *id)
{
    struct mended m = {0};
    store_mend_header(r->store, str_from(id), STR("usr_me"), on_mended, &m);
    assert_true(loop_run_until(r->loop, &m.is_done, RIG_WAIT_MS));
    return m.code;
}

TEST(a_lost_first_line)
{
    static const char *const CASES[] = {EVENT "\n", "garbage\n" EVENT "\n", "", "garbage"};
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct rig rig, *r = &rig;
        rig_init(r, "jsonl", NULL);
        put(r, CASES[i]);
        assert_true(repair(r, "conv_1").report.lacks_header);
        assert_int_equal(mend(r, "conv_1"), 0);
        assert_false(repair(r, "conv_1").report.lacks_header);
        assert_int_equal(mend(r, "conv_1"), -EALREADY);
        assert_int_equal(rig_append(r, "conv_1", EVENT), 0);
        rig_done(r);
    }
}

TEST(refusals)
{
    struct rig rig, *r = &rig;
    rig_init(r, "jsonl", NULL);
    assert_int_equal(repair(r, "conv_1").code, -ENOENT);
    assert_int_equal(mend(r, "conv_1"), -ENOENT);
    assert_int_equal(repair(r, "../x").code, -ENOENT);
    rig_done(r);
    rig_init(r, "memory", NULL);
    assert_int_equal(repair(r, "conv_1").code, -ENOTSUP);
    rig_done(r);
}
