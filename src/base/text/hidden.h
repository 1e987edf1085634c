/* hidden.h - characters that are not drawn, or that change how others are drawn.
 *
 * C0 and C1 control characters (except tab and line feed), DEL, zero-width characters, marks and
 * overrides of the writing direction, line separators, tag characters and variation selectors can
 * carry text that a model reads and a person does not see. hidden_strip is the one way by which
 * the text of tools reaches models and MCP clients; hidden_show is for people who have to judge
 * such a text. The joiner and the selector of emoji stay when they follow a symbol.
 * Pure; any thread. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/json/json.h"

bool hidden_is(uint32_t cp);

/* True when the text has hidden characters or is not valid UTF-8. */
bool hidden_in(str text);

/* The text without them; invalid bytes become U+FFFD. The text itself when there is nothing to
 * remove. */
str hidden_strip(struct arena *a, str text);

/* The text with each of them written as \u{202E}. */
str hidden_show(struct arena *a, str text);

/* Whether any string or, with is_key, any member name in `v` has hidden characters. */
bool hidden_in_json(const struct json *v, bool is_key);

/* A copy of `v` without hidden characters in its strings; member names stay as they are, because
 * they are part of a call. `v` itself when there is nothing to remove. */
const struct json *hidden_strip_json(struct arena *a, const struct json *v);
