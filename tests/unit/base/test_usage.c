#include "base/json/usage.h"
#include "support/unit.h"

TEST(every_figure_is_added_and_written)
{
    struct conv_usage sum = {1, 2, 3, 4, 5}, more = {10, 20, 30, 40, 50};
    struct buf b;
    struct json_writer w;
    conv_usage_add(&sum, &more);
    jw_start(&w, &b, 1000);
    jw_object(&w);
    conv_usage_write(&w, &sum);
    jw_end(&w);
    assert_string_equal(buf_cstr(&b),
                        "{\"inputTokens\":11,\"outputTokens\":22,\"cacheReadTokens\":33,"
                        "\"cacheWrite5mTokens\":44,\"cacheWrite1hTokens\":55}");
    buf_done(&b);
}
