/* share.c - debts and queues of parties; share.h explains the machine. */
#include "http/conn/share.h"

#include <assert.h>

#include "base/clock.h"

/* ---- debt ---- */

/* Lowers the debt by a quarter of the time since the last call. paid_us moves only by what was
 * used, so that remainders of the division are not lost. */
static void pay(struct tally *t, uint64_t now_us)
{
    uint64_t paid = (now_us - t->paid_us) / SHARE_OF;
    if (paid >= t->debt_us) {
        t->debt_us = 0;
        t->paid_us = now_us;
        return;
    }
    t->debt_us -= paid;
    t->paid_us += paid * SHARE_OF;
}

static void charge(struct tally *t, uint64_t us, uint64_t now_us)
{
    pay(t, now_us);
    t->debt_us += us;
    if (t->debt_us > SHARE_DEBT_MAX_US)
        t->debt_us = SHARE_DEBT_MAX_US;
}

/* When the debt will be down to debt_us. */
static uint64_t ms_until(const struct tally *t, uint64_t debt_us)
{
    return t->debt_us > debt_us ? (t->debt_us - debt_us) * SHARE_OF / 1000 + 1 : 0;
}

/* ---- other parties ---- */

/* Stores the two parties that used the server last. The pointers are only compared, never followed:
 * a party that was freed since still counts as active for SHARE_OTHERS_MS. */
static void note_party(struct http_server *s, const void *party)
{
    if (s->users[0].party != party) {
        s->users[1] = s->users[0];
        s->users[0].party = party;
    }
    s->users[0].ms = server_now_ms(s);
}

/* Whether no other party than t has used the server lately. */
static bool is_alone(const struct http_server *s, const struct tally *t)
{
    const struct http_user *other = &s->users[s->users[0].party == t];
    return !other->party || server_now_ms(s) - other->ms > SHARE_OTHERS_MS;
}

/* The party of the current or next request of c. A connection of a proxy carries requests of many
 * clients: its party is known only after the request was counted. */
static struct tally *party_of(const struct http_conn *c)
{
    return c->is_proxy && !(c->req && c->req->is_counted) ? NULL : c->tally;
}

/* Connections without a party (Unix socket, proxy) are one party together: the server stands for
 * it. */
void share_note(struct http_conn *c)
{
    note_party(c->server, c->tally ? (const void *)c->tally : c->server);
}

/* ---- paying ---- */

static void share_start(struct http_conn *c, uint64_t since_us)
{
    struct http_server *s = c->server;
    assert(!s->is_paying);
    s->paid_since_us = since_us;
    s->payer = party_of(c);
    s->is_paying = true;
}

void share_begin(struct http_conn *c)
{
    share_start(c, clock_mono_us());
}

bool share_begin_answer(struct http_conn *c)
{
    uint64_t since = loop_job_since_us(c->server->loop);
    if (c->server->is_paying || since == 0)
        return false;
    share_start(c, since);
    return true;
}

void share_counted(struct http_conn *c)
{
    if (c->server->is_paying)
        c->server->payer = c->tally;
}

void share_end(struct http_server *s)
{
    struct tally *t = s->payer;
    assert(s->is_paying);
    s->payer = NULL;
    s->is_paying = false;
    uint64_t now = clock_mono_us();
    loop_job_restart(s->loop, now); /* the next answer of the same job pays from here on */
    if (!t)
        return;
    charge(t, now - s->paid_since_us, now);
    tally_free_unused(t);
}

/* ---- waiting ---- */

static bool owes_too_much(struct tally *t)
{
    if (is_alone(t->server, t))
        return false;
    pay(t, clock_mono_us());
    return t->debt_us > SHARE_BURST_US;
}

uint64_t share_wait_ms(struct http_conn *c)
{
    struct tally *t = c->tally;
    return t && owes_too_much(t) ? ms_until(t, SHARE_BURST_US) : 0;
}

static void wait_in(struct http_conn *c, struct list_node *queue)
{
    struct tally *t = c->tally;
    assert(!share_is_waiting(c));
    c->has_turn = false; /* it had time, but no place: more input must not start it now */
    list_push(queue, &c->waits);
    if (queue == &t->waiting && !timer_active(&t->turn))
        timer_start(&t->turn, ms_until(t, SHARE_BURST_US));
}

/* A connection that on_turn has chosen passes once. Others also wait behind connections that wait
 * already, so that the order of arrival is kept. */
static bool waits_for_time(struct http_conn *c, struct tally *t)
{
    if (c->has_turn) {
        c->has_turn = false;
        return false;
    }
    if (list_empty(&t->waiting) && !owes_too_much(t))
        return false;
    wait_in(c, &t->waiting);
    return true;
}

bool share_head_waits(struct http_conn *c)
{
    struct tally *t = party_of(c);
    if (share_is_waiting(c)) /* more input arrived while it waits */
        return true;
    share_note(c);
    return t && waits_for_time(c, t);
}

bool share_request_waits(struct http_conn *c)
{
    struct tally *t = party_of(c);
    share_note(c);
    if (!t)
        return false;
    if (!c->req->pub.is_long && t->nunder_way >= HTTP_UNDER_WAY_MAX) {
        wait_in(c, &t->ready);
        return true;
    }
    return waits_for_time(c, t);
}

static void share_go_on(struct http_conn *c)
{
    list_del(&c->waits);
    c->has_turn = true;
    conn_resume(c);
}

/* Whether a complete request can start now. */
static bool has_room(const struct tally *t)
{
    return !list_empty(&t->ready) && t->nunder_way < HTTP_UNDER_WAY_MAX;
}

/* Lets waiting connections continue until the debt is too high again. Complete requests go first,
 * because their bodies hold memory. Handlers may close any connection of the party: nheld keeps
 * the tally. */
static void on_turn(void *ctx)
{
    struct tally *t = ctx;
    t->nheld++;
    while ((has_room(t) || !list_empty(&t->waiting)) && !owes_too_much(t)) {
        struct list_node *from = has_room(t) ? &t->ready : &t->waiting;
        share_go_on(LIST_ENTRY(from->next, struct http_conn, waits));
    }
    if (has_room(t) || !list_empty(&t->waiting))
        timer_start(&t->turn, ms_until(t, SHARE_BURST_US));
    t->nheld--;
    tally_free_unused(t);
}

void share_enter(struct request *r)
{
    struct http_conn *c = r->pub.conn;
    struct tally *t = party_of(c);
    if (!t || !t->is_person || r->pub.is_long)
        return;
    r->payer = t;
    t->nunder_way++;
}

void share_leave(struct request *r)
{
    struct tally *t = r->payer;
    r->payer = NULL;
    if (!t)
        return;
    assert(t->nunder_way > 0);
    t->nunder_way--;
    if (has_room(t) && !timer_active(&t->turn))
        timer_start(&t->turn, 0);
    tally_free_unused(t);
}

/* ---- life ---- */

void share_init(struct tally *t)
{
    list_init(&t->waiting);
    list_init(&t->ready);
    t->paid_us = clock_mono_us();
    timer_init(&t->turn, t->server->loop, on_turn, t);
}

void share_done(struct tally *t)
{
    timer_stop(&t->turn);
}

/* A party cannot get rid of its debt by closing all its connections. */
bool share_is_owing(struct tally *t)
{
    if (t->nheld > 0 || t->nunder_way > 0 || t == t->server->payer)
        return true;
    pay(t, clock_mono_us());
    if (t->debt_us <= SHARE_BURST_US || t->server->is_stopping)
        return false;
    if (!timer_active(&t->turn))
        timer_start(&t->turn, ms_until(t, SHARE_BURST_US));
    return true;
}
