#include "store/event/derive.h"

#include "base/clock.h"
#include "base/json/json_scan.h"
#include "base/utf8.h"
#include "store/event/text.h"

enum { PREVIEW_BYTES = 400 };

void derive_init(struct derive *d, const struct store_env *env)
{
    *d = (struct derive){.env = env, .conv.is_cost_known = true};
    arena_init(&d->arena);
}

void derive_done(struct derive *d)
{
    arena_done(&d->arena);
}

/* Copies a value only if it differs, so that repeating the same model needs no memory. */
static void derive_keep(struct derive *d, str *place, str value)
{
    if (!str_eq(*place, value))
        *place = arena_str(&d->arena, value);
}

/* ---- line 1 ---- */

static bool is_metadata(const struct json *v)
{
    return json_is(v, JSON_OBJECT) && !json_get(v, "role") &&
           (json_get(v, "id") || json_get(v, "createdAt")) && !json_get(v, "type");
}

static const struct json *keep_object(struct derive *d, const struct json *v)
{
    return json_is(v, JSON_OBJECT) ? json_clone(&d->arena, v) : NULL;
}

/* A log of an earlier version names no readers: everybody in it may write. */
static void read_people(struct derive *d, const struct json *v)
{
    d->conv.acl.participants = json_strs_of(&d->arena, json_get(v, "participants"));
    d->conv.acl.readers = json_strs_of(&d->arena, json_get(v, "readers"));
}

static void read_header(struct derive *d, const struct json *v)
{
    struct conv *c = &d->conv;
    int64_t created;
    derive_keep(d, &c->workspace_id, json_get_string(v, "workspaceId"));
    derive_keep(d, &c->title, json_get_string(v, "title"));
    derive_keep(d, &c->channel, json_get_string(v, "channel"));
    derive_keep(d, &c->model, json_get_string(v, "model"));
    derive_keep(d, &c->forked_from, json_get_string(v, "forkedFrom"));
    derive_keep(d, &c->acl.owner_id, json_get_string(v, "ownerId"));
    c->acl.is_shared = str_eq(json_get_string(v, "visibility"), STR("shared"));
    read_people(d, v);
    c->parent = keep_object(d, json_get(v, "parent"));
    c->metadata = keep_object(d, json_get(v, "metadata"));
    c->branch = keep_object(d, json_get(v, "branch"));
    c->is_hidden = c->parent || c->branch || json_get_bool(v, "hidden", false);
    char iso[CLOCK_ISO_LEN + 1] = "";
    if (event_time(v, &created))
        clock_iso(created, iso);
    derive_keep(d, &c->created_at, str_from(iso));
    (void)snprintf(d->updated_at, sizeof(d->updated_at), "%s", iso);
}

/* ---- events ---- */

static int64_t tokens(const struct json *v, const char *key)
{
    int64_t n = json_get_int(v, key, 0);
    return n < 0 ? 0 : n;
}

void derive_usage(const struct json *v, struct conv_usage *u)
{
    const struct json *nested = json_get(v, "usage");
    if (json_is(nested, JSON_OBJECT))
        v = nested;
    *u = (struct conv_usage){
        .input_tokens = tokens(v, "inputTokens"),
        .output_tokens = tokens(v, "outputTokens"),
        .cache_read_tokens = tokens(v, "cacheReadTokens"),
        .cache_write_5m_tokens = tokens(v, "cacheWrite5mTokens"),
        .cache_write_1h_tokens = tokens(v, "cacheWrite1hTokens"),
    };
    int64_t writes = tokens(v, "cacheWriteTokens") + tokens(v, "cacheCreationTokens");
    if (u->cache_write_5m_tokens == 0 && writes > u->cache_write_1h_tokens)
        u->cache_write_5m_tokens = writes - u->cache_write_1h_tokens;
}

static bool is_free(const struct conv_usage *u)
{
    return u->input_tokens == 0 && u->output_tokens == 0;
}

bool derive_cost(const struct store_env *env, const struct json *v, str model,
                 const struct conv_usage *u, double *ret_usd)
{
    if (env->price && env->price(env->price_ctx, model, u, ret_usd))
        return true;
    *ret_usd = json_double(json_get(v, "costUsd"), -1);
    if (*ret_usd >= 0)
        return true;
    *ret_usd = 0;
    return is_free(u);
}

/* A fork copies lines unchanged, with their times, and is created after all of them. */
bool derive_is_copied(str forked_from, str created_at, const struct json *event)
{
    int64_t created, when;
    return forked_from.n > 0 && clock_parse_iso(created_at, &created) == 0 &&
           event_time(event, &when) && when <= created;
}

/* `event` has the time, `v` the figures. */
static void add_usage(struct derive *d, const struct json *event, const struct json *v, str model)
{
    struct conv *c = &d->conv;
    struct conv_usage u;
    if (derive_is_copied(c->forked_from, c->created_at, event))
        return;
    derive_usage(v, &u);
    conv_usage_add(&c->usage, &u);
    double usd;
    if (derive_cost(d->env, v, model, &u, &usd))
        c->cost_usd += usd;
    else
        c->is_cost_known = false;
}

static void on_user_message(struct derive *d, const struct json *v)
{
    d->conv.message_count++;
    if (v)
        past_user(&d->conv.past, &d->arena, v);
    if (d->conv.preview.n)
        return;
    str text = text_of_content(&d->arena, json_get(v, "content"));
    d->conv.preview = utf8_truncate(text, PREVIEW_BYTES);
}

/* Returns constants, so that the arena of a long-lived log does not grow with its runs. */
static str stop_name(str given)
{
    static const char *const NAMES[] = {"complete",  "max_iterations", "token_budget",
                                        "cancelled", "length",         "refusal",
                                        "waiting",   "client_tools"};
    ptrdiff_t i = STR_INDEX(given, NAMES);
    return i < 0 ? STR("complete") : str_from(NAMES[i]);
}

static void on_run_start(struct derive *d, const struct json *v)
{
    (void)v;
    d->conv.last_run = STR("open");
}

static void on_run_author(struct derive *d, const struct json *v)
{
    past_user(&d->conv.past, &d->arena, v);
}

static void on_input_answered(struct derive *d, const struct json *v)
{
    if (past_is_answer(v))
        on_run_author(d, v);
}

static void on_run_done(struct derive *d, const struct json *v)
{
    d->conv.last_run = stop_name(json_get_string(v, "stopReason"));
    d->conv.message_count += !str_eq(d->conv.last_run, STR("waiting"));
}

static void on_run_error(struct derive *d, const struct json *v)
{
    (void)v;
    d->conv.last_run = STR("error");
}

static void add_answer(struct derive *d, const struct json *event, const struct json *v)
{
    str model = json_get_string(v, "model");
    add_usage(d, event, v, model);
    if (model.n)
        derive_keep(d, &d->conv.last_model, model);
}

static void on_llm_response(struct derive *d, const struct json *v)
{
    past_answer(&d->conv.past, &d->arena, v);
    add_answer(d, v, v);
}

static void on_aux_usage(struct derive *d, const struct json *v)
{
    add_usage(d, v, v, json_get_string(v, "model"));
}

/* An automatic title never replaces a title, in whichever order the two were written. */
static void on_title(struct derive *d, const struct json *v)
{
    if (json_get_bool(v, "auto", false) && d->conv.title.n)
        return;
    derive_keep(d, &d->conv.title, json_get_string(v, "title"));
}

static void on_visibility(struct derive *d, const struct json *v)
{
    d->conv.acl.is_shared = str_eq(json_get_string(v, "visibility"), STR("shared"));
}

static void on_participants(struct derive *d, const struct json *v)
{
    read_people(d, v);
}

static void on_promoted(struct derive *d, const struct json *v)
{
    (void)v;
    if (d->conv.branch)
        d->conv.is_hidden = d->conv.parent != NULL;
    d->conv.branch = NULL;
}

static void on_legacy_message(struct derive *d, const struct json *v)
{
    str role = json_get_string(v, "role");
    if (str_eq(role, STR("user"))) {
        on_user_message(d, v);
    } else if (str_eq(role, STR("assistant"))) {
        const struct json *meta = json_get(v, "metadata");
        d->conv.message_count++;
        past_answer(&d->conv.past, &d->arena, v);
        if (json_is(meta, JSON_OBJECT))
            add_answer(d, v, meta);
    }
}

static void (*const HANDLERS[])(struct derive *d, const struct json *v) = {
    [EV_USER_MESSAGE] = on_user_message,
    [EV_RUN_START] = on_run_start,
    [EV_RUN_AUTHOR] = on_run_author,
    [EV_INPUT_ANSWERED] = on_input_answered,
    [EV_RUN_DONE] = on_run_done,
    [EV_RUN_ERROR] = on_run_error,
    [EV_LLM_RESPONSE] = on_llm_response,
    [EV_AUX_USAGE] = on_aux_usage,
    [EV_TITLE] = on_title,
    [EV_VISIBILITY] = on_visibility,
    [EV_PARTICIPANTS] = on_participants,
    [EV_PROMOTED] = on_promoted,
    [EV_LEGACY_MESSAGE] = on_legacy_message,
};

static void set_updated(struct derive *d, str raw)
{
    int64_t ms;
    char iso[CLOCK_ISO_LEN + 1];
    str plain = raw.n && raw.p[0] == '"' ? json_scan_plain(raw) : STR_NONE;
    if (plain.n && str_eq(plain, str_from(d->updated_at)))
        return; /* lines that are written together */
    if (plain.n ? clock_parse_iso(plain, &ms) < 0 : parse_i64(raw, &ms) < 0)
        return;
    clock_iso(ms, iso);
    /* The copied past of a fork is older than the fork. */
    if (d->conv.forked_from.n == 0 || str_cmp(str_from(iso), d->conv.created_at) >= 0)
        memcpy(d->updated_at, iso, sizeof(iso));
}

/* For these types only the fact that the event exists matters, so it is not parsed. */
static bool is_only_counted(const struct derive *d, enum event_type type, str line)
{
    return type == EV_RUN_START || type == EV_RUN_ERROR ||
           (type == EV_USER_MESSAGE && d->conv.preview.n && past_knows_user(&d->conv.past, line));
}

static void derive_event(struct derive *d, str line, bool is_good)
{
    struct event_head head;
    if (!(is_good ? event_peek(line, &head) : event_scan(line, &head))) {
        d->conv.bad_lines++;
        return;
    }
    if (head.ts.n && head.type != EV_TRASHED) /* deleting and restoring change nothing in it */
        set_updated(d, head.ts);
    void (*handler)(struct derive *, const struct json *) =
        (size_t)head.type < ARRAY_LEN(HANDLERS) ? HANDLERS[head.type] : NULL;
    if (!handler)
        return;
    if (is_good && is_only_counted(d, head.type, line)) {
        handler(d, NULL);
        return;
    }
    struct arena scratch;
    struct json *v;
    arena_init(&scratch);
    if (json_parse(&scratch, line, 0, &v, NULL) == 0)
        handler(d, v);
    else
        d->conv.bad_lines++;
    arena_done(&scratch);
}

static void on_first_line(struct derive *d, str line)
{
    struct arena scratch;
    struct json *v = NULL;
    struct event_head head;
    arena_init(&scratch);
    d->has_header = true;
    if (json_parse(&scratch, line, 0, &v, NULL) == 0 && is_metadata(v)) {
        read_header(d, v);
    } else {
        d->is_damaged = true;
        d->conv.acl.is_sealed = true;
        if (event_scan(line, &head))
            derive_event(d, line, false);
        else
            d->conv.bad_lines++;
    }
    arena_done(&scratch);
}

void derive_line(struct derive *d, str line, store_pos end)
{
    if (!d->has_header)
        on_first_line(d, line);
    else if (str_trim(line).n)
        derive_event(d, line, false);
    d->conv.end = end;
}

void derive_appended(struct derive *d, str line, store_pos end)
{
    if (d->has_header)
        derive_event(d, line, true);
    else
        on_first_line(d, line); /* to an empty file */
    d->conv.end = end;
}

/* ---- copies ---- */

struct conv *conv_clone(struct arena *a, const struct conv *c)
{
    struct conv *out = arena_alloc(a, sizeof(*out));
    *out = *c;
    str *strings[] = {&out->id,      &out->workspace_id, &out->created_at,   &out->updated_at,
                      &out->title,   &out->channel,      &out->model,        &out->forked_from,
                      &out->preview, &out->last_model,   &out->acl.owner_id, &out->last_run};
    for (size_t i = 0; i < ARRAY_LEN(strings); i++)
        *strings[i] = arena_str(a, *strings[i]);
    out->parent = c->parent ? json_clone(a, c->parent) : NULL;
    out->metadata = c->metadata ? json_clone(a, c->metadata) : NULL;
    out->branch = c->branch ? json_clone(a, c->branch) : NULL;
    out->acl.participants = json_strs_copy(a, c->acl.participants);
    out->acl.readers = json_strs_copy(a, c->acl.readers);
    out->past = past_copy(a, &c->past);
    return out;
}

bool derive_scanned(void *derive, str line, store_pos end)
{
    derive_line(derive, line, end);
    return true;
}

struct conv *derive_conv(const struct derive *d, struct arena *a, str id, str workspace_id)
{
    struct conv c = d->conv;
    c.id = id;
    c.updated_at = str_from(d->updated_at);
    if (!d->has_header)
        c.acl.is_sealed = true; /* an empty log has no owner, and must not be appended to */
    if (!c.workspace_id.n)
        c.workspace_id = workspace_id;
    if (!c.created_at.n)
        c.created_at = c.updated_at;
    return conv_clone(a, &c);
}
