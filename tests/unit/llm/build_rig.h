/* build_rig.h - builds request bodies of one API from short histories (history_rig.h). */
#pragma once

#include "llm/provider/provider.h"
#include "unit/llm/history_rig.h"

struct build_rig {
    struct arena a;
    struct buf body;
    struct provider provider;
    struct llm_request req;
    struct model_caps caps;
};

static inline struct build_rig *build_rig_new(const struct provider_type *type, const char *model)
{
    struct build_rig *b = xcalloc(1, sizeof *b);
    arena_init(&b->a);
    buf_init(&b->body, LLM_BODY_MAX);
    b->provider = (struct provider){.name = STR("p"), .type = type};
    b->req = (struct llm_request){.model = str_from(model), .max_tokens = 100};
    b->caps = (struct model_caps){.can_images = true, .can_tools = true};
    return b;
}

static inline int build_rig_free(void **state)
{
    struct build_rig *b = *state;
    buf_done(&b->body);
    arena_done(&b->a);
    free(b);
    return 0;
}

/* The body; it is the same when it is built again. */
static inline struct json *build_rig_run(struct build_rig *b, const char *history)
{
    struct json *v = NULL;
    struct err e = {0};
    struct buf again;
    b->req.messages = rig_history(&b->a, history, &b->req.nmessages);
    buf_clear(&b->body);
    buf_init(&again, LLM_BODY_MAX);
    if (b->provider.type->build(&b->provider, &b->caps, &b->req, &b->body, &e) < 0)
        fail_msg("%s", e.msg);
    assert_int_equal(b->provider.type->build(&b->provider, &b->caps, &b->req, &again, &e), 0);
    assert_string_equal(buf_cstr(&again), buf_cstr(&b->body));
    assert_int_equal(json_parse(&b->a, buf_str(&b->body), 0, &v, &e), 0);
    buf_done(&again);
    return v;
}

/* A message of a PDF and a text, from a model that takes PDFs or not. */
static inline const char *build_rig_document(struct build_rig *b, bool can_pdf)
{
    static const struct llm_block BLOCKS[] = {{.type = LLM_DOCUMENT,
                                               .mime = STR_INIT("application/pdf"),
                                               .data = STR_INIT("JVBERi0xLjc="),
                                               .name = STR_INIT("a.pdf"),
                                               .text = STR_INIT("its text")},
                                              {.type = LLM_TEXT, .text = STR_INIT("sum up")}};
    static const struct llm_message MESSAGE = {LLM_USER, BLOCKS, 2};
    struct err e = {0};
    b->caps.can_pdf = can_pdf;
    b->req.messages = &MESSAGE;
    b->req.nmessages = 1;
    buf_clear(&b->body);
    if (b->provider.type->build(&b->provider, &b->caps, &b->req, &b->body, &e) < 0)
        fail_msg("%s", e.msg);
    return buf_cstr(&b->body);
}

static inline void build_rig_expect(struct build_rig *b, const char *history, const char *member,
                                    const char *json)
{
    const struct json *v = json_get(build_rig_run(b, history), member);
    assert_string_equal(v ? arena_cstr(&b->a, json_to_str(&b->a, v)) : "(none)", json);
}
