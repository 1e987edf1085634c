#include "server/service.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FIRST_FD        3 /* of those that are passed, in a row */
#define WATCHDOG_MAX_MS 3600000

static const char *const VARIABLES[] = {"LISTEN_PID",    "LISTEN_FDS",    "LISTEN_FDNAMES",
                                        "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"};

/* A variable with the id of another process was inherited: it is not for this one. */
static bool is_for_us(const char *variable, bool if_absent)
{
    const char *text = getenv(variable);
    uint64_t pid;
    if (!text)
        return if_absent;
    return parse_u64(str_from(text), &pid) == 0 && pid == (uint64_t)getpid();
}

/* ---- sockets ---- */

static bool is_loopback_address(const struct sockaddr_storage *addr)
{
    const struct sockaddr_in *v4 = (const void *)addr;
    const struct sockaddr_in6 *v6 = (const void *)addr;
    if (addr->ss_family == AF_INET)
        return (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
    return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* A Unix socket is refused: clients of nb.sock are operators, and nb itself sets its mode. */
static int examine_socket(struct service_socket *ret, int fd, str name, struct err *e)
{
    struct sockaddr_storage addr = {0};
    socklen_t n = sizeof addr, type_len = sizeof(int);
    int type = 0;
    if (getsockname(fd, (struct sockaddr *)&addr, &n) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) < 0)
        return err_set(e, -errno, "LISTEN_FDS: descriptor %d is not a socket", fd);
    if (type != SOCK_STREAM || (addr.ss_family != AF_INET && addr.ss_family != AF_INET6))
        return err_set(e, -EINVAL, "LISTEN_FDS: descriptor %d is not a TCP socket", fd);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
        return err_set(e, -errno, "LISTEN_FDS: descriptor %d cannot be used: %s", fd,
                       err_reason(-errno));
    *ret = (struct service_socket){fd, str_eq(name, STR("apps")), is_loopback_address(&addr)};
    return 0;
}

static int read_sockets(struct service *s, struct err *e)
{
    uint64_t n;
    str names = str_from(getenv("LISTEN_FDNAMES")), name;
    if (!getenv("LISTEN_FDS") || !is_for_us("LISTEN_PID", false))
        return 0;
    if (parse_u64(str_from(getenv("LISTEN_FDS")), &n) < 0 || n > SERVICE_SOCKETS_MAX)
        return err_set(e, -EINVAL, "LISTEN_FDS: '%s' is not a number up to %d",
                       getenv("LISTEN_FDS"), SERVICE_SOCKETS_MAX);
    for (int i = 0; i < (int)n; i++) {
        if (!str_split(&names, ':', &name))
            name = STR_NONE;
        int r = examine_socket(&s->sockets[i], FIRST_FD + i, name, e);
        if (r < 0)
            return r;
        s->nsockets++;
    }
    return 0;
}

/* ---- states ---- */

/* "/run/notify", or "@name" in the abstract namespace. */
static int read_notify(struct service *s, struct err *e)
{
    str path = str_from(getenv("NOTIFY_SOCKET"));
    if (path.n == 0)
        return 0;
    if ((path.p[0] != '/' && path.p[0] != '@') || path.n >= sizeof s->notify_to.sun_path)
        return err_set(e, -EINVAL, "NOTIFY_SOCKET: '%s' is not the address of a socket", path.p);
    s->notify_to.sun_family = AF_UNIX;
    memcpy(s->notify_to.sun_path, path.p, path.n);
    if (path.p[0] == '@')
        s->notify_to.sun_path[0] = 0;
    s->notify_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path.n);
    s->notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return s->notify_fd < 0 ? err_errno(e, -errno, "cannot open", "a socket for NOTIFY_SOCKET") : 0;
}

/* The server continues when a state cannot be sent: the manager decides what its absence means. */
static void send_state(struct service *s, str state)
{
    if (s->notify_fd >= 0)
        (void)sendto(s->notify_fd, state.p, state.n, MSG_NOSIGNAL,
                     (const struct sockaddr *)&s->notify_to, s->notify_len);
}

static void on_watchdog_due(void *ctx)
{
    struct service *s = ctx;
    assert(s->watchdog_ms > 0);
    send_state(s, STR("WATCHDOG=1"));
    timer_start(&s->watchdog, s->watchdog_ms);
}

/* Two signs in each interval: one may be late. */
static int read_watchdog(struct service *s, struct err *e)
{
    const char *text = getenv("WATCHDOG_USEC");
    uint64_t us;
    if (!text || s->notify_fd < 0 || !is_for_us("WATCHDOG_PID", true))
        return 0;
    if (parse_u64(str_from(text), &us) < 0)
        return err_set(e, -EINVAL, "WATCHDOG_USEC: '%s' is not a number", text);
    uint64_t ms = us / 1000 / 2;
    s->watchdog_ms = us == 0 ? 0 : ms == 0 ? 1 : ms > WATCHDOG_MAX_MS ? WATCHDOG_MAX_MS : ms;
    return 0;
}

int service_open(struct service *s, struct loop *l, struct err *e)
{
    *s = (struct service){.notify_fd = -1};
    timer_init(&s->watchdog, l, on_watchdog_due, s);
    int r = read_sockets(s, e);
    if (r == 0)
        r = read_notify(s, e);
    if (r == 0)
        r = read_watchdog(s, e);
    for (size_t i = 0; i < ARRAY_LEN(VARIABLES); i++)
        (void)unsetenv(VARIABLES[i]);
    return r;
}

void service_ready(struct service *s, uint16_t port)
{
    char state[128];
    int n = snprintf(state, sizeof state, "READY=1\nSTATUS=Listening on port %u", port);
    assert(n > 0 && (size_t)n < sizeof state);
    send_state(s, str_make(state, (size_t)n));
    if (s->watchdog_ms > 0)
        on_watchdog_due(s);
}

void service_stopping(struct service *s)
{
    send_state(s, STR("STOPPING=1\nSTATUS=Finishing requests"));
}

void service_close(struct service *s)
{
    timer_stop(&s->watchdog);
    if (s->notify_fd >= 0)
        close(s->notify_fd);
    s->notify_fd = -1;
}
