#include <unistd.h>

#include "cli/bundle/bundle.h"

struct npm_wait {
    struct cmd *x;
    struct npm_package *ret;
    bool is_done, has_line;
    const char *last; /* the last printed step */
    struct err err;
};

/* One line that is updated on a terminal; otherwise one line for each step. */
static void on_bundle_npm_progress(void *ctx, const char *what, unsigned fetched)
{
    struct npm_wait *w = ctx;
    bool is_new = !w->last || strcmp(w->last, what) != 0;
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\x1b[K%s ...", what);
        if (fetched > 0)
            fprintf(stderr, " %u requests", fetched);
        fflush(stderr);
        w->has_line = true;
    } else if (is_new) {
        fprintf(stderr, "%s ...\n", what);
    }
    if (is_new)
        w->last = arena_cstr(&w->x->arena, str_from(what));
}

static struct npm_package copy_package(struct arena *a, const struct npm_package *p)
{
    return (struct npm_package){
        .pin = {arena_str(a, p->pin.name), arena_str(a, p->pin.version),
                arena_str(a, p->pin.integrity)},
        .dir = arena_cstr(a, str_from(p->dir)),
        .script = arena_cstr(a, str_from(p->script)),
        .is_direct = p->is_direct,
    };
}

static void on_bundle_npm_done(void *ctx, const struct npm_package *p, const struct err *err)
{
    struct npm_wait *w = ctx;
    w->is_done = true;
    if (err)
        w->err = *err;
    else
        *w->ret = copy_package(&w->x->arena, p);
}

static int run_npm(struct cmd *x, struct npm_want *want, struct npm_package *ret, struct err *e)
{
    static const struct npm_events EVENTS = {on_bundle_npm_progress, on_bundle_npm_done};
    struct npm_wait w = {.x = x, .ret = ret};
    struct sandbox_offer offer;
    sandbox_look(&offer);
    want->loop = x->loop;
    want->pool = pool_new(x->loop, "nb-npm", 1);
    want->offer = &offer;
    want->place = bundle_cli_bundle_place(x);
    (void)npm_install_start(want, &EVENTS, &w);
    cmd_wait(x, &w.is_done);
    pool_free(want->pool);
    if (w.has_line)
        fputs("\r\x1b[K", stderr);
    *e = w.err;
    return w.err.code;
}

int bundle_cli_npm_resolve(struct cmd *x, const struct bundle_entry *b, struct npm_package *ret,
                           struct err *e)
{
    struct npm_want want = {.entry = b, .only_resolves = true};
    return run_npm(x, &want, ret, e);
}

int bundle_cli_npm_install(struct cmd *x, const struct bundle_entry *b, struct err *e)
{
    struct npm_package unused;
    struct npm_want want = {.entry = b,
                            .pin = {b->pinned.name, b->pinned.version, b->pinned.integrity}};
    return run_npm(x, &want, &unused, e);
}

struct json *bundle_cli_pinned(struct arena *a, const struct npm_pin *pin)
{
    struct json *v = json_new(a, JSON_OBJECT);
    str package = arena_printf(a, "%.*s@%.*s", STR_ARG(pin->name), STR_ARG(pin->version));
    json_set(a, v, STR("package"), json_of_str(package));
    json_set(a, v, STR("integrity"), json_of_str(pin->integrity));
    return v;
}
