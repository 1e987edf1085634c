/* settings.c - applies changed settings to a running workspace. */
#include <errno.h>

#include "runtime/turn/turn.h"

static void keep_setting(struct runtime *rt, str *place, str now)
{
    if (!str_eq(*place, now))
        *place = arena_str(&rt->arena, now);
}

int runtime_use_settings(struct runtime *rt, const struct runtime_settings *s, struct err *e)
{
    struct agents agents;
    if (rt->nsettings++ >= RUNTIME_SETTINGS_MAX)
        return err_set(e, -ENOSPC,
                       "the settings have changed %d times; this change takes effect at the next "
                       "start",
                       RUNTIME_SETTINGS_MAX);
    const struct json *profiles = s->agents ? json_clone(&rt->arena, s->agents) : NULL;
    int r = agents_decode(&rt->arena, profiles, &agents, e); /* borrows their names */
    if (r == 0)
        r = rules_use(rt, s->permissions, e);
    if (r < 0)
        return r;
    rt->agents = agents;
    keep_setting(rt, &rt->deps.default_model, s->default_model);
    keep_setting(rt, &rt->deps.identity, s->identity);
    keep_setting(rt, &rt->deps.workspace_name, s->workspace_name);
    return 0;
}
