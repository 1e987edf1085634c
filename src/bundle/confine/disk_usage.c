#include "bundle/confine/disk_usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

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

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static void walk_directory(struct look *l, int fd, int depth)
{
    const struct dirent *d;
    struct stat st;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return;
    }
    while (!l->is_over && (d = readdir(dir)) != NULL) {
        if (is_dots(d->d_name) || fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        count_file(l, &st);
        if (!S_ISDIR(st.st_mode) || st.st_dev != l->device || depth == DISK_DEPTH_MAX)
            continue;
        int sub = openat(dirfd(dir), d->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub >= 0)
            walk_directory(l, sub, depth + 1);
    }
    closedir(dir);
}

struct disk_usage disk_usage(const char *path)
{
    struct look l = {.end_ms = clock_mono_ms() + DISK_LOOK_MS};
    struct stat st;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0) {
        if (fd >= 0)
            close(fd);
        return l.usage;
    }
    l.device = st.st_dev;
    walk_directory(&l, fd, 1);
    return l.usage;
}
