#include "runtime/recall.h"

struct entry {
    struct list_node lru;
    char *id;
    size_t bytes;
    struct transcript *transcript;
};

void recall_init(struct recall *r)
{
    *r = (struct recall){0};
    map_init(&r->entries);
    list_init(&r->lru);
}

static struct transcript *forget(struct recall *r, struct entry *e)
{
    struct transcript *t = e->transcript;
    map_del(&r->entries, str_from(e->id));
    list_del(&e->lru);
    r->bytes -= e->bytes;
    free(e->id);
    free(e);
    return t;
}

static void evict(struct recall *r)
{
    transcript_free(forget(r, LIST_ENTRY(r->lru.next, struct entry, lru)));
}

void recall_done(struct recall *r)
{
    while (!list_empty(&r->lru))
        evict(r);
    map_done(&r->entries);
}

struct transcript *recall_take(struct recall *r, str conversation_id)
{
    struct entry *e = map_get(&r->entries, conversation_id);
    return e ? forget(r, e) : NULL;
}

void recall_give(struct recall *r, str conversation_id, struct transcript *t)
{
    if (t->is_lost || t->known == 0 || transcript_size(t) > RECALL_ONE_BYTES) {
        transcript_free(t);
        return;
    }
    transcript_free(recall_take(r, conversation_id));
    struct entry *e = xcalloc(1, sizeof *e);
    *e = (struct entry){
        .id = str_dup(conversation_id), .bytes = transcript_size(t), .transcript = t};
    map_put(&r->entries, conversation_id, e);
    list_push(&r->lru, &e->lru);
    r->bytes += e->bytes;
    while (r->bytes > RECALL_ALL_BYTES || map_len(&r->entries) > RECALL_MAX)
        evict(r);
}

struct transcript *recall_peek(const struct recall *r, str conversation_id)
{
    const struct entry *e = map_get(&r->entries, conversation_id);
    return e ? e->transcript : NULL;
}
