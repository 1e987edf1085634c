#include "cli/term/ask.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum { CTRL_C = 3, CTRL_D = 4, BACKSPACE = 8, CTRL_U = 21, DELETE = 127 };

/* Reads one byte at a time, because the input after the line belongs to the next reader. */
static int read_byte(char *ret)
{
    for (;;) {
        ssize_t n = read(STDIN_FILENO, ret, 1);
        if (n == 1)
            return 0;
        if (n == 0)
            return -ECANCELED;
        if (errno == EAGAIN) {
            struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
            (void)poll(&p, 1, -1);
        } else if (errno != EINTR) {
            return -errno;
        }
    }
}

static int read_ask_line(struct buf *ret)
{
    char c = 0;
    int r;
    buf_clear(ret);
    while ((r = read_byte(&c)) == 0 && c != '\n')
        buf_add_char(ret, c);
    if (r < 0 && ret->n == 0)
        return r;
    if (ret->n > 0 && ret->p[ret->n - 1] == '\r')
        buf_truncate(ret, ret->n - 1);
    return buf_failed(ret) ? -EFBIG : 0;
}

int ask_line(struct buf *ret, const char *prompt, const char *otherwise)
{
    if (otherwise && *otherwise)
        fprintf(stderr, "%s [%s]: ", prompt, otherwise);
    else
        fprintf(stderr, "%s: ", prompt);
    int r = read_ask_line(ret);
    if (r < 0) {
        fputc('\n', stderr);
        return r;
    }
    str typed = str_trim(buf_str(ret));
    char *copy = str_dup(typed.n > 0 ? typed : str_from(otherwise));
    buf_clear(ret);
    buf_add_lit(ret, copy);
    free(copy);
    return 0;
}

/* ---- secrets ---- */

/* Removes the last character, which may have several bytes. */
static void drop_char(struct buf *b)
{
    while (b->n > 0 && ((unsigned char)b->p[b->n - 1] & 0xc0) == 0x80)
        buf_truncate(b, b->n - 1);
    if (b->n > 0)
        buf_truncate(b, b->n - 1);
}

static int read_secret(struct buf *ret)
{
    char c = 0;
    for (;;) {
        int r = read_byte(&c);
        if (r < 0 || c == CTRL_C || (c == CTRL_D && ret->n == 0))
            return r < 0 ? r : -ECANCELED;
        if (c == '\n' || c == '\r')
            return buf_failed(ret) ? -EFBIG : 0;
        if (c == BACKSPACE || c == DELETE)
            drop_char(ret);
        else if (c == CTRL_U)
            buf_truncate(ret, 0);
        else if ((unsigned char)c >= 0x20)
            buf_add_char(ret, c);
    }
}

int ask_secret(struct buf *ret, const char *prompt)
{
    struct termios before, quiet;
    if (tcgetattr(STDIN_FILENO, &before) < 0)
        return -ENOTTY;
    fprintf(stderr, "%s: ", prompt);
    quiet = before;
    quiet.c_lflag &= ~(tcflag_t)(ECHO | ICANON | ISIG); /* signals arrive as characters */
    if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet) < 0)
        return -errno;
    buf_clear(ret);
    int r = read_secret(ret);
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    fputc('\n', stderr);
    return r;
}

void ask_forget(struct buf *typed)
{
    if (typed->p)
        explicit_bzero(typed->p, typed->cap);
    buf_done(typed);
}

bool ask_yes(const char *prompt)
{
    struct buf b;
    char text[512];
    buf_init(&b, ASK_LINE_MAX);
    snprintf(text, sizeof text, "%s [y/N]", prompt);
    bool is_yes = ask_line(&b, text, NULL) == 0 &&
                  (str_eq_nocase(buf_str(&b), STR("y")) || str_eq_nocase(buf_str(&b), STR("yes")));
    buf_done(&b);
    return is_yes;
}

int ask_stdin(struct buf *ret, struct err *e)
{
    int r = read_ask_line(ret);
    if (r == -ECANCELED)
        return err_set(e, -EINVAL, "standard input is empty");
    return r < 0 ? err_errno(e, r, "cannot read", "standard input") : 0;
}

static bool take_line(struct arena *a, const char *line, str *ret)
{
    str text = str_from(line);
    while (text.n > 0 && (text.p[text.n - 1] == '\n' || text.p[text.n - 1] == '\r'))
        text.n--;
    if (text.n == 0 || text.n > SECRET_MAX)
        return false;
    *ret = arena_str(a, text);
    return true;
}

bool secret_read(struct arena *a, const char *prompt, str *ret)
{
    struct buf line;
    buf_init(&line, SECRET_MAX);
    int r = isatty(STDIN_FILENO) ? ask_secret(&line, prompt) : ask_stdin(&line, NULL);
    bool is_fine = r == 0 && line.n > 0;
    if (is_fine)
        *ret = arena_str(a, buf_str(&line));
    ask_forget(&line);
    return is_fine;
}

int secret_read_file(struct arena *a, const char *path, str *ret, struct err *e)
{
    char line[SECRET_MAX + 2];
    if (strcmp(path, "-") == 0)
        return secret_read(a, "Value", ret) ? 0 : err_set(e, -EINVAL, "stdin is empty");
    FILE *f = fopen(path, "re");
    if (!f)
        return err_set(e, -errno, "%s: %s", path, err_reason(-errno));
    bool is_fine = fgets(line, sizeof line, f) != NULL && take_line(a, line, ret);
    (void)fclose(f);
    explicit_bzero(line, sizeof line);
    return is_fine ? 0
                   : err_set(e, -EINVAL, "%s: its first line must have 1 to %d characters", path,
                             SECRET_MAX);
}
