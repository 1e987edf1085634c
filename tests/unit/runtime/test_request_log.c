/* The input of model calls beside the messages: kept as blobs, named in the log, built again. */
#include "runtime/rebuild.h"
#include "support/rig.h"

#define WITH_RIG(name) TEST_WITH(name, rig_set_up, rig_tear_down)

static size_t count(struct rig *r, const char *conversation_id, const char *type)
{
    struct rig_lines l = rig_log(r, conversation_id);
    size_t n = 0;
    for (size_t i = 0; i < l.n; i++)
        n += str_eq(json_get_string(l.items[i], "type"), str_from(type));
    return n;
}

WITH_RIG(the_same_prompt_and_tools_are_stored_once)
{
    struct rig *r = *state;
    model_calls("t__ping", "{}");
    struct rig_turn *t = rig_chat(r, r->ana, "", "ping");
    assert_int_equal(count(r, t->conversation_id, "llm.request"), 1); /* for both steps */
    assert_int_equal(rig_store.kinds[RIG_PUT_BLOB].made, 2);
    rig_chat(r, r->ana, t->conversation_id, "again");
    assert_int_equal(count(r, t->conversation_id, "llm.request"), 2); /* one for each run */
    assert_int_equal(rig_store.kinds[RIG_PUT_BLOB].made, 2);
}

WITH_RIG(a_changed_tool_list_is_recorded_in_the_middle_of_a_run)
{
    struct rig *r = *state;
    model_calls("t__slow", "{}");
    struct rig_turn *t = rig_send(r, r->ana, "", "ping");
    rig_until(r, rig_tools.started == 1);
    rig_tools.tools[0].name = STR("pong");
    registry_changed(r->tools, &rig_tools.source);
    tools_release();
    rig_until(r, t->is_over);
    assert_int_equal(count(r, t->conversation_id, "llm.request"), 2);
    const struct json *last = rig_last(r, t->conversation_id, "llm.request");
    assert_int_equal(json_get_int(last, "iteration", 0), 2);
    assert_non_null(strstr(rig_model.seen[1].tools, "t__pong"));
}

/* The model call does not wait for the blobs; the answer in the log does, because it names them. */
WITH_RIG(the_answer_is_appended_after_the_blobs_are_durable)
{
    struct rig *r = *state;
    MODEL(.text = "hello", .is_held = true);
    store_hold(RIG_PUT_BLOB);
    struct rig_turn *t = rig_send(r, r->ana, "", "hi");
    rig_until(r, model_waiting() == 1 && rig_store.nheld == 2);
    unsigned appends = rig_store.kinds[RIG_APPEND].made;
    model_release();
    rig_until(r, model_waiting() == 0);
    rig_spin(r);
    assert_int_equal(rig_store.kinds[RIG_APPEND].made, appends);
    store_go();
    rig_until(r, t->is_over);
    struct rig_lines l = rig_log(r, t->conversation_id);
    size_t request = 0, response = 0;
    for (size_t i = 0; i < l.n; i++) {
        str type = json_get_string(l.items[i], "type");
        request = str_eq(type, STR("llm.request")) ? i : request;
        response = str_eq(type, STR("llm.response")) ? i : response;
    }
    assert_true(request > 0 && request < response);
}

WITH_RIG(blobs_that_cannot_be_written_do_not_fail_the_run)
{
    struct rig *r = *state;
    store_fault(RIG_PUT_BLOB, NULL, -ENOSPC);
    struct rig_turn *t = rig_chat(r, r->ana, "", "hi");
    assert_int_equal(t->stop, RUN_STOP_COMPLETE);
    assert_int_equal(count(r, t->conversation_id, "llm.request"), 0);
    store_fault(RIG_PUT_BLOB, NULL, 0);
    rig_chat(r, r->ana, t->conversation_id, "again");
    assert_int_equal(count(r, t->conversation_id, "llm.request"), 1);
}

/* A cancelled run ends now: its conversation may be deleted soon. */
WITH_RIG(a_cancelled_run_does_not_wait_for_its_blobs)
{
    struct rig *r = *state;
    MODEL(.is_held = true);
    store_hold(RIG_PUT_BLOB);
    struct rig_turn *t = rig_send(r, r->ana, "", "hi");
    rig_until(r, model_waiting() == 1 && rig_store.nheld == 2);
    turn_cancel(t->turn);
    rig_until(r, t->is_over);
    assert_int_equal(rig_store.nheld, 2);
    store_go();
    assert_log(r, t->conversation_id, "user.message run.start run.done");
}

/* ---- building the requests again ---- */

struct rebuilding {
    struct rig *rig;
    const char *conversation_id;
    size_t n, nequal, nunknown;
    char why[128], last_body[8192];
};

struct blob_read {
    struct arena *arena;
    str bytes;
    bool is_done;
    int code;
};

static void on_blob_read(void *ctx, const struct err *err, str bytes)
{
    struct blob_read *b = ctx;
    b->is_done = true;
    b->code = err ? err->code : 0;
    b->bytes = err ? STR_NONE : arena_str(b->arena, bytes);
}

static int get_blob(void *ctx, struct arena *a, str sha256, str *ret, struct err *e)
{
    struct rebuilding *b = ctx;
    struct blob_read read = {.arena = a};
    store_get_shared(b->rig->store, str_from(b->conversation_id), sha256, on_blob_read, &read);
    rig_until(b->rig, read.is_done);
    *ret = read.bytes;
    return read.code < 0 ? err_set(e, read.code, "no blob") : 0;
}

static void on_rebuilt(void *ctx, const struct rebuilt *q)
{
    struct rebuilding *b = ctx;
    b->n++;
    b->nequal += q->verdict == REBUILD_EQUAL;
    b->nunknown += q->verdict == REBUILD_UNKNOWN;
    RIG_KEEP(b->why, q->why);
    RIG_KEEP(b->last_body, q->body);
}

/* `from` is replaced by `to`, of the same length, where it occurs in the log; or NULL. */
static struct rebuilding rebuild(struct rig *r, const char *conversation_id, const char *from,
                                 const char *to)
{
    struct rebuilding b = {.rig = r, .conversation_id = conversation_id};
    struct rig_lines l = rig_log(r, conversation_id);
    str *lines = arena_array(&r->arena, l.n, sizeof *lines);
    for (size_t i = 0; i < l.n; i++) {
        lines[i] = arena_str(&r->arena, json_to_str(&r->arena, l.items[i]));
        ptrdiff_t at = from ? str_find(lines[i], str_from(from), 0) : -1;
        if (at >= 0)
            memcpy((char *)lines[i].p + at, to, strlen(to));
    }
    rebuild_requests(r->llm, lines, l.n, get_blob, on_rebuilt, &b);
    return b;
}

/* Live and from the log: the same bytes. */
WITH_RIG(each_request_is_built_again_from_the_log)
{
    struct rig *r = *state;
    model_calls("t__ping", "{\"n\":1}");
    model_says("xyzzy");
    struct rig_turn *t = rig_chat(r, r->ana, "", "ping it");
    struct rebuilding b = rebuild(r, t->conversation_id, NULL, NULL);
    assert_int_equal(b.n, 2);
    assert_int_equal(b.nequal, 2);
    assert_non_null(strstr(b.last_body, "ping it"));
    assert_non_null(strstr(b.last_body, "pong"));
    assert_non_null(strstr(b.last_body, "t__ping"));
    assert_null(strstr(b.last_body, "xyzzy")); /* the answer was not part of the question */
}

WITH_RIG(a_changed_line_makes_the_requests_after_it_different)
{
    struct rig *r = *state;
    struct rig_turn *t = rig_chat(r, r->ana, "", "first");
    rig_chat(r, r->ana, t->conversation_id, "other");
    assert_int_equal(rebuild(r, t->conversation_id, NULL, NULL).nequal, 2);
    assert_int_equal(rebuild(r, t->conversation_id, "other", "otter").nequal, 1);
    assert_int_equal(rebuild(r, t->conversation_id, "first", "fifth").nequal, 0);
}

WITH_RIG(a_call_that_was_not_recorded_is_unknown_and_not_different)
{
    struct rig *r = *state;
    store_fault(RIG_PUT_BLOB, NULL, -ENOSPC);
    struct rig_turn *t = rig_chat(r, r->ana, "", "hi");
    struct rebuilding b = rebuild(r, t->conversation_id, NULL, NULL);
    assert_int_equal(b.n, 1);
    assert_int_equal(b.nunknown, 1);
    assert_true(b.why[0] != '\0');
}
