#include "cli/screen/footer.h"

#include "base/utf8.h"
#include "cli/term/text.h"

#define SKILL_BYTES 200

void footer_count(struct footer_sum *sum, const struct json *report)
{
    const struct json *usage = json_get(report, "usage");
    double cost = json_double(json_get(usage, "costUsd"), -1);
    int64_t ms = json_get_int(usage, "totalMs", -1);
    sum->in += json_get_int(report, "inputTokens", 0);
    sum->out += json_get_int(report, "outputTokens", 0);
    sum->cost = cost < 0 || sum->cost < 0 ? -1 : sum->cost + cost;
    sum->ms = ms < 0 || sum->ms < 0 ? -1 : sum->ms + ms;
}

static void add_skill(struct buf *out, const struct json *report)
{
    str skill = json_get_string(report, "skillName");
    if (skill.n == 0)
        return;
    buf_add_lit(out, " · skill ");
    text_add_line(out, utf8_truncate(skill, SKILL_BYTES));
}

void footer_add(struct buf *out, const struct footer_sum *sum, const struct json *report)
{
    buf_printf(out, "%lld in · %lld out", (long long)sum->in, (long long)sum->out);
    if (sum->cost > 0) /* neither unknown nor free */
        buf_printf(out, sum->cost < 0.01 ? " · $%.4f" : " · $%.2f", sum->cost);
    if (sum->ms >= 0)
        buf_printf(out, " · %.1f s", (double)sum->ms / 1000);
    add_skill(out, report);
}

const char *footer_stop_words(str stop_reason)
{
    static const struct {
        const char *reason, *words;
    } WORDS[] = {
        {"max_iterations", "stopped: the limit of steps was reached (maxIterations)"},
        {"token_budget", "stopped: the token budget of this run is used up (maxInputTokens)"},
        {"length", "the answer was cut off at its length limit (maxOutputTokens)"},
        {"refusal", "the model declined to answer"},
        {"cancelled", "stopped"},
    };
    for (size_t i = 0; i < ARRAY_LEN(WORDS); i++)
        if (str_eq(stop_reason, str_from(WORDS[i].reason)))
            return WORDS[i].words;
    return NULL;
}
