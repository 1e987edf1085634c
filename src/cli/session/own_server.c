#include "cli/session/own_server.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "bundle/bundle.h"
#include "bundle/plan/npm_install.h"
#include "cli/term/text.h"

int own_server_new(struct loop *l, struct config *c, bool with_bundles, struct server **ret,
                   struct err *e)
{
    char here[PATH_MAX];
    struct server_options opt = {.workspace_id = c->workspace,
                                 .needs_home = true,
                                 .with_bundles = with_bundles,
                                 .with_local_probe = true,
                                 .home_dir = getenv("HOME")};
    if (getcwd(here, sizeof here)) /* a deleted current directory has no skills */
        opt.project_dir = arena_cstr(&c->arena, str_from(here));
    return server_new(l, loop_log(l), c, &opt, ret, e);
}

#define QUIET_MS       1500 /* most bundles have started by then */
#define TICK_MS        100  /* shorter than any step of an installation */
#define INTERACTIVE_MS 5000
#define START_MS       60000
#define TOLD_MAX       4096

struct awaited {
    struct bundles *bundles;
    bool is_interactive;
    char told[TOLD_MAX]; /* steps that were printed before */
    uint64_t since_ms;   /* when */
    uint64_t began_ms;
};

/* An installation has its own limit; for a start that hangs, the wait is shorter. */
static uint64_t limit_ms(const struct awaited *w)
{
    if (w->is_interactive)
        return INTERACTIVE_MS;
    for (size_t i = 0; i < bundles_count(w->bundles); i++) {
        const struct bundle_info *b = bundle_info(bundles_at(w->bundles, i));
        if (b->state == BUNDLE_STARTING && b->reason.n > 0)
            return NPM_INSTALL_MS + START_MS;
    }
    return START_MS;
}

static void add_item(struct arena *a, str *list, str one)
{
    *list = arena_printf(a, "%.*s%s%.*s", STR_ARG(*list), list->n > 0 ? ", " : "", STR_ARG(one));
}

/* *ret_new: bundles that were not named before, or are in a different step now. A start is named
 * only when it takes long; looking up and installing a package always. */
static str waiting_for(const struct awaited *w, struct arena *a, str *ret_new)
{
    str all = STR_NONE;
    bool is_quiet = clock_mono_ms() - w->began_ms < QUIET_MS;
    *ret_new = STR_NONE;
    for (size_t i = 0; i < bundles_count(w->bundles); i++) {
        const struct bundle_info *b = bundle_info(bundles_at(w->bundles, i));
        if (b->state != BUNDLE_STARTING || (is_quiet && b->reason.n == 0))
            continue;
        str one = arena_printf(a, "%.*s (%.*s)", STR_ARG(b->name),
                               STR_ARG(b->reason.n > 0 ? b->reason : STR("starting")));
        if (str_find(str_from(w->told), one, 0) < 0)
            add_item(a, ret_new, one);
        add_item(a, &all, one);
    }
    return all;
}

/* Each step of a start has its own time limit, so that an installation does not use up the time of
 * the start. */
static void tell_waiting(struct awaited *w)
{
    struct arena a;
    arena_init(&a);
    str new, all = waiting_for(w, &a, &new);
    if (new.n > 0) {
        snprintf(w->told, sizeof w->told, "%.*s", STR_ARG(all));
        text_print(stderr, "waiting for", 0, new);
        w->since_ms = clock_mono_ms();
    }
    arena_done(&a);
}

/* With a user at the keyboard, do not wait for an installation. */
static bool is_only_installing(const struct awaited *w)
{
    bool is_installing = false;
    for (size_t i = 0; i < bundles_count(w->bundles); i++) {
        const struct bundle_info *b = bundle_info(bundles_at(w->bundles, i));
        if (b->state == BUNDLE_STARTING && b->reason.n == 0)
            return false;
        is_installing |= b->state == BUNDLE_STARTING;
    }
    return is_installing;
}

/* "memory: installing X; its tools can be used when it runs", or why they will never be usable. */
static str missing_words(struct arena *a, const struct bundle_info *b)
{
    if (b->state == BUNDLE_STARTING)
        return arena_printf(a, "%.*s: %.*s; its tools can be used when it runs", STR_ARG(b->name),
                            STR_ARG(b->reason.n > 0 ? b->reason : STR("starting")));
    return arena_printf(a, "the tools of %.*s are missing: it is %s%s%.*s", STR_ARG(b->name),
                        bundle_state_name(b->state), b->reason.n > 0 ? ": " : "",
                        STR_ARG(b->reason));
}

static void tell_missing(const struct awaited *w)
{
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < bundles_count(w->bundles); i++) {
        struct bundle *bundle = bundles_at(w->bundles, i);
        const struct bundle_info *b = bundle_info(bundle);
        if (b->state == BUNDLE_RUNNING || bundle_is_waiting(bundle) ||
            bundle_entry(bundle)->is_disabled)
            continue;
        text_print(stderr, "nb:", 0, missing_words(&a, b));
    }
    arena_done(&a);
}

void await_bundles(struct server *s, bool is_interactive)
{
    struct awaited w = {.bundles = server_bundles(s), .is_interactive = is_interactive};
    w.began_ms = w.since_ms = clock_mono_ms();
    if (!w.bundles)
        return;
    while (!server_bundles_settled(s) && clock_mono_ms() - w.since_ms < limit_ms(&w)) {
        if (!is_interactive)
            tell_waiting(&w);
        else if (is_only_installing(&w))
            break;
        server_await_bundles(s, TICK_MS);
    }
    tell_missing(&w);
}
