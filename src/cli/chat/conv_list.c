#include "cli/chat/conv_list.h"

#include "base/clock.h"
#include "cli/term/text.h"

#define LISTED 500

int conv_list_fill(struct client *c, struct picker *p, struct err *e)
{
    struct arena a;
    struct json *page;
    char path[64];
    arena_init(&a);
    (void)snprintf(path, sizeof path, "/v1/conversations?limit=%d", LISTED);
    struct client_ask q = {.path = str_from(path)};
    int r = client_ask(c, &q, &a, &page, e);
    const struct json *list = r == 0 ? json_get(page, "conversations") : NULL;
    for (size_t i = 0; json_is(list, JSON_ARRAY) && i < list->len; i++) {
        const struct json *conv = json_at(list, i);
        str title = json_get_string(conv, "title");
        struct buf detail;
        int64_t when = 0;
        buf_init(&detail, 256);
        if (clock_parse_iso(json_get_string(conv, "updatedAt"), &when) == 0)
            ago_add(&detail, when, clock_now_ms());
        buf_printf(&detail, " · %lld", (long long)json_get_int(conv, "messageCount", 0));
        picker_add(p, json_get_string(conv, "id"),
                   title.n > 0 ? title : json_get_string(conv, "preview"), buf_str(&detail));
        buf_done(&detail);
    }
    arena_done(&a);
    return r;
}
