/* builtin.h - the tools of every workspace: nb__status, nb__time, conversations__list, files__read,
 * ...
 *
 * Each is a const struct builtin_tool; builtin.c lists them by source. A tool answers through
 * builtin_reply*, immediately or later; the call exists until then. */
#pragma once

#include "auth/rule.h"
#include "bundle/package/mpak.h"
#include "runtime/runtime.h"
#include "tools/registry.h"

struct builtin;
struct bundle_changer;
struct bundles;

/* The rights that a caller of a built-in tool needs; rows for docs/access.md. */
struct builtin_access {
    const char *source, *name;
    const char *action, *scope; /* of tools that do several things; else NULL */
    struct access_rule rule;    /* complete: scope and role are never 0 */
    bool is_read_only;
};
bool builtin_access_at(size_t i, struct builtin_access *ret); /* false past the last */

/* The descriptions of all tools, parsed once for all workspaces of a server. Must outlive their
 * registries and every toolset. */
struct builtin_catalog;
struct builtin_catalog *builtin_catalog_new(void);
void builtin_catalog_free(struct builtin_catalog *c); /* accepts NULL */

struct builtin_deps { /* borrowed */
    struct runtime *runtime;
    uint64_t started_ms;                   /* monotonic */
    struct mpak_conf registry;             /* of bundles; no fetcher = no registry */
    const struct builtin_catalog *catalog; /* NULL = its own */
};

struct builtin *builtin_new(const struct builtin_deps *deps);
/* Enables the tools for bundles; without this call they find no bundles. */
void builtin_set_bundles(struct builtin *b, struct bundles *bundles,
                         struct bundle_changer *changer);
/* Adds its sources; the registry is borrowed until builtin_free. */
int builtin_register(struct builtin *b, struct registry *r, struct err *e);
void builtin_free(struct builtin *b); /* cancels all calls, removes its sources */
