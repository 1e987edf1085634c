#include <errno.h>

#include "base/clock.h"
#include "unit/mcp/rig.h"

TEST_WITH(silence_and_cancellation, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY "{\"on\":\"slow\"}]");
    struct rig_call c;
    rig_start(r, &c, &(struct mcp_request){.method = STR("slow"), .timeout_ms = 100});
    assert_true(rig_until(r, &c.is_done));
    assert_int_equal(c.err.code, -ETIMEDOUT);
    rig_call_done(&c);
    rig_hears(r, "notifications/cancelled");
    rig_hears(r, "\"reason\":\"timed out\"");
}

TEST_WITH(cancel_has_no_callback, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY RIG_RESULT("a", "{}") "]");
    struct rig_call c;
    rig_start(r, &c, &(struct mcp_request){.method = STR("a")});
    mcp_cancel(c.call, "changed my mind");
    rig_hears(r, "changed my mind");
    rig_run(r, 50);
    assert_false(c.is_done);
    rig_call_done(&c);
}

#define PROGRESS                                                                                   \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":"    \
    "\"$id\",\"progress\":1}}"

TEST_WITH(progress, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY "{\"on\":\"a\",\"send\":[" PROGRESS "," PROGRESS
                ",{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{}}," PROGRESS "]}]");
    struct rig_call c;
    rig_start(r, &c, &(struct mcp_request){.method = STR("a"), .wants_progress = true});
    assert_true(rig_until(r, &c.is_done));
    rig_run(r, 30);
    assert_text(buf_str(&c.progress), "{\"progress\":1}{\"progress\":1}");
    rig_call_done(&c);
}

TEST_WITH(hard_limit, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY "{\"on\":\"a\",\"send\":[" PROGRESS "]}]");
    struct rig_call c;
    uint64_t began = clock_mono_ms();
    rig_start(r, &c,
              &(struct mcp_request){
                  .method = STR("a"), .wants_progress = true, .timeout_ms = 600000, .max_ms = 150});
    assert_true(rig_until(r, &c.is_done));
    assert_int_equal(c.err.code, -ETIMEDOUT);
    assert_true(clock_mono_ms() - began < 300000);
    rig_call_done(&c);
}

TEST_WITH(too_many_at_once, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY "{\"on\":\"slow\"}]");
    enum { N = 4097 };
    struct rig_call *calls = xcalloc(N, sizeof(*calls));
    for (int i = 0; i < N; i++)
        rig_start(r, &calls[i], &(struct mcp_request){.method = STR("slow")});
    assert_true(rig_until(r, &calls[N - 1].is_done));
    assert_int_equal(calls[N - 1].err.code, -EBUSY);
    assert_false(calls[0].is_done);
    for (int i = 0; i < N - 1; i++)
        mcp_cancel(calls[i].call, NULL);
    for (int i = 0; i < N; i++)
        rig_call_done(&calls[i]);
    free(calls);
}

TEST_WITH(request_that_is_too_large, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_open(r, "[" RIG_LEGACY "{\"on\":\"x\"}]");
    size_t n = 33u << 20;
    char *text = xrealloc(NULL, n);
    memset(text, 'x', n);
    struct json_member m = {STR("big"), json_of_str((str){text, n})};
    struct json params = {.type = JSON_OBJECT, .len = 1, .members = &m};
    struct rig_call c;
    rig_start(r, &c, &(struct mcp_request){.method = STR("a"), .params = &params});
    assert_true(rig_until(r, &c.is_done));
    assert_int_equal(c.err.code, -EMSGSIZE);
    rig_call_done(&c);
    free(text);
}

int main(int argc, char **argv)
{
    RIG_SERVE(argc, argv);
    return run_unit_tests("tests", NULL);
}
