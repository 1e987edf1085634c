/* demo_intent.c - how the demo understands a message: a table of rules, tried in order. */
#include <ctype.h>

#include "llm/demo/demo.h"

#define SEARCHES "is not in my list of tools, so I search for it."

static const char INTRODUCTION[] =
    "I am the **demo model** that is built into nb: a handful of rules, no neural "
    "network, no internet. I can show you around and call tools. For real answers "
    "connect a model: in the settings of the page, with `ANTHROPIC_API_KEY` or "
    "`OPENAI_API_KEY`, or with a local server such as Ollama.\n\n";

static const char DIAGRAM[] = "This is how nb answers a message:\n\n"
                              "```mermaid\n"
                              "sequenceDiagram\n"
                              "    actor You\n"
                              "    participant nb\n"
                              "    participant Model\n"
                              "    participant Tool\n"
                              "    You->>+nb: message\n"
                              "    loop until the answer is complete\n"
                              "        nb->>+Model: conversation and tools\n"
                              "        Model-->>-nb: text, or calls of tools\n"
                              "        opt calls of tools\n"
                              "            Note over nb: Asks you, if the rules say so\n"
                              "            nb->>+Tool: call\n"
                              "            Tool-->>-nb: result\n"
                              "        end\n"
                              "    end\n"
                              "    nb-->>-You: answer\n"
                              "```\n";

/* ---- understanding the request ---- */

/* The first block of this type, or NULL. */
static const struct llm_block *block_of(const struct llm_message *m, enum llm_block_type type)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->blocks[i].type == type)
            return &m->blocks[i];
    return NULL;
}

static bool has_words(const struct llm_message *m, str words)
{
    const struct llm_block *b = block_of(m, LLM_TEXT);
    return b && str_find(b->text, words, 0) >= 0;
}

bool demo_is_search(const struct llm_message *m)
{
    return m->role == LLM_ASSISTANT && has_words(m, STR(SEARCHES));
}

static void read_question(struct demo_ask *q, const struct llm_message *m)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct llm_block *b = &m->blocks[i];
        if (b->type == LLM_TEXT && q->text.n == 0)
            q->text = str_trim(b->text);
        else if (b->type == LLM_TEXT)
            q->context += b->text.n;
        q->images += b->type == LLM_IMAGE;
    }
}

/* Attached text follows the message in a fence or a tag, below a line that names it. */
static void split_attachment(struct demo_ask *q)
{
    static const str MARKS[] = {STR_INIT("\n<"), STR_INIT("\n```"), STR_INIT("\n---\n")};
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
    bool is_found = false;
    q->is_first = true;
    for (size_t i = q->req->nmessages; i-- > 0;) {
        const struct llm_message *m = &q->req->messages[i];
        q->is_first &= m->role == LLM_USER;
        if (is_found)
            continue;
        q->rounds += m->role == LLM_ASSISTANT && block_of(m, LLM_TOOL_USE) && !demo_is_search(m);
        is_found = m->role == LLM_USER && !block_of(m, LLM_TOOL_RESULT);
        if (is_found)
            q->question = i, read_question(q, m);
    }
    /* In a conversation of several people a message begins with the id of its author. */
    ptrdiff_t end = str_starts(q->text, STR("[usr_")) ? str_find(q->text, STR("] "), 0) : -1;
    if (end > 0)
        q->text = str_trim(str_skip(q->text, (size_t)end + 2));
    q->all = q->text;
    split_attachment(q);
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

static bool is_one_of(str s, const char *phrases)
{
    str rest = str_from(phrases), p;
    while (str_split(&rest, '|', &p))
        if (str_eq_nocase(s, p))
            return true;
    return false;
}

static bool is_only(const struct demo_ask *q, const char *phrases)
{
    str t = without_end(q->text);
    while (str_starts(t, STR("/")))
        t = str_skip(t, 1);
    return is_one_of(t, phrases);
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

/* What follows the first of the leads that the text begins with; or empty. */
static str after(const struct demo_ask *q, const char *leads)
{
    str rest = str_from(leads), lead;
    while (str_split(&rest, '|', &lead))
        if (str_starts_nocase(q->text, lead) && str_trim(str_skip(q->text, lead.n)).n > 0)
            return str_trim(str_skip(q->text, lead.n));
    return STR_NONE;
}

/* ---- calling tools ---- */

const struct llm_tool *demo_find_tool(const struct llm_request *req, str name)
{
    const struct llm_tool *found = NULL;
    for (size_t i = 0; name.n > 0 && i < req->ntools; i++) {
        str full = req->tools[i].name;
        if (str_eq(full, name))
            return &req->tools[i];
        if (!found && full.n > name.n + 2 && str_ends(full, name) &&
            str_ends(str_slice(full, 0, full.n - name.n), STR("__")))
            found = &req->tools[i];
    }
    return found;
}

/* The main argument: the first required one, else the first one. */
static str main_argument(const struct llm_tool *t, const char *otherwise)
{
    str name = json_string(json_at(json_get(t->schema, "required"), 0), STR_NONE);
    const struct json *props = json_get(t->schema, "properties");
    if (name.n == 0 && json_is(props, JSON_OBJECT) && props->len > 0)
        name = props->members[0].key;
    return name.n > 0 ? name : str_from(otherwise);
}

static void add_use(struct demo_ask *q, const struct llm_tool *t, const struct json *args)
{
    if (q->plan->nuses < DEMO_USES_MAX)
        q->plan->uses[q->plan->nuses++] = (struct demo_use){t->name, json_to_str(q->a, args)};
}

/* False when there is no such tool. Without an argument it is STR_NONE. */
static bool use_tool(struct demo_ask *q, const char *tool, str argument, const char *name)
{
    const struct llm_tool *t = demo_find_tool(q->req, str_from(tool));
    struct json args = {.type = JSON_OBJECT};
    if (t && argument.p)
        json_set(q->a, &args, main_argument(t, name), json_of_str(argument));
    if (t)
        add_use(q, t, &args);
    return t != NULL;
}

/* A tool that is not in the request may be hidden because there are too many: searches for it, once
 * per question. False when it was searched for already, or cannot be. */
static bool search_tool(struct demo_ask *q, str name)
{
    str words = arena_printf(q->a, "`%.*s` " SEARCHES, STR_ARG(name));
    for (size_t i = q->question; i < q->req->nmessages; i++)
        if (has_words(&q->req->messages[i], words))
            return false;
    if (!demo_find_tool(q->req, STR("discover_tools")))
        return false;
    *q->plan = (struct demo_plan){.text = arena_concat(q->a, words, STR("\n"))};
    return use_tool(q, "discover_tools", name, "query");
}

/* ---- "call nb__calculate {"expression": "2+2"}", once, several at a time, or, with "then" between
 * them, one round after another ---- */

static str take_word(str *rest)
{
    size_t n = 0;
    while (n < rest->n && (is_letter(rest->p[n]) || rest->p[n] == '-'))
        n++;
    str word = str_slice(*rest, 0, n);
    *rest = str_skip(*rest, n);
    return word;
}

static str skip_blanks(str s)
{
    while (s.n > 0 && strchr(" \t\r\n`:", s.p[0]))
        s = str_skip(s, 1);
    return s;
}

/* The object that begins here, by matching its braces outside of strings. */
static str take_object(str *rest)
{
    size_t depth = 0, at = 0;
    bool in_string = false;
    if (!str_starts(*rest, STR("{")))
        return STR("{}");
    for (; at < rest->n; at++) {
        char c = rest->p[at];
        if (in_string && c == '\\')
            at++;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && c == '{')
            depth++;
        else if (!in_string && c == '}' && --depth == 0)
            break;
    }
    str object = str_slice(*rest, 0, at + 1);
    *rest = str_skip(*rest, at + 1);
    return object;
}

static void call_tool(struct demo_ask *q, const struct llm_tool *tool, str args)
{
    struct json *v;
    struct err e = {0};
    if (json_parse(q->a, args, 0, &v, &e) == 0)
        add_use(q, tool, v);
    else
        q->plan->text = arena_printf(q->a,
                                     "The arguments you gave for `%.*s` are not valid JSON (%s), "
                                     "so I did not call it.\n",
                                     STR_ARG(tool->name), e.msg);
}

/* Makes the calls of the round that is due, if there are any. */
static void call_by_name(struct demo_ask *q, str rest)
{
    for (size_t found = 0, step = 0; rest.n > 0;) {
        str word = take_word(&rest);
        step += found > 0 && is_one_of(word, "then");
        if (!is_one_of(word, "call|use|run")) {
            rest = str_skip(rest, word.n == 0);
            continue;
        }
        rest = skip_blanks(rest);
        str name = take_word(&rest);
        rest = skip_blanks(rest);
        const struct llm_tool *tool = demo_find_tool(q->req, name);
        if (!tool && !str_starts(rest, STR("{")) && str_find(name, STR("__"), 0) < 0)
            continue; /* "call me Ishmael" */
        found++;
        str args = take_object(&rest);
        if (step != q->rounds)
            continue;
        if (tool)
            call_tool(q, tool, args);
        else if (search_tool(q, name))
            return;
        else
            q->plan->text = arena_printf(q->a,
                                         "There is no tool `%.*s` here. Say `tools` to see those "
                                         "I can call.\n",
                                         STR_ARG(name));
    }
}

/* ---- requests that a tool can fulfil ---- */

static void run_command(struct demo_ask *q, str rest)
{
    str command = after(q, "run |execute |$ |!");
    (void)rest;
    if (command.n == 0 && says(q, "list files|list the files|what files|which files"))
        command = says(q, "home") ? STR("ls -la ~") : STR("ls -la");
    if (command.n == 0)
        return;
    while (command.n > 1 && command.p[0] == '`' && command.p[command.n - 1] == '`')
        command = str_slice(command, 1, command.n - 1);
    command = str_trim(command);
    if (!use_tool(q, "bash_exec", command.n > 0 ? command : STR_NONE, "command") &&
        !search_tool(q, STR("bash_exec")))
        q->plan->text =
            STR("I would run that, but no tool that runs commands is installed here.\n");
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

/* The text with signs instead of the words for them. */
static str with_signs(const struct demo_ask *q)
{
    static const char *const SIGNS[][2] = {
        {"plus", "+"},     {"minus", "-"},           {"times", "*"},
        {"x", "*"},        {"multiplied by", "*"},   {"divided by", "/"},
        {"over", "/"},     {"to the power of", "^"}, {"**", "^"},
        {"\xc3\x97", "*"}, {"\xc3\xb7", "/"}};
    struct buf b;
    buf_init(&b, q->text.n + 1);
    for (str rest = q->text; rest.n > 0;) {
        str sign = str_slice(rest, 0, 1), next = str_skip(rest, 1);
        for (size_t i = 0; i < ARRAY_LEN(SIGNS); i++) {
            str word = str_from(SIGNS[i][0]), behind = str_skip(rest, word.n);
            bool is_cut = isalpha((unsigned char)word.p[0]) && behind.n > 0 &&
                          is_letter(behind.p[0]) && !isdigit((unsigned char)behind.p[0]);
            if (str_starts_nocase(rest, word) && !is_cut)
                sign = str_from(SIGNS[i][1]), next = behind;
        }
        buf_add_str(&b, sign);
        rest = next;
    }
    return buf_keep(&b, q->a);
}

/* The bytes before the first one that is in the set, or (is_in) is not. Unlike strcspn it never
 * looks beyond s: with a long text behind s, that would be quadratic. */
static size_t span(str s, str set, bool is_in)
{
    size_t n = 0;
    while (n < s.n && (memchr(set.p, s.p[n], set.n) != NULL) == is_in)
        n++;
    return n;
}

/* The longest sum in the text with a sign between numbers; empty when there is none. */
static str find_sum(const struct demo_ask *q)
{
    str best = STR_NONE;
    for (str rest = with_signs(q); rest.n > 0;) {
        size_t n = span(rest, STR("0123456789+-*/%^(). \t"), true);
        str sum = str_slice(rest, 0, n);
        sum = str_skip(sum, span(sum, STR("0123456789("), false));
        str signs = str_skip(sum, span(sum, STR("+-*/%^"), false));
        bool is_sum = span(signs, STR("0123456789"), false) < signs.n;
        if (is_sum && str_trim(sum).n > best.n)
            best = str_trim(sum);
        rest = str_skip(rest, n + 1);
    }
    while (best.n > 0 && strchr("+-*/%^(. ", best.p[best.n - 1]))
        best.n--;
    return best;
}

/* One message may contain several. */
static void fulfil_wishes(struct demo_ask *q, str rest)
{
    str sum = find_sum(q);
    (void)rest;
    if (sum.n > 0 && (sum.n * 2 >= q->text.n || says(q, "calculate|compute|what is|what's|how much|"
                                                        "evaluate|solve|equals")))
        use_tool(q, "calculate", sum, "expression");
    if (is_only(q, "time|date|now") ||
        says(q, "what time|the time|time is it|current time|what date|the date|today|what day|"
                "current date|time now"))
        use_tool(q, "time", find_zone(q), "timezone");
    if (says(q, "status|health|healthy|uptime") && !use_tool(q, "status", STR_NONE, NULL))
        use_tool(q, "bundle_status", STR_NONE, NULL);
}

static void discover(struct demo_ask *q, str rest)
{
    if (without_end(rest).n > 0)
        use_tool(q, "discover_tools", without_end(rest), "query");
}

static void delegate(struct demo_ask *q, str rest)
{
    use_tool(q, "delegate", rest, "task");
}

/* ---- the example apps (examples/) ---- */

/* The numbers of the text, or its parts between commas. */
static struct json *split_list(struct demo_ask *q, str rest, bool is_numbers)
{
    struct json *list = json_new(q->a, JSON_ARRAY);
    str part;
    while (str_split(&rest, ',', &part)) {
        struct json *v;
        part = str_trim(part);
        if (!is_numbers)
            json_push(q->a, list, json_of_str(part));
        else if (json_parse(q->a, part, 0, &v, NULL) == 0 &&
                 (v->type == JSON_INT || v->type == JSON_NUMBER))
            json_push(q->a, list, *v);
    }
    return list;
}

static void use_example(struct demo_ask *q, const char *app, const char *tool, const char *argument,
                        const struct json *value)
{
    const struct llm_tool *t = demo_find_tool(q->req, str_from(tool));
    struct json args = {.type = JSON_OBJECT};
    if (argument)
        json_set(q->a, &args, str_from(argument), *value);
    if (t)
        add_use(q, t, &args);
    else if (!search_tool(q, str_from(tool)))
        q->plan->text = arena_printf(q->a,
                                     "That needs the example app `%s`, which is not installed. In "
                                     "the directory of nb's sources: `nb bundle add "
                                     "./examples/%s`\n",
                                     app, app);
}

static void show_table(struct demo_ask *q, str rest)
{
    (void)rest;
    use_example(q, "table", "show_table", NULL, NULL);
}

static void add_table_row(struct demo_ask *q, str rest)
{
    use_example(q, "table", "add_row", "cells", split_list(q, without_end(rest), false));
}

/* The interface of the table offers this while it is open. */
static void highlight_row(struct demo_ask *q, str rest)
{
    const struct json *rows = split_list(q, without_end(rest), true);
    const struct llm_tool *t = demo_find_tool(q->req, STR("highlight_row"));
    struct json args = {.type = JSON_OBJECT};
    if (!t || rows->len != 1) {
        q->plan->text = STR("That works while the table is open. Say `show the table`, then "
                            "`highlight row 2`.\n");
        return;
    }
    json_set(q->a, &args, STR("row"), rows->items[0]);
    add_use(q, t, &args);
}

static void draw_chart(struct demo_ask *q, str rest)
{
    const struct json *values = split_list(q, without_end(rest), true);
    if (values->len > 0)
        use_example(q, "chart", "show_chart", "values", values);
}

/* ---- the rules ---- */

static void count(struct demo_ask *q, str number)
{
    uint64_t to = 0;
    while (number.n > 0 && !isdigit((unsigned char)number.p[number.n - 1]))
        number.n--;
    if (parse_u64(number, &to) < 0)
        return;
    for (uint64_t i = 1; i <= to && i <= DEMO_COUNT_MAX; i++)
        buf_printf(&q->out, "%s%llu", i > 1 ? " " : "", (unsigned long long)i);
    if (to > DEMO_COUNT_MAX)
        buf_printf(&q->out, " ... and I stop at %d.", DEMO_COUNT_MAX);
}

static void echo(struct demo_ask *q, str rest)
{
    q->plan->text = rest;
}

static void introduce(struct demo_ask *q, str rest)
{
    (void)rest;
    q->plan->text = q->is_first ? STR("That is all there is to me; say `help` for a tour.\n")
                                : str_from(INTRODUCTION);
}

static const struct {
    const char *only;  /* the whole message is one of these, or it */
    const char *says;  /* contains one of these, or it */
    const char *leads; /* begins with one of these; a rule without any of them always applies */
    const char *text;  /* the answer, or what makes it: */
    void (*act)(struct demo_ask *q, str rest);
} RULES[] = {
    {.act = demo_aside},
    {.act = call_by_name},
    {.act = demo_report}, /* all rounds are over */
    {.only = "|help|what can i do|h", .says = "what can you do", .act = demo_help},
    {.only = "tools",
     .says = "list tools|list the tools|list your tools|list all tools|what tools|which tools|"
             "show tools|show me the tools|available tools",
     .act = demo_tool_list},
    {.leads = "count to ", .act = count},
    {.leads = "say |echo |repeat ", .act = echo},
    {.leads = "delegate : |delegate ", .act = delegate},
    {.says = "show the table|show me the table|open the table", .act = show_table},
    {.leads = "add a row: |add a row ", .act = add_table_row},
    {.leads = "highlight row ", .act = highlight_row},
    {.says = "draw a diagram|show a diagram|show me a diagram", .text = DIAGRAM},
    {.leads = "draw a chart of |draw a chart: |chart of ", .act = draw_chart},
    {.act = run_command},
    {.act = fulfil_wishes},
    {.leads = "find a tool for |find tools for |discover |search tools for |is there a tool for ",
     .act = discover},
    {.only = "hello|hi|hey|good morning|hello there|hi there",
     .text = "Hello! Say `help` to see what I can show you.\n"},
    {.only = "thanks|thank you|thx", .text = "You are welcome.\n"},
    {.says = "who are you|what are you|which model|what model", .act = introduce},
    {.act = demo_shrug},
};

static void apply_rule(struct demo_ask *q, size_t i)
{
    bool is_always = !RULES[i].only && !RULES[i].says && !RULES[i].leads;
    str rest = is_always ? q->text : after(q, RULES[i].leads);
    if (!is_always && rest.n == 0 && !(RULES[i].only && is_only(q, RULES[i].only)) &&
        !says(q, RULES[i].says))
        return;
    if (RULES[i].act)
        RULES[i].act(q, rest);
    else
        q->plan->text = str_from(RULES[i].text);
}

void demo_plan(struct arena *a, const struct llm_request *req, struct demo_plan *ret)
{
    struct demo_ask q = {.a = a, .req = req, .plan = ret};
    *ret = (struct demo_plan){0};
    buf_init(&q.out, DEMO_TEXT_MAX);
    understand(&q);
    for (size_t i = 0; i < ARRAY_LEN(RULES) && ret->text.n == 0 && ret->nuses == 0; i++) {
        apply_rule(&q, i);
        if (q.out.n > 0)
            ret->text = buf_keep(&q.out, a);
    }
    buf_done(&q.out);
    if (q.is_first)
        ret->text = arena_concat(a, str_from(INTRODUCTION), ret->text);
}
