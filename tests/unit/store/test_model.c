/* Random operations on a store and on the simplest thing that behaves like one: after every
 * step both must agree. The seed is printed; MODEL_SEED repeats a run. */
#include <errno.h>

#include "rig.h"

enum { CONVS = 12, EVENTS_MAX = 400, TRASH_MAX = 4, STEPS = 4000 };

struct content {
    int n;
    int number[EVENTS_MAX]; /* of each event in order; -1 = a title, -2 = a note, -3 = sharing */
    char title[32];
    int messages, notes;
    bool is_shared;
};

struct model {
    struct rig *rig;
    const char *backend;
    struct content live[CONVS], trash[CONVS][TRASH_MAX];
    bool is_live[CONVS];
    int trashed[CONVS]; /* how many lie in the trash under one id */
    char id[CONVS][STORE_ID_MAX + 1];
    uint64_t random;
    int next; /* number of the next event */
};

static unsigned pick(struct model *m, unsigned n)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return (unsigned)(m->random >> 20) % n;
}

static void record(struct content *c, int number)
{
    assert_true(c->n < EVENTS_MAX);
    c->number[c->n++] = number;
}

/* ---- steps: each does the same thing twice and compares what it was told ---- */

static void step_create(struct model *m, unsigned i)
{
    bool is_fresh = pick(m, 2);
    int r = is_fresh ? rig_create_again(m->rig, m->id[i], "usr_a")
                     : rig_create(m->rig, m->id[i], "usr_a");
    bool is_taken = m->is_live[i] || (!is_fresh && m->trashed[i] > 0);
    assert_int_equal(r, is_taken ? -EEXIST : 0);
    if (r == 0) {
        m->is_live[i] = true;
        memset(&m->live[i], 0, sizeof(m->live[i]));
    }
}

static void step_append(struct model *m, unsigned i)
{
    str events[5];
    char text[5][64];
    unsigned n = 1 + pick(m, 5);
    for (unsigned k = 0; k < n; k++) {
        (void)snprintf(text[k], sizeof(text[k]), "{\"type\":\"user.message\",\"n\":%d}",
                       m->next + (int)k);
        events[k] = str_from(text[k]);
    }
    if (m->is_live[i] && m->live[i].n + (int)n > EVENTS_MAX - 8)
        return;
    int r = rig_append_n(m->rig, m->id[i], events, n);
    assert_int_equal(r, m->is_live[i] ? 0 : -ENOENT);
    for (unsigned k = 0; r == 0 && k < n; k++) {
        record(&m->live[i], m->next++);
        m->live[i].messages++;
    }
}

static void step_title(struct model *m, unsigned i)
{
    char title[32];
    bool only_if_unset = pick(m, 2);
    (void)snprintf(title, sizeof(title), "title %u", pick(m, 1000));
    if (m->live[i].n > EVENTS_MAX - 8)
        return;
    int r = rig_title(m->rig, m->id[i], title, only_if_unset);
    assert_int_equal(r, m->is_live[i] ? 0 : -ENOENT);
    if (r < 0)
        return;
    if (!only_if_unset || !m->live[i].title[0]) {
        memcpy(m->live[i].title, title, sizeof(title));
        record(&m->live[i], -1);
    }
    assert_str(m->rig->conv->title, m->live[i].title);
}

static void step_note(struct model *m, unsigned i)
{
    struct rig *r = m->rig;
    if (m->live[i].n > EVENTS_MAX - 8)
        return;
    int code = RIG_CALL(
        r, store_add_note(r->store, str_from(m->id[i]), STR("usr_a"), STR("text"), rig_on_conv, r));
    assert_int_equal(code, m->is_live[i] ? 0 : -ENOENT);
    if (code == 0) {
        record(&m->live[i], -2);
        m->live[i].notes++;
    }
    code = RIG_CALL(r, store_notes(r->store, str_from(m->id[i]), rig_on_notes, r));
    assert_int_equal(code, m->is_live[i] ? 0 : -ENOENT);
    if (code == 0)
        assert_int_equal(r->nnotes, m->live[i].notes);
}

static void step_share(struct model *m, unsigned i)
{
    struct rig *r = m->rig;
    bool is_shared = pick(m, 2);
    if (m->live[i].n > EVENTS_MAX - 8)
        return;
    int code = RIG_CALL(r, rig_set_sharing(r->store, str_from(m->id[i]), is_shared,
                                           &(struct json_strs){0}, NULL, rig_on_conv, r));
    assert_int_equal(code, m->is_live[i] ? 0 : -ENOENT);
    if (code == 0) {
        record(&m->live[i], -3);
        record(&m->live[i], -3);
        m->live[i].is_shared = is_shared;
    }
}

static void step_delete(struct model *m, unsigned i)
{
    bool purge = pick(m, 3) == 0 || m->trashed[i] == TRASH_MAX;
    int r = rig_delete(m->rig, m->id[i], purge);
    bool exists = m->is_live[i] || (purge && m->trashed[i]);
    assert_int_equal(r, exists ? 0 : -ENOENT);
    if (m->is_live[i]) {
        m->is_live[i] = false;
        if (!purge)
            m->trash[i][m->trashed[i]++] = m->live[i];
    } else if (purge) {
        m->trashed[i] = 0;
    }
}

static void step_restore(struct model *m, unsigned i)
{
    int r = rig_restore(m->rig, m->id[i]);
    if (!m->trashed[i]) {
        assert_int_equal(r, -ENOENT);
    } else if (m->is_live[i]) {
        assert_int_equal(r, -EEXIST);
    } else {
        assert_int_equal(r, 0);
        m->live[i] = m->trash[i][--m->trashed[i]];
        m->is_live[i] = true;
    }
}

/* The fork takes the place of conversation k, which is purged first. */
static void step_fork(struct model *m, unsigned i)
{
    unsigned k = pick(m, CONVS);
    int at = (int)pick(m, 12) - 1;
    if (k == i)
        return;
    while (m->is_live[k] || m->trashed[k]) {
        assert_int_equal(rig_delete(m->rig, m->id[k], true), 0);
        if (m->is_live[k])
            m->is_live[k] = false;
        else
            m->trashed[k] = 0;
    }
    int r = rig_fork(m->rig, m->id[i], at, "usr_a");
    assert_int_equal(r, m->is_live[i] ? 0 : -ENOENT);
    if (r < 0)
        return;
    (void)snprintf(m->id[k], sizeof(m->id[k]), "%.*s", STR_ARG(m->rig->conv->id));
    struct content *to = &m->live[k];
    const struct content *from = &m->live[i];
    memset(to, 0, sizeof(*to));
    for (int e = 0; e < from->n && (at < 0 || to->messages < at); e++) {
        if (from->number[e] == -1 || from->number[e] == -3)
            continue;
        record(to, from->number[e]);
        to->messages += from->number[e] >= 0;
        to->notes += from->number[e] == -2;
    }
    m->is_live[k] = true;
}

static void step_reopen(struct model *m, unsigned i)
{
    if (strcmp(m->backend, "memory") != 0)
        rig_reopen(m->rig, m->backend);
}

static void check_event(struct rig *r, const struct content *c, size_t event, int at)
{
    struct json *v;
    assert_int_equal(json_parse(&r->arena, r->page.events[event].line, 0, &v, NULL), 0);
    int expected = c->number[at];
    static const char *const own[] = {"metadata.title", "note", "metadata."};
    if (expected >= 0)
        assert_int_equal(json_get_int(v, "n", -9), expected);
    else
        assert_true(str_starts(json_get_string(v, "type"), str_from(own[-1 - expected])));
}

static void step_read(struct model *m, unsigned i)
{
    struct rig *r = m->rig;
    struct store_range range = {.max_events = 1 + pick(m, 7), .backwards = pick(m, 2)};
    const struct content *c = &m->live[i];
    if (!m->is_live[i]) {
        assert_int_equal(rig_read(r, m->id[i], &range), -ENOENT);
        return;
    }
    int at = range.backwards ? c->n : 0;
    for (;;) {
        assert_int_equal(rig_read(r, m->id[i], &range), 0);
        assert_false(r->page.is_beyond_end);
        int n = (int)r->page.n;
        if (range.backwards)
            at -= n;
        assert_true(at >= 0);
        for (int k = 0; k < n; k++)
            check_event(r, c, (size_t)k, at + k);
        if (!range.backwards)
            at += n;
        if (range.backwards ? r->page.reached_start : r->page.reached_end)
            break;
        assert_true(n > 0);
        range.before = r->page.start;
        range.after = r->page.events[n - 1].pos;
    }
    assert_int_equal(at, range.backwards ? 0 : c->n);
}

static void step_get(struct model *m, unsigned i)
{
    int r = rig_get(m->rig, m->id[i]);
    assert_int_equal(r, m->is_live[i] ? 0 : -ENOENT);
    if (r < 0)
        return;
    const struct conv *c = m->rig->conv;
    assert_str(c->title, m->live[i].title);
    assert_int_equal(c->message_count, m->live[i].messages);
    assert_int_equal(c->acl.is_shared, m->live[i].is_shared);
    assert_int_equal(c->bad_lines, 0);
}

static void step_list(struct model *m, unsigned i)
{
    int live = 0;
    for (int k = 0; k < CONVS; k++)
        live += m->is_live[k];
    struct store_query q = {.limit = 1 + pick(m, 5)};
    char cursor[160] = "";
    int seen = 0;
    do {
        q.cursor = str_from(cursor);
        assert_int_equal(rig_list(m->rig, &q), 0);
        assert_int_equal(m->rig->listing.total, live);
        seen += (int)m->rig->listing.n;
        (void)snprintf(cursor, sizeof(cursor), "%.*s", STR_ARG(m->rig->listing.next_cursor));
    } while (cursor[0]);
    assert_int_equal(seen, live);
}

static const struct {
    void (*run)(struct model *m, unsigned i);
    unsigned weight;
} STEPS_TABLE[] = {
    {step_append, 30}, {step_create, 12}, {step_read, 20}, {step_get, 10},
    {step_title, 6},   {step_note, 4},    {step_share, 4}, {step_delete, 4},
    {step_restore, 6}, {step_fork, 4},    {step_list, 4},  {step_reopen, 1},
};

static void run_model(const char *backend, uint64_t seed)
{
    struct model *m = xcalloc(1, sizeof(*m));
    m->rig = xcalloc(1, sizeof(*m->rig));
    m->backend = backend;
    m->random = seed | 1;
    rig_init(m->rig, backend, NULL);
    for (int i = 0; i < CONVS; i++)
        (void)snprintf(m->id[i], sizeof(m->id[i]), "conv_%d", i);
    unsigned total = 0;
    for (size_t i = 0; i < ARRAY_LEN(STEPS_TABLE); i++)
        total += STEPS_TABLE[i].weight;
    for (int step = 0; step < STEPS; step++) {
        unsigned at = pick(m, total);
        size_t k = 0;
        while (at >= STEPS_TABLE[k].weight)
            at -= STEPS_TABLE[k++].weight;
        STEPS_TABLE[k].run(m, pick(m, CONVS));
    }
    for (unsigned i = 0; i < CONVS; i++) {
        step_get(m, i);
        step_read(m, i);
    }
    rig_done(m->rig);
    free(m->rig);
    free(m);
}

static uint64_t seed_of_run(void)
{
    uint64_t seed = (uint64_t)clock_now_ms();
    const char *given = getenv("MODEL_SEED");
    if (given)
        assert_int_equal(parse_u64(str_from(given), &seed), 0);
    print_message("MODEL_SEED=%llu, %d steps\n", (unsigned long long)seed, STEPS);
    return seed;
}

TEST(memory)
{
    run_model("memory", seed_of_run());
}

TEST(jsonl)
{
    run_model("jsonl", seed_of_run());
}

TEST(folder)
{
    run_model("folder", seed_of_run());
}
