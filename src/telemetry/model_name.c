#include "telemetry/model_name.h"

str model_provider(str model)
{
    static const struct {
        const char *nb, *name;
    } NAMES[] = {{"google", "gcp.gemini"},
                 {"gemini", "gcp.gemini"},
                 {"bedrock", "aws.bedrock"},
                 {"mistral", "mistral_ai"},
                 {"xai", "x_ai"}};
    str rest = model, provider;
    if (str_find_char(model, ':') < 0)
        return STR("nb");
    (void)str_split(&rest, ':', &provider);
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
        if (str_eq(provider, str_from(NAMES[i].nb)))
            return str_from(NAMES[i].name);
    return provider;
}

str model_bare(str model)
{
    ptrdiff_t at = str_find_char(model, ':');
    return at < 0 ? model : str_skip(model, (size_t)at + 1);
}
