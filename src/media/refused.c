#include "media/refused.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/utf8.h"

static const struct refused_picture *find_refused(const struct refused *r, str sha256,
                                                  uint32_t page)
{
    for (size_t i = 0; i < REFUSED_MAX; i++) {
        const struct refused_picture *p = &r->items[i];
        if (p->until_ms > clock_mono_ms() && p->page == page && str_eq(str_from(p->sha256), sha256))
            return p;
    }
    return NULL;
}

void refused_note(struct refused *r, str sha256, uint32_t page, const struct err *e)
{
    bool is_lasting = e->code == -EINVAL || e->code == -EFBIG;
    if (!is_lasting || sha256.n != SHA256_HEX_LEN || find_refused(r, sha256, page))
        return;
    struct refused_picture *p = &r->items[r->next];
    r->next = (r->next + 1) % REFUSED_MAX;
    str why = utf8_truncate(str_from(e->msg), sizeof p->why - 1);
    p->page = page;
    p->code = e->code;
    p->until_ms = clock_mono_ms() + REFUSED_MS;
    snprintf(p->sha256, sizeof p->sha256, "%.*s", STR_ARG(sha256));
    snprintf(p->why, sizeof p->why, "%.*s", STR_ARG(why));
}

int refused_find(const struct refused *r, str sha256, uint32_t page, struct err *e)
{
    const struct refused_picture *p = find_refused(r, sha256, page);
    return p ? err_set(e, p->code, "%s", p->why) : 0;
}
