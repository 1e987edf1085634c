/* Several servers on one database: leases and their fence, appends at the same time, live events of
 * the others, queued messages. Each server is a rig with a loop of its own. */
#include <errno.h>

#include "rig.h"
#include "store/backend/backend.h"
#include "store/replica/pg_relay_impl.h"
#include "support/postgres.h"

#define ID         "conv_0123456789abcdef"
#define NOTE(text) "{\"ts\":\"2026-01-01T00:00:00.000Z\",\"type\":\"x\",\"text\":\"" text "\"}"

static struct postgres server;

struct pair {
    struct rig a, b;
};

static void open_replica(struct rig *r)
{
    rig_init(r, NULL, NULL);
    database_share(r->database);
    rig_open_store(r, "postgres");
}

static int setup(void **state)
{
    struct pair *p = xcalloc(1, sizeof *p);
    postgres_clear(server.url);
    postgres_sql(server.url, "TRUNCATE nb_lease, nb_replica, nb_watch, nb_queue, nb_key");
    rig_database_url = server.url;
    open_replica(&p->a);
    open_replica(&p->b);
    assert_int_equal(rig_create(&p->a, ID, "usr_a"), 0);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct pair *p = *state;
    rig_done(&p->a);
    rig_done(&p->b);
    free(p);
    return 0;
}

/* Both servers go on until the condition is true. */
static void run_until(struct pair *p, bool (*is_true)(void *ctx), void *ctx)
{
    uint64_t end = clock_mono_ms() + RIG_WAIT_MS;
    bool never = false;
    while (!is_true(ctx)) {
        assert_true(clock_mono_ms() < end);
        (void)loop_run_until(p->a.loop, &never, 2);
        (void)loop_run_until(p->b.loop, &never, 2);
    }
}

/* ---- leases ---- */

struct taken {
    bool is_done, is_lost;
    int code;
    struct store_lease *lease;
};

static void on_lost(void *ctx)
{
    ((struct taken *)ctx)->is_lost = true;
}

static void on_taken(void *ctx, const struct err *err, struct store_lease *lease)
{
    struct taken *t = ctx;
    t->is_done = true;
    t->code = err ? err->code : 0;
    t->lease = lease;
    if (lease)
        store_lease_watch(lease, on_lost, t);
}

static void take(struct rig *r, struct taken *t)
{
    *t = (struct taken){0};
    store_take_lease(r->store, STR(ID), on_taken, t);
    assert_true(loop_run_until(r->loop, &t->is_done, RIG_WAIT_MS));
}

static void on_appended_if(void *ctx, const struct err *err, const store_pos *pos, size_t n)
{
    struct taken *t = ctx;
    t->is_done = true;
    t->code = err ? err->code : 0;
}

static int append_if(struct rig *r, const struct store_terms *terms, const char *line)
{
    struct taken t = {0};
    str event = str_from(line);
    store_append_if(r->store, STR(ID), terms, &event, 1, on_appended_if, &t);
    assert_true(loop_run_until(r->loop, &t.is_done, RIG_WAIT_MS));
    return t.code;
}

static size_t count_lines(struct rig *r)
{
    assert_int_equal(rig_read(r, ID, &(struct store_range){0}), 0);
    return r->page.n;
}

static bool can_take(void *ctx)
{
    struct pair *p = ctx;
    struct taken t;
    take(&p->b, &t);
    store_lease_release(t.lease);
    return t.code == 0;
}

TEST_WITH(one_server_has_the_lease_of_a_conversation, setup, teardown)
{
    struct pair *p = *state;
    struct taken a, b;
    take(&p->a, &a);
    assert_int_equal(a.code, 0);
    take(&p->b, &b);
    assert_int_equal(b.code, -EBUSY);
    store_lease_release(a.lease);
    run_until(p, can_take, p);
}

static bool was_lost(void *ctx)
{
    return ((struct taken *)ctx)->is_lost;
}

TEST_WITH(a_server_that_was_stopped_for_too_long_cannot_write, setup, teardown)
{
    struct pair *p = *state;
    struct taken a, b;
    take(&p->a, &a);
    assert_int_equal(append_if(&p->a, &(struct store_terms){.lease = a.lease}, NOTE("one")), 0);
    /* not expired: nobody takes it */
    take(&p->b, &b);
    assert_int_equal(b.code, -EBUSY);
    postgres_sql(server.url, "UPDATE nb_lease SET expires = now() - interval '1 second'");
    take(&p->b, &b);
    assert_int_equal(b.code, 0);
    /* the first server does not know it yet */
    assert_false(a.is_lost);
    assert_int_equal(append_if(&p->a, &(struct store_terms){.lease = a.lease}, NOTE("stale")),
                     -EOWNERDEAD);
    assert_int_equal(count_lines(&p->b), 1);
    assert_int_equal(append_if(&p->b, &(struct store_terms){.lease = b.lease}, NOTE("two")), 0);
    run_until(p, was_lost, &a);
    assert_int_equal(append_if(&p->a, &(struct store_terms){.lease = a.lease}, NOTE("stale")),
                     -EOWNERDEAD);
    assert_int_equal(count_lines(&p->a), 2);
    /* what people do is not part of the run */
    assert_int_equal(rig_append(&p->a, ID, NOTE("three")), 0);
    store_lease_release(a.lease);
    store_lease_release(b.lease);
}

/* ---- at the same time ---- */

TEST_WITH(a_server_appends_at_the_end_that_another_has_moved, setup, teardown)
{
    struct pair *p = *state;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(rig_append(&p->a, ID, NOTE("a")), 0);
        assert_int_equal(rig_append(&p->b, ID, NOTE("b")), 0);
        assert_int_equal(rig_append(&p->b, ID, NOTE("c")), 0);
    }
    assert_int_equal(count_lines(&p->a), 15);
    struct store_terms terms = {.has_end = true, .end = 14};
    assert_int_equal(append_if(&p->a, &terms, NOTE("late")), -EBUSY);
    terms.end = 15;
    assert_int_equal(append_if(&p->a, &terms, NOTE("d")), 0);
    assert_int_equal(rig_get(&p->b, ID), 0);
    assert_int_equal(p->b.conv->end, 16);
}

struct both {
    struct taken a, b;
};

static void on_shared(void *ctx, const struct err *err, const struct conv *c)
{
    struct taken *t = ctx;
    t->is_done = true;
    t->code = err ? err->code : 0;
}

static bool are_done(void *ctx)
{
    const struct both *k = ctx;
    return k->a.is_done && k->b.is_done;
}

TEST_WITH(two_changes_of_sharing_both_take_effect, setup, teardown)
{
    struct pair *p = *state;
    for (int round = 0; round < 4; round++) {
        struct both k = {0};
        char one[16], two[16];
        (void)snprintf(one, sizeof one, "usr_a%d", round);
        (void)snprintf(two, sizeof two, "usr_b%d", round);
        str names[] = {str_from(one), str_from(two)};
        const struct json_strs add[] = {{&names[0], 1}, {&names[1], 1}};
        struct sharing_change changes[] = {{.visibility = SHARING_SHARED, .add = &add[0]},
                                           {.visibility = SHARING_SHARED, .add = &add[1]}};
        store_change_sharing(p->a.store, STR(ID), &changes[0], NULL, on_shared, &k.a);
        store_change_sharing(p->b.store, STR(ID), &changes[1], NULL, on_shared, &k.b);
        run_until(p, are_done, &k);
        assert_int_equal(k.a.code, 0);
        assert_int_equal(k.b.code, 0);
        assert_int_equal(rig_get(&p->b, ID), 0);
        assert_int_equal(p->b.conv->acl.participants.len, 1 + 2 * (round + 1));
    }
}

/* ---- live events ---- */

enum { SEEN_MAX = 64 };

struct seen {
    char *items[SEEN_MAX];
    size_t n, want;
    bool is_over, has_all;
};

static void note(struct seen *s, str text)
{
    assert_true(s->n < SEEN_MAX);
    s->items[s->n++] = str_dup(text);
    s->has_all = s->n >= s->want;
}

static void on_event(void *ctx, store_pos pos, str line)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)pos);
    note(ctx, str_from(text));
}

static void on_ephemeral(void *ctx, struct bus_msg *msg)
{
    note(ctx, msg->data);
}

static void on_live(void *ctx)
{
    note(ctx, STR("live"));
}

static void on_end(void *ctx, const struct err *err)
{
    ((struct seen *)ctx)->is_over = true;
}

static const struct feed_events FEED = {
    .on_event = on_event, .on_ephemeral = on_ephemeral, .on_live = on_live, .on_end = on_end};

static bool has_seen(void *ctx)
{
    const struct seen *s = ctx;
    return s->n >= s->want;
}

static void seen_done(struct seen *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->items[i]);
    s->n = 0;
}

/* The stream on b gets what is published on a from now on. */
static bool is_known_there(void *ctx)
{
    const struct pair *p = ctx;
    const struct pg_relay *b = p->b.database->relay;
    return store_is_watched_elsewhere(p->a.store, STR(ID)) && b->is_listening && !b->polling &&
           b->heard == b->echoes;
}

TEST_WITH(streams_get_events_of_other_servers_in_their_order, setup, teardown)
{
    struct pair *p = *state;
    struct seen s = {.want = 1};
    assert_int_equal(rig_append(&p->a, ID, NOTE("before")), 0);
    /* nobody watches elsewhere: what is not in the log does not travel */
    uint64_t told = p->a.database->outbox.npayloads;
    store_publish(p->a.store, STR(ID), STR("text.delta"), STR("{\"text\":\"unseen\"}"));
    assert_int_equal(p->a.database->outbox.npayloads, told);
    struct feed *f = feed_open(p->b.store, STR(ID), 0, &FEED, &s);
    s.want = 2; /* the line, and that it is live */
    run_until(p, has_seen, &s);
    run_until(p, is_known_there, p);
    store_publish(p->a.store, STR(ID), STR("text.delta"), STR("{\"text\":\"1\"}"));
    store_publish(p->a.store, STR(ID), STR("text.delta"), STR("{\"text\":\"2\"}"));
    assert_int_equal(rig_append(&p->a, ID, NOTE("line")), 0);
    store_publish(p->a.store, STR(ID), STR("text.delta"), STR("{\"text\":\"3\"}"));
    assert_int_equal(rig_append(&p->b, ID, NOTE("mine")), 0);
    assert_int_equal(rig_append(&p->a, ID, NOTE("line")), 0);
    s.want = 8;
    run_until(p, has_seen, &s);
    const char *const first[] = {"1", "live", "{\"text\":\"1\"}", "{\"text\":\"2\"}", "2"};
    for (size_t i = 0; i < ARRAY_LEN(first); i++)
        assert_string_equal(s.items[i], first[i]);
    /* the last event is behind line 2 of its server and in front of line 4; line 3 is of another */
    bool is_first = s.items[5][0] == '{';
    assert_string_equal(s.items[is_first ? 5 : 6], "{\"text\":\"3\"}");
    assert_string_equal(s.items[is_first ? 6 : 5], "3");
    assert_string_equal(s.items[7], "4");
    feed_close(f);
    seen_done(&s);
}

/* The other server hears of everything in one go, and reads both lines together. */
TEST_WITH(an_event_between_two_lines_stays_between_them, setup, teardown)
{
    struct pair *p = *state;
    struct seen s = {.want = 1};
    struct feed *f = feed_open(p->b.store, STR(ID), 0, &FEED, &s);
    run_until(p, has_seen, &s);
    run_until(p, is_known_there, p);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(rig_append(&p->a, ID, NOTE("line")), 0);
        store_publish(p->a.store, STR(ID), STR("text.delta"), STR("{\"text\":\"x\"}"));
    }
    assert_int_equal(rig_append(&p->a, ID, NOTE("line")), 0);
    s.want = 12;
    run_until(p, has_seen, &s);
    for (size_t i = 1; i < s.n; i++) {
        char line[16];
        (void)snprintf(line, sizeof line, "%zu", (i + 1) / 2);
        assert_string_equal(s.items[i], i % 2 == 1 ? line : "{\"text\":\"x\"}");
    }
    feed_close(f);
    seen_done(&s);
}

/* ---- engines without notifications ---- */

static int silent_setup(void **state, const char *also)
{
    postgres_sql(server.url, "ALTER FUNCTION pg_notify(text, text) RENAME TO pg_notify_off");
    if (also)
        postgres_sql(server.url, also);
    return setup(state);
}

static int mute_setup(void **state)
{
    return silent_setup(state, NULL);
}

static int deaf_setup(void **state)
{
    return silent_setup(state, "CREATE FUNCTION public.pg_notify(text, text) RETURNS void"
                               " LANGUAGE sql AS 'SELECT'");
}

static int silent_teardown(void **state)
{
    int r = teardown(state);
    postgres_sql(server.url, "DROP FUNCTION IF EXISTS public.pg_notify(text, text)");
    postgres_sql(server.url, "ALTER FUNCTION pg_notify_off(text, text) RENAME TO pg_notify");
    return r;
}

/* Lines are found by asking, and so are the streams of others. */
static void expect_polling(struct pair *p, bool has_notify)
{
    struct seen s = {.want = 1};
    assert_int_equal(atomic_load(&p->a.database->has_notify), has_notify);
    struct feed *f = feed_open(p->b.store, STR(ID), 0, &FEED, &s);
    run_until(p, has_seen, &s);
    for (size_t i = 1; i <= 3; i++) {
        char line[16];
        assert_int_equal(rig_append(&p->a, ID, NOTE("line")), 0);
        s.want = i + 1;
        run_until(p, has_seen, &s);
        (void)snprintf(line, sizeof line, "%zu", i);
        assert_string_equal(s.items[i], line);
    }
    assert_false(pg_relay_state(p->b.database).is_listening);
    feed_close(f);
    seen_done(&s);
}

TEST_WITH(without_pg_notify_lines_are_asked_for, mute_setup, silent_teardown)
{
    expect_polling(*state, false);
}

TEST_WITH(where_notifications_do_not_arrive_lines_are_asked_for, deaf_setup, silent_teardown)
{
    expect_polling(*state, true);
}

static void hear(struct rig *r, const char *kind, const char *text)
{
    char payload[256];
    (void)snprintf(payload, sizeof payload, "srv_other 1 %s\n%s", kind, text);
    relay_on_notice(r->database->relay, str_from(payload));
}

static void hear_event(struct rig *r, const char *type, const char *text)
{
    char message[200];
    (void)snprintf(message, sizeof message,
                   "{\"k\":\"event\",\"w\":\"%s\",\"c\":\"" ID
                   "\",\"t\":\"%s\",\"d\":{\"text\":\"%s\"}}",
                   r->store->conf.workspace_id, type, text);
    hear(r, "m", message);
}

/* It was told before this stream asked for the text so far: the answer will have it. */
TEST_WITH(a_stream_that_begins_gets_nothing_from_before_the_lines_it_has_read, setup, teardown)
{
    struct pair *p = *state;
    struct seen first = {.want = 1}, second = {.want = 1};
    struct feed *one = feed_open(p->b.store, STR(ID), 0, &FEED, &first);
    run_until(p, has_seen, &first);
    run_until(p, is_known_there, p);
    struct feed *two = feed_open(p->b.store, STR(ID), 0, &FEED, &second);
    assert_true(loop_run_until(p->b.loop, &second.has_all, RIG_WAIT_MS));
    hear_event(&p->b, "text.delta", "old");
    hear_event(&p->b, "typing", "now");
    run_until(p, is_known_there, p);
    hear_event(&p->b, "text.delta", "new");
    assert_int_equal(first.n, 4);
    assert_string_equal(first.items[1], "{\"text\":\"old\"}");
    assert_int_equal(second.n, 3);
    assert_string_equal(second.items[1], "{\"text\":\"now\"}");
    assert_string_equal(second.items[2], "{\"text\":\"new\"}");
    feed_close(one);
    feed_close(two);
    seen_done(&first);
    seen_done(&second);
}

static bool is_idle(void *ctx)
{
    const struct relay_conv *v = ctx;
    return !v->op;
}

/* The transaction of a server that has lost its lease notifies too. */
TEST_WITH(lines_that_were_announced_and_refused_are_not_read_for_ever, setup, teardown)
{
    struct pair *p = *state;
    struct seen s = {.want = 1};
    char grown[128];
    struct feed *f = feed_open(p->b.store, STR(ID), 0, &FEED, &s);
    run_until(p, has_seen, &s);
    run_until(p, is_known_there, p);
    (void)snprintf(grown, sizeof grown, "%s " ID " 7", p->b.store->conf.workspace_id);
    hear(&p->b, "a", grown);
    struct map_entry *e;
    size_t at = 0;
    assert_non_null(e = map_next(&p->b.database->relay->convs, &at));
    struct relay_conv *v = e->value;
    assert_non_null(v->op);
    run_until(p, is_idle, v);
    hear_event(&p->b, "text.delta", "x"); /* it does not wait for them */
    assert_int_equal(rig_append(&p->a, ID, NOTE("line")), 0);
    s.want = 3;
    run_until(p, has_seen, &s);
    assert_string_equal(s.items[1], "{\"text\":\"x\"}");
    assert_string_equal(s.items[2], "1");
    feed_close(f);
    seen_done(&s);
}

TEST_WITH(a_long_event_travels_in_parts, setup, teardown)
{
    struct pair *p = *state;
    struct seen s = {.want = 1};
    struct buf b;
    struct json_writer w;
    struct feed *f = feed_open(p->b.store, STR(ID), 0, &FEED, &s);
    run_until(p, has_seen, &s);
    run_until(p, is_known_there, p);
    jw_start(&w, &b, 200 * 1024);
    jw_object(&w);
    jw_key(&w, "text");
    struct buf text;
    buf_init(&text, 200 * 1024);
    for (int i = 0; i < 30000; i++)
        buf_add_lit(&text, "\xc3\xa9"); /* parts end between characters */
    jw_str(&w, buf_str(&text));
    jw_end(&w);
    store_publish(p->a.store, STR(ID), STR("text.delta"), buf_str(&b));
    store_publish(p->a.store, STR(ID), STR("text.delta"), STR("{\"text\":\"after\"}"));
    s.want = 3;
    run_until(p, has_seen, &s);
    assert_string_equal(s.items[1], buf_cstr(&b));
    assert_string_equal(s.items[2], "{\"text\":\"after\"}");
    buf_done(&text);
    buf_done(&b);
    feed_close(f);
    seen_done(&s);
}

static bool is_over(void *ctx)
{
    return ((struct seen *)ctx)->is_over;
}

static void on_deleted(void *ctx, const struct err *err)
{
    ((struct taken *)ctx)->is_done = true;
}

TEST_WITH(deleting_ends_streams_of_all_servers, setup, teardown)
{
    struct pair *p = *state;
    struct seen s = {.want = 1};
    struct taken t = {0};
    (void)feed_open(p->b.store, STR(ID), 0, &FEED, &s);
    run_until(p, has_seen, &s);
    store_delete(p->a.store, STR(ID), false, NULL, NULL, on_deleted, &t);
    run_until(p, is_over, &s);
    seen_done(&s);
}

/* ---- queued messages, keys ---- */

TEST_WITH(queued_messages_of_a_server_that_is_gone_are_taken_once, setup, teardown)
{
    struct pair *p = *state;
    struct err e = {0};
    struct json_strs taken;
    struct arena *a = &p->a.arena;
    assert_int_equal(store_queue_put(p->a.store, STR("msg_1"), STR("{\"n\":1}"), &e), 0);
    assert_int_equal(store_queue_put(p->a.store, STR("msg_2"), STR("{\"n\":2}"), &e), 0);
    assert_int_equal(store_queue_put(p->a.store, STR("msg_2"), STR_NONE, &e), 0);
    postgres_sql(server.url, "INSERT INTO nb_replica SELECT replica, '', now() FROM nb_queue"
                             " ON CONFLICT (id) DO UPDATE SET seen = now()");
    assert_int_equal(store_queue_take(p->b.store, a, &taken, &e), 0);
    assert_int_equal(taken.len, 0);
    postgres_sql(server.url, "UPDATE nb_replica SET seen = now() - interval '1 minute'");
    assert_int_equal(store_queue_take(p->b.store, a, &taken, &e), 0);
    assert_int_equal(taken.len, 1);
    assert_str(taken.items[0], "{\"n\":1}");
    /* if the answer was lost on its way, the next one has it */
    assert_int_equal(store_queue_take(p->b.store, a, &taken, &e), 0);
    assert_int_equal(taken.len, 1);
    assert_int_equal(store_queue_take(p->a.store, a, &taken, &e), 0);
    assert_int_equal(taken.len, 0);
    /* it is not the first server's to remove any more */
    assert_int_equal(store_queue_put(p->a.store, STR("msg_1"), STR_NONE, &e), 0);
    postgres_sql(server.url, "SELECT 1 / count(*) FROM nb_queue WHERE id = 'msg_1'");
}

TEST_WITH(servers_agree_on_a_key, setup, teardown)
{
    struct pair *p = *state;
    struct err e = {0};
    uint8_t one[32] = {1}, two[32] = {2}, other[32] = {3};
    assert_int_equal(store_shared_key(p->a.store, "runs", one, &e), 0);
    assert_int_equal(store_shared_key(p->b.store, "runs", two, &e), 0);
    assert_memory_equal(one, two, sizeof one);
    assert_int_equal(store_shared_key(p->b.store, "other", other, &e), 0);
    assert_int_equal(other[0], 3);
}

int main(int argc, char **argv)
{
    postgres_start(&server);
    postgres_init(server.url);
    int failed = run_unit_tests("replicas", argc > 1 ? argv[1] : NULL);
    postgres_stop(&server);
    return failed;
}
