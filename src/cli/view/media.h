/* media.h - pictures, sound and documents in the results of an answer: shown inside the terminal
 * where it can, and opened with the programs of the desktop by /open. Loop thread only. */
#pragma once

#include "base/json/json.h"

#define MEDIA_MAX 8u /* of one answer */

struct media_list {
    struct media_item {
        str address, label;
        int64_t bytes;
        bool is_picture;
    } items[MEDIA_MAX];
    size_t n;
};

struct view;
struct chat_session;
struct term;

/* Remembers what a finished call returned, in the arena. */
void media_note(struct media_list *m, struct arena *a, const struct json *call);
/* Asks the terminal of a chat whether it shows pictures, unless it is known. */
void media_ask(struct view *v, struct term *t);
/* After an answer: pictures, or what could be opened. Runs the loop. */
void media_show(struct view *v, struct chat_session *s);
/* /open: saves them in a directory of its own, says where, and opens them. Runs the loop. */
void media_open(struct view *v, struct chat_session *s);
