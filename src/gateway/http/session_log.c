#include "gateway/http/session_log.h"

#include <assert.h>

#include "gateway/http/stream.h"

#define EVENT_ID_MAX 48

struct gw_log *gw_log_new(struct gw_session *s)
{
    struct gw_log *l = xcalloc(1, sizeof *l);
    l->session = s;
    l->number = s->next_log++;
    list_init(&l->events);
    list_push(&s->logs, &l->node);
    s->nlogs++;
    return l;
}

static void drop_first(struct gw_log *l)
{
    struct gw_event *e = LIST_ENTRY(list_pop(&l->events), struct gw_event, node);
    assert(l->nevents > 0 && l->session->log_bytes >= e->n);
    l->session->log_bytes -= e->n;
    l->nevents--;
    free(e);
}

void gw_log_free(struct gw_log *l)
{
    if (l->reader)
        gw_stream_close(l->reader);
    while (l->nevents > 0)
        drop_first(l);
    assert(l->session->nlogs > 0 && list_empty(&l->events));
    list_del(&l->node);
    l->session->nlogs--;
    free(l);
}

static bool is_log_over(const struct gw_log *l)
{
    return l->pending == 0 && l != l->session->general;
}

/* Drop logs that have ended before events of logs that have not. */
static void make_room_in_logs(struct gw_session *s, const struct gw_log *keep, size_t n)
{
    LIST_EACH (l, &s->logs, struct gw_log, node) {
        bool is_full = s->log_bytes + n > GW_LOG_BYTES_MAX || s->nlogs > GW_LOGS_MAX;
        if (is_full && l != keep && is_log_over(l) && !l->reader)
            gw_log_free(l);
    }
    LIST_EACH (l, &s->logs, struct gw_log, node) {
        while (l->nevents > 0 &&
               (s->log_bytes + n > GW_LOG_BYTES_MAX || l->nevents >= GW_LOG_EVENTS_MAX))
            drop_first(l);
    }
}

static void send_event(struct gw_log *l, const struct gw_event *e)
{
    char id[EVENT_ID_MAX];
    snprintf(id, sizeof id, "%u-%llu", l->number, (unsigned long long)e->seq);
    gw_stream_send(l->reader, e->n > 0 ? STR("message") : STR_NONE, str_from(id),
                   str_make(e->text, e->n));
    l->read_seq = e->seq;
}

void gw_log_add(struct gw_log *l, str message)
{
    struct gw_session *s = l->session;
    make_room_in_logs(s, l, message.n);
    struct gw_event *e = xcalloc(1, sizeof *e + message.n);
    e->seq = ++l->seq;
    e->n = message.n;
    if (message.n > 0)
        memcpy(e->text, message.p, message.n);
    list_push(&l->events, &e->node);
    l->nevents++;
    s->log_bytes += e->n;
    if (l->reader)
        send_event(l, e);
}

void gw_log_over(struct gw_log *l)
{
    assert(l->pending > 0);
    if (--l->pending == 0 && l->reader)
        gw_stream_close(l->reader);
}

void gw_log_attach(struct gw_log *l, struct http_req *r)
{
    if (l->reader)
        gw_stream_close(l->reader);
    assert(!l->reader); /* a log has one reader */
    l->reader = gw_stream_open(l->session->g, r, l == l->session->general);
    l->reader->log = l;
    /* The first event has only an id, so that even a stream that breaks immediately can be resumed.
     * Clients of older revisions would reject such an event as a broken message. */
    if (l->seq == 0 && gw_session_is(l->session, "2025-11-25")) {
        gw_log_add(l, STR_NONE);
        sse_send_retry(l->reader->sse, GW_RETRY_MS);
    }
}

static struct gw_log *session_log_find(struct gw_session *s, str id, uint64_t *ret_seq)
{
    str number, rest = id;
    uint64_t n;
    if (!str_split(&rest, '-', &number) || parse_u64(number, &n) < 0 ||
        parse_u64(rest, ret_seq) < 0)
        return NULL;
    LIST_EACH (l, &s->logs, struct gw_log, node)
        if (l->number == n)
            return l;
    return NULL;
}

void gw_log_read(struct gw_session *s, struct http_req *r, str last_id)
{
    uint64_t seen = 0;
    struct gw_log *l = session_log_find(s, last_id, &seen);
    if (!l) {
        l = s->general;
        seen = l->read_seq; /* first the events that no reader has received */
    }
    http_add_header(r, "Mcp-Session-Id", str_from(s->id));
    gw_log_attach(l, r);
    LIST_EACH (e, &l->events, struct gw_event, node)
        if (e->seq > seen && e->n > 0 && l->reader)
            send_event(l, e);
    if (is_log_over(l) && l->reader)
        gw_stream_close(l->reader);
}
