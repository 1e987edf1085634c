/* demo_text.c - the answers of the demo. Markdown, short, and clear that this is a demo. */
#include "base/utf8.h"
#include "llm/demo/demo.h"

#define TEXT_MAX      (64u * 1024)
#define TOOLS_SHOWN   40
#define LINES_SHOWN   20
#define MEMBERS_SHOWN 12
#define SHORT_BYTES   200
#define TITLE_WORDS   6
#define TITLE_BYTES   60

static str finish_text(const struct demo_ask *q, struct buf *b)
{
    str s = arena_str(q->a, utf8_truncate(buf_str(b), TEXT_MAX));
    buf_done(b);
    return s;
}

str demo_introduction(void)
{
    return STR("I am the **demo model** that is built into nb: a handful of rules, no neural "
               "network, no internet. I can show you around and call tools. For real answers "
               "connect a model: in the settings of the page, with `ANTHROPIC_API_KEY` or "
               "`OPENAI_API_KEY`, or with a local server such as Ollama.\n\n");
}

str demo_help(const struct demo_ask *q)
{
    static const struct {
        const char *tool; /* without it the line is left out; NULL = always shown */
        const char *line;
    } LINES[] = {
        {NULL, "`tools` lists the tools I can call"},
        {"time", "`what time is it?` asks a tool"},
        {"calculate", "`what is 6 * 7?` calculates"},
        {"calculate",
         "`call calculate {\"expression\":\"2+2\"}` calls a tool by name; several calls in one "
         "message run at the same time, and with `then` between them one after another"},
        {"status", "`status` tells how this workspace is doing"},
        {"bash_exec", "`run ls -la` runs a command"},
        {"discover_tools", "`find tools for files` searches all installed tools"},
        {"delegate", "`delegate count to 5` gives a task to a child agent"},
        {NULL, "`count to 100` shows streaming; stop me whenever you like"},
        {NULL, "`say something` repeats it"},
    };
    struct buf b;
    buf_init(&b, TEXT_MAX);
    buf_add_lit(&b, "Things to try:\n\n");
    for (size_t i = 0; i < ARRAY_LEN(LINES); i++)
        if (!LINES[i].tool || demo_find_tool(q->req, str_from(LINES[i].tool)))
            buf_printf(&b, "- %s\n", LINES[i].line);
    return finish_text(q, &b);
}

/* The first sentence or line. */
static str first_sentence(str s)
{
    str line = str_trim(s);
    ptrdiff_t end = str_find_char(line, '\n');
    if (end >= 0)
        line = str_slice(line, 0, (size_t)end);
    end = str_find(line, STR(". "), 0);
    if (end >= 0)
        line = str_slice(line, 0, (size_t)end + 1);
    return utf8_truncate(line, SHORT_BYTES);
}

str demo_tool_list(const struct demo_ask *q)
{
    struct buf b;
    buf_init(&b, TEXT_MAX);
    if (q->req->ntools == 0)
        buf_add_lit(&b, "I have no tools here.\n");
    else
        buf_printf(&b, "I can call %zu tool%s:\n\n", q->req->ntools,
                   q->req->ntools == 1 ? "" : "s");
    for (size_t i = 0; i < q->req->ntools && i < TOOLS_SHOWN; i++) {
        str what = first_sentence(q->req->tools[i].description);
        buf_printf(&b, "- `%.*s`%s%.*s\n", STR_ARG(q->req->tools[i].name), what.n > 0 ? ": " : "",
                   STR_ARG(what));
    }
    if (q->req->ntools > TOOLS_SHOWN)
        buf_printf(&b, "- and %zu more\n", q->req->ntools - TOOLS_SHOWN);
    /* The words of the prompt when there are too many tools to list them all. */
    if (str_find(q->req->system_volatile, STR("Not all tools are in your list"), 0) >= 0)
        buf_add_lit(&b, "\nMore tools are installed than I am shown at a time: `find tools "
                        "for files` searches all of them, and `call NAME {...}` calls any.\n");
    return finish_text(q, &b);
}

static size_t count_words(str s)
{
    size_t n = 0;
    bool in_word = false;
    for (size_t i = 0; i < s.n; i++) {
        bool is_blank = strchr(" \t\r\n", s.p[i]) != NULL;
        n += !is_blank && !in_word;
        in_word = !is_blank;
    }
    return n;
}

str demo_shrug(const struct demo_ask *q)
{
    struct buf b;
    size_t words = count_words(q->text);
    buf_init(&b, TEXT_MAX);
    buf_printf(&b, "I read your message of %zu word%s", words, words == 1 ? "" : "s");
    if (q->context >= 1000)
        buf_printf(&b, ", with %.1f kB of context attached", (double)q->context / 1000);
    else if (q->context > 0)
        buf_printf(&b, ", with %zu bytes of context attached", q->context);
    if (q->images > 0)
        buf_printf(&b, ", and %zu picture%s", q->images, q->images == 1 ? "" : "s");
    buf_add_lit(&b, ", but I have no rule for it. A real model would answer here. Say "
                    "`help` to see what I understand.\n");
    return finish_text(q, &b);
}

/* ---- reporting results ---- */

static void add_fenced(struct buf *b, str text)
{
    str line;
    size_t shown = 0, more = 0;
    buf_add_lit(b, "\n```\n");
    while (str_split(&text, '\n', &line)) {
        if (shown < LINES_SHOWN)
            buf_printf(b, "%.*s\n", STR_ARG(utf8_truncate(line, SHORT_BYTES))), shown++;
        else
            more++;
    }
    buf_add_lit(b, "```\n");
    if (more > 0)
        buf_printf(b, "(%zu more line%s)\n", more, more == 1 ? "" : "s");
}

static void add_value(const struct demo_ask *q, struct buf *b, const struct json *v)
{
    str s = v->type == JSON_STRING ? v->s : json_to_str(q->a, v);
    str cut = utf8_truncate(s, SHORT_BYTES);
    buf_printf(b, "%.*s%s", STR_ARG(cut), cut.n < s.n ? " ..." : "");
}

static void add_object(const struct demo_ask *q, struct buf *b, const struct json *v)
{
    buf_add_lit(b, " returned:\n\n");
    for (size_t i = 0; i < v->len && i < MEMBERS_SHOWN; i++) {
        buf_printf(b, "- %.*s: ", STR_ARG(v->members[i].key));
        add_value(q, b, &v->members[i].value);
        buf_add_char(b, '\n');
    }
    if (v->len > MEMBERS_SHOWN)
        buf_printf(b, "- and %zu more\n", (size_t)v->len - MEMBERS_SHOWN);
}

/* The result of a shell: {stdout, stderr, exit_code}. */
static bool add_shell(struct buf *b, const struct json *v)
{
    if (!json_is(json_get(v, "stdout"), JSON_STRING))
        return false;
    int64_t code = json_get_int(v, "exit_code", 0);
    str out = str_trim(json_get_string(v, "stdout")), oops = str_trim(json_get_string(v, "stderr"));
    if (code != 0)
        buf_printf(b, " ended with exit code %lld", (long long)code);
    else
        buf_add_lit(b, out.n > 0 ? " printed:" : " printed nothing");
    buf_add_char(b, '\n');
    if (out.n > 0)
        add_fenced(b, out);
    if (oops.n > 0)
        add_fenced(b, oops);
    return true;
}

static void add_text_result(const struct demo_ask *q, struct buf *b, str text)
{
    struct json *v;
    text = str_trim(text);
    if (text.n > 0 && text.p[0] == '{' && json_parse(q->a, text, 0, &v, NULL) == 0) {
        if (!add_shell(b, v))
            add_object(q, b, v);
    } else if (text.n == 0) {
        buf_add_lit(b, " returned nothing.\n");
    } else if (text.n <= SHORT_BYTES && str_find_char(text, '\n') < 0) {
        buf_printf(b, ": **%.*s**\n", STR_ARG(text));
    } else {
        buf_add_lit(b, " returned:\n");
        add_fenced(b, text);
    }
}

static str result_text(const struct demo_ask *q, const struct llm_block *r, size_t *ret_images)
{
    struct buf b;
    buf_init(&b, TEXT_MAX);
    *ret_images = 0;
    for (size_t i = 0; i < r->nparts; i++) {
        if (r->parts[i].type == LLM_TEXT)
            buf_printf(&b, "%s%.*s", b.n ? "\n" : "",
                       STR_ARG(utf8_truncate(r->parts[i].text, TEXT_MAX / 2)));
        else
            ++*ret_images;
    }
    return finish_text(q, &b);
}

static const struct llm_block *find_result(const struct llm_message *results, str id)
{
    for (size_t i = 0; results && i < results->n; i++)
        if (results->blocks[i].type == LLM_TOOL_RESULT && str_eq(results->blocks[i].id, id))
            return &results->blocks[i];
    return NULL;
}

static void add_result(const struct demo_ask *q, struct buf *b, const struct llm_block *use,
                       const struct llm_block *r)
{
    size_t images = 0;
    str text = r ? result_text(q, r, &images) : STR_NONE;
    buf_printf(b, "%s`%.*s`", b->n > 0 ? "\n" : "", STR_ARG(use->name));
    if (!r)
        buf_add_lit(b, " gave no result.\n");
    else if (r->is_error)
        buf_printf(b, " failed: %.*s\n", STR_ARG(utf8_truncate(str_trim(text), SHORT_BYTES * 2)));
    else
        add_text_result(q, b, text);
    if (images > 0)
        buf_printf(b, "It also returned %zu picture%s.\n", images, images == 1 ? "" : "s");
}

str demo_report(const struct demo_ask *q)
{
    struct buf b;
    buf_init(&b, TEXT_MAX);
    for (size_t i = q->question + 1; i < q->req->nmessages; i++) {
        const struct llm_message *calls = &q->req->messages[i];
        const struct llm_message *results = i + 1 < q->req->nmessages ? calls + 1 : NULL;
        if (demo_is_search(calls))
            continue;
        for (size_t k = 0; k < calls->n; k++)
            if (calls->blocks[k].type == LLM_TOOL_USE)
                add_result(q, &b, &calls->blocks[k], find_result(results, calls->blocks[k].id));
    }
    return finish_text(q, &b);
}

/* ---- titles and summaries ---- */

/* The words of the first user in a transcript ("User: ..." or "<user>...") or all of it. */
static str transcript_user(str text)
{
    static const str MARKS[] = {STR_INIT("user:"), STR_INIT("<user>"), STR_INIT("<message>")};
    for (size_t i = 0; i < ARRAY_LEN(MARKS); i++) {
        ptrdiff_t at = str_find_nocase(text, MARKS[i]);
        if (at < 0)
            continue;
        str rest = str_trim(str_skip(text, (size_t)at + MARKS[i].n));
        ptrdiff_t end = str_find_char(rest, MARKS[i].p[0] == '<' ? '<' : '\n');
        return end < 0 ? rest : str_slice(rest, 0, (size_t)end);
    }
    return text;
}

str demo_title(const struct demo_ask *q)
{
    str rest = str_trim(transcript_user(q->all)), line, word;
    struct buf b;
    size_t words = 0;
    buf_init(&b, TITLE_BYTES);
    if (!str_split(&rest, '\n', &line))
        line = STR_NONE;
    while (words < TITLE_WORDS && str_split(&line, ' ', &word)) {
        while (word.n > 0 && strchr("\"'`.,;:!?{}()<>*#", word.p[word.n - 1]))
            word.n--;
        while (word.n > 0 && strchr("\"'`{}()<>*#", word.p[0]))
            word = str_skip(word, 1);
        if (word.n == 0 || word.n + b.n + 1 > TITLE_BYTES)
            continue;
        buf_printf(&b, "%s%.*s", words ? " " : "", STR_ARG(word));
        words++;
    }
    if (words == 0)
        buf_add_lit(&b, "Untitled conversation");
    else if (b.p[0] >= 'a' && b.p[0] <= 'z')
        b.p[0] = (char)(b.p[0] - 'a' + 'A');
    return finish_text(q, &b);
}

str demo_summary(const struct demo_ask *q)
{
    struct buf b;
    buf_init(&b, TEXT_MAX);
    buf_add_lit(&b, "What was said so far, shortened by the demo model:\n\n");
    for (size_t i = 0; i < q->req->nmessages && b.n < TEXT_MAX / 2; i++) {
        const struct llm_message *m = &q->req->messages[i];
        for (size_t k = 0; k < m->n; k++)
            if (m->blocks[k].type == LLM_TEXT)
                buf_printf(&b, "- %s: %.*s\n", m->role == LLM_USER ? "user" : "assistant",
                           STR_ARG(first_sentence(m->blocks[k].text)));
    }
    return finish_text(q, &b);
}
