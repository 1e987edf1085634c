/* browser.h - the page in the browser of the desktop. */
#pragma once

#include "base/str.h"

/* Opens the link if this is a terminal of a desktop (DISPLAY or WAYLAND_DISPLAY) with xdg-open;
 * otherwise does nothing. The link holds a secret and every user may read the command lines of
 * all processes, so the browser is given {workDir}/auth/open.html (0600), which leads there. */
void browser_open(const char *work_dir, str link);
