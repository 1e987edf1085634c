#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "os/lock.h"
#include "support/unit.h"

TEST(one_holder_at_a_time)
{
    char dir[] = "/tmp/nb-lock-XXXXXX";
    struct err e = {0};
    int fd, other;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(dir_lock(dir, &fd, &e), 0);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    uint64_t before = clock_mono_ms();
    pid_t pid = fork();
    if (pid == 0) { /* the parent's descriptor is inherited: close it to wait for the lock */
        usleep(100 * 1000);
        _exit(0);
    }
    close(fd); /* the child still holds it for a moment */
    assert_int_equal(dir_lock(dir, &other, &e), 0);
    assert_true(clock_mono_ms() - before >= 50);
    close(other);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    rmdir(dir);
    assert_int_equal(dir_lock(dir, &fd, &e), -ENOENT);
}
