/* repl_impl.h - the parts of the interactive chat: repl.c has the prompt and the keys,
 * repl_answer.c answers and questions about tool calls, repl_more.c what is between messages:
 * choices, other programs, the status line. */
#pragma once

#include "cli/chat/chat.h"
#include "cli/chat/question_prompt.h"
#include "cli/chat/slash.h"
#include "cli/panel/picker.h"
#include "cli/panel/status_line.h"
#include "cli/screen/editor.h"
#include "cli/screen/term.h"
#include "cli/view/permit.h"

#define DRAW_MAX        (16u * 1024 * 1024)
#define INTERRUPTS_QUIT 2
#define KEY_CTRL_C      '\x03'
#define KEY_CTRL_D      '\x04'

struct repl {
    struct chat *chat;
    struct term *term;
    struct screen screen;
    struct view view;
    struct editor editor;
    struct history history;
    struct timer escape;
    struct buf typed; /* keys that were not handled yet */
    struct buf message;
    struct buf output; /* of a command, for the next message */
    struct buf command;
    int interrupts;      /* number of consecutive Ctrl-C */
    uint64_t stopped_ms; /* when the latest answer was stopped by Ctrl-C */
    struct permit permit;
    struct question_prompt questions; /* of tools, during an answer; they get the keys */
    struct picker *picker;            /* a choice that is open, or NULL */
    enum picker_state choice;
    struct arena status_arena; /* of the status: */
    struct status_line status;
    enum editor_event outside; /* what the prompt was left for: EDITOR_EXTERNAL, EDITOR_CHOOSE */
    bool is_prompting;
    bool is_asking;   /* a question about tool calls: keys are answers */
    bool is_offering; /* the output of a command: a key decides whether it is sent */
    bool is_accepted;
    bool is_escape; /* during an answer the last byte was an escape, so far alone */
    bool is_quitting;
    bool wake; /* ends the wait */
};

void repl_wait(struct repl *r);
void repl_quit(struct repl *r);
void repl_draw_prompt(struct repl *r);
void repl_keep_prompt(struct repl *r); /* as it remains on the screen */
/* Draws lines below the final text, instead of the prompt. */
void repl_draw_region(struct repl *r, str text, size_t row, size_t col);

/* repl_answer.c */
void repl_answer(struct repl *r); /* sends the message and waits for the end of its answer */
void repl_ask_open_question(struct repl *r);
void repl_question_key(struct repl *r, char key);
void repl_draw_question(struct repl *r);

/* repl_more.c */
bool repl_choose(void *ctx, struct picker *p); /* ctx: the repl. False: nothing was chosen */
void repl_picker_keys(struct repl *r, str bytes);
void repl_draw_picker(struct repl *r);
void repl_draw_offer(struct repl *r);
void repl_offer_key(struct repl *r, char key);
void repl_go_outside(struct repl *r);            /* as r->outside says */
void repl_run_command(struct repl *r, str line); /* "!line" */
void repl_refresh_status(struct repl *r);        /* asks the server */
/* The message with what goes with it; false after saying why not. */
bool repl_compose(struct repl *r, struct buf *ret);
