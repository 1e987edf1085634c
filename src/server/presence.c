#include "server/presence.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/bytes/hash.h"

#define SOCKET_NAME     "nb.sock"
#define SOCKET_MAX      (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)
#define NAME_HASH_CHARS 16

const char *presence_socket(struct arena *a, const char *work_dir)
{
    str path = arena_printf(a, "%s/" SOCKET_NAME, work_dir);
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char sha[SHA256_HEX_LEN + 1];
    if (path.n <= SOCKET_MAX)
        return path.p;
    sha256_hex(str_from(work_dir), sha);
    if (runtime && runtime[0] == '/')
        path = arena_printf(a, "%s/nb/%.*s.sock", runtime, NAME_HASH_CHARS, sha);
    if (path.n > SOCKET_MAX)
        path = arena_printf(a, "/tmp/nb-%u/%.*s.sock", (unsigned)getuid(), NAME_HASH_CHARS, sha);
    return path.p;
}

int presence_make_socket_dir(const char *socket_path, const char *work_dir, struct err *e)
{
    struct arena a;
    struct stat st;
    int r = 0;
    arena_init(&a);
    const char *slash = strrchr(socket_path, '/');
    assert(slash); /* of presence_socket */
    const char *dir = arena_cstr(&a, str_make(socket_path, (size_t)(slash - socket_path)));
    if (strcmp(dir, work_dir) == 0)
        goto out;
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        r = err_errno(e, -errno, "cannot make the directory", dir);
    else if (lstat(dir, &st) < 0)
        r = err_errno(e, -errno, "cannot examine", dir);
    else if (!S_ISDIR(st.st_mode) || st.st_uid != getuid() || (st.st_mode & 077) != 0)
        r = err_set(e, -EACCES,
                    "%s must be a directory of this user that nobody else may enter (chmod 700), "
                    "because the socket of the server is in it",
                    dir);
out:
    arena_done(&a);
    return r;
}

int presence_claim(const char *work_dir, int *ret_fd, struct err *e)
{
    *ret_fd = -1;
    int fd = open(work_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, -errno, "cannot open", work_dir);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        *ret_fd = fd;
        return 0;
    }
    int code = errno;
    close(fd);
    if (code != EWOULDBLOCK)
        return 0;
    return err_set(e, -EBUSY,
                   "another server uses the work directory %s; stop it, or choose another "
                   "directory with --workdir DIR",
                   work_dir);
}
