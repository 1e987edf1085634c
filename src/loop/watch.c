#include "loop/watch.h"

#include <stdlib.h>
#include <uv.h>

struct path_watch {
    uv_fs_event_t uv;
    loop_fn fn;
    void *ctx;
};

static void on_watch_event(uv_fs_event_t *uv, const char *name, int events, int status)
{
    struct path_watch *w = uv->data;
    w->fn(w->ctx);
}

static void on_watch_closed(uv_handle_t *uv)
{
    free(uv->data);
}

int watch_start(struct loop *l, const char *path, loop_fn fn, void *ctx, struct path_watch **ret)
{
    struct path_watch *w = xcalloc(1, sizeof *w);
    w->fn = fn;
    w->ctx = ctx;
    w->uv.data = w;
    int r = uv_fs_event_init(loop_uv(l), &w->uv);
    if (r < 0) {
        free(w);
        return r;
    }
    r = uv_fs_event_start(&w->uv, on_watch_event, path, 0);
    if (r < 0) {
        uv_close((uv_handle_t *)&w->uv, on_watch_closed);
        return r;
    }
    *ret = w;
    return 0;
}

void watch_stop(struct path_watch *w)
{
    if (w)
        uv_close((uv_handle_t *)&w->uv, on_watch_closed);
}
