/* entry_network.c - sandbox.network of an entry: true, false or a list of destinations. */
#include "bundle/entry/entry_impl.h"
#include "bundle/network/network_rules.h"

static int decode_dest(struct entry_decoder *d, const struct json *v, size_t i, str *ret)
{
    struct network_dest dest;
    struct err e = {0};
    char field[64];
    snprintf(field, sizeof(field), "sandbox.network[%zu]", i);
    if (!v || v->type != JSON_STRING)
        return entry_refuse(d, field, "expected \"host:port\"");
    *ret = arena_str(d->arena, v->s);
    if (str_eq(v->s, STR(NETWORK_PUBLIC)))
        return 0;
    return network_dest_parse(d->arena, v->s, &dest, &e) < 0 ? entry_refuse(d, field, "%s", e.msg)
                                                             : 0;
}

int entry_decode_network(struct entry_decoder *d, const struct json *v)
{
    struct bundle_sandbox *s = &d->out->sandbox;
    if (!v || v->type == JSON_BOOL) {
        s->network = v && v->boolean;
        return 0;
    }
    if (v->type != JSON_ARRAY)
        return entry_refuse(d, "sandbox.network",
                            "expected true, false or a list of \"host:port\"");
    if (v->len > NETWORK_DESTS_MAX)
        return entry_refuse(d, "sandbox.network", "more than %d destinations", NETWORK_DESTS_MAX);
    s->reach.items = arena_array(d->arena, v->len, sizeof(str));
    s->reach.len = v->len;
    s->network = v->len > 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < v->len; i++)
        rc = decode_dest(d, json_at(v, i), i, &s->reach.items[i]);
    return rc;
}
