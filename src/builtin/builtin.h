/* builtin.h - the tools every workspace has: nb__status, nb__time, nb__calculate, ...
 *
 * One file per tool, each with a const struct builtin_tool; table.c lists them. A tool
 * answers through builtin_reply*, at once or later; the call lives until then. */
#pragma once

#include "runtime/runtime.h"
#include "tools/tool.h"

struct builtin;

struct builtin_deps { /* borrowed */
    struct runtime *runtime;
    uint64_t started_ms; /* monotonic */
};

struct builtin *builtin_new(const struct builtin_deps *deps);
void builtin_free(struct builtin *b);                              /* cancels what runs */
const struct tool_source *builtin_source(const struct builtin *b); /* "nb" */
