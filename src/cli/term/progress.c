#include "cli/term/progress.h"

#include <assert.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/term/table.h"
#include "cli/term/text.h"

enum { BAR = 24, PATIENCE_MS = 300, REDRAW_MS = 100, LINE_MAX_BYTES = 4096 };

void progress_begin(struct progress *p, const char *label)
{
    *p = (struct progress){.label = label, .is_terminal = isatty(STDERR_FILENO)};
    p->started_ms = clock_mono_ms();
}

static void add_bar(struct buf *b, double share)
{
    int full = (int)(share * BAR);
    buf_add_char(b, ' ');
    for (int i = 0; i < BAR; i++)
        buf_add_lit(b, i < full ? "█" : "░");
    buf_printf(b, " %3d%%", (int)(share * 100));
}

void progress_update(struct progress *p, double share, str text)
{
    uint64_t now = clock_mono_ms();
    assert(p->label); /* begun */
    if (!p->is_terminal || now - p->started_ms < PATIENCE_MS || now - p->drawn_ms < REDRAW_MS)
        return;
    struct buf line, clipped;
    buf_init(&line, LINE_MAX_BYTES);
    buf_init(&clipped, LINE_MAX_BYTES);
    buf_add_lit(&line, p->label);
    if (share >= 0)
        add_bar(&line, share > 1 ? 1 : share);
    buf_add_lit(&line, "  ");
    text_add_line(&line, text);
    text_clip(&clipped, buf_str(&line), table_terminal_width(STDERR_FILENO) - 1);
    fprintf(stderr, "\r\033[K%.*s", STR_ARG(buf_str(&clipped)));
    fflush(stderr);
    buf_done(&line);
    buf_done(&clipped);
    p->drawn_ms = now;
    p->is_shown = true;
}

void progress_end(struct progress *p)
{
    if (!p->is_shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    p->is_shown = false;
}
