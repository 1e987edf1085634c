/* Random lives of conversations: after every few steps, lists and searches through the index
 * say the same as a scan of the logs. */
#include <sqlite3.h>

#include "index_rig.h"
#include "model_words.h"

enum { STEPS = 700, CONVS = 12 };

struct model {
    struct twin twin;
    uint64_t random;
    int64_t now_ms;
};

static uint32_t pick(struct model *m, uint32_t n)
{
    m->random = m->random * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(m->random >> 33) % n;
}

#define PICK(m, table) (table)[pick(m, ARRAY_LEN(table))]

static const char *text(struct model *m, char *out, size_t size)
{
    size_t n = 0;
    for (uint32_t i = 0, words = pick(m, 9); i <= words; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", i ? " " : "", PICK(m, WORDS));
    return out;
}

static const char *id_of(struct model *m, char out[40])
{
    (void)snprintf(out, 40, "conv_%u", pick(m, CONVS));
    return out;
}

/* Times go anywhere in 2024, often to the same millisecond. */
static const char *time_of(struct model *m, char out[CLOCK_ISO_LEN + 1])
{
    int64_t day = pick(m, 300), ms = pick(m, 3) ? pick(m, 86400000) : 0;
    clock_iso(1704067200000 + day * 86400000 + ms, out);
    return out;
}

static void event(struct model *m, char *out, size_t size)
{
    static const char *const FORMATS[] = {
        "{\"ts\":\"%s\",\"type\":\"user.message\",\"content\":\"%s\",\"userId\":\"usr_b\"}",
        "{\"ts\":\"%s\",\"type\":\"user.message\",\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]"
        "}",
        "{\"ts\":\"%s\",\"type\":\"llm.response\",\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]"
        ","
        "\"model\":\"known\",\"inputTokens\":10,\"outputTokens\":5}",
        "{\"ts\":\"%s\",\"type\":\"tool.done\",\"name\":\"files__read_file\",\"result\":{"
        "\"content\":"
        "[{\"type\":\"text\",\"text\":\"%s\"}]}}",
        "{\"ts\":\"%s\",\"type\":\"metadata.title\",\"title\":\"%s\"}",
        "{\"ts\":\"%s\",\"type\":\"note\",\"author\":\"usr_a\",\"content\":\"%s\"}",
        "{\"ts\":\"%s\",\"role\":\"assistant\",\"content\":\"%s\",\"metadata\":{\"inputTokens\":3,"
        "\"model\":\"odd\"}}",
        "{\"ts\":\"%s\",\"type\":\"unheard.of\",\"content\":\"%s\"}",
        "{\"ts\":\"%s\",\"type\":\"run.done\",\"x\":\"%s\"}",
    };
    char said[600], ts[CLOCK_ISO_LEN + 1];
    const char *format = PICK(m, FORMATS);
    (void)time_of(m, ts);
    (void)text(m, said, sizeof(said));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(out, size, format, ts, said);
#pragma GCC diagnostic pop
}

/* ---- steps ---- */

static void step_create(struct model *m)
{
    char id[40];
    (void)rig_create(&m->twin.a, id_of(m, id), PICK(m, PEOPLE));
}

static void step_append(struct model *m)
{
    char id[40], line[1200];
    event(m, line, sizeof(line));
    if (!strstr(line, "\"role\"")) /* only older programs wrote these */
        (void)rig_append(&m->twin.a, id_of(m, id), line);
}

static void step_foreign_append(struct model *m)
{
    char id[40], name[60], line[1200];
    event(m, line, sizeof(line) - 1);
    (void)snprintf(name, sizeof(name), "%s.jsonl", id_of(m, id));
    if (access(rig_path(&m->twin.a, name), F_OK) == 0 && pick(m, 4)) {
        size_t n = strlen(line);
        line[n++] = '\n';
        rig_spit(&m->twin.a, name, "ae", str_make(line, n));
    }
}

static void step_replace(struct model *m)
{
    char id[40], name[60], line[1200], all[3000];
    event(m, line, sizeof(line));
    (void)snprintf(name, sizeof(name), "%s.jsonl", id_of(m, id));
    int n =
        snprintf(all, sizeof(all), "{\"id\":\"%s\",\"createdAt\":%u,\"ownerId\":\"%s\"%s}\n%s\n%s",
                 id, pick(m, 2000000000), PICK(m, PEOPLE),
                 pick(m, 3) ? "" : ",\"parent\":{\"runId\":\"r\"}", line, pick(m, 2) ? "torn" : "");
    (void)unlink(rig_path(&m->twin.a, name)); /* its inode is likely to be used again */
    rig_spit(&m->twin.a, name, "we", str_make(all, (size_t)n));
}

static void step_truncate(struct model *m)
{
    char id[40], name[60];
    struct stat st;
    (void)snprintf(name, sizeof(name), "%s.jsonl", id_of(m, id));
    if (stat(rig_path(&m->twin.a, name), &st) == 0)
        assert_int_equal(truncate(rig_path(&m->twin.a, name), pick(m, (uint32_t)st.st_size + 1)),
                         0);
}

static void step_share(struct model *m)
{
    char id[40];
    str names[] = {str_from(PICK(m, PEOPLE)), str_from(PICK(m, PEOPLE))};
    struct json_strs people = {.items = names, .len = 2};
    struct rig *r = &m->twin.a;
    (void)RIG_CALL(r, rig_set_sharing(r->store, str_from(id_of(m, id)), pick(m, 3) != 0, &people,
                                      NULL, rig_on_conv, r));
}

static void step_delete(struct model *m)
{
    char id[40];
    (void)rig_delete(&m->twin.a, id_of(m, id), pick(m, 2));
}

static void step_restore(struct model *m)
{
    char id[40];
    (void)rig_restore(&m->twin.a, id_of(m, id));
}

static void step_fork(struct model *m)
{
    char id[40];
    (void)rig_fork(&m->twin.a, id_of(m, id), -1, "usr_a");
}

static void step_reopen(struct model *m)
{
    twin_reopen(&m->twin);
}

static void step_lose_index(struct model *m)
{
    (void)unlink(m->twin.db);
}

static int64_t count_behind(struct twin *t)
{
    sqlite3 *db;
    sqlite3_stmt *st = NULL;
    int64_t n = -1;
    if (sqlite3_open_v2(t->db, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
        sqlite3_busy_timeout(db, 5000);
        if (sqlite3_prepare_v2(db, "SELECT count(*) FROM log WHERE text_done <> done", -1, &st,
                               NULL) == SQLITE_OK &&
            sqlite3_step(st) == SQLITE_ROW)
            n = sqlite3_column_int64(st, 0);
        sqlite3_finalize(st);
    }
    sqlite3_close(db);
    return n;
}

/* Lets the background finish, so that the next searches ask the full text. */
static void step_settle(struct model *m)
{
    assert_int_equal(rig_list(&m->twin.a, &(struct store_query){.limit = 1}), 0);
    bool never = false;
    for (int i = 0; i < 200 && count_behind(&m->twin) != 0; i++)
        (void)loop_run_until(m->twin.a.loop, &never, 20);
    assert_int_equal(count_behind(&m->twin), 0);
}

static const struct {
    void (*step)(struct model *m);
    uint32_t weight;
} STEPS_OF_LIFE[] = {
    {step_create, 6},   {step_append, 30}, {step_foreign_append, 8}, {step_replace, 2},
    {step_truncate, 2}, {step_share, 5},   {step_delete, 3},         {step_restore, 2},
    {step_fork, 2},     {step_reopen, 1},  {step_lose_index, 1},     {step_settle, 8},
};

static void step(struct model *m)
{
    uint32_t all = 0;
    for (size_t i = 0; i < ARRAY_LEN(STEPS_OF_LIFE); i++)
        all += STEPS_OF_LIFE[i].weight;
    uint32_t at = pick(m, all);
    size_t i = 0;
    while (at >= STEPS_OF_LIFE[i].weight)
        at -= STEPS_OF_LIFE[i++].weight;
    STEPS_OF_LIFE[i].step(m);
}

/* ---- questions ---- */

static struct viewer viewer(struct model *m)
{
    return (struct viewer){.user_id = str_from(PICK(m, PEOPLE)),
                           .is_workspace_admin = pick(m, 4) == 0};
}

static void compare_list(struct model *m)
{
    static const char *const SEARCH[] = {"", "", "", "ALPHA", "the", "caf"};
    struct viewer v = viewer(m);
    struct store_query q = {.viewer = pick(m, 3) ? &v : NULL,
                            .limit = 1 + pick(m, 8),
                            .search = str_from(PICK(m, SEARCH)),
                            .sort = pick(m, 2) ? STORE_BY_CREATED : STORE_BY_UPDATED,
                            .with_hidden = pick(m, 2)};
    char cursor[200];
    do {
        twin_list(&m->twin, &q);
        (void)snprintf(cursor, sizeof(cursor), "%.*s", STR_ARG(m->twin.a.listing.next_cursor));
        q.cursor = str_from(cursor);
    } while (q.cursor.n);
}

static void compare_search(struct model *m)
{
    char id[40];
    struct viewer v = viewer(m);
    struct store_search_query q = {
        .viewer = pick(m, 3) ? &v : NULL, .text = str_from(PICK(m, QUERIES)), .limit = 1000};
    if (pick(m, 5) == 0)
        q.conv_id = str_from(id_of(m, id));
    twin_find(&m->twin, &q);
}

TEST(random_lives)
{
    struct model m = {.random = 20260325};
    twin_init(&m.twin);
    for (int i = 0; i < STEPS; i++) {
        step(&m);
        compare_list(&m);
        compare_search(&m);
        compare_search(&m);
    }
    step_settle(&m);
    for (size_t i = 0; i < ARRAY_LEN(QUERIES); i++)
        (void)twin_search(&m.twin, QUERIES[i]);
    twin_done(&m.twin);
}
