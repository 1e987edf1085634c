#include "cli/term/secret.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

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
    char line[SECRET_MAX + 2];
    struct termios before, quiet;
    bool is_terminal = tcgetattr(STDIN_FILENO, &before) == 0;
    if (is_terminal) {
        fputs(prompt, stderr);
        fflush(stderr);
        quiet = before;
        quiet.c_lflag &= ~(tcflag_t)ECHO;
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
    }
    bool is_read = fgets(line, sizeof line, stdin) != NULL;
    if (is_terminal) {
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
        fputc('\n', stderr);
    }
    bool is_fine = is_read && take_line(a, line, ret);
    explicit_bzero(line, sizeof line);
    return is_fine;
}

int secret_read_file(struct arena *a, const char *path, str *ret, struct err *e)
{
    char line[SECRET_MAX + 2];
    if (strcmp(path, "-") == 0)
        return secret_read(a, "Value: ", ret) ? 0 : err_set(e, -EINVAL, "stdin is empty");
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
