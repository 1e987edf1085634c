/* supervise.c - the states of a bundle.
 *
 *                 first list of tools
 *     STARTING ------------------------> RUNNING
 *      |  ^  |                            |   ^
 *      |  |  +--------- failure ----------+   | retry succeeds
 *      |  |                               v   |
 *      |  |                              CRASHED --BUNDLE_FAILURES_MAX in a row--> DEAD
 *      |  +--- supervise_start, supervise_restart: from every state
 *      +-----> STOPPED: supervise_stop, from every state; an attempt that fails for a reason that
 *              only a change can solve (is_final)
 *
 * While a crashed bundle is tried again its state stays CRASHED until it runs.
 *
 * At any time a bundle has at most one of these, and only the named files touch it:
 *
 *   b->start        an attempt to start (bundle_start.c), ends in supervise_failed or a connection
 *   b->connections  a connection, ready (b->is_ready) or not; SUPERVISE_EVENTS report on it
 *   b->retry        a timer for the next attempt (this file)
 *
 * Before anything follows a connection that was asked to close (b->is_closing), its end is awaited:
 * two servers never work on one data directory. A start that is requested meanwhile is remembered
 * in b->wants_start.
 *
 * Order of callbacks: ready -> watch_begin lists the tools -> RUNNING (supervise_watch.c). closed
 * -> watch_end, private connections close, then either finish_closing (asked for) or
 * supervise_failed (not asked for), which sets the next state, fails the calls that waited for this
 * start, and lets on_dispatch decide about the others. */
#include <assert.h>
#include <errno.h>
#include <signal.h>

#include "bundle/confine/cgroup.h"
#include "bundle/supervise/bundle_impl.h"
#include "bundle/supervise/failure_hint.h"

#define BACKOFF_MS 1000

/* nb cannot restart a remote server: it connects again immediately, then with longer delays. */
static const uint64_t REMOTE_DELAYS_MS[] = {0, 500, 2000, 30000};

static void set_state(struct bundle *b, enum bundle_state state, const char *reason, int code)
{
    /* Every crash is logged and reported, even with the same reason as the one before. */
    bool is_same = b->state == state && state != BUNDLE_CRASHED && strcmp(b->reason, reason) == 0;
    b->state = state;
    b->reason_code = code;
    snprintf(b->reason, sizeof(b->reason), "%s", reason);
    if (is_same)
        return;
    log_info(b->set->conf.log, "bundle", "%.*s%s%.*s is %s%s%s", STR_ARG(b->entry.server_name),
             b->user_id.n > 0 ? " of " : "", STR_ARG(b->user_id), bundle_state_name(state),
             reason[0] ? ": " : "", reason);
    bundle_changed(b, BUNDLE_STATE);
}

void supervise_state(struct bundle *b, enum bundle_state state, const char *reason)
{
    set_state(b, state, reason, 0);
}

/* ---- failures ---- */

/* Another attempt would fail in the same way until a person changes something. */
static bool is_final(int code)
{
    return code == -ENOKEY || code == -EINVAL || code == -ENOENT || code == -EACCES ||
           code == -ENOEXEC || code == -ENOSYS;
}

static uint64_t delay_of(const struct bundle *b)
{
    assert(b->failures > 0);
    unsigned n = b->failures - 1;
    if (bundle_is_child(b)) {
        uint64_t base = b->set->conf.times.backoff_ms ? b->set->conf.times.backoff_ms : BACKOFF_MS;
        return base << n;
    }
    return REMOTE_DELAYS_MS[n < ARRAY_LEN(REMOTE_DELAYS_MS) ? n : ARRAY_LEN(REMOTE_DELAYS_MS) - 1];
}

bool supervise_is_cooling(const struct bundle *b)
{
    return !bundle_is_child(b) && b->state == BUNDLE_CRASHED &&
           b->failures >= ARRAY_LEN(REMOTE_DELAYS_MS);
}

static void explain_failure(struct bundle *b, const struct err *err, char ret[ERR_MAX])
{
    if (b->kill_reason[0])
        snprintf(ret, ERR_MAX, "%s", b->kill_reason);
    else
        failure_hint(err, stderr_ring_text(&b->stderr_lines),
                     bundle_is_child(b) ? &b->entry.sandbox : NULL, ret);
    b->kill_reason[0] = '\0';
    stderr_ring_note(&b->stderr_lines, ret);
}

void supervise_failed(struct bundle *b, const struct err *err, bool was_connected)
{
    char reason[ERR_MAX];
    bool was_ready = b->is_ready;
    assert(!b->start && !b->connections && !b->is_closing);
    struct err why = {err->code, {0}};
    b->is_ready = false;
    /* The next attempt must not begin with the same token. */
    b->is_token_refused |= b->entry.oauth.is_on && err->code == -EKEYREJECTED;
    explain_failure(b, err, reason);
    snprintf(why.msg, sizeof(why.msg), "%.*s: %.900s", STR_ARG(b->entry.server_name), reason);
    b->failures++;
    if (!was_connected && is_final(err->code)) { /* an accepted connection shows that it can work */
        set_state(b, BUNDLE_STOPPED, reason, err->code);
    } else if (bundle_is_child(b) && b->failures >= BUNDLE_FAILURES_MAX) {
        char dead[ERR_MAX];
        snprintf(dead, sizeof(dead), "failed %u times in a row: %.900s", b->failures, reason);
        set_state(b, BUNDLE_DEAD, dead, err->code);
    } else {
        timer_start(&b->retry, delay_of(b));
        set_state(b, BUNDLE_CRASHED, reason, err->code);
    }
    /* Calls that waited for this start fail now; calls that a crash interrupted wait for the next
     * attempt. */
    if (!was_ready && (bundle_is_child(b) || supervise_is_cooling(b)))
        bundle_calls_fail(b, &why);
    bundle_dispatch_later(b);
    defer_start(b->set->conf.loop, &b->set->sweep);
}

/* ---- starting ---- */

static void attempt(struct bundle *b)
{
    assert(!b->start && !b->connections && !b->is_closing);
    timer_stop(&b->retry);
    if (people_is_face(b))
        people_open(b);
    else
        start_begin(b);
}

static void on_bundle_retry(void *ctx)
{
    struct bundle *b = ctx;
    b->restarts++;
    attempt(b);
}

void supervise_hurry(struct bundle *b)
{
    if (b->state == BUNDLE_CRASHED && bundle_is_child(b) && timer_active(&b->retry))
        timer_start(&b->retry, 0);
}

/* A start on request: earlier failures no longer matter. */
static void start_over(struct bundle *b)
{
    assert(!b->connections || b->is_closing);
    b->failures = b->restarts = 0;
    b->is_waiting = false;
    supervise_state(b, BUNDLE_STARTING, "");
    if (b->connections) /* closing: finish_closing starts it */
        b->wants_start = true;
    else if (!b->start)
        attempt(b);
}

void supervise_wait(struct bundle *b, str tools)
{
    assert(!b->connections && !b->start);
    b->is_waiting = true;
    supervise_state(b, BUNDLE_STOPPED, "it starts when a tool is first called");
    watch_know_tools(b, tools);
}

void supervise_start(struct bundle *b)
{
    if (b->set->is_stopping || b->is_removed || (b->connections && !b->is_closing))
        return;
    start_over(b);
}

/* ---- events of the connection ---- */

static void on_bundle_ready(void *ctx)
{
    struct bundle *b = ctx;
    if (b->is_closing) /* stopped while it was connecting */
        return;
    assert(b->connections && !b->is_ready && !b->start);
    b->is_ready = true;
    bundle_learn_server(b);
    watch_begin(b);
    bundle_dispatch_later(b);
}

static void finish_closing(struct bundle *b)
{
    assert(b->is_closing && !b->connections && !b->start && !b->is_ready);
    b->is_closing = false;
    if (b->wants_start) {
        b->wants_start = false;
        attempt(b);
    }
    bundle_dispatch_later(b);
    defer_start(b->set->conf.loop, &b->set->sweep);
}

static void leave_cgroup(struct bundle *b)
{
    if (!b->cgroup)
        return;
    /* A command of bash that ran out of memory has been answered; the bash server continues. */
    if (b->entry.kind != BUNDLE_BUILT_IN && cgroup_ran_out(b->cgroup))
        memory_explain(&b->entry, b->kill_reason);
    cgroup_remove(b->cgroup);
    free(b->cgroup);
    b->cgroup = NULL;
}

static void on_bundle_closed(void *ctx, const struct err *err)
{
    struct bundle *b = ctx;
    assert(b->connections && !b->start);
    watch_end(b);
    leave_cgroup(b); /* sets kill_reason, so before supervise_failed */
    b->connections = NULL;
    b->is_lost = false;
    b->rss_bytes = -1;
    bundle_close_guests(b);
    if (b->is_closing) {
        b->is_ready = false;
        finish_closing(b);
    } else {
        supervise_failed(b, err, true);
    }
}

const struct mcp_client_events SUPERVISE_EVENTS = {on_bundle_ready, on_bundle_closed};

/* ---- stopping ---- */

static void close_connection(struct bundle *b)
{
    uint64_t drain_ms = b->set->conf.times.drain_ms ? b->set->conf.times.drain_ms : BUNDLE_DRAIN_MS;
    timer_stop(&b->retry);
    start_cancel(b);
    bundle_close_guests(b);
    watch_end(b);
    people_close(b);
    if (!b->connections || b->is_closing)
        return;
    b->is_closing = true;
    connections_close(b->connections, drain_ms);
}

void supervise_stop(struct bundle *b, const char *reason)
{
    b->wants_start = b->is_waiting = false;
    close_connection(b);
    supervise_state(b, BUNDLE_STOPPED, reason);
    bundle_dispatch_later(b);
    defer_start(b->set->conf.loop, &b->set->sweep);
}

void supervise_restart(struct bundle *b)
{
    if (b->set->is_stopping || b->is_removed)
        return;
    close_connection(b);
    start_over(b);
}

void supervise_kill(struct bundle *b, const char *reason)
{
    if (!bundle_takes_calls(b))
        return;
    assert(b->connections && !b->is_closing);
    int pid = mcp_pid(connections_main(b->connections));
    b->is_lost = true;
    snprintf(b->kill_reason, sizeof(b->kill_reason), "%s", reason);
    if (pid > 0)
        (void)kill(pid, SIGKILL); /* on_bundle_closed follows */
    else
        connections_close(b->connections, 0);
}

void supervise_init(struct bundle *b)
{
    timer_init(&b->retry, b->set->conf.loop, on_bundle_retry, b);
    watch_init(b);
    bundle_calls_init(b);
}

void supervise_done(struct bundle *b)
{
    timer_stop(&b->retry);
    watch_end(b);
    defer_stop(&b->dispatch);
}
