#include "store/database/pg_conn.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"

/* ---- waiting ---- */

/* False: the time is up, or the socket is broken. */
static bool wait_for(const struct pg_conn *c, short events, uint64_t deadline_ms)
{
    struct pollfd p = {.fd = c->api->socket(c->pq), .events = events};
    for (;;) {
        uint64_t now = clock_mono_ms();
        if (p.fd < 0 || now >= deadline_ms)
            return false;
        int r = poll(&p, 1, (int)(deadline_ms - now));
        if (r > 0)
            return true;
        if (r < 0 && errno != EINTR)
            return false;
    }
}

static int fail_lost(struct pg_conn *c, const char *doing, struct err *e)
{
    struct arena a;
    c->is_lost = true;
    arena_init(&a);
    str why = pg_error_text(&a, c->secrets, c->api->errorMessage(c->pq));
    int r = err_set(e, -EHOSTUNREACH, "the database cannot be reached: %s (%.*s)", doing,
                    STR_ARG(why.n > 0 ? why : STR("no answer in time")));
    arena_done(&a);
    return r;
}

/* ---- connecting ---- */

static void ignore_notice(void *ctx, const char *message)
{
    (void)ctx;
    (void)message;
}

static int connect_wait(struct pg_conn *c, uint64_t deadline_ms)
{
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    while (next != PGRES_POLLING_OK) {
        if (next == PGRES_POLLING_FAILED ||
            !wait_for(c, next == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline_ms))
            return -EHOSTUNREACH;
        next = c->api->connectPoll(c->pq);
    }
    return 0;
}

/* Everything before dbname is a default that the address may override; the rest may not. */
static PGconn *connect_start(const struct pg_address *to)
{
    const char *keys[] = {"target_session_attrs", "keepalives_idle",  "keepalives_interval",
                          "keepalives_count",     "tcp_user_timeout", "dbname",
                          "application_name",     "client_encoding",  NULL};
    const char *values[] = {to->is_read_only ? "any" : "read-write",
                            "10",
                            "5",
                            "3",
                            "25000",
                            to->url && *to->url ? to->url : "",
                            to->application,
                            "UTF8",
                            NULL};
    return to->api->connectStartParams(keys, values, 1);
}

/* libpq asks for a password in its own words; nb cannot ask anybody. */
static int fail_connect(struct pg_conn *c, struct err *e)
{
    struct arena a;
    arena_init(&a);
    str why = pg_error_text(&a, c->secrets, c->api->errorMessage(c->pq));
    bool is_refused = str_find(why, STR("authentication failed"), 0) >= 0 ||
                      str_find(why, STR("no password supplied"), 0) >= 0 ||
                      str_find(why, STR("does not exist"), 0) >= 0 ||
                      str_find(why, STR("pg_hba.conf"), 0) >= 0;
    int r = err_set(e, is_refused ? -EACCES : -EHOSTUNREACH, "cannot connect to the database: %.*s",
                    STR_ARG(why));
    arena_done(&a);
    return r;
}

/* A wrong address is reported without quoting it: nobody knows which part is the password. */
static int check_address(const struct pg_address *to, struct err *e)
{
    char *message = NULL;
    if (!to->url || !*to->url)
        return 0;
    PQconninfoOption *parsed = to->api->conninfoParse(to->url, &message);
    to->api->freemem(message);
    if (!parsed)
        return err_set(e, -EINVAL,
                       "store.url is not an address such as postgresql://user@host:5432/database; "
                       "characters such as @, / and %% in a password must be written as %%40, %%2F "
                       "and %%25");
    to->api->conninfoFree(parsed);
    return 0;
}

int pg_conn_open(const struct pg_address *to, struct pg_conn **ret, struct err *e)
{
    uint64_t deadline = clock_mono_ms() + PG_CONNECT_MS;
    int r = check_address(to, e);
    if (r < 0)
        return r;
    struct pg_conn *c = xcalloc(1, sizeof *c);
    c->api = to->api;
    c->secrets = to->secrets;
    c->pq = connect_start(to);
    if (!c->pq || c->api->status(c->pq) == CONNECTION_BAD || connect_wait(c, deadline) < 0) {
        r = c->pq ? fail_connect(c, e) : err_set(e, -ENOMEM, "cannot make a connection");
        pg_conn_close(c);
        return r;
    }
    c->api->setNoticeProcessor(c->pq, ignore_notice, NULL);
    if (c->api->setnonblocking(c->pq, 1) < 0 || !c->api->enterPipelineMode(c->pq)) {
        r = fail_lost(c, "setting up", e);
        pg_conn_close(c);
        return r;
    }
    *ret = c;
    return 0;
}

void pg_conn_close(struct pg_conn *c)
{
    if (!c)
        return;
    if (c->pq)
        c->api->finish(c->pq);
    free(c);
}

/* ---- sending ---- */

static void statement_name(size_t place, char out[16])
{
    (void)snprintf(out, 16, "nb_%zu", place);
}

/* The place of a statement, which is prepared first if this connection does not know it; -1: it
 * cannot be sent. */
static int place_of(struct pg_conn *c, const char *sql)
{
    char name[16];
    for (size_t i = 0; i < c->nprepared; i++)
        if (c->prepared[i] == sql)
            return (int)i;
    assert(c->nprepared < PG_STATEMENTS);
    statement_name(c->nprepared, name);
    if (!c->api->sendPrepare(c->pq, name, sql, 0, NULL))
        return -1;
    c->prepared[c->nprepared] = sql;
    return (int)c->nprepared++;
}

static bool send_query(struct pg_conn *c, const struct pg_query *q, bool *ret_is_prepared)
{
    static const struct pg_params NONE;
    const struct pg_params *p = q->params ? q->params : &NONE;
    char name[16];
    size_t before = c->nprepared;
    *ret_is_prepared = false;
    if (q->is_once)
        return c->api->sendQueryParams(c->pq, q->sql, p->n, NULL, p->values, p->lengths, p->formats,
                                       1) == 1;
    int place = place_of(c, q->sql);
    if (place < 0)
        return false;
    *ret_is_prepared = c->nprepared > before;
    statement_name((size_t)place, name);
    return c->api->sendQueryPrepared(c->pq, name, p->n, p->values, p->lengths, p->formats, 1) == 1;
}

/* Results that come while the statements are still being sent are read too, or both sides would
 * wait for each other. */
static bool flush_all(struct pg_conn *c, uint64_t deadline_ms)
{
    int r;
    while ((r = c->api->flush(c->pq)) == 1) {
        if (!wait_for(c, POLLIN | POLLOUT, deadline_ms) || !c->api->consumeInput(c->pq))
            return false;
    }
    return r == 0;
}

/* ---- receiving ---- */

/* False: the connection is lost. *ret NULL: the end of the results of one statement. */
static bool next_result(struct pg_conn *c, uint64_t deadline_ms, PGresult **ret)
{
    while (c->api->isBusy(c->pq))
        if (!wait_for(c, POLLIN, deadline_ms) || !c->api->consumeInput(c->pq))
            return false;
    *ret = c->api->getResult(c->pq);
    return true;
}

static bool is_good(ExecStatusType s)
{
    return s == PGRES_TUPLES_OK || s == PGRES_COMMAND_OK;
}

static int fail_statement(const struct pg_conn *c, const PGresult *r, struct err *e)
{
    struct arena a;
    const char *state = c->api->resultErrorField(r, PG_DIAG_SQLSTATE);
    const char *message = c->api->resultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
    arena_init(&a);
    str text = pg_error_text(&a, c->secrets, message ? message : "no message");
    int code = pg_error_code(state);
    if (code == -ENODATA)
        err_set(e, code, "the database has no tables of nb yet; run: nb store init");
    else
        err_set(e, code, "the database reports: %.*s (%s)", STR_ARG(text), state ? state : "?");
    arena_done(&a);
    return code;
}

/* The results of one statement, which end with NULL; keeps the first. */
static bool take_results(struct pg_conn *c, uint64_t deadline_ms, PGresult **keep, int *code,
                         struct err *e)
{
    PGresult *r;
    for (;;) {
        if (!next_result(c, deadline_ms, &r))
            return false;
        if (!r)
            return true;
        ExecStatusType s = c->api->resultStatus(r);
        if (s == PGRES_FATAL_ERROR && *code == 0)
            *code = fail_statement(c, r, e);
        if (keep && !*keep && is_good(s))
            *keep = r;
        else
            c->api->clear(r);
    }
}

static bool take_sync(struct pg_conn *c, uint64_t deadline_ms)
{
    PGresult *r;
    if (!next_result(c, deadline_ms, &r) || !r)
        return false;
    bool is_sync = c->api->resultStatus(r) == PGRES_PIPELINE_SYNC;
    c->api->clear(r);
    return is_sync;
}

struct sending {
    bool *prepared; /* which queries have a PREPARE in front */
    size_t known;   /* statements that were prepared before */
};

static bool send_all(struct pg_conn *c, const struct pg_query *q, size_t n, struct sending *s,
                     uint64_t deadline_ms)
{
    for (size_t i = 0; i < n; i++)
        if (!send_query(c, &q[i], &s->prepared[i]))
            return false;
    return c->api->pipelineSync(c->pq) && flush_all(c, deadline_ms);
}

/* The server may have broken the connection with a message (it shuts down): that message is the
 * error, and nothing more can be sent. */
static int run_pipeline(struct pg_conn *c, struct pg_query *q, size_t n, struct sending *s,
                        struct err *e)
{
    uint64_t deadline = clock_mono_ms() + PG_RUN_MS;
    int code = 0;
    bool is_alive = send_all(c, q, n, s, deadline);
    for (size_t i = 0; is_alive && i < n; i++) {
        if (s->prepared[i])
            is_alive = take_results(c, deadline, NULL, &code, e);
        is_alive = is_alive && take_results(c, deadline, &q[i].result, &code, e);
    }
    is_alive = is_alive && take_sync(c, deadline);
    if (!is_alive || c->api->status(c->pq) == CONNECTION_BAD)
        return fail_lost(c, "the connection was lost", e);
    if (code == -EHOSTUNREACH)
        c->is_lost = true; /* a standby, or a server that stops: connect again */
    if (code < 0)
        c->nprepared = s->known; /* what came after the error was not prepared */
    return code;
}

/* A statement that was prepared in front of the error exists under a name that will be used
 * again, so the names of a failed run are given up together. */
static void forget_prepared(struct pg_conn *c)
{
    struct pg_query all = {.sql = "DEALLOCATE ALL", .is_once = true};
    struct pg_query back = {.sql = "ROLLBACK", .is_once = true};
    bool prepared[1];
    struct sending s = {.prepared = prepared};
    struct err ignored;
    if (run_pipeline(c, &back, 1, &s, &ignored) == 0 && run_pipeline(c, &all, 1, &s, &ignored) == 0)
        c->nprepared = 0;
    else
        c->is_lost = true;
    pg_clear(c, &back, 1);
    pg_clear(c, &all, 1);
}

int pg_conn_run(struct pg_conn *c, struct pg_query *q, size_t n, struct err *e)
{
    bool prepared[32];
    struct sending s = {.prepared = prepared, .known = c->nprepared};
    assert(n > 0 && n <= ARRAY_LEN(prepared));
    if (c->is_lost)
        return err_set(e, -EHOSTUNREACH, "the connection to the database was lost");
    for (size_t i = 0; i < n; i++)
        q[i].result = NULL;
    int r = run_pipeline(c, q, n, &s, e);
    if (r < 0 && !c->is_lost)
        forget_prepared(c);
    if (r < 0)
        pg_clear(c, q, n);
    return r;
}

void pg_clear(const struct pg_conn *c, struct pg_query *q, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (q[i].result)
            c->api->clear(q[i].result);
        q[i].result = NULL;
    }
}

/* ---- results ---- */

int pg_rows(const struct pg_conn *c, const struct pg_query *q)
{
    return q->result ? c->api->ntuples(q->result) : 0;
}

str pg_get_text(const struct pg_conn *c, const struct pg_query *q, int row, int column)
{
    return str_make(c->api->getvalue(q->result, row, column),
                    (size_t)c->api->getlength(q->result, row, column));
}

int64_t pg_get_int(const struct pg_conn *c, const struct pg_query *q, int row, int column)
{
    str raw = pg_get_text(c, q, row, column);
    uint64_t wide;
    uint32_t narrow;
    if (raw.n == sizeof wide) {
        memcpy(&wide, raw.p, sizeof wide);
        return (int64_t)be64toh(wide);
    }
    if (raw.n != sizeof narrow)
        return 0;
    memcpy(&narrow, raw.p, sizeof narrow);
    return (int32_t)be32toh(narrow);
}

bool pg_get_bool(const struct pg_conn *c, const struct pg_query *q, int row, int column)
{
    str raw = pg_get_text(c, q, row, column);
    return raw.n == 1 && raw.p[0] != 0;
}

bool pg_is_null(const struct pg_conn *c, const struct pg_query *q, int row, int column)
{
    return c->api->getisnull(q->result, row, column) != 0;
}

str pg_command_tag(const struct pg_conn *c, const struct pg_query *q)
{
    return q->result ? str_from(c->api->cmdStatus(q->result)) : STR_NONE;
}
