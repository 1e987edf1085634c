#include "bundle/confine/machine_usage.h"

#include <sys/statfs.h>
#include <sys/sysinfo.h>

#include "os/file.h"

#define MEMINFO_BYTES 4096

/* The page cache is not counted: the kernel takes it back when it needs memory. */
static int64_t memory_in_use(void)
{
    char text[MEMINFO_BYTES];
    str rest = file_head("/proc/meminfo", text, sizeof(text)), line, name;
    int64_t sum = 0, kb;
    while (str_split(&rest, '\n', &line)) {
        if (!str_split(&line, ':', &name) ||
            !(str_eq(name, STR("AnonPages")) || str_eq(name, STR("Shmem"))))
            continue;
        str value = str_trim(line), number;
        if (str_split(&value, ' ', &number) && parse_i64(number, &kb) == 0)
            sum += kb * 1024;
    }
    return sum;
}

struct machine_usage machine_usage(const char *dir)
{
    struct machine_usage u = {.memory_bytes = memory_in_use()};
    struct sysinfo info;
    struct statfs st;
    if (sysinfo(&info) == 0)
        u.tasks = info.procs;
    if (dir && statfs(dir, &st) == 0)
        u.disk_free_bytes = (int64_t)st.f_bavail * st.f_bsize;
    return u;
}
