#include <assert.h>

#include "gateway/methods/method.h"
#include "gateway/write.h"

static bool find_page(struct gw_request *q, size_t n, size_t *ret_from, size_t *ret_to)
{
    const struct json *cursor = json_get(q->params, "cursor");
    uint64_t from = 0;
    str text = json_string(cursor, STR_NONE);
    bool is_ours = str_starts(text, STR("at-")) && parse_u64(str_skip(text, 3), &from) == 0;
    if (cursor && (!is_ours || from > n))
        return false;
    *ret_from = (size_t)from;
    *ret_to = n - *ret_from > GW_PAGE_ITEMS ? *ret_from + GW_PAGE_ITEMS : n;
    return true;
}

static void write_cursor(struct json_writer *w, size_t to, size_t n)
{
    char text[32];
    if (to >= n)
        return;
    snprintf(text, sizeof text, "at-%zu", to);
    jw_kstr(w, "nextCursor", str_from(text));
}

void gw_page_reply(struct gw_request *q, const struct gw_items *all)
{
    size_t from, to;
    struct json_writer w;
    if (!find_page(q, all->len, &from, &to)) {
        gw_request_fail(q, RPC_INVALID_PARAMS, "Unknown cursor.");
        return;
    }
    assert(from <= to && to <= all->len && to - from <= GW_PAGE_ITEMS);
    gw_write_begin(&w, q);
    jw_karray(&w, all->key);
    for (size_t i = from; i < to; i++)
        all->write(&w, q, all->items, i);
    jw_end(&w);
    write_cursor(&w, to, all->len);
    gw_write_list_end(&w, q, all->ttl_ms);
    gw_request_send(q);
}
