/* demo_intent.c - how the demo understands a message: a table of rules, tried in order. */
#include <ctype.h>

#include "llm/demo/demo.h"

#define TITLE_TOKENS_MAX 256 /* requests for a title ask for little */

/* ---- understanding the request ---- */

static bool has_results(const struct llm_message *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->blocks[i].type == LLM_TOOL_RESULT)
            return true;
    return false;
}

static bool has_calls(const struct llm_message *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->blocks[i].type == LLM_TOOL_USE)
            return true;
    return false;
}

/* In a conversation of several people a message begins with the id of its author. */
static str without_author(str text)
{
    ptrdiff_t end = str_starts(text, STR("[usr_")) ? str_find(text, STR("] "), 0) : -1;
    return end > 0 ? str_trim(str_skip(text, (size_t)end + 2)) : text;
}

static void read_question(struct demo_ask *q, const struct llm_message *m)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct llm_block *b = &m->blocks[i];
        if (b->type == LLM_IMAGE)
            q->images++;
        else if (b->type == LLM_TEXT && q->text.n == 0)
            q->text = without_author(str_trim(b->text));
        else if (b->type == LLM_TEXT)
            q->context += b->text.n;
    }
}

/* Attached text follows the message in a fence or a tag, below a line that names it. */
static void split_attachment(struct demo_ask *q)
{
    static const str MARKS[] = {STR_INIT("\n<"), STR_INIT("\n```"), STR_INIT("\n---\n")};
    q->all = q->text;
    for (size_t i = 0; i < ARRAY_LEN(MARKS); i++) {
        ptrdiff_t at = str_find(q->text, MARKS[i], 0);
        if (at <= 0)
            continue;
        q->context += q->text.n - (size_t)at;
        q->text = str_trim(str_slice(q->text, 0, (size_t)at));
        ptrdiff_t line = str_rfind_char(q->text, '\n');
        if (line > 0 && str_ends(q->text, STR(":")))
            q->text = str_trim(str_slice(q->text, 0, (size_t)line));
    }
}

static void understand(struct demo_ask *q)
{
    const struct llm_request *req = q->req;
    q->is_first = true;
    for (size_t i = 0; i < req->nmessages; i++)
        q->is_first &= req->messages[i].role == LLM_USER;
    for (size_t i = req->nmessages; i-- > 0;) {
        const struct llm_message *m = &req->messages[i];
        q->rounds += m->role == LLM_ASSISTANT && has_calls(m) && !demo_is_search(m);
        if (m->role != LLM_USER || has_results(m))
            continue;
        q->question = i;
        read_question(q, m);
        break;
    }
    split_attachment(q);
}

const struct llm_tool *demo_find_tool(const struct llm_request *req, str name)
{
    for (size_t i = 0; name.n > 0 && i < req->ntools; i++)
        if (str_eq(req->tools[i].name, name))
            return &req->tools[i];
    for (size_t i = 0; name.n > 0 && i < req->ntools; i++) {
        str full = req->tools[i].name;
        if (full.n > name.n + 2 && str_ends(full, name) &&
            memcmp(full.p + full.n - name.n - 2, "__", 2) == 0)
            return &req->tools[i];
    }
    return NULL;
}

/* ---- hidden tools ---- */

#define SEARCHES "is not in my list of tools, so I search for it."

static str text_of(const struct llm_message *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->blocks[i].type == LLM_TEXT)
            return m->blocks[i].text;
    return STR_NONE;
}

bool demo_is_search(const struct llm_message *m)
{
    return m->role == LLM_ASSISTANT && str_find(text_of(m), STR(SEARCHES), 0) >= 0;
}

bool demo_search_tool(const struct demo_ask *q, str name, struct demo_plan *ret)
{
    const struct llm_tool *t = demo_find_tool(q->req, STR("discover_tools"));
    str words = arena_printf(q->a, "`%.*s` " SEARCHES "\n", STR_ARG(name));
    struct json args = {.type = JSON_OBJECT};
    for (size_t i = q->question; i < q->req->nmessages; i++)
        if (str_find(text_of(&q->req->messages[i]), str_trim(words), 0) >= 0)
            return false;
    if (!t)
        return false;
    json_set(q->a, &args, STR("query"), json_of_str(name));
    *ret = (struct demo_plan){.text = words, .nuses = 1};
    ret->uses[0] = (struct demo_use){t->name, json_to_str(q->a, &args)};
    return true;
}

/* ---- small words ---- */

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whole words only: "time" is not in "sometimes". */
static bool says(const struct demo_ask *q, const char *phrase)
{
    str p = str_from(phrase);
    for (size_t from = 0; from + p.n <= q->text.n; from++) {
        if (!str_starts_nocase(str_skip(q->text, from), p))
            continue;
        bool starts = from == 0 || !is_letter(q->text.p[from - 1]);
        bool ends = from + p.n == q->text.n || !is_letter(q->text.p[from + p.n]);
        if (starts && ends)
            return true;
    }
    return false;
}

static bool says_any(const struct demo_ask *q, const char *const *phrases)
{
    for (; *phrases; phrases++)
        if (says(q, *phrases))
            return true;
    return false;
}

static bool begins(const struct demo_ask *q, const char *word, str *ret_rest)
{
    str w = str_from(word);
    if (!str_starts_nocase(q->text, w))
        return false;
    *ret_rest = str_trim(str_skip(q->text, w.n));
    return ret_rest->n > 0;
}

static bool is_only(const struct demo_ask *q, const char *const *phrases)
{
    str t = q->text;
    while (t.n > 0 && ispunct((unsigned char)t.p[t.n - 1]))
        t.n--;
    while (t.n > 0 && t.p[0] == '/')
        t = str_skip(t, 1);
    for (; *phrases; phrases++)
        if (str_eq_nocase(t, str_from(*phrases)))
            return true;
    return false;
}

/* ---- calling one tool ---- */

/* The main argument: the first required one, else the first one. */
static str main_argument(const struct llm_tool *t, const char *otherwise)
{
    str name = json_string(json_at(json_get(t->schema, "required"), 0), STR_NONE);
    const struct json *props = json_get(t->schema, "properties");
    if (name.n == 0 && json_is(props, JSON_OBJECT) && props->len > 0)
        name = props->members[0].key;
    return name.n > 0 ? name : str_from(otherwise);
}

static void use_tool(struct demo_ask *q, const struct llm_tool *t, str argument, const char *name,
                     struct demo_plan *ret)
{
    struct json args = {.type = JSON_OBJECT};
    if (argument.n > 0)
        json_set(q->a, &args, main_argument(t, name), json_of_str(argument));
    ret->uses[ret->nuses++] = (struct demo_use){t->name, json_to_str(q->a, &args)};
}

/* ---- the rules ---- */

static bool is_aside(const struct demo_ask *q, const char *word)
{
    const struct llm_request *r = q->req;
    return r->ntools == 0 && (str_find_nocase(r->system_stable, str_from(word)) >= 0 ||
                              str_find_nocase(r->system_volatile, str_from(word)) >= 0 ||
                              str_find_nocase(q->text, str_from(word)) >= 0);
}

static bool do_title(struct demo_ask *q, struct demo_plan *ret)
{
    if (q->req->max_tokens <= 0 || q->req->max_tokens > TITLE_TOKENS_MAX || !is_aside(q, "title"))
        return false;
    q->is_first = false; /* a title needs no introduction */
    ret->text = demo_title(q);
    return true;
}

static bool do_summary(struct demo_ask *q, struct demo_plan *ret)
{
    if (q->req->ntools > 0 || str_find_nocase(q->req->system_stable, STR("summar")) < 0)
        return false;
    q->is_first = false;
    ret->text = demo_summary(q);
    return true;
}

static bool do_calls(struct demo_ask *q, struct demo_plan *ret)
{
    if (!demo_explicit_calls(q, ret))
        return false;
    if (ret->nuses > 0 || ret->text.n > 0)
        return true;
    return false; /* all rounds are over: report */
}

static bool do_report(struct demo_ask *q, struct demo_plan *ret)
{
    if (q->rounds == 0)
        return false;
    ret->text = demo_report(q);
    return true;
}

static bool do_help(struct demo_ask *q, struct demo_plan *ret)
{
    static const char *const WORDS[] = {"help", "what can you do", "what can i do", "h", "", NULL};
    if (!is_only(q, WORDS) && !says(q, "what can you do"))
        return false;
    ret->text = demo_help(q);
    return true;
}

static bool do_list_tools(struct demo_ask *q, struct demo_plan *ret)
{
    static const char *const WORDS[] = {
        "list tools",  "list the tools", "list your tools",   "list all tools",  "what tools",
        "which tools", "show tools",     "show me the tools", "available tools", NULL};
    static const char *const ALONE[] = {"tools", NULL};
    if (!is_only(q, ALONE) && !says_any(q, WORDS))
        return false;
    ret->text = demo_tool_list(q);
    return true;
}

static str without_ticks(str command)
{
    while (command.n > 1 && command.p[0] == '`' && command.p[command.n - 1] == '`')
        command = str_slice(command, 1, command.n - 1);
    return str_trim(command);
}

static bool do_shell(struct demo_ask *q, struct demo_plan *ret)
{
    static const char *const VERBS[] = {"run ", "execute ", "$ ", "!", NULL};
    static const char *const FILES[] = {"list files", "list the files", "what files", "which files",
                                        NULL};
    str command = STR_NONE;
    for (size_t i = 0; VERBS[i] && command.n == 0; i++)
        (void)begins(q, VERBS[i], &command);
    if (command.n == 0 && says_any(q, FILES))
        command = says(q, "home") ? STR("ls -la ~") : STR("ls -la");
    if (command.n == 0)
        return false;
    const struct llm_tool *t = demo_find_tool(q->req, STR("bash_exec"));
    if (t)
        use_tool(q, t, without_ticks(command), "command", ret);
    else if (!demo_search_tool(q, STR("bash_exec"), ret))
        ret->text = STR("I would run that, but no tool that runs commands is installed here.\n");
    return true;
}

/* "Europe/Berlin", as time zones are named. */
static str find_zone(const struct demo_ask *q)
{
    str rest = q->text, word;
    while (str_split(&rest, ' ', &word)) {
        while (word.n > 0 && ispunct((unsigned char)word.p[word.n - 1]))
            word.n--;
        ptrdiff_t slash = str_find_char(word, '/');
        if (slash > 0 && (size_t)slash + 1 < word.n && isupper((unsigned char)word.p[0]) &&
            isupper((unsigned char)word.p[slash + 1]))
            return word;
    }
    return STR_NONE;
}

static bool do_time(struct demo_ask *q, struct demo_plan *ret)
{
    static const char *const WORDS[] = {"what time",    "the time", "time is it", "current time",
                                        "what date",    "the date", "today",      "what day",
                                        "current date", "time now", NULL};
    static const char *const ALONE[] = {"time", "date", "now", NULL};
    const struct llm_tool *t = demo_find_tool(q->req, STR("time"));
    if (!t || (!says_any(q, WORDS) && !is_only(q, ALONE)))
        return false;
    use_tool(q, t, find_zone(q), "timezone", ret);
    return true;
}

static bool do_status(struct demo_ask *q, struct demo_plan *ret)
{
    static const char *const WORDS[] = {"status", "health", "healthy", "uptime", NULL};
    const struct llm_tool *t = demo_find_tool(q->req, STR("status"));
    if (!t)
        t = demo_find_tool(q->req, STR("bundle_status"));
    if (!t || !says_any(q, WORDS))
        return false;
    use_tool(q, t, STR_NONE, NULL, ret);
    return true;
}

/* Words that stand for signs in a sum. */
static const struct {
    const char *word, *sign;
} SIGNS[] = {{"plus", "+"},     {"minus", "-"},           {"times", "*"},
             {"x", "*"},        {"multiplied by", "*"},   {"divided by", "/"},
             {"over", "/"},     {"to the power of", "^"}, {"**", "^"},
             {"\xc3\x97", "*"}, {"\xc3\xb7", "/"}};

/* One piece of a sum at the start of s, or 0 when there is none. */
static size_t take_piece(str s, struct buf *out, bool *ret_is_sign)
{
    *ret_is_sign = false;
    for (size_t i = 0; i < ARRAY_LEN(SIGNS); i++) {
        str word = str_from(SIGNS[i].word);
        bool is_word = isalpha((unsigned char)word.p[0]);
        if (!str_starts_nocase(s, word) || (is_word && s.n > word.n && is_letter(s.p[word.n]) &&
                                            !isdigit((unsigned char)s.p[word.n])))
            continue;
        *ret_is_sign = true;
        (void)buf_add_lit(out, SIGNS[i].sign);
        return word.n;
    }
    char c = s.p[0];
    if (!isdigit((unsigned char)c) && !strchr("+-*/%^(). \t", c))
        return 0;
    *ret_is_sign = strchr("+-*/%^", c) != NULL;
    (void)buf_add_char(out, c);
    return 1;
}

/* The longest sum in the text with a sign between numbers; empty when there is none. */
static str find_sum(struct demo_ask *q)
{
    str best = STR_NONE;
    struct buf sum;
    buf_init(&sum, 1024);
    for (size_t from = 0; from < q->text.n; from++) {
        bool is_sign, has_sign = false, is_sum = false;
        size_t at = from, n;
        if (!isdigit((unsigned char)q->text.p[from]) && q->text.p[from] != '(')
            continue;
        buf_clear(&sum);
        while (at < q->text.n && (n = take_piece(str_skip(q->text, at), &sum, &is_sign)) > 0) {
            is_sum |= has_sign && isdigit((unsigned char)q->text.p[at]);
            has_sign |= is_sign;
            at += n;
        }
        str candidate = str_trim(buf_str(&sum));
        if (is_sum && candidate.n > best.n)
            best = arena_str(q->a, candidate);
        from = at; /* the sum that was read cannot be part of a longer one */
    }
    buf_done(&sum);
    while (best.n > 0 && strchr("+-*/%^(. ", best.p[best.n - 1]))
        best.n--;
    return best;
}

static bool do_sum(struct demo_ask *q, struct demo_plan *ret)
{
    static const char *const CUES[] = {"calculate", "compute", "what is", "what's", "how much",
                                       "evaluate",  "solve",   "equals",  NULL};
    const struct llm_tool *t = demo_find_tool(q->req, STR("calculate"));
    str sum = find_sum(q);
    if (!t || sum.n == 0 || (!says_any(q, CUES) && sum.n * 2 < q->text.n))
        return false;
    use_tool(q, t, sum, "expression", ret);
    return true;
}

/* Requests that a tool can fulfil; one message may contain several. */
static bool do_wishes(struct demo_ask *q, struct demo_plan *ret)
{
    bool has_sum = do_sum(q, ret);
    bool has_time = do_time(q, ret);
    bool has_status = do_status(q, ret);
    return has_sum || has_time || has_status;
}

static bool do_discover(struct demo_ask *q, struct demo_plan *ret)
{
    static const char *const LEADS[] = {"find a tool for ",  "find tools for ",      "discover ",
                                        "search tools for ", "is there a tool for ", NULL};
    const struct llm_tool *t = demo_find_tool(q->req, STR("discover_tools"));
    str what = STR_NONE;
    for (size_t i = 0; LEADS[i] && what.n == 0; i++)
        (void)begins(q, LEADS[i], &what);
    while (what.n > 0 && ispunct((unsigned char)what.p[what.n - 1]))
        what.n--;
    if (!t || what.n == 0)
        return false;
    use_tool(q, t, what, "query", ret);
    return true;
}

static bool do_delegate(struct demo_ask *q, struct demo_plan *ret)
{
    const struct llm_tool *t = demo_find_tool(q->req, STR("delegate"));
    str task;
    if (!t || !begins(q, "delegate ", &task))
        return false;
    use_tool(q, t, str_starts(task, STR(": ")) ? str_skip(task, 2) : task, "task", ret);
    return true;
}

static bool do_count(struct demo_ask *q, struct demo_plan *ret)
{
    str number;
    uint64_t to = 0;
    if (!begins(q, "count to ", &number))
        return false;
    while (number.n > 0 && !isdigit((unsigned char)number.p[number.n - 1]))
        number.n--;
    if (parse_u64(number, &to) < 0 || to == 0)
        return false;
    struct buf b;
    buf_init(&b, DEMO_COUNT_MAX * 8);
    for (uint64_t i = 1; i <= to && i <= DEMO_COUNT_MAX; i++)
        (void)buf_printf(&b, "%s%llu", i > 1 ? " " : "", (unsigned long long)i);
    if (to > DEMO_COUNT_MAX)
        (void)buf_printf(&b, " ... and I stop at %d.", DEMO_COUNT_MAX);
    ret->text = buf_keep(&b, q->a);
    return true;
}

static bool do_echo(struct demo_ask *q, struct demo_plan *ret)
{
    return begins(q, "say ", &ret->text) || begins(q, "echo ", &ret->text) ||
           begins(q, "repeat ", &ret->text);
}

static bool do_small_talk(struct demo_ask *q, struct demo_plan *ret)
{
    static const char *const HELLO[] = {"hello",       "hi",       "hey", "good morning",
                                        "hello there", "hi there", NULL};
    static const char *const THANKS[] = {"thanks", "thank you", "thx", NULL};
    static const char *const WHO[] = {"who are you", "what are you", "which model", "what model",
                                      NULL};
    if (is_only(q, HELLO))
        ret->text = STR("Hello! Say `help` to see what I can show you.\n");
    else if (is_only(q, THANKS))
        ret->text = STR("You are welcome.\n");
    else if (says_any(q, WHO))
        ret->text = q->is_first ? STR("That is all there is to me; say `help` for a tour.\n")
                                : demo_introduction();
    return ret->text.n > 0;
}

static bool do_shrug(struct demo_ask *q, struct demo_plan *ret)
{
    ret->text = demo_shrug(q);
    return true;
}

static bool (*const RULES[])(struct demo_ask *q, struct demo_plan *ret) = {
    do_title, do_summary,  do_calls, do_report, do_help,     do_list_tools, do_count,
    do_echo,  do_delegate, do_shell, do_wishes, do_discover, do_small_talk, do_shrug,
};

void demo_plan(struct arena *a, const struct llm_request *req, struct demo_plan *ret)
{
    struct demo_ask q = {.a = a, .req = req};
    *ret = (struct demo_plan){0};
    understand(&q);
    for (size_t i = 0; i < ARRAY_LEN(RULES) && ret->text.n == 0 && ret->nuses == 0; i++)
        if (RULES[i](&q, ret))
            break;
    if (q.is_first)
        ret->text = arena_concat(a, demo_introduction(), ret->text);
}
