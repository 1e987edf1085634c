#include <assert.h>
#include <endian.h>
#include <limits.h>

#include "store/database/pg_conn.h"

/* Object ids of types, which are the same in every PostgreSQL. */
enum { OID_BOOL = 16, OID_BYTEA = 17, OID_INT8 = 20, OID_TEXT = 25 };

enum { ARRAY_HEAD = 20, ARRAY_ITEM_HEAD = 4 };

void pg_params_init(struct pg_params *p, struct arena *a)
{
    p->arena = a;
    p->n = 0;
}

static void add_param(struct pg_params *p, const char *value, size_t n)
{
    assert(p->n < PG_PARAMS_MAX && n <= INT_MAX);
    p->values[p->n] = value ? value : "";
    p->lengths[p->n] = (int)n;
    p->formats[p->n] = 1;
    p->n++;
}

void pg_text(struct pg_params *p, str s)
{
    add_param(p, s.p, s.n);
}

void pg_int(struct pg_params *p, int64_t v)
{
    uint64_t net = htobe64((uint64_t)v);
    add_param(p, arena_str(p->arena, str_make((const char *)&net, sizeof net)).p, sizeof net);
}

void pg_bool(struct pg_params *p, bool v)
{
    add_param(p, v ? "\1" : "\0", 1);
}

static char *put_u32(char *at, uint32_t v)
{
    uint32_t net = htobe32(v);
    memcpy(at, &net, sizeof net);
    return at + sizeof net;
}

/* The head of an array of one dimension: dimensions, has nulls, type, length, lower bound. */
static char *array_head(char *at, uint32_t type, size_t n)
{
    at = put_u32(at, n > 0);
    at = put_u32(at, 0);
    at = put_u32(at, type);
    if (n == 0)
        return at;
    at = put_u32(at, (uint32_t)n);
    return put_u32(at, 1);
}

static void add_strings(struct pg_params *p, uint32_t type, const str *items, size_t n)
{
    size_t size = ARRAY_HEAD;
    for (size_t i = 0; i < n; i++)
        size += ARRAY_ITEM_HEAD + items[i].n;
    char *value = arena_alloc(p->arena, size), *at = array_head(value, type, n);
    for (size_t i = 0; i < n; i++) {
        at = put_u32(at, (uint32_t)items[i].n);
        if (items[i].n > 0)
            memcpy(at, items[i].p, items[i].n);
        at += items[i].n;
    }
    add_param(p, value, (size_t)(at - value));
}

void pg_texts(struct pg_params *p, const str *items, size_t n)
{
    add_strings(p, OID_TEXT, items, n);
}

void pg_byteas(struct pg_params *p, const str *items, size_t n)
{
    add_strings(p, OID_BYTEA, items, n);
}

void pg_ints(struct pg_params *p, const int64_t *items, size_t n)
{
    char *value = arena_alloc(p->arena, ARRAY_HEAD + n * (ARRAY_ITEM_HEAD + sizeof(uint64_t)));
    char *at = array_head(value, OID_INT8, n);
    for (size_t i = 0; i < n; i++) {
        uint64_t net = htobe64((uint64_t)items[i]);
        at = put_u32(at, sizeof net);
        memcpy(at, &net, sizeof net);
        at += sizeof net;
    }
    add_param(p, value, (size_t)(at - value));
}

void pg_bools(struct pg_params *p, const bool *items, size_t n)
{
    char *value = arena_alloc(p->arena, ARRAY_HEAD + n * (ARRAY_ITEM_HEAD + 1));
    char *at = array_head(value, OID_BOOL, n);
    for (size_t i = 0; i < n; i++) {
        at = put_u32(at, 1);
        *at++ = items[i] ? 1 : 0;
    }
    add_param(p, value, (size_t)(at - value));
}
