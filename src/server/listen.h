/* listen.h - where a server listens: at the sockets that a service manager passed, or at http.host
 * and http.port. Loop thread only. */
#pragma once

#include "api/api.h"
#include "auth/instance.h"
#include "config/config.h"
#include "http/server.h"
#include "http/tls/tls.h"
#include "server/service.h"

/* -EACCES when the server would listen beyond the loopback without authentication, unless a
 * setting allows it. service may be NULL. */
int listen_check(const struct config *c, enum auth_mode mode, const struct service *service,
                 struct err *e);

/* As many open files, and so connections, as the system allows. */
void listen_raise_limit(struct logger *log);

/* The certificate of the settings; *ret is NULL if they have none. */
int listen_keys(const struct config_http *c, struct logger *log, struct tls_keys **ret,
                struct err *e);

/* Opens the listeners of the API and the page, with TLS if there are keys. *ret_port is the port of
 * the first. */
int listen_main(struct http_server *s, const struct config *c, const struct service *service,
                struct tls_keys *keys, uint16_t *ret_port, struct err *e);

/* The server of interfaces of tools, which have an origin of their own: at the socket for apps, or
 * at a port that the settings and `port` (of the page) give. NULL: the settings want none. Without
 * it they still work, in the page's origin (api/views/layout.h), so a port that is taken does not
 * prevent the start. */
struct http_server *listen_sandboxes(struct loop *l, struct logger *log, struct api *api,
                                     const struct config *config, const struct service *service,
                                     struct tls_keys *keys, uint16_t port);

struct http_limits listen_limits(const struct config_http *c);

/* Says where other commands find the server, and what passed sockets change. */
void listen_explain(struct logger *log, const struct config *c, const struct service *service,
                    const char *socket, uint16_t port);
