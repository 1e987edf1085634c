#include "cli/session/browser.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "os/file.h"

static bool has_desktop(void)
{
    const char *x11 = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    return isatty(STDOUT_FILENO) && ((x11 && *x11) || (wayland && *wayland));
}

/* Addresses and keys contain no character that has a meaning in HTML or JavaScript. */
static int write_page(const char *path, str link)
{
    struct arena a;
    arena_init(&a);
    str page = arena_printf(&a,
                            "<!doctype html><meta charset=\"utf-8\"><title>nb</title>"
                            "<meta name=\"referrer\" content=\"no-referrer\">"
                            "<script>location.replace(\"%.*s\")</script>\n",
                            STR_ARG(link));
    int r = file_write_atomic(path, page, 0600, NULL);
    arena_done(&a);
    return r;
}

/* The grandchild is adopted by init, so nb need not wait for the browser. */
static void browser_start(const char *path)
{
    pid_t child = fork();
    if (child > 0)
        (void)waitpid(child, NULL, 0);
    if (child != 0)
        return;
    if (fork() != 0)
        _exit(0);
    int null = open("/dev/null", O_RDWR);
    (void)setsid();
    for (int fd = 0; fd <= 2; fd++)
        (void)dup2(null, fd);
    execlp("xdg-open", "xdg-open", path, (char *)NULL);
    _exit(127);
}

void browser_open(const char *work_dir, str link)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/auth/open.html", work_dir);
    if (!has_desktop() || n >= (int)sizeof path || write_page(path, link) < 0)
        return;
    browser_start(path);
}

bool browser_show_file(const char *path)
{
    if (!has_desktop())
        return false;
    browser_start(path);
    return true;
}
