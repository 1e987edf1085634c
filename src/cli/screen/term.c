#include "cli/screen/term.h"

#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "cli/screen/term_answer.h"
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
    struct term_answer answer;
    char bytes[READ_MAX], keys[READ_MAX + TERM_ANSWER_MAX];
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
        size_t nkeys = term_answer_take(&t->answer, str_make(b->base, (size_t)n), t->keys);
        if (nkeys > 0)
            t->ev->on_bytes(t->ctx, str_make(t->keys, nkeys));
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

void term_release(struct term *t)
{
    set_normal(t);
}

void term_resume(struct term *t)
{
    (void)set_raw(t);
}

void term_ask(struct term *t)
{
    t->answer.is_awaited = true;
    term_put(t->out, STR(TERM_QUESTION));
}

bool term_has_sixel(const struct term *t)
{
    return t->answer.has_sixel;
}

static void await_answer(int in, struct term_answer *answer)
{
    char bytes[256], keys[sizeof bytes + TERM_ANSWER_MAX];
    uint64_t end = clock_mono_ms() + TERM_ASK_MS;
    for (uint64_t now; answer->is_awaited && (now = clock_mono_ms()) < end;) {
        struct pollfd p = {in, POLLIN, 0};
        ssize_t n = poll(&p, 1, (int)(end - now)) > 0 ? read(in, bytes, sizeof bytes) : 0;
        if (n <= 0)
            return;
        (void)term_answer_take(answer, str_make(bytes, (size_t)n), keys);
    }
}

bool term_ask_sixel(int in, int out)
{
    struct term_answer answer = {.is_awaited = true};
    struct termios former, raw;
    struct pollfd typed = {in, POLLIN, 0};
    if (!isatty(out) || tcgetattr(in, &former) < 0 || poll(&typed, 1, 0) != 0)
        return false;
    raw = former;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    if (tcsetattr(in, TCSANOW, &raw) < 0)
        return false;
    term_put(out, STR(TERM_QUESTION));
    await_answer(in, &answer);
    (void)tcsetattr(in, TCSANOW, &former);
    return answer.has_sixel;
}
