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

static void page_take(struct pager *p, str line, off_t start, off_t end)
{
    struct arena *a = p->arena;
    GROW(p->events, p->n, p->cap);
    str whole = p->range->with_blobs ? blobs_restore(a, p->source->blob_dir, line) : line;
    if (p->range->with_files)
        whole = file_parts_restore(a, p->source->blob_dir, whole);
    if (whole.p == line.p)
        whole = arena_str(a, line);
    if (p->n == 0 || start < p->start)
        p->start = start;
    p->events[p->n++] = (struct store_event){.pos = (store_pos)end, .line = whole};
    p->bytes += whole.n;
}

static void take_tail(struct pager *p)
{
    str event;
    if (event_of(p, p->tail, &event))
        page_take(p, event, p->limit, p->limit + (off_t)p->tail.n + 1);
}

static int read_forwards(struct pager *p, struct store_page *page)
{
    struct lines lines;
    struct line line;
    int r = 0;
    bool is_cut = false;
    lines_init(&lines, p->fd, (off_t)p->range->after, p->limit);
    while (!is_cut && (r = lines_next(&lines, &line)) > 0) {
        str event;
        if (!event_of(p, line.text, &event))
            continue;
        is_cut = is_full(p, event.n);
        if (!is_cut)
            page_take(p, event, line.start, line.end);
    }
    lines_done(&lines);
    if (r == 0 && p->tail.n && !is_cut && !(is_cut = is_full(p, p->tail.n)))
        take_tail(p);
    page->reached_end = !is_cut;
    page->reached_start = p->range->after == 0;
    return r < 0 ? r : 0;
}

/* The events among the lines of one piece of the file, newest first. False: page is full. */
static bool take_backwards(struct pager *p, str piece, off_t from, off_t *ret_oldest)
{
    size_t end = piece.n;
    while (end > 0) {
        const char *lf = end > 1 ? memrchr(piece.p, '\n', end - 1) : NULL;
        size_t start = lf ? (size_t)(lf - piece.p) + 1 : 0;
        str line = str_slice(piece, start, end - 1);
        str event;
        if (line.n <= LINES_MAX_BYTES && event_of(p, line, &event)) {
            if (is_full(p, event.n))
                return false;
            page_take(p, event, from + (off_t)start, from + (off_t)end);
        }
        *ret_oldest = from + (off_t)start;
        end = start;
    }
    return true;
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
    bool has_room = true;
    off_t end = before ? (off_t)before : p->limit;
    if (p->tail.n && !before)
        take_tail(p);
    page->reached_end = end == p->limit && (!before || !p->tail.n);
    while (has_room && end > 0) {
        off_t from;
        str piece;
        struct arena a;
        arena_init(&a);
        int r =
            lines_tail(&a, p->fd, end, p->range->max_events, p->range->max_bytes, &from, &piece);
        if (r == 0 && piece.n == 0) /* the line is too long: skip it */
            r = lines_last_start(p->fd, end - 1, &end);
        else if (r == 0)
            has_room = take_backwards(p, piece, from, &end);
        arena_done(&a);
        if (r < 0)
            return r;
    }
    page->reached_start = end == 0;
    reverse(p->events, p->n);
    return 0;
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
