/* tally.c - counting connections, streams and bytes per party; tally.h explains the machine. */
#include "http/conn/tally.h"

#include <assert.h>

#include "base/bytes/ip.h"
#include "http/conn/share.h"

#define NETWORK_BYTES 8 /* an IPv6 customer has a /64: its addresses count as one */

/* ---- parties ---- */

/* The tally of a party, made on first use. */
static struct tally *tally_of(struct http_server *s, char kind, str name)
{
    struct buf key;
    buf_init(&key, name.n + 1);
    buf_add_char(&key, kind);
    buf_add_str(&key, name);
    struct tally *t = map_get(&s->tallies, buf_str(&key));
    if (!t) {
        t = xcalloc(1, sizeof *t);
        t->server = s;
        t->key = str_dup(buf_str(&key));
        t->is_person = kind == 'p';
        list_init(&t->conns);
        list_init(&t->watches);
        share_init(t);
        map_put(&s->tallies, buf_str(&key), t);
    }
    buf_done(&key);
    return t;
}

static void tally_free(struct tally *t)
{
    share_done(t);
    free(t->key);
    free(t);
}

void tally_free_unused(struct tally *t)
{
    if (t->nconns > 0 || t->nwatches > 0 || share_is_owing(t))
        return;
    assert(list_empty(&t->conns) && list_empty(&t->waiting) && list_empty(&t->ready));
    map_del(&t->server->tallies, str_from(t->key));
    tally_free(t);
}

void tallies_free(struct http_server *s)
{
    struct map_entry *m;
    for (size_t i = 0; (m = map_next(&s->tallies, &i));)
        tally_free(m->value);
    map_done(&s->tallies);
}

static void tally_join(struct http_conn *c, struct tally *t)
{
    assert(!c->tally && !share_is_waiting(c));
    c->tally = t;
    list_push(&t->conns, &c->counted);
    t->nconns++;
    t->queued += c->queued;
    if (!t->is_person)
        c->server->nanonymous++;
}

void tally_leave(struct http_conn *c)
{
    struct tally *t = c->tally;
    if (!t)
        return;
    assert(t->nconns > 0);
    c->tally = NULL;
    list_del(&c->counted);
    list_del(&c->waits);
    t->nconns--;
    t->queued -= c->queued;
    if (!t->is_person)
        c->server->nanonymous--;
    tally_free_unused(t);
}

/* The party of an address: all addresses of an IPv6 customer are one. */
static str network_of(str addr, char text[IP_TEXT_MAX])
{
    uint8_t ip[IP_LEN];
    if (ip_parse(addr, ip) < 0)
        return addr;
    if (!ip_is_v4(ip))
        memset(ip + NETWORK_BYTES, 0, IP_LEN - NETWORK_BYTES);
    ip_format(ip, text);
    return str_from(text);
}

static void join_address(struct http_conn *c)
{
    char text[IP_TEXT_MAX];
    tally_join(c, tally_of(c->server, 'a', network_of(str_from(c->peer_addr), text)));
}

/* Counts the connection for another party from now on. False: t is at its ceiling. */
static bool move_to(struct http_conn *c, struct tally *t, unsigned max)
{
    if (c->tally == t)
        return true;
    t->nconns++; /* keeps t: the evicted connection may be its last one */
    bool has_room = t->nconns <= max || tally_evict(t, c);
    t->nconns--;
    if (!has_room)
        return false;
    t->nconns++; /* keeps t: tally_leave may run tally_free_unused on it */
    tally_leave(c);
    tally_join(c, t);
    t->nconns--;
    share_counted(c);
    return true;
}

bool http_count_for(struct http_req *q, str person)
{
    struct http_conn *c = q->conn;
    if (!c || c->is_local_socket)
        return true;
    c->req->is_counted = true;
    return move_to(c, tally_of(c->server, 'p', person), c->server->limits.conns_per_person);
}

bool http_count_for_address(struct http_req *q, str addr)
{
    struct http_conn *c = q->conn;
    char text[IP_TEXT_MAX];
    if (!c || !c->is_proxy)
        return true;
    struct tally *t = tally_of(c->server, 'a', network_of(addr, text));
    if (!move_to(c, t, c->server->limits.conns_per_address)) {
        tally_leave(c); /* it may still be counted for the client of the request before */
        return false;
    }
    c->req->is_counted = true;
    return true;
}

/* ---- making room ---- */

/* The order in which connections are closed, 1 first; 0 = never. Heads cost the client nothing but
 * a new attempt; an answer that is being sent is the largest loss. */
static unsigned eviction_order(const struct http_conn *c)
{
    switch ((enum conn_state)c->state) {
    case CONN_HEAD:
        return c->in.n > 0 || !c->has_served ? 1 : 2;
    case CONN_DRAIN:
    case CONN_LINGER:
        return 3;
    case CONN_BODY:
    case CONN_READY:
        return 4;
    case CONN_FLUSH:
        return 5;
    case CONN_WAIT:
    case CONN_STREAM:
    case CONN_CLOSED:
        break;
    }
    return 0;
}

bool tally_evict(struct tally *t, const struct http_conn *keep)
{
    struct http_conn *worst = NULL;
    LIST_EACH (c, &t->conns, struct http_conn, counted) {
        unsigned order = eviction_order(c);
        if (c == keep || order == 0 || (worst && order >= eviction_order(worst)))
            continue;
        worst = c;
        if (order == 1) /* the list is sorted by age: this is the oldest unfinished head */
            break;
    }
    if (!worst)
        return false;
    t->nconns++; /* keeps t: this may be its last connection */
    conn_reset(worst);
    t->nconns--;
    return true;
}

/* ---- new connections ---- */

/* At the ceiling of the server: closes the oldest unfinished head, or the connection that has been
 * silent longest. */
static bool close_one(struct http_server *s)
{
    struct list_node *from = !list_empty(&s->heads) ? &s->heads : &s->idle;
    if (list_empty(from))
        return false;
    conn_reset(LIST_ENTRY(from->next, struct http_conn, node));
    return true;
}

/* Counts a new connection for its address. An address at its ceiling loses a connection of its
 * own. */
static bool address_has_room(struct http_conn *c, bool *ret_refuse)
{
    struct http_server *s = c->server;
    const struct http_handlers *h = &s->handlers;
    c->is_proxy = !c->is_local_socket && h->is_proxy && h->is_proxy(h->ctx, c->peer_addr);
    if (c->is_local_socket || c->is_proxy)
        return true;
    join_address(c);
    if (c->tally->nconns <= s->limits.conns_per_address || tally_evict(c->tally, c))
        return true;
    *ret_refuse = true;
    return c->tally->nconns <= s->limits.conns_per_address + HTTP_REFUSALS_ADDR;
}

/* A part of the connections is reserved: clients that are not known as a person cannot keep
 * authenticated persons and the Unix socket out. A new connection is refused only when all others
 * are busy. */
bool tally_admit(struct http_conn *c, bool *ret_refuse)
{
    struct http_server *s = c->server;
    if (!address_has_room(c, ret_refuse))
        return false;
    bool is_stranger = c->tally != NULL;
    unsigned max = s->limits.conns, reserved = s->limits.conns_reserved;
    unsigned open_to_all = max > reserved ? max - reserved : max;
    bool is_full = s->stats.conns > max || (is_stranger && s->nanonymous > open_to_all);
    if (*ret_refuse || !is_full || close_one(s))
        return true;
    *ret_refuse = true;
    return s->stats.conns <= s->limits.conns + HTTP_REFUSALS_MAX;
}

/* ---- bytes ---- */

void tally_queued(struct http_conn *c, ptrdiff_t n)
{
    c->queued += (size_t)n;
    c->server->queued += (size_t)n;
    if (c->tally)
        c->tally->queued += (size_t)n;
}

bool tally_has_room(const struct http_conn *c, size_t n)
{
    const struct http_limits *max = &c->server->limits;
    const struct tally *t = c->tally;
    if (!t || t->queued == 0)
        return true;
    return t->queued + n <= max->queue_per_person && c->server->queued + n <= max->queue_total;
}

/* ---- streams ---- */

struct tally *tally_add_watch(struct http_conn *c, struct list_node *counted)
{
    struct tally *t = c->tally;
    if (!t)
        return NULL;
    list_push(&t->watches, counted);
    t->nwatches++;
    return t;
}

void tally_drop_watch(struct http_server *s, struct tally *t, struct list_node *counted)
{
    if (!t)
        return;
    list_del(counted);
    t->nwatches--;
    tally_free_unused(t);
}
