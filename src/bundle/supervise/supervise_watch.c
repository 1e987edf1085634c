/* supervise_watch.c - watches a bundle whose connection is ready: its lists and its health. */
#include <errno.h>

#include "base/clock.h"
#include "bundle/supervise/bundle_impl.h"

/* A server that sends list_changed continuously is asked at most once in this time. */
#define RELIST_MS 1000

/* A remote server that nobody uses is checked less and less often, up to this many intervals. */
#define REST_MAX 16

/* So many unanswered checks in a row without a call in progress mean that the server hangs. */
#define CHECKS_MAX 3

static uint64_t health_ms(const struct bundle *b)
{
    return b->set->conf.times.health_ms ? b->set->conf.times.health_ms : BUNDLE_HEALTH_MS;
}

/* ---- the list of tools ---- */

static void become_running(struct bundle *b)
{
    if (b->state == BUNDLE_RUNNING)
        return;
    b->running_since_ms = clock_mono_ms();
    if (bundle_is_child(b)) {
        memory_watch_used(b->set->memory);
        b->unused_checks = 1; /* its first answers were a check */
        if (b->failures == 0 && bundle_calls_sent(b) == 0)
            timer_stop(&b->health);
    }
    supervise_state(b, BUNDLE_RUNNING, "");
}

static void set_tools(struct bundle *b, const struct json *list)
{
    struct bundle_toolset fresh = {0};
    arena_init(&fresh.arena);
    fresh.list = json_clone(&fresh.arena, list);
    pins_judge(b, &fresh);
    struct bundle_toolset old = b->tools;
    b->tools = fresh;
    bundle_changed(b, BUNDLE_TOOLS);
    if (old.nheld + fresh.nheld > 0)
        bundle_changed(b, BUNDLE_QUARANTINE);
    arena_done(&old.arena); /* listeners may have used the old tools until now */
}

void watch_take_tools(struct bundle *b, const struct json *list)
{
    if (!b->tools.list || !json_equal(b->tools.list, list))
        set_tools(b, list);
}

void watch_judge_again(struct bundle *b)
{
    if (b->tools.list)
        set_tools(b, b->tools.list);
}

void watch_know_tools(struct bundle *b, str tools)
{
    struct arena a;
    struct json *list;
    arena_init(&a);
    if (json_parse(&a, tools, 0, &list, NULL) == 0)
        watch_take_tools(b, list);
    arena_done(&a);
}

static void note_list_trouble(struct bundle *b, const struct mcp_reply *r)
{
    char text[ERR_MAX];
    str message = json_get_string(r->error, "message");
    if (r->err)
        snprintf(text, sizeof(text), "tools/list: %.900s", r->err->msg);
    else
        snprintf(text, sizeof(text), "tools/list: %.*s", STR_ARG(message));
    stderr_ring_note(&b->stderr_lines, text);
    log_warn(b->set->conf.log, "bundle", "%.*s: %s", STR_ARG(b->entry.server_name), text);
}

/* The end of a child's connection is reported separately. */
static bool is_connection_lost(const struct bundle *b, const struct err *err)
{
    return err && bundle_is_child(b) &&
           (err->code == -ECONNRESET || err->code == -EPIPE || err->code == -ENOTCONN ||
            err->code == -ECANCELED);
}

static void on_tools_listed(void *ctx, const struct mcp_reply *r)
{
    struct bundle *b = ctx;
    b->listing = NULL;
    if (b->is_closing)
        return;
    const struct json *list = json_get(r->result, "tools");
    if (json_is(list, JSON_ARRAY))
        watch_take_tools(b, list);
    else
        note_list_trouble(b, r);
    b->is_list_missing = !list;
    b->is_listed = true;
    bundle_dispatch_later(b); /* calls of tools wait for the list */
    if (watch_is_unreachable(b, r->err))
        supervise_kill(b, r->err->msg);
    else if (!is_connection_lost(b, r->err))
        become_running(b);
    if (b->is_list_stale)
        timer_start(&b->relist, RELIST_MS);
}

static void list_tools(struct bundle *b)
{
    static const struct mcp_call_events EVENTS = {.done = on_tools_listed};
    b->is_list_stale = false;
    b->listing =
        mcp_list_all(connections_main(b->connections), STR("tools/list"), "tools", &EVENTS, b);
}

static void on_relist(void *ctx)
{
    struct bundle *b = ctx;
    if (b->is_ready && !b->listing)
        list_tools(b);
}

static void tools_changed(struct bundle *b)
{
    if (!b->is_ready)
        return;
    b->is_list_stale = true;
    if (!b->listing && !timer_active(&b->relist))
        timer_start(&b->relist, b->state == BUNDLE_RUNNING ? 0 : RELIST_MS);
}

void watch_notified(struct bundle *b, str method, const struct json *params)
{
    if (bundle_is_child(b))
        memory_watch_used(b->set->memory);
    static const struct {
        str method;
        enum bundle_change change;
    } CHANGES[] = {
        {STR_INIT("notifications/resources/list_changed"), BUNDLE_RESOURCES},
        {STR_INIT("notifications/prompts/list_changed"), BUNDLE_PROMPTS},
        {STR_INIT("notifications/resources/updated"), BUNDLE_RESOURCE_UPDATED},
    };
    if (str_eq(method, STR("notifications/tools/list_changed")))
        tools_changed(b);
    for (size_t i = 0; i < ARRAY_LEN(CHANGES); i++) {
        if (str_eq(method, CHANGES[i].method))
            bundle_changed(b, CHANGES[i].change);
    }
}

/* ---- health ----
 *
 * A server is checked while it is used, and once more after that. The end of a child is reported by
 * the kernel, and a child that hangs matters to nobody before its next call: it is not checked
 * until then. A remote server can go away without notice, so its checks go on, at growing
 * intervals. */

bool watch_is_unreachable(const struct bundle *b, const struct err *err)
{
    return err && !bundle_is_child(b) && (err->code == -ECONNREFUSED || err->code == -EHOSTUNREACH);
}

static void on_health_checked(void *ctx, const struct mcp_reply *r)
{
    struct bundle *b = ctx;
    b->check = NULL;
    if (!r->err) /* the error "no such method" is an answer as well */
        b->unanswered_checks = 0;
    else if (r->err->code == -ETIMEDOUT)
        b->unanswered_checks++;
    else if (watch_is_unreachable(b, r->err))
        supervise_kill(b, r->err->msg);
}

static void check_health(struct bundle *b)
{
    static const struct mcp_call_events EVENTS = {.done = on_health_checked};
    struct mcp_request req = {
        .method = b->era == MCP_ERA_MODERN ? STR("server/discover") : STR("ping"),
        .timeout_ms = health_ms(b),
        .max_ms = health_ms(b),
    };
    b->check = mcp_request(connections_main(b->connections), &req, &EVENTS, b);
}

/* True when another check would find nothing new. */
static bool may_rest(const struct bundle *b)
{
    return b->unused_checks > 0 && b->unanswered_checks == 0 && !b->check && !b->is_list_missing &&
           b->state == BUNDLE_RUNNING && bundle_calls_sent(b) == 0;
}

static uint64_t next_check_ms(const struct bundle *b)
{
    unsigned times = 1;
    for (unsigned i = 1; may_rest(b) && i < b->unused_checks && times < REST_MAX; i++)
        times *= 2;
    return times * health_ms(b);
}

void watch_used(struct bundle *b)
{
    bool was_resting = b->unused_checks > 0;
    b->unused_checks = 0;
    if (was_resting && !b->is_closing)
        timer_start(&b->health, health_ms(b));
    if (bundle_is_child(b))
        memory_watch_used(b->set->memory);
}

static void on_health(void *ctx)
{
    struct bundle *b = ctx;
    if (b->state == BUNDLE_RUNNING)
        b->failures = 0; /* a whole interval without a failure */
    if (b->unanswered_checks >= CHECKS_MAX && bundle_calls_sent(b) == 0) {
        supervise_kill(b, "it does not answer: three health checks in a row went unanswered");
        return;
    }
    if (bundle_is_child(b) && may_rest(b))
        return; /* until watch_used */
    if (!b->check)
        check_health(b);
    if (b->is_list_missing && !b->listing)
        list_tools(b);
    timer_start(&b->health, next_check_ms(b));
    b->unused_checks += bundle_calls_sent(b) == 0;
}

/* ---- beginning and end ---- */

void watch_init(struct bundle *b)
{
    timer_init(&b->health, b->set->conf.loop, on_health, b);
    timer_init(&b->relist, b->set->conf.loop, on_relist, b);
}

void watch_begin(struct bundle *b)
{
    b->unanswered_checks = b->unused_checks = 0;
    timer_start(&b->health, health_ms(b));
    b->is_listed = false;
    if (!people_face(b)->pins.is_loaded) {
        b->wants_list = true;
        return;
    }
    if (json_get(b->server.capabilities, "tools")) {
        list_tools(b);
        return;
    }
    b->is_listed = true;
    static const struct json NONE = {.type = JSON_ARRAY};
    if (b->tools.n > 0)
        watch_take_tools(b, &NONE);
    become_running(b);
}

void watch_pins_loaded(struct bundle *b)
{
    if (b->wants_list && b->is_ready && !b->is_closing)
        watch_begin(b);
    b->wants_list = false;
}

/* Called before the connection is freed, or after that. Requests of this file that are still in
 * progress are answered by the end of the connection. */
void watch_end(struct bundle *b)
{
    timer_stop(&b->health);
    timer_stop(&b->relist);
    b->is_listed = b->wants_list = false;
}
