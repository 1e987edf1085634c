#include "bundle/confine/user_map.h"

#include <stdio.h>
#include <sys/prctl.h>

#include "os/file.h"

int user_map_self(uid_t uid, gid_t gid)
{
    char map[64];
    int was_dumpable = prctl(PR_GET_DUMPABLE);
    (void)prctl(PR_SET_DUMPABLE, 1); /* else these files belong to root */
    int rc = file_put("/proc/self/setgroups", "deny");
    snprintf(map, sizeof(map), "%u %u 1", uid, uid);
    if (rc == 0)
        rc = file_put("/proc/self/uid_map", map);
    snprintf(map, sizeof(map), "%u %u 1", gid, gid);
    if (rc == 0)
        rc = file_put("/proc/self/gid_map", map);
    (void)prctl(PR_SET_DUMPABLE, was_dumpable);
    return rc;
}
