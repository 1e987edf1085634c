/* view.h - an answer on the terminal while it streams: text, tools, and progress.
 *
 * Pass VIEW_EVENTS and the view to session_send after view_begin. Finished blocks are printed
 * permanently; the unfinished block, running tools and a spinner are in the screen's region and are
 * drawn at most about thirty times per second. Loop thread only. */
#pragma once

#include "cli/screen/footer.h"
#include "cli/screen/markdown.h"
#include "cli/screen/screen.h"
#include "cli/screen/tool_lines.h"
#include "cli/session/session.h"
#include "cli/view/folds.h"
#include "cli/view/media.h"
#include "loop/timer.h"

#define VIEW_CHANGES_MAX 64

enum view_part { VIEW_NOTHING, VIEW_TEXT, VIEW_TOOLS, VIEW_NOTICE };

struct view {
    struct screen *screen;
    struct timer timer;
    bool has_color, has_footer;
    struct footer_sum sum; /* sums over the reports of one answer, for its footer */
    struct markdown_stream text;
    struct buf final;    /* printed with the next update */
    enum view_part last; /* kind of the last print: different kinds are separated by a blank line */
    struct tool_lines tools;
    char thought[256];    /* the end of the model's thinking, safe to print */
    struct buf thoughts;  /* all of it, since the last text or call */
    uint64_t thinking_ms; /* when it began */
    struct folds folds;   /* what is shown folded */
    bool can_unfold;      /* the person can ask for it: numbers are shown */
    struct view_change {  /* of a call that runs: */
        str id, path, diff;
    } changes[VIEW_CHANGES_MAX];
    size_t nchanges;
    uint64_t started_ms, heard_ms;
    bool is_dirty, is_running;
    bool has_failed;         /* of the last answer */
    bool has_interface;      /* a tool of the last answer has an interface, which a page shows */
    struct media_list media; /* of the last answer */
    const struct term *term; /* the keyboard of the chat; NULL: none is open */
    struct arena arena;      /* of the last answer: */
    str stop, error;         /* the reason of its end, or the code of its error */
    const struct json *ask;  /* the permission question it ended with, {askId, calls}, or NULL */
    void (*on_end)(void *ctx);
    /* A tool asks a question, or withdraws it; NULL = nobody can answer. */
    void (*on_input)(void *ctx, const struct json *question);
    void (*on_input_gone)(void *ctx, str input_id);
    void *ctx;
    bool is_paused;       /* other code draws; updates are kept back */
    bool tells_directory; /* prints once where commands run */
};

extern const struct session_events VIEW_EVENTS; /* their ctx is the view */

void view_init(struct view *v, struct loop *l, struct screen *s, bool has_color);
void view_done(struct view *v);

/* Call it before an answer; on_end is called when the answer has ended, with or without an
 * error. */
void view_begin(struct view *v, void (*on_end)(void *ctx), void *ctx);
void view_set_color(struct view *v, bool has_color);
void view_wipe(struct view *v);   /* clears the screen */
void view_redraw(struct view *v); /* after a resize */
/* After an answer: where the interface of a tool that it called can be seen, if there is one. */
void view_tell_interface(struct view *v, const struct chat_session *s);
void view_abandon(struct view *v); /* keeps what was shown; nothing more is drawn */

/* Prints what is folded under this number; 0 = the newest. */
void view_unfold(struct view *v, size_t number);

/* Own text, printed with the next drawing and separated by blank lines: plain lines, Markdown, or a
 * line in one style. A gap separates the following text. */
void view_gap(struct view *v);
void view_lines(struct view *v, str lines);
void view_foreign(struct view *v, str text); /* foreign lines, made safe and wrapped */
void view_markdown(struct view *v, str text);
void view_notice(struct view *v, unsigned style, str text);
void view_more(struct view *v, unsigned style, str text); /* right below a notice */
/* The same for text that may be partly foreign. */
void view_say(struct view *v, unsigned style, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
