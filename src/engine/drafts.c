#include "engine/drafts.h"

void drafts_init(struct drafts *d)
{
    *d = (struct drafts){0};
    arena_init(&d->arena);
}

void drafts_done(struct drafts *d)
{
    arena_done(&d->arena);
}

void drafts_begin(struct drafts *d, const struct draft *call)
{
    if (d->n == DRAFTS_MAX)
        return;
    ARENA_GROW(&d->arena, d->items, d->n, d->cap);
    d->items[d->n++] = (struct draft){
        .id = arena_str(&d->arena, call->id),
        .name = arena_str(&d->arena, call->name),
        .ui_uri = arena_str(&d->arena, call->ui_uri),
    };
}

void drafts_clear(struct drafts *d)
{
    arena_reset(&d->arena);
    d->items = NULL;
    d->n = d->cap = 0;
}

const struct draft *drafts_find(const struct drafts *d, str id)
{
    for (size_t i = 0; i < d->n; i++)
        if (str_eq(d->items[i].id, id))
            return &d->items[i];
    return NULL;
}
