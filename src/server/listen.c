#include "server/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"

#define SANDBOX_CONNS 1024

static bool is_loopback(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (strcmp(host, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return (ntohl(v4.s_addr) >> 24) == 127;
    return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

static size_t count_sockets(const struct service *service, bool are_for_apps)
{
    size_t n = 0;
    for (size_t i = 0; service && i < service->nsockets; i++)
        n += service->sockets[i].is_for_apps == are_for_apps;
    return n;
}

/* The address of a passed socket counts, and not the setting that it replaces. The listener of apps
 * still has the address of the setting if no socket was passed for it. */
static bool is_private(const struct config *c, const struct service *service)
{
    for (size_t i = 0; service && i < service->nsockets; i++)
        if (!service->sockets[i].is_loopback)
            return false;
    bool has_apps = count_sockets(service, true) > 0 || c->http.apps_port < 0;
    return (count_sockets(service, false) > 0 && has_apps) || is_loopback(c->http.host);
}

int listen_check(const struct config *c, enum auth_mode mode, const struct service *service,
                 struct err *e)
{
    if (mode != AUTH_DEV || c->http.allow_unauthenticated || is_private(c, service))
        return 0;
    return err_set(
        e, -EACCES,
        "refusing to listen on %s without users: the key of this installation, which gives "
        "access to everything, would be sent over the network. Run nb init, or set NB_API_KEY, or "
        "listen on 127.0.0.1, or set http.allowUnauthenticated to true in %s (the key is needed "
        "even then)",
        service && service->nsockets > 0 ? "the sockets of the service manager" : c->http.host,
        c->path);
}

static int listen_sockets(struct http_server *s, const struct service *service, bool are_for_apps,
                          uint16_t *ret_port, struct err *e)
{
    bool is_first = true;
    for (size_t i = 0; i < service->nsockets; i++) {
        const struct service_socket *one = &service->sockets[i];
        uint16_t port;
        if (one->is_for_apps != are_for_apps)
            continue;
        int r = http_listen_socket(s, one->fd, &port, e);
        if (r < 0)
            return r;
        if (is_first)
            *ret_port = port;
        is_first = false;
    }
    return 0;
}

void listen_raise_limit(struct logger *log)
{
    struct rlimit lim;
    if (getrlimit(RLIMIT_NOFILE, &lim) < 0 || lim.rlim_cur >= lim.rlim_max)
        return;
    lim.rlim_cur = lim.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &lim) < 0)
        log_warn(log, "server", "cannot raise the limit of open files: %s", err_reason(-errno));
}

int listen_keys(const struct config_http *c, struct logger *log, struct tls_keys **ret,
                struct err *e)
{
    if (c->tls_cert.n == 0 && c->tls_key.n == 0)
        return 0;
    if (c->tls_cert.n == 0 || c->tls_key.n == 0)
        return err_set(e, -EINVAL, "http.tls.cert and http.tls.key: set both, or neither");
    return tls_keys_open(c->tls_cert, c->tls_key, log, ret, e);
}

int listen_main(struct http_server *s, const struct config *c, const struct service *service,
                struct tls_keys *keys, uint16_t *ret_port, struct err *e)
{
    if (keys)
        http_server_use_tls(s, keys);
    if (count_sockets(service, false) > 0)
        return listen_sockets(s, service, false, ret_port, e);
    return http_listen_tcp(s, c->http.host, (uint16_t)c->http.port, ret_port, e);
}

static int listen_apps(struct http_server *s, const struct config *c, const struct service *service,
                       uint16_t port, uint16_t *ret_port, struct err *e)
{
    if (count_sockets(service, true) > 0)
        return listen_sockets(s, service, true, ret_port, e);
    return http_listen_tcp(s, c->http.host, port, ret_port, e);
}

struct http_server *listen_sandboxes(struct loop *l, struct logger *log, struct api *api,
                                     const struct config *config, const struct service *service,
                                     struct tls_keys *keys, uint16_t port)
{
    struct http_handlers h = api_sandbox_handlers(api);
    const struct config_http *c = &config->http;
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    struct err e = {0};
    int64_t wanted = c->apps_port == 0 && c->port > 0 ? port + 1 : c->apps_port;
    uint16_t got;
    if (wanted < 0 || wanted > UINT16_MAX)
        return NULL;
    limits.conns = SANDBOX_CONNS;
    limits.conns_reserved = 0;
    struct http_server *s = http_server_new(l, &limits, &h);
    if (keys)
        http_server_use_tls(s, keys);
    if (listen_apps(s, config, service, (uint16_t)wanted, &got, &e) == 0)
        api_sandbox_listens(api, got);
    else
        log_warn(log, "server",
                 "interfaces of tools share the origin of the page, because the port for them "
                 "(http.appsPort) cannot be used: %s",
                 e.msg);
    return s;
}

struct http_limits listen_limits(const struct config_http *c)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    limits.conns_per_address = (unsigned)c->conns_per_address;
    limits.conns_per_person = (unsigned)c->conns_per_person;
    limits.streams_per_person = (unsigned)c->streams_per_person;
    return limits;
}

void listen_explain(struct logger *log, const struct config *c, const struct service *service,
                    const char *socket, uint16_t port)
{
    if (strrchr(socket, '/') != socket + strlen(c->work_dir))
        log_info(log, "server",
                 "the path of the work directory is too long for a socket; other nb commands find "
                 "this server at %s",
                 socket);
    if (service && service->nsockets > 0 && port != c->http.port)
        log_info(log, "server", "a service manager passed the port %u: http.port has no effect",
                 port);
}
