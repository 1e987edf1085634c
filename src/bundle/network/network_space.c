#include "bundle/network/network_space.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bundle/confine/user_map.h"
#include "os/file.h"

#define RESOLV_CONF     "/etc/resolv.conf"
#define RESOLV_CONF_MAX 8192
#define NAMESERVERS_MAX 3 /* the limit of resolver libraries */
#define OWN_MAX         64
#define BACKLOG         256
#define DNS_PORT        53
#define LO_INDEX        1 /* the first interface of every namespace */

struct space {
    const struct network_rules *rules;
    int socket, netlink;
    struct network_ip nameservers[NAMESERVERS_MAX + 1], own[OWN_MAX];
    size_t nnameservers, nown;
    size_t ngates;
    struct err *e;
};

/* Ports that public servers use. Ports on which programs often listen themselves (3000, 8000, 8080
 * ...) are not in the list, so that gates do not block them. */
static const uint16_t COMMON_PORTS[] = {
    22,   25,   80,   110,  143,  443,  465,  587,  853,  993,  995,  1433, 3306, 4222, 5222, 5432,
    5671, 5672, 6379, 6380, 6443, 6697, 8443, 8883, 9092, 9093, 9200, 9243, 9418, 9443, 27017};

static bool is_common(uint16_t port)
{
    for (size_t i = 0; i < ARRAY_LEN(COMMON_PORTS); i++) {
        if (COMMON_PORTS[i] == port)
            return true;
    }
    return false;
}

/* ---- addresses for names: 198.18.0.0/15 is not in use on the internet ---- */

void network_dest_address(size_t index, struct network_ip *ret)
{
    *ret = (struct network_ip){.at = {198, 18, 0, (uint8_t)(index + 1)}};
}

int network_dest_of(const struct network_ip *ip)
{
    bool is_one = !ip->is_v6 && ip->at[0] == 198 && ip->at[1] == 18 && ip->at[2] == 0;
    return is_one && ip->at[3] >= 1 && ip->at[3] <= NETWORK_DESTS_MAX ? ip->at[3] - 1 : -1;
}

/* ---- facts read outside the namespace ---- */

static void add_nameserver(struct space *s, str text)
{
    struct network_ip ip;
    if (s->nnameservers < NAMESERVERS_MAX && network_ip_parse(text, &ip))
        s->nameservers[s->nnameservers++] = ip;
}

/* Resolvers use 127.0.0.1 when no other server is named. */
static void read_nameservers(struct space *s)
{
    char text[RESOLV_CONF_MAX];
    str rest = file_head(RESOLV_CONF, text, sizeof(text)), line;
    while (str_split(&rest, '\n', &line)) {
        line = str_trim(line);
        if (str_starts(line, STR("nameserver")))
            add_nameserver(s, str_trim(str_skip(line, strlen("nameserver"))));
    }
    struct network_ip local = {.at = {127, 0, 0, 1}};
    for (size_t i = 0; i < s->nnameservers; i++) {
        if (network_ip_equal(&s->nameservers[i], &local))
            return;
    }
    s->nameservers[s->nnameservers++] = local;
}

/* Public addresses of this machine are hidden too, because services (nb perhaps) listen on all
 * addresses. The proxy checks again when a connection is made. */
static void read_own_addresses(struct space *s)
{
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) < 0)
        return;
    for (const struct ifaddrs *i = all; i && s->nown < OWN_MAX; i = i->ifa_next) {
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET &&
            network_ip_from(i->ifa_addr, &s->own[s->nown]) && s->own[s->nown].at[0] != 127)
            s->nown++;
    }
    freeifaddrs(all);
}

/* ---- the namespaces ---- */

/* Root in a container may be allowed only one of the two ways. */
static int leave_network(struct space *s)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (uid == 0 && unshare(CLONE_NEWNET) == 0)
        return 0;
    int rc = unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0 ? -errno : user_map_self(uid, gid);
    if (rc < 0)
        return err_set(s->e, rc, "this system does not allow a network namespace: %s",
                       err_reason(rc));
    return 0;
}

static int raise_loopback(struct space *s)
{
    struct ifreq ifr = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set(s->e, -errno, "cannot open a socket: %s", err_reason(-errno));
    int rc = ioctl(fd, SIOCGIFFLAGS, &ifr) < 0 ? -errno : 0;
    ifr.ifr_flags |= IFF_UP | IFF_RUNNING;
    if (rc == 0 && ioctl(fd, SIOCSIFFLAGS, &ifr) < 0)
        rc = -errno;
    close(fd);
    return rc < 0 ? err_set(s->e, rc, "cannot set up the loopback: %s", err_reason(rc)) : 0;
}

/* ---- routes ---- */

struct route_request {
    struct nlmsghdr head;
    struct rtmsg route;
    char attributes[64];
};

static void add_attribute(struct route_request *q, unsigned short type, const void *p, size_t n)
{
    struct rtattr a = {.rta_len = (unsigned short)RTA_LENGTH(n), .rta_type = type};
    char *at = (char *)q + NLMSG_ALIGN(q->head.nlmsg_len);
    memcpy(at, &a, sizeof(a));
    memcpy(at + RTA_LENGTH(0), p, n);
    q->head.nlmsg_len = (uint32_t)(NLMSG_ALIGN(q->head.nlmsg_len) + RTA_ALIGN(a.rta_len));
}

static int send_route(int netlink, const struct route_request *q)
{
    struct {
        struct nlmsghdr head;
        struct nlmsgerr err;
        char rest[256];
    } answer;
    if (send(netlink, q, q->head.nlmsg_len, 0) < 0)
        return -errno;
    ssize_t n = recv(netlink, &answer, sizeof(answer), 0);
    if (n < (ssize_t)(sizeof(answer.head) + sizeof(answer.err)))
        return n < 0 ? -errno : -EPROTO;
    return answer.head.nlmsg_type == NLMSG_ERROR ? answer.err.error : -EPROTO;
}

/* is_open: packets arrive at the gates; otherwise the address is unreachable. */
static int add_route(struct space *s, const struct network_ip *ip, unsigned char bits, bool is_open)
{
    int lo = LO_INDEX;
    struct route_request q = {
        .head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
                 .nlmsg_type = RTM_NEWROUTE,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE},
        .route = {.rtm_family = ip->is_v6 ? AF_INET6 : AF_INET,
                  .rtm_dst_len = bits,
                  .rtm_table = RT_TABLE_LOCAL,
                  .rtm_protocol = RTPROT_STATIC,
                  .rtm_scope = is_open ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE,
                  .rtm_type = is_open ? RTN_LOCAL : RTN_UNREACHABLE},
    };
    add_attribute(&q, RTA_DST, ip->at, ip->is_v6 ? 16 : 4);
    if (is_open)
        add_attribute(&q, RTA_OIF, &lo, sizeof(lo));
    int rc = send_route(s->netlink, &q);
    return rc < 0 ? err_set(s->e, rc, "cannot set up the network routes: %s", err_reason(rc)) : 0;
}

static bool is_loopback(const struct network_ip *ip)
{
    static const uint8_t ONE[16] = {[15] = 1};
    return ip->is_v6 ? memcmp(ip->at, ONE, 16) == 0 : ip->at[0] == 127;
}

static int open_address(struct space *s, const struct network_ip *ip)
{
    return is_loopback(ip) ? 0 : add_route(s, ip, ip->is_v6 ? 128 : 32, true);
}

/* The ranges that net/address.h classifies as not public. */
static int add_public_routes(struct space *s)
{
    static const struct {
        uint8_t at[4];
        unsigned char bits;
    } CLOSED[] = {
        {{0}, 8},
        {{10}, 8},
        {{100, 64}, 10},
        {{168, 63, 129, 16}, 32},
        {{169, 254}, 16},
        {{172, 16}, 12},
        {{192, 0, 0}, 24},
        {{192, 0, 2}, 24},
        {{192, 88, 99}, 24},
        {{192, 168}, 16},
        {{198, 18}, 15},
        {{198, 51, 100}, 24},
        {{203, 0, 113}, 24},
        {{224}, 4},
        {{240}, 4},
    };
    int rc = add_route(s, &(struct network_ip){0}, 0, true);
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(CLOSED); i++) {
        struct network_ip ip = {0};
        memcpy(ip.at, CLOSED[i].at, 4);
        rc = add_route(s, &ip, CLOSED[i].bits, false);
    }
    for (size_t i = 0; rc == 0 && i < s->nown; i++)
        rc = add_route(s, &s->own[i], 32, false);
    return rc;
}

static void inside_address(const struct space *s, size_t i, struct network_ip *ret)
{
    const struct network_dest *d = &s->rules->at[i];
    if (d->is_ip)
        *ret = d->ip;
    else if (str_eq(d->host, STR("localhost")))
        *ret = (struct network_ip){.at = {127, 0, 0, 1}};
    else
        network_dest_address((size_t)network_find_name(s->rules, d->host), ret);
}

static int add_routes(struct space *s)
{
    int rc = s->rules->is_public ? add_public_routes(s) : 0;
    for (size_t i = 0; rc == 0 && i < s->rules->n; i++) {
        struct network_ip ip;
        inside_address(s, i, &ip);
        rc = open_address(s, &ip);
    }
    for (size_t i = 0; rc == 0 && i < s->nnameservers; i++)
        rc = open_address(s, &s->nameservers[i]);
    return rc;
}

static int set_routes(struct space *s)
{
    s->netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (s->netlink < 0)
        return err_set(s->e, -errno, "cannot set up the network routes: %s", err_reason(-errno));
    int rc = add_routes(s);
    close(s->netlink);
    return rc;
}

/* ---- gates ---- */

static int send_gate(struct space *s, enum network_gate_kind kind, int fd)
{
    char what = (char)kind;
    struct iovec data = {&what, 1};
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr m = {.msg_iov = &data, .msg_iovlen = 1};
    if (fd >= 0) {
        m.msg_control = &control;
        m.msg_controllen = sizeof(control.space);
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
    }
    return sendmsg(s->socket, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int bind_gate(int fd, int type, const struct network_ip *ip, uint16_t port)
{
    struct sockaddr_storage sa;
    int on = 1;
    socklen_t len = network_ip_to(ip, port, &sa);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (ip->is_v6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&sa, len) < 0)
        return -errno;
    return type == SOCK_STREAM && listen(fd, BACKLOG) < 0 ? -errno : 0;
}

static int add_gate(struct space *s, enum network_gate_kind kind, const struct network_ip *ip,
                    uint16_t port)
{
    int type = kind == NETWORK_GATE_STREAM ? SOCK_STREAM : SOCK_DGRAM;
    if (s->ngates++ >= NETWORK_GATES_MAX)
        return err_set(s->e, -E2BIG, "more than %d addresses and ports in sandbox.network",
                       NETWORK_GATES_MAX);
    int fd = socket(ip->is_v6 ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 && ip->is_v6 && errno == EAFNOSUPPORT)
        return 0; /* a kernel without IPv6 */
    int rc = fd < 0 ? -errno : bind_gate(fd, type, ip, port);
    if (rc == 0)
        rc = send_gate(s, kind, fd);
    file_close(fd);
    char text[INET6_ADDRSTRLEN];
    network_ip_text(ip, text);
    return rc < 0
               ? err_set(s->e, rc, "cannot listen for %s port %d: %s", text, port, err_reason(rc))
               : 0;
}

/* "localhost" has two addresses. */
static int add_dest_gates(struct space *s, size_t i)
{
    const struct network_dest *d = &s->rules->at[i];
    struct network_ip ip, six = {.is_v6 = true, .at = {[15] = 1}};
    inside_address(s, i, &ip);
    if (!ip.is_v6 && s->rules->is_public && is_common(d->port))
        return 0; /* a gate for all addresses exists already */
    int rc = add_gate(s, NETWORK_GATE_STREAM, &ip, d->port);
    if (rc == 0 && str_eq(d->host, STR("localhost")))
        rc = add_gate(s, NETWORK_GATE_STREAM, &six, d->port);
    return rc;
}

/* Two names of one address ("localhost" and "127.0.0.1") share one gate. */
static bool is_gate_doubled(const struct space *s, size_t i)
{
    struct network_ip ip, other;
    inside_address(s, i, &ip);
    for (size_t k = 0; k < i; k++) {
        inside_address(s, k, &other);
        if (s->rules->at[k].port == s->rules->at[i].port && network_ip_equal(&ip, &other))
            return true;
    }
    return false;
}

static int add_gates(struct space *s)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->nnameservers; i++)
        rc = add_gate(s, NETWORK_GATE_NAMES, &s->nameservers[i], DNS_PORT);
    for (size_t i = 0; rc == 0 && s->rules->is_public && i < ARRAY_LEN(COMMON_PORTS); i++)
        rc = add_gate(s, NETWORK_GATE_STREAM, &(struct network_ip){0}, COMMON_PORTS[i]);
    for (size_t i = 0; rc == 0 && i < s->rules->n; i++)
        rc = is_gate_doubled(s, i) ? 0 : add_dest_gates(s, i);
    if (rc < 0)
        return rc;
    rc = send_gate(s, NETWORK_GATES_DONE, -1);
    return rc < 0
               ? err_set(s->e, rc, "the network proxy of the bundle has ended: %s", err_reason(rc))
               : 0;
}

int network_space_enter(const struct network_rules *r, int socket, struct err *e)
{
    static int (*const STEPS[])(struct space *) = {leave_network, raise_loopback, set_routes,
                                                   add_gates};
    struct space s = {.rules = r, .socket = socket, .e = e};
    int rc = 0;
    read_nameservers(&s);
    read_own_addresses(&s);
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(STEPS); i++)
        rc = STEPS[i](&s);
    return rc;
}

int network_gate_receive(int socket, enum network_gate_kind *ret, int *ret_fd)
{
    char what = 0;
    struct iovec data = {&what, 1};
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr m = {.msg_iov = &data,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof(control.space)};
    ssize_t n;
    while ((n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        ;
    if (n <= 0)
        return n < 0 ? -errno : -EPIPE;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    *ret_fd = -1;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
    *ret = (enum network_gate_kind)what;
    return 0;
}
