/* The ranges are IANA's special-purpose registries (RFC 6890 and its updates) plus the
 * metadata services of the large clouds, some of which live in ranges that look public. */
#include "net/address.h"

#include <assert.h>
#include <netinet/in.h>

struct address_range {
    uint8_t prefix[16];
    unsigned bits;
    enum address_class is;
};

/* The first match wins: single addresses stand before the range around them. */
static const struct address_range RANGES_V4[] = {
    {{169, 254, 169, 254}, 32, ADDRESS_METADATA}, /* AWS, Google, Azure and most others */
    {{169, 254, 170, 2}, 32, ADDRESS_METADATA},   /* AWS container credentials */
    {{169, 254, 170, 23}, 32, ADDRESS_METADATA},  /* AWS pod identity */
    {{100, 100, 100, 200}, 32, ADDRESS_METADATA}, /* Alibaba */
    {{168, 63, 129, 16}, 32, ADDRESS_METADATA},   /* Azure's host agent, in a public range */
    {{192, 0, 0, 192}, 32, ADDRESS_METADATA},     /* Oracle */
    {{0}, 8, ADDRESS_LOOPBACK},                   /* "this host": Linux connects to itself */
    {{127}, 8, ADDRESS_LOOPBACK},
    {{10}, 8, ADDRESS_PRIVATE},
    {{172, 16}, 12, ADDRESS_PRIVATE},
    {{192, 168}, 16, ADDRESS_PRIVATE},
    {{100, 64}, 10, ADDRESS_PRIVATE}, /* carrier-grade NAT */
    {{169, 254}, 16, ADDRESS_LINK_LOCAL},
    {{192, 0, 0}, 24, ADDRESS_RESERVED},
    {{192, 0, 2}, 24, ADDRESS_RESERVED},
    {{192, 88, 99}, 24, ADDRESS_RESERVED}, /* 6to4 relays, withdrawn */
    {{198, 18}, 15, ADDRESS_RESERVED},     /* benchmarks */
    {{198, 51, 100}, 24, ADDRESS_RESERVED},
    {{203, 0, 113}, 24, ADDRESS_RESERVED},
    {{224}, 4, ADDRESS_RESERVED}, /* multicast */
    {{240}, 4, ADDRESS_RESERVED}, /* future use, broadcast */
    {{0}, 0, ADDRESS_PUBLIC},
};

static const struct address_range RANGES_V6[] = {
    {{0xfd, 0, 0x0e, 0xc2, [15] = 0x54, [14] = 0x02}, 128, ADDRESS_METADATA}, /* AWS */
    {{0xfd, 0x20, 0, 0xce, [15] = 0x54, [14] = 0x02}, 128, ADDRESS_METADATA}, /* Google */
    {{[15] = 1}, 128, ADDRESS_LOOPBACK},
    {{0}, 128, ADDRESS_LOOPBACK}, /* unspecified: connects to this host */
    {{0xfc}, 7, ADDRESS_PRIVATE},
    {{0xfe, 0xc0}, 10, ADDRESS_PRIVATE}, /* site-local, deprecated */
    {{0xfe, 0x80}, 10, ADDRESS_LINK_LOCAL},
    {{0x20, 0x01}, 23, ADDRESS_RESERVED}, /* protocol assignments, Teredo among them */
    {{0x20, 0x01, 0x0d, 0xb8}, 32, ADDRESS_RESERVED},
    {{0x3f, 0xff}, 20, ADDRESS_RESERVED}, /* documentation */
    {{0x20}, 3, ADDRESS_PUBLIC},          /* the only global unicast range in use */
    {{0}, 0, ADDRESS_RESERVED},
};

/* IPv6 forms with an IPv4 address inside, which is where packets end up. */
static const struct {
    uint8_t prefix[16];
    unsigned bits;
    size_t at; /* of the IPv4 address */
} EMBEDDED[] = {
    {{[10] = 0xff, [11] = 0xff}, 96, 12}, /* mapped */
    {{[8] = 0xff, [9] = 0xff}, 96, 12},   /* translated (SIIT) */
    {{0x00, 0x64, 0xff, 0x9b}, 96, 12},   /* NAT64 */
    {{0x20, 0x02}, 16, 2},                /* 6to4 */
};

static bool has_prefix(const uint8_t *ip, const uint8_t *prefix, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    if (memcmp(ip, prefix, whole) != 0)
        return false;
    return rest == 0 || ((ip[whole] ^ prefix[whole]) >> (8 - rest)) == 0;
}

static enum address_class lookup(const struct address_range *ranges, size_t n, const uint8_t *ip)
{
    for (size_t i = 0; i < n; i++) {
        if (has_prefix(ip, ranges[i].prefix, ranges[i].bits))
            return ranges[i].is;
    }
    assert(!"each table ends in a range that holds every address");
    return ADDRESS_RESERVED;
}

static enum address_class classify_v4(const uint8_t ip[4])
{
    return lookup(RANGES_V4, ARRAY_LEN(RANGES_V4), ip);
}

static enum address_class classify_v6(const uint8_t ip[16])
{
    for (size_t i = 0; i < ARRAY_LEN(EMBEDDED); i++) {
        if (has_prefix(ip, EMBEDDED[i].prefix, EMBEDDED[i].bits))
            return classify_v4(ip + EMBEDDED[i].at);
    }
    return lookup(RANGES_V6, ARRAY_LEN(RANGES_V6), ip);
}

enum address_class address_classify(const struct sockaddr *sa, size_t len)
{
    if (sa->sa_family == AF_INET && len >= sizeof(struct sockaddr_in)) {
        struct sockaddr_in in;
        memcpy(&in, sa, sizeof(in));
        return classify_v4((const uint8_t *)&in.sin_addr);
    }
    if (sa->sa_family == AF_INET6 && len >= sizeof(struct sockaddr_in6)) {
        struct sockaddr_in6 in6;
        memcpy(&in6, sa, sizeof(in6));
        return classify_v6(in6.sin6_addr.s6_addr);
    }
    return ADDRESS_RESERVED;
}

const char *address_class_name(enum address_class c)
{
    static const char *const NAMES[] = {
        [ADDRESS_PUBLIC] = "a public address",
        [ADDRESS_LOOPBACK] = "a loopback address",
        [ADDRESS_PRIVATE] = "a private address",
        [ADDRESS_LINK_LOCAL] = "a link-local address",
        [ADDRESS_METADATA] = "a cloud metadata address",
        [ADDRESS_RESERVED] = "a reserved address",
    };
    assert(c < ARRAY_LEN(NAMES));
    return NAMES[c];
}
