#include "auth/oidc/flow.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "auth/session/token.h"
#include "base/bytes/base64.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/list.h"
#include "base/map.h"
#include "store/postgres/database.h"

#define FLOW_MS        (10 * 60 * 1000)
#define FLOW_INTERVAL  "interval '10 minutes'"
#define DOCUMENT_BYTES (32u * 1024)

struct kept_flow {
    struct list_node node;
    struct arena arena;
    struct login_flow flow;
    uint64_t until_ms;
};

struct login_flows {
    struct database *db; /* NULL: in memory */
    struct map flows;    /* state -> struct kept_flow */
    struct list_node by_age;
};

static str secret_in(struct arena *a)
{
    char secret[SECRET_CHARS + 1];
    secret_make(secret);
    str copy = arena_str(a, str_from(secret));
    explicit_bzero(secret, sizeof secret);
    return copy;
}

struct login_flow flow_make(struct arena *a, str redirect_uri, str return_to, str *ret_cookie)
{
    struct login_flow f = {
        .state = secret_in(a),
        .nonce = secret_in(a),
        .verifier = secret_in(a),
        .redirect_uri = arena_str(a, redirect_uri),
        .return_to = arena_str(a, return_to),
    };
    *ret_cookie = secret_in(a);
    sha256(*ret_cookie, f.cookie_hash);
    return f;
}

static struct login_flow flow_copy(struct arena *a, const struct login_flow *f)
{
    struct login_flow copy = *f;
    str *const texts[] = {&copy.state, &copy.nonce, &copy.verifier, &copy.redirect_uri,
                          &copy.return_to};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        *texts[i] = arena_str(a, *texts[i]);
    return copy;
}

/* ---- in memory ---- */

static void drop_flow(struct login_flows *f, struct kept_flow *k)
{
    map_del(&f->flows, k->flow.state);
    list_del(&k->node);
    arena_done(&k->arena);
    free(k);
}

static void drop_old_flows(struct login_flows *f)
{
    uint64_t now = clock_mono_ms();
    LIST_EACH (k, &f->by_age, struct kept_flow, node) {
        if (k->until_ms > now && map_len(&f->flows) < OIDC_FLOWS_MAX)
            break;
        drop_flow(f, k);
    }
}

static void keep_here(struct login_flows *f, const struct login_flow *flow)
{
    drop_old_flows(f);
    struct kept_flow *k = xcalloc(1, sizeof *k);
    arena_init(&k->arena);
    k->flow = flow_copy(&k->arena, flow);
    k->until_ms = clock_mono_ms() + FLOW_MS;
    map_put(&f->flows, k->flow.state, k);
    assert(map_len(&f->flows) <= OIDC_FLOWS_MAX);
    list_push(&f->by_age, &k->node);
}

static bool take_here(struct login_flows *f, struct arena *a, str state, struct login_flow *ret)
{
    struct kept_flow *k = map_get(&f->flows, state);
    if (!k)
        return false;
    bool is_valid = clock_mono_ms() < k->until_ms;
    *ret = flow_copy(a, &k->flow);
    drop_flow(f, k);
    return is_valid;
}

/* ---- in the table ---- */

struct flow_call {
    struct arena arena;
    char hash[SHA256_HEX_LEN + 1];
    str document;
    bool is_found;
};

static str flow_text(struct arena *a, const struct login_flow *f)
{
    char hash[2 * SHA256_LEN + 1];
    struct json_writer w;
    struct buf b;
    hex_encode(hash, f->cookie_hash, SHA256_LEN);
    jw_start(&w, &b, DOCUMENT_BYTES);
    jw_object(&w);
    jw_kstr(&w, "nonce", f->nonce);
    jw_kstr(&w, "verifier", f->verifier);
    jw_kstr(&w, "redirectUri", f->redirect_uri);
    jw_kstr(&w, "returnTo", f->return_to);
    jw_kstr(&w, "cookie", str_make(hash, 2 * SHA256_LEN));
    jw_close(&w);
    return buf_keep(&b, a);
}

static bool flow_read(struct arena *a, str state, str text, struct login_flow *ret)
{
    struct json *doc;
    if (json_parse(a, text, JSON_COPY, &doc, NULL) < 0 || !json_is(doc, JSON_OBJECT))
        return false;
    str hash = json_get_string(doc, "cookie");
    *ret = (struct login_flow){
        .state = state,
        .nonce = json_get_string(doc, "nonce"),
        .verifier = json_get_string(doc, "verifier"),
        .redirect_uri = json_get_string(doc, "redirectUri"),
        .return_to = json_get_string(doc, "returnTo"),
    };
    return hash.n == 2 * SHA256_LEN && ret->nonce.n > 0 && ret->verifier.n > 0 &&
           hex_decode(ret->cookie_hash, SHA256_LEN, hash) == 0;
}

static int put_row(struct pg_conn *c, void *ctx, struct err *e)
{
    struct flow_call *x = ctx;
    struct pg_params p;
    pg_params_init(&p, &x->arena);
    pg_text(&p, str_from(x->hash));
    pg_text(&p, x->document);
    struct pg_query q[] = {{.sql = "DELETE FROM nb_login WHERE state IN (SELECT state FROM nb_login"
                                   " WHERE until < now() LIMIT 1000 FOR UPDATE SKIP LOCKED)"},
                           {.sql = "INSERT INTO nb_login (state, document, until) VALUES ($1, $2,"
                                   " now() + " FLOW_INTERVAL ") ON CONFLICT (state) DO NOTHING",
                            .params = &p}};
    int r = pg_conn_run(c, q, ARRAY_LEN(q), e);
    pg_clear(c, q, ARRAY_LEN(q));
    return r;
}

/* A connection that is lost after the row was taken costs the person another attempt. */
static int take_row(struct pg_conn *c, void *ctx, struct err *e)
{
    struct flow_call *x = ctx;
    struct pg_params p;
    pg_params_init(&p, &x->arena);
    pg_text(&p, str_from(x->hash));
    struct pg_query q = {
        .sql = "DELETE FROM nb_login WHERE state = $1 RETURNING document, until > now()",
        .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    x->is_found = r == 0 && pg_rows(c, &q) > 0 && pg_get_bool(c, &q, 0, 1);
    if (x->is_found)
        x->document = arena_str(&x->arena, pg_get_text(c, &q, 0, 0));
    pg_clear(c, &q, 1);
    return r;
}

/* -EHOSTUNREACH is about the provider. */
static int call_table(struct login_flows *f, database_fn fn, struct flow_call *x, struct err *e)
{
    int r = database_read(f->db, fn, x, e);
    return r == -EHOSTUNREACH
               ? err_set(e, -ENOTCONN, "logins cannot be stored now; try again in a few seconds")
               : r;
}

/* ---- either ---- */

struct login_flows *flows_new(void)
{
    struct login_flows *f = xcalloc(1, sizeof *f);
    map_init(&f->flows);
    list_init(&f->by_age);
    return f;
}

struct login_flows *flows_new_shared(struct database *db)
{
    struct login_flows *f = flows_new();
    f->db = db;
    return f;
}

void flows_free(struct login_flows *f)
{
    if (!f)
        return;
    LIST_EACH (k, &f->by_age, struct kept_flow, node)
        drop_flow(f, k);
    map_done(&f->flows);
    free(f);
}

bool flows_block(const struct login_flows *f)
{
    return f->db != NULL;
}

int flows_keep(struct login_flows *f, const struct login_flow *flow, struct err *e)
{
    struct flow_call x = {0};
    if (!f->db) {
        keep_here(f, flow);
        return 0;
    }
    arena_init(&x.arena);
    sha256_hex(flow->state, x.hash);
    x.document = flow_text(&x.arena, flow);
    int r = call_table(f, put_row, &x, e);
    arena_done(&x.arena);
    return r;
}

int flows_take(struct login_flows *f, struct arena *a, str state, struct login_flow *ret,
               struct err *e)
{
    struct flow_call x = {0};
    if (!f->db)
        return take_here(f, a, state, ret) ? 0 : err_set(e, -ENOENT, FLOW_IS_GONE);
    arena_init(&x.arena);
    sha256_hex(state, x.hash);
    int r = call_table(f, take_row, &x, e);
    if (r == 0 && !(x.is_found && flow_read(a, state, x.document, ret)))
        r = err_set(e, -ENOENT, FLOW_IS_GONE);
    arena_done(&x.arena);
    return r;
}
