/* nb conversations repair - repairs logs after a crash or a full disk. */
#include <errno.h>

#include "cli/conversations/stores.h"
#include "store/integrity.h"
#include "store/repair.h"

struct repair {
    struct stores_visit visit;
    int64_t sound, repaired, damaged, failed;
    /* the current conversation */
    struct repair_report report;
    struct integrity_report left; /* what verify reports afterwards */
    struct err err;
    bool is_done, has_new_header;
};

static void on_repaired(void *ctx, const struct err *err, const struct repair_report *r)
{
    struct repair *k = ctx;
    k->is_done = true;
    k->err = err ? *err : (struct err){0};
    k->report = r ? *r : (struct repair_report){0};
}

static void on_mended(void *ctx, const struct err *err)
{
    struct repair *k = ctx;
    k->is_done = true;
    k->has_new_header = !err;
    k->err = err ? *err : (struct err){0};
}

/* Without a terminal and --yes, the line stays as it is. */
static bool may_mend(const struct cmd *x, str id)
{
    if (!x->cli->opt.is_sure && !x->cli->is_tty_in)
        return false;
    if (!x->cli->opt.is_sure)
        fprintf(stderr,
                "%.*s  line 1 is lost or damaged, so the conversation has no owner.\nWrite a new "
                "line 1 that makes the first owner of this instance its owner, and ",
                STR_ARG(id));
    return cmd_confirm(x, "keep the old log as .damaged?", "The log was not changed.") == EXIT_DONE;
}

static void mend_header(struct repair *k, str id)
{
    if (!may_mend(k->visit.x, id))
        return;
    k->is_done = false;
    store_mend_header(k->visit.store, id, k->visit.owner, on_mended, k);
    cmd_wait(k->visit.stores.x, &k->is_done);
}

/* ---- remaining problems: repair and verify agree ---- */

static void on_left_checked(void *ctx, const struct err *err, const struct integrity_report *r)
{
    struct repair *k = ctx;
    k->is_done = true;
    if (!err)
        k->left = *r;
}

static void look_again(struct repair *k, str id)
{
    k->left = (struct integrity_report){0};
    k->is_done = false;
    store_verify(k->visit.store, id, on_left_checked, k);
    cmd_wait(k->visit.stores.x, &k->is_done);
}

static bool is_foreign(const struct repair *k, str id)
{
    return *k->left.named_id && !str_eq(id, str_from(k->left.named_id));
}

static bool is_damaged(const struct repair *k, str id)
{
    return k->left.bad_lines > 0 || k->left.is_broken || is_foreign(k, id);
}

static void print_damage(const struct repair *k, str id)
{
    if (k->left.is_broken)
        printf("; line %lld is broken: %s", (long long)k->left.bad_line, k->left.reason);
    if (is_foreign(k, id))
        printf("; line 1 names another conversation, %s: restore this log from a backup",
               k->left.named_id);
    if (k->left.bad_lines > 0)
        printf("; %lld line%s cannot be read (left in the log; readers skip them)",
               (long long)k->left.bad_lines, k->left.bad_lines == 1 ? "" : "s");
}

static struct json *repair_json(const struct repair *k, str id)
{
    struct cmd *x = k->visit.x;
    struct json *v = cmd_object(
        x, {STR("id"), json_of_str(id)}, {STR("tornBytes"), json_of_int(k->report.torn_bytes)},
        {STR("wasTerminated"), json_of_bool(k->report.was_terminated)},
        {STR("badLines"), json_of_int(k->left.bad_lines)},
        {STR("isDamaged"), json_of_bool(is_damaged(k, id))},
        {STR("lacksHeader"), json_of_bool(k->report.lacks_header && !k->has_new_header)},
        {STR("hasNewHeader"), json_of_bool(k->has_new_header)},
        {STR("isInUse"), json_of_bool(k->err.code == -EBUSY)});
    if (k->err.code && k->err.code != -EBUSY)
        json_set(&x->arena, v, STR("error"), json_of_str(str_from(k->err.msg)));
    return v;
}

static void print_repair(const struct repair *k, str id)
{
    printf("%.*s  ", STR_ARG(id));
    if (k->err.code == -EBUSY)
        printf("in use; the process that writes the log repaired it on opening");
    else if (k->err.code)
        printf("%s", k->err.msg);
    else if (k->has_new_header)
        printf("repaired: line 1 was replaced; the old log is kept (.damaged)");
    else if (k->report.lacks_header)
        printf("line 1 is lost or damaged, so the conversation has no owner; repair --yes writes a "
               "new line 1");
    else if (k->report.torn_bytes > 0)
        printf("repaired: %lld bytes of an unfinished line were moved aside (.torn)",
               (long long)k->report.torn_bytes);
    else if (k->report.was_terminated)
        printf("repaired: the last line got its line feed");
    else
        printf(is_damaged(k, id) ? "damaged" : "ok");
    print_damage(k, id);
    putchar('\n');
}

static void repair_one(struct stores_visit *v, str id)
{
    struct repair *k = CONTAINER_OF(v, struct repair, visit);
    k->is_done = false;
    store_repair(v->store, id, on_repaired, k);
    cmd_wait(v->stores.x, &k->is_done);
    k->has_new_header = false;
    progress_end(&v->progress);
    if (!k->err.code && k->report.lacks_header)
        mend_header(k, id);
    look_again(k, id);
    bool is_mended = k->report.torn_bytes > 0 || k->report.was_terminated || k->has_new_header;
    bool is_left = k->report.lacks_header && !k->has_new_header;
    if ((k->err.code && k->err.code != -EBUSY) || is_left)
        k->failed++;
    else if (is_damaged(k, id))
        k->damaged++;
    else if (is_mended)
        k->repaired++;
    else
        k->sound++;
    if (v->x->cli->opt.is_json)
        cmd_print_json(repair_json(k, id));
    else if (is_mended || is_left || k->err.code || is_damaged(k, id))
        print_repair(k, id);
}

static int conv_repair(struct cmd *x)
{
    struct repair k = {
        .visit = {.x = x, .label = "repairing", .one = repair_one, .after = stores_drop_index}};
    int code = stores_visit(&k.visit);
    if (code != EXIT_DONE)
        return code;
    k.failed += k.visit.unknown;
    if (!x->cli->opt.is_json)
        fprintf(stderr,
                "%lld intact, %lld repaired, %lld still damaged, %lld failed; the index will be "
                "rebuilt\n",
                (long long)k.sound, (long long)k.repaired, (long long)k.damaged,
                (long long)k.failed);
    return k.failed + k.damaged > 0 ? EXIT_FAILED : EXIT_DONE;
}

const struct command CONV_REPAIR = {
    .name = "repair",
    .operands = "[ID...]",
    .summary = "repair logs after a crash or a full disk",
    .help = "Moves an unfinished last line to <log>.torn, adds a missing line feed, and rebuilds "
            "the index. Lines that cannot be read stay and are skipped; such a log is reported as "
            "still damaged (exit code 1). Opening a log for writing does the same.\n"
            "\n"
            "Asks before it replaces a lost first line: the conversation then belongs to the first "
            "owner of this instance, and the old log is kept as <log>.damaged. Without an ID, "
            "repairs all conversations of the workspace, or of every workspace when --workspace is "
            "not given.\n",
    .yes = "replace a lost first line without asking",
    .needs = NEEDS_LOOP,
    .run = conv_repair,
};
