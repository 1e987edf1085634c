/* journal_recover.h - what a journal still holds after a loss of power, for commands that only
 * read.
 *
 * A store that is opened for writing puts it back into the logs by itself (store/log/replay.h).
 * What is copied from the logs without one would lack it: backups, exports, conversions. Where it
 * cannot be put back there is a warning. A journal whose writer lives is left alone: its logs
 * are complete to whoever reads them. Blocking. */
#pragma once

#include "config/config.h"

void journal_recover(const char *dir);      /* one directory of logs; it need not exist */
void journal_recover_all(struct config *c); /* every one that the settings lead to */
