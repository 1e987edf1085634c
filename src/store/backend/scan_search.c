/* scan_search.c - searches without an index by reading every log; newest hits first. */
#include "base/clock.h"
#include "store/backend/backend.h"
#include "store/event/query.h"
#include "store/event/text.h"

enum { BUDGET_MS = 3000, HITS_MAX = 20000 };

struct searcher {
    struct store_op *op;
    struct query query;
    struct store_hit *hits; /* heap */
    size_t n, cap;
    struct derive derive; /* of the current log */
    size_t first;         /* its first hit */
    struct arena scratch;
    uint64_t deadline_ms;
    str id;
};

static bool search_is_over(struct searcher *s)
{
    return s->n >= HITS_MAX || clock_mono_ms() >= s->deadline_ms;
}

static void add_hit(struct searcher *s, const struct event_text *text, const struct json *event,
                    store_pos pos)
{
    struct arena *a = &s->op->arena;
    GROW(s->hits, s->n, s->cap);
    s->hits[s->n++] = (struct store_hit){
        .conv_id = s->id,
        .ts = event_iso(a, event),
        .role = text->role,
        .pos = pos,
        .snippet = query_snippet(a, &s->query, text->text),
    };
}

static bool on_search_line(void *ctx, str line, store_pos end)
{
    struct searcher *s = ctx;
    struct event_head head;
    struct event_text text;
    struct json *v;
    bool is_first = !s->derive.has_header;
    derive_line(&s->derive, line, end);
    if (is_first || !event_scan(line, &head) || !text_in_type(head.type))
        return true;
    arena_reset(&s->scratch);
    if (json_parse(&s->scratch, line, 0, &v, NULL) == 0 &&
        text_of_event(&s->scratch, head.type, v, &text) &&
        query_matches(&s->query, &s->scratch, &text, v))
        add_hit(s, &text, v, end);
    return !search_is_over(s);
}

/* The access of a conversation is known only at the end of its log, so hits may be dropped then. */
static bool on_id(void *ctx, str id)
{
    struct searcher *s = ctx;
    struct store *store = s->op->store;
    if (search_is_over(s))
        return false;
    s->id = arena_str(&s->op->arena, id);
    s->first = s->n;
    derive_init(&s->derive, store->env);
    int r = store->ops->scan(store, id, on_search_line, s, NULL);
    const struct viewer *viewer = s->op->in.search.viewer;
    /* A child run has the access of its parent, which is not in this log. */
    bool is_child = s->derive.conv.parent != NULL;
    if (r < 0 || (viewer && (is_child || !access_allows(viewer, &s->derive.conv.acl, CONV_VIEW))))
        s->n = s->first;
    str title = arena_str(&s->op->arena, s->derive.conv.title);
    for (size_t i = s->first; i < s->n; i++)
        s->hits[i].title = title;
    derive_done(&s->derive);
    return true;
}

static int newest_first(const void *a, const void *b)
{
    const struct store_hit *x = a, *y = b;
    int by_time = str_cmp(y->ts, x->ts);
    return by_time ? by_time : (x->pos < y->pos) - (x->pos > y->pos);
}

void scan_search(struct store_op *op)
{
    struct store *store = op->store;
    struct searcher s = {.op = op, .deadline_ms = clock_mono_ms() + BUDGET_MS};
    if (query_parse(&op->arena, op->in.search.text, &s.query, &op->err) < 0)
        return;
    arena_init(&s.scratch);
    if (op->in.search.conv_id.n)
        (void)on_id(&s, op->in.search.conv_id);
    else
        store->ops->each_id(store, on_id, &s, &op->err);
    if (s.n > 1)
        qsort(s.hits, s.n, sizeof(*s.hits), newest_first);
    size_t n = s.n < op->in.search.limit ? s.n : op->in.search.limit;
    struct store_hit *hits = arena_copy(&op->arena, s.hits, n, n + 1, sizeof(*hits));
    op->out.hits = (struct store_hits){
        .hits = hits, .n = n, .total = (int64_t)s.n, .is_partial = search_is_over(&s)};
    free(s.hits);
    arena_done(&s.scratch);
}
