/* Keys of the rate limits, and the log of wrong bearer credentials. */
#include "auth/auth_impl.h"
#include "base/bytes/ip.h"
#include "base/clock.h"

#define NETWORK_BYTES 8 /* /64 */
#define SITE_BYTES    6 /* /48 */

static str cut(struct arena *a, str client, size_t keep, const char *suffix)
{
    uint8_t ip[IP_LEN];
    char text[IP_TEXT_MAX];
    if (ip_parse(client, ip) < 0 || ip_is_v4(ip))
        return STR_NONE;
    memset(ip + keep, 0, IP_LEN - keep);
    ip_format(ip, text);
    return arena_printf(a, "%s%s", text, suffix);
}

str client_network(struct arena *a, str client)
{
    uint8_t ip[IP_LEN];
    char text[IP_TEXT_MAX];
    str v6 = cut(a, client, NETWORK_BYTES, "/64");
    if (v6.n > 0 || ip_parse(client, ip) < 0)
        return v6.n > 0 ? v6 : client;
    ip_format(ip, text); /* ::ffff:192.0.2.1 is 192.0.2.1 */
    return arena_str(a, str_from(text));
}

str client_site(struct arena *a, str client)
{
    return cut(a, client, SITE_BYTES, "/48");
}

/* Logs the first wrong key of a minute and the first that is refused, with a ceiling for all
 * addresses together. */
static void note_wrong_key(struct auth *a, str network, unsigned n, unsigned max, uint64_t now)
{
    if (n != 1 && n != max + 1)
        return;
    if (limit_count_total(&a->wrong_lines, now) > WRONG_KEY_LINES)
        return;
    log_warn(a->deps.log, "auth", "%s from %.*s",
             n == 1 ? "a wrong key or token" : "too many wrong keys or tokens", STR_ARG(network));
}

bool auth_wrong_bearer(struct auth *a, str client)
{
    struct arena arena;
    uint64_t now = clock_mono_ms();
    arena_init(&arena);
    str network = client_network(&arena, client);
    unsigned max = instance_is_sole(a->deps.instance) ? WRONG_KEYS_MAX : WRONG_TOKENS_MAX;
    unsigned n = limit_count_key(&a->wrong_keys, network, now);
    note_wrong_key(a, network, n, max, now);
    arena_done(&arena);
    return n <= max;
}
