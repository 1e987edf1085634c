#include "runtime/history/transcript.h"

#include <assert.h>

#include "base/json/json_scan.h"

struct transcript *transcript_new(void)
{
    struct transcript *t = xcalloc(1, sizeof *t);
    arena_init(&t->arena);
    arena_init(&t->fresh);
    replay_init(&t->replay, &t->arena);
    return t;
}

void transcript_free(struct transcript *t)
{
    if (!t)
        return;
    replay_done(&t->replay);
    arena_done(&t->fresh);
    arena_done(&t->arena);
    free(t);
}

size_t transcript_size(const struct transcript *t)
{
    return t->arena.total + t->fresh.total + t->replay.cap * sizeof *t->replay.messages;
}

void transcript_add(struct transcript *t, str line)
{
    ARENA_GROW(&t->fresh, t->lines, t->n, t->cap);
    t->lines[t->n++] = (struct transcript_line){.text = arena_str(&t->fresh, line)};
    t->bytes += line.n;
}

/* Pages arrive newest first; the transcript has the oldest line first. */
void transcript_prepend(struct transcript *t, const struct store_page *page)
{
    assert(t->replayed == 0);
    size_t total = t->n + page->n;
    struct transcript_line *lines = arena_array(&t->fresh, total + 16, sizeof *lines);
    for (size_t i = 0; i < page->n; i++) {
        const struct store_event *e = &page->events[i];
        lines[i] = (struct transcript_line){arena_str(&t->fresh, e->line), e->pos};
        t->bytes += e->line.n;
    }
    if (t->n > 0)
        memcpy(lines + page->n, t->lines, t->n * sizeof *lines);
    else if (page->n > 0)
        t->known = page->events[page->n - 1].pos;
    t->lines = lines;
    t->n = t->nknown = total;
    t->cap = total + 16;
}

void transcript_place(struct transcript *t, size_t first, const store_pos *pos, size_t n)
{
    assert(first + n <= t->n);
    for (size_t i = 0; i < n; i++)
        t->lines[first + i].pos = pos[i];
}

void transcript_settle(struct transcript *t, store_pos end)
{
    t->known = end;
    t->nknown = t->n;
}

/* A line of another writer is accepted if no message depends on it. */
static bool is_harmless(str line)
{
    return !replay_reads(json_scan_plain(json_scan_field(line, STR("type"))));
}

bool transcript_catch_up(struct transcript *t, const struct store_page *page)
{
    if (t->is_lost || page->is_beyond_end || !page->reached_end)
        return false;
    size_t next = t->nknown;
    for (size_t i = 0; i < page->n; i++) {
        const struct store_event *e = &page->events[i];
        if (next < t->n && t->lines[next].pos == e->pos)
            next++;
        else if (!is_harmless(e->line))
            return false;
    }
    if (next < t->n)
        return false;
    transcript_settle(t, page->n > 0 ? page->events[page->n - 1].pos : t->known);
    return true;
}

/* These lines are in the log, and their content is in the messages. */
static void drop_lines(struct transcript *t)
{
    arena_done(&t->fresh);
    t->lines = NULL;
    t->n = t->cap = t->nknown = t->replayed = 0;
}

const struct replay *transcript_replay(struct transcript *t)
{
    assert(t->replayed <= t->n && t->nknown <= t->n);
    while (t->replayed < t->n)
        replay_add(&t->replay, t->lines[t->replayed++].text, 0);
    if (t->nknown == t->n)
        drop_lines(t);
    return &t->replay;
}
