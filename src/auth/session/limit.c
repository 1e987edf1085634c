#include "auth/session/limit.h"

#include <limits.h>
#include <stdlib.h>

struct limit_window {
    uint64_t start_ms;
    unsigned n;
};

void limit_init(struct limit *l, unsigned per_key, unsigned total)
{
    *l = (struct limit){.per_key = per_key, .total = total};
    map_init(&l->windows);
    l->all = xcalloc(1, sizeof *l->all);
}

void limit_done(struct limit *l)
{
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&l->windows, &i)) != NULL;)
        free(e->value);
    map_done(&l->windows);
    free(l->all);
}

static bool window_is_over(const struct limit_window *w, uint64_t now_ms)
{
    return now_ms - w->start_ms >= LIMIT_WINDOW_MS;
}

static void forget_old(struct limit *l, uint64_t now_ms)
{
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&l->windows, &i)) != NULL;) {
        struct limit_window *w = e->value;
        if (window_is_over(w, now_ms)) {
            map_del(&l->windows, e->key);
            free(w);
        }
    }
}

static struct limit_window *window_of(struct limit *l, str key, uint64_t now_ms)
{
    struct limit_window *w = map_get(&l->windows, key);
    if (w)
        return w;
    if (map_len(&l->windows) >= LIMIT_KEYS_MAX)
        forget_old(l, now_ms);
    if (map_len(&l->windows) >= LIMIT_KEYS_MAX)
        return NULL;
    w = xcalloc(1, sizeof *w);
    w->start_ms = now_ms;
    map_put(&l->windows, key, w);
    return w;
}

static void roll(struct limit_window *w, uint64_t now_ms)
{
    if (window_is_over(w, now_ms))
        *w = (struct limit_window){.start_ms = now_ms};
}

bool limit_take(struct limit *l, str key, uint64_t now_ms)
{
    struct limit_window *w = window_of(l, key, now_ms);
    roll(l->all, now_ms);
    if (w)
        roll(w, now_ms);
    if (l->all->n >= l->total || (w && w->n >= l->per_key))
        return false;
    l->all->n++;
    if (w)
        w->n++;
    return true;
}

unsigned limit_count_key(struct limit *l, str key, uint64_t now_ms)
{
    struct limit_window *w = window_of(l, key, now_ms);
    if (!w)
        return UINT_MAX;
    roll(w, now_ms);
    return w->n < UINT_MAX ? ++w->n : w->n;
}

unsigned limit_count_total(struct limit *l, uint64_t now_ms)
{
    roll(l->all, now_ms);
    return l->all->n < UINT_MAX ? ++l->all->n : l->all->n;
}

void limit_give_back(struct limit *l, str key, uint64_t now_ms)
{
    struct limit_window *w = map_get(&l->windows, key);
    if (l->all->n > 0 && !window_is_over(l->all, now_ms))
        l->all->n--;
    if (w && w->n > 0 && !window_is_over(w, now_ms))
        w->n--;
}
