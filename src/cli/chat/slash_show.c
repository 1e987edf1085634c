/* Slash commands that show what the agent has and uses: models, tools, skills, context, cost. */
#include "base/clock.h"
#include "cli/chat/project.h"
#include "cli/chat/slash.h"
#include "cli/term/styled.h"

#define USAGE_DAYS 30
#define DAY_MS     (24 * 3600 * 1000LL)

static bool list_has(const struct json *list, size_t i)
{
    return json_is(list, JSON_ARRAY) && i < list->len;
}

static bool has_word(str word, str a, str b)
{
    return word.n == 0 || str_find_nocase(a, word) >= 0 || str_find_nocase(b, word) >= 0;
}

/* Rows of a list: two members of each item that has the word in one of them. */
static void show_list(struct slash *s, str path, const char *list_key, const char *left,
                      const char *right, str word, const char *empty)
{
    struct rows r;
    const struct json *answer = slash_ask(s, NULL, path, NULL);
    const struct json *list = json_get(answer, list_key);
    if (!answer)
        return;
    rows_init(&r);
    for (size_t i = 0; list_has(list, i); i++) {
        str a = json_get_string(json_at(list, i), left),
            b = json_get_string(json_at(list, i), right);
        if (has_word(word, a, b))
            rows_add(&r, a, b);
    }
    slash_show(s, &r, empty);
}

void slash_tools(struct slash *s, str arg)
{
    show_list(s, STR("/v1/tools"), "tools", "name", "description", arg, "no tool has that word");
}

void slash_skills(struct slash *s, str arg)
{
    show_list(s, STR("/v1/skills"), "skills", "name", "description", arg, "no skill has that word");
}

void slash_files(struct slash *s, str arg)
{
    show_list(s, STR("/v1/files"), "files", "name", "id", arg, "no files yet; @PATH attaches one");
}

void slash_bundles(struct slash *s, str arg)
{
    struct rows r;
    const struct json *answer = slash_ask(s, NULL, STR("/v1/apps"), NULL);
    const struct json *list = json_get(answer, "apps");
    if (!answer)
        return;
    rows_init(&r);
    for (size_t i = 0; list_has(list, i); i++) {
        const struct json *b = json_at(list, i);
        str why = json_get_string(b, "reason");
        long long n = json_get_int(b, "toolCount", 0);
        str words = arena_printf(&s->arena, "%.*s, %lld tool%s%s%.*s",
                                 STR_ARG(json_get_string(b, "status")), n, n == 1 ? "" : "s",
                                 why.n > 0 ? ": " : "", STR_ARG(why));
        rows_add(&r, json_get_string(b, "name"), words);
    }
    slash_show(s, &r, "no bundles; nb bundle add NAME adds one");
}

/* The names of a list in one line. */
static str names_of(struct slash *s, const struct json *list, const char *key, const char *value)
{
    struct buf b;
    buf_init(&b, ROWS_OUT_MAX);
    for (size_t i = 0; list_has(list, i); i++) {
        const struct json *item = json_at(list, i);
        str name = json_string(item, json_get_string(item, "name"));
        name = name.n > 0 ? name : json_get_string(item, "tool");
        if (key && !str_eq(json_get_string(item, key), str_from(value)))
            continue;
        buf_printf(&b, "%s%.*s", b.n > 0 ? ", " : "", STR_ARG(name));
    }
    return b.n > 0 ? buf_keep(&b, &s->arena) : STR("none");
}

void slash_permissions(struct slash *s, str arg)
{
    struct rows r;
    const struct json *p = slash_ask(s, NULL, STR("/v1/permissions"), NULL);
    const struct json *tools = json_get(p, "tools");
    if (!p)
        return;
    rows_init(&r);
    rows_title(&r, STR("Tools"));
    rows_add(&r, STR("ask first"), names_of(s, tools, "decision", "ask"));
    rows_add(&r, STR("refused"), names_of(s, tools, "decision", "deny"));
    rows_add(&r, STR("run"), names_of(s, tools, "decision", "allow"));
    rows_title(&r, STR("Given"));
    rows_add(&r, STR("always, by you"), names_of(s, json_get(p, "consents"), NULL, NULL));
    rows_add(&r, STR("for the workspace"),
             names_of(s, json_get(p, "workspaceConsents"), NULL, NULL));
    slash_show(s, &r, NULL);
}

/* ---- the model ---- */

static const struct json *ask_models(struct slash *s)
{
    const struct json *answer = slash_ask(s, NULL, STR("/v1/models"), NULL);
    return json_get(answer, "models");
}

/* The only model with that text in its name; what has a colon is taken as it is. */
static str choose_model(struct slash *s, str typed)
{
    str found = STR_NONE;
    size_t count = 0;
    const struct json *models = ask_models(s);
    for (size_t i = 0; list_has(models, i); i++) {
        str name = json_get_string(json_at(models, i), "name");
        if (str_eq(name, typed))
            return name;
        if (str_find_nocase(name, typed) < 0)
            continue;
        found = name;
        count++;
    }
    if (count == 1)
        return found;
    if (str_find_char(typed, ':') > 0)
        return typed;
    if (count == 0)
        view_say(s->view, STYLE_RED, "no model has '%.*s' in its name; /model lists all",
                 STR_ARG(typed));
    else
        view_say(s->view, STYLE_RED, "%zu models have '%.*s' in their names; /model lists all",
                 count, STR_ARG(typed));
    return STR_NONE;
}

static str pick_model(struct slash *s)
{
    struct picker p;
    str name = STR_NONE;
    const struct json *models = ask_models(s);
    picker_init(&p, "Use a model");
    for (size_t i = 0; list_has(models, i); i++) {
        const struct json *m = json_at(models, i);
        bool is_current = str_eq(json_get_string(m, "name"), session_model(s->chat->session));
        picker_add(&p, json_get_string(m, "name"), json_get_string(m, "name"),
                   is_current ? STR("answers now") : STR_NONE);
    }
    if (s->choose(s->choose_ctx, &p))
        name = arena_str(&s->arena, picker_value(&p));
    picker_done(&p);
    return name;
}

void slash_model(struct slash *s, str arg)
{
    str name = arg.n > 0 ? choose_model(s, arg) : pick_model(s);
    if (name.n > 0)
        session_set_model(s->chat->session, name);
    if (name.n > 0 || arg.n == 0)
        view_say(s->view, 0, "%.*s", STR_ARG(session_model(s->chat->session)));
}

/* ---- what a message would send ---- */

static const struct json *ask_preview(struct slash *s, str text)
{
    struct json *body = json_new(&s->arena, JSON_OBJECT);
    str id = session_conversation(s->chat->session), model = session_model(s->chat->session);
    json_set(&s->arena, body, STR("message"), json_of_str(text));
    if (id.n > 0)
        json_set(&s->arena, body, STR("conversationId"), json_of_str(id));
    if (model.n > 0)
        json_set(&s->arena, body, STR("model"), json_of_str(model));
    session_add_directory(&s->arena, s->chat->config, body);
    return slash_ask(s, "POST", STR("/v1/prompt"), body);
}

void slash_prompt(struct slash *s, str arg)
{
    const struct json *p = ask_preview(s, arg.n > 0 ? arg : STR("hello"));
    const struct json *layers = json_get(p, "layers");
    for (size_t i = 0; list_has(layers, i); i++) {
        const struct json *l = json_at(layers, i);
        view_say(s->view, STYLE_BOLD, "%.*s, by %.*s (about %lld tokens)",
                 STR_ARG(json_get_string(l, "name")), STR_ARG(json_get_string(l, "author")),
                 (long long)json_get_int(l, "tokens", 0));
        view_foreign(s->view, json_get_string(l, "text"));
    }
}

static int64_t context_limit(struct slash *s, str model)
{
    const struct json *models = ask_models(s);
    for (size_t i = 0; list_has(models, i); i++)
        if (str_eq(json_get_string(json_at(models, i), "name"), model))
            return json_get_int(json_at(models, i), "contextTokens", 0);
    return 0;
}

/* The files of the project, and whether they go with the conversation. */
static void add_project(struct slash *s, struct rows *r)
{
    struct project p;
    str why, here = session_directory(s->chat->session, &why);
    bool is_off = project_is_off(s->chat->cli, s->chat->config, s->chat->session);
    if (here.n == 0)
        return;
    project_find(&s->arena, arena_cstr(&s->arena, here), &p);
    for (size_t i = 0; i < p.n; i++)
        rows_say(r, "project", "%s, %lld bytes%s", p.files[i].path, (long long)p.files[i].bytes,
                 is_off                    ? "; turned off"
                 : p.files[i].is_too_large ? "; too large, not read"
                                           : "; with the first message of a conversation");
}

void slash_context(struct slash *s, str arg)
{
    struct rows r;
    const struct json *p = ask_preview(s, STR("hello")), *tokens = json_get(p, "tokens");
    const struct json *layers = json_get(p, "layers");
    if (!p)
        return;
    long long total = json_get_int(tokens, "total", 0);
    long long limit = context_limit(s, json_get_string(p, "model"));
    rows_init(&r);
    rows_add(&r, STR("model"), json_get_string(p, "model"));
    if (limit > 0)
        rows_say(&r, "used", "about %lld of %lld tokens (%lld%%)", total, limit,
                 total * 100 / limit);
    else
        rows_say(&r, "used", "about %lld tokens", total);
    rows_say(&r, "messages", "%lld, about %lld tokens%s", (long long)json_get_int(p, "messages", 0),
             (long long)json_get_int(tokens, "messages", 0),
             json_get_bool(p, "isCompactionDue", false) ? "; the older ones are summarised next"
                                                        : "");
    rows_say(&r, "tools", "%u shown, %lld hidden, about %lld tokens",
             json_get(p, "tools") ? json_get(p, "tools")->len : 0,
             (long long)json_get_int(p, "hiddenTools", 0),
             (long long)json_get_int(tokens, "tools", 0));
    for (size_t i = 0; list_has(layers, i); i++) {
        const struct json *l = json_at(layers, i);
        str left = arena_printf(&s->arena, "%.*s", STR_ARG(json_get_string(l, "name")));
        rows_add(&r, left,
                 arena_printf(&s->arena, "about %lld tokens, by %.*s",
                              (long long)json_get_int(l, "tokens", 0),
                              STR_ARG(json_get_string(l, "author"))));
    }
    add_project(s, &r);
    slash_show(s, &r, NULL);
}

/* ---- cost ---- */

static str cost_of(struct slash *s, const struct json *value)
{
    double usd = json_double(value, -1);
    return usd < 0 ? STR("not known")
                   : arena_printf(&s->arena, usd < 0.01 ? "$%.4f" : "$%.2f", usd);
}

void slash_cost(struct slash *s, str arg)
{
    struct rows r;
    str path = slash_path(s, "");
    const struct json *c = path.n > 0 ? slash_ask(s, NULL, path, NULL) : NULL;
    if (!c)
        return;
    rows_init(&r);
    rows_add(&r, STR("cost"), cost_of(s, json_get(c, "totalCostUsd")));
    rows_say(&r, "tokens", "%lld in, %lld out", (long long)json_get_int(c, "totalInputTokens", 0),
             (long long)json_get_int(c, "totalOutputTokens", 0));
    rows_say(&r, "messages", "%lld", (long long)json_get_int(c, "messageCount", 0));
    slash_show(s, &r, NULL);
}

void slash_usage(struct slash *s, str arg)
{
    struct rows r;
    char since[CLOCK_ISO_LEN + 1];
    clock_iso(clock_now_ms() / DAY_MS * DAY_MS - (USAGE_DAYS - 1) * DAY_MS, since);
    str path = arena_printf(&s->arena, "/v1/usage?groupBy=model&from=%s", since);
    const struct json *u = slash_ask(s, NULL, path, NULL), *list = json_get(u, "rows");
    if (!u)
        return;
    rows_init(&r);
    for (size_t i = 0; list_has(list, i); i++) {
        const struct json *m = json_at(list, i);
        str cost = cost_of(s, json_get(m, "costUsd"));
        rows_add(&r, json_get_string(m, "model"),
                 arena_printf(&s->arena, "%lld calls, %lld tokens in, %lld out, %.*s",
                              (long long)json_get_int(m, "calls", 0),
                              (long long)json_get_int(m, "inputTokens", 0),
                              (long long)json_get_int(m, "outputTokens", 0), STR_ARG(cost)));
    }
    slash_show(s, &r, "no model was called in the last 30 days");
}
