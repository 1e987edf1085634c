/* demo_intent.c - how the demo understands a message: a table of rules, tried in order. */
#include <ctype.h>

#include "llm/demo/demo.h"

#define TITLE_TOKENS_MAX 256 /* requests for a title ask for little */

/* ---- understanding the request ---- */

static bool has_block(const struct llm_message *m, enum llm_block_type type)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->blocks[i].type == type)
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
        q->rounds += m->role == LLM_ASSISTANT && has_block(m, LLM_TOOL_USE) && !demo_is_search(m);
        if (m->role != LLM_USER || has_block(m, LLM_TOOL_RESULT))
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

/* ---- small words: lists of phrases, separated by '|' ---- */

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static str without_end(str s) /* punctuation */
{
    while (s.n > 0 && ispunct((unsigned char)s.p[s.n - 1]))
        s.n--;
    return s;
}

/* Whole words only: "time" is not in "sometimes". */
static bool says(const struct demo_ask *q, const char *phrases)
{
    str rest = str_from(phrases), p;
    while (str_split(&rest, '|', &p))
        for (size_t from = 0; from + p.n <= q->text.n; from++) {
            bool starts = from == 0 || !is_letter(q->text.p[from - 1]);
            bool ends = from + p.n == q->text.n || !is_letter(q->text.p[from + p.n]);
            if (starts && ends && str_starts_nocase(str_skip(q->text, from), p))
                return true;
        }
    return false;
}

static bool is_only(const struct demo_ask *q, const char *phrases)
{
    str rest = str_from(phrases), p, t = without_end(q->text);
    while (t.n > 0 && t.p[0] == '/')
        t = str_skip(t, 1);
    while (str_split(&rest, '|', &p))
        if (str_eq_nocase(t, p))
            return true;
    return false;
}

/* What follows the first of the leads that the text begins with; or empty. */
static str after(const struct demo_ask *q, const char *leads)
{
    str rest = str_from(leads), lead;
    while (str_split(&rest, '|', &lead))
        if (str_starts_nocase(q->text, lead) && str_trim(str_skip(q->text, lead.n)).n > 0)
            return str_trim(str_skip(q->text, lead.n));
    return STR_NONE;
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

/* nb itself asks, for a title or a summary: such a request has no tools. */
static bool do_aside(struct demo_ask *q, struct demo_plan *ret)
{
    const struct llm_request *r = q->req;
    bool is_short = r->max_tokens > 0 && r->max_tokens <= TITLE_TOKENS_MAX;
    if (r->ntools > 0)
        return false;
    if (is_short && str_find_nocase(r->system_stable, STR("title")) >= 0)
        ret->text = demo_title(q);
    else if (str_find_nocase(r->system_stable, STR("summar")) >= 0)
        ret->text = demo_summary(q);
    q->is_first &= ret->text.n == 0; /* it needs no introduction */
    return ret->text.n > 0;
}

static bool do_calls(struct demo_ask *q, struct demo_plan *ret)
{
    /* With neither a call nor a text all rounds are over: report. */
    return demo_explicit_calls(q, ret) && (ret->nuses > 0 || ret->text.n > 0);
}

static bool do_report(struct demo_ask *q, struct demo_plan *ret)
{
    if (q->rounds > 0)
        ret->text = demo_report(q);
    return q->rounds > 0;
}

static bool do_help(struct demo_ask *q, struct demo_plan *ret)
{
    if (is_only(q, "|help|what can i do|h") || says(q, "what can you do"))
        ret->text = demo_help(q);
    return ret->text.n > 0;
}

static bool do_list_tools(struct demo_ask *q, struct demo_plan *ret)
{
    if (is_only(q, "tools") ||
        says(q, "list tools|list the tools|list your tools|list all tools|what tools|which tools|"
                "show tools|show me the tools|available tools"))
        ret->text = demo_tool_list(q);
    return ret->text.n > 0;
}

static str without_ticks(str command)
{
    while (command.n > 1 && command.p[0] == '`' && command.p[command.n - 1] == '`')
        command = str_slice(command, 1, command.n - 1);
    return str_trim(command);
}

static bool do_shell(struct demo_ask *q, struct demo_plan *ret)
{
    const struct llm_tool *t = demo_find_tool(q->req, STR("bash_exec"));
    str command = after(q, "run |execute |$ |!");
    if (command.n == 0 && says(q, "list files|list the files|what files|which files"))
        command = says(q, "home") ? STR("ls -la ~") : STR("ls -la");
    if (command.n == 0)
        return false;
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
        word = without_end(word);
        ptrdiff_t slash = str_find_char(word, '/');
        if (slash > 0 && (size_t)slash + 1 < word.n && isupper((unsigned char)word.p[0]) &&
            isupper((unsigned char)word.p[slash + 1]))
            return word;
    }
    return STR_NONE;
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
        buf_add_lit(out, SIGNS[i].sign);
        return word.n;
    }
    char c = s.p[0];
    if (!isdigit((unsigned char)c) && !strchr("+-*/%^(). \t", c))
        return 0;
    *ret_is_sign = strchr("+-*/%^", c) != NULL;
    buf_add_char(out, c);
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

static bool asks_for_sum(const struct demo_ask *q, str sum)
{
    return sum.n > 0 &&
           (sum.n * 2 >= q->text.n ||
            says(q, "calculate|compute|what is|what's|how much|evaluate|solve|equals"));
}

static bool asks_for_time(const struct demo_ask *q)
{
    return is_only(q, "time|date|now") ||
           says(q, "what time|the time|time is it|current time|what date|the date|today|what day|"
                   "current date|time now");
}

/* Requests that a tool can fulfil; one message may contain several. */
static bool do_wishes(struct demo_ask *q, struct demo_plan *ret)
{
    const struct llm_tool *t;
    str sum = find_sum(q);
    if (asks_for_sum(q, sum) && (t = demo_find_tool(q->req, STR("calculate"))) != NULL)
        use_tool(q, t, sum, "expression", ret);
    if (asks_for_time(q) && (t = demo_find_tool(q->req, STR("time"))) != NULL)
        use_tool(q, t, find_zone(q), "timezone", ret);
    if (says(q, "status|health|healthy|uptime") &&
        ((t = demo_find_tool(q->req, STR("status"))) != NULL ||
         (t = demo_find_tool(q->req, STR("bundle_status"))) != NULL))
        use_tool(q, t, STR_NONE, NULL, ret);
    return ret->nuses > 0;
}

/* A tool whose argument is what follows the lead. */
static bool use_for_rest(struct demo_ask *q, const char *tool, str rest, const char *argument,
                         struct demo_plan *ret)
{
    const struct llm_tool *t = rest.n > 0 ? demo_find_tool(q->req, str_from(tool)) : NULL;
    if (t)
        use_tool(q, t, rest, argument, ret);
    return t != NULL;
}

static bool do_discover(struct demo_ask *q, struct demo_plan *ret)
{
    str what = after(q, "find a tool for |find tools for |discover |search tools for |"
                        "is there a tool for ");
    return use_for_rest(q, "discover_tools", without_end(what), "query", ret);
}

static bool do_delegate(struct demo_ask *q, struct demo_plan *ret)
{
    return use_for_rest(q, "delegate", after(q, "delegate : |delegate "), "task", ret);
}

static bool do_count(struct demo_ask *q, struct demo_plan *ret)
{
    str number = after(q, "count to ");
    uint64_t to = 0;
    while (number.n > 0 && !isdigit((unsigned char)number.p[number.n - 1]))
        number.n--;
    if (parse_u64(number, &to) < 0 || to == 0)
        return false;
    struct buf b;
    buf_init(&b, DEMO_COUNT_MAX * 8);
    for (uint64_t i = 1; i <= to && i <= DEMO_COUNT_MAX; i++)
        buf_printf(&b, "%s%llu", i > 1 ? " " : "", (unsigned long long)i);
    if (to > DEMO_COUNT_MAX)
        buf_printf(&b, " ... and I stop at %d.", DEMO_COUNT_MAX);
    ret->text = buf_keep(&b, q->a);
    return true;
}

static bool do_echo(struct demo_ask *q, struct demo_plan *ret)
{
    ret->text = after(q, "say |echo |repeat ");
    return ret->text.n > 0;
}

static bool do_small_talk(struct demo_ask *q, struct demo_plan *ret)
{
    if (is_only(q, "hello|hi|hey|good morning|hello there|hi there"))
        ret->text = STR("Hello! Say `help` to see what I can show you.\n");
    else if (is_only(q, "thanks|thank you|thx"))
        ret->text = STR("You are welcome.\n");
    else if (says(q, "who are you|what are you|which model|what model"))
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
    do_aside,    do_calls, do_report, do_help,     do_list_tools, do_count, do_echo,
    do_delegate, do_shell, do_wishes, do_discover, do_small_talk, do_shrug,
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
