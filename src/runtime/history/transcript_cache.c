#include "runtime/history/transcript_cache.h"

#include <assert.h>

struct cached_transcript {
    struct list_node lru;
    char *id;
    size_t bytes;
    struct transcript *transcript;
};

void transcript_cache_init(struct transcript_cache *r)
{
    *r = (struct transcript_cache){0};
    map_init(&r->entries);
    list_init(&r->lru);
}

static struct transcript *forget_entry(struct transcript_cache *r, struct cached_transcript *e)
{
    struct transcript *t = e->transcript;
    assert(r->bytes >= e->bytes && map_get(&r->entries, str_from(e->id)) == e);
    map_del(&r->entries, str_from(e->id));
    list_del(&e->lru);
    r->bytes -= e->bytes;
    free(e->id);
    free(e);
    return t;
}

static void evict(struct transcript_cache *r)
{
    assert(!list_empty(&r->lru)); /* or the budgets count what is not there */
    transcript_free(forget_entry(r, LIST_ENTRY(r->lru.next, struct cached_transcript, lru)));
}

void transcript_cache_done(struct transcript_cache *r)
{
    while (!list_empty(&r->lru))
        evict(r);
    assert(r->bytes == 0 && map_len(&r->entries) == 0);
    map_done(&r->entries);
}

struct transcript *transcript_cache_take(struct transcript_cache *r, str conversation_id)
{
    struct cached_transcript *e = map_get(&r->entries, conversation_id);
    return e ? forget_entry(r, e) : NULL;
}

void transcript_cache_give(struct transcript_cache *r, str conversation_id, struct transcript *t)
{
    if (t->is_lost || t->known == 0 || transcript_size(t) > TRANSCRIPT_CACHE_ONE_BYTES) {
        transcript_free(t);
        return;
    }
    transcript_free(transcript_cache_take(r, conversation_id));
    struct cached_transcript *e = xcalloc(1, sizeof *e);
    *e = (struct cached_transcript){
        .id = str_dup(conversation_id), .bytes = transcript_size(t), .transcript = t};
    map_put(&r->entries, conversation_id, e);
    list_push(&r->lru, &e->lru);
    r->bytes += e->bytes;
    while (r->bytes > TRANSCRIPT_CACHE_ALL_BYTES || map_len(&r->entries) > TRANSCRIPT_CACHE_MAX)
        evict(r);
}
