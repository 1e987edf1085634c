#include "bundle/network/network_dns.h"

#include <assert.h>
#include <errno.h>

#define HEAD_BYTES 12

enum { FLAG_ANSWER = 0x80, FLAG_OPCODE = 0x78, FLAG_TRUNCATED = 0x02, FLAG_RECURSION = 0x01 };
enum { TYPE_A = 1, TYPE_AAAA = 28, CLASS_IN = 1 };

static uint16_t read16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

/* A DNS name may contain any byte; bytes that no host name has are refused. */
static bool take_char(struct dns_question *q, size_t *n, uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        c = (uint8_t)(c - 'A' + 'a');
    bool is_good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (!is_good || *n >= NETWORK_HOST_MAX)
        return false;
    q->name[(*n)++] = (char)c;
    return true;
}

/* Returns the number of bytes of the name, or 0. */
static size_t take_name(const uint8_t *p, size_t n, struct dns_question *q)
{
    size_t at = 0, len = 0;
    while (at < n && p[at] != 0) {
        size_t label = p[at++];
        if (label > 63 || at + label >= n)
            return 0;
        if (len > 0) {
            if (len >= NETWORK_HOST_MAX)
                return 0;
            q->name[len++] = '.';
        }
        for (size_t i = 0; i < label; i++) {
            if (!take_char(q, &len, p[at + i]))
                return 0;
        }
        at += label;
    }
    q->name[len] = 0;
    return at < n && len > 0 ? at + 1 : 0;
}

int dns_parse(const uint8_t *p, size_t n, struct dns_question *ret)
{
    *ret = (struct dns_question){0};
    if (n < HEAD_BYTES || (p[2] & (FLAG_ANSWER | FLAG_OPCODE | FLAG_TRUNCATED)) != 0 ||
        read16(p + 4) != 1)
        return -EBADMSG;
    size_t name = take_name(p + HEAD_BYTES, n - HEAD_BYTES, ret);
    const uint8_t *tail = p + HEAD_BYTES + name;
    if (name == 0 || n - HEAD_BYTES - name < 4 || read16(tail + 2) != CLASS_IN)
        return -EBADMSG;
    uint16_t type = read16(tail);
    ret->id = read16(p);
    ret->wants_recursion = p[2] & FLAG_RECURSION;
    ret->kind = type == TYPE_A ? DNS_A : type == TYPE_AAAA ? DNS_AAAA : DNS_OTHER;
    ret->nraw = name + 4;
    assert(ret->nraw <= sizeof(ret->raw));
    memcpy(ret->raw, p + HEAD_BYTES, ret->nraw);
    return 0;
}

static size_t add_answer(uint8_t *p, const struct network_ip *ip)
{
    static const uint8_t FIXED[] = {0xc0, HEAD_BYTES, 0, TYPE_A,    0, CLASS_IN,
                                    0,    0,          0, DNS_TTL_S, 0, 4};
    memcpy(p, FIXED, sizeof(FIXED));
    memcpy(p + sizeof(FIXED), ip->at, 4);
    return sizeof(FIXED) + 4;
}

size_t dns_answer(const struct dns_question *q, enum dns_result result,
                  const struct network_ip *ips, size_t nips, uint8_t ret[DNS_MESSAGE_MAX])
{
    uint8_t count = 0;
    size_t n = HEAD_BYTES + q->nraw;
    memset(ret, 0, HEAD_BYTES);
    memcpy(ret + HEAD_BYTES, q->raw, q->nraw);
    for (size_t i = 0; result == DNS_OK && i < nips && count < DNS_ANSWERS_MAX; i++) {
        if (ips[i].is_v6)
            continue;
        n += add_answer(ret + n, &ips[i]);
        count++;
    }
    ret[0] = (uint8_t)(q->id >> 8);
    ret[1] = (uint8_t)q->id;
    ret[2] = (uint8_t)(FLAG_ANSWER | (q->wants_recursion ? FLAG_RECURSION : 0));
    ret[3] = (uint8_t)(0x80 | result);
    ret[5] = 1;
    ret[7] = count;
    return n;
}
