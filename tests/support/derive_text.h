/* derive_text.h - everything that was derived from a log, as one JSON text, so that tests can
 * compare two readings of it. */
#pragma once

#include "store/event/derive.h"

static inline str derive_text(const struct derive *d, struct arena *a)
{
    const struct conv *c = &d->conv;
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, 4 * 1024 * 1024);
    jw_object(&w);
    jw_kint(&w, "end", (int64_t)c->end);
    jw_kbool(&w, "hasHeader", d->has_header);
    jw_kbool(&w, "isDamaged", d->is_damaged);
    const str texts[] = {
        c->created_at, str_from(d->updated_at), c->workspace_id, c->title,   c->channel,
        c->model,      c->forked_from,          c->acl.owner_id, c->preview, c->last_model,
        c->last_run};
    jw_kstrs(&w, "texts", texts, ARRAY_LEN(texts));
    jw_kval(&w, "parent", c->parent);
    jw_kval(&w, "metadata", c->metadata);
    jw_kstrs(&w, "participants", c->acl.participants.items, c->acl.participants.len);
    const bool flags[] = {c->acl.is_shared, c->acl.is_sealed, c->is_hidden, c->is_cost_known};
    jw_karray(&w, "flags");
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        jw_bool(&w, flags[i]);
    jw_end(&w);
    const int64_t counts[] = {c->message_count,
                              c->bad_lines,
                              c->usage.input_tokens,
                              c->usage.output_tokens,
                              c->usage.cache_read_tokens,
                              c->usage.cache_write_5m_tokens,
                              c->usage.cache_write_1h_tokens};
    jw_karray(&w, "counts");
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        jw_int(&w, counts[i]);
    jw_end(&w);
    jw_kdouble(&w, "costUsd", c->cost_usd);
    jw_end(&w);
    return buf_keep_whole(&b, a);
}
