/* pg_search.c - searches: the database finds candidates by their words, newest first, and each is
 * checked against its line with the rules of event/query.h. */
#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "store/index/search_words.h"
#include "store/postgres/pg_store.h"
#include "store/postgres/pg_text.h"

enum {
    SEARCH_MS = 3000,
    CANDIDATES_MIN = 50, /* read together at first, then twice as many each time */
    CANDIDATES_MAX = 800,
    CONVS_TOGETHER = 32,
    COUNT_LIMIT = 20000
};

struct found_conv { /* in the arena of the op */
    str id, title;
    bool is_visible;
};

struct pg_hit {
    struct store_hit hit;
    double score;
};

/* Where candidates are looked for. ANYWHERE: the newest ones are chosen before anything is joined
 * to them, because a word that thousands of texts have would read all their rows; those of other
 * workspaces have no line then. If most are of other workspaces, the search continues with OURS. */
enum text_place { ANYWHERE, OURS, IN_ONE };

struct pg_finder {
    struct store_op *op;
    enum text_place place;
    struct query query;
    str words;        /* a tsquery; empty: every text is a candidate */
    struct map convs; /* key, as 8 bytes -> struct found_conv */
    struct rank rank;
    struct pg_hit *hits; /* heap */
    size_t n, cap, want;
    int ncandidates;
    int64_t at_ms, seq, key; /* of the last candidate */
    struct arena scratch;
    uint64_t deadline_ms;
    bool is_over, is_partial;
};

/* ---- conversations ---- */

static str key_name(const int64_t *key)
{
    return str_make((const char *)key, sizeof *key);
}

static int take_conv(struct pg_conn *c, struct pg_finder *f, const struct pg_query *q, int row,
                     struct err *e)
{
    struct arena *a = &f->op->arena;
    const struct viewer *viewer = f->op->in.search.viewer;
    int64_t key = pg_get_int(c, q, row, 0);
    struct found_conv *found = map_get(&f->convs, key_name(&key));
    struct conv *conv;
    assert(found);
    found->id = arena_str(a, pg_get_text(c, q, row, 1));
    int r = pg_conv_of(c, f->op, found->id, key, pg_get_int(c, q, row, 2),
                       pg_get_text(c, q, row, 3), &conv, e);
    if (r < 0)
        return r;
    found->title = conv->title;
    /* A child run has the access of its parent, which is not in this row. */
    found->is_visible = !viewer || (!conv->parent && access_allows(viewer, &conv->acl, CONV_VIEW));
    return 0;
}

/* The conversations of the candidates from this one on, as many as are read together. */
static int read_convs(struct pg_conn *c, struct pg_finder *f, const struct pg_query *rows, int from,
                      struct err *e)
{
    static const char CONVS[] = "SELECT key, id, last, summary FROM nb_conversation"
                                " WHERE key = ANY($1::bigint[])";
    int64_t keys[CONVS_TOGETHER];
    size_t n = 0;
    struct pg_params p;
    for (int i = from; i < pg_rows(c, rows) && n < CONVS_TOGETHER; i++) {
        keys[n] = pg_get_int(c, rows, i, 2);
        if (pg_get_text(c, rows, i, 3).n == 0 || map_get(&f->convs, key_name(&keys[n])))
            continue;
        map_put(&f->convs, key_name(&keys[n]), ARENA_NEW(&f->op->arena, struct found_conv));
        n++;
    }
    pg_params_init(&p, &f->op->arena);
    pg_ints(&p, keys, n);
    struct pg_query q = {.sql = CONVS, .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    for (int i = 0; r == 0 && i < pg_rows(c, &q); i++)
        r = take_conv(c, f, &q, i, e);
    pg_clear(c, &q, 1);
    for (size_t i = 0; r < 0 && i < n; i++)
        map_del(&f->convs, key_name(&keys[i])); /* read again, over another connection */
    return r;
}

static int conv_of_row(struct pg_conn *c, struct pg_finder *f, const struct pg_query *rows, int row,
                       const struct found_conv **ret, struct err *e)
{
    int64_t key = pg_get_int(c, rows, row, 2);
    int r = map_get(&f->convs, key_name(&key)) ? 0 : read_convs(c, f, rows, row, e);
    *ret = map_get(&f->convs, key_name(&key));
    return r;
}

/* ---- candidates ---- */

static void keep_hit(struct pg_finder *f, const struct found_conv *conv, store_pos pos,
                     const struct event_text *text, const struct json *event)
{
    struct arena *a = &f->op->arena;
    GROW(f->hits, f->n, f->cap);
    struct pg_hit *h = &f->hits[f->n++];
    *h = (struct pg_hit){.hit = {.conv_id = conv->id,
                                 .title = conv->title,
                                 .ts = event_iso(a, event),
                                 .role = arena_str(a, text->role),
                                 .pos = pos,
                                 .snippet = query_snippet(a, &f->query, text->text)}};
    if (f->op->in.search.by_relevance)
        h->score = rank_score(&f->rank, &f->query, &f->scratch, text);
}

static void check_candidate(struct pg_finder *f, const struct found_conv *conv, store_pos pos,
                            str line)
{
    struct event_head head;
    struct event_text text;
    struct json *v;
    arena_reset(&f->scratch);
    if (conv->is_visible && event_scan(line, &head) && text_in_type(head.type) &&
        json_parse(&f->scratch, line, 0, &v, NULL) == 0 &&
        text_of_event(&f->scratch, head.type, v, &text) &&
        query_matches(&f->query, &f->scratch, &text, v))
        keep_hit(f, conv, pos, &text, v);
}

#define CHOSEN                                                                                     \
    "SELECT t.at_ms, t.seq, t.conversation, COALESCE(e.line, '') FROM (SELECT t.at_ms, t.seq,"     \
    " t.conversation FROM nb_text t"
#define OF_WORKSPACE                                                                               \
    " JOIN nb_conversation o ON o.key = t.conversation AND o.workspace = $1 AND o.deleted_ms = 0"
#define IN_TIME                                                                                    \
    " WHERE t.at_ms >= $3::bigint AND t.at_ms < $4::bigint"                                        \
    " AND (t.at_ms, t.seq, t.conversation) < ($5::bigint, $6::bigint, $7::bigint)"
#define NOT_ONE " AND $2::text = ''"
#define ONE                                                                                        \
    " AND t.conversation = (SELECT key FROM nb_conversation WHERE workspace = $1 AND id = "        \
    "$2::text AND deleted_ms = 0)"
#define WORDS  " AND (t.words @@ ($9::text)::tsquery OR t.words IS NULL)"
#define NEWEST " ORDER BY t.at_ms DESC, t.seq DESC, t.conversation DESC"
#define WITH_LINES                                                                                 \
    NEWEST " LIMIT $8::bigint) t LEFT JOIN nb_conversation c ON c.key = t.conversation"            \
           " AND c.workspace = $1 AND c.deleted_ms = 0 LEFT JOIN nb_event e"                       \
           " ON e.conversation = c.key AND e.seq = t.seq" NEWEST

static const char *const CANDIDATES[][2] = {
    /* without words, with words */
    [ANYWHERE] = {CHOSEN IN_TIME NOT_ONE WITH_LINES, CHOSEN IN_TIME NOT_ONE WORDS WITH_LINES},
    [OURS] = {CHOSEN OF_WORKSPACE IN_TIME NOT_ONE WITH_LINES,
              CHOSEN OF_WORKSPACE IN_TIME NOT_ONE WORDS WITH_LINES},
    [IN_ONE] = {CHOSEN IN_TIME ONE WITH_LINES, CHOSEN IN_TIME ONE WORDS WITH_LINES},
};

static void candidate_params(const struct pg_finder *f, struct pg_params *p, struct arena *a)
{
    const struct query *q = &f->query;
    pg_params_init(p, a);
    pg_text(p, pg_workspace(f->op->store));
    pg_text(p, f->op->in.search.conv_id);
    pg_int(p, q->after_ms != 0 ? q->after_ms : PG_TEXT_NO_TIME);
    pg_int(p, q->before_ms);
    pg_int(p, f->at_ms);
    pg_int(p, f->seq);
    pg_int(p, f->key);
    pg_int(p, f->ncandidates);
    if (f->words.n > 0)
        pg_text(p, f->words);
}

/* `at` candidates were checked, of which `ours` are of the workspace. */
static void next_page(struct pg_finder *f, const struct pg_conn *c, const struct pg_query *q,
                      int at, int ours)
{
    int n = pg_rows(c, q);
    f->is_over = at == n && n < f->ncandidates;
    if (n == 0)
        return;
    f->at_ms = pg_get_int(c, q, n - 1, 0);
    f->seq = pg_get_int(c, q, n - 1, 1);
    f->key = pg_get_int(c, q, n - 1, 2);
    f->ncandidates = 2 * f->ncandidates < CANDIDATES_MAX ? 2 * f->ncandidates : CANDIDATES_MAX;
    if (f->place == ANYWHERE && 4 * ours < at)
        f->place = OURS;
}

static int check_page(struct pg_conn *c, void *ctx, struct err *e)
{
    struct pg_finder *f = ctx;
    struct arena a;
    struct pg_params p;
    const struct found_conv *conv;
    size_t before = f->n;
    arena_init(&a);
    candidate_params(f, &p, &a);
    /* Planned for these words: how many texts have them decides which index is read. */
    struct pg_query q = {
        .sql = CANDIDATES[f->place][f->words.n > 0], .params = &p, .is_once = true};
    int r = pg_conn_run(c, &q, 1, e);
    int n = r == 0 ? pg_rows(c, &q) : 0, at = 0, ours = 0;
    for (; at < n && r == 0 && f->n < f->want; at++) {
        str line = pg_get_text(c, &q, at, 3);
        if (line.n == 0)
            continue;
        ours++;
        r = conv_of_row(c, f, &q, at, &conv, e);
        if (r == 0)
            check_candidate(f, conv, (store_pos)pg_get_int(c, &q, at, 1), line);
    }
    if (r < 0)
        f->n = before; /* the page is read again, over another connection */
    else
        next_page(f, c, &q, at, ours);
    pg_clear(c, &q, 1);
    arena_done(&a);
    return r;
}

/* ---- relevance ---- */

/* How many texts of the workspace have the words; empty: how many there are. More than COUNT_LIMIT
 * are not told apart. */
static int count_texts(struct pg_conn *c, struct pg_finder *f, str words, int64_t *ret,
                       struct err *e)
{
    static const char COUNT[] =
        "SELECT count(*) FROM (SELECT 1 FROM nb_text t JOIN nb_conversation c"
        " ON c.key = t.conversation WHERE c.workspace = $1 AND c.deleted_ms = 0"
        " AND ($2::text = '' OR t.words @@ ($2::text)::tsquery) LIMIT $3::bigint) n";
    struct pg_params p;
    pg_params_init(&p, &f->op->arena);
    pg_text(&p, pg_workspace(f->op->store));
    pg_text(&p, words);
    pg_int(&p, COUNT_LIMIT);
    struct pg_query q = {.sql = COUNT, .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    if (r == 0)
        *ret = pg_get_int(c, &q, 0, 0);
    pg_clear(c, &q, 1);
    return r;
}

static int weigh_words(struct pg_conn *c, void *ctx, struct err *e)
{
    struct pg_finder *f = ctx;
    int64_t all = 0;
    int r = count_texts(c, f, STR_NONE, &all, e);
    for (size_t i = 0; r == 0 && i < f->query.n; i++) {
        const struct query one = {.terms = &f->query.terms[i], .n = 1};
        str words = pg_text_query(&f->op->arena, &one);
        int64_t with = 0;
        if (words.n > 0)
            r = count_texts(c, f, words, &with, e);
        f->rank.weight[i] = rank_weight(with, all);
    }
    return r;
}

static int best_first(const void *a, const void *b)
{
    const struct pg_hit *x = a, *y = b;
    int by_score = (x->score < y->score) - (x->score > y->score);
    int by_time = str_cmp(y->hit.ts, x->hit.ts);
    if (by_score || by_time)
        return by_score ? by_score : by_time;
    int by_pos = (x->hit.pos < y->hit.pos) - (x->hit.pos > y->hit.pos);
    return by_pos ? by_pos : str_cmp(x->hit.conv_id, y->hit.conv_id);
}

/* ---- the search ---- */

static int find_all(struct pg_finder *f)
{
    struct store_op *op = f->op;
    struct database *db = pg_database(op->store);
    int r = op->in.search.by_relevance ? database_read(db, weigh_words, f, &op->err) : 0;
    while (r == 0 && !f->is_over && f->n < f->want && !f->is_partial) {
        r = database_read(db, check_page, f, &op->err);
        f->is_partial = clock_mono_ms() >= f->deadline_ms && !f->is_over;
    }
    return r;
}

static void search_work(struct store_op *op)
{
    struct pg_finder f = {.op = op,
                          .at_ms = INT64_MAX,
                          .seq = INT64_MAX,
                          .key = INT64_MAX,
                          .ncandidates = CANDIDATES_MIN,
                          .place = op->in.search.conv_id.n > 0 ? IN_ONE : ANYWHERE,
                          .deadline_ms = clock_mono_ms() + SEARCH_MS};
    const struct store_search_query *q = &op->in.search;
    if (query_parse(&op->arena, q->text, &f.query, &op->err) < 0)
        return;
    f.words = pg_text_query(&op->arena, &f.query);
    f.want = q->by_relevance ? RANK_HITS_MAX : q->limit;
    map_init(&f.convs);
    arena_init(&f.scratch);
    if (find_all(&f) == 0) {
        if (q->by_relevance && f.n > 1)
            qsort(f.hits, f.n, sizeof *f.hits, best_first);
        size_t n = f.n < q->limit ? f.n : q->limit;
        struct store_hit *hits = arena_array(&op->arena, n + 1, sizeof *hits);
        for (size_t i = 0; i < n; i++)
            hits[i] = f.hits[i].hit;
        op->out.hits = (struct store_hits){.hits = hits,
                                           .n = n,
                                           .total = f.is_over ? (int64_t)f.n : -1,
                                           .is_partial = f.is_partial};
    }
    free(f.hits);
    arena_done(&f.scratch);
    map_done(&f.convs);
}

void pg_search(struct store_op *op)
{
    op_run(op, search_work);
}
