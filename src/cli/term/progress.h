/* progress.h - one line on stderr that shows the progress of long work.
 *
 * It appears only on a terminal and only when the work takes longer than a moment; it is redrawn at
 * most ten times per second and is erased at the end. One owner. */
#pragma once

#include "base/str.h"

struct progress {
    const char *label;
    bool is_shown, is_terminal;
    uint64_t started_ms, drawn_ms;
};

void progress_begin(struct progress *p, const char *label);
/* share is 0 to 1, below 0 = unknown; `text` is printed after the bar and may be empty. */
void progress_update(struct progress *p, double share, str text);
void progress_end(struct progress *p); /* erases the line */
