/* tool_selection.h - the tools that a model gets to see, and the tools that it may call at all.
 *
 * These are two different questions. The selection keeps the list short: all tools while the apps
 * have few, or the tools of the matched skill, or the system tools and those that this
 * conversation has used before; nb__discover_tools finds the others. nb's own tools (nb__*,
 * conversations__*) do not count towards the limit of app tools. A hard limit is different: a tool
 * that it excludes cannot be called, discovered or not. The result is sorted by name and equal for
 * equal input, so that provider caches stay valid. Loop thread. */
#pragma once

#include "base/json/json_decode.h"
#include "tools/toolset.h"

#define TOOL_SELECTION_MAX_DIRECT   30 /* tools of apps shown without a skill, unless configured */
#define TOOL_SELECTION_HIDDEN_NAMES 8  /* hidden tools of a source that are named */
#define PROMOTED_MAX                30

/* Globs as in base/text/glob.h. */
bool globs_match(struct json_strs g, str name);

/* ---- hard limits, checked again at call time ---- */

/* By the actor's filters and its role now. It does not say who makes the call: models never call
 * tools with is_internal. A delegated run (`is_child`) has neither nb__delegate nor the tools of
 * admins, unless a profile names them. */
bool tool_selection_may_call(const struct actor *a, bool is_child, const struct toolset_item *it);

/* By the filters alone: may the actor know that a tool of this name exists? */
bool tool_selection_allows_name(const struct actor *a, str name);
/* The same for things without a tool name: resources, prompts, completion and instructions of a
 * server. Every filter must let all tools of the source pass ("source__*"). */
bool tool_selection_may_use_source(const struct actor *a, str source);

/* ---- tools discovered in this run ---- */

/* The PROMOTED_MAX names that were asked for most recently. */
struct promoted {
    char names[PROMOTED_MAX][TOOL_NAME_MAX + 1]; /* least recent first */
    size_t len;
};

void promoted_add(struct promoted *p, str name); /* or moves it to the front */
bool promoted_has(const struct promoted *p, str name);

/* ---- surfacing ---- */

struct tool_selection_input {
    const struct toolset *tools;
    const struct actor *actor;
    bool is_child;
    struct json_strs skill; /* allowed-tools of the matched skill; none = no skill filter */
    unsigned max_direct;    /* 0 = TOOL_SELECTION_MAX_DIRECT */
    str focused_source;     /* the app the user looks at: its tools are always shown */
    const struct promoted *promoted; /* or NULL */
    struct json_strs used;           /* in this conversation, the most recent first */
};

struct tool_selection_hidden { /* what is not shown of one source */
    str source;
    size_t n, n_names;
    str names[TOOL_SELECTION_HIDDEN_NAMES]; /* without the source; the first ones */
};

struct tool_selection {
    const struct toolset_item **items; /* point into the toolset */
    size_t len;
    size_t hidden; /* callable, but not shown: the prompt must say how to find them */
    struct tool_selection_hidden *sources; /* of these, by name */
    size_t n_sources;
};

struct tool_selection tool_selection_compute(struct arena *a,
                                             const struct tool_selection_input *in);
