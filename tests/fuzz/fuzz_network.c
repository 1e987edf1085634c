/* Input of a server in its own network: questions for names. And input of people:
 * destinations. A question that is read is answered with itself, within the size of a datagram; a
 * destination that is read is read again as the same. */
#include <assert.h>

#include "bundle/network/network_dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_question(const uint8_t *data, size_t size)
{
    struct dns_question q, again;
    uint8_t out[DNS_MESSAGE_MAX];
    struct network_ip ips[DNS_ANSWERS_MAX + 1] = {{.at = {1, 2, 3, 4}}, {.is_v6 = true}};
    if (dns_parse(data, size, &q) < 0)
        return;
    assert(strlen(q.name) > 0 && strlen(q.name) <= NETWORK_HOST_MAX);
    size_t n = dns_answer(&q, DNS_OK, ips, ARRAY_LEN(ips), out);
    assert(n >= 12 + q.nraw && n <= sizeof(out));
    out[2] = 0; /* an answer is not a question */
    assert(dns_parse(out, n, &again) == 0 && strcmp(q.name, again.name) == 0);
    assert(q.id == again.id && q.kind == again.kind);
}

static void try_destination(const uint8_t *data, size_t size)
{
    struct arena a;
    struct network_dest d, again;
    arena_init(&a);
    if (network_dest_parse(&a, (str){(const char *)data, size}, &d, NULL) == 0) {
        bool is_v6 = str_find_char(d.host, ':') >= 0;
        str text = arena_printf(&a, is_v6 ? "[%.*s]:%d" : "%.*s:%d", STR_ARG(d.host), d.port);
        assert(d.port > 0 && d.host.n > 0);
        assert(network_dest_parse(&a, text, &again, NULL) == 0);
        assert(str_eq(d.host, again.host) && d.port == again.port && d.is_ip == again.is_ip);
    }
    arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_question(data, size);
    try_destination(data, size);
    return 0;
}
