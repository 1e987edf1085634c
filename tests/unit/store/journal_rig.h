/* journal_rig.h - a journal in a temporary directory, and the bytes of it. */
#pragma once

#include <errno.h>
#include <fcntl.h>

#include "rig.h"
#include "store/log/journal.h"

enum { HALF = 4 * JOURNAL_BLOCK };

struct journal_rig {
    char dir[64];
    struct journal journal;
    char file[2 * HALF]; /* journal_rig_load */
};

static inline struct journal_rig *journal_rig_new(void)
{
    struct journal_rig *t = xcalloc(1, sizeof(*t));
    (void)snprintf(t->dir, sizeof(t->dir), "%s/nb-journal-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(t->dir));
    assert_int_equal(journal_open(&t->journal, &store_io_system, t->dir, HALF, NULL), 0);
    return t;
}

static inline void journal_rig_free(struct journal_rig *t)
{
    journal_close(&t->journal);
    rig_wipe(t->dir);
    free(t);
}

/* A batch with one record. */
static inline int journal_rig_write(struct journal_rig *t, const char *name, uint64_t inode,
                                    uint64_t offset, str bytes)
{
    journal_begin(&t->journal);
    journal_add(&t->journal, str_from(name), inode, offset, (uint32_t)bytes.n);
    journal_add_bytes(&t->journal, bytes);
    return journal_commit(&t->journal);
}

static inline void journal_rig_load(struct journal_rig *t)
{
    int fd = open(t->journal.path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, t->file, sizeof(t->file), 0), sizeof(t->file));
    close(fd);
}

static inline str journal_rig_half(struct journal_rig *t, int half)
{
    return str_make(t->file + (size_t)half * HALF, HALF);
}
