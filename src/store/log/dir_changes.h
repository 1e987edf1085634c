/* dir_changes.h - the changes that this process makes to a directory of logs.
 *
 * The time of a directory tells that an entry was added or removed, but not by whom. Code that adds
 * or removes one says so before and after, so that the index (index.h) does not compare the whole
 * directory because of it. Any thread. */
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

struct dir_changes {
    _Atomic uint64_t begun, ended;
    _Atomic int64_t ended_at_ms; /* time of the last end; set before `ended` */
};

/* c may be NULL: nobody wants to know. */
static inline void dir_change_begins(struct dir_changes *c)
{
    if (c)
        atomic_fetch_add(&c->begun, 1);
}

static inline void dir_change_ends(struct dir_changes *c)
{
    if (!c)
        return;
    assert(atomic_load(&c->ended) < atomic_load(&c->begun));
    int64_t now = clock_now_ms(), last = atomic_load(&c->ended_at_ms);
    while (last < now && !atomic_compare_exchange_weak(&c->ended_at_ms, &last, now))
        ;
    atomic_fetch_add(&c->ended, 1);
}
