#include "mcp/relay.h"
#include "support/unit.h"

struct outer {
    struct call_relay relay;
    int ended;
};

static char heard[16];

static void note(void *ctx, const char *what)
{
    assert_ptr_equal(ctx, heard);
    snprintf(heard + strlen(heard), sizeof heard - strlen(heard), "%s", what);
}

static void on_progress(void *ctx, const struct json *params)
{
    note(ctx, "p");
}

static void on_logged(void *ctx, const struct json *params)
{
    note(ctx, "l");
}

static void on_ask(void *ctx, struct mcp_ask *a)
{
    note(ctx, "a");
}

static void on_ask_gone(void *ctx, struct mcp_ask *a)
{
    note(ctx, "g");
}

static void on_done(void *ctx, const struct mcp_reply *r)
{
    struct outer *o = ctx;
    o->ended++;
}

TEST(all_but_the_end_goes_through)
{
    struct outer o = {
        .relay = {{NULL, on_progress, on_logged, on_ask, on_ask_gone}, heard},
    };
    struct mcp_call_events ev = call_relay_events(&o.relay, on_done);
    heard[0] = '\0';
    ev.progress(&o, NULL);
    ev.logged(&o, NULL);
    ev.ask(&o, NULL);
    ev.ask_gone(&o, NULL);
    assert_string_equal(heard, "plag");
    ev.done(&o, NULL);
    assert_int_equal(o.ended, 1);
    assert_string_equal(heard, "plag");
}

TEST(what_nobody_listens_to_is_not_asked_for)
{
    struct outer o = {.relay = {{.done = on_done}, NULL}};
    struct mcp_call_events ev = call_relay_events(&o.relay, on_done);
    assert_null(ev.progress);
    assert_null(ev.logged);
    assert_null(ev.ask);
    assert_null(ev.ask_gone);
}
