#include "api/ingress/rate.h"

#include <assert.h>
#include <stdlib.h>

#include "auth/session/shared_rate.h"

#define RATE_KEY_MAX 160

static void forget_all(struct rates *r)
{
    struct map_entry *m;
    for (size_t i = 0; (m = map_next(&r->people, &i)) != NULL;)
        free(m->value);
    map_done(&r->people);
    map_init(&r->people);
}

void rates_init(struct rates *r)
{
    *r = (struct rates){0};
    map_init(&r->people);
}

void rates_done(struct rates *r)
{
    forget_all(r);
    map_done(&r->people);
}

static uint32_t *counts_of(struct rates *r, str user_id)
{
    str who = map_len(&r->people) < RATE_PEOPLE_MAX ? user_id : STR("");
    uint32_t *counts = map_get(&r->people, who);
    if (!counts) {
        counts = xcalloc(RATE_KINDS, sizeof *counts);
        map_put(&r->people, who, counts);
    }
    return counts;
}

int rates_take(struct rates *r, str user_id, enum rate_kind kind, int64_t limit, int64_t now_ms)
{
    int64_t window = now_ms / RATE_WINDOW_MS;
    assert(kind < RATE_KINDS && user_id.n > 0); /* the empty name is everybody beyond the ceiling */
    if (limit <= 0)
        return 0;
    if (window != r->window) {
        forget_all(r);
        r->window = window;
    }
    uint32_t *counts = counts_of(r, user_id);
    char key[RATE_KEY_MAX];
    (void)snprintf(key, sizeof key, "rate %d %.*s", (int)kind, STR_ARG(user_id));
    unsigned others = r->shared ? shared_rate_others(r->shared, str_from(key), window) : 0;
    if ((int64_t)counts[kind] + others >= limit)
        return (int)((RATE_WINDOW_MS - now_ms % RATE_WINDOW_MS + 999) / 1000);
    counts[kind]++;
    if (r->shared)
        shared_rate_add(r->shared, str_from(key), window);
    return 0;
}
