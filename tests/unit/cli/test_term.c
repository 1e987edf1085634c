#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/screen/term.h"
#include "support/unit.h"

#define WAIT_MS 60000

struct fixture {
    int master, slave;
    struct loop *loop;
    struct term *term;
    struct buf got;
    bool has_bytes, has_ended, is_resized, is_continued;
};

static void on_bytes(void *ctx, str bytes)
{
    struct fixture *f = ctx;
    buf_add_str(&f->got, bytes);
    f->has_bytes = true;
}

static void on_end(void *ctx)
{
    ((struct fixture *)ctx)->has_ended = true;
}

static void on_resize(void *ctx)
{
    ((struct fixture *)ctx)->is_resized = true;
}

static void on_continue(void *ctx)
{
    ((struct fixture *)ctx)->is_continued = true;
}

static const struct term_events EVENTS = {on_bytes, on_end, on_resize, on_continue};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    assert_int_equal(openpty(&f->master, &f->slave, NULL, NULL, NULL), 0);
    buf_init(&f->got, 65536);
    f->loop = loop_new(NULL);
    assert_int_equal(term_open(f->loop, f->slave, f->slave, &EVENTS, f, &f->term), 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    term_close(f->term);
    loop_free(f->loop);
    close(f->slave);
    if (f->master >= 0)
        close(f->master);
    buf_done(&f->got);
    free(f);
    return 0;
}

static tcflag_t modes(const struct fixture *f)
{
    struct termios t;
    assert_int_equal(tcgetattr(f->master, &t), 0);
    return t.c_lflag & (ICANON | ECHO | ISIG);
}

TEST_WITH(keys_arrive_one_by_one_and_unechoed, setup, teardown)
{
    struct fixture *f = *state;
    assert_int_equal(modes(f), 0);
    assert_int_equal(write(f->master, "a\x03\x1a", 3), 3);
    assert_true(loop_run_until(f->loop, &f->has_bytes, WAIT_MS));
    assert_string_equal(buf_cstr(&f->got), "a\x03\x1a");
}

TEST_WITH(closing_restores_the_mode, setup, teardown)
{
    static const char PASTE_ON_OFF[] = "\x1b[?2004h\x1b[?2004l";
    struct fixture *f = *state;
    char out[64] = {0};
    size_t n = 0;
    term_close(f->term);
    f->term = NULL;
    assert_int_equal(modes(f), ICANON | ECHO | ISIG);
    while (n < strlen(PASTE_ON_OFF)) { /* a terminal passes things on when it likes */
        ssize_t got = read(f->master, out + n, sizeof out - 1 - n);
        assert_true(got > 0);
        n += (size_t)got;
    }
    assert_string_equal(out, PASTE_ON_OFF);
    assert_int_equal(term_open(f->loop, f->slave, f->slave, &EVENTS, f, &f->term), 0);
}

TEST_WITH(resizing_is_told, setup, teardown)
{
    struct fixture *f = *state;
    assert_int_equal(kill(getpid(), SIGWINCH), 0);
    assert_true(loop_run_until(f->loop, &f->is_resized, WAIT_MS));
}

/* The shell sets its own mode while we are stopped. */
TEST_WITH(continuing_sets_the_mode_again, setup, teardown)
{
    struct fixture *f = *state;
    struct termios t;
    assert_int_equal(tcgetattr(f->slave, &t), 0);
    t.c_lflag |= ICANON | ECHO | ISIG;
    assert_int_equal(tcsetattr(f->slave, TCSANOW, &t), 0);
    assert_int_equal(kill(getpid(), SIGCONT), 0);
    assert_true(loop_run_until(f->loop, &f->is_continued, WAIT_MS));
    assert_int_equal(modes(f), 0);
}

TEST_WITH(a_vanished_terminal_is_told, setup, teardown)
{
    struct fixture *f = *state;
    close(f->master);
    f->master = -1;
    assert_true(loop_run_until(f->loop, &f->has_ended, WAIT_MS));
}

/* A child with a terminal of its own aborts; its terminal must be usable again. */
TEST(dying_restores_the_mode)
{
    int master, slave, status;
    assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
    pid_t child = fork();
    if (child == 0) {
        struct fixture f = {.slave = slave};
        struct term *t;
        (void)dup2(slave, STDOUT_FILENO);
        (void)signal(SIGABRT, SIG_DFL);
        f.loop = loop_new(NULL);
        if (term_open(f.loop, slave, slave, &EVENTS, &f, &t) < 0)
            _exit(3);
        abort();
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    struct fixture f = {.master = master};
    assert_int_equal(modes(&f), ICANON | ECHO | ISIG);
    close(master);
    close(slave);
}
