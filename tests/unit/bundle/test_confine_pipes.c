#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bundle/confine/confine.h"
#include "support/unit.h"

/* Each attempt runs in a process of its own: there is no way back. Returns its errno. */
static int attempt(long (*fn)(void))
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        struct err e = {0};
        if (confine_to_pipes(&e) < 0)
            _exit(255);
        errno = 0;
        _exit(fn() < 0 ? errno : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static long open_file(void)
{
    return open("/etc/passwd", O_RDONLY | O_CLOEXEC);
}

static long open_socket(void)
{
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static long make_process(void)
{
    return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static long run_program(void)
{
    char *const argv[] = {(char *)"/bin/true", NULL};
    return execve(argv[0], argv, NULL);
}

static long map_code(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? -1 : 0;
}

static long kill_parent(void)
{
    return kill(getppid(), 0);
}

static long signal_parent_thread(void)
{
    return syscall(SYS_tgkill, 1, 1, 0);
}

static long leave_directory(void)
{
    return chdir("/");
}

TEST(everything_outside_is_refused)
{
    static long (*const REFUSED[])(void) = {
        open_file, open_socket, make_process,         run_program,
        map_code,  kill_parent, signal_parent_thread, leave_directory};
    if (!confine_has_seccomp())
        skip();
    for (size_t i = 0; i < ARRAY_LEN(REFUSED); i++)
        assert_int_equal(attempt(REFUSED[i]), EPERM);
}

static long use_memory_and_pipes(void)
{
    void *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || munmap(p, 1 << 20) < 0)
        return -1;
    char *block = malloc(5 << 20);
    block[5000] = 1;
    bool is_same = block[5000] == 1;
    free(block);
    return is_same && write(STDERR_FILENO, "", 0) == 0 ? 0 : -1;
}

TEST(memory_and_open_descriptors_stay)
{
    if (!confine_has_seccomp())
        skip();
    assert_int_equal(attempt(use_memory_and_pipes), 0);
}
