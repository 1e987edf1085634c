/* GET /v1/shell - what apps add to the page: their placements, in the order in which they are
 * shown.
 */
#include <stdlib.h>

#include "api/handlers.h"
#include "api/views/views.h"
#include "apps/ui_placement.h"
#include "bundle/bundle.h"
#include "tools/tool_selection.h"

struct placed {
    str app;
    struct ui_placement p;
};

static int by_place(const void *x, const void *y)
{
    const struct placed *a = x, *b = y;
    int r = str_cmp(a->p.slot, b->p.slot);
    if (r == 0)
        r = (a->p.priority > b->p.priority) - (a->p.priority < b->p.priority);
    if (r == 0)
        r = str_cmp(a->p.label, b->p.label);
    return r != 0 ? r : str_cmp(a->p.uri, b->p.uri);
}

static size_t collect_placements(struct http_req *r, struct placed **ret)
{
    struct bundles *all = api_space(r)->bundles;
    size_t bundles = all ? bundles_count(all) : 0, n = 0;
    struct placed *list = arena_array(&r->arena, bundles * UI_PLACEMENTS_MAX, sizeof *list);
    for (size_t i = 0; i < bundles; i++) {
        const struct bundle_info *info = bundle_info(bundles_at(all, i));
        const struct ui_placement *found;
        if (!info->ui || !tool_selection_may_use_source(api_actor(r), info->name))
            continue;
        str app = arena_str(&r->arena, info->name);
        size_t m = ui_placements_read(&r->arena, info->ui, app, &found);
        for (size_t k = 0; k < m; k++)
            list[n++] = (struct placed){app, found[k]};
    }
    if (n > 0)
        qsort(list, n, sizeof *list, by_place);
    *ret = list;
    return n;
}

void api_shell_get(void *ctx, struct http_req *r)
{
    const struct api *api = ctx;
    str base = api->deps.config->http.base_path;
    struct placed *list;
    struct api_json j;
    size_t n = collect_placements(r, &list);
    api_json_begin(&j);
    jw_karray(&j.w, "placements");
    for (size_t i = 0; i < n; i++) {
        const struct ui_placement *p = &list[i].p;
        jw_object(&j.w);
        jw_kstr(&j.w, "app", list[i].app);
        jw_kstr(&j.w, "slot", p->slot);
        jw_kstr(&j.w, "uri", p->uri);
        jw_kstr(&j.w, "label", p->label);
        jw_kstr_or_null(&j.w, "icon", p->icon);
        jw_kstr_or_null(&j.w, "route", p->route);
        jw_kint(&j.w, "priority", p->priority);
        jw_kstr(&j.w, "size", p->size);
        jw_end(&j.w);
    }
    jw_end(&j.w);
    jw_kstr(&j.w, "chatEndpoint", arena_concat(&r->arena, base, STR("/v1/chat/stream")));
    jw_kstr(&j.w, "eventsEndpoint", arena_concat(&r->arena, base, STR("/v1/events")));
    api_json_send(&j, r);
}
