#include "cli/chat/outside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/screen/editor.h"
#include "cli/term/text.h"
#include "os/file.h"

#define CHUNK 4096

static const int KEYBOARD_SIGNALS[] = {SIGINT, SIGQUIT};

/* Keys like Ctrl-C are for the other program: nb ignores their signals meanwhile. */
struct quiet {
    struct sigaction former[ARRAY_LEN(KEYBOARD_SIGNALS)];
};

static void quiet_begin(struct quiet *q)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < ARRAY_LEN(KEYBOARD_SIGNALS); i++)
        (void)sigaction(KEYBOARD_SIGNALS[i], &ignore, &q->former[i]);
}

static void quiet_end(const struct quiet *q)
{
    for (size_t i = 0; i < ARRAY_LEN(KEYBOARD_SIGNALS); i++)
        (void)sigaction(KEYBOARD_SIGNALS[i], &q->former[i], NULL);
}

/* In the child. */
static void exec_shell(const char *line, const char *operand)
{
    for (size_t i = 0; i < ARRAY_LEN(KEYBOARD_SIGNALS); i++)
        (void)signal(KEYBOARD_SIGNALS[i], SIG_DFL);
    (void)signal(SIGPIPE, SIG_DFL);
    execl("/bin/sh", "sh", "-c", line, "sh", operand, (char *)NULL);
    _exit(127);
}

static int await_child(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- the editor ---- */

static const char *editor_name(void)
{
    static const char *const NAMES[] = {"VISUAL", "EDITOR"};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        const char *name = getenv(NAMES[i]);
        if (name && *name)
            return name;
    }
    return "vi";
}

static int run_editor(const char *path, struct err *e)
{
    struct arena a;
    arena_init(&a);
    /* The variable may have options: "code --wait". */
    const char *line = arena_printf(&a, "%s \"$1\"", editor_name()).p;
    pid_t pid = fork();
    if (pid == 0)
        exec_shell(line, path);
    int code = pid < 0 ? 127 : await_child(pid);
    arena_done(&a);
    return code == 0 ? 0 : err_set(e, -EIO, "the editor %s ended with %d", editor_name(), code);
}

static int edit_file(const char *path, struct buf *text, struct err *e)
{
    struct arena a;
    str changed;
    arena_init(&a);
    int r = file_write_atomic(path, buf_str(text), 0600, e);
    if (r == 0)
        r = run_editor(path, e);
    if (r == 0)
        r = file_read(&a, path, EDITOR_TEXT_MAX, &changed, e);
    if (r == 0 && !utf8_valid(changed))
        r = err_set(e, -EILSEQ, "the edited text is not valid UTF-8");
    if (r == 0) {
        while (str_ends(changed, STR("\n")))
            changed.n--;
        buf_clear(text);
        buf_add_str(text, changed);
    }
    arena_done(&a);
    return r;
}

int outside_edit(struct term *t, struct buf *text, struct err *e)
{
    char dir[] = "/tmp/nb-edit-XXXXXX";
    struct quiet q;
    struct arena a;
    if (!mkdtemp(dir))
        return err_set(e, -errno, "cannot create a directory in /tmp: %s", err_reason(-errno));
    arena_init(&a);
    const char *path = arena_printf(&a, "%s/message.md", dir).p;
    term_release(t);
    quiet_begin(&q);
    int r = edit_file(path, text, e);
    quiet_end(&q);
    term_resume(t);
    (void)unlink(path);
    (void)rmdir(dir);
    arena_done(&a);
    return r;
}

/* ---- commands ---- */

/* Whole lines, so that a character is never cut in two. */
static void show_lines(struct buf *pending, bool is_end)
{
    ptrdiff_t last = str_rfind_char(buf_str(pending), '\n');
    size_t n = is_end ? pending->n : (size_t)(last + 1);
    struct buf safe;
    buf_init(&safe, 8 * OUTSIDE_OUTPUT_MAX);
    text_add(&safe, str_make(pending->p, n));
    (void)!write(STDOUT_FILENO, safe.p, safe.n);
    buf_done(&safe);
    buf_consume(pending, n);
}

/* The end of the output, from the start of a line if there is one. */
static void keep_end(struct buf *kept)
{
    if (kept->n <= OUTSIDE_OUTPUT_MAX)
        return;
    buf_consume(kept, kept->n - OUTSIDE_OUTPUT_MAX);
    ptrdiff_t line = str_find_char(buf_str(kept), '\n');
    if (line >= 0)
        buf_consume(kept, (size_t)line + 1);
}

/* Waits for output. False: the shell has ended, and either all was read or what it left in the
 * background goes on writing. */
static bool has_output(int fd, int shell, size_t *after_end)
{
    struct pollfd p[] = {{.fd = fd, .events = POLLIN}, {.fd = shell, .events = POLLIN}};
    while (poll(p, ARRAY_LEN(p), -1) < 0)
        if (errno != EINTR)
            return false;
    if (p[0].revents && p[1].revents)
        *after_end += CHUNK;
    return p[0].revents && *after_end <= OUTSIDE_OUTPUT_MAX;
}

static void read_output(int fd, int shell, struct buf *kept)
{
    char chunk[CHUNK];
    struct buf pending;
    ssize_t n;
    size_t after_end = 0;
    buf_init(&pending, OUTSIDE_OUTPUT_MAX);
    while (has_output(fd, shell, &after_end)) {
        n = read(fd, chunk, sizeof chunk);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        if (n < 0)
            continue;
        buf_add(kept, chunk, (size_t)n);
        keep_end(kept);
        if (pending.n + (size_t)n > OUTSIDE_OUTPUT_MAX) /* one endless line */
            show_lines(&pending, true);
        buf_add(&pending, chunk, (size_t)n);
        show_lines(&pending, false);
    }
    show_lines(&pending, true);
    if (kept->n > 0 && kept->p[kept->n - 1] != '\n')
        (void)!write(STDOUT_FILENO, "\n", 1); /* the next drawing begins at the start of a line */
    buf_done(&pending);
}

static pid_t start_command(const char *line, const int out[2])
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    (void)dup2(out[1], STDOUT_FILENO);
    (void)dup2(out[1], STDERR_FILENO);
    exec_shell(line, "");
    return -1;
}

/* Only text can be sent. */
static void make_text(struct buf *kept)
{
    struct buf all;
    if (utf8_valid(buf_str(kept)) && !memchr(buf_str(kept).p ? kept->p : "", '\0', kept->n))
        return;
    buf_init(&all, 8 * OUTSIDE_OUTPUT_MAX);
    text_add(&all, buf_str(kept));
    buf_done(kept);
    *kept = all;
}

int outside_run(struct term *t, const char *line, struct buf *ret, int *ret_code, struct err *e)
{
    int out[2];
    struct quiet q;
    if (pipe2(out, O_CLOEXEC) < 0)
        return err_set(e, -errno, "cannot run a command: %s", err_reason(-errno));
    buf_clear(ret);
    term_release(t);
    quiet_begin(&q);
    pid_t pid = start_command(line, out);
    close(out[1]);
    if (pid > 0) {
        int shell = pidfd_open(pid, 0);
        read_output(out[0], shell, ret);
        file_close(shell);
        *ret_code = await_child(pid);
    }
    close(out[0]);
    quiet_end(&q);
    term_resume(t);
    make_text(ret);
    return pid > 0 ? 0 : err_set(e, -EAGAIN, "cannot run a command");
}
