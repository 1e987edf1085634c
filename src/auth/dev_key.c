#include "auth/dev_key.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes/random.h"
#include "os/file.h"

static int key_path(const char *work_dir, const char *suffix, char ret[PATH_MAX], struct err *e)
{
    int n = snprintf(ret, PATH_MAX, "%s/" DEV_KEY_FILE "%s", work_dir, suffix);
    return n < PATH_MAX ? 0 : err_set(e, -ENAMETOOLONG, "%s: the path is too long", work_dir);
}

static bool is_key(str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool is_base64url = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                            (c >= '0' && c <= '9') || c == '-' || c == '_';
        if (!is_base64url)
            return false;
    }
    return text.n == SECRET_CHARS;
}

static int check_owner(int fd, const char *path, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_set(e, -errno, "%s: %s", path, err_reason(-errno));
    if (S_ISREG(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0)
        return 0;
    return err_set(
        e, -EACCES,
        "%s: other users can read or replace this key. Delete the file; nb creates a new "
        "key when it starts.",
        path);
}

int dev_key_read(const char *work_dir, char ret[SECRET_CHARS + 1], struct err *e)
{
    char path[PATH_MAX], text[SECRET_CHARS + 2] = "";
    int r = key_path(work_dir, "", path, e);
    if (r < 0)
        return r;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return err_set(e, -errno, "%s: %s", path, err_reason(-errno));
    r = check_owner(fd, path, e);
    ssize_t n = r == 0 ? read(fd, text, sizeof text) : 0;
    close(fd);
    if (r < 0)
        return r;
    str key = str_trim(str_make(text, n > 0 ? (size_t)n : 0));
    if (!is_key(key))
        return err_set(
            e, -EINVAL,
            "%s: this file does not contain a key of nb. Delete the file; nb creates a new "
            "key when it starts.",
            path);
    memcpy(ret, key.p, SECRET_CHARS);
    ret[SECRET_CHARS] = 0;
    explicit_bzero(text, sizeof text);
    return 0;
}

static int make_dir(const char *work_dir, struct err *e)
{
    char dir[PATH_MAX];
    int n = snprintf(dir, sizeof dir, "%s/auth", work_dir);
    if (n >= PATH_MAX)
        return err_set(e, -ENAMETOOLONG, "%s: the path is too long", work_dir);
    return file_make_dirs(dir, e);
}

/* The new file gets its final name by link(), which never replaces the file of another process;
 * rename() is for file systems without links. */
static int make_key(const char *work_dir, struct err *e)
{
    char path[PATH_MAX], draft[PATH_MAX], key[SECRET_CHARS + 1], suffix[RANDOM_ID_MAX + 1] = ".";
    random_id("new", suffix + 1);
    int r = key_path(work_dir, "", path, e);
    if (r == 0)
        r = key_path(work_dir, suffix, draft, e);
    if (r == 0)
        r = make_dir(work_dir, e);
    if (r < 0)
        return r;
    secret_make(key);
    r = file_write_atomic(draft, str_from(key), 0600, e);
    explicit_bzero(key, sizeof key);
    if (r < 0)
        return r;
    if (link(draft, path) < 0 && errno != EEXIST && rename(draft, path) < 0)
        r = err_set(e, -errno, "%s: %s", path, err_reason(-errno));
    (void)unlink(draft);
    return r;
}

int dev_key_ensure(const char *work_dir, char ret[SECRET_CHARS + 1], struct err *e)
{
    int r = dev_key_read(work_dir, ret, e);
    if (r != -ENOENT)
        return r;
    r = make_key(work_dir, e);
    return r < 0 ? r : dev_key_read(work_dir, ret, e);
}

int dev_key_renew(const char *work_dir, char ret[SECRET_CHARS + 1], struct err *e)
{
    char path[PATH_MAX];
    int r = key_path(work_dir, "", path, e);
    if (r == 0)
        r = make_dir(work_dir, e);
    if (r < 0)
        return r;
    secret_make(ret);
    return file_write_atomic(path, str_make(ret, SECRET_CHARS), 0600, e);
}
