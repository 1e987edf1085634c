/* fuzz_jsonl.c - any bytes as a conversation log: reading it never crashes, both directions
 * and all page sizes agree, and what derives from it does not depend on where it stopped.
 * Then a writer opens it: after the repair the same events are there. */
#include <assert.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/event/blobs.h"
#include "store/event/derive.h"
#include "store/event/lines.h"
#include "store/event/page.h"
#include "store/event/query.h"
#include "store/event/text.h"
#include "store/log/recover.h"

enum { INPUT_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct store_env ENV = {0};

static struct store_page read_all(struct arena *a, int fd, off_t size)
{
    struct blob_dir blobs = blobs_in_dir(NULL, "/nonexistent");
    struct page_source source = {.fd = fd, .limit = size, .blobs = &blobs.place};
    struct store_range range = {
        .max_events = SIZE_MAX, .max_bytes = SIZE_MAX / 8, .with_blobs = true};
    struct store_page page;
    assert(page_read(a, &source, &range, &page) == 0);
    assert(page.reached_end && page.reached_start && !page.is_beyond_end);
    return page;
}

/* Page by page in one direction; must give the events of `all`. */
static void read_paged(struct arena *a, int fd, off_t size, const struct store_page *all,
                       struct store_range range)
{
    struct blob_dir blobs = blobs_in_dir(NULL, "/nonexistent");
    struct page_source source = {.fd = fd, .limit = size, .blobs = &blobs.place};
    size_t at = range.backwards ? all->n : 0;
    for (bool is_over = false; !is_over;) {
        struct store_page page;
        assert(page_read(a, &source, &range, &page) == 0);
        assert(!page.is_beyond_end);
        is_over = range.backwards ? page.reached_start : page.reached_end;
        assert(page.n > 0 || is_over);
        if (range.backwards)
            at -= page.n;
        for (size_t i = 0; i < page.n; i++) {
            assert(page.events[i].pos == all->events[at + i].pos);
            assert(str_eq(page.events[i].line, all->events[at + i].line));
        }
        if (!range.backwards)
            at += page.n;
        range.before = page.start;
        range.after = page.n ? page.events[page.n - 1].pos : range.after;
    }
    assert(at == (range.backwards ? 0 : all->n));
}

static void derive_all(struct arena *a, int fd, off_t size)
{
    struct derive whole;
    struct lines lines;
    struct line line;
    derive_init(&whole, &ENV);
    lines_init(&lines, fd, 0, size);
    while (lines_next(&lines, &line) > 0)
        derive_line(&whole, line.text, (store_pos)line.end);
    lines_done(&lines);
    (void)derive_conv(&whole, a, STR("conv_x"), STR("ws"));
    derive_done(&whole);
}

static void search_all(struct arena *a, const struct store_page *all, str words)
{
    struct query q;
    if (query_parse(a, words, &q, NULL) < 0)
        return;
    for (size_t i = 0; i < all->n; i++) {
        struct event_head head;
        struct event_text text;
        struct json *v;
        assert(event_scan(all->events[i].line, &head));
        assert(json_parse(a, all->events[i].line, 0, &v, NULL) == 0);
        if (text_of_event(a, head.type, v, &text) && query_matches(&q, a, &text, v))
            (void)query_snippet(a, &q, text.text);
    }
}

/* A repair keeps what could be read. It needs a path for what is torn off: there is none, so
 * a torn tail fails and leaves the log alone. */
static void repair(struct arena *a, int fd, off_t size, const struct store_page *before)
{
    struct recovery recovery;
    if (recover_tail(&store_io_system, fd, "/nonexistent/log", &recovery, NULL) < 0) {
        assert(lseek(fd, 0, SEEK_END) == size);
        return;
    }
    struct store_page after = read_all(a, fd, recovery.length);
    assert(after.n == before->n);
    for (size_t i = 0; i < after.n; i++)
        assert(after.events[i].pos == before->events[i].pos);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_MAX)
        return 0;
    int fd = memfd_create("log", MFD_CLOEXEC);
    assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    struct arena a;
    arena_init(&a);
    struct store_page all = read_all(&a, fd, (off_t)size);
    for (int backwards = 0; backwards < 2; backwards++) {
        read_paged(&a, fd, (off_t)size, &all,
                   (struct store_range){.max_events = 2,
                                        .max_bytes = 1u << 20,
                                        .backwards = backwards,
                                        .with_blobs = true});
        read_paged(
            &a, fd, (off_t)size, &all,
            (struct store_range){
                .max_events = 100, .max_bytes = 50, .backwards = backwards, .with_blobs = true});
    }
    derive_all(&a, fd, (off_t)size);
    search_all(&a, &all, str_make((const char *)data, size < 40 ? size : 40));
    repair(&a, fd, (off_t)size, &all);
    arena_done(&a);
    close(fd);
    return 0;
}
