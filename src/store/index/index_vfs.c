#include "store/index/index_vfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/str.h"

static char *journal_of(const char *path, int64_t file)
{
    /* SQLite removes only the text after the last '-' to find the database of a journal. */
    size_t size = strlen(path) + sizeof("-journal-9223372036854775808");
    char *name = xcalloc(1, size);
    (void)snprintf(name, size, "%s-journal%lld", path, (long long)file);
    return name;
}

/* ---- a new file ---- */

/* Creates a temporary file and returns its inode number; -1: it cannot be created. */
static int64_t make_aside(char *path)
{
    struct stat st;
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return -1;
    bool is_known = fstat(fd, &st) == 0;
    close(fd); /* before SQLite can open the file: close would drop its POSIX locks */
    return is_known ? (int64_t)st.st_ino : -1;
}

/* A crash may have left the journal of an earlier file with the same inode number. That journal is
 * deleted before the new file gets its name, so that SQLite never applies it to the new file. */
void index_vfs_make(const char *path)
{
    char fresh[PATH_MAX];
    if (chmod(path, 0600) == 0 || errno != ENOENT) /* a file of another user is not changed */
        return;
    bool has_room = snprintf(fresh, sizeof(fresh), "%s-XXXXXX", path) < PATH_MAX;
    int64_t file = has_room ? make_aside(fresh) : -1;
    if (file < 0)
        return; /* opening the database reports the error */
    char *journal = journal_of(path, file);
    (void)unlink(journal);
    free(journal);
    if (link(fresh, path) < 0 && errno != EEXIST)
        (void)rename(fresh, path); /* for file systems without hard links */
    (void)unlink(fresh);
}

/* ---- SQLite's view ---- */

static struct index_vfs *own(sqlite3_vfs *vfs)
{
    return CONTAINER_OF(vfs, struct index_vfs, vfs);
}

static const char *real_name(sqlite3_vfs *vfs, const char *name)
{
    bool is_journal = name && str_ends(str_from(name), STR("-journal"));
    return is_journal ? own(vfs)->journal : name;
}

/* The path is checked again after reading its inode number, to prove that the number belongs to the
 * open file. */
static int vfs_identify(struct index_vfs *v, const char *path, sqlite3_file *f)
{
    struct stat st;
    int has_moved = 1;
    if (stat(path, &st) < 0 ||
        f->pMethods->xFileControl(f, SQLITE_FCNTL_HAS_MOVED, &has_moved) != SQLITE_OK || has_moved)
        return SQLITE_CANTOPEN;
    v->file = (int64_t)st.st_ino;
    v->journal = journal_of(path, v->file);
    return SQLITE_OK;
}

static int vfs_open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags,
                         int *ret_flags)
{
    sqlite3_vfs *base = sqlite3_vfs_find(NULL);
    int rc = base->xOpen(base, real_name(vfs, name), f, flags, ret_flags);
    if (rc == SQLITE_OK && (flags & SQLITE_OPEN_MAIN_DB))
        rc = vfs_identify(own(vfs), name, f);
    return rc;
}

static int delete_file(sqlite3_vfs *vfs, const char *name, int syncs_dir)
{
    sqlite3_vfs *base = sqlite3_vfs_find(NULL);
    return base->xDelete(base, real_name(vfs, name), syncs_dir);
}

static int look_at_file(sqlite3_vfs *vfs, const char *name, int what, int *ret)
{
    sqlite3_vfs *base = sqlite3_vfs_find(NULL);
    return base->xAccess(base, real_name(vfs, name), what, ret);
}

/* ---- life ---- */

int index_vfs_open(struct index_vfs *v, const char *path, sqlite3 **ret)
{
    *v = (struct index_vfs){.vfs = *sqlite3_vfs_find(NULL)};
    (void)snprintf(v->name, sizeof(v->name), "nb-%p", (void *)v);
    v->vfs.zName = v->name;
    v->vfs.pNext = NULL;
    v->vfs.xOpen = vfs_open_file;
    v->vfs.xDelete = delete_file;
    v->vfs.xAccess = look_at_file;
    int rc = sqlite3_vfs_register(&v->vfs, 0);
    if (rc != SQLITE_OK)
        return rc;
    rc = sqlite3_open_v2(path, ret, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, v->name);
    if (!*ret) /* there was no memory even for a handle */
        sqlite3_vfs_unregister(&v->vfs);
    return rc;
}

void index_vfs_close(struct index_vfs *v, sqlite3 *sql)
{
    if (!sql)
        return;
    sqlite3_close(sql);
    sqlite3_vfs_unregister(&v->vfs);
    free(v->journal);
    v->journal = NULL;
}
