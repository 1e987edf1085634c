#include "api/ingress/counts.h"

#include <assert.h>
#include <stdlib.h>

void counts_init(struct person_counts *c)
{
    *c = (struct person_counts){0};
    map_init(&c->people);
}

void counts_done(struct person_counts *c)
{
    struct map_entry *m;
    for (size_t i = 0; (m = map_next(&c->people, &i)) != NULL;)
        free(m->value);
    map_done(&c->people);
}

bool counts_begin(struct person_counts *c, str user_id, size_t max)
{
    size_t *n = map_get(&c->people, user_id);
    if ((n ? *n : 0) >= max)
        return false;
    if (!n) {
        n = xcalloc(1, sizeof *n);
        map_put(&c->people, user_id, n);
    }
    ++*n;
    c->total++;
    return true;
}

void counts_end(struct person_counts *c, str user_id)
{
    size_t *n = map_get(&c->people, user_id);
    assert(n && *n > 0 && c->total >= *n);
    c->total--;
    if (--*n > 0)
        return;
    map_del(&c->people, user_id);
    free(n);
}
