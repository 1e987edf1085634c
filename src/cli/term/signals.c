#include "cli/term/signals.h"

#include <assert.h>
#include <signal.h>
#include <uv.h>

static const int WATCHED[] = {SIGINT, SIGTERM, SIGHUP};

struct signals {
    uv_signal_t handles[ARRAY_LEN(WATCHED)];
    size_t open;
    signal_fn fn;
    void *ctx;
};

static void on_signal_raised(uv_signal_t *h, int signum)
{
    struct signals *s = h->data;
    s->fn(s->ctx, signum);
}

struct signals *signals_new(struct loop *l, signal_fn fn, void *ctx)
{
    struct signals *s = xcalloc(1, sizeof *s);
    s->fn = fn;
    s->ctx = ctx;
    for (size_t i = 0; i < ARRAY_LEN(WATCHED); i++) {
        int r = uv_signal_init(loop_uv(l), &s->handles[i]);
        assert(r == 0);
        s->handles[i].data = s;
        r = uv_signal_start(&s->handles[i], on_signal_raised, WATCHED[i]);
        assert(r == 0);
        s->open++;
    }
    return s;
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
    for (size_t i = 0; i < ARRAY_LEN(WATCHED); i++)
        uv_close((uv_handle_t *)&s->handles[i], on_signals_closed);
}
