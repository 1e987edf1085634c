/* ip.h - Internet addresses and blocks of them. Pure.
 *
 * Addresses of both families are 16 bytes: an IPv4 address is ::ffff:a.b.c.d. */
#pragma once

#include "base/str.h"

#define IP_LEN      16
#define IP_TEXT_MAX 48

struct ip_block {
    uint8_t addr[IP_LEN];
    unsigned bits; /* length of the prefix, of 128 */
};

int ip_parse(str text, uint8_t ret[IP_LEN]); /* 0 or -EINVAL */
void ip_format(const uint8_t ip[IP_LEN], char ret[IP_TEXT_MAX]);
bool ip_is_v4(const uint8_t ip[IP_LEN]);

int ip_block_parse(str text, struct ip_block *ret); /* "10.0.0.0/8", "::1"; 0 or -EINVAL */
bool ip_block_has(const struct ip_block *b, const uint8_t ip[IP_LEN]);
