/* markdown.h - Markdown as lines for a terminal, also while it is still being written.
 *
 * The text of a model is foreign: whatever it contains, the output has no control characters except
 * line feeds and, with colours, the sequences of styled.h. Paragraphs are wrapped; lines of code
 * never are. A stream cuts its input at blank lines between blocks and renders block by block, so
 * the final output does not depend on how the text arrived, and a complete block never changes. One
 * owner; pure. */
#pragma once

#include "base/buf.h"

#define MARKDOWN_BLOCK_MAX  (64u * 1024) /* a longer block is cut */
#define MARKDOWN_OUTPUT_MAX (64u * 1024 * 1024)

struct markdown_style {
    size_t width; /* columns, at least 20 are used */
    bool has_color;
};

/* Renders a whole text; every line ends with a line feed. */
void markdown_render(struct buf *out, str text, const struct markdown_style *style);

struct markdown_stream {
    struct buf pending; /* text that was not rendered permanently yet */
    size_t scanned;     /* bytes of it in lines that were examined */
    size_t carried;     /* bytes at its start that repeat a fence */
    char fence[64];     /* the line that opened the code block under way, or "" */
    size_t fence_len;   /* how many fence characters it has */
    bool is_list;       /* the block has list items */
    bool is_gap;        /* blank lines were seen after the block */
    bool has_output;
};

void markdown_stream_init(struct markdown_stream *m);
void markdown_stream_done(struct markdown_stream *m);

/* Adds text and appends the blocks that it completed, with a blank line before each except the
 * first. */
void markdown_stream_feed(struct markdown_stream *m, str text, const struct markdown_style *style,
                          struct buf *out);
/* Renders the unfinished block in its current form; changes nothing. */
void markdown_stream_peek(const struct markdown_stream *m, const struct markdown_style *style,
                          struct buf *out);
/* The text is complete: renders the rest. The stream is empty again. */
void markdown_stream_end(struct markdown_stream *m, const struct markdown_style *style,
                         struct buf *out);

/* Renders one block, or several: used by the stream for its pieces. */
void markdown_block(struct buf *out, str text, const struct markdown_style *style);
