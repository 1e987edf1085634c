/* text.h - the words in an event, as a person would read them: for previews and search.
 *
 * Never raw JSON: keys, ids and encoded binaries are not what anybody said. Pure. */
#pragma once

#include "store/event/event.h"

#define TEXT_MAX (1024u * 1024) /* of one event; more is cut */

/* The text of content: a string, or the text parts of an array, joined by line feeds. */
str text_of_content(struct arena *a, const struct json *content);

struct event_text {
    str role; /* user, assistant, tool, title, note */
    str text; /* empty: nothing to find in this event */
    str tool; /* name, for tool results */
    str user_id;
};

/* Do events of this type hold text? So that the others need not be read. */
bool text_in_type(enum event_type type);

/* False when the event holds no text. */
bool text_of_event(struct arena *a, enum event_type type, const struct json *event,
                   struct event_text *ret);

/* Does s contain needle, whatever the case of either? */
bool text_contains(str s, str needle);
