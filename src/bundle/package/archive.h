/* archive.h - .mcpb archives (ZIP) unpacked into a directory.
 *
 * Archives come from anywhere. Nothing in one can write outside the directory, be a link or a
 * device, come twice, or fill the disk: names are checked before anything is written, sizes
 * are counted while it is. The directory appears complete or not at all. Blocking: for pool
 * threads and commands. */
#pragma once

#include "base/err.h"

#define ARCHIVE_ENTRIES_MAX 50000u
#define ARCHIVE_NAME_MAX    1024u
#define ARCHIVE_DEPTH_MAX   32u
#define ARCHIVE_BYTES_MAX   (2ull * 1024 * 1024 * 1024) /* of an archive, and of what is in it */
/* Beyond RATIO_FREE bytes an archive may not hold more than RATIO_MAX times its own size. */
#define ARCHIVE_RATIO_MAX  100u
#define ARCHIVE_RATIO_FREE (64ull * 1024 * 1024)

/* Unpacks into a new directory beside `dest` and renames it to `dest`, which must not exist
 * (-EEXIST). Files keep their permissions, without write access for others and without set-id
 * bits. -EINVAL: the archive is no good, with the name of the entry. */
int archive_unpack(const char *archive, const char *dest, struct err *e);

/* The same from a descriptor, which stays open. `name` is for messages. */
int archive_unpack_fd(int fd, const char *name, const char *dest, struct err *e);
