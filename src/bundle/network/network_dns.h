/* network_dns.h - DNS questions as programs send them.
 *
 * One question in one datagram, of the class IN, without compression: what every resolver library
 * sends. Everything else in the datagram (EDNS) is ignored. Pure; any thread. */
#pragma once

#include "bundle/network/network_rules.h"

#define DNS_MESSAGE_MAX 512 /* limit of a datagram without EDNS */
#define DNS_ANSWERS_MAX 8
#define DNS_TTL_S       30

enum dns_kind { DNS_A, DNS_AAAA, DNS_OTHER };
enum dns_result { DNS_OK = 0, DNS_FAILED = 2, DNS_NO_SUCH_NAME = 3, DNS_REFUSED = 5 };

struct dns_question {
    uint16_t id;
    bool wants_recursion;
    enum dns_kind kind;
    char name[NETWORK_HOST_MAX + 1]; /* lower case, without the last dot */
    uint8_t raw[NETWORK_HOST_MAX + 8];
    size_t nraw; /* the question as received */
};

/* -EBADMSG: not a question, or not a supported one. */
int dns_parse(const uint8_t *p, size_t n, struct dns_question *ret);

/* An answer with the IPv4 addresses among `ips`, at most DNS_ANSWERS_MAX. Returns its length. */
size_t dns_answer(const struct dns_question *q, enum dns_result result,
                  const struct network_ip *ips, size_t nips, uint8_t ret[DNS_MESSAGE_MAX]);
