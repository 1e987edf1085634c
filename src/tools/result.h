/* result.h - making and measuring tool results. */
#pragma once

#include "tools/tool.h"

/* One text block. The text is borrowed, the rest lives in the arena. */
struct tool_result tool_result_text(struct arena *a, str text);
/* In place of a result of the tool. */
struct tool_result tool_result_error(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Names a file that the call has made, for people and models (a link to it in the content), and
 * for the conversation (`files`). */
struct attached;
void tool_result_add_file(struct arena *a, struct tool_result *r, const struct attached *f);

/* The size of a result for limits: the characters in its strings (content, structured, meta), plus
 * one for every other value. */
size_t tool_result_chars(const struct tool_result *r);

/* The text blocks joined by line breaks: for people, titles, and logs. */
str tool_result_to_text(struct arena *a, const struct tool_result *r);
