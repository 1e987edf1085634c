/* term.h - the keyboard of a terminal: raw bytes on the loop; restores the mode of the terminal.
 *
 * While it is open, keys arrive unechoed and one by one, also Ctrl-C and Ctrl-Z. The former mode is
 * restored by term_close, while suspended, and when the process dies of a fatal signal. One per
 * process, because a terminal has one mode. Loop thread only. */
#pragma once

#include "loop/loop.h"

struct term;

struct term_events {
    void (*on_bytes)(void *ctx, str bytes);
    void (*on_end)(void *ctx); /* the terminal is gone */
    void (*on_resize)(void *ctx);
    void (*on_continue)(void *ctx); /* after the process was stopped: draw everything again */
};

/* `in` and `out` are terminals, borrowed. -errno when the mode cannot be set. */
int term_open(struct loop *l, int in, int out, const struct term_events *ev, void *ctx,
              struct term **ret);
void term_close(struct term *t); /* the memory is freed in later turns of the loop */

/* Stops the whole process group until the shell continues it. */
void term_suspend(struct term *t);

/* Gives the terminal back in its former mode, for another program; resume takes it again. The loop
 * must not run in between. */
void term_release(struct term *t);
void term_resume(struct term *t);

/* Asks the terminal what it can do; the answer comes later, or never. */
void term_ask(struct term *t);
bool term_has_sixel(const struct term *t); /* it has said that it shows sixels */

/* The same where no keyboard is open: waits for the answer, for TERM_ASK_MS at most. Not if
 * something was typed already, which must stay where it is. Blocking. */
#define TERM_ASK_MS 2000
bool term_ask_sixel(int in, int out);
