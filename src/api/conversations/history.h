/* history.h - pages of the messages of a conversation, the newest first.
 *
 * A page begins with a user's message, so that no run is split. Loop thread. */
#pragma once

#include "api/exchange.h"
#include "runtime/history/replay.h"

struct history_page {
    struct replay messages;
    const str *lines;
    size_t nlines;
    store_pos end;    /* of the last event; 0 = there is none */
    store_pos before; /* asks for the page in front of this one; 0 = there is none */
};

struct history_wish {
    struct store_range range;
    /* Sends the reply. */
    void (*reply)(struct api_wait *w, const struct err *err, const struct history_page *page);
};

/* limit: events, 0 = the usual number; before: 0 = the end of the log. */
struct store_range history_range(int64_t limit, int64_t before);
/* Reads a page of w->id; w->data is the struct history_wish. */
void history_read(struct api_wait *w);
/* The open questions of tools, of a page at the end of the log. */
struct json *history_questions(const struct api_wait *w, const struct history_page *page);
void history_write_before(struct json_writer *w, const struct history_page *page); /* the member */
