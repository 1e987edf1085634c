/* toolset.h - all tools of a workspace at one moment, by public name.
 *
 * A toolset is immutable: code that needs it for longer (a run, a model request) takes a reference
 * and is not affected by bundles that start, stop or change their tools. Items are
 * sorted by public name, bytewise, so the same tools always give the same bytes. Each
 * source's tools are copied once into a part that successive toolsets share. Loop thread. */
#pragma once

#include "tools/tool.h"

struct toolset_item {
    str name;   /* public: "<source>__<tool>" */
    str source; /* name of the source */
    const struct tool *tool;
};

struct toolset_part; /* the copied tools of one source */

struct toolset {
    const struct toolset_item *items;
    size_t len;
    size_t refs;
    struct arena arena;
    struct toolset_part **parts;
    size_t n_parts;
};

/* Copies what the source lists. A tool that is listed twice is kept once; tools beyond
 * TOOLSET_PART_MAX are left out. */
#define TOOLSET_PART_MAX 10000
struct toolset_part *toolset_part_new(str source, const struct tool *tools, size_t n);
/* The same without copies of what the tools point to: it must outlive the part. */
struct toolset_part *toolset_part_borrow(str source, const struct tool *tools, size_t n);
struct toolset_part *toolset_part_unref(struct toolset_part *p); /* takes NULL; returns NULL */

/* Takes its own references to the parts. */
struct toolset *toolset_new(struct toolset_part *const *parts, size_t n_parts);
struct toolset *toolset_ref(struct toolset *t);
struct toolset *toolset_unref(struct toolset *t); /* takes NULL; returns NULL */

const struct toolset_item *toolset_find(const struct toolset *t, str name); /* exact, or NULL */

/* The name that rules of the settings and filters of tokens match. */
str toolset_rule_name(const struct toolset_item *it);

/* The same parts and one or more others. */
struct toolset *toolset_extend(const struct toolset *t, struct toolset_part *const *more, size_t n);
