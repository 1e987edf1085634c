/* index_vfs.h - opens the database of the index, with a journal that belongs to the file.
 *
 * SQLite finds a journal by the name of its database. But the index may be deleted or replaced
 * while it is used. Two databases would then share one journal: a reader of one would take the
 * journal of the other for the remains of a crash, and "restore" its pages. Therefore the name of
 * the journal contains the inode number of the database. A connection has its own VFS, which is
 * registered with SQLite while it is open and must not move in memory; one thread at a time. */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

struct index_vfs {
    sqlite3_vfs vfs;
    char name[32];
    char *journal; /* its path; NULL = the database is not open */
    int64_t file;  /* the inode number of the database */
};

/* Creates an empty file that only its owner may read, unless the file exists. */
void index_vfs_make(const char *path);

/* The file must exist. Returns an SQLITE_ code; *ret must be closed also on failure. */
int index_vfs_open(struct index_vfs *v, const char *path, sqlite3 **ret);
void index_vfs_close(struct index_vfs *v, sqlite3 *sql); /* sql may be NULL */
