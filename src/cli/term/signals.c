#include "cli/term/signals.h"

#include <assert.h>
#include <signal.h>
#include <uv.h>

enum { SIGNALS_MAX = 3 };

struct signals {
    uv_signal_t handles[SIGNALS_MAX];
    size_t n, open;
    signal_fn fn;
    void *ctx;
};

static void on_signal_raised(uv_signal_t *h, int signum)
{
    struct signals *s = h->data;
    s->fn(s->ctx, signum);
}

struct signals *signals_watch(struct loop *l, const int *list, signal_fn fn, void *ctx)
{
    struct signals *s = xcalloc(1, sizeof *s);
    s->fn = fn;
    s->ctx = ctx;
    for (; list[s->n]; s->n = ++s->open) {
        assert(s->n < SIGNALS_MAX);
        uv_signal_t *h = &s->handles[s->n];
        int r = uv_signal_init(loop_uv(l), h);
        assert(r == 0);
        h->data = s;
        r = uv_signal_start(h, on_signal_raised, list[s->n]);
        assert(r == 0);
    }
    return s;
}

struct signals *signals_new(struct loop *l, signal_fn fn, void *ctx)
{
    return signals_watch(l, (const int[]){SIGINT, SIGTERM, SIGHUP, 0}, fn, ctx);
}

static void on_signals_closed(uv_handle_t *h)
{
    struct signals *s = h->data;
    assert(s->open > 0);
    if (--s->open == 0)
        free(s);
}

void signals_free(struct signals *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        uv_close((uv_handle_t *)&s->handles[i], on_signals_closed);
}
