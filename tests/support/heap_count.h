/* heap_count.h - how much memory a piece of code takes, in bytes, exactly.
 *
 *     heap_count_needed();   first of all in a test that cannot do without
 *     heap_count_begin();
 *     work();
 *     heap_count_end();      what this thread has allocated and not freed since
 *     heap_count_most();     the most of it at any moment
 *     heap_count_now();      before the end: what it is now
 *
 * Only in builds with AddressSanitizer, which tells of each allocation; elsewhere nothing is
 * counted, and heap_count_needed skips the test. Allocations of other threads are not counted. One
 * count at a time. */
#pragma once

#include <stdbool.h>

#include "support/unit.h"

#if defined(__SANITIZE_ADDRESS__)
/* Of sanitizer/allocator_interface.h, which GCC does not install. */
int __sanitizer_install_malloc_and_free_hooks(void (*on_alloc)(const volatile void *p, size_t n),
                                              void (*on_free)(const volatile void *p));
size_t __sanitizer_get_allocated_size(const volatile void *p);

static _Thread_local bool heap_is_counted;
static _Thread_local long heap_now, heap_most;

static inline void on_heap_alloc(const volatile void *p, size_t n)
{
    if (!heap_is_counted || !p)
        return;
    heap_now += (long)n;
    heap_most = heap_now > heap_most ? heap_now : heap_most;
}

static inline void on_heap_free(const volatile void *p)
{
    if (heap_is_counted && p)
        heap_now -= (long)__sanitizer_get_allocated_size(p);
}

static inline void heap_count_needed(void) {}

static inline void heap_count_begin(void)
{
    static bool is_installed;
    if (!is_installed)
        assert_true(__sanitizer_install_malloc_and_free_hooks(on_heap_alloc, on_heap_free) > 0);
    is_installed = true;
    heap_now = heap_most = 0;
    heap_is_counted = true;
}

static inline long heap_count_now(void)
{
    return heap_now;
}

static inline long heap_count_end(void)
{
    heap_is_counted = false;
    return heap_now;
}

static inline long heap_count_most(void)
{
    return heap_most;
}
#else
static inline void heap_count_needed(void)
{
    skip();
}

static inline void heap_count_begin(void) {}

static inline long heap_count_now(void)
{
    return 0;
}

static inline long heap_count_end(void)
{
    return 0;
}

static inline long heap_count_most(void)
{
    return 0;
}
#endif
