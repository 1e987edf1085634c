#include "cli/secret.h"

#include <string.h>
#include <termios.h>
#include <unistd.h>

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
    str text = is_read ? str_from(line) : STR_NONE;
    while (text.n > 0 && (text.p[text.n - 1] == '\n' || text.p[text.n - 1] == '\r'))
        text.n--;
    bool is_fine = text.n > 0 && text.n <= SECRET_MAX;
    if (is_fine)
        *ret = arena_str(a, text);
    explicit_bzero(line, sizeof line);
    return is_fine;
}
