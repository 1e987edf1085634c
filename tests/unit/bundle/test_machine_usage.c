#include <sys/mman.h>

#include "bundle/confine/machine_usage.h"
#include "support/unit.h"

#define MIB (1024L * 1024)

TEST(the_machine_is_in_use)
{
    struct machine_usage u = machine_usage("/tmp");
    assert_true(u.memory_bytes > MIB && u.tasks > 1 && u.disk_free_bytes > 0);
    assert_int_equal(machine_usage("/nowhere/at/all").disk_free_bytes, 0);
    assert_int_equal(machine_usage(NULL).disk_free_bytes, 0);
}

/* Other programs may free memory meanwhile: one of several attempts shows it. */
TEST(memory_of_a_process_is_part_of_it)
{
    const size_t size = 256 * MIB;
    bool is_seen = false;
    for (int i = 0; i < 20 && !is_seen; i++) {
        int64_t before = machine_usage(NULL).memory_bytes;
        char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(p, MAP_FAILED);
        memset(p, 1, size);
        is_seen = machine_usage(NULL).memory_bytes - before > 128 * MIB;
        munmap(p, size);
    }
    assert_true(is_seen);
}
