/* conversations__get, conversations__search. */
#include <assert.h>

#include "base/utf8.h"
#include "builtin/conversations.h"
#include "runtime/history/replay.h"
#include "store/event/query.h"

enum {
    GET_DEFAULT = 20,
    GET_EVENTS = 4000, /* looked at for the last messages */
    TOOL_CHARS = 2000, /* of one tool result */
    SEARCH_DEFAULT = 10,
    MATCHES_MAX = 3, /* per conversation */
};

/* ---- get ---- */

struct conv_reader {
    struct builtin_call *call;
    struct json *out, *messages;
    struct buf text;
    bool is_full;
    size_t left; /* characters */
    bool is_cut;
};

static struct json *tool_json(struct conv_reader *r, const struct replay_tool *t)
{
    struct arena *a = &r->call->call.arena;
    struct tool_result res = {.content = t->result ? json_get(t->result, "content") : NULL};
    str output = utf8_truncate(tool_result_to_text(a, &res), TOOL_CHARS);
    str input = utf8_truncate(json_to_str(a, t->input), TOOL_CHARS);
    struct json *o = json_new(a, JSON_OBJECT);
    json_set(a, o, STR("name"), json_of_str(arena_str(a, t->name)));
    json_set(a, o, STR("input"), json_of_str(input));
    json_set(a, o, STR("output"), json_of_str(output));
    json_set(a, o, STR("ok"), json_of_bool(t->ok));
    buf_printf(&r->text, "  [%.*s %.*s -> %.*s]\n", STR_ARG(t->name), STR_ARG(input),
               STR_ARG(output));
    return o;
}

static struct json message_json(struct conv_reader *r, const struct replay_message *m)
{
    struct arena *a = &r->call->call.arena;
    bool is_user = m->role == REPLAY_USER;
    str text = replay_text(a, m);
    str kept = utf8_truncate(text, r->left);
    struct json *o = json_new(a, JSON_OBJECT), *tools = json_new(a, JSON_ARRAY);
    r->is_cut = r->is_cut || kept.n < text.n;
    json_set(a, o, STR("role"), json_of_str(is_user ? STR("user") : STR("assistant")));
    json_set(a, o, STR("timestamp"), json_of_str(arena_str(a, m->ts)));
    json_set(a, o, STR("content"), json_of_str(kept));
    buf_printf(&r->text, "%s (%.*s): %.*s\n", is_user ? "user" : "assistant", STR_ARG(m->ts),
               STR_ARG(kept));
    assert(kept.n <= r->left);
    size_t used = kept.n;
    for (size_t i = 0; r->is_full && i < m->ntools && used + 2 * TOOL_CHARS < r->left; i++) {
        json_push(a, tools, *tool_json(r, &m->tools[i]));
        used += 2 * TOOL_CHARS;
    }
    if (tools->len > 0)
        json_set(a, o, STR("toolCalls"), *tools);
    r->left -= used < r->left ? used : r->left;
    return *o;
}

static void on_messages_page(void *ctx, const struct err *err, const struct store_page *page)
{
    struct conv_reader *r = ctx;
    struct builtin_call *c = r->call;
    struct arena *a = &c->call.arena;
    c->op = NULL;
    if (err) {
        conv_tool_fail(c, err);
        return;
    }
    str *lines = arena_array(a, page->n, sizeof *lines);
    for (size_t i = 0; i < page->n; i++)
        lines[i] = arena_str(
            a, page->events[i].line); /* the page is freed before the answer is delivered */
    struct replay h = replay_lines(a, lines, NULL, page->n);
    size_t limit = (size_t)json_get_int(c->call.args, "limit", GET_DEFAULT);
    buf_init(&r->text, CONV_TOOL_CHARS * 2);
    for (size_t i = h.n > limit ? h.n - limit : 0; i < h.n && r->left > 0; i++)
        json_push(a, r->messages, message_json(r, &h.messages[i]));
    json_set(a, r->out, STR("messages"), *r->messages);
    json_set(a, r->out, STR("hasEarlier"), json_of_bool(h.n > limit || !page->reached_start));
    json_set(a, r->out, STR("isCut"), json_of_bool(r->is_cut || r->left == 0));
    builtin_reply_json(c, utf8_truncate(buf_str(&r->text), CONV_TOOL_CHARS), r->out);
    buf_done(&r->text);
}

static void get_found(struct builtin_call *c, const struct conv *conv)
{
    str expand = json_get_string(c->call.args, "expand");
    if (str_eq(expand, STR("metadata"))) {
        conv_tool_reply(c, NULL, conv);
        return;
    }
    struct conv_reader *r = ARENA_NEW(&c->call.arena, struct conv_reader);
    r->call = c;
    r->out = conv_tool_summary(&c->call.arena, conv);
    r->messages = json_new(&c->call.arena, JSON_ARRAY);
    r->is_full = str_eq(expand, STR("full"));
    r->left = CONV_TOOL_CHARS;
    struct store_range range = {.backwards = true, .max_events = GET_EVENTS};
    c->op = store_read(conv_tool_store(c), conv->id, &range, on_messages_page, r);
}

const struct builtin_tool BUILTIN_CONV_GET = {
    .name = "get",
    .rule = {.conv = RULE_CONV_VIEW},
    .title = "Read a conversation",
    .description =
        "Read the last messages of a conversation. expand: metadata (no messages), messages, "
        "or full (with tool calls). At most 30,000 characters.",
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"id\":{\"type\":\"string\",\"description\":\"This conversation when left out\"},"
              "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":500,\"description\":\"How "
              "many messages (20)\"},"
              "\"expand\":{\"type\":\"string\",\"enum\":[\"metadata\",\"messages\",\"full\"]}},"
              "\"additionalProperties\":false}",
    .is_read_only = true,
    .found = get_found,
};

/* ---- search ---- */

static struct json *conversation_of(struct arena *a, struct json *results,
                                    const struct store_hit *h)
{
    for (size_t i = 0; i < results->len; i++)
        if (str_eq(json_get_string(json_at(results, i), "id"), h->conv_id))
            return json_at(results, i);
    struct json *o = json_new(a, JSON_OBJECT);
    json_set(a, o, STR("id"), json_of_str(arena_str(a, h->conv_id)));
    json_set(a, o, STR("title"), json_of_str(arena_str(a, h->title)));
    json_set(a, o, STR("matches"), *json_new(a, JSON_ARRAY));
    return json_push(a, results, *o);
}

static void add_hit(struct arena *a, struct json *results, const struct store_hit *h, struct buf *b)
{
    struct json *conv = conversation_of(a, results, h), *matches = json_get(conv, "matches");
    if (matches->len >= MATCHES_MAX)
        return;
    str snippet = query_unmarked(a, h->snippet);
    struct json *m = json_new(a, JSON_OBJECT);
    json_set(a, m, STR("snippet"), json_of_str(snippet));
    json_set(a, m, STR("role"), json_of_str(arena_str(a, h->role)));
    json_set(a, m, STR("timestamp"), json_of_str(arena_str(a, h->ts)));
    if (matches->len == 0)
        buf_printf(b, "%.*s  %.*s\n", STR_ARG(h->conv_id), STR_ARG(h->title));
    buf_printf(b, "  %.*s: %.*s\n", STR_ARG(h->role), STR_ARG(snippet));
    json_push(a, matches, *m);
}

static void on_searched(void *ctx, const struct err *err, const struct store_hits *h)
{
    struct builtin_call *c = ctx;
    struct arena *a = &c->call.arena;
    struct buf b;
    c->op = NULL;
    if (err) {
        conv_tool_fail(c, err);
        return;
    }
    size_t limit = (size_t)json_get_int(c->call.args, "limit", SEARCH_DEFAULT);
    struct json *out = json_new(a, JSON_OBJECT), *results = json_new(a, JSON_ARRAY);
    buf_init(&b, CONV_TOOL_CHARS);
    for (size_t i = 0; i < h->n && results->len <= limit; i++)
        add_hit(a, results, &h->hits[i], &b);
    if (results->len > limit)
        results->len = (uint32_t)limit;
    json_set(a, out, STR("results"), *results);
    json_set(a, out, STR("totalMatches"), json_of_int(h->total >= 0 ? h->total : (int64_t)h->n));
    builtin_reply_json(c, b.n > 0 ? buf_str(&b) : STR("Nothing was found."), out);
    buf_done(&b);
}

static void search(struct builtin_call *c)
{
    struct store_search_query q = {
        .viewer = actor_viewer(c->call.who.actor, &c->call.arena),
        .text = json_get_string(c->call.args, "query"),
        .limit = (size_t)json_get_int(c->call.args, "limit", SEARCH_DEFAULT) * MATCHES_MAX,
    };
    c->op = store_search(conv_tool_store(c), &q, on_searched, c);
}

const struct builtin_tool BUILTIN_CONV_SEARCH = {
    .name = "search",
    .title = "Search conversations",
    .description = "Search the text of messages, tool names and results, titles and notes. Words, "
                   "\"phrases\", prefix*, from:user, tool:name, in:title, after:2026-03-01, "
                   "before:2026-04-01.",
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"query\":{\"type\":\"string\",\"minLength\":1},"
              "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":50,\"description\":\"How "
              "many conversations (10)\"}},"
              "\"required\":[\"query\"],\"additionalProperties\":false}",
    .is_read_only = true,
    .call = search,
};
