#include "cli/term/secret.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/term/ask.h"

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
