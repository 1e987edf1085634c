/* conversations.c - conversations__list, conversations__stats, and shared functions. */
#include "builtin/conversations.h"

#include <assert.h>
#include <errno.h>

#include "base/utf8.h"
#include "store/stats.h"

enum { LIST_DEFAULT = 20, LIST_MAX = 100, LABEL_MAX = 200 };

struct store *conv_tool_store(const struct builtin_call *c)
{
    return runtime_deps(c->builtin->deps.runtime)->store;
}

/* ---- finding ---- */

struct conv_finder {
    struct builtin_call *call;
    enum conv_right right;
    void (*then)(struct builtin_call *c, const struct conv *conv);
    str id;
};

void conv_tool_fail(struct builtin_call *c, const struct err *err)
{
    builtin_fail(c, "%s", err->msg);
}

static void on_conv_found(void *ctx, const struct err *err, const struct conv *conv)
{
    struct conv_finder *f = ctx;
    assert(f->call->op);
    f->call->op = NULL;
    bool is_absent = err && (err->code == -ENOENT || err->code == -EINVAL);
    if (is_absent || (conv && !actor_allows(f->call->call.who.actor, &conv->acl, CONV_VIEW)))
        builtin_refuse(f->call, "There is no conversation '%.*s'.",
                       STR_ARG(utf8_truncate(f->id, STORE_ID_MAX)));
    else if (err)
        conv_tool_fail(f->call, err);
    else if (!actor_allows(f->call->call.who.actor, &conv->acl, f->right))
        builtin_refuse(f->call, "%s", access_reason(f->right));
    else
        f->then(f->call, conv);
}

void conv_tool_find(struct builtin_call *c,
                    void (*then)(struct builtin_call *c, const struct conv *conv))
{
    assert(c->rule.conv != RULE_CONV_NONE && !c->op);
    struct conv_finder *f = ARENA_NEW(&c->call.arena, struct conv_finder);
    str id = json_get_string(c->call.args, "id");
    if (id.n == 0)
        id = json_get_string(c->call.args, "conversationId");
    *f = (struct conv_finder){c, (enum conv_right)(c->rule.conv - 1), then,
                              id.n > 0 ? store_id_meant(id) : c->call.who.conversation_id};
    c->op = store_get(conv_tool_store(c), f->id, on_conv_found, f);
}

/* ---- describing ---- */

static struct json str_or_null(struct arena *a, str s)
{
    return s.n > 0 ? json_of_str(arena_str(a, s)) : json_of_null();
}

struct json *conv_tool_summary(struct arena *a, const struct conv *v)
{
    struct json *o = json_new(a, JSON_OBJECT);
    json_set(a, o, STR("id"), json_of_str(arena_str(a, v->id)));
    json_set(a, o, STR("title"), str_or_null(a, v->title));
    json_set(a, o, STR("preview"), json_of_str(arena_str(a, utf8_truncate(v->preview, LABEL_MAX))));
    json_set(a, o, STR("createdAt"), json_of_str(arena_str(a, v->created_at)));
    json_set(a, o, STR("updatedAt"), json_of_str(arena_str(a, v->updated_at)));
    json_set(a, o, STR("messageCount"), json_of_int(v->message_count));
    json_set(a, o, STR("totalInputTokens"), json_of_int(v->usage.input_tokens));
    json_set(a, o, STR("totalOutputTokens"), json_of_int(v->usage.output_tokens));
    json_set(a, o, STR("totalCostUsd"),
             v->is_cost_known ? json_of_double(a, v->cost_usd) : json_of_null());
    json_set(a, o, STR("lastModel"), str_or_null(a, v->last_model));
    json_set(a, o, STR("visibility"),
             json_of_str(v->acl.is_shared ? STR("shared") : STR("private")));
    if (v->forked_from.n > 0)
        json_set(a, o, STR("forkedFrom"), json_of_str(arena_str(a, v->forked_from)));
    return o;
}

void conv_tool_add_line(struct buf *b, const struct conv *v)
{
    str label = v->title.n > 0 ? v->title : v->preview;
    buf_printf(b, "%.*s  %.*s  %lld messages  %.*s\n", STR_ARG(v->id), STR_ARG(v->updated_at),
               (long long)v->message_count, STR_ARG(utf8_truncate(label, LABEL_MAX)));
}

void conv_tool_reply(void *call, const struct err *err, const struct conv *conv)
{
    struct builtin_call *c = call;
    struct buf b;
    c->op = NULL;
    if (err) {
        conv_tool_fail(c, err);
        return;
    }
    buf_init(&b, CONV_TOOL_CHARS);
    conv_tool_add_line(&b, conv);
    builtin_reply_json(c, buf_str(&b), conv_tool_summary(&c->call.arena, conv));
    buf_done(&b);
}

/* ---- list ---- */

static void on_conversations_listed(void *ctx, const struct err *err, const struct store_listing *l)
{
    struct builtin_call *c = ctx;
    struct buf b;
    c->op = NULL;
    if (err) {
        conv_tool_fail(c, err);
        return;
    }
    struct json *out = json_new(&c->call.arena, JSON_OBJECT),
                *convs = json_new(&c->call.arena, JSON_ARRAY);
    buf_init(&b, CONV_TOOL_CHARS);
    buf_printf(&b, "%zu of %lld conversations%s\n", l->n, (long long)l->total,
               l->counting.total ? "; older ones are still being read and are missing here" : "");
    for (size_t i = 0; i < l->n; i++) {
        conv_tool_add_line(&b, &l->convs[i]);
        json_push(&c->call.arena, convs, *conv_tool_summary(&c->call.arena, &l->convs[i]));
    }
    json_set(&c->call.arena, out, STR("conversations"), *convs);
    json_set(&c->call.arena, out, STR("totalCount"), json_of_int(l->total));
    json_set(&c->call.arena, out, STR("nextCursor"), str_or_null(&c->call.arena, l->next_cursor));
    if (l->counting.total)
        json_set(&c->call.arena, out, STR("isPartial"), json_of_bool(true));
    builtin_reply_json(c, buf_str(&b), out);
    buf_done(&b);
}

static void list_conversations(struct builtin_call *c)
{
    struct store_query q = {
        .viewer = actor_viewer(c->call.who.actor, &c->call.arena),
        .limit = (size_t)json_get_int(c->call.args, "limit", LIST_DEFAULT),
        .cursor = json_get_string(c->call.args, "cursor"),
        .search = json_get_string(c->call.args, "search"),
        .takes_part = true,
    };
    c->op = store_list(conv_tool_store(c), &q, on_conversations_listed, c);
}

const struct builtin_tool BUILTIN_CONV_LIST = {
    .name = "list",
    .title = "List conversations",
    .description = "List the conversations of this workspace that you may see, the latest first.",
    .schema =
        "{\"type\":\"object\",\"properties\":{"
        "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100,"
        "\"description\":\"Maximum number of conversations (20)\"},"
        "\"search\":{\"type\":\"string\",\"description\":\"Only with this text in the title or "
        "the first message\"},"
        "\"cursor\":{\"type\":\"string\",\"description\":\"nextCursor of the page before\"}},"
        "\"additionalProperties\":false}",
    .is_read_only = true,
    .call = list_conversations,
};

/* ---- stats ---- */

static void on_cancel_stats(struct builtin_call *c)
{
    stats_cancel(c->state);
}

static void on_stats(void *ctx, const struct err *err, const struct stats *s)
{
    struct builtin_call *c = ctx;
    struct buf b;
    struct json_writer w;
    struct json *out;
    assert(c->on_cancel == on_cancel_stats);
    c->on_cancel = NULL;
    if (err) {
        conv_tool_fail(c, err);
        return;
    }
    jw_start(&w, &b, CONV_TOOL_CHARS * 4);
    stats_write(&w, s);
    if (json_parse(&c->call.arena, buf_str(&b), JSON_COPY, &out, NULL) < 0)
        out = NULL; /* more models than fit: the figures below remain */
    buf_clear(&b);
    const struct stats_sum *t = &s->total;
    buf_printf(&b,
               "%lld conversations, %lld messages, %lld input and %lld output tokens, $%.4f%s "
               "(period: %s)\n",
               (long long)t->conversations, (long long)t->messages,
               (long long)t->usage.input_tokens, (long long)t->usage.output_tokens, t->cost_usd,
               t->unpriced > 0 ? " and calls of unknown price" : "", stats_period_name(s->period));
    builtin_reply_json(c, buf_str(&b), out);
    buf_done(&b);
}

static void stats(struct builtin_call *c)
{
    str name = json_get_string(c->call.args, "period");
    enum stats_period period = STATS_ALL;
    struct err e = {0};
    if (name.n > 0 && stats_period_parse(name, &period, &e) < 0) {
        conv_tool_fail(c, &e);
        return;
    }
    c->on_cancel = on_cancel_stats;
    c->state = stats_start(conv_tool_store(c), c->call.who.actor, period, on_stats, c);
}

const struct builtin_tool BUILTIN_CONV_STATS = {
    .name = "stats",
    .title = "Conversation totals",
    .description = "Count conversations and messages, and the tokens and cost they took, in total "
                   "and by model.",
    .schema =
        "{\"type\":\"object\",\"properties\":{\"period\":{\"type\":\"string\",\"enum\":["
        "\"day\",\"week\",\"month\",\"year\",\"all\"],\"description\":\"Only "
        "conversations with activity in this period (all)\"}},\"additionalProperties\":false}",
    .is_read_only = true,
    .call = stats,
};
