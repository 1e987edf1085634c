#include "base/map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/random.h"

/* Open addressing with linear probing over a power-of-two table of indices. Entries are
 * appended to an array of their own, which gives the order; a rebuild drops the holes. */

enum { FIRST_SLOTS = 16 };
static const uint32_t SLOT_FREE = 0, SLOT_REMOVED = UINT32_MAX;

static uint64_t rotate_left(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate_left(v[1], 13) ^ v[0];
    v[3] = rotate_left(v[3], 16) ^ v[2];
    v[0] = rotate_left(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate_left(v[1], 17) ^ v[2];
    v[3] = rotate_left(v[3], 21) ^ v[0];
    v[2] = rotate_left(v[2], 32);
}

/* SipHash-1-3: one round per eight bytes, three at the end. */
static uint64_t hash_key(const uint64_t seed[2], str key)
{
    uint64_t v[4] = {seed[0] ^ 0x736f6d6570736575u, seed[1] ^ 0x646f72616e646f6du,
                     seed[0] ^ 0x6c7967656e657261u, seed[1] ^ 0x7465646279746573u};
    uint64_t word;
    size_t at = 0;
    for (; key.n - at >= sizeof(word); at += sizeof(word)) {
        memcpy(&word, key.p + at, sizeof(word));
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    word = (uint64_t)key.n << 56;
    for (size_t i = 0; at + i < key.n; i++)
        word |= (uint64_t)(uint8_t)key.p[at + i] << (8 * i);
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* Three quarters of the table, for entries and for taken slots alike. */
static size_t load_max(size_t nslots)
{
    return nslots / 4 * 3;
}

void map_init(struct map *m)
{
    *m = (struct map){0};
}

void map_done(struct map *m)
{
    for (size_t i = 0; i < m->used; i++)
        free((char *)m->entries[i].key.p);
    free(m->entries);
    free(m->slots);
    *m = (struct map){0};
}

/* The slot that holds `key`, or NULL. */
static uint32_t *find_slot(const struct map *m, str key, uint64_t hash)
{
    if (m->nslots == 0)
        return NULL;
    size_t mask = m->nslots - 1;
    for (size_t at = hash & mask; m->slots[at] != SLOT_FREE; at = (at + 1) & mask) {
        if (m->slots[at] == SLOT_REMOVED)
            continue;
        const struct map_entry *e = &m->entries[m->slots[at] - 1];
        if (e->hash == hash && str_eq(e->key, key))
            return &m->slots[at];
    }
    return NULL;
}

static void take_slot(struct map *m, uint64_t hash, size_t index)
{
    size_t mask = m->nslots - 1, at = hash & mask;
    while (m->slots[at] != SLOT_FREE && m->slots[at] != SLOT_REMOVED)
        at = (at + 1) & mask;
    if (m->slots[at] == SLOT_FREE)
        m->slots_taken++;
    m->slots[at] = (uint32_t)(index + 1);
}

/* Makes room for one more entry: closes the holes, and doubles if they were few. */
static void rebuild(struct map *m)
{
    if (m->nslots == 0)
        random_bytes(m->seed, sizeof(m->seed));
    size_t nslots = m->nslots ? m->nslots : FIRST_SLOTS;
    while (m->len >= load_max(nslots) / 2)
        nslots *= 2;
    assert(nslots < UINT32_MAX);
    struct map_entry *entries = xcalloc(load_max(nslots), sizeof(*entries));
    size_t used = 0;
    for (size_t i = 0; i < m->used; i++)
        if (m->entries[i].value)
            entries[used++] = m->entries[i];
    free(m->entries);
    free(m->slots);
    m->entries = entries;
    m->slots = xcalloc(nslots, sizeof(*m->slots));
    m->nslots = nslots;
    m->used = used;
    m->slots_taken = 0;
    for (size_t i = 0; i < used; i++)
        take_slot(m, entries[i].hash, i);
}

void *map_get(const struct map *m, str key)
{
    if (m->len == 0)
        return NULL;
    uint32_t *slot = find_slot(m, key, hash_key(m->seed, key));
    return slot ? m->entries[*slot - 1].value : NULL;
}

void *map_put(struct map *m, str key, void *value)
{
    assert(value);
    uint64_t hash = hash_key(m->seed, key);
    uint32_t *slot = find_slot(m, key, hash);
    if (slot) {
        struct map_entry *e = &m->entries[*slot - 1];
        void *old = e->value;
        e->value = value;
        return old;
    }
    if (m->used >= load_max(m->nslots) || m->slots_taken >= load_max(m->nslots)) {
        bool first = m->nslots == 0;
        rebuild(m);
        if (first)
            hash = hash_key(m->seed, key);
    }
    m->entries[m->used] = (struct map_entry){{str_dup(key), key.n}, value, hash};
    take_slot(m, hash, m->used++);
    m->len++;
    return NULL;
}

void *map_del(struct map *m, str key)
{
    uint32_t *slot = m->len ? find_slot(m, key, hash_key(m->seed, key)) : NULL;
    if (!slot)
        return NULL;
    struct map_entry *e = &m->entries[*slot - 1];
    void *old = e->value;
    *slot = SLOT_REMOVED;
    free((char *)e->key.p);
    *e = (struct map_entry){0};
    m->len--;
    while (m->used > 0 && !m->entries[m->used - 1].value)
        m->used--;
    return old;
}

struct map_entry *map_next(const struct map *m, size_t *cursor)
{
    while (*cursor < m->used) {
        struct map_entry *e = &m->entries[(*cursor)++];
        if (e->value)
            return e;
    }
    return NULL;
}
