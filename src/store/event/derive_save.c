/* derive_save.c - saves derived properties as JSON and loads them. One table names every field. */
#include <errno.h>

#include "store/event/derive.h"

/* Raised when the meaning of a field changes: logs saved by other versions are then read again. */
enum { FORMAT = 3, SAVED_MAX = 4 * 1024 * 1024 };

#define AT(member) offsetof(struct conv, member)

static const struct json_field FIELDS[] = {
    {"createdAt", JF_STR, AT(created_at), 0, NULL, 0},
    {"updatedAt", JF_STR, AT(updated_at), 0, NULL, 0},
    {"workspaceId", JF_STR, AT(workspace_id), 0, NULL, 0},
    {"title", JF_STR, AT(title), 0, NULL, 0},
    {"channel", JF_STR, AT(channel), 0, NULL, 0},
    {"model", JF_STR, AT(model), 0, NULL, 0},
    {"forkedFrom", JF_STR, AT(forked_from), 0, NULL, 0},
    {"ownerId", JF_STR, AT(acl.owner_id), 0, NULL, 0},
    {"preview", JF_STR, AT(preview), 0, NULL, 0},
    {"lastModel", JF_STR, AT(last_model), 0, NULL, 0},
    {"lastRun", JF_STR, AT(last_run), 0, NULL, 0},
    {"parent", JF_JSON_OBJECT, AT(parent), JF_NULLABLE, NULL, 0},
    {"metadata", JF_JSON_OBJECT, AT(metadata), JF_NULLABLE, NULL, 0},
    {"participants", JF_STRS, AT(acl.participants), 0, NULL, 0},
    {"isShared", JF_BOOL, AT(acl.is_shared), 0, NULL, 0},
    {"isSealed", JF_BOOL, AT(acl.is_sealed), 0, NULL, 0},
    {"isHidden", JF_BOOL, AT(is_hidden), 0, NULL, 0},
    {"isCostKnown", JF_BOOL, AT(is_cost_known), 0, NULL, 0},
    {"costUsd", JF_DOUBLE, AT(cost_usd), 0, NULL, 0},
    {"messageCount", JF_INT, AT(message_count), 0, NULL, 0},
    {"badLines", JF_INT, AT(bad_lines), 0, NULL, 0},
    {"inputTokens", JF_INT, AT(usage.input_tokens), 0, NULL, 0},
    {"outputTokens", JF_INT, AT(usage.output_tokens), 0, NULL, 0},
    {"cacheReadTokens", JF_INT, AT(usage.cache_read_tokens), 0, NULL, 0},
    {"cacheWrite5mTokens", JF_INT, AT(usage.cache_write_5m_tokens), 0, NULL, 0},
    {"cacheWrite1hTokens", JF_INT, AT(usage.cache_write_1h_tokens), 0, NULL, 0},
    {0},
};

static void save_strs(struct json_writer *w, const struct json_strs *set)
{
    jw_array(w);
    for (size_t i = 0; i < set->len; i++)
        jw_str(w, set->items[i]);
    jw_end(w);
}

static void save_field(struct json_writer *w, const struct conv *c, const struct json_field *f)
{
    const void *at = (const char *)c + f->offset;
    jw_key(w, f->name);
    if (f->type == JF_STR)
        jw_str(w, *(const str *)at);
    else if (f->type == JF_INT)
        jw_int(w, *(const int64_t *)at);
    else if (f->type == JF_BOOL)
        jw_bool(w, *(const bool *)at);
    else if (f->type == JF_DOUBLE)
        jw_double(w, *(const double *)at);
    else if (f->type == JF_STRS)
        save_strs(w, at);
    else
        jw_value(w, *(const struct json *const *)at);
}

str derive_save(const struct derive *d, struct arena *a)
{
    struct buf b;
    struct json_writer w;
    struct conv c = d->conv;
    c.updated_at = str_from(d->updated_at);
    jw_start(&w, &b, SAVED_MAX);
    jw_object(&w);
    jw_kint(&w, "v", FORMAT);
    jw_kint(&w, "end", (int64_t)c.end);
    jw_kbool(&w, "hasHeader", d->has_header);
    jw_kbool(&w, "isDamaged", d->is_damaged);
    for (const struct json_field *f = FIELDS; f->name; f++)
        save_field(&w, &c, f);
    jw_end(&w);
    return buf_keep_whole(&b, a);
}

int derive_load(struct derive *d, str saved)
{
    struct json *v;
    struct conv c = {0};
    int r = json_parse(&d->arena, saved, JSON_COPY, &v, NULL);
    if (r < 0 || json_get_int(v, "v", 0) != FORMAT)
        return -EINVAL;
    r = json_decode(&d->arena, v, FIELDS, &c, "", NULL, NULL, NULL);
    if (r < 0)
        return r;
    c.end = (store_pos)json_get_int(v, "end", 0);
    d->conv = c;
    d->has_header = json_get_bool(v, "hasHeader", false);
    d->is_damaged = json_get_bool(v, "isDamaged", false);
    (void)snprintf(d->updated_at, sizeof(d->updated_at), "%.*s", STR_ARG(c.updated_at));
    return 0;
}
