/* demo_text.c - the answers of the demo. Markdown, short, and clear that this is a demo. */
#include "base/utf8.h"
#include "llm/demo/demo.h"

#define BLANKS           " \t\r\n"
#define PLURAL(n)        ((n) == 1 ? "" : "s")
#define TOOLS_SHOWN      40
#define LINES_SHOWN      20
#define MEMBERS_SHOWN    12
#define SHORT_BYTES      200
#define TITLE_WORDS      6
#define TITLE_BYTES      60
#define TITLE_TOKENS_MAX 256 /* requests for a title ask for little */

void demo_help(struct demo_ask *q, str rest)
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
        {"show_table", "`show the table` opens an app in the conversation"},
        {"show_chart", "`draw a chart of 3, 1, 4, 1, 5` draws one"},
        {NULL, "`draw a diagram` shows how a message is answered"},
        {"delegate", "`delegate count to 5` gives a task to a child agent"},
        {NULL, "`count to 100` shows streaming; stop me whenever you like"},
        {NULL, "`say something` repeats it"},
    };
    (void)rest;
    buf_add_lit(&q->out, "Things to try:\n\n");
    for (size_t i = 0; i < ARRAY_LEN(LINES); i++)
        if (!LINES[i].tool || demo_find_tool(q->req, str_from(LINES[i].tool)))
            buf_printf(&q->out, "- %s\n", LINES[i].line);
}

/* The first sentence or line. */
static str first_sentence(str s)
{
    str rest = str_trim(s), line = STR_NONE;
    str_split(&rest, '\n', &line);
    ptrdiff_t end = str_find(line, STR(". "), 0);
    if (end >= 0)
        line = str_slice(line, 0, (size_t)end + 1);
    return utf8_truncate(line, SHORT_BYTES);
}

void demo_tool_list(struct demo_ask *q, str rest)
{
    const struct llm_request *req = q->req;
    (void)rest;
    if (req->ntools == 0)
        buf_add_lit(&q->out, "I have no tools here.\n");
    else
        buf_printf(&q->out, "I can call %zu tool%s:\n\n", req->ntools, PLURAL(req->ntools));
    for (size_t i = 0; i < req->ntools && i < TOOLS_SHOWN; i++) {
        str what = first_sentence(req->tools[i].description);
        buf_printf(&q->out, "- `%.*s`%s%.*s\n", STR_ARG(req->tools[i].name), what.n > 0 ? ": " : "",
                   STR_ARG(what));
    }
    if (req->ntools > TOOLS_SHOWN)
        buf_printf(&q->out, "- and %zu more\n", req->ntools - TOOLS_SHOWN);
    /* The words of the prompt when there are too many tools to list them all. */
    if (str_find(req->system_volatile, STR("Not all tools are in your list"), 0) >= 0)
        buf_add_lit(&q->out, "\nMore tools are installed than I am shown at a time: `find tools "
                             "for files` searches all of them, and `call NAME {...}` calls any.\n");
}

void demo_shrug(struct demo_ask *q, str rest)
{
    size_t words = 0;
    for (size_t i = 0; i < rest.n; i++)
        words += !strchr(BLANKS, rest.p[i]) && (i == 0 || strchr(BLANKS, rest.p[i - 1]));
    buf_printf(&q->out, "I read your message of %zu word%s", words, PLURAL(words));
    if (q->context >= 1000)
        buf_printf(&q->out, ", with %.1f kB of context attached", (double)q->context / 1000);
    else if (q->context > 0)
        buf_printf(&q->out, ", with %zu bytes of context attached", q->context);
    if (q->images > 0)
        buf_printf(&q->out, ", and %zu picture%s", q->images, PLURAL(q->images));
    buf_add_lit(&q->out, ", but I have no rule for it. A real model would answer here. Say "
                         "`help` to see what I understand.\n");
}

/* ---- reporting results ---- */

static void add_fenced(struct buf *b, str text)
{
    str line;
    size_t n = 0;
    if (text.n == 0)
        return;
    buf_add_lit(b, "\n```\n");
    for (; str_split(&text, '\n', &line); n++)
        if (n < LINES_SHOWN)
            buf_printf(b, "%.*s\n", STR_ARG(utf8_truncate(line, SHORT_BYTES)));
    buf_add_lit(b, "```\n");
    if (n > LINES_SHOWN)
        buf_printf(b, "(%zu more line%s)\n", n - LINES_SHOWN, PLURAL(n - LINES_SHOWN));
}

static void add_object(const struct demo_ask *q, struct buf *b, const struct json *v)
{
    buf_add_lit(b, " returned:\n\n");
    for (size_t i = 0; i < v->len && i < MEMBERS_SHOWN; i++) {
        const struct json *member = &v->members[i].value;
        str s = member->type == JSON_STRING ? member->s : json_to_str(q->a, member);
        str cut = utf8_truncate(s, SHORT_BYTES);
        buf_printf(b, "- %.*s: %.*s%s\n", STR_ARG(v->members[i].key), STR_ARG(cut),
                   cut.n < s.n ? " ..." : "");
    }
    if (v->len > MEMBERS_SHOWN)
        buf_printf(b, "- and %zu more\n", (size_t)v->len - MEMBERS_SHOWN);
}

/* The result of a shell: {stdout, stderr, exit_code}. */
static void add_shell(struct buf *b, const struct json *v)
{
    int64_t code = json_get_int(v, "exit_code", 0);
    str out = str_trim(json_get_string(v, "stdout"));
    if (code != 0)
        buf_printf(b, " ended with exit code %lld", (long long)code);
    else
        buf_add_lit(b, out.n > 0 ? " printed:" : " printed nothing");
    buf_add_char(b, '\n');
    add_fenced(b, out);
    add_fenced(b, str_trim(json_get_string(v, "stderr")));
}

static void add_text_result(const struct demo_ask *q, struct buf *b, str text)
{
    struct json *v = NULL;
    if (str_starts(text, STR("{")) && json_parse(q->a, text, 0, &v, NULL) < 0)
        v = NULL;
    if (v && json_is(json_get(v, "stdout"), JSON_STRING)) {
        add_shell(b, v);
    } else if (v) {
        add_object(q, b, v);
    } else if (text.n <= SHORT_BYTES && str_find_char(text, '\n') < 0) {
        buf_printf(b, text.n > 0 ? ": **%.*s**\n" : " returned nothing.%.*s\n", STR_ARG(text));
    } else {
        buf_add_lit(b, " returned:\n");
        add_fenced(b, text);
    }
}

/* What the call `use` returned, which is in the message behind it. */
static void add_result(const struct demo_ask *q, struct buf *b, const struct llm_block *use,
                       const struct llm_message *results)
{
    const struct llm_block *r = NULL;
    struct buf text;
    size_t images = 0;
    buf_printf(b, "%s`%.*s`", b->n > 0 ? "\n" : "", STR_ARG(use->name));
    for (size_t i = 0; results && !r && i < results->n; i++)
        if (results->blocks[i].type == LLM_TOOL_RESULT && str_eq(results->blocks[i].id, use->id))
            r = &results->blocks[i];
    buf_init(&text, DEMO_TEXT_MAX);
    for (size_t i = 0; r && i < r->nparts; i++) {
        if (r->parts[i].type == LLM_TEXT)
            buf_printf(&text, "%s%.*s", text.n ? "\n" : "",
                       STR_ARG(utf8_truncate(r->parts[i].text, DEMO_TEXT_MAX / 2)));
        else
            images++;
    }
    str words = str_trim(buf_str(&text));
    if (!r)
        buf_add_lit(b, " gave no result.\n");
    else if (r->is_error)
        buf_printf(b, " failed: %.*s\n", STR_ARG(utf8_truncate(words, SHORT_BYTES * 2)));
    else
        add_text_result(q, b, words);
    if (images > 0)
        buf_printf(b, "It also returned %zu picture%s.\n", images, PLURAL(images));
    buf_done(&text);
}

void demo_report(struct demo_ask *q, str rest)
{
    (void)rest;
    for (size_t i = q->question + 1; q->rounds > 0 && i < q->req->nmessages; i++) {
        const struct llm_message *calls = &q->req->messages[i];
        const struct llm_message *results = i + 1 < q->req->nmessages ? calls + 1 : NULL;
        for (size_t k = 0; k < calls->n && !demo_is_search(calls); k++)
            if (calls->blocks[k].type == LLM_TOOL_USE)
                add_result(q, &q->out, &calls->blocks[k], results);
    }
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
        str rest = str_trim(str_skip(text, (size_t)at + MARKS[i].n)), words = STR_NONE;
        str_split(&rest, MARKS[i].p[0] == '<' ? '<' : '\n', &words);
        return words;
    }
    return text;
}

static void add_title(struct buf *b, str text)
{
    str line = STR_NONE, word;
    size_t words = 0;
    str_split(&text, '\n', &line);
    while (words < TITLE_WORDS && str_split(&line, ' ', &word)) {
        while (word.n > 0 && strchr("\"'`.,;:!?{}()<>*#", word.p[word.n - 1]))
            word.n--;
        while (word.n > 0 && strchr("\"'`{}()<>*#", word.p[0]))
            word = str_skip(word, 1);
        if (word.n == 0 || word.n + b->n + 1 > TITLE_BYTES)
            continue;
        buf_printf(b, "%s%.*s", words++ ? " " : "", STR_ARG(word));
    }
    if (words == 0)
        buf_add_lit(b, "Untitled conversation");
    else if (b->p[0] >= 'a' && b->p[0] <= 'z')
        b->p[0] = (char)(b->p[0] - 'a' + 'A');
}

static void add_summary(struct buf *b, const struct llm_request *req)
{
    buf_add_lit(b, "What was said so far, shortened by the demo model:\n\n");
    for (size_t i = 0; i < req->nmessages && b->n < DEMO_TEXT_MAX / 2; i++) {
        const struct llm_message *m = &req->messages[i];
        for (size_t k = 0; k < m->n; k++)
            if (m->blocks[k].type == LLM_TEXT)
                buf_printf(b, "- %s: %.*s\n", m->role == LLM_USER ? "user" : "assistant",
                           STR_ARG(first_sentence(m->blocks[k].text)));
    }
}

void demo_aside(struct demo_ask *q, str rest)
{
    const struct llm_request *r = q->req;
    bool is_short = r->max_tokens > 0 && r->max_tokens <= TITLE_TOKENS_MAX;
    (void)rest;
    if (r->ntools > 0)
        return;
    if (is_short && str_find_nocase(r->system_stable, STR("title")) >= 0)
        add_title(&q->out, str_trim(transcript_user(q->all)));
    else if (str_find_nocase(r->system_stable, STR("summar")) >= 0)
        add_summary(&q->out, r);
    q->is_first &= q->out.n == 0; /* it needs no introduction */
}
