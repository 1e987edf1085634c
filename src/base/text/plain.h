/* plain.h - foreign text without the characters that act on its reader.
 *
 * Control characters (C0, DEL, C1) drive terminals, bidirectional marks make text read
 * differently from what it is, line separators and tag characters hide parts of it. Titles,
 * names, documents, messages for people, and text for models pass through here before they are
 * shown or sent; logs keep the original bytes. Pure; any thread. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* A control character, bidirectional mark, line or paragraph separator, or tag character. Line
 * feed and tab are included: callers that keep them test for them first. */
bool plain_is_hidden(uint32_t cp);

/* Whether all of s is plain: valid UTF-8, hidden characters only as line feed, carriage return
 * before a line feed, or tab. */
bool plain_is_text(str s);
bool plain_is_line(str s); /* valid UTF-8 without any hidden character */

/* Several lines: other hidden characters are dropped, broken bytes become U+FFFD. Returns s
 * itself when there is nothing to change. */
str plain_text(struct arena *a, str s);
/* One line: hidden characters become spaces, white space is joined and trimmed. */
str plain_line(struct arena *a, str s);
/* The same as plain_text, appended to a buffer. */
void plain_add(struct buf *out, str s);

/* An error for somebody who does not own the machine: each absolute path of a file is replaced by
 * PLAIN_PATH. Addresses of the server itself (/v1/..., /mcp) and URLs stay. Returns s itself when
 * there is nothing to change. */
#define PLAIN_PATH "(a file of the server)"
str plain_without_paths(struct arena *a, str s);
void plain_err(struct err *e); /* the same with a message */

/* JSON text whose value stays the same: hidden characters outside ASCII, and DEL, are written
 * as \uXXXX. The writer escapes C0 itself. `json` is valid JSON, or a piece of it that does not
 * cut a character. Returns `json` itself when there is nothing to change. */
str plain_json(struct arena *a, str json);
bool plain_json_is_clean(str json);
void plain_json_add(struct buf *out, str json);
