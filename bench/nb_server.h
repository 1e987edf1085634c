/* nb_server.h - the release binary (NB_RELEASE) as a server under measurement: started in a
 * directory of its own, its CPU of all threads, its memory, its end. */
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

struct server {
    pid_t pid;
    uint16_t port;
    clockid_t cpu;
    char dir[256];
    char key[64]; /* of the installation */
};

static void die(const char *what)
{
    perror(what); /* with errno, where there is one */
    exit(1);
}

/* ---- the server ---- */

static uint16_t read_port(int fd)
{
    char text[4096];
    size_t n = 0;
    ssize_t r;
    while (n < sizeof(text) - 1 && (r = read(fd, text + n, sizeof(text) - 1 - n)) > 0) {
        n += (size_t)r;
        text[n] = 0;
        unsigned port;
        const char *at = strstr(text, "http://127.0.0.1:");
        if (at && sscanf(at, "http://127.0.0.1:%u", &port) == 1)
            return (uint16_t)port;
    }
    die("the server does not start");
    return 0;
}

static void read_key(struct server *s)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/auth/dev.key", s->dir);
    FILE *f = fopen(path, "re");
    if (!f || !fgets(s->key, sizeof(s->key), f))
        die(path);
    (void)fclose(f);
}

static void write_settings(const struct server *s, const char *settings)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/nimblebrain.json", s->dir);
    FILE *f = fopen(path, "we");
    if (!f || fputs(settings, f) < 0 || fclose(f) != 0)
        die(path);
}

static pid_t server_pid; /* 0: none runs */

static void end_server(void)
{
    if (server_pid > 0)
        (void)kill(server_pid, SIGTERM);
}

static void make_dir(struct server *s)
{
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(s->dir, sizeof(s->dir), "%s/nb-bench-XXXXXX", tmp ? tmp : ".");
    if (!mkdtemp(s->dir))
        die("temporary directory");
}

/* In its directory. */
static void launch(struct server *s)
{
    const char *binary = getenv("NB_RELEASE");
    int out[2];
    if (!binary || pipe2(out, O_CLOEXEC) < 0)
        die("NB_RELEASE is not set");
    (void)setenv("NB_DEMO_DELAY_MS", "0", 1);
    (void)unsetenv("ANTHROPIC_API_KEY");
    (void)unsetenv("OPENAI_API_KEY");
    const char *argv[] = {binary, "serve", "--port", "0", "--workdir", s->dir, NULL};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
    if (posix_spawn(&s->pid, binary, &files, NULL, (char *const *)argv, environ) != 0)
        die(binary);
    posix_spawn_file_actions_destroy(&files);
    server_pid = s->pid;
    close(out[1]);
    s->port = read_port(out[0]);
    read_key(s);
    if (clock_getcpuclockid(s->pid, &s->cpu) != 0)
        die("CPU clock");
}

/* settings: the text of nimblebrain.json, or NULL. */
static void start_server(struct server *s, const char *settings)
{
    make_dir(s);
    if (settings)
        write_settings(s, settings);
    (void)atexit(end_server); /* also after die */
    launch(s);
}

static void quit_server(struct server *s)
{
    int status;
    kill(s->pid, SIGTERM);
    (void)waitpid(s->pid, &status, 0);
    server_pid = 0;
}

static inline double cpu_us(const struct server *s)
{
    struct timespec t;
    if (clock_gettime(s->cpu, &t) < 0)
        die("CPU clock");
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

/* scripts/run-bench.mjs removes the files of all runs at its end (see there why). */
static void stop_server(struct server *s)
{
    quit_server(s);
    if (!getenv("BENCH_KEEPS_FILES"))
        (void)nftw(s->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static double rss_mb(const struct server *s)
{
    char path[64];
    unsigned long size = 0, resident = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)s->pid);
    FILE *f = fopen(path, "re");
    if (!f || fscanf(f, "%lu %lu", &size, &resident) != 2)
        die("memory");
    (void)fclose(f);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1048576;
}

/* A connection to the server. */
static int dial(uint16_t port)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        die("connect");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}
