/* browser.h - opens the page in the browser of the desktop. */
#pragma once

#include "base/str.h"

/* Opens the link with xdg-open if this is a terminal of a desktop (DISPLAY or WAYLAND_DISPLAY);
 * otherwise does nothing. The link contains a secret and every user can read the command lines of
 * all processes, so the browser gets {workDir}/auth/open.html (0600), which redirects to the
 * link. */
void browser_open(const char *work_dir, str link);

/* Shows a file with the program of the desktop for its type. False: there is no desktop. */
bool browser_show_file(const char *path);
