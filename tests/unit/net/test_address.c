#include <arpa/inet.h>
#include <sys/un.h>

#include "net/address.h"
#include "support/unit.h"

struct row {
    const char *ip;
    enum address_class is;
};

static const struct row V4[] = {
    {"8.8.8.8", ADDRESS_PUBLIC},           {"1.1.1.1", ADDRESS_PUBLIC},
    {"223.255.255.255", ADDRESS_PUBLIC},   {"0.0.0.0", ADDRESS_LOOPBACK},
    {"0.255.255.255", ADDRESS_LOOPBACK},   {"1.0.0.0", ADDRESS_PUBLIC},
    {"9.255.255.255", ADDRESS_PUBLIC},     {"10.0.0.0", ADDRESS_PRIVATE},
    {"10.255.255.255", ADDRESS_PRIVATE},   {"11.0.0.0", ADDRESS_PUBLIC},
    {"100.63.255.255", ADDRESS_PUBLIC},    {"100.64.0.0", ADDRESS_PRIVATE},
    {"100.127.255.255", ADDRESS_PRIVATE},  {"100.128.0.0", ADDRESS_PUBLIC},
    {"100.100.100.200", ADDRESS_METADATA}, {"126.255.255.255", ADDRESS_PUBLIC},
    {"127.0.0.1", ADDRESS_LOOPBACK},       {"127.255.255.255", ADDRESS_LOOPBACK},
    {"128.0.0.0", ADDRESS_PUBLIC},         {"168.63.129.16", ADDRESS_METADATA},
    {"168.63.129.17", ADDRESS_PUBLIC},     {"169.253.255.255", ADDRESS_PUBLIC},
    {"169.254.0.1", ADDRESS_LINK_LOCAL},   {"169.254.169.254", ADDRESS_METADATA},
    {"169.254.170.2", ADDRESS_METADATA},   {"169.255.0.0", ADDRESS_PUBLIC},
    {"172.15.255.255", ADDRESS_PUBLIC},    {"172.16.0.0", ADDRESS_PRIVATE},
    {"172.31.255.255", ADDRESS_PRIVATE},   {"172.32.0.0", ADDRESS_PUBLIC},
    {"192.0.0.1", ADDRESS_RESERVED},       {"192.0.0.192", ADDRESS_METADATA},
    {"192.0.1.0", ADDRESS_PUBLIC},         {"192.0.2.1", ADDRESS_RESERVED},
    {"192.88.99.1", ADDRESS_RESERVED},     {"192.167.255.255", ADDRESS_PUBLIC},
    {"192.168.0.0", ADDRESS_PRIVATE},      {"192.169.0.0", ADDRESS_PUBLIC},
    {"198.17.255.255", ADDRESS_PUBLIC},    {"198.18.0.0", ADDRESS_RESERVED},
    {"198.19.255.255", ADDRESS_RESERVED},  {"198.20.0.0", ADDRESS_PUBLIC},
    {"198.51.100.7", ADDRESS_RESERVED},    {"203.0.113.7", ADDRESS_RESERVED},
    {"224.0.0.1", ADDRESS_RESERVED},       {"239.255.255.255", ADDRESS_RESERVED},
    {"240.0.0.1", ADDRESS_RESERVED},       {"255.255.255.255", ADDRESS_RESERVED},
};

static const struct row V6[] = {
    {"2606:4700:4700::1111", ADDRESS_PUBLIC},
    {"2a00:1450:4001::1", ADDRESS_PUBLIC},
    {"::", ADDRESS_LOOPBACK},
    {"::1", ADDRESS_LOOPBACK},
    {"::2", ADDRESS_RESERVED},
    {"fe80::1", ADDRESS_LINK_LOCAL},
    {"febf::1", ADDRESS_LINK_LOCAL},
    {"fec0::1", ADDRESS_PRIVATE},
    {"fc00::1", ADDRESS_PRIVATE},
    {"fdff:ffff::1", ADDRESS_PRIVATE},
    {"fd00:ec2::254", ADDRESS_METADATA},
    {"fd20:ce::254", ADDRESS_METADATA},
    {"ff02::1", ADDRESS_RESERVED},
    {"2001:db8::1", ADDRESS_RESERVED},
    {"3fff::1", ADDRESS_RESERVED},
    {"3fff:1000::1", ADDRESS_PUBLIC},
    {"100::1", ADDRESS_RESERVED},
    {"4000::1", ADDRESS_RESERVED}, /* not assigned */
    {"2001::1", ADDRESS_RESERVED}, /* Teredo */
    {"2001:200::1", ADDRESS_PUBLIC},
    /* IPv4 inside */
    {"::ffff:127.0.0.1", ADDRESS_LOOPBACK},
    {"::ffff:10.1.2.3", ADDRESS_PRIVATE},
    {"::ffff:169.254.169.254", ADDRESS_METADATA},
    {"::ffff:8.8.8.8", ADDRESS_PUBLIC},
    {"::ffff:0:127.0.0.1", ADDRESS_LOOPBACK},
    {"::127.0.0.1", ADDRESS_RESERVED}, /* "compatible", deprecated */
    {"64:ff9b::10.0.0.1", ADDRESS_PRIVATE},
    {"64:ff9b::8.8.8.8", ADDRESS_PUBLIC},
    {"64:ff9b:1::8.8.8.8", ADDRESS_RESERVED}, /* a local network's own NAT64 */
    {"2002:7f00:1::", ADDRESS_LOOPBACK},
    {"2002:c0a8:101::1", ADDRESS_PRIVATE},
    {"2002:808:808::1", ADDRESS_PUBLIC},
};

TEST(classifies_ipv4)
{
    for (size_t i = 0; i < ARRAY_LEN(V4); i++) {
        struct sockaddr_in in = {.sin_family = AF_INET};
        assert_int_equal(inet_pton(AF_INET, V4[i].ip, &in.sin_addr), 1);
        enum address_class is = address_classify((struct sockaddr *)&in, sizeof(in));
        if (is != V4[i].is)
            fail_msg("%s is %s", V4[i].ip, address_class_name(is));
    }
}

TEST(classifies_ipv6)
{
    for (size_t i = 0; i < ARRAY_LEN(V6); i++) {
        struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
        assert_int_equal(inet_pton(AF_INET6, V6[i].ip, &in6.sin6_addr), 1);
        enum address_class is = address_classify((struct sockaddr *)&in6, sizeof(in6));
        if (is != V6[i].is)
            fail_msg("%s is %s", V6[i].ip, address_class_name(is));
    }
}

TEST(other_families_are_not_public)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    assert_int_equal(address_classify((struct sockaddr *)&un, sizeof(un)), ADDRESS_RESERVED);
    struct sockaddr_in in = {.sin_family = AF_INET};
    inet_pton(AF_INET, "8.8.8.8", &in.sin_addr);
    assert_int_equal(address_classify((struct sockaddr *)&in, 4), ADDRESS_RESERVED);
}

TEST(every_class_has_a_name)
{
    for (int c = ADDRESS_PUBLIC; c <= ADDRESS_RESERVED; c++)
        assert_non_null(strstr(address_class_name((enum address_class)c), "address"));
}
