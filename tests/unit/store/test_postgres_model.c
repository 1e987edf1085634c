/* Random lives of conversations, the same in PostgreSQL and in files with an index: after every few
 * steps, lists and searches of both say the same. */
#include <errno.h>

#include "model_words.h"
#include "rig.h"
#include "support/postgres.h"

enum { STEPS = 260, CONVS = 10, HITS_MAX = 4000 };

struct lives {
    struct rig rig; /* calls go to rig.store, which is one of the two */
    struct store *stores[2];
    uint64_t random;
    int64_t now_ms;
};

static uint32_t pick(struct lives *m, uint32_t n)
{
    m->random = m->random * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(m->random >> 33) % n;
}

#define PICK(m, table) (table)[pick(m, ARRAY_LEN(table))]
#define BOTH(m, call)                                                                              \
    do {                                                                                           \
        (m)->rig.store = (m)->stores[0];                                                           \
        int first_ = (call);                                                                       \
        (m)->rig.store = (m)->stores[1];                                                           \
        assert_int_equal((call), first_);                                                          \
    } while (0)

static const char *id_of(struct lives *m, char out[40])
{
    (void)snprintf(out, 40, "conv_%u", pick(m, CONVS));
    return out;
}

/* No two events have the same time: the order of hits is then defined. */
static const char *next_time(struct lives *m, char out[CLOCK_ISO_LEN + 1])
{
    m->now_ms += 1 + pick(m, 86400000);
    clock_iso(m->now_ms, out);
    return out;
}

static void random_event(struct lives *m, char *out, size_t size)
{
    static const char *const FORMATS[] = {
        "\"type\":\"user.message\",\"content\":\"%s\",\"userId\":\"usr_b\"}",
        "\"type\":\"user.message\",\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}",
        "\"type\":\"llm.response\",\"content\":[{\"type\":\"text\",\"text\":\"%s\"}],"
        "\"model\":\"known\",\"inputTokens\":10,\"outputTokens\":5}",
        "\"type\":\"tool.done\",\"name\":\"files__read_file\",\"result\":{\"content\":[{\"type\":"
        "\"text\",\"text\":\"%s\"}]}}",
        "\"type\":\"metadata.title\",\"title\":\"%s\"}",
        "\"type\":\"note\",\"author\":\"usr_a\",\"content\":\"%s\"}",
        "\"type\":\"unheard.of\",\"content\":\"%s\"}",
        "\"type\":\"run.done\",\"x\":\"%s\"}",
    };
    char said[600], ts[CLOCK_ISO_LEN + 1];
    size_t n = 0;
    for (uint32_t i = 0, words = pick(m, 9); i <= words; i++)
        n += (size_t)snprintf(said + n, sizeof said - n, "%s%s", i ? " " : "", PICK(m, WORDS));
    const char *format = PICK(m, FORMATS);
    n = (size_t)snprintf(out, size, "{\"ts\":\"%s\",", next_time(m, ts));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(out + n, size - n, format, said);
#pragma GCC diagnostic pop
}

/* ---- steps ---- */

static void live_create(struct lives *m)
{
    char id[40], up[40], text[100];
    struct rig *r = &m->rig;
    struct json *parent = NULL;
    struct arena a;
    arena_init(&a);
    m->now_ms += 1000;
    (void)snprintf(text, sizeof text, "{\"conversationId\":\"%s\"}", id_of(m, up));
    if (pick(m, 4) == 0)
        assert_int_equal(json_parse(&a, str_from(text), JSON_COPY, &parent, NULL), 0);
    struct conv_create spec = {.id = str_from(id_of(m, id)),
                               .is_fresh_id = pick(m, 2),
                               .owner_id = str_from(PICK(m, PEOPLE)),
                               .created_ms = m->now_ms,
                               .parent = parent,
                               .is_hidden = pick(m, 6) == 0};
    BOTH(m, RIG_CALL(r, store_create(r->store, &spec, rig_on_conv, r)));
    arena_done(&a);
}

static void live_append(struct lives *m)
{
    char id[40], line[1200];
    random_event(m, line, sizeof line);
    (void)id_of(m, id);
    BOTH(m, rig_append(&m->rig, id, line));
}

static void live_share(struct lives *m)
{
    char id[40], lines[2][300], ts[CLOCK_ISO_LEN + 1];
    (void)id_of(m, id);
    (void)snprintf(lines[0], sizeof lines[0],
                   "{\"ts\":\"%s\",\"type\":\"metadata.visibility\",\"visibility\":\"%s\"}",
                   next_time(m, ts), pick(m, 3) ? "shared" : "private");
    (void)snprintf(
        lines[1], sizeof lines[1],
        "{\"ts\":\"%s\",\"type\":\"metadata.participants\",\"participants\":[\"%s\",\"%s\"]}",
        next_time(m, ts), PICK(m, PEOPLE), PICK(m, PEOPLE));
    const str both[] = {str_from(lines[0]), str_from(lines[1])};
    BOTH(m, rig_append_n(&m->rig, id, both, 2));
}

static void live_delete(struct lives *m)
{
    char id[40];
    bool is_purge = pick(m, 2);
    (void)id_of(m, id);
    BOTH(m, rig_delete(&m->rig, id, is_purge));
}

static void live_restore(struct lives *m)
{
    char id[40];
    (void)id_of(m, id);
    BOTH(m, rig_restore(&m->rig, id));
}

/* ---- questions ---- */

static void copy_text(struct lives *m, const struct store_query *q, char *out, size_t size)
{
    struct rig *r = &m->rig;
    assert_int_equal(rig_list(r, q), 0);
    size_t n = (size_t)snprintf(out, size, "total %lld next %.*s\n", (long long)r->listing.total,
                                STR_ARG(r->listing.next_cursor));
    for (size_t i = 0; i < r->listing.n; i++) {
        const struct conv *c = &r->listing.convs[i];
        n += (size_t)snprintf(out + n, size - n, "%.*s %.*s %.*s \"%.*s\" %.*s %d %lld %lld %.9f\n",
                              STR_ARG(c->id), STR_ARG(c->created_at), STR_ARG(c->updated_at),
                              STR_ARG(c->title), STR_ARG(c->acl.owner_id), c->acl.is_shared,
                              (long long)c->message_count, (long long)c->usage.input_tokens,
                              c->cost_usd);
    }
    assert_true(n < size);
}

static void compare_lists(struct lives *m)
{
    static const char *const SEARCH[] = {"", "", "", "ALPHA", "the", "caf", "x_%"};
    static char texts[2][20000];
    char cursor[200] = "";
    struct viewer also = {.user_id = str_from(PICK(m, PEOPLE))};
    struct viewer v = {.user_id = str_from(PICK(m, PEOPLE)),
                       .is_workspace_admin = pick(m, 4) == 0,
                       .is_gone = pick(m, 12) == 0,
                       .also = pick(m, 6) == 0 ? &also : NULL};
    struct store_query q = {.viewer = pick(m, 3) ? &v : NULL,
                            .limit = 1 + pick(m, 6),
                            .search = str_from(PICK(m, SEARCH)),
                            .sort = pick(m, 2) ? STORE_BY_CREATED : STORE_BY_UPDATED,
                            .with_hidden = pick(m, 2)};
    do {
        q.cursor = str_from(cursor);
        for (size_t i = 0; i < 2; i++) {
            m->rig.store = m->stores[i];
            copy_text(m, &q, texts[i], sizeof texts[i]);
        }
        assert_string_equal(texts[0], texts[1]);
        (void)snprintf(cursor, sizeof cursor, "%.*s", STR_ARG(m->rig.listing.next_cursor));
    } while (cursor[0]);
}

static void hits_text(struct lives *m, const struct store_search_query *q, char *out, size_t size)
{
    struct rig *r = &m->rig;
    assert_int_equal(RIG_CALL(r, store_search(r->store, q, rig_on_search, r)), 0);
    assert_false(r->hits.is_partial);
    size_t n = (size_t)snprintf(out, size, "%zu\n", r->hits.n);
    for (size_t i = 0; i < r->hits.n; i++) {
        const struct store_hit *h = &r->hits.hits[i];
        n += (size_t)snprintf(out + n, size - n, "%.*s %.*s %.*s \"%.*s\" %.*s\n", STR_ARG(h->ts),
                              STR_ARG(h->conv_id), STR_ARG(h->role), STR_ARG(h->title),
                              STR_ARG(h->snippet));
    }
    assert_true(n < size);
}

static void compare_hits(struct lives *m, const struct store_search_query *q)
{
    static char texts[2][1u << 20];
    for (size_t i = 0; i < 2; i++) {
        m->rig.store = m->stores[i];
        hits_text(m, q, texts[i], sizeof texts[i]);
    }
    if (strcmp(texts[0], texts[1]) != 0)
        fail_msg("%.*s:\npostgres: %sjsonl: %s", STR_ARG(q->text), texts[0], texts[1]);
}

static void compare_searches(struct lives *m, const char *text)
{
    char id[40];
    struct viewer v = {.user_id = str_from(PICK(m, PEOPLE)), .is_workspace_admin = pick(m, 4) == 0};
    struct store_search_query q = {.viewer = pick(m, 3) ? &v : NULL,
                                   .text = str_from(text),
                                   .limit = pick(m, 3) ? 1000 : 1 + pick(m, 5)};
    if (pick(m, 5) == 0)
        q.conv_id = str_from(id_of(m, id));
    compare_hits(m, &q);
}

static void open_both(struct lives *m, const char *cache)
{
    struct store_conf conf = {
        .type = "jsonl", .dir = m->rig.conv_dir, .cache_dir = cache, .workspace_id = "ws_test"};
    m->stores[0] = m->rig.store;
    assert_int_equal(store_open(&m->rig.env, &conf, &m->stores[1], NULL), 0);
}

TEST(lists_and_searches_of_both_stores_say_the_same)
{
    static void (*const LIFE[])(struct lives * m) = {
        live_create, live_create, live_append, live_append, live_append, live_append, live_append,
        live_append, live_append, live_append, live_share,  live_share,  live_delete, live_restore,
    };
    struct lives *m = xcalloc(1, sizeof *m);
    char cache[320];
    m->random = 20261117;
    m->now_ms = 1704067200000;
    rig_init(&m->rig, "postgres", NULL);
    (void)snprintf(cache, sizeof cache, "%s/cache", m->rig.dir);
    assert_int_equal(mkdir(cache, 0700), 0);
    open_both(m, cache);
    for (int i = 0; i < STEPS; i++) {
        PICK(m, LIFE)(m);
        compare_lists(m);
        compare_searches(m, PICK(m, QUERIES));
    }
    for (size_t i = 0; i < ARRAY_LEN(QUERIES); i++) {
        struct store_search_query q = {.text = str_from(QUERIES[i]), .limit = 1000};
        compare_hits(m, &q);
    }
    m->rig.store = m->stores[1];
    rig_close_store(&m->rig);
    m->rig.store = m->stores[0];
    rig_done(&m->rig);
    free(m);
}

int main(int argc, char **argv)
{
    struct postgres server;
    postgres_start(&server);
    postgres_init(server.url);
    rig_database_url = server.url;
    int failed = run_unit_tests("postgres model", argc > 1 ? argv[1] : NULL);
    postgres_stop(&server);
    return failed;
}
