/* roff.h - text of manual pages, with the requests and escapes of man(7).
 *
 * Texts are those of the tables: paragraphs as help_text.h prints them, with `code` and
 * [links](of Markdown). Lines are at most 79 bytes long. Pure. */
#pragma once

#include "base/buf.h"

#define ROFF_PAGE_MAX (1024u * 1024)

/* "nb-bundle", "1", "add bundles": the title, and the section NAME. */
void roff_head(struct buf *b, const char *page, const char *section, str summary);
void roff_section(struct buf *b, const char *title);
void roff_subsection(struct buf *b, str title);
/* Paragraphs; a line that begins with a blank is an example. */
void roff_text(struct buf *b, str text);
/* The head of an item, then its text; `tag` is Markdown. */
void roff_item(struct buf *b, str tag, str text);
/* A synopsis: "nb bundle add NAME", wrapped. */
void roff_synopsis(struct buf *b, str words);

/* Markdown without its links and backquotes. */
str roff_plain(struct arena *a, str markdown);
