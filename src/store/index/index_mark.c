#include "store/index/index_mark.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"

enum { LINE_MAX_BYTES = 160, BOOT_BYTES = 36 };

#define FORMAT "nb-index 1 %s %" PRId64 " %" PRId64 " %zu\n"

/* The boot of this machine; false: not known. */
static bool read_boot(char ret[BOOT_BYTES + 1])
{
    str boot = file_head("/proc/sys/kernel/random/boot_id", ret, BOOT_BYTES);
    ret[BOOT_BYTES] = 0;
    return boot.n == BOOT_BYTES && strspn(ret, "0123456789abcdef-") == BOOT_BYTES;
}

void mark_init(struct index_mark *m)
{
    *m = (struct index_mark){.fd = -1};
}

/* The line is ours only if it is exactly what we would have written. */
static bool read_line(struct index_mark *m)
{
    char line[LINE_MAX_BYTES], again[LINE_MAX_BYTES], boot[BOOT_BYTES + 1];
    int64_t mtime, birth;
    size_t total;
    ssize_t n = pread(m->fd, line, sizeof(line) - 1, 0);
    if (n <= 0 || !read_boot(boot))
        return false;
    line[n] = 0;
    if (sscanf(line, "nb-index 1 %*36s %" SCNd64 " %" SCNd64 " %zu", &mtime, &birth, &total) != 3)
        return false;
    (void)snprintf(again, sizeof(again), FORMAT, boot, mtime, birth, total);
    m->dir_mtime_ns = mtime;
    m->birth = birth;
    m->total = total;
    return strcmp(line, again) == 0;
}

void mark_take(struct index_mark *m, const char *path)
{
    if (m->fd >= 0 || m->is_other)
        return;
    m->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (m->fd < 0)
        return;
    if (flock(m->fd, LOCK_EX | LOCK_NB) < 0) {
        m->is_other = true;
        (void)!pwrite(m->fd, "x", 1, 0);
        mark_done(m);
        return;
    }
    m->is_found = read_line(m);
    if (ftruncate(m->fd, 0) < 0) { /* then it must not be used by the next process */
        (void)unlink(path);
        m->is_other = true;
        mark_done(m);
    }
}

void mark_leave(const struct index_mark *m, int64_t dir_mtime_ns, int64_t birth, size_t total)
{
    char line[LINE_MAX_BYTES], boot[BOOT_BYTES + 1];
    struct stat st;
    if (m->fd < 0 || !read_boot(boot) || fstat(m->fd, &st) < 0 || st.st_size > 0 ||
        st.st_nlink == 0)
        return;
    int n = snprintf(line, sizeof(line), FORMAT, boot, dir_mtime_ns, birth, total);
    (void)!pwrite(m->fd, line, (size_t)n, 0); /* a line that is not whole is ignored */
}

void mark_done(struct index_mark *m)
{
    if (m->fd >= 0)
        close(m->fd);
    m->fd = -1;
}
