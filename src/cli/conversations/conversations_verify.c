/* nb conversations verify - checks every line and every hash of the logs. */
#include <assert.h>

#include "cli/conversations/stores.h"
#include "cli/term/styled.h"
#include "store/integrity.h"

struct log_check {
    struct stores_visit visit;
    int64_t sound, unchained, bad;
    /* the current conversation */
    struct integrity_report report;
    struct err err;
    bool is_done, is_foreign; /* line 1 names another conversation */
};

static void on_checked(void *ctx, const struct err *err, const struct integrity_report *r)
{
    struct log_check *k = ctx;
    assert(!k->is_done);
    k->is_done = true;
    if (err)
        k->err = *err;
    else
        k->report = *r;
}

static void examine(struct log_check *k, str id)
{
    err_clear(&k->err);
    k->report = (struct integrity_report){0};
    k->is_done = false;
    store_verify(k->visit.store, id, on_checked, k);
    cmd_wait(k->visit.stores.x, &k->is_done);
    k->is_foreign = *k->report.named_id && !str_eq(id, str_from(k->report.named_id));
}

static bool is_bad(const struct log_check *k)
{
    const struct integrity_report *r = &k->report;
    return k->err.code || r->is_broken || r->bad_lines > 0 || r->lacks_header ||
           r->torn_bytes > 0 || k->is_foreign;
}

static struct json *check_json(const struct log_check *k, str id)
{
    struct cmd *x = k->visit.x;
    const struct integrity_report *r = &k->report;
    struct json *v = cmd_object(
        x, {STR("id"), json_of_str(id)}, {STR("ok"), json_of_bool(!is_bad(k))},
        {STR("lines"), json_of_int(r->lines)}, {STR("badLines"), json_of_int(r->bad_lines)},
        {STR("tornBytes"), json_of_int(r->torn_bytes)},
        {STR("lacksHeader"), json_of_bool(r->lacks_header)});
    if (k->is_foreign)
        json_set(&x->arena, v, STR("namedId"), json_of_str(str_from(r->named_id)));
    json_set(&x->arena, v, STR("isChained"), json_of_bool(r->is_chained));
    if (r->is_chained)
        json_set(&x->arena, v, STR("head"), json_of_str(str_from(r->head)));
    if (r->is_broken) {
        json_set(&x->arena, v, STR("brokenLine"), json_of_int(r->bad_line));
        json_set(&x->arena, v, STR("reason"), json_of_str(str_from(r->reason)));
    }
    if (k->err.code)
        json_set(&x->arena, v, STR("error"), json_of_str(str_from(k->err.msg)));
    return v;
}

static str damage(const struct log_check *k)
{
    struct arena *a = &k->visit.x->arena;
    const struct integrity_report *r = &k->report;
    if (k->err.code)
        return arena_printf(a, "%s", k->err.msg);
    if (r->lacks_header)
        return r->lines == 0 ? STR("the log is empty (nb conv repair)")
                             : STR("line 1 is lost or damaged (nb conv repair)");
    if (r->is_broken)
        return arena_printf(a, "line %lld is broken: %s", (long long)r->bad_line, r->reason);
    if (r->torn_bytes > 0)
        return arena_printf(a, "the last line is not finished: %lld bytes (nb conv repair)",
                            (long long)r->torn_bytes);
    if (k->is_foreign)
        return arena_printf(a, "line 1 names another conversation, %s", r->named_id);
    return arena_printf(a, "%lld line%s cannot be read", (long long)r->bad_lines,
                        r->bad_lines == 1 ? "" : "s");
}

static str verdict(const struct log_check *k)
{
    struct arena *a = &k->visit.x->arena;
    if (is_bad(k))
        return damage(k);
    if (!k->report.is_chained)
        return arena_printf(a, "%lld lines, no hash chain", (long long)k->report.lines);
    return arena_printf(a, "%lld lines, hash chain intact (head %.12s)", (long long)k->report.lines,
                        k->report.head);
}

static void verify_one(struct stores_visit *v, str id)
{
    struct log_check *k = CONTAINER_OF(v, struct log_check, visit);
    struct cmd *x = v->x;
    struct buf mark;
    examine(k, id);
    bool bad = is_bad(k);
    k->bad += bad;
    k->sound += !bad;
    k->unchained += !k->report.is_chained && !k->err.code;
    progress_end(&v->progress);
    buf_init(&mark, 64);
    style_add(&mark, x->cli->has_color_out, bad ? STYLE_RED : STYLE_GREEN,
              bad ? STR("BAD") : STR("ok "));
    (void)cmd_say(x, check_json(k, id), "%s %.*s  %.*s", buf_cstr(&mark), STR_ARG(id),
                  STR_ARG(verdict(k)));
    buf_done(&mark);
}

static int conv_verify(struct cmd *x)
{
    struct log_check k = {
        .visit = {.x = x, .label = "verifying", .is_read_only = true, .one = verify_one}};
    int code = stores_visit(&k.visit);
    if (code != EXIT_DONE)
        return code;
    k.bad += k.visit.unknown;
    if (!x->cli->opt.is_json)
        fprintf(stderr, "%lld intact, %lld bad; %lld without a hash chain%s\n", (long long)k.sound,
                (long long)k.bad, (long long)k.unchained,
                k.unchained > 0 ? " (store.integrity adds one)" : "");
    return k.bad > 0 ? EXIT_FAILED : EXIT_DONE;
}

const struct command CONV_VERIFY = {
    .name = "verify",
    .operands = "[ID...]",
    .summary = "check that logs are complete and unchanged",
    .help = "Reads every line and names a changed, removed or inserted one when the log has a hash "
            "chain (setting store.integrity). Without an ID, checks all conversations of the "
            "workspace, or of every workspace when --workspace is not given. Exits with 1 when "
            "something is wrong or the store does not exist. With --json, one line per log.\n",
    .needs = NEEDS_LOOP,
    .run = conv_verify,
};
