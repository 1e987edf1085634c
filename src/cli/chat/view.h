/* view.h - an answer on the terminal while it comes: text, tools, and what is going on.
 *
 * Give VIEW_EVENTS and the view to session_send after view_begin. Finished blocks are
 * printed for good; the block under way, running tools and a spinner live in the screen's
 * region and are drawn at most about thirty times a second. Loop thread only. */
#pragma once

#include "cli/screen/footer.h"
#include "cli/screen/markdown.h"
#include "cli/screen/screen.h"
#include "cli/screen/tool_lines.h"
#include "cli/session/session.h"
#include "loop/timer.h"

enum view_part { VIEW_NOTHING, VIEW_TEXT, VIEW_TOOLS, VIEW_NOTICE };

struct view {
    struct screen *screen;
    struct timer timer;
    bool has_color, has_footer;
    struct footer_sum sum; /* of the reports of one answer, for its footer */
    struct markdown_stream text;
    struct buf final;    /* goes out with the next update */
    enum view_part last; /* what was printed last: kinds are set apart by a blank line */
    struct tool_lines tools;
    char thought[256]; /* the end of what the model thinks, safe to print */
    uint64_t started_ms, heard_ms;
    bool is_dirty, is_running;
    bool has_failed;        /* of the last answer */
    struct arena arena;     /* of the last answer: */
    const struct json *ask; /* the question it ended with, {askId, calls}, or NULL */
    void (*on_end)(void *ctx);
    /* A tool asks for something, and no longer does; NULL = nobody can answer. */
    void (*on_input)(void *ctx, const struct json *question);
    void (*on_input_gone)(void *ctx, str input_id);
    void *ctx;
    bool is_paused;       /* somebody else draws; what comes is kept */
    bool tells_directory; /* says once where commands run */
};

extern const struct session_events VIEW_EVENTS; /* their ctx is the view */

void view_init(struct view *v, struct loop *l, struct screen *s, bool has_color);
void view_done(struct view *v);

/* An answer is about to come; on_end is called when it has ended, well or not. */
void view_begin(struct view *v, void (*on_end)(void *ctx), void *ctx);
void view_wipe(struct view *v);    /* an empty screen */
void view_redraw(struct view *v);  /* after a resize */
void view_abandon(struct view *v); /* keeps what has come; the rest will not be seen */

/* Text of our own, printed with the next drawing and set apart by blank lines: lines as they
 * are, Markdown, or a line in one style. A gap makes what follows stand alone. */
void view_gap(struct view *v);
void view_lines(struct view *v, str lines);
void view_markdown(struct view *v, str text);
void view_notice(struct view *v, unsigned style, str text);
/* The same for text that may be foreign in part. */
void view_say(struct view *v, unsigned style, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
