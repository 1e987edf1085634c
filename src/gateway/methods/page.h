/* page.h - lists in pages. A cursor of the gateway is a position in the current list. */
#pragma once

#include "gateway/request.h"

#define GW_PAGE_ITEMS 1000

struct gw_items { /* a whole list; a request gets one page of it */
    const char *key;
    const void *items;
    size_t len;
    void (*write)(struct json_writer *w, struct gw_request *q, const void *items, size_t i);
    uint64_t ttl_ms;
};
void gw_page_reply(struct gw_request *q, const struct gw_items *all);
