#include "runtime/turn/setting.h"

#include <assert.h>
#include <errno.h>

#include "base/bytes/base64.h"
#include "base/bytes/hash.h"
#include "os/file.h"

#define KEY_FILE    "runs.key"
#define SETTING_MAX (256u * 1024)
#define MAC_HEX     32 /* 128 bits */

/* ---- the key ---- */

static int read_key(struct runtime *rt, const char *path, struct err *e)
{
    struct arena a;
    str text;
    arena_init(&a);
    int r = file_read(&a, path, 4096, &text, e);
    if (r == 0 && text.n == sizeof rt->setting_key)
        memcpy(rt->setting_key, text.p, text.n);
    else if (r == 0)
        r = err_set(e, -EINVAL, "%s: expected %zu bytes; delete the file to get a new key", path,
                    sizeof rt->setting_key);
    arena_done(&a);
    return r;
}

int setting_load_key(struct runtime *rt, struct err *e)
{
    struct arena a;
    int r = 0;
    random_bytes(rt->setting_key, sizeof rt->setting_key);
    if (store_has_leases(rt->deps.store))
        return store_shared_key(rt->deps.store, "runs", rt->setting_key, e);
    if (rt->deps.root_dir.n == 0)
        return 0;
    arena_init(&a);
    str path = arena_printf(&a, "%.*s/" KEY_FILE, STR_ARG(rt->deps.root_dir));
    if (file_exists(path.p))
        r = read_key(rt, path.p, e);
    else /* a read-only workspace still works; its questions cannot be answered after a restart */
        (void)file_write_atomic(path.p, str_make((const char *)rt->setting_key, 32), 0600, NULL);
    arena_done(&a);
    return r;
}

/* ---- the value ---- */

static str mac_of(const struct runtime *rt, struct arena *a, str conversation_id, str run_id,
                  str setting)
{
    uint8_t sum[SHA256_LEN];
    char *hex = arena_alloc(a, 2 * SHA256_LEN + 1);
    const str parts[] = {conversation_id, STR("\n"), run_id, STR("\n"), setting};
    str text = arena_join(a, parts, ARRAY_LEN(parts));
    hmac_sha256(str_make((const char *)rt->setting_key, sizeof rt->setting_key), text, sum);
    hex_encode(hex, sum, sizeof sum);
    return str_make(hex, MAC_HEX);
}

static void write_limits(const struct turn_limits *l, struct json_writer *w)
{
    jw_kobject(w, "limits");
    jw_kint(w, "maxIterations", l->max_iterations);
    jw_kint(w, "maxInputTokens", l->max_input_tokens);
    jw_kint(w, "maxOutputTokens", l->max_output_tokens);
    jw_kint(w, "maxDirectTools", l->max_direct_tools);
    jw_kstr(w, "thinking", l->thinking);
    jw_end(w);
}

static void write_found(const struct promoted *p, struct json_writer *w)
{
    if (p->len == 0)
        return;
    jw_karray(w, "foundTools");
    for (size_t i = 0; i < p->len; i++)
        jw_str(w, str_from(p->names[i]));
    jw_end(w);
}

static void write_setting(const struct turn *t, struct json_writer *w)
{
    jw_object(w);
    jw_key(w, "actor");
    actor_write(t->actor, w);
    jw_kstr(w, "model", t->model);
    if (t->skill)
        jw_kstr(w, "skill", t->skill->name);
    if (t->is_unattended)
        jw_kbool(w, "unattended", true);
    if (t->app)
        jw_kval(w, "app", t->app);
    write_limits(&t->limits, w);
    write_found(&t->promoted, w);
    if (t->auto_allow.len > 0) {
        jw_kstrs(w, "autoAllow", t->auto_allow.items, t->auto_allow.len);
    }
    jw_end(w);
}

str setting_json(const struct turn *t, struct arena *a, str run_id)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, SETTING_MAX);
    assert(run_id.n > 0 && t->conversation_id.n > 0); /* the MAC binds it to both */
    write_setting(t, &w);
    str value = buf_keep_whole(&b, a);
    if (value.n == 0)
        return STR_NONE;
    str mac = mac_of(t->rt, a, t->conversation_id, run_id, value);
    const str parts[] = {STR("{\"value\":"), value, STR(",\"mac\":\""), mac, STR("\"}")};
    return arena_join(a, parts, ARRAY_LEN(parts));
}

static bool is_ours(const struct turn *t, const struct replay_ask *ask, struct arena *a)
{
    const struct json *value = json_get(ask->setting, "value");
    str given = json_get_string(ask->setting, "mac");
    if (!json_is(value, JSON_OBJECT) || given.n != MAC_HEX)
        return false;
    str made = mac_of(t->rt, a, t->conversation_id, ask->run_id, json_to_str(a, value));
    return bytes_eq_const_time(made.p, given.p, MAC_HEX);
}

/* Settings of earlier versions have no limits: use the current ones. */
static void restore_limits(struct turn *t, const struct json *v)
{
    struct turn_limits *l = &t->limits;
    if (!json_is(v, JSON_OBJECT))
        return;
    l->max_iterations = json_get_int(v, "maxIterations", l->max_iterations);
    l->max_input_tokens = json_get_int(v, "maxInputTokens", l->max_input_tokens);
    l->max_output_tokens = json_get_int(v, "maxOutputTokens", l->max_output_tokens);
    l->max_direct_tools = json_get_int(v, "maxDirectTools", l->max_direct_tools);
    l->thinking = arena_str(&t->arena, json_get_string(v, "thinking"));
}

struct dir_grant setting_grant(struct turn *t, const struct replay_ask *ask)
{
    struct dir_grant g = {0};
    if (!is_ours(t, ask, &t->arena))
        return g;
    struct actor *a = actor_read(t->actor->directory, t->actor->workspace_id,
                                 json_get(json_get(ask->setting, "value"), "actor"));
    if (a)
        g = (struct dir_grant){arena_str(&t->arena, a->grant.path),
                               arena_str(&t->arena, a->grant.id)};
    actor_unref(a);
    return g;
}

bool setting_restore(struct turn *t, const struct replay_ask *ask)
{
    const struct json *value = json_get(ask->setting, "value");
    if (!is_ours(t, ask, &t->arena))
        return false;
    struct actor *a =
        actor_read(t->actor->directory, t->actor->workspace_id, json_get(value, "actor"));
    if (!a)
        return false;
    turn_narrow(t, a);
    t->model = arena_str(&t->arena, json_get_string(value, "model"));
    t->auto_allow = json_strs_of(&t->arena, json_get(value, "autoAllow"));
    t->is_unattended |= json_get_bool(value, "unattended", false);
    restore_limits(t, json_get(value, "limits"));
    const struct json *app = json_get(value, "app");
    t->app = json_is(app, JSON_OBJECT) ? json_clone(&t->arena, app) : NULL;
    const struct json *found = json_get(value, "foundTools");
    for (size_t i = 0; json_is(found, JSON_ARRAY) && i < found->len; i++)
        promoted_add(&t->promoted, json_string(&found->items[i], STR_NONE));
    str skill = json_get_string(value, "skill");
    if (t->skills)
        t->skill = skill.n > 0 ? skills_find(turn_skills(t), skill) : NULL;
    return true;
}
