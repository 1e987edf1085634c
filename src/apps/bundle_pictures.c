#include "apps/bundle_pictures.h"

#include <assert.h>

#include "llm/llm.h"
#include "media/media.h"

struct bundle_pictures { /* in the arena of the call */
    struct tool_call *call;
    struct tool_result *res;
    size_t *parts; /* where they are in the content */
    size_t n;
    struct media_results *making;
    loop_fn done;
    void *ctx;
};

static bool is_picture(const struct json *part)
{
    return str_eq(json_get_string(part, "type"), STR("image")) &&
           json_get_string(part, "data").n > 0;
}

bool bundle_pictures_needed(const struct tool_call *call, const struct tool_result *res)
{
    const struct json *parts = call->who.host ? res->content : NULL;
    for (size_t i = 0; json_is(parts, JSON_ARRAY) && i < parts->len; i++)
        if (is_picture(&parts->items[i]))
            return true;
    return false;
}

static void add_made(struct arena *a, struct json *views, size_t part, const struct media_made *m)
{
    struct json *view = json_new(a, JSON_OBJECT);
    json_set(a, view, STR("part"), json_of_int((int64_t)part));
    if (m->problem.n > 0) {
        json_set(a, view, STR("problem"), json_of_str(arena_str(a, m->problem)));
    } else {
        json_set(a, view, STR("mimeType"), json_of_str(str_from(m->mime)));
        json_set(a, view, STR("data"), json_of_str(arena_str(a, m->data)));
        json_set(a, view, STR("width"), json_of_int(m->width));
        json_set(a, view, STR("height"), json_of_int(m->height));
    }
    json_push(a, views, *view);
}

static void on_pictures_made(void *ctx, const struct media_made *made)
{
    struct bundle_pictures *p = ctx;
    struct arena *a = &p->call->arena;
    struct json *views = json_new(a, JSON_ARRAY);
    p->making = NULL;
    for (size_t i = 0; i < p->n; i++)
        if (made[i].data.n > 0 || made[i].problem.n > 0)
            add_made(a, views, p->parts[i], &made[i]);
    p->res->views = views->len > 0 ? views : NULL;
    p->done(p->ctx);
}

/* The longest side that the model of the run uses. */
static uint32_t side_of(struct runtime *rt, const struct tool_call *call)
{
    struct llm_model_info info;
    str model = turn_info(call->who.host)->model;
    return llm_model_info(runtime_deps(rt)->llm, model, &info) ? info.picture_side
                                                               : LLM_PICTURE_SIDE;
}

struct bundle_pictures *bundle_pictures_start(struct runtime *rt, struct tool_call *call,
                                              struct tool_result *res, loop_fn done, void *ctx)
{
    struct media *media = runtime_deps(rt)->media;
    if (!media || !bundle_pictures_needed(call, res))
        return NULL;
    struct bundle_pictures *p = ARENA_NEW(&call->arena, struct bundle_pictures);
    size_t max = res->content->len;
    str *data = arena_array(&call->arena, max, sizeof *data);
    *p = (struct bundle_pictures){.call = call, .res = res, .done = done, .ctx = ctx};
    p->parts = arena_array(&call->arena, max, sizeof *p->parts);
    for (size_t i = 0; i < max; i++) {
        if (!is_picture(&res->content->items[i]))
            continue;
        data[p->n] = json_get_string(&res->content->items[i], "data");
        p->parts[p->n++] = i;
    }
    assert(p->n > 0);
    p->making = media_prepare_results(media, data, p->n, side_of(rt, call), on_pictures_made, p);
    return p;
}

void bundle_pictures_cancel(struct bundle_pictures *p)
{
    if (p)
        media_results_cancel(p->making);
}
