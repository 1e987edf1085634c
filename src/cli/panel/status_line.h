/* status_line.h - the line above the prompt: model, context used, cost, title and origin of the
 * conversation. Pure. */
#pragma once

#include "base/buf.h"

struct status_line {
    str model;
    int64_t used, limit; /* tokens; 0 = not known */
    double cost;         /* below 0 = not known */
    str title;           /* foreign; may be empty */
    str origin;          /* the conversation that this one is a copy of; may be empty */
    str extra;           /* what goes with the next message; may be empty */
};

/* At most `width` columns; what does not fit is left out, from the end. */
void status_line_draw(const struct status_line *s, size_t width, bool has_color, struct buf *out);
