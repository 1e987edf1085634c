#include "store/log/tail.h"

void tail_drop(struct tail *t)
{
    free(t->bytes);
    *t = (struct tail){0};
}

/* Drops the oldest lines until `more` bytes fit. */
static void tail_make_room(struct tail *t, size_t more)
{
    if (t->n + more <= TAIL_BYTES_MAX)
        return;
    size_t excess = t->n + more - TAIL_BYTES_MAX;
    const char *lf = memchr(t->bytes + excess - 1, '\n', t->n - excess + 1);
    size_t gone = lf ? (size_t)(lf - t->bytes) + 1 : t->n;
    memmove(t->bytes, t->bytes + gone, t->n - gone);
    t->n -= gone;
    t->start += gone;
}

static void tail_put(struct tail *t, str line)
{
    if (t->n + line.n > t->cap) {
        size_t cap = (t->n + line.n) * 2;
        t->cap = cap < TAIL_BYTES_MAX ? cap : TAIL_BYTES_MAX;
        t->bytes = xrealloc(t->bytes, t->cap);
    }
    memcpy(t->bytes + t->n, line.p, line.n);
    t->n += line.n;
}

void tail_add(struct tail *t, store_pos at, const str *lines, size_t n)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += lines[i].n;
    if (total > TAIL_BYTES_MAX) {
        tail_drop(t);
        return;
    }
    if (tail_end(t) != at) {
        t->start = at;
        t->n = 0;
    }
    tail_make_room(t, total);
    for (size_t i = 0; i < n; i++)
        tail_put(t, lines[i]);
}

static size_t count_lines(str text)
{
    size_t n = 0;
    const char *end = text.p + text.n;
    for (const char *p = text.p; p < end && (p = memchr(p, '\n', (size_t)(end - p))); p++)
        n++;
    return n;
}

static void split(str text, store_pos at, struct store_event *events, size_t n)
{
    size_t from = 0;
    for (size_t i = 0; i < n; i++) {
        const char *lf = memchr(text.p + from, '\n', text.n - from);
        size_t to = (size_t)(lf - text.p);
        events[i] = (struct store_event){.pos = at + to + 1, .line = str_slice(text, from, to)};
        from = to + 1;
    }
}

bool tail_page(const struct tail *t, struct arena *a, const struct store_range *range,
               struct store_page *ret)
{
    if (range->backwards || range->with_blobs || !t->n)
        return false;
    if (range->after < t->start || range->after > tail_end(t))
        return false;
    size_t from = (size_t)(range->after - t->start);
    if (from > 0 && t->bytes[from - 1] != '\n')
        return false;
    str text = {t->bytes + from, t->n - from};
    size_t n = count_lines(text);
    if (n > range->max_events || text.n > range->max_bytes)
        return false;
    struct store_event *events = arena_array(a, n + 1, sizeof *events);
    split(arena_str(a, text), range->after, events, n);
    *ret =
        (struct store_page){.events = events, .n = n, .start = range->after, .reached_end = true};
    return true;
}
