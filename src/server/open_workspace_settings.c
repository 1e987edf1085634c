/* open_workspace_settings.c - the settings of a workspace: its own override the server's. Changes
 * of the file take effect while the workspace is open. */
#include <assert.h>

#include "base/clock.h"
#include "bundle/settings/settings.h"
#include "bus/vocabulary.h"
#include "server/open_workspace.h"
#include "workspace/roster/directory.h"

enum { NEWS_MAX = 64 * 1024 };

/* ---- at the start ---- */

/* The server's built-in default model is a fallback, not a choice. */
static void use_models(struct open_workspace *sp, const struct json *own)
{
    const struct config_models *base = &sp->env->config->models;
    struct config_models *m = &sp->config.models;
    const struct {
        const char *key;
        str *to, otherwise;
    } MODELS[] = {{"default", &m->default_model, STR_NONE},
                  {"fast", &m->fast, base->fast},
                  {"reasoning", &m->reasoning, base->reasoning}};
    for (size_t i = 0; i < ARRAY_LEN(MODELS); i++) {
        str name = json_get_string(own, MODELS[i].key);
        if (name.n == 0)
            *MODELS[i].to = MODELS[i].otherwise;
        else if (!str_eq(name, *MODELS[i].to))
            *MODELS[i].to = arena_str(&sp->arena, name);
    }
}

/* After the server's directories; relative ones are in the workspace. */
static void use_skill_dirs(struct open_workspace *sp, const struct json *list)
{
    const struct json_strs *shared = &sp->env->config->skill_dirs;
    size_t n = list && list->type == JSON_ARRAY ? list->len : 0;
    struct json_strs all = {arena_array(&sp->arena, shared->len + n + 1, sizeof(str)), 0};
    for (size_t i = 0; i < shared->len; i++)
        all.items[all.len++] = shared->items[i];
    for (size_t i = 0; i < n; i++) {
        str given = json_string(json_at(list, i), STR_NONE);
        bool is_absolute = str_starts(given, STR("/"));
        if (given.n > 0)
            all.items[all.len++] =
                is_absolute ? arena_str(&sp->arena, given)
                            : arena_printf(&sp->arena, "%s/%.*s", sp->api.root, STR_ARG(given));
    }
    sp->config.skill_dirs = all;
}

/* The file is newer than the roster if other servers have changed it. */
static struct workspace settings_now(struct open_workspace *sp, struct arena *a,
                                     const struct workspace *known)
{
    struct workspace w = *known;
    struct json *doc;
    if (!sp->mirror || settings_load(a, open_workspace_settings_path(sp), &doc, NULL) < 0)
        return w;
    w.models = json_get(doc, "models");
    w.skill_dirs = json_get(doc, "skillDirs");
    w.agents = json_get(doc, "agents");
    w.permissions = json_get(doc, "permissions");
    w.identity = json_get(doc, "identity");
    return w;
}

/* The roster may be replaced at any time, so everything is copied. */
void open_workspace_settings_use(struct open_workspace *sp)
{
    struct config *c = &sp->config;
    struct arena a;
    const struct workspace *known =
        roster_workspace(directory_roster(sp->env->directory), sp->api.id);
    if (!sp->env->has_many || !known)
        return;
    arena_init(&a);
    const struct workspace w = settings_now(sp, &a, known);
    use_models(sp, w.models);
    use_skill_dirs(sp, w.skill_dirs);
    if (w.agents)
        c->agents = json_clone(&sp->arena, w.agents);
    if (w.permissions)
        c->permissions = json_clone(&sp->arena, w.permissions);
    sp->name = arena_str(&sp->arena, w.name);
    sp->identity = arena_str(&sp->arena, json_string(w.identity, STR_NONE));
    arena_done(&a);
}

/* ---- notifying watchers ---- */

/* Changes of members are announced separately, by name (member.*). */
static bool is_setting(str key)
{
    static const char *const OTHERS[] = {"id", "members", "createdAt", "updatedAt"};
    return STR_INDEX(key, OTHERS) < 0;
}

/* The members of `doc` that differ in `other`; is_gone: only those that `other` does not have. */
static size_t write_fields(struct json_writer *w, const struct json *doc, const struct json *other,
                           bool is_gone)
{
    size_t n = 0;
    for (size_t i = 0; json_is(doc, JSON_OBJECT) && i < doc->len; i++) {
        const struct json_member *m = &doc->members[i];
        const struct json *there = json_get_str(other, m->key);
        bool differs = is_gone ? !there : !there || !json_equal(there, &m->value);
        if (!differs || !is_setting(m->key))
            continue;
        jw_str(w, m->key);
        n++;
    }
    return n;
}

/* Only names, because values may be secrets. */
static void workspace_settings_tell(struct open_workspace *sp, const struct json *doc)
{
    struct json_writer w;
    struct buf data;
    jw_start(&w, &data, NEWS_MAX);
    jw_object(&w);
    jw_karray(&w, "fields");
    size_t n = write_fields(&w, doc, sp->doc, false) + write_fields(&w, sp->doc, doc, true);
    jw_end(&w);
    jw_kint(&w, "timestamp", clock_now_ms());
    jw_end(&w);
    if (n > 0 && !buf_failed(&data))
        runtime_tell(sp->api.runtime, EV_CONFIG_CHANGED, buf_str(&data));
    buf_done(&data);
}

static void workspace_settings_remember(struct open_workspace *sp, const struct json *doc)
{
    arena_done(&sp->doc_arena);
    arena_init(&sp->doc_arena);
    sp->doc = json_clone(&sp->doc_arena, doc);
}

/* ---- following changes ---- */

static const struct json *either(const struct json *own, const struct json *otherwise)
{
    return own ? own : otherwise;
}

static struct runtime_settings read_settings(struct open_workspace *sp, const struct json *doc)
{
    const struct runtime_deps *now = runtime_deps(sp->api.runtime);
    const struct config *base = sp->env->config;
    if (!sp->env->has_many)
        return (struct runtime_settings){
            .default_model = now->default_model,
            .identity = now->identity,
            .workspace_name = now->workspace_name,
            .agents = json_get(doc, "agents"),
            .permissions = json_get(doc, "permissions"),
        };
    return (struct runtime_settings){
        .default_model = json_get_string(json_get(doc, "models"), "default"),
        .identity = json_get_string(doc, "identity"),
        .workspace_name = json_get_string(doc, "name"),
        .agents = either(json_get(doc, "agents"), base->agents),
        .permissions = either(json_get(doc, "permissions"), base->permissions),
    };
}

static bool has_changed(const struct open_workspace *sp, const struct json *doc, const char *key)
{
    const struct json *now = json_get(doc, key), *old = json_get(sp->doc, key);
    return now && old ? !json_equal(now, old) : now != old;
}

/* Values in use stay in memory; unchanged settings are not applied again. */
static bool concerns_runtime(const struct open_workspace *sp, const struct json *doc)
{
    static const char *const KEYS[] = {"name", "identity", "models", "agents", "permissions"};
    for (size_t i = 0; i < ARRAY_LEN(KEYS); i++)
        if (has_changed(sp, doc, KEYS[i]))
            return true;
    return false;
}

static void follow_skill_dirs(struct open_workspace *sp, const struct json *doc)
{
    if (!has_changed(sp, doc, "skillDirs"))
        return;
    use_skill_dirs(sp, json_get(doc, "skillDirs"));
    runtime_use_skill_dirs(sp->api.runtime);
}

void open_workspace_settings_changed(struct open_workspace *sp, const struct json *doc)
{
    struct err e = {0};
    assert(sp->doc);              /* open_workspace_settings_open has read it */
    if (json_equal(doc, sp->doc)) /* a person asked to read the file again */
        return;
    struct runtime_settings s = read_settings(sp, doc);
    if (concerns_runtime(sp, doc) && runtime_use_settings(sp->api.runtime, &s, &e) < 0) {
        log_warn(sp->env->log, "server", "%s: the settings stay as they were: %s",
                 open_workspace_settings_path(sp), e.msg);
    } else if (sp->env->has_many) {
        use_models(sp, json_get(doc, "models"));
        follow_skill_dirs(sp, doc);
    } else {
        bundles_set_defaults(sp->api.bundles, !json_get_bool(doc, "noDefaultBundles", false));
    }
    workspace_settings_tell(sp, doc);
    workspace_settings_remember(sp, doc);
}

void open_workspace_settings_open(struct open_workspace *sp)
{
    struct arena a;
    struct err e = {0};
    struct json *doc;
    arena_init(&a);
    if (settings_load(&a, open_workspace_settings_path(sp), &doc, &e) == 0)
        workspace_settings_remember(sp, doc);
    else
        sp->doc = json_new(&sp->doc_arena, JSON_OBJECT);
    arena_done(&a);
}
