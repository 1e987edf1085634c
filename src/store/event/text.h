/* text.h - the readable text of an event, for previews and search.
 *
 * It is never raw JSON: keys, ids and encoded binaries are left out. Pure. */
#pragma once

#include "store/event/event.h"

#define TEXT_MAX (1024u * 1024) /* of one event; more is cut */

/* The text of content: a string, or the text parts of an array, joined by line feeds. */
str text_of_content(struct arena *a, const struct json *content);

/* The readable thoughts of a model in a part of its answer; empty: it has none. A provider keeps
 * them in a form of its own, which is stored as it came. */
str text_of_thought(struct arena *a, const struct json *part);

struct event_text {
    str role; /* user, assistant, tool, title, note */
    str text; /* empty: the event has no text */
    str tool; /* name, for tool results */
    str user_id;
};

/* Can events of this type have text? Others need not be parsed. */
bool text_in_type(enum event_type type);

/* False when the event has no text. */
bool text_of_event(struct arena *a, enum event_type type, const struct json *event,
                   struct event_text *ret);

/* Does s contain needle? Ignores case. */
bool text_contains(str s, str needle);
