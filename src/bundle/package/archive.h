/* archive.h - unpacks .mcpb archives (ZIP) into a directory.
 *
 * Archives are untrusted. An entry cannot write outside the directory, be a link or a device, occur
 * twice, or fill the disk: names are checked before anything is written, and sizes are counted
 * while writing. The directory appears complete or not at all. Blocking: for pool threads and
 * commands. */
#pragma once

#include "base/err.h"

#define ARCHIVE_ENTRIES_MAX 50000u
#define ARCHIVE_NAME_MAX    1024u
#define ARCHIVE_DEPTH_MAX   32u
/* limit for an archive, and for its content */
#define ARCHIVE_BYTES_MAX (2ull * 1024 * 1024 * 1024)
/* Beyond RATIO_FREE bytes the content may not exceed RATIO_MAX times the size of the archive. */
#define ARCHIVE_RATIO_MAX  100u
#define ARCHIVE_RATIO_FREE (64ull * 1024 * 1024)

/* Unpacks into a new directory beside `dest` and renames it to `dest`, which must not exist
 * (-EEXIST). Files keep their permissions, without write access for others and without set-id bits.
 * -EINVAL: the archive is not acceptable, with the name of the entry. */
int archive_unpack(const char *archive, const char *dest, struct err *e);

/* The same from a descriptor, which stays open. `name` is for messages. */
int archive_unpack_fd(int fd, const char *name, const char *dest, struct err *e);
