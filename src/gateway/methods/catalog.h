/* catalog.h - resources, templates and prompts of all bundles, as their servers list them.
 *
 * A list is fetched, with all its pages, when it is first requested; requests that arrive meanwhile
 * share the fetch. It is cached until the server announces a change, or for a limited time if the
 * server never announces changes. A server that fails or is too slow is left out, because the lists
 * of the other servers are still useful. */
#pragma once

#include "gateway/request.h"

#define GW_LIST_TIMEOUT_MS 10000 /* a server that does not send its list in time is left out */
#define GW_LIST_FRESH_MS   300000
#define GW_LIST_SHORT_MS   2000 /* cached lists of servers that do not announce changes */

struct gw_entry {
    struct bundle *bundle;
    str source;
    const struct json *item;
};
struct gw_entries {
    const struct gw_entry *items; /* in q's arena; sources in their configured order */
    size_t len;
    uint64_t ttl_ms;
};
typedef void (*gw_entries_fn)(struct gw_request *q, const struct gw_entries *found);

/* Collects the lists of this kind from all bundles that the request may see. Sets q->on_cancel
 * until it is done. */
void gw_catalog_gather(struct gw_request *q, enum gw_list what, gw_entries_fn fn);
void gw_catalog_bundle_gone(struct gw_space *s, struct bundle *b);
void gw_catalog_stale(struct gw_space *s, struct bundle *b, enum gw_list what);
void gw_catalogs_done(struct gw_space *s);

enum gw_list gw_list_of(str method);        /* "tools/list" */
const char *gw_list_key(enum gw_list what); /* "tools" */
/* True also for a bundle whose capabilities are not known yet. */
bool gw_bundle_offers(const struct bundle *b, const char *capability);
