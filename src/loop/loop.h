/* loop.h - the one thread that owns all state.
 *
 * A thin coat over libuv. Every function here is for the loop thread only, except
 * loop_post and loop_stop, which any thread may call. Whatever can block belongs in a pool
 * (pool.h). Only loop/, http/, net/ and cli/ see libuv itself (loop_uv). */
#pragma once

#include "base/list.h"
#include "base/log.h"
#include "base/str.h"

struct loop;
struct uv_loop_s;

typedef void (*loop_fn)(void *ctx);

struct loop *loop_new(struct logger *log);

/* Asserts that nothing is pending: every handle closed, every timer stopped, every pool
 * freed. Runs the remaining close callbacks first. */
void loop_free(struct loop *l);

/* Something that nobody owns any more ends by itself soon, like a child that was killed:
 * loop_free waits for the release, for LOOP_HELD_MS at most. */
#define LOOP_HELD_MS 5000
void loop_hold(struct loop *l);
void loop_release(struct loop *l);

void loop_run(struct loop *l);  /* until loop_stop */
void loop_stop(struct loop *l); /* any thread; a stop before run makes run return at once */
/* Runs until *done is true, the time is up or somebody calls loop_stop; for tests and one-shot
 * commands. Returns *done. */
bool loop_run_until(struct loop *l, const bool *done, uint64_t timeout_ms);

struct uv_loop_s *loop_uv(struct loop *l);
struct logger *loop_log(struct loop *l);

/* Since when the loop thread is in the `done` of a pool's job: clock_mono_us, or 0 outside. Whoever
 * pays for a part of it restarts it, so that the next one pays for the rest. */
uint64_t loop_job_since_us(const struct loop *l);
void loop_job_restart(struct loop *l, uint64_t now_us);

/* Calls fn on the loop thread, in the order of the posts. Any thread. */
void loop_post(struct loop *l, loop_fn fn, void *ctx);

/* Calls fn after the callbacks of this turn, before the loop sleeps. The way to break
 * recursion: "answer later, but at once". */
struct deferred {
    struct list_node node;
    loop_fn fn;
    void *ctx;
};
void defer_init(struct deferred *d, loop_fn fn, void *ctx);
void defer_start(struct loop *l, struct deferred *d); /* a no-op when already waiting */
void defer_stop(struct deferred *d);                  /* a no-op when not waiting */
