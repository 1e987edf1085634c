#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "bundle/confine/process_usage.h"
#include "os/dir.h"

#define CLOCK_EVERY 256 /* files between two checks of the time */

struct look {
    struct disk_usage usage;
    dev_t device;
    uint64_t end_ms;
    bool is_over;
};

static void count_file(struct look *l, const struct stat *st)
{
    l->usage.files++;
    l->usage.bytes += (int64_t)st->st_blocks * 512 /
                      (st->st_nlink > 1 && !S_ISDIR(st->st_mode) ? (int64_t)st->st_nlink : 1);
    if (l->usage.files > DISK_FILES_MAX ||
        (l->usage.files % CLOCK_EVERY == 0 && clock_mono_ms() >= l->end_ms))
        l->is_over = true;
}

static void walk_directory(struct look *l, struct dir *d, int depth)
{
    struct stat st;
    while (!l->is_over && dir_next(d)) {
        if (fstatat(dir_fd(d), d->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        count_file(l, &st);
        if (!S_ISDIR(st.st_mode) || st.st_dev != l->device || depth == DISK_DEPTH_MAX)
            continue;
        struct dir sub = dir_open_below(dir_fd(d), d->name);
        walk_directory(l, &sub, depth + 1);
    }
    dir_close(d);
}

struct disk_usage disk_usage(const char *path)
{
    struct look l = {.end_ms = clock_mono_ms() + DISK_LOOK_MS};
    struct stat st;
    struct dir d = dir_open(path);
    if (d.handle && fstat(dir_fd(&d), &st) == 0) {
        l.device = st.st_dev;
        walk_directory(&l, &d, 1);
    }
    dir_close(&d);
    return l.usage;
}
