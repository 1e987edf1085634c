/* registry.h - the tools of one workspace, and their calls.
 *
 * Bundles and built-in tools add themselves as sources; callers see one flat namespace. The
 * registry finds the tool for a public name, validates the arguments against its schema, limits
 * the concurrent calls of each source (first come, first served), and bounds time and size. Every
 * failure is returned as a result with is_error, so that the model can react to it.
 *
 * A call is answered exactly once, never before registry_call returned, unless it is
 * cancelled. Loop thread only. */
#pragma once

#include "tools/result.h"
#include "tools/toolset.h"

#define REGISTRY_SOURCES_MAX      256
#define REGISTRY_PRIVATE_MAX      8    /* private sources of one audience */
#define REGISTRY_QUEUE_MAX        1024 /* calls that wait for one source */
#define REGISTRY_CONCURRENT       6
#define REGISTRY_TIMEOUT_MS       120000
#define REGISTRY_RESULT_CHARS_MAX 1000000

struct registry;

struct registry *registry_new(struct loop *loop);
/* Cancels all calls without callbacks. Sources and observers are not notified. */
void registry_free(struct registry *r);

void registry_set_result_limit(struct registry *r, size_t max_chars); /* 0 = no limit */

/* ---- sources ---- */

/* Borrows `src` until it is removed. Refuses a name that is taken (-EEXIST) or not made of
 * [A-Za-z0-9_-] (-EINVAL), and more than REGISTRY_SOURCES_MAX sources (-ENOSPC). */
int registry_add_source(struct registry *r, const struct tool_source *src, struct err *e);

/* A private source (only_for) is for its audience alone: registry_tools_for and calls of runs find
 * it, nothing else does, and observers are not notified. Refused beyond REGISTRY_PRIVATE_MAX of one
 * audience. The same functions remove and change it. */

/* Cancels the running calls of the source now, and never calls the source again; the callers get
 * an error result later. A source is identified by its address, not by its name: a source that was
 * refused cannot remove the registered source of the same name. Unknown sources are ignored. */
void registry_remove_source(struct registry *r, const struct tool_source *src);

/* The tool list of the source may have changed. Unknown sources are ignored. */
void registry_changed(struct registry *r, const struct tool_source *src);

/* Names of the sources, sorted; valid until sources change. */
const str *registry_sources(const struct registry *r, size_t *ret_n);

struct registry_observer {
    struct list_node node;
    void (*changed)(void *ctx, str source); /* must neither add nor remove sources */
    void *ctx;
};
void registry_observe(struct registry *r, struct registry_observer *o);
void registry_unobserve(struct registry_observer *o); /* safe inside `changed` */

/* ---- tools ---- */

/* All current tools. Borrowed until the next change; take a reference to keep the set. */
struct toolset *registry_tools(struct registry *r);

/* The tool that a call of this name would reach (older names included), or NULL, also for tools
 * that only interfaces may call. Check permissions against the name of the item, not against the
 * name that was called. */
const struct toolset_item *registry_find(struct registry *r, str name, const struct json *args,
                                         bool is_admin);
/* The same with the private tools of this audience. */
struct toolset *registry_tools_for(struct registry *r, const struct tool_audience *who);
const struct toolset_item *registry_find_for(struct registry *r, const struct tool_audience *who,
                                             str name, const struct json *args, bool is_admin);

/* The resource of the interface that a tool of this name has for models; empty = none. Valid until
 * the tools change. */
str registry_interface_of(struct registry *r, str name);

/* An error text for an unknown tool, with similar names or the known sources. */
str registry_explain_unknown(struct registry *r, struct arena *a, str name, bool is_admin);

/* ---- sources whose tools are not available now ---- */

str registry_source_of(const struct registry *r, str name); /* of a public name; or empty */
/* As tool_source.absence. Empty also when the source is unknown. */
str registry_absence(const struct registry *r, struct arena *a, str source, bool *ret_is_coming);

/* Calls fn once, never before this returns: when the source has finished starting (with or without
 * tools), or after timeout_ms. */
struct registry_wait;
struct registry_wait *registry_await(struct registry *r, str source, uint64_t timeout_ms,
                                     loop_fn fn, void *ctx);
void registry_await_cancel(struct registry_wait *w); /* before fn was called */

/* ---- calls ---- */

/* args is borrowed until the answer or the cancellation, like ev and ctx; NULL is {}. The rest is
 * borrowed for the duration of this call. The handle is valid until `done`. */
struct tool_call *registry_call(struct registry *r, str name, const struct json *args,
                                const struct tool_caller *who, const struct tool_call_events *ev,
                                void *ctx);
/* Asks the source whether the caller has the rights for this call (tool_source.probe). Answered and
 * cancelled like a call. NULL: the source has no probe, and no callback follows. */
struct tool_call *registry_probe(struct registry *r, str name, const struct json *args,
                                 const struct tool_caller *who, const struct tool_call_events *ev,
                                 void *ctx);
void registry_cancel(struct tool_call *c); /* no callback follows */
