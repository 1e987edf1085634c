/* index_mark.h - what the process before left behind: "the index was complete when I stopped".
 *
 * {cache_dir}/index.state holds one line: the boot of the machine, the time of the directory, the
 * database and the number of logs at the end of a process that had brought every change of its own
 * into the index. A process
 * that finds it, and the directory as it says, need not compare all logs with the index before its
 * first list; changes of other programs to existing logs are found by the sweep in the background.
 *
 * The file is emptied before this process changes a log, so that a process that is killed leaves
 * nothing. Nothing is synced, neither here nor in the database: after a loss of power the boot is
 * another, and the mark does not count. The file is locked (flock) while a process uses it: a
 * second process beside the first one does not get the mark, and writes a byte into the file, so
 * that the first one leaves none either. Loop thread; a few short system calls, once in the life of
 * a store. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index_mark {
    int fd;        /* -1 = not open */
    bool is_other; /* another process has it */
    bool is_found;
    int64_t dir_mtime_ns, birth; /* as found */
    size_t total;
};

void mark_init(struct index_mark *m);
/* Opens and empties the file, unless that has been done. Without its directory there is no index
 * either: the next call tries again. */
void mark_take(struct index_mark *m, const char *path);
/* Writes the line, if the file is ours alone. */
void mark_leave(const struct index_mark *m, int64_t dir_mtime_ns, int64_t birth, size_t total);
void mark_done(struct index_mark *m);
