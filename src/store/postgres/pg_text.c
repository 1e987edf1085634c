#include "store/postgres/pg_text.h"

#include "base/utf8.h"
#include "store/index/search_words.h"

enum {
    WORD_MAX = 200,         /* bytes; PostgreSQL takes 2,046 */
    WORDS_MAX = 768 * 1024, /* of one event; a tsvector takes 1 MB */
    RAW_MAX = 16 * 1024 * 1024,
    QUERY_MAX = 256 * 1024,
};

/* Cuts long words, and leaves one space between two. */
static str tidy(struct arena *a, str raw)
{
    struct buf b;
    str word;
    buf_init(&b, WORDS_MAX);
    while (str_split(&raw, ' ', &word)) {
        if (word.n == 0)
            continue;
        if (b.n > 0)
            buf_add_char(&b, ' ');
        buf_add_str(&b, utf8_truncate(word, WORD_MAX));
    }
    return buf_keep_whole(&b, a);
}

bool pg_text_of(struct arena *a, str line, struct pg_text *ret)
{
    struct event_head head;
    struct event_text text;
    struct arena scratch;
    struct json *v;
    struct buf raw;
    if (!event_peek(line, &head) || !text_in_type(head.type))
        return false;
    arena_init(&scratch);
    bool has_text = json_parse(&scratch, line, 0, &v, NULL) == 0 &&
                    text_of_event(&scratch, head.type, v, &text);
    if (has_text) {
        buf_init(&raw, RAW_MAX);
        search_words(&raw, &text, 0);
        ret->words = buf_failed(&raw) ? STR_NONE : tidy(a, buf_str(&raw));
        if (!event_time(v, &ret->at_ms))
            ret->at_ms = PG_TEXT_NO_TIME;
        buf_done(&raw);
    }
    arena_done(&scratch);
    return has_text;
}

static void add_term(void *ctx, str word, bool is_prefix)
{
    struct buf *out = ctx;
    if (out->n > 0)
        buf_add_lit(out, " & ");
    buf_add_char(out, '\'');
    word = utf8_truncate(word, WORD_MAX);
    for (size_t i = 0; i < word.n; i++) {
        if (word.p[i] == '\'' || word.p[i] == '\\')
            buf_add_char(out, word.p[i]);
        buf_add_char(out, word.p[i]);
    }
    buf_add_lit(out, is_prefix ? "':*" : "'");
}

str pg_text_query(struct arena *a, const struct query *q)
{
    struct buf b;
    buf_init(&b, QUERY_MAX);
    search_terms(a, q, add_term, &b);
    return buf_keep_whole(&b, a);
}
