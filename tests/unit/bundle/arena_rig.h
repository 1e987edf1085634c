/* arena_rig.h - the arena of a test file: made before its first case, gone after the last. */
#pragma once

#include "base/arena.h"
#include "support/unit.h"

static struct arena arena;

static inline int setup(void **state)
{
    arena_init(&arena);
    return 0;
}

static inline int teardown(void **state)
{
    arena_done(&arena);
    return 0;
}
