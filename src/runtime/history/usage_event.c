#include "runtime/history/usage_event.h"

#include "base/json/json.h"
#include "bus/vocabulary.h"

str usage_event_with(struct arena *a, const char *source, str model, const struct conv_usage *u,
                     uint64_t ms, const char *const *keys, const str *values)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, 8192);
    jw_object(&w);
    jw_kstr(&w, "type", event_name(EV_AUX_USAGE));
    jw_kstr(&w, "source", str_from(source));
    for (size_t i = 0; keys && keys[i]; i++)
        jw_kstr(&w, keys[i], values[i]);
    jw_kstr(&w, "model", model);
    conv_usage_write(&w, u);
    jw_kint(&w, "llmMs", (int64_t)ms);
    jw_end(&w);
    return buf_keep(&b, a);
}

str usage_event(struct arena *a, const char *source, str model, const struct conv_usage *u,
                uint64_t ms)
{
    return usage_event_with(a, source, model, u, ms, NULL, NULL);
}
