/* index_vfs.h - opens the database of the index, with a journal that belongs to the file.
 *
 * SQLite finds a journal by the name of its database. But the index may be deleted or replaced
 * while it is used, and then two databases would share one journal: whoever reads the one takes
 * what is being written to the other for the traces of a crash, and puts its pages "back". Here
 * the name of the journal has the number of the file in it. A connection has a VFS of its own,
 * registered with SQLite while it is open, which must not move in memory; one thread at a
 * time. */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

struct index_vfs {
    sqlite3_vfs vfs;
    char name[32];
    char *journal; /* its path; NULL = the database is not open */
    int64_t file;  /* the inode number of the database */
};

/* Makes an empty file that only its owner may read, unless there is one. */
void index_vfs_make(const char *path);

/* The file must exist. Returns an SQLITE_ code; *ret is to be closed whatever it is. */
int index_vfs_open(struct index_vfs *v, const char *path, sqlite3 **ret);
void index_vfs_close(struct index_vfs *v, sqlite3 *sql); /* a no-op when sql is NULL */
