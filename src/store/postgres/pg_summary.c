#include "store/postgres/pg_summary.h"

#include <errno.h>

enum { SUMMARY_MAX = 4 * 1024 * 1024 };

enum summary_kind { TEXT, VALUE, STRINGS, COUNT, FLAG, COST, PAST };

static const struct {
    const char *name;
    enum summary_kind kind;
    size_t at; /* in struct conv */
} MEMBERS[] = {
#define MEMBER(name, kind, member)                                                                 \
    {                                                                                              \
        name, kind, offsetof(struct conv, member)                                                  \
    }
    MEMBER("workspaceId", TEXT, workspace_id),
    MEMBER("createdAt", TEXT, created_at),
    MEMBER("title", TEXT, title),
    MEMBER("channel", TEXT, channel),
    MEMBER("model", TEXT, model),
    MEMBER("forkedFrom", TEXT, forked_from),
    MEMBER("parent", VALUE, parent),
    MEMBER("metadata", VALUE, metadata),
    MEMBER("ownerId", TEXT, acl.owner_id),
    MEMBER("isShared", FLAG, acl.is_shared),
    MEMBER("isSealed", FLAG, acl.is_sealed),
    MEMBER("participants", STRINGS, acl.participants),
    MEMBER("readers", STRINGS, acl.readers),
    MEMBER("preview", TEXT, preview),
    MEMBER("lastModel", TEXT, last_model),
    MEMBER("lastRun", TEXT, last_run),
    MEMBER("messageCount", COUNT, message_count),
    MEMBER("inputTokens", COUNT, usage.input_tokens),
    MEMBER("outputTokens", COUNT, usage.output_tokens),
    MEMBER("cacheReadTokens", COUNT, usage.cache_read_tokens),
    MEMBER("cacheWrite5mTokens", COUNT, usage.cache_write_5m_tokens),
    MEMBER("cacheWrite1hTokens", COUNT, usage.cache_write_1h_tokens),
    MEMBER("costUsd", COST, cost_usd),
    MEMBER("isCostKnown", FLAG, is_cost_known),
    MEMBER("badLines", COUNT, bad_lines),
    MEMBER("isHidden", FLAG, is_hidden),
    MEMBER("branch", VALUE, branch),
    MEMBER("past", PAST, past),
#undef MEMBER
};

void pg_derive_init(struct pg_derive *d, const struct store_env *env)
{
    index_price_init(&d->price, env);
    derive_init(&d->derive, &d->price.env);
}

void pg_derive_done(struct pg_derive *d)
{
    derive_done(&d->derive);
    index_price_done(&d->price);
}

/* ---- writing ---- */

static void write_member(struct arena *a, struct json_writer *w, size_t i, const struct conv *c)
{
    const void *place = (const char *)c + MEMBERS[i].at;
    const struct json_strs *strings = place;
    switch (MEMBERS[i].kind) {
    case TEXT:
        jw_kstr_if(w, MEMBERS[i].name, *(const str *)place);
        break;
    case VALUE:
        if (*(const struct json *const *)place)
            jw_kval(w, MEMBERS[i].name, *(const struct json *const *)place);
        break;
    case STRINGS:
        jw_kstrs(w, MEMBERS[i].name, strings->items, strings->len);
        break;
    case COUNT:
        if (*(const int64_t *)place != 0)
            jw_kint(w, MEMBERS[i].name, *(const int64_t *)place);
        break;
    case FLAG:
        if (*(const bool *)place)
            jw_kbool(w, MEMBERS[i].name, true);
        break;
    case COST:
        if (*(const double *)place > 0)
            jw_kdouble(w, MEMBERS[i].name, *(const double *)place);
        break;
    case PAST:
        jw_kstr(w, MEMBERS[i].name, past_json(a, place));
        break;
    }
}

str pg_summary_write(struct arena *a, const struct pg_derive *d)
{
    struct buf b;
    struct json_writer w;
    struct map_entry *e;
    jw_start(&w, &b, SUMMARY_MAX);
    jw_object(&w);
    jw_kstr(&w, "updatedAt", str_from(d->derive.updated_at));
    for (size_t i = 0; i < ARRAY_LEN(MEMBERS); i++)
        write_member(a, &w, i, &d->derive.conv);
    jw_kobject(&w, "prices");
    for (size_t i = 0; (e = map_next(&d->price.models, &i)) != NULL;) {
        jw_key_str(&w, e->key);
        jw_double(&w, index_price_probe(d->price.real, e->key));
    }
    jw_close(&w);
    return buf_keep_whole(&b, a);
}

/* ---- reading ---- */

/* False: it is not what pg_summary_write writes. */
static bool read_member(struct derive *d, size_t i, const struct json *v)
{
    void *place = (char *)&d->conv + MEMBERS[i].at;
    const struct json *given = json_get(v, MEMBERS[i].name);
    switch (MEMBERS[i].kind) {
    case TEXT:
        *(str *)place = json_string(given, STR_NONE);
        break;
    case VALUE:
        *(const struct json **)place = given;
        break;
    case STRINGS:
        *(struct json_strs *)place = json_strs_of(&d->arena, given);
        break;
    case COUNT:
        *(int64_t *)place = json_get_int(v, MEMBERS[i].name, 0);
        break;
    case FLAG:
        *(bool *)place = json_get_bool(v, MEMBERS[i].name, false);
        break;
    case COST:
        *(double *)place = json_double(given, 0);
        break;
    case PAST:
        return past_parse(&d->arena, json_string(given, STR_NONE), place) == 0;
    }
    return true;
}

static bool read_prices(struct pg_derive *d, const struct json *prices)
{
    bool agrees = true;
    for (size_t i = 0; json_is(prices, JSON_OBJECT) && i < prices->len; i++) {
        const struct json_member *m = &prices->members[i];
        agrees &= index_price_probe(d->price.real, m->key) == json_double(&m->value, 0);
        map_put(&d->price.models, m->key, d);
    }
    return agrees;
}

int pg_summary_read(struct pg_derive *d, str text, store_pos end)
{
    struct derive *to = &d->derive;
    struct json *v;
    if (json_parse(&to->arena, text, JSON_COPY, &v, NULL) < 0 || !json_is(v, JSON_OBJECT))
        return -EINVAL;
    for (size_t i = 0; i < ARRAY_LEN(MEMBERS); i++)
        if (!read_member(to, i, v))
            return -EINVAL;
    (void)snprintf(to->updated_at, sizeof to->updated_at, "%.*s",
                   STR_ARG(json_get_string(v, "updatedAt")));
    to->has_header = true;
    to->is_damaged = to->conv.acl.is_sealed;
    to->conv.end = end;
    return read_prices(d, json_get(v, "prices")) ? 0 : -ESTALE;
}
