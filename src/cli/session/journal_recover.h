/* journal_recover.h - writes the entries of a journal to the logs after a power loss, for commands
 * that only read.
 *
 * A store that is opened for writing does this automatically (store/log/replay.h). Commands that
 * copy logs without opening a store (backups, exports, conversions) would miss these entries. If
 * the recovery fails, a warning is printed. The journal of a running writer is not touched: its
 * logs are complete for readers. Blocking. */
#pragma once

#include "config/config.h"

void journal_recover(const char *dir);      /* one directory of logs; it need not exist */
void journal_recover_all(struct config *c); /* every directory that the settings refer to */
