#include <assert.h>

#include "runtime/turn.h"

void transcript_init(struct transcript *t)
{
    *t = (struct transcript){0};
    arena_init(&t->arena);
    replay_init(&t->replay, &t->arena);
}

void transcript_done(struct transcript *t)
{
    replay_done(&t->replay);
    arena_done(&t->arena);
}

void transcript_add(struct transcript *t, str line)
{
    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 16;
        str *grown = arena_array(&t->arena, cap, sizeof(str));
        if (t->n > 0)
            memcpy(grown, t->lines, t->n * sizeof(str));
        t->lines = grown;
        t->cap = cap;
    }
    t->lines[t->n++] = arena_str(&t->arena, line);
}

/* Pages come newest first; the transcript wants the oldest first. */
void transcript_prepend(struct transcript *t, const struct store_page *page)
{
    assert(t->replayed == 0);
    size_t total = t->n + page->n;
    str *lines = arena_array(&t->arena, total + 16, sizeof(str));
    for (size_t i = 0; i < page->n; i++)
        lines[i] = arena_str(&t->arena, page->events[i].line);
    if (t->n > 0)
        memcpy(lines + page->n, t->lines, t->n * sizeof(str));
    t->lines = lines;
    t->n = total;
    t->cap = total + 16;
}

const struct replay *transcript_replay(struct transcript *t)
{
    while (t->replayed < t->n)
        replay_add(&t->replay, t->lines[t->replayed++], 0);
    return &t->replay;
}
