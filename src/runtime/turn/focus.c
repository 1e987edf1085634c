/* focus.c - the app that a person has open: its tools are listed, its state is part of the prompt.
 *
 * The state of an app is third-party text. It is bounded here, and the prompt
 * shows it only when the app is trusted enough (PROMPT_TRUST_MIN). */
#include "runtime/turn/focus.h"

#include "bundle/bundle.h"
#include "runtime/turn/turn.h"

#define STATE_MAX   ((size_t)4 * PROMPT_STATE_TOKENS_MAX)
#define SUMMARY_MAX 4096u

/* A state that is too long is left out: truncated JSON is useless. */
static void keep_state(struct arena *a, struct json *app, const struct json *app_state)
{
    const struct json *state = json_get(app_state, "state");
    str summary = json_get_string(app_state, "summary");
    str text = state ? json_to_str(a, state) : STR_NONE;
    if (text.n > 0 && text.n <= STATE_MAX)
        json_set(a, app, STR("state"), json_of_str(text));
    if (summary.n > 0 && summary.n <= SUMMARY_MAX)
        json_set(a, app, STR("summary"), json_of_str(arena_str(a, summary)));
}

static const struct json *copy_app(struct arena *a, const struct json *app_context)
{
    str name = json_get_string(app_context, "serverName");
    if (name.n == 0)
        name = json_get_string(app_context, "appName");
    if (name.n == 0 || name.n > TOOL_NAME_MAX)
        return NULL;
    struct json *app = json_new(a, JSON_OBJECT);
    json_set(a, app, STR("name"), json_of_str(arena_str(a, name)));
    keep_state(a, app, json_get(app_context, "appState"));
    return app;
}

void turn_focus(struct message *m, const struct json *app_context)
{
    if (app_context)
        m->app = copy_app(&m->arena, app_context);
}

bool focus_of(const struct turn *t, struct prompt_focus *ret)
{
    str name = json_get_string(t->app, "name");
    struct bundle *b = t->rt->bundles && name.n > 0 ? bundles_find(t->rt->bundles, name) : NULL;
    if (!b || !tool_selection_may_use_source(t->actor, name))
        return false;
    str state = json_get_string(t->app, "state"), summary = json_get_string(t->app, "summary");
    *ret = (struct prompt_focus){
        .app = name,
        .trust_score = (int)bundle_info(b)->trust_score,
        .state = state.n > 0 ? state : summary,
        .summary = summary,
        .guide = json_get_string(t->app, "guide"),
    };
    return true;
}
