#include "api/frames.h"
#include "base/json/json.h"
#include "support/unit.h"

static str find_name(void *ctx, str user_id)
{
    return str_eq(user_id, STR("usr_a")) ? STR("Ann") : STR_NONE;
}

static const struct frame_names NAMES = {find_name, NULL};

static str data_of(struct arena *a, const char *line, const struct frame_names *names, str *event)
{
    struct buf b;
    buf_init(&b, 4096);
    *event = frame_data(str_from(line), names, STR("conv_1"), &b);
    str out = arena_str(a, buf_str(&b));
    buf_done(&b);
    return out;
}

TEST(what_clients_see)
{
    static const struct {
        const char *line, *event, *data;
    } CASES[] = {
        {"{\"ts\":\"t\",\"type\":\"user.message\",\"userId\":\"usr_a\"}", "user.message",
         "{\"ts\":\"t\",\"userId\":\"usr_a\",\"displayName\":\"Ann\"}"},
        {"{\"type\":\"user.message\",\"userId\":\"usr_b\"}", "user.message",
         "{\"userId\":\"usr_b\"}"},
        {"{\"type\":\"llm.response\",\"runId\":\"r\"}", "llm.done", "{\"runId\":\"r\"}"},
        {"{\"type\":\"llm.response\",\"content\":[{\"type\":\"opaque\",\"provider\":\"p\","
         "\"block\":"
         "{\"summary\":[{\"text\":\"hm\"}],\"encrypted_content\":\"sealed\"}},{\"type\":\"opaque\","
         "\"block\":{\"thoughtSignature\":\"sealed\"}},{\"type\":\"text\",\"text\":\"x\"}],"
         "\"llmMs\":1}",
         "llm.done",
         "{\"content\":[{\"type\":\"reasoning\",\"text\":\"hm\"},{\"type\":\"text\",\"text\":\"x\"}"
         "],"
         "\"llmMs\":1}"},
        {"{\"type\":\"llm.response\",\"content\":\"x\"}", "llm.done", "{\"content\":\"x\"}"},
        {"{\"type\":\"tool.done\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}}",
         "tool.done",
         "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]},\"output\":\"x\"}"},
        {"{\"type\":\"tool.done\",\"id\":\"a/b\",\"result\":{\"content\":[{\"type\":\"image\","
         "\"mimeType\":\"image/png\",\"data\":\"AAAA\"}]}}",
         "tool.done",
         "{\"id\":\"a/b\",\"result\":{\"content\":[{\"type\":\"image\",\"mimeType\":\"image/png\","
         "\"data\":\"AAAA\"}]},\"output\":\"\",\"parts\":[{\"type\":\"image\",\"mimeType\":\"image/"
         "png\",\"bytes\":3,\"address\":\"/v1/conversations/conv_1/calls/a%2Fb/parts/0\"}]}"},
        {"{\"type\":\"tool.done\",\"id\":\"t\",\"result\":{\"$blob\":\"ab\",\"bytes\":70000,"
         "\"preview\":\"pre\"}}",
         "tool.done",
         "{\"id\":\"t\",\"result\":{\"$blob\":\"ab\",\"bytes\":70000,\"preview\":\"pre\"},"
         "\"output\":"
         "\"pre\",\"blob\":{\"sha256\":\"ab\",\"bytes\":70000,\"address\":\"/v1/conversations/"
         "conv_1/"
         "blobs/ab\"}}"},
        {"{\"type\":\"llm.request\"}", "", ""},
        {"{\"type\":\"aux.usage\"}", "", ""},
        {"not json", "", ""},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        str event, data = data_of(&a, CASES[i].line, &NAMES, &event);
        assert_true(str_eq(event, str_from(CASES[i].event)));
        if (event.n > 0)
            assert_true(str_eq(data, str_from(CASES[i].data)));
    }
    arena_done(&a);
}

/* One frame of each form, however many streams ask. */
TEST(a_message_is_formatted_once)
{
    struct bus_msg msg = {.type = STR("text.delta"), .data = STR("{\"text\":\"x\"}")};
    struct sse_frame *own = frame_of_msg(&msg, &NAMES, STR("conv_1"), FRAME_OWN);
    struct sse_frame *mixed = frame_of_msg(&msg, &NAMES, STR("conv_1"), FRAME_MIXED);
    assert_non_null(own);
    assert_ptr_not_equal(own, mixed);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(frame_of_msg(&msg, &NAMES, STR("conv_1"), FRAME_OWN), own);
        assert_ptr_equal(frame_of_msg(&msg, &NAMES, STR("conv_1"), FRAME_MIXED), mixed);
    }
    msg.shared_free(msg.shared);

    struct bus_msg hidden = {
        .type = STR("aux.usage"), .data = STR("{\"type\":\"aux.usage\"}"), .pos = 7};
    assert_null(frame_of_msg(&hidden, &NAMES, STR("conv_1"), FRAME_OWN));
    assert_null(frame_of_msg(&hidden, &NAMES, STR("conv_1"), FRAME_OWN));
    hidden.shared_free(hidden.shared);
}
