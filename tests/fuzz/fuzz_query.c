/* Any question about any text: what a scan finds, the index must find as well.
 *
 * The input is a question, a line feed and a text. The words of the text go into a real
 * full-text table; if the question matches the text, the expression made of the question
 * must match the row. Snippets must be valid, with their marks in order. */
#include <assert.h>
#include <sqlite3.h>

#include "base/utf8.h"
#include "store/index/search_words.h"

enum { ROWS_MAX = 2000, INPUT_MAX = 4096 };

struct table {
    sqlite3 *db;
    sqlite3_stmt *insert, *match;
    int64_t row;
};

static void table_open(struct table *t)
{
    assert(sqlite3_open(":memory:", &t->db) == SQLITE_OK);
    assert(sqlite3_exec(t->db,
                        "CREATE VIRTUAL TABLE said USING fts5(words, content='', columnsize=0,"
                        " tokenize='ascii')",
                        NULL, NULL, NULL) == SQLITE_OK);
    assert(sqlite3_prepare_v2(t->db, "INSERT INTO said(rowid, words) VALUES(?, ?)", -1, &t->insert,
                              NULL) == SQLITE_OK);
    assert(sqlite3_prepare_v2(t->db, "SELECT 1 FROM said WHERE said MATCH ? AND rowid = ?", -1,
                              &t->match, NULL) == SQLITE_OK);
    t->row = 0;
}

static void table_close(struct table *t)
{
    sqlite3_finalize(t->insert);
    sqlite3_finalize(t->match);
    sqlite3_close(t->db);
    *t = (struct table){0};
}

static void put(struct table *t, str words)
{
    sqlite3_reset(t->insert);
    sqlite3_bind_int64(t->insert, 1, ++t->row);
    sqlite3_bind_text64(t->insert, 2, words.p, words.n, SQLITE_STATIC, SQLITE_UTF8);
    assert(sqlite3_step(t->insert) == SQLITE_DONE);
}

static bool finds(struct table *t, str expression)
{
    sqlite3_reset(t->match);
    sqlite3_bind_text64(t->match, 1, expression.p, expression.n, SQLITE_STATIC, SQLITE_UTF8);
    sqlite3_bind_int64(t->match, 2, t->row);
    int rc = sqlite3_step(t->match);
    assert(rc == SQLITE_ROW || rc == SQLITE_DONE); /* never a syntax error */
    return rc == SQLITE_ROW;
}

static void check_snippet(str s)
{
    ptrdiff_t open = str_find_char(s, 1), close = str_find_char(s, 2);
    assert((open < 0) == (close < 0) && (open < 0 || open <= close));
}

static void try_text(struct table *t, struct arena *a, const struct query *q, str text)
{
    struct event_text said = {
        .role = STR("tool"), .text = text, .tool = STR("files__read"), .user_id = STR("usr_a")};
    struct json *event = json_new(a, JSON_OBJECT);
    json_set(a, event, STR("ts"), json_of_str(STR("2024-05-05T00:00:00.000Z")));
    struct buf words;
    buf_init(&words, INPUT_MAX * 8);
    search_words(&words, &said, 7);
    put(t, buf_str(&words));
    str expression = search_expression(a, q, 7, 8);
    bool is_found = finds(t, expression);
    if (query_matches(q, a, &said, event))
        assert(is_found);
    if (utf8_valid(text) && !memchr(text.p, 1, text.n) && !memchr(text.p, 2, text.n))
        check_snippet(query_snippet(a, q, text));
    buf_done(&words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct table table;
    if (size > INPUT_MAX)
        return 0;
    if (!table.db)
        table_open(&table);
    str in = str_make((const char *)data, size), question;
    struct arena a;
    struct query q;
    arena_init(&a);
    if (str_split(&in, '\n', &question) && query_parse(&a, question, &q, NULL) == 0 && in.n)
        try_text(&table, &a, &q, in);
    arena_done(&a);
    if (table.row >= ROWS_MAX)
        table_close(&table);
    return 0;
}
