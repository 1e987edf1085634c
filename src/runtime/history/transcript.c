#include "runtime/history/transcript.h"

#include <assert.h>

#include "base/json/json_scan.h"

struct transcript *transcript_new(void)
{
    struct transcript *t = xcalloc(1, sizeof *t);
    arena_init(&t->arena);
    arena_init(&t->fresh);
    replay_init_model(&t->replay, &t->arena, NULL);
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
    const struct replay *r = &t->replay;
    return t->arena.total + t->fresh.total + r->cap * sizeof *r->messages +
           r->said_cap * sizeof *r->said;
}

void transcript_load(struct transcript *t, const struct store_page *page, size_t nbefore,
                     const struct past *past)
{
    assert(t->n == 0 && t->known == 0 && t->replay.n == 0 && nbefore <= page->n);
    replay_done(&t->replay);
    replay_init_model(&t->replay, &t->arena, past);
    for (size_t i = 0; i < nbefore; i++)
        replay_add_before(&t->replay, page->events[i].line);
    for (size_t i = nbefore; i < page->n; i++)
        replay_add(&t->replay, page->events[i].line, 0);
    replay_pause(&t->replay);
    t->known = page->end;
}

void transcript_add(struct transcript *t, str line)
{
    ARENA_GROW(&t->fresh, t->lines, t->n, t->cap);
    t->lines[t->n++] = (struct transcript_line){.text = arena_str(&t->fresh, line)};
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
    str type = json_scan_plain(json_scan_field(line, STR("type")));
    return type.n > 0 && !replay_reads(event_type_of(type));
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
    replay_pause(&t->replay);
    if (t->nknown == t->n)
        drop_lines(t);
    return &t->replay;
}
