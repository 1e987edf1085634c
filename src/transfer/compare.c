#include "transfer/compare.h"

#include <assert.h>

#include "base/bytes/hash.h"
#include "store/backend/backend.h"

enum { PAGE_EVENTS = 500, PAGE_BYTES = 4 * 1024 * 1024 };

struct compare_side { /* one of the two logs */
    struct store *store;
    store_pos after;
    int64_t last_ms;
    char (*hashes)[SHA256_HEX_LEN + 1]; /* of the events of the page that are not compared yet */
    size_t n, cap, at;
    bool is_over;
};

struct log_comparison {
    struct compare_side sides[2]; /* the original, the copy */
    str id;
    compare_fn fn;
    void *ctx;
    size_t reading; /* the side of the pending call */
    struct arena arena, page;
};

static void compare_step(struct log_comparison *c);

static void compare_end(struct log_comparison *c, const struct err *err, enum compare_result result)
{
    c->fn(c->ctx, err, result);
    for (size_t i = 0; i < ARRAY_LEN(c->sides); i++)
        free(c->sides[i].hashes);
    arena_done(&c->page);
    arena_done(&c->arena);
    free(c);
}

/* As convert.c writes it to the other store: without a chain, with a time. */
static void add_hash(struct log_comparison *c, struct compare_side *s, str line)
{
    str body, hash;
    struct event_head head;
    struct json *v;
    (void)chain_split(line, &body, &hash, &c->page);
    if (!event_scan(body, &head) || json_parse(&c->page, body, 0, &v, NULL) < 0)
        return;
    body = event_dated(&c->page, body, v, &s->last_ms);
    GROW(s->hashes, s->n, s->cap);
    sha256_hex(body, s->hashes[s->n++]);
}

static void on_compare_page(void *ctx, const struct err *err, const struct store_page *page)
{
    struct log_comparison *c = ctx;
    struct compare_side *s = &c->sides[c->reading];
    if (err) {
        compare_end(c, err, COMPARE_DIFFERENT);
        return;
    }
    assert(s->at == s->n);
    s->n = s->at = 0;
    for (size_t i = 0; i < page->n; i++) {
        add_hash(c, s, page->events[i].line);
        s->after = page->events[i].pos;
        arena_reset(&c->page);
    }
    s->is_over = page->reached_end || page->n == 0;
    compare_step(c);
}

static bool must_read(const struct compare_side *s)
{
    return s->at == s->n && !s->is_over;
}

static void compare_step(struct log_comparison *c)
{
    struct compare_side *x = &c->sides[0], *y = &c->sides[1];
    bool is_same = true;
    while (is_same && x->at < x->n && y->at < y->n)
        is_same = memcmp(x->hashes[x->at++], y->hashes[y->at++], SHA256_HEX_LEN) == 0;
    if (!is_same) {
        compare_end(c, NULL, COMPARE_DIFFERENT);
    } else if (must_read(x) || must_read(y)) {
        const struct store_range range = {
            .max_events = PAGE_EVENTS, .max_bytes = PAGE_BYTES, .with_blobs = true};
        struct store_range r = range;
        c->reading = must_read(x) ? 0 : 1;
        r.after = c->sides[c->reading].after;
        (void)store_read(c->sides[c->reading].store, c->id, &r, on_compare_page, c);
    } else {
        compare_end(c, NULL, x->at == x->n ? COMPARE_SAME : COMPARE_PARTIAL);
    }
}

void compare_logs(struct store *original, struct store *copy, str id, int64_t created_ms,
                  compare_fn fn, void *ctx)
{
    struct log_comparison *c = xcalloc(1, sizeof *c);
    arena_init(&c->arena);
    arena_init(&c->page);
    c->sides[0] = (struct compare_side){.store = original, .last_ms = created_ms};
    c->sides[1] = (struct compare_side){.store = copy, .last_ms = created_ms};
    c->id = arena_str(&c->arena, id);
    c->fn = fn;
    c->ctx = ctx;
    compare_step(c);
}
