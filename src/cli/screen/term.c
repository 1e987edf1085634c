#include "cli/screen/term.h"

#include <assert.h>
#include <signal.h>
#include <unistd.h>
#include <uv.h>

#include "cli/term/signals.h"

#define READ_MAX  65536
#define PASTE_ON  "\x1b[?2004h" /* pasted text is sent between brackets */
#define PASTE_OFF "\x1b[?2004l"
#define RESTORE   PASTE_OFF "\x1b[?25h"

static const int FATAL[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};

struct term {
    uv_tty_t tty;
    struct signals *signals;
    const struct term_events *ev;
    void *ctx;
    int out;
    struct sigaction former[ARRAY_LEN(FATAL)];
    char bytes[READ_MAX];
};

static void term_put(int fd, str s)
{
    (void)!write(fd, s.p, s.n);
}

/* Async-signal-safe, like uv_tty_reset_mode. The signal is then raised again with its default
 * action. */
static void on_fatal(int signum)
{
    (void)uv_tty_reset_mode();
    term_put(STDOUT_FILENO, STR(RESTORE));
    (void)raise(signum);
}

/* Do not replace existing handlers (a sanitizer, a debugger). */
static void watch_fatal(struct term *t)
{
    struct sigaction ours = {.sa_handler = on_fatal, .sa_flags = (int)SA_RESETHAND | SA_NODEFER};
    for (size_t i = 0; i < ARRAY_LEN(FATAL); i++) {
        (void)sigaction(FATAL[i], NULL, &t->former[i]);
        if (t->former[i].sa_handler == SIG_DFL)
            (void)sigaction(FATAL[i], &ours, NULL);
    }
}

static void unwatch_fatal(struct term *t)
{
    for (size_t i = 0; i < ARRAY_LEN(FATAL); i++)
        if (t->former[i].sa_handler == SIG_DFL)
            (void)sigaction(FATAL[i], &t->former[i], NULL);
}

static int set_raw(struct term *t)
{
    int r = uv_tty_set_mode(&t->tty, UV_TTY_MODE_RAW);
    if (r == 0)
        term_put(t->out, STR(PASTE_ON));
    return r;
}

static void set_normal(struct term *t)
{
    term_put(t->out, STR(PASTE_OFF));
    (void)uv_tty_set_mode(&t->tty, UV_TTY_MODE_NORMAL);
}

static void on_term_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *ret)
{
    struct term *t = h->data;
    *ret = uv_buf_init(t->bytes, sizeof t->bytes);
}

static void on_term_read(uv_stream_t *s, ssize_t n, const uv_buf_t *b)
{
    struct term *t = s->data;
    if (n > 0) {
        t->ev->on_bytes(t->ctx, str_make(b->base, (size_t)n));
    } else if (n < 0) {
        (void)uv_read_stop(s);
        t->ev->on_end(t->ctx);
    }
}

static void on_term_signal(void *ctx, int signum)
{
    struct term *t = ctx;
    if (signum == SIGWINCH) {
        t->ev->on_resize(t->ctx);
        return;
    }
    /* The shell may have changed the mode while the process was stopped. */
    (void)uv_tty_set_mode(&t->tty, UV_TTY_MODE_NORMAL);
    (void)set_raw(t);
    t->ev->on_continue(t->ctx);
}

int term_open(struct loop *l, int in, int out, const struct term_events *ev, void *ctx,
              struct term **ret)
{
    assert(ev->on_bytes && ev->on_end && ev->on_resize && ev->on_continue);
    struct term *t = xcalloc(1, sizeof *t);
    t->ev = ev;
    t->ctx = ctx;
    t->out = out;
    int r = uv_tty_init(loop_uv(l), &t->tty, in, 0);
    if (r < 0) {
        free(t);
        return r;
    }
    t->tty.data = t;
    t->signals = signals_watch(l, (const int[]){SIGWINCH, SIGCONT, 0}, on_term_signal, t);
    watch_fatal(t);
    r = set_raw(t);
    if (r == 0)
        r = uv_read_start((uv_stream_t *)&t->tty, on_term_alloc, on_term_read);
    if (r < 0) {
        term_close(t);
        return r;
    }
    *ret = t;
    return 0;
}

static void on_term_closed(uv_handle_t *h)
{
    free(h->data);
}

void term_close(struct term *t)
{
    if (!t)
        return;
    set_normal(t);
    unwatch_fatal(t);
    uv_close((uv_handle_t *)&t->tty, on_term_closed);
    signals_free(t->signals);
}

void term_suspend(struct term *t)
{
    set_normal(t);
    (void)kill(0, SIGTSTP);
}
