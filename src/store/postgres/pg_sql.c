/* pg_sql.c - the statements of a batch.
 *
 * Each takes arrays, one element for a conversation or a line, so that a batch needs the same few
 * statements whether it has one conversation or two hundred. */
#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "store/postgres/pg_batch.h"
#include "store/postgres/pg_store.h"

enum { NOTIFY_MAX = 7900, NOTIFY_FULL = 7000, SEPARATOR = 0x1f };

/* ---- the columns of a conversation ---- */

struct columns { /* one element for each group */
    int64_t *keys, *expected, *last, *number, *epoch;
    str *workspace, *id, *created, *updated, *owner, *participants, *title, *preview, *summary;
    bool *is_shared, *is_sealed, *is_hidden, *is_fresh_id;
    size_t n;
};

static void columns_init(struct columns *k, struct arena *a, size_t n)
{
    int64_t **numbers[] = {&k->keys, &k->expected, &k->last, &k->number, &k->epoch};
    str **texts[] = {&k->workspace,    &k->id,    &k->created, &k->updated, &k->owner,
                     &k->participants, &k->title, &k->preview, &k->summary};
    bool **flags[] = {&k->is_shared, &k->is_sealed, &k->is_hidden, &k->is_fresh_id};
    k->n = 0;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        *numbers[i] = arena_array(a, n + 1, sizeof(int64_t));
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        *texts[i] = arena_array(a, n + 1, sizeof(str));
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        *flags[i] = arena_array(a, n + 1, sizeof(bool));
}

static str join_people(struct arena *a, const struct json_strs *people)
{
    struct buf b;
    buf_init(&b, 16u << 20);
    for (size_t i = 0; i < people->len; i++) {
        if (i > 0)
            buf_add_char(&b, SEPARATOR);
        buf_add_str(&b, pg_column_text(a, people->items[i]));
    }
    return buf_keep(&b, a);
}

static void columns_add(struct columns *k, struct arena *a, size_t number, const struct pg_group *g)
{
    const struct derive *d = &g->conv->derived.derive;
    const struct conv *c = &d->conv;
    str updated = arena_str(a, str_from(d->updated_at));
    size_t i = k->n++;
    k->number[i] = (int64_t)number;
    k->keys[i] = g->key;
    k->epoch[i] = g->epoch;
    k->expected[i] = g->expected;
    k->last[i] = g->expected + (int64_t)g->nlines;
    k->workspace[i] = pg_workspace(g->store);
    k->id[i] = g->id;
    k->created[i] = c->created_at.n ? c->created_at : updated;
    k->updated[i] = updated;
    k->owner[i] = pg_column_text(a, c->acl.owner_id);
    k->participants[i] = join_people(a, &c->acl.participants);
    k->title[i] = pg_column_text(a, c->title);
    k->preview[i] = pg_column_text(a, c->preview);
    k->summary[i] = g->summary;
    k->is_shared[i] = c->acl.is_shared;
    k->is_sealed[i] = c->acl.is_sealed;
    k->is_hidden[i] = c->is_hidden;
    k->is_fresh_id[i] = g->is_fresh_id;
}

struct line_rows { /* one element for each line; `group` is the number of its group */
    int64_t *group, *seq;
    str *line;
    size_t n;
    /* those with text, again */
    int64_t *text_group, *text_seq, *text_ms;
    str *words;
    size_t ntexts;
};

static void line_rows_init(struct line_rows *l, struct arena *a, size_t n)
{
    int64_t **numbers[] = {&l->group, &l->seq, &l->text_group, &l->text_seq, &l->text_ms};
    l->n = l->ntexts = 0;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        *numbers[i] = arena_array(a, n + 1, sizeof(int64_t));
    l->line = arena_array(a, n + 1, sizeof(str));
    l->words = arena_array(a, n + 1, sizeof(str));
}

static void add_text_row(struct line_rows *k, const struct pg_group *g, size_t i)
{
    if (!g->has_text || !g->has_text[i])
        return;
    k->text_group[k->ntexts] = k->group[k->n];
    k->text_seq[k->ntexts] = k->seq[k->n];
    k->text_ms[k->ntexts] = g->texts[i].at_ms;
    k->words[k->ntexts++] = g->texts[i].words;
}

static void add_line_rows(struct line_rows *k, size_t number, const struct pg_group *g)
{
    for (size_t i = 0; i < g->nlines; i++, k->n++) {
        k->group[k->n] = (int64_t)number;
        k->seq[k->n] = g->expected + 1 + (int64_t)i;
        k->line[k->n] = g->lines[i];
        add_text_row(k, g, i);
    }
}

/* ---- loading ---- */

static int use_row(struct pg_conn *c, const struct pg_batch *b, struct pg_group *g, int64_t key,
                   int64_t last, str summary, struct err *e)
{
    struct pg_cached *conv = pg_cache_add(b->db, g->store, g->id);
    conv->key = key;
    conv->last = last;
    g->conv = conv;
    if (pg_summary_read(&conv->derived, summary, (store_pos)last) == 0)
        return 0;
    pg_derive_done(&conv->derived);
    pg_derive_init(&conv->derived, g->store->env);
    int r = pg_derive_log(c, key, &conv->derived, e);
    if (r < 0) {
        g->conv = NULL;
        pg_cache_drop(b->db, g->store, g->id);
    }
    return r;
}

int pg_sql_load(struct pg_conn *c, struct pg_batch *b, struct err *e)
{
    static const char LOAD[] =
        "SELECT w.no, c.key, c.last, c.summary"
        " FROM unnest($1::bigint[], $2::text[], $3::text[]) AS w(no, workspace, id)"
        " JOIN nb_conversation c ON c.workspace = w.workspace AND c.id = w.id AND c.deleted_ms = 0";
    struct columns k;
    struct pg_params p;
    columns_init(&k, &b->arena, b->ngroups);
    for (size_t i = 0; i < b->ngroups; i++) {
        struct pg_group *g = &b->groups[i];
        if (g->is_settled || g->conv || g->is_new)
            continue;
        k.number[k.n] = (int64_t)i;
        k.workspace[k.n] = pg_workspace(g->store);
        k.id[k.n++] = g->id;
    }
    if (k.n == 0)
        return 0;
    pg_params_init(&p, &b->arena);
    pg_ints(&p, k.number, k.n);
    pg_texts(&p, k.workspace, k.n);
    pg_texts(&p, k.id, k.n);
    struct pg_query q = {.sql = LOAD, .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    for (int i = 0; r == 0 && i < pg_rows(c, &q); i++) {
        size_t no = (size_t)pg_get_int(c, &q, i, 0);
        assert(no < b->ngroups);
        r = use_row(c, b, &b->groups[no], pg_get_int(c, &q, i, 1), pg_get_int(c, &q, i, 2),
                    pg_get_text(c, &q, i, 3), e);
    }
    pg_clear(c, &q, 1);
    return r;
}

/* ---- the transaction ---- */

/* Words of a text that has too many are NULL: such a line is always a candidate. */
#define TEXTS(group, seq, at, words, rows)                                                         \
    " texts AS (INSERT INTO nb_text (conversation, seq, at_ms, words) SELECT r.key, t.seq, t.at,"  \
    " CASE WHEN t.words = '' THEN NULL ELSE array_to_tsvector(string_to_array(t.words, ' ')) END"  \
    " FROM unnest(" group "::bigint[], " seq "::bigint[], " at "::bigint[], " words                \
    "::text[]) AS t(no, seq, at, words) JOIN " rows " r ON r.no = t.no RETURNING 1)"

/* An id in the trash is taken. A row that a concurrent transaction moves to the trash, or back, is
 * in this snapshot in one of both places. */
static const char CREATE[] =
    "WITH w AS (SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[],"
    " $5::text[], $6::text[], $7::text[], $8::boolean[], $9::boolean[], $10::boolean[],"
    " $11::text[], $12::text[], $13::text[], $14::text[], $22::boolean[]) AS t(no, workspace, id,"
    " last, created_at, updated_at, owner_id, is_shared, is_sealed, is_hidden, participants, title,"
    " preview, summary, is_fresh_id)),"
    " won AS (INSERT INTO nb_conversation (workspace, id, last, created_at, updated_at, owner_id,"
    " is_shared, is_sealed, is_hidden, participants, title, preview, summary)"
    " SELECT workspace, id, last, created_at, updated_at, owner_id, is_shared, is_sealed,"
    " is_hidden, string_to_array(participants, chr(31)), title, preview, summary FROM w"
    " WHERE is_fresh_id OR NOT EXISTS (SELECT 1 FROM nb_conversation t"
    " WHERE t.workspace = w.workspace AND t.id = w.id AND t.deleted_ms >= 0)"
    " ON CONFLICT (workspace, id, deleted_ms) DO NOTHING RETURNING key, workspace, id),"
    " made AS (SELECT w.no, won.key FROM won JOIN w ON w.workspace = won.workspace"
    " AND w.id = won.id),"
    " added AS (INSERT INTO nb_event (conversation, seq, line) SELECT made.key, e.seq, e.line"
    " FROM unnest($15::bigint[], $16::bigint[], $17::text[]) AS e(no, seq, line)"
    " JOIN made ON made.no = e.no RETURNING 1)," TEXTS("$18", "$19", "$20", "$21",
                                                       "made") " SELECT no, key FROM made";

/* What the lines have cost, if they are stored. In the order of the keys, so that two servers do
 * not wait for each other. */
#define SPENDING(group, workspace, month, user, usd, rows)                                         \
    " spent AS (INSERT INTO nb_spending AS n (workspace, month, user_id, usd) SELECT s.workspace," \
    " s.month, s.user_id, sum(s.usd::double precision) FROM unnest(" group                         \
    "::bigint[], " workspace "::text[], " month "::text[], " user "::text[], " usd                 \
    "::text[]) AS s(no, workspace, month, user_id, usd) JOIN " rows " r ON r.no = s.no"            \
    " GROUP BY 1, 2, 3 ORDER BY 1, 2, 3 ON CONFLICT (workspace, month, user_id)"                   \
    " DO UPDATE SET usd = n.usd + excluded.usd RETURNING 1)"

static const char APPEND[] =
    "WITH w AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[],"
    " $5::text[], $6::boolean[], $7::text[], $8::text[], $9::text[], $10::text[], $18::bigint[],"
    " $19::boolean[]) AS t(no, key, expected, last, updated_at, is_shared, participants, title,"
    " preview, summary, epoch, is_hidden)),"
    " won AS (UPDATE nb_conversation c SET last = w.last, updated_at = w.updated_at,"
    " is_shared = w.is_shared, is_hidden = w.is_hidden,"
    " participants = string_to_array(w.participants, chr(31)),"
    " title = w.title, preview = w.preview, summary = w.summary FROM w"
    " WHERE c.key = w.key AND c.last = w.expected AND c.deleted_ms = 0 AND (w.epoch = 0 OR"
    " EXISTS (SELECT 1 FROM nb_lease l WHERE l.epoch = w.epoch)) RETURNING w.no, c.key),"
    " added AS (INSERT INTO nb_event (conversation, seq, line) SELECT won.key, e.seq, e.line"
    " FROM unnest($11::bigint[], $12::bigint[], $13::text[]) AS e(no, seq, line)"
    " JOIN won ON won.no = e.no RETURNING 1)," TEXTS(
        "$14", "$15", "$16", "$17", "won") "," SPENDING("$20", "$21", "$22", "$23", "$24",
                                                        "won") " SELECT no, key FROM won";

static const char BLOBS[] =
    "INSERT INTO nb_blob (workspace, sha256, bytes)"
    " SELECT workspace, sha256, bytes FROM unnest($1::text[], $2::text[], $3::bytea[])"
    " AS t(workspace, sha256, bytes) ON CONFLICT (workspace, sha256) DO NOTHING";

static const char USES[] =
    "INSERT INTO nb_blob_use (conversation, workspace, sha256)"
    " SELECT c.key, w.workspace, w.sha256 FROM unnest($1::text[], $2::text[], $3::text[])"
    " AS w(workspace, id, sha256) JOIN nb_conversation c ON c.workspace = w.workspace"
    " AND c.id = w.id AND c.deleted_ms = 0 ON CONFLICT (conversation, sha256) DO NOTHING";

/* For processes that listen: which conversations have new lines. */
static const char NOTIFY[] = "SELECT pg_notify('nb', p) FROM unnest($1::text[]) AS t(p)";

static size_t count_batch_lines(const struct pg_batch *b)
{
    size_t n = 0;
    for (size_t i = 0; i < b->ngroups; i++)
        n += b->groups[i].nlines;
    return n;
}

static void collect(struct pg_batch *b, bool is_new, struct columns *k, struct line_rows *l)
{
    size_t lines = count_batch_lines(b);
    columns_init(k, &b->arena, b->ngroups);
    line_rows_init(l, &b->arena, lines);
    for (size_t i = 0; i < b->ngroups; i++) {
        const struct pg_group *g = &b->groups[i];
        if (g->is_settled || g->is_new != is_new || g->nlines == 0)
            continue;
        columns_add(k, &b->arena, i, g);
        add_line_rows(l, i, g);
    }
}

static void add_lines_params(struct pg_params *p, const struct line_rows *l)
{
    pg_ints(p, l->group, l->n);
    pg_ints(p, l->seq, l->n);
    pg_texts(p, l->line, l->n);
    pg_ints(p, l->text_group, l->ntexts);
    pg_ints(p, l->text_seq, l->ntexts);
    pg_ints(p, l->text_ms, l->ntexts);
    pg_texts(p, l->words, l->ntexts);
}

/* Both return whether there is anything to do. */
static bool create_params(struct pg_batch *b, struct pg_params *p)
{
    struct columns k;
    struct line_rows l;
    collect(b, true, &k, &l);
    pg_params_init(p, &b->arena);
    pg_ints(p, k.number, k.n);
    pg_texts(p, k.workspace, k.n);
    pg_texts(p, k.id, k.n);
    pg_ints(p, k.last, k.n);
    const str *const before[] = {k.created, k.updated, k.owner};
    for (size_t i = 0; i < ARRAY_LEN(before); i++)
        pg_texts(p, before[i], k.n);
    pg_bools(p, k.is_shared, k.n);
    pg_bools(p, k.is_sealed, k.n);
    pg_bools(p, k.is_hidden, k.n);
    const str *const after[] = {k.participants, k.title, k.preview, k.summary};
    for (size_t i = 0; i < ARRAY_LEN(after); i++)
        pg_texts(p, after[i], k.n);
    add_lines_params(p, &l);
    pg_bools(p, k.is_fresh_id, k.n);
    return k.n > 0;
}

static void add_spend_params(struct pg_batch *b, struct pg_params *p)
{
    struct arena *a = &b->arena;
    int64_t *group = arena_array(a, b->nops + 1, sizeof *group);
    str *columns[4]; /* workspace, month, user, amount */
    size_t n = 0;
    char now[CLOCK_ISO_LEN + 1];
    clock_iso(clock_now_ms(), now);
    str month = arena_str(a, str_make(now, STORE_MONTH_LEN));
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        columns[i] = arena_array(a, b->nops + 1, sizeof(str));
    for (size_t i = 0; i < b->ngroups; i++)
        for (size_t k = 0; k < b->groups[i].nops; k++) {
            const struct store_spend *x = &b->groups[i].ops[k]->spend;
            if (!(x->usd > 0) || b->groups[i].is_settled)
                continue;
            group[n] = (int64_t)i;
            columns[0][n] = pg_workspace(b->groups[i].store);
            columns[1][n] = month;
            columns[2][n] = pg_column_text(a, x->user_id.p ? x->user_id : STR(""));
            columns[3][n++] = arena_printf(a, "%.17g", x->usd);
        }
    pg_ints(p, group, n);
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        pg_texts(p, columns[i], n);
}

static bool append_params(struct pg_batch *b, struct pg_params *p)
{
    struct columns k;
    struct line_rows l;
    collect(b, false, &k, &l);
    pg_params_init(p, &b->arena);
    const int64_t *const numbers[] = {k.number, k.keys, k.expected, k.last};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        pg_ints(p, numbers[i], k.n);
    pg_texts(p, k.updated, k.n);
    pg_bools(p, k.is_shared, k.n);
    const str *const texts[] = {k.participants, k.title, k.preview, k.summary};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        pg_texts(p, texts[i], k.n);
    add_lines_params(p, &l);
    pg_ints(p, k.epoch, k.n);
    pg_bools(p, k.is_hidden, k.n);
    add_spend_params(b, p);
    return k.n > 0;
}

static void blob_params(struct pg_batch *b, struct pg_params *blobs, struct pg_params *uses)
{
    struct arena *a = &b->arena;
    str *workspace = arena_array(a, b->nblobs, sizeof(str));
    str *id = arena_array(a, b->nblobs, sizeof(str)), *sha = arena_array(a, b->nblobs, sizeof(str));
    str *bytes = arena_array(a, b->nblobs, sizeof(str));
    for (size_t i = 0; i < b->nblobs; i++) {
        workspace[i] = pg_workspace(b->blobs[i].store);
        id[i] = b->blobs[i].id;
        sha[i] = b->blobs[i].sha256;
        bytes[i] = b->blobs[i].bytes;
    }
    pg_params_init(blobs, a);
    pg_texts(blobs, workspace, b->nblobs);
    pg_texts(blobs, sha, b->nblobs);
    pg_byteas(blobs, bytes, b->nblobs);
    pg_params_init(uses, a);
    pg_texts(uses, workspace, b->nblobs);
    pg_texts(uses, id, b->nblobs);
    pg_texts(uses, sha, b->nblobs);
}

/* Notifications of kind "a" (pg_outbox.h): "workspace conversation last" for each group. */
static void notify_params(struct pg_batch *b, struct pg_params *p)
{
    struct buf text;
    str *all = arena_array(&b->arena, b->ngroups + 1, sizeof *all);
    size_t n = 0;
    buf_init(&text, NOTIFY_MAX);
    for (size_t i = 0; i < b->ngroups; i++) {
        const struct pg_group *g = &b->groups[i];
        if (g->is_settled || g->nlines == 0)
            continue;
        if (text.n > NOTIFY_FULL) {
            all[n++] = arena_str(&b->arena, buf_str(&text));
            buf_clear(&text);
        }
        if (text.n == 0)
            buf_printf(&text, "%s %zu a", b->db->replica ? b->db->replica->id : "-", n);
        buf_printf(&text, "\n%.*s %.*s %lld", STR_ARG(pg_workspace(g->store)), STR_ARG(g->id),
                   (long long)(g->expected + (int64_t)g->nlines));
    }
    assert(!buf_failed(&text)); /* ids are short (STORE_ID_MAX) */
    all[n++] = buf_keep(&text, &b->arena);
    pg_params_init(p, &b->arena);
    pg_texts(p, all, n);
}

static void take_won(const struct pg_conn *c, struct pg_batch *b, const struct pg_query *q)
{
    for (int i = 0; i < pg_rows(c, q); i++) {
        size_t no = (size_t)pg_get_int(c, q, i, 0);
        assert(no < b->ngroups);
        b->groups[no].is_won = true;
        b->groups[no].key = pg_get_int(c, q, i, 1);
    }
}

int pg_sql_commit(struct pg_conn *c, struct pg_batch *b, struct err *e)
{
    struct pg_params create, append, blobs, uses, notify;
    struct pg_query q[7 + OUTBOX_STATEMENTS] = {{.sql = "BEGIN"}};
    size_t n = 1, created = 0, appended = 0;
    if (create_params(b, &create))
        q[created = n++] = (struct pg_query){.sql = CREATE, .params = &create};
    if (b->nblobs > 0) {
        blob_params(b, &blobs, &uses);
        q[n++] = (struct pg_query){.sql = BLOBS, .params = &blobs};
        q[n++] = (struct pg_query){.sql = USES, .params = &uses};
    }
    if (append_params(b, &append))
        q[appended = n++] = (struct pg_query){.sql = APPEND, .params = &append};
    n += outbox_statements(b->db, &b->outbox, &b->arena, &q[n]);
    if ((created || appended) && atomic_load(&b->db->has_notify)) {
        notify_params(b, &notify);
        q[n++] = (struct pg_query){.sql = NOTIFY, .params = &notify};
    }
    q[n++] = (struct pg_query){.sql = "COMMIT"};
    assert(n <= ARRAY_LEN(q));
    int r = pg_conn_run(c, q, n, e);
    if (r == 0 && !str_eq(pg_command_tag(c, &q[n - 1]), STR("COMMIT")))
        r = err_set(e, -EIO, "the database has rolled the transaction back");
    outbox_load_sent(&b->db->outbox, &b->outbox, r == 0);
    if (r == 0 && created)
        take_won(c, b, &q[created]);
    if (r == 0 && appended)
        take_won(c, b, &q[appended]);
    pg_clear(c, q, n);
    return r;
}

int pg_sql_create(struct pg_conn *c, struct pg_batch *b, struct err *e)
{
    struct pg_params p;
    struct pg_query q = {.sql = CREATE, .params = &p};
    if (!create_params(b, &p))
        return 0;
    int r = pg_conn_run(c, &q, 1, e);
    if (r == 0)
        take_won(c, b, &q);
    pg_clear(c, &q, 1);
    return r;
}

/* ---- in doubt ---- */

int pg_sql_find(struct pg_conn *c, struct arena *a, struct pg_group *g, struct pg_found *ret,
                struct err *e)
{
    static const char WRITTEN[] =
        "SELECT c.key, c.last, (SELECT count(*) FROM nb_event e JOIN"
        " unnest($4::bigint[], $5::text[]) AS w(seq, line) ON e.seq = w.seq AND e.line = w.line"
        " WHERE e.conversation = c.key), $6::bigint = 0 OR EXISTS (SELECT 1 FROM nb_lease l"
        " WHERE l.epoch = $6::bigint) FROM nb_conversation c"
        " WHERE c.workspace = $1 AND c.id = $2 AND c.deleted_ms = 0 AND ($3::bigint = 0 OR"
        " c.key = $3::bigint)";
    struct pg_params p;
    struct line_rows l;
    line_rows_init(&l, a, g->nlines);
    add_line_rows(&l, 0, g);
    pg_params_init(&p, a);
    pg_text(&p, pg_workspace(g->store));
    pg_text(&p, g->id);
    pg_int(&p, g->is_new ? 0 : g->key);
    pg_ints(&p, l.seq, l.n);
    pg_texts(&p, l.line, l.n);
    pg_int(&p, g->epoch);
    struct pg_query q = {.sql = WRITTEN, .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    ret->exists = r == 0 && pg_rows(c, &q) > 0;
    ret->is_written = ret->exists && pg_get_int(c, &q, 0, 2) == (int64_t)g->nlines;
    ret->is_leased = ret->exists && pg_get_bool(c, &q, 0, 3);
    if (ret->is_written)
        g->key = pg_get_int(c, &q, 0, 0);
    pg_clear(c, &q, 1);
    return r;
}
