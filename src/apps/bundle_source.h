/* bundle_source.h - the tools of bundles as sources of the registry.
 *
 * Each bundle is one source under its server name, from the moment it is known until it is
 * removed; its tools depend on its state. A call becomes tools/call; requests of the server
 * during the call are forwarded to the people of the conversation (bundle_ask.c). Loop thread only.
 */
#pragma once

#include "bundle/bundle.h"
#include "runtime/runtime.h"

struct bundle_sources;
struct ui_pages;

/* Everything is borrowed. `changed` (may be NULL) is called after every change: states, tools,
 * additions, removals. */
struct bundle_sources *bundle_sources_new(struct runtime *rt, const char *project_dir,
                                          void (*changed)(void *ctx, struct bundle *b,
                                                          enum bundle_change what),
                                          void *ctx);
/* Removes its sources from the registry. Call it after the bundles have stopped. */
void bundle_sources_free(struct bundle_sources *s);

/* `notified` is called, with the same ctx as `changed`, for other notifications of servers. */
void bundle_sources_on_notified(struct bundle_sources *s,
                                void (*notified)(void *ctx, struct bundle *b, str method,
                                                 const struct json *params));

/* The interfaces of their tools that were read (ui_resource.h). */
struct ui_pages *bundle_sources_pages(struct bundle_sources *s);

/* For bundles_conf.host. */
struct bundle_host bundle_sources_host(struct bundle_sources *s);
/* ClientCapabilities that go with it. */
extern const char BUNDLE_CLIENT_CAPABILITIES[];
