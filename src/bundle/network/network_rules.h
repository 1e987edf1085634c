/* network_rules.h - the destinations to which a server with network may connect.
 *
 * "public": every public internet address. "host:port": that destination and no other, also where
 * it is on this machine or in its network. A decision by name is repeated by address when the
 * connection is made: a name that leads to this machine, to the link or to a cloud's metadata
 * service is refused unless exactly that address and port are declared. Pure, except for
 * network_is_own_address; any thread. */
#pragma once

#include <netinet/in.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json/json_decode.h"

#define NETWORK_DESTS_MAX 64  /* of one server */
#define NETWORK_HOST_MAX  253 /* of a name, in the domain name system */
#define NETWORK_DEST_MAX  (NETWORK_HOST_MAX + 8)

#define NETWORK_PUBLIC "public" /* stands beside declared destinations */

struct network_ip {
    bool is_v6;
    uint8_t at[16]; /* 4 bytes for IPv4; a mapped address is stored as IPv4 */
};

struct network_dest {
    str host; /* lower case; an address without brackets */
    uint16_t port;
    bool is_ip;
    struct network_ip ip; /* is_ip */
};

struct network_rules {
    bool is_public;
    struct network_dest *at;
    size_t n;
};

/* "api.example.com:443", "127.0.0.1:5432", "[::1]:5432". -EINVAL with the reason. */
int network_dest_parse(struct arena *a, str text, struct network_dest *ret, struct err *e);
/* From the texts, which may include "public". Duplicates are kept once. */
int network_rules_make(struct arena *a, const struct json_strs *texts, struct network_rules *ret,
                       struct err *e);

/* The index of a declared destination, or -1. host is lower case. */
int network_find_name(const struct network_rules *r, str host); /* with any port */
int network_find(const struct network_rules *r, str host, uint16_t port);

/* True when a connection is allowed. host: the requested name or address; is_own: the address
 * belongs to this machine. *ret_why is a reason for people. */
bool network_allows(const struct network_rules *r, str host, uint16_t port,
                    const struct network_ip *ip, bool is_own, const char **ret_why);

/* ---- addresses ---- */

bool network_ip_parse(str text, struct network_ip *ret); /* as inet_pton; no brackets */
bool network_ip_equal(const struct network_ip *x, const struct network_ip *y);
void network_ip_text(const struct network_ip *ip, char ret[INET6_ADDRSTRLEN]);
bool network_ip_from(const struct sockaddr *sa, struct network_ip *ret);
socklen_t network_ip_to(const struct network_ip *ip, uint16_t port, struct sockaddr_storage *ret);
/* Asks the routing table, without sending a packet. */
bool network_is_own_address(const struct network_ip *ip);
