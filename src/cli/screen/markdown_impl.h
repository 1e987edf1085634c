/* markdown_impl.h - shared by markdown.c and markdown_table.c. */
#pragma once

#include <md4c.h>

#include "cli/screen/markdown.h"
#include "cli/term/styled.h"

#define MD_DEPTH_MAX 16

struct md_container {
    MD_BLOCKTYPE type;
    size_t columns;  /* of its prefix */
    char marker[32]; /* marker of a list item, until it was written */
    unsigned number; /* of the next item */
    size_t children;
    bool is_tight; /* no blank lines between its children */
};

struct md_table;

struct md {
    struct buf *out;
    const struct markdown_style *style;
    struct md_container root, stack[MD_DEPTH_MAX];
    size_t depth, too_deep;
    struct styled line; /* text that waits for the end of its block; all cells of a table */
    unsigned base_style;
    unsigned spans[MD_SPAN_DEL + 1]; /* how many of each kind are open */
    size_t link_start;
    bool is_code;
    struct md_table *table;
};

size_t md_width(const struct md *m); /* columns inside the containers */
void md_prefix(struct md *m);
void md_end_line(struct md *m);
void md_add_text(struct md *m, str text, unsigned style);

int md_table_enter(struct md *m, MD_BLOCKTYPE type, const void *detail); /* not 0: stop the parse */
void md_table_leave(struct md *m, MD_BLOCKTYPE type);
void md_table_done(struct md *m); /* after a parse that was stopped */
