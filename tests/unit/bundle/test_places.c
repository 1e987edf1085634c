#include "bundle/supervise/bundle_impl.h"
#include "support/unit.h"

static struct bundle bundle;

static struct bundle_call *enter(const char *person)
{
    struct bundle_call *c = xcalloc(1, sizeof(*c));
    c->bundle = &bundle;
    c->req.method = STR("tools/call");
    places_enter(c, str_from(person));
    return c;
}

static void leave(struct bundle_call *c)
{
    places_leave(c);
    free(c);
}

/* As many as have a place, up to n. */
static size_t run_all(const char *person, struct bundle_call *calls[], size_t n)
{
    size_t nrunning = 0;
    for (size_t i = 0; i < n; i++) {
        calls[i] = enter(person);
        if (places_has_one(calls[i])) {
            places_run(calls[i]);
            nrunning++;
        }
    }
    return nrunning;
}

static void leave_all(struct bundle_call *calls[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        leave(calls[i]);
}

static int set_up_bundle(void **state)
{
    (void)state;
    bundle = (struct bundle){0};
    list_init(&bundle.calls);
    list_init(&bundle.callers);
    return 0;
}

static int check_empty(void **state)
{
    (void)state;
    return list_empty(&bundle.callers) && bundle.nrunning == 0 && bundle.nwaiting == 0 ? 0 : -1;
}

TEST_WITH(one_person_leaves_places_for_others, set_up_bundle, check_empty)
{
    (void)state;
    struct bundle_call *ann[40], *bob[2];
    assert_int_equal(run_all("ann", ann, 40), BUNDLE_CALLS_SHARED);
    assert_int_equal(places_of(ann[0]), BUNDLE_CALLS_SHARED);
    assert_int_equal(run_all("bob", bob, 2), 1);
    assert_int_equal(bundle.nrunning, BUNDLE_CALLS_SHARED + 1);
    assert_int_equal(bundle.nwaiting, 40 - BUNDLE_CALLS_SHARED + 1);
    leave(ann[0]);
    assert_false(places_has_one(ann[39])); /* bob's call has taken the place */
    leave_all(ann + 1, 39);
    assert_true(places_has_one(bob[1]));
    leave_all(bob, 2);
}

/* How long its calls take is not known yet, or they are slow: eight calls of one answer still need
 * no second wave. */
TEST_WITH(the_calls_of_one_answer_run_together, set_up_bundle, check_empty)
{
    (void)state;
    struct bundle_call *calls[8];
    assert_int_equal(run_all("ann", calls, 8), 8);
    leave_all(calls, 8);
    bundle.call_us = 10 * BUNDLE_QUICK_US;
    assert_int_equal(run_all("ann", calls, 8), 8);
    leave_all(calls, 8);
}

TEST_WITH(quick_servers_have_more_places, set_up_bundle, check_empty)
{
    (void)state;
    struct bundle_call *calls[100], *slow[2];
    bundle.call_us = BUNDLE_QUICK_US;
    assert_int_equal(run_all("ann", calls, 100), BUNDLE_CALLS_QUICK);
    leave_all(calls, 100);
    run_all("ann", slow, 2);
    slow[0]->since_us -= 10 * BUNDLE_QUICK_US;
    places_answered(slow[0]);
    assert_true(bundle.call_us > BUNDLE_QUICK_US);
    leave_all(slow, 2);
    assert_int_equal(run_all("ann", calls, 100), BUNDLE_CALLS_SHARED);
    leave_all(calls, 100);
}

TEST_WITH(a_call_that_waits_again_gives_its_place_back, set_up_bundle, check_empty)
{
    (void)state;
    struct bundle_call *calls[BUNDLE_CALLS_SHARED + 1];
    run_all("ann", calls, ARRAY_LEN(calls));
    assert_false(places_has_one(calls[BUNDLE_CALLS_SHARED]));
    places_wait(calls[0]);
    assert_true(places_has_one(calls[BUNDLE_CALLS_SHARED]));
    leave_all(calls, ARRAY_LEN(calls));
}

TEST_WITH(too_many_waiting_calls_are_refused, set_up_bundle, check_empty)
{
    (void)state;
    static struct bundle_call *ann[BUNDLE_QUEUE_PERSON_MAX + 1];
    for (size_t i = 0; i < ARRAY_LEN(ann); i++)
        ann[i] = enter("ann");
    assert_false(ann[BUNDLE_QUEUE_PERSON_MAX - 1]->is_refused);
    assert_true(ann[BUNDLE_QUEUE_PERSON_MAX]->is_refused);
    struct bundle_call *bob = enter("bob");
    assert_false(bob->is_refused);
    leave(bob);
    leave_all(ann, ARRAY_LEN(ann));
}
