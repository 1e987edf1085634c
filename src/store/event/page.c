#include "store/event/page.h"

#include "store/event/blobs.h"
#include "store/event/event.h"
#include "store/event/lines.h"

struct pager {
    struct arena *arena;
    const struct store_range *range;
    const struct page_source *source;
    int fd;
    off_t limit;
    str tail;                   /* a last line that only lacks its line feed; at limit */
    struct store_event *events; /* heap, moved to the arena at the end */
    size_t n, cap, bytes;
    off_t start; /* of the first event of the page */
    struct arena scratch;
};

/* The event of a line, valid until the next call. False: the line is not an event. */
static bool event_of(struct pager *p, str line, str *ret)
{
    struct event_head head;
    struct json *v;
    arena_reset(&p->scratch);
    *ret = p->source->event ? p->source->event(&p->scratch, line) : line;
    return event_scan(*ret, &head) && json_parse(&p->scratch, *ret, 0, &v, NULL) == 0;
}

static bool is_full(const struct pager *p, size_t more)
{
    return p->n >= p->range->max_events || (p->n > 0 && p->bytes + more > p->range->max_bytes);
}

static void page_take(struct pager *p, str line, off_t start, off_t end, bool is_whole)
{
    struct arena *a = p->arena;
    GROW(p->events, p->n, p->cap);
    str whole = line;
    if (is_whole && p->range->with_blobs)
        whole = blobs_restore(a, p->source->blobs, line);
    if (is_whole && p->range->with_files)
        whole = file_parts_restore(a, p->source->blobs, whole);
    if (whole.p == line.p)
        whole = arena_str(a, line);
    if (p->n == 0 || start < p->start)
        p->start = start;
    p->events[p->n++] = (struct store_event){.pos = (store_pos)end, .line = whole};
    p->bytes += whole.n;
}

/* The next line of a reading; false: the page has all that it may have. */
static bool page_add(struct pager *p, str line, off_t start, off_t end)
{
    str event;
    if (!event_of(p, line, &event))
        return true;
    if (is_full(p, event.n))
        return false;
    page_take(p, event, start, end, true);
    return true;
}

/* The same when the caller chooses: it is asked about every line, and checks what it takes. */
static bool page_offer(struct pager *p, str line, off_t start, off_t end)
{
    if (p->bytes >= p->range->max_bytes)
        return false;
    arena_reset(&p->scratch);
    str event = p->source->event ? p->source->event(&p->scratch, line) : line;
    enum store_choice choice = p->range->choose(p->range->choose_ctx, event);
    if (choice == STORE_STOP)
        return false;
    if (choice != STORE_SKIP)
        page_take(p, event, start, end, choice == STORE_TAKE_WHOLE);
    p->start = start;
    return true;
}

static bool page_next(struct pager *p, str line, off_t start, off_t end)
{
    bool (*add)(struct pager *, str, off_t, off_t) = p->range->choose ? page_offer : page_add;
    return add(p, line, start, end);
}

static bool page_tail(struct pager *p)
{
    return page_next(p, p->tail, p->limit, p->limit + (off_t)p->tail.n + 1);
}

static int read_forwards(struct pager *p, struct store_page *page)
{
    struct lines lines;
    struct line line;
    int r = 0;
    bool has_room = true;
    lines_init(&lines, p->fd, (off_t)p->range->after, p->limit);
    while (has_room && (r = lines_next(&lines, &line)) > 0)
        has_room = page_next(p, line.text, line.start, line.end);
    lines_done(&lines);
    if (r == 0 && p->tail.n && has_room)
        has_room = page_tail(p);
    page->reached_end = has_room;
    page->reached_start = p->range->after == 0;
    return r < 0 ? r : 0;
}

static void reverse(struct store_event *events, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        struct store_event swapped = events[i];
        events[i] = events[n - 1 - i];
        events[n - 1 - i] = swapped;
    }
}

/* before: 0 = everything. */
static int read_backwards(struct pager *p, store_pos before, struct store_page *page)
{
    struct lines_back lines;
    struct line line;
    int r = 0;
    off_t end = before ? (off_t)before : p->limit;
    bool has_tail = p->tail.n && !before;
    bool has_room = !has_tail || page_tail(p);
    page->reached_end = end == p->limit && (!before || !p->tail.n);
    page->end = has_tail ? (store_pos)end + p->tail.n + 1 : (store_pos)end;
    lines_back_init(&lines, p->fd, end);
    while (has_room && (r = lines_back_next(&lines, &line)) > 0)
        has_room = page_next(p, line.text, line.start, line.end);
    lines_back_done(&lines);
    page->reached_start = has_room;
    reverse(p->events, p->n);
    return r < 0 ? r : 0;
}

/* A position that is not the end of a line of this log belongs to a different log. */
static int check_position(const struct pager *p, store_pos pos, bool *ret_is_beyond)
{
    if (pos > (store_pos)p->limit) {
        *ret_is_beyond = true;
        return 0;
    }
    int r = lines_is_boundary(p->fd, (off_t)pos);
    *ret_is_beyond = r == 0;
    return r < 0 ? r : 0;
}

/* Finds the end of the last complete line: an unfinished line of another writer is ignored. */
static int find_end(struct pager *p)
{
    off_t size = p->limit;
    int r = lines_last_start(p->fd, size, &p->limit);
    if (r < 0 || p->limit == size || p->source->is_bounded)
        return r;
    r = lines_unended(p->arena, p->fd, p->limit, size, &p->tail);
    if (r == 0)
        p->tail = STR_NONE;
    return r < 0 ? r : 0;
}

static int pager_read(struct pager *p, struct store_page *page)
{
    const struct store_range *range = p->range;
    store_pos pos = range->backwards ? range->before : range->after;
    int r = find_end(p);
    if (r < 0)
        return r;
    bool is_past_tail = p->tail.n && pos == (store_pos)p->limit + p->tail.n + 1;
    if (is_past_tail && !range->backwards) {
        page->reached_end = true;
        return 0;
    }
    if (is_past_tail)
        pos = 0;
    r = check_position(p, pos, &page->is_beyond_end);
    if (r < 0 || page->is_beyond_end)
        return r;
    if (!range->backwards)
        return read_forwards(p, page);
    return read_backwards(p, pos, page);
}

int page_read(struct arena *a, const struct page_source *source, const struct store_range *range,
              struct store_page *ret)
{
    struct pager p = {
        .arena = a, .range = range, .source = source, .fd = source->fd, .limit = source->limit};
    *ret = (struct store_page){0};
    arena_init(&p.scratch);
    int r = pager_read(&p, ret);
    ret->events = arena_copy(a, p.events, p.n, p.n + 1, sizeof(*p.events));
    ret->n = p.n;
    ret->start = p.n ? (store_pos)p.start : range->after;
    free(p.events);
    arena_done(&p.scratch);
    return r;
}
