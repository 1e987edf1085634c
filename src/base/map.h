/* map.h - a hash map from byte strings to pointers.
 *
 * Keys are copied; values are borrowed, the owner of the map frees them. Iteration is in
 * insertion order, so what is built from a map is reproducible. The hash is keyed with
 * random bytes per map, so that peers cannot choose colliding keys. One owner; no locking. */
#pragma once

#include "base/str.h"

struct map_entry {
    str key;     /* NUL-terminated behind; owned by the map */
    void *value; /* NULL only in removed entries */
    uint64_t hash;
};

struct map {
    struct map_entry *entries; /* insertion order, with holes after removals */
    uint32_t *slots;           /* index + 1 into entries; 0 free, UINT32_MAX removed */
    size_t len, used, nslots;  /* live entries, entries used incl. holes, table size */
    size_t slots_taken;        /* slots that are not free, removed ones included */
    uint64_t seed[2];          /* drawn when the first key comes */
};

void map_init(struct map *m);
void map_done(struct map *m); /* accepts a zeroed struct; does not touch the values */

void *map_get(const struct map *m, str key);        /* NULL when absent */
void *map_put(struct map *m, str key, void *value); /* returns the value it replaced, or NULL */
void *map_del(struct map *m, str key);              /* returns what was there, or NULL */

static inline size_t map_len(const struct map *m)
{
    return m->len;
}

/* for (size_t i = 0; (e = map_next(&m, &i)) != NULL;) - the current entry may be removed
 * on the way; nothing may be added. */
struct map_entry *map_next(const struct map *m, size_t *cursor);
