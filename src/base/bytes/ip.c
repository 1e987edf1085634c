#include "base/bytes/ip.h"

#include <arpa/inet.h>
#include <errno.h>

static const uint8_t V4[12] = {[10] = 0xff, [11] = 0xff};

bool ip_is_v4(const uint8_t ip[IP_LEN])
{
    return memcmp(ip, V4, sizeof V4) == 0;
}

int ip_parse(str text, uint8_t ret[IP_LEN])
{
    char copy[IP_TEXT_MAX];
    uint8_t ip[IP_LEN];
    if (text.n == 0 || text.n >= sizeof copy || str_find_char(text, '\0') >= 0)
        return -EINVAL;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    memcpy(ip, V4, sizeof V4);
    if (inet_pton(AF_INET, copy, ip + sizeof V4) != 1 && inet_pton(AF_INET6, copy, ip) != 1)
        return -EINVAL;
    memcpy(ret, ip, IP_LEN);
    return 0;
}

void ip_format(const uint8_t ip[IP_LEN], char ret[IP_TEXT_MAX])
{
    const void *p = ip_is_v4(ip) ? ip + sizeof V4 : ip;
    if (!inet_ntop(ip_is_v4(ip) ? AF_INET : AF_INET6, p, ret, IP_TEXT_MAX))
        *ret = '\0';
}

int ip_block_parse(str text, struct ip_block *ret)
{
    struct ip_block b;
    uint64_t bits;
    ptrdiff_t slash = str_find_char(text, '/');
    int r = ip_parse(slash < 0 ? text : str_slice(text, 0, (size_t)slash), b.addr);
    if (r < 0)
        return r;
    unsigned all = ip_is_v4(b.addr) ? 32 : 128;
    if (slash < 0)
        bits = all;
    else if (parse_u64(str_skip(text, (size_t)slash + 1), &bits) < 0 || bits > all)
        return -EINVAL;
    b.bits = (unsigned)bits + 128 - all;
    *ret = b;
    return 0;
}

bool ip_block_has(const struct ip_block *b, const uint8_t ip[IP_LEN])
{
    unsigned whole = b->bits / 8, rest = b->bits % 8;
    if (memcmp(b->addr, ip, whole) != 0)
        return false;
    return rest == 0 || ((b->addr[whole] ^ ip[whole]) >> (8 - rest)) == 0;
}
