/* user_map.h - the ids of a process in a user namespace that it has just entered. */
#pragma once

#include <sys/types.h>

/* Maps the caller to the ids that it had outside, and nobody else. 0 or -errno. */
int user_map_self(uid_t uid, gid_t gid);
