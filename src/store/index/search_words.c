#include "store/index/search_words.h"

#include "base/utf8.h"
#include "store/event/fold.h"

/* Private-use characters in front of a mark: users cannot type them, and a text that contains one
 * only causes a wrong hit, which the check against the log removes. */
#define WHO_MARK "\xee\x80\x80" /* U+E000 */
#define LOG_MARK "\xee\x80\x81" /* U+E001 */

enum { PHRASE_MAX = 512, EXPRESSION_MAX = 64 * 1024 };

struct splitter {
    struct buf *out;
    uint32_t cjk;  /* the last character, if it was one */
    bool has_pair; /* its run has produced a pair already */
};

static void space(struct splitter *s)
{
    if (s->out->n && s->out->p[s->out->n - 1] != ' ')
        buf_add_char(s->out, ' ');
}

static void end_run(struct splitter *s, bool has_last)
{
    if (s->cjk && has_last) {
        space(s);
        utf8_encode(s->out, s->cjk);
    }
    s->cjk = 0;
    s->has_pair = false;
    space(s);
}

static void add_char(struct splitter *s, uint32_t cp)
{
    if (cp == ' ') {
        end_run(s, true);
    } else if (fold_is_cjk(cp)) {
        space(s);
        if (s->cjk) {
            utf8_encode(s->out, s->cjk);
            utf8_encode(s->out, cp);
            s->has_pair = true;
        }
        s->cjk = cp;
    } else {
        if (s->cjk)
            end_run(s, true);
        if (cp < 0x80)
            buf_add_char(s->out, (char)cp);
        else
            utf8_encode(s->out, cp);
    }
}

static void split(struct splitter *s, str text)
{
    struct casefold_iter f;
    uint32_t cp;
    size_t at;
    fold_init(&f, text);
    while (fold_next(&f, &cp, &at))
        add_char(s, cp);
}

/* The characters of an id that are part of words, in lower case, as one word. */
static void add_mark(struct buf *out, const char *mark, str id)
{
    buf_add_lit(out, mark);
    for (size_t i = 0; i < id.n; i++) {
        unsigned char c = (unsigned char)id.p[i];
        if (c >= 'A' && c <= 'Z')
            c = (unsigned char)(c + 'a' - 'A');
        if (c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            buf_add_char(out, (char)c);
    }
}

void search_words(struct buf *out, const struct event_text *text, int64_t log_no)
{
    const str said[] = {text->text, text->tool};
    for (size_t i = 0; i < ARRAY_LEN(said); i++) {
        struct splitter s = {.out = out};
        split(&s, said[i]);
        end_run(&s, true);
    }
    add_mark(out, WHO_MARK, text->role);
    buf_add_char(out, ' ');
    add_mark(out, WHO_MARK, text->user_id);
    buf_printf(out, " " LOG_MARK "%lld", (long long)log_no);
}

/* ---- questions ---- */

static void and_then(struct buf *out)
{
    if (out->n)
        buf_add_lit(out, " AND ");
}

/* One phrase. A run of CJK characters at its end may continue in the text. The beginning of a very
 * long phrase is enough to find candidates. */
static void add_phrase(struct buf *out, str folded, bool is_prefix)
{
    struct buf words;
    is_prefix |= folded.n > PHRASE_MAX;
    folded = utf8_truncate(folded, PHRASE_MAX);
    buf_init(&words, PHRASE_MAX * 4);
    struct splitter s = {.out = &words};
    split(&s, folded);
    if (s.cjk) {
        is_prefix = !s.has_pair;
        end_run(&s, is_prefix);
    }
    str text = str_trim(buf_str(&words));
    if (text.n) {
        and_then(out);
        buf_printf(out, "\"%.*s\"%s", STR_ARG(text), is_prefix ? " *" : "");
    }
    buf_done(&words);
}

static void add_who(struct buf *out, str who)
{
    size_t before = out->n;
    and_then(out);
    buf_add_char(out, '"');
    size_t bare = out->n + strlen(WHO_MARK);
    add_mark(out, WHO_MARK, who);
    if (out->n == bare)
        buf_truncate(out, before); /* the phrase contains no word */
    else
        buf_add_char(out, '"');
}

str search_expression(struct arena *a, const struct query *q, int64_t log_no, int64_t notes_no)
{
    struct buf out;
    buf_init(&out, EXPRESSION_MAX);
    for (size_t i = 0; i < q->n; i++)
        add_phrase(&out, q->terms[i].text, q->terms[i].is_prefix);
    if (q->from.n)
        add_who(&out, q->from);
    if (q->titles_only)
        add_who(&out, STR("title"));
    if (q->tool.n) {
        add_who(&out, STR("tool"));
        if (str_find_char(q->tool, '*') < 0)
            add_phrase(&out, q->tool, false);
    }
    if (log_no) {
        and_then(&out);
        if (notes_no)
            buf_printf(&out, "(\"" LOG_MARK "%lld\" OR ", (long long)notes_no);
        buf_printf(&out, "\"" LOG_MARK "%lld\"%s", (long long)log_no, notes_no ? ")" : "");
    }
    return buf_keep(&out, a);
}

void search_terms(struct arena *a, const struct query *q,
                  void (*fn)(void *ctx, str word, bool is_prefix), void *ctx)
{
    /* "phrase" AND "phrase" * AND ...: without logs there are no parentheses */
    str rest = search_expression(a, q, 0, 0), phrase, word;
    while (str_split(&rest, '"', &phrase) && str_split(&rest, '"', &phrase)) {
        bool is_prefix = str_starts(rest, STR(" *"));
        while (str_split(&phrase, ' ', &word))
            if (word.n > 0)
                fn(ctx, word, is_prefix && phrase.n == 0);
    }
}
