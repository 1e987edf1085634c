/* loop.h - the one thread that owns all state.
 *
 * A thin layer over libuv. Every function here is for the loop thread only, except
 * loop_post and loop_stop, which any thread may call. Everything that can block belongs in a
 * pool (pool.h). Only loop/, http/, net/ and cli/ use libuv itself (loop_uv). */
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

/* Keeps loop_free waiting, for LOOP_HELD_MS at most, until the release. For objects without an
 * owner that end soon without help, such as a child that was killed. */
#define LOOP_HELD_MS 5000
void loop_hold(struct loop *l);
void loop_release(struct loop *l);

void loop_run(struct loop *l);  /* until loop_stop */
void loop_stop(struct loop *l); /* any thread; a stop before run makes run return immediately */
/* Runs until *done is true, the time is up or somebody calls loop_stop; for tests and one-shot
 * commands. Returns *done. */
bool loop_run_until(struct loop *l, const bool *done, uint64_t timeout_ms);

/* How often the loop has waited for something and continued, since loop_new. A server that has
 * nothing to do must not wake up. */
uint64_t loop_wakeups(const struct loop *l);

struct uv_loop_s *loop_uv(struct loop *l);
struct logger *loop_log(struct loop *l);

/* The time (clock_mono_us) at which the current `done` of a pool's job began; 0 outside of one. A
 * caller that charges this time to a client restarts it, so that the next caller charges only the
 * rest. */
uint64_t loop_job_since_us(const struct loop *l);
void loop_job_restart(struct loop *l, uint64_t now_us);

/* Calls fn on the loop thread, in the order of the posts. Any thread. */
void loop_post(struct loop *l, loop_fn fn, void *ctx);

/* Calls fn after the callbacks of this turn, before the loop sleeps. Breaks recursion: fn runs
 * soon, but never inside the function that asked for it. */
struct deferred {
    struct list_node node;
    loop_fn fn;
    void *ctx;
};
void defer_init(struct deferred *d, loop_fn fn, void *ctx);
void defer_start(struct loop *l, struct deferred *d); /* a no-op when already waiting */
void defer_stop(struct deferred *d);                  /* a no-op when not waiting */
