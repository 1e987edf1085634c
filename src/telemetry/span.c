#include "telemetry/span.h"

#include <assert.h>

#include "base/utf8.h"
#include "telemetry/model_name.h"
#include "telemetry/otlp.h"

#define ESCAPED_MAX 6    /* bytes of JSON for a byte of text */
#define WRITTEN_MAX 3    /* a text is up to two attributes, and may be in the name of the span */
#define FIXED_MAX   4096 /* keys, ids, times, numbers and brackets */

/* ---- packed ---- */

/* The texts follow, without anything between them. */
struct span_record {
    double cost_usd;
    int64_t start_ms, end_ms;
    int64_t input_tokens, output_tokens, cache_read_tokens;
    uint8_t trace[16], id[8], parent[8];
    uint16_t lengths[SPAN_TEXTS];
    uint8_t type;
    bool has_parent, has_cost;
};
static_assert(OTLP_TEXT_MAX <= UINT16_MAX, "a length fits its field");

static size_t text_bytes(const struct trace_span *s)
{
    size_t n = 0;
    for (size_t i = 0; i < SPAN_TEXTS; i++)
        n += s->texts[i].n < OTLP_TEXT_MAX ? s->texts[i].n : OTLP_TEXT_MAX;
    return n;
}

size_t span_size(const struct trace_span *s)
{
    return sizeof(struct span_record) + text_bytes(s);
}

size_t span_json_max(const struct trace_span *s)
{
    return FIXED_MAX + WRITTEN_MAX * ESCAPED_MAX * text_bytes(s);
}

/* Bytes behind each other are not aligned for a struct: it is copied in and out. */
void span_pack(struct buf *out, const struct trace_span *s)
{
    struct span_record r = {.cost_usd = s->cost_usd,
                            .start_ms = s->start_ms,
                            .end_ms = s->end_ms,
                            .input_tokens = s->input_tokens,
                            .output_tokens = s->output_tokens,
                            .cache_read_tokens = s->cache_read_tokens,
                            .type = (uint8_t)s->type,
                            .has_parent = s->has_parent,
                            .has_cost = s->has_cost};
    memcpy(r.trace, s->trace, sizeof r.trace);
    memcpy(r.id, s->id, sizeof r.id);
    memcpy(r.parent, s->parent, sizeof r.parent);
    if (buf_reserve(out, span_size(s)) < 0)
        return;
    char *at = out->p + out->n + sizeof r;
    for (size_t i = 0; i < SPAN_TEXTS; i++) {
        str text = s->texts[i];
        if (text.n > OTLP_TEXT_MAX)
            text = utf8_truncate(text, OTLP_TEXT_MAX);
        r.lengths[i] = (uint16_t)text.n;
        if (text.n > 0)
            at = mempcpy(at, text.p, text.n);
    }
    memcpy(out->p + out->n, &r, sizeof r);
    out->n = (size_t)(at - out->p);
}

bool span_unpack(str *rest, struct trace_span *ret)
{
    struct span_record r;
    if (rest->n < sizeof r)
        return false;
    memcpy(&r, rest->p, sizeof r);
    *rest = str_skip(*rest, sizeof r);
    *ret = (struct trace_span){.type = r.type,
                               .has_parent = r.has_parent,
                               .has_cost = r.has_cost,
                               .start_ms = r.start_ms,
                               .end_ms = r.end_ms,
                               .input_tokens = r.input_tokens,
                               .output_tokens = r.output_tokens,
                               .cache_read_tokens = r.cache_read_tokens,
                               .cost_usd = r.cost_usd};
    memcpy(ret->trace, r.trace, sizeof r.trace);
    memcpy(ret->id, r.id, sizeof r.id);
    memcpy(ret->parent, r.parent, sizeof r.parent);
    for (size_t i = 0; i < SPAN_TEXTS; i++) {
        assert(r.lengths[i] <= rest->n);
        ret->texts[i] = str_make(rest->p, r.lengths[i]);
        *rest = str_skip(*rest, r.lengths[i]);
    }
    return true;
}

/* ---- JSON ---- */

static struct otlp_attribute text_attribute(const char *key, str text)
{
    return (struct otlp_attribute){.key = key, .text = text};
}

static struct otlp_attribute number_attribute(const char *key, int64_t n)
{
    return (struct otlp_attribute){.key = key, .number = n, .is_number = true};
}

static str name_of(char out[OTLP_TEXT_MAX], str verb, str subject)
{
    subject = utf8_truncate(subject, OTLP_TEXT_MAX - verb.n - 1);
    char *at = mempcpy(out, verb.p, verb.n);
    *at++ = ' ';
    if (subject.n > 0)
        memcpy(at, subject.p, subject.n);
    return str_make(out, verb.n + 1 + subject.n);
}

/* `as`: name (a verb, which its subject follows), kind and attributes. */
static void write_as(struct json_writer *w, const struct trace_span *s, str subject,
                     const struct otlp_span *as)
{
    char name[OTLP_TEXT_MAX];
    struct otlp_span o = *as;
    o.name = name_of(name, as->name, subject);
    memcpy(o.trace, s->trace, sizeof o.trace);
    memcpy(o.id, s->id, sizeof o.id);
    memcpy(o.parent, s->parent, sizeof o.parent);
    o.has_parent = s->has_parent;
    o.start_ms = s->start_ms;
    o.end_ms = s->end_ms;
    o.is_error = s->texts[SPAN_ERROR].n > 0;
    otlp_write_span(w, &o);
}

static void write_run(struct json_writer *w, const struct trace_span *s)
{
    const struct otlp_attribute attributes[] = {
        text_attribute("gen_ai.operation.name", STR("invoke_agent")),
        text_attribute("gen_ai.agent.name", STR("nb")),
        text_attribute("gen_ai.provider.name", model_provider(s->texts[SPAN_MODEL_ASKED])),
        text_attribute("gen_ai.request.model", model_bare(s->texts[SPAN_MODEL_ASKED])),
        text_attribute("gen_ai.conversation.id", s->texts[SPAN_CONVERSATION]),
        number_attribute("gen_ai.usage.input_tokens", s->input_tokens),
        number_attribute("gen_ai.usage.output_tokens", s->output_tokens),
        text_attribute("nb.workspace.id", s->texts[SPAN_WORKSPACE]),
        text_attribute("nb.stop_reason", s->texts[SPAN_REASON]),
        text_attribute("error.type", s->texts[SPAN_ERROR]),
    };
    write_as(w, s, STR("nb"),
             &(struct otlp_span){.name = STR("invoke_agent"),
                                 .kind = OTLP_INTERNAL,
                                 .attributes = attributes,
                                 .nattributes = ARRAY_LEN(attributes)});
}

static void write_model_call(struct json_writer *w, const struct trace_span *s)
{
    str asked = s->texts[SPAN_MODEL_ASKED], used = s->texts[SPAN_MODEL_USED];
    const struct otlp_attribute attributes[] = {
        text_attribute("gen_ai.operation.name", STR("chat")),
        text_attribute("gen_ai.provider.name", model_provider(asked)),
        text_attribute("gen_ai.request.model", model_bare(asked)),
        text_attribute("gen_ai.response.model", model_bare(used.n > 0 ? used : asked)),
        text_attribute("gen_ai.conversation.id", s->texts[SPAN_CONVERSATION]),
        number_attribute("gen_ai.usage.input_tokens", s->input_tokens),
        number_attribute("gen_ai.usage.output_tokens", s->output_tokens),
        number_attribute("gen_ai.usage.cache_read.input_tokens", s->cache_read_tokens),
        {.key = "gen_ai.response.finish_reasons", .text = s->texts[SPAN_REASON], .is_list = true},
        {.key = "nb.cost_usd", .is_real = s->has_cost, .real = s->cost_usd},
    };
    write_as(w, s, model_bare(asked),
             &(struct otlp_span){.name = STR("chat"),
                                 .kind = OTLP_CLIENT,
                                 .attributes = attributes,
                                 .nattributes = ARRAY_LEN(attributes)});
}

static void write_tool_call(struct json_writer *w, const struct trace_span *s)
{
    const struct otlp_attribute attributes[] = {
        text_attribute("gen_ai.operation.name", STR("execute_tool")),
        text_attribute("gen_ai.tool.name", s->texts[SPAN_TOOL_NAME]),
        text_attribute("gen_ai.tool.call.id", s->texts[SPAN_CALL_ID]),
        text_attribute("gen_ai.tool.type", STR("function")),
        text_attribute("gen_ai.conversation.id", s->texts[SPAN_CONVERSATION]),
        text_attribute("error.type", s->texts[SPAN_ERROR]),
    };
    write_as(w, s, s->texts[SPAN_TOOL_NAME],
             &(struct otlp_span){.name = STR("execute_tool"),
                                 .kind = OTLP_INTERNAL,
                                 .attributes = attributes,
                                 .nattributes = ARRAY_LEN(attributes)});
}

void span_write(struct json_writer *w, const struct trace_span *s)
{
    static void (*const WRITERS[])(struct json_writer *, const struct trace_span *) = {
        [SPAN_RUN] = write_run, [SPAN_MODEL] = write_model_call, [SPAN_TOOL] = write_tool_call};
    WRITERS[s->type](w, s);
}
