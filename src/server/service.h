/* service.h - the protocol of a service manager such as systemd, without its library.
 *
 * The manager may pass listening sockets (LISTEN_FDS) and may read the states of the server from a
 * datagram socket (NOTIFY_SOCKET), with a sign of life in each interval (WATCHDOG_USEC): it comes
 * from the event loop, so that a loop that hangs is noticed. Without a manager everything here does
 * nothing. The variables are removed from the environment, because programs that nb starts must
 * not send states in its name. Loop thread only. */
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include "base/err.h"
#include "loop/timer.h"

#define SERVICE_SOCKETS_MAX 8

struct service_socket {
    int fd;
    bool is_for_apps; /* named "apps": the origin of interfaces of tools (http.appsPort) */
    bool is_loopback;
};

struct service {
    struct service_socket sockets[SERVICE_SOCKETS_MAX];
    size_t nsockets;
    int notify_fd; /* -1: nobody reads the states */
    struct sockaddr_un notify_to;
    socklen_t notify_len;
    struct timer watchdog;
    uint64_t watchdog_ms; /* 0 = no sign of life is expected */
};

/* Reads the environment. An error is a socket that nb cannot use, or a variable that is wrong. */
int service_open(struct service *s, struct loop *l, struct err *e);
void service_ready(struct service *s, uint16_t port); /* starts the signs of life */
void service_stopping(struct service *s);
void service_close(struct service *s); /* the sockets belong to those that took them */
