/* compose.c - what the model gets to see in a step: prompt, messages, tools. */
#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "runtime/prompt.h"
#include "runtime/turn.h"
#include "runtime/zone.h"
#include "tools/surface.h"

void turn_match_skill(struct turn *t)
{
    t->skills = t->rt->skills ? skills_ref(t->rt->skills) : NULL;
    if (t->skills)
        t->skill = skills_match(t->skills, &t->arena, t->message).skill;
}

/* ---- tools ---- */

static struct tool_limits limits(const struct turn *t)
{
    return (struct tool_limits){
        .request = t->allowed_tools,
        .is_admin = t->viewer.is_workspace_admin,
    };
}

static struct surface surface(const struct turn *t, struct arena *a)
{
    struct tool_limits lim = limits(t);
    struct surface_input in = {
        .tools = registry_tools(t->rt->deps.tools),
        .limits = &lim,
        .max_direct = (unsigned)t->rt->deps.config->limits.max_direct_tools,
    };
    if (t->skill)
        in.skill = t->skill->allowed_tools;
    return surface_compute(a, &in);
}

static const struct llm_tool *model_tools(struct arena *a, const struct surface *s)
{
    struct llm_tool *tools = arena_array(a, s->len, sizeof *tools);
    for (size_t i = 0; i < s->len; i++) {
        const struct tool *t = s->items[i]->tool;
        tools[i] = (struct llm_tool){s->items[i]->name, t->description, t->input_schema};
    }
    return tools;
}

bool turn_may_call(void *turn, str tool, str *ret_why)
{
    const struct turn *t = turn;
    struct tool_limits lim = limits(t);
    const struct toolset_item *item =
        registry_find(t->rt->deps.tools, tool, NULL, t->viewer.is_workspace_admin);
    if (!item || surface_may_call(&lim, item))
        return true; /* the registry explains unknown names better */
    *ret_why = STR("This tool is not allowed in this request.");
    return false;
}

/* ---- prompt ---- */

/* "Wednesday, 2026-03-25" where the user is. */
static str today(struct arena *a, str zone)
{
    int64_t now = clock_now_ms() / 1000;
    int32_t offset;
    char abbr[ZONE_ABBR_MAX], text[64];
    if (zone_offset(zone, now, &offset, abbr, NULL) < 0)
        offset = 0;
    time_t shifted = (time_t)(now + offset);
    struct tm tm;
    gmtime_r(&shifted, &tm);
    size_t n = strftime(text, sizeof text, "%A, %Y-%m-%d", &tm);
    return arena_str(a, str_make(text, n));
}

static struct prompt compose(const struct turn *t, struct arena *a, bool is_proxied)
{
    const struct config *c = t->rt->deps.config;
    struct prompt_input in = {
        .time_zone = c->time_zone,
        .date = today(a, c->time_zone),
        .is_proxied = is_proxied,
        .matched = t->skill,
        .user_name = json_get_string(c->home, "userName"),
    };
    if (t->skills)
        in.context = skills_context(t->skills, &in.n_context);
    return prompt_compose(a, &in);
}

#define LAST_STEP                                                                                  \
    STR("\n\nThis is the last step of this run: no further tool calls will be made. Answer with "  \
        "what you have.")

int turn_prepare(void *turn, struct arena *a, bool is_last, struct run_input *ret, struct err *e)
{
    const struct turn *t = turn;
    struct surface s = surface(t, a);
    struct prompt p = compose(t, a, s.is_proxied);
    ret->system_stable = p.stable;
    ret->system_volatile = is_last ? arena_concat(a, p.volatile_part, LAST_STEP) : p.volatile_part;
    ret->tools = model_tools(a, &s);
    ret->ntools = s.len;
    ret->thinking = arena_cstr(a, t->rt->deps.config->thinking);
    return context_messages(a, &t->transcript, t->model, &ret->messages, &ret->nmessages, e);
}
