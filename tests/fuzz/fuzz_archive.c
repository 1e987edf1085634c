/* Any bytes as a bundle archive: it unpacks into one directory, or leaves nothing. Neither links
 * nor anything else but files and directories come out. */
#include <assert.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/package/archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    assert(S_ISREG(st->st_mode) || S_ISDIR(st->st_mode));
    assert((st->st_mode & 06022) == 0);
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

static int count_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return ftw->level > 0 ? 1 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* In memory: every archive is synced to where it is unpacked. */
    char dir[] = "/dev/shm/nb-fuzz-XXXXXX", dest[sizeof dir + 8];
    struct err e = {0};
    int fd = memfd_create("archive", MFD_CLOEXEC);
    if (size > 256 * 1024 || fd < 0 || !mkdtemp(dir)) {
        close(fd);
        return 0;
    }
    snprintf(dest, sizeof dest, "%s/out", dir);
    assert(write(fd, data, size) == (ssize_t)size);
    if (archive_unpack_fd(fd, "archive", dest, &e) == 0) {
        assert(nftw(dest, check_one, 8, FTW_PHYS) == 0);
    } else {
        assert(e.msg[0]);
        assert(nftw(dir, count_one, 8, FTW_PHYS) == 0);
    }
    (void)nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    close(fd);
    return 0;
}
