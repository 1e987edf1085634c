#include "bundle/network/network_proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "bundle/confine/confine.h"
#include "bundle/network/network_dns.h"
#include "bundle/network/network_link.h"
#include "bundle/network/network_lookup.h"
#include "bundle/network/network_space.h"

#define LOOKUP_MS         15000
#define ASKED_MAX         32 /* names that are being resolved for the server */
#define QUESTIONS_AT_ONCE 16
#define COMPLAINTS_MAX    32

struct asked {       /* a question that is being resolved */
    uint64_t ticket; /* 0 = free */
    int gate;
    struct sockaddr_storage from;
    socklen_t from_len;
    struct dns_question question;
};

struct gate {
    enum network_gate_kind kind;
    int fd;
};

struct proxy {
    const struct network_rules *rules;
    struct gate gates[NETWORK_GATES_MAX];
    size_t ngates;
    struct link links[NETWORK_LINKS_MAX];
    size_t nlinks; /* in use; the array has holes */
    struct asked asked[ASKED_MAX];
    struct lookups *lookups;
    uint64_t next_ticket;
    unsigned ncomplaints;
};

/* ---- refusals ---- */

static void complain(struct proxy *p, str host, uint16_t port, const char *why)
{
    if (p->ncomplaints++ >= COMPLAINTS_MAX)
        return;
    if (port == 0)
        dprintf(STDERR_FILENO, "nb: the name %.*s cannot be resolved: %s\n", STR_ARG(host), why);
    else
        dprintf(STDERR_FILENO, "nb: no connection to %.*s port %d: %s\n", STR_ARG(host), port, why);
}

/* Keeps only the addresses that may be reached. */
static size_t filter(const struct network_rules *r, str host, uint16_t port, struct network_ip *ips,
                     size_t n, const char **why)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const char *reason;
        if (network_allows(r, host, port, &ips[i], network_is_own_address(&ips[i]), &reason))
            ips[kept++] = ips[i];
        else
            *why = reason;
    }
    return kept;
}

/* ---- connections ---- */

static struct link *free_link(struct proxy *p)
{
    for (size_t i = 0; i < NETWORK_LINKS_MAX; i++) {
        if (p->links[i].state == LINK_FREE)
            return &p->links[i];
    }
    return NULL;
}

static void refuse_link(struct proxy *p, struct link *l, const char *why)
{
    complain(p, str_from(l->host), l->port, why);
    link_reset(l);
}

static void connect_link(struct proxy *p, struct link *l)
{
    const char *why = "it has no address";
    l->nips = filter(p->rules, str_from(l->host), l->port, l->ips, l->nips, &why);
    if (l->nips == 0)
        refuse_link(p, l, why);
    else
        link_connect(l);
}

/* The destination of the connection. */
static bool find_destination(const struct proxy *p, struct link *l)
{
    struct sockaddr_storage sa;
    socklen_t len = sizeof(sa);
    struct network_ip ip;
    if (getsockname(l->client, (struct sockaddr *)&sa, &len) < 0 ||
        !network_ip_from((struct sockaddr *)&sa, &ip))
        return false;
    in_port_t port; /* at the same place for both families */
    memcpy(&port, (char *)&sa + offsetof(struct sockaddr_in, sin_port), sizeof(port));
    l->port = ntohs(port);
    int i = network_dest_of(&ip);
    if (i >= 0 && (size_t)i < p->rules->n) {
        snprintf(l->host, sizeof(l->host), "%.*s", STR_ARG(p->rules->at[i].host));
        return true;
    }
    network_ip_text(&ip, l->host);
    l->ips[0] = ip;
    l->nips = 1;
    return true;
}

/* "localhost" arrives as an address; it is not known on which of its two the server listens. */
static void note_localhost(const struct proxy *p, struct link *l)
{
    bool is_loopback = l->nips == 1 && (l->ips[0].is_v6 || l->ips[0].at[0] == 127);
    if (!is_loopback || network_find(p->rules, str_from(l->host), l->port) >= 0 ||
        network_find(p->rules, STR("localhost"), l->port) < 0)
        return;
    snprintf(l->host, sizeof(l->host), "localhost");
    l->ips[0] = (struct network_ip){.at = {127, 0, 0, 1}};
    l->ips[1] = (struct network_ip){.is_v6 = true, .at = {[15] = 1}};
    l->nips = 2;
}

static void begin_link(struct proxy *p, struct link *l)
{
    if (!find_destination(p, l)) {
        link_reset(l);
        return;
    }
    note_localhost(p, l);
    if (l->nips > 0) {
        connect_link(p, l);
        return;
    }
    l->ticket = ++p->next_ticket;
    if (network_find(p->rules, str_from(l->host), l->port) < 0)
        refuse_link(p, l, "it is not declared in sandbox.network");
    else if (!lookups_ask(p->lookups, l->ticket, str_from(l->host)))
        refuse_link(p, l, "too many name lookups are in progress");
}

static void accept_links(struct proxy *p, int gate)
{
    struct link *l;
    while ((l = free_link(p)) != NULL) {
        int fd = accept4(gate, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        link_begin(l, fd, clock_mono_ms() + LOOKUP_MS);
        begin_link(p, l);
    }
}

/* ---- names ---- */

static void answer_name(const struct asked *q, enum dns_result result, const struct network_ip *ips,
                        size_t n)
{
    uint8_t out[DNS_MESSAGE_MAX];
    size_t len = dns_answer(&q->question, result, ips, n, out);
    (void)sendto(q->gate, out, len, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&q->from,
                 q->from_len);
}

static void look_up(struct proxy *p, const struct asked *q)
{
    for (size_t i = 0; i < ASKED_MAX; i++) {
        struct asked *slot = &p->asked[i];
        if (slot->ticket != 0)
            continue;
        *slot = *q;
        slot->ticket = ++p->next_ticket;
        if (lookups_ask(p->lookups, slot->ticket, str_from(q->question.name)))
            return;
        slot->ticket = 0;
        break;
    }
    answer_name(q, DNS_FAILED, NULL, 0);
}

/* Declared names have an address in the namespace, whatever they have outside. For other names only
 * IPv4 is returned, because the gates of public addresses are IPv4. */
static void on_question(struct proxy *p, const struct asked *q)
{
    struct network_ip ip;
    str name = str_from(q->question.name);
    int i = network_find_name(p->rules, name);
    if (q->question.kind != DNS_A && (i >= 0 || p->rules->is_public)) {
        answer_name(q, DNS_OK, NULL, 0);
    } else if (i >= 0) {
        network_dest_address((size_t)i, &ip);
        answer_name(q, DNS_OK, &ip, 1);
    } else if (p->rules->is_public) {
        look_up(p, q);
    } else {
        answer_name(q, DNS_NO_SUCH_NAME, NULL, 0);
    }
}

static void read_questions(struct proxy *p, int gate)
{
    for (int i = 0; i < QUESTIONS_AT_ONCE; i++) {
        uint8_t in[DNS_MESSAGE_MAX * 4];
        struct asked q = {.gate = gate, .from_len = sizeof(q.from)};
        ssize_t n =
            recvfrom(gate, in, sizeof(in), MSG_DONTWAIT, (struct sockaddr *)&q.from, &q.from_len);
        if (n < 0)
            return;
        if (dns_parse(in, (size_t)n, &q.question) == 0)
            on_question(p, &q);
    }
}

static void answer_asked(struct proxy *p, struct asked *q, struct lookup_answer *found)
{
    const char *why = NULL;
    str name = str_from(q->question.name);
    size_t n = filter(p->rules, name, 0, found->ips, found->nips, &why);
    if (n == 0 && why)
        complain(p, name, 0, why);
    answer_name(q,
                n > 0               ? DNS_OK
                : found->is_failure ? DNS_FAILED
                                    : DNS_NO_SUCH_NAME,
                found->ips, n);
    q->ticket = 0;
}

static void take_answers(struct proxy *p)
{
    struct lookup_answer found;
    while (lookups_take(p->lookups, &found)) {
        for (size_t i = 0; i < ASKED_MAX; i++) {
            if (p->asked[i].ticket == found.ticket)
                answer_asked(p, &p->asked[i], &found);
        }
        for (size_t i = 0; i < NETWORK_LINKS_MAX; i++) {
            struct link *l = &p->links[i];
            if (l->state != LINK_WAITING || l->ticket != found.ticket)
                continue;
            memcpy(l->ips, found.ips, sizeof(l->ips));
            l->nips = found.nips;
            connect_link(p, l);
        }
    }
}

/* ---- the loop ---- */

#define FDS_MAX (1 + NETWORK_GATES_MAX + 2 * NETWORK_LINKS_MAX)

struct proxy_watched {
    struct pollfd fds[FDS_MAX];
    nfds_t n;
    uint64_t deadline; /* the earliest of all links */
};

static void watch(struct proxy *p, struct proxy_watched *w)
{
    bool is_full = !free_link(p);
    w->n = 0;
    w->deadline = UINT64_MAX;
    w->fds[w->n++] = (struct pollfd){lookups_fd(p->lookups), POLLIN, 0};
    for (size_t i = 0; i < p->ngates; i++) {
        bool waits = is_full && p->gates[i].kind == NETWORK_GATE_STREAM;
        w->fds[w->n++] = (struct pollfd){waits ? -1 : p->gates[i].fd, POLLIN, 0};
    }
    for (size_t i = 0; i < NETWORK_LINKS_MAX; i++) {
        struct link *l = &p->links[i];
        w->fds[w->n] = (struct pollfd){-1, 0, 0};
        w->fds[w->n + 1] = (struct pollfd){-1, 0, 0};
        if (l->state != LINK_FREE) {
            link_watch(l, &w->fds[w->n]);
            w->deadline = l->deadline < w->deadline ? l->deadline : w->deadline;
        }
        w->n += 2;
    }
}

static int patience(uint64_t deadline)
{
    uint64_t now = clock_mono_ms();
    if (deadline == UINT64_MAX)
        return -1;
    uint64_t left = deadline > now ? deadline - now : 0;
    return left > 60000 ? 60000 : (int)left + 1;
}

static void step_links(struct proxy *p, const struct pollfd *fds)
{
    uint64_t now = clock_mono_ms();
    for (size_t i = 0; i < NETWORK_LINKS_MAX; i++) {
        struct link *l = &p->links[i];
        if (l->state == LINK_FREE)
            continue;
        const char *why = link_step(l, fds + 2 * i, now);
        if (why)
            refuse_link(p, l, why);
    }
}

static void proxy_step(struct proxy *p, struct proxy_watched *w)
{
    watch(p, w);
    if (poll(w->fds, w->n, patience(w->deadline)) < 0)
        return;
    step_links(p, w->fds + 1 + p->ngates); /* before new links use their slots */
    if (w->fds[0].revents)
        take_answers(p);
    for (size_t i = 0; i < p->ngates; i++) {
        if (!w->fds[1 + i].revents)
            continue;
        if (p->gates[i].kind == NETWORK_GATE_STREAM)
            accept_links(p, p->gates[i].fd);
        else
            read_questions(p, p->gates[i].fd);
    }
}

/* ---- the process ---- */

static int receive_gates(struct proxy *p, int socket)
{
    for (;;) {
        struct gate g;
        int rc = network_gate_receive(socket, &g.kind, &g.fd);
        if (rc < 0 || g.kind == NETWORK_GATES_DONE)
            return rc;
        if (g.fd < 0 || p->ngates == NETWORK_GATES_MAX)
            return -EPROTO;
        p->gates[p->ngates++] = g;
    }
}

/* The proxy reads data from outside, so it may read only the files that are needed to resolve
 * names. */
static int confine_proxy(struct arena *a)
{
    struct err e = {0};
    struct confine_spec spec = {.network = true};
    path_list_add(a, &spec.read, STR("/etc"));
    path_list_add(a, &spec.read, STR("/run/systemd/resolve"));
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (confine_landlock_abi() == 0 || !confine_has_seccomp())
        return 0;
    int rc = confine_self(a, &spec, &e);
    if (rc < 0)
        dprintf(STDERR_FILENO, "nb: no network: %s\n", e.msg);
    return rc;
}

static void become_proxy(pid_t parent)
{
    sigset_t none;
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* the parent died before PDEATHSIG was set */
        _exit(0);
    (void)dup2(fd, STDIN_FILENO); /* nb's pipes belong to the server */
    (void)dup2(fd, STDOUT_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

int network_proxy_start(struct arena *a, const struct network_rules *r)
{
    int gates[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, gates) < 0)
        return -errno;
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        close(gates[0]);
        become_proxy(parent);
        _exit(network_proxy_run(a, r, gates[1]) < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
    }
    int rc = pid < 0 ? -errno : gates[0];
    close(gates[1]);
    if (pid < 0)
        close(gates[0]);
    return rc;
}

int network_proxy_run(struct arena *a, const struct network_rules *r, int socket)
{
    struct proxy *p = arena_zalloc(a, sizeof(*p));
    struct proxy_watched *w = arena_zalloc(a, sizeof(*w));
    p->rules = r;
    int rc = receive_gates(p, socket);
    close(socket);
    if (rc == 0)
        rc = confine_proxy(a);
    if (rc < 0)
        return rc;
    p->lookups = lookups_new();
    while (p->lookups)
        proxy_step(p, w);
    return -ENFILE;
}
