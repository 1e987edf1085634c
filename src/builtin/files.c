/* files.c - files__list, files__search, and shared functions. */
#include "builtin/files.h"

#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "builtin/conversations.h"
#include "store/event/query.h"

enum { LIST_DEFAULT = 50, FOUND_DEFAULT = 10 };

/* ---- finding ---- */

struct file_gather {
    struct builtin_call *call;
    void (*then)(struct builtin_call *c, const struct file_set *set);
};

static void on_gathered(void *ctx, const struct err *err, const struct file_set *set)
{
    struct file_gather *g = ctx;
    if (!err)
        g->then(g->call, set);
    else if (err->code == -ENOENT)
        builtin_refuse(g->call, "%s", err->msg);
    else
        conv_tool_fail(g->call, err);
}

void file_tool_gather(struct builtin_call *c,
                      void (*then)(struct builtin_call *c, const struct file_set *set))
{
    struct file_gather *g = ARENA_NEW(&c->call.arena, struct file_gather);
    str id = json_get_string(c->call.args, "conversationId");
    assert(!c->op && !c->files);
    *g = (struct file_gather){c, then};
    c->files = seen_files_start(c->builtin->deps.runtime, c->call.who.actor,
                                id.n > 0 ? store_id_meant(id) : c->call.who.conversation_id,
                                id.n == 0 && c->call.who.run_id.n > 0, on_gathered, g);
}

const struct attached *file_tool_pick(struct builtin_call *c, const struct file_set *set)
{
    str wanted = json_get_string(c->call.args, "file");
    const struct attached *f = file_set_find(set, wanted);
    if (!f)
        builtin_refuse(c, "There is no file '%.*s' that you can read here. files__list lists them.",
                       STR_ARG(utf8_truncate(wanted, 200)));
    return f;
}

/* ---- list ---- */

static str whose(const struct file_set *set, size_t i)
{
    return i < set->nconv                   ? STR("conversation")
           : i < set->nconv + set->nproject ? STR("project")
                                            : STR("you");
}

static struct json *file_json(struct builtin_call *c, const struct attached *f, str of)
{
    struct arena *a = &c->call.arena;
    char iso[CLOCK_ISO_LEN + 1];
    struct json *o = json_new(a, JSON_OBJECT);
    clock_iso(f->at_ms, iso);
    json_set(a, o, STR("id"), json_of_str(f->id));
    json_set(a, o, STR("name"), json_of_str(f->name));
    json_set(a, o, STR("mimeType"), json_of_str(f->mime));
    json_set(a, o, STR("bytes"), json_of_int((int64_t)f->bytes));
    json_set(a, o, STR("createdAt"), json_of_str(arena_str(a, str_from(iso))));
    json_set(a, o, STR("of"), json_of_str(of));
    return o;
}

static void reply_list(struct builtin_call *c, const struct file_set *set)
{
    struct arena *a = &c->call.arena;
    str part = json_get_string(c->call.args, "search");
    size_t limit = (size_t)json_get_int(c->call.args, "limit", LIST_DEFAULT), total = 0;
    struct json *out = json_new(a, JSON_OBJECT), *files = json_new(a, JSON_ARRAY);
    struct buf b;
    buf_init(&b, FILES_TOOL_CHARS * 4);
    for (size_t i = 0; i < set->n; i++) {
        const struct attached *f = &set->items[i];
        if (part.n > 0 && str_find_nocase(f->name, part) < 0)
            continue;
        if (total++ >= limit)
            continue;
        json_push(a, files, *file_json(c, f, whose(set, i)));
        buf_printf(&b, "%.*s  %.*s  %llu bytes  %.*s\n", STR_ARG(f->id), STR_ARG(f->mime),
                   (unsigned long long)f->bytes, STR_ARG(f->name));
    }
    json_set(a, out, STR("files"), *files);
    json_set(a, out, STR("totalCount"), json_of_int((int64_t)total));
    str head = arena_printf(a, "%u of %zu files\n", files->len, total);
    builtin_reply_json(c, arena_concat(a, head, buf_str(&b)), out);
    buf_done(&b);
}

static void list_files(struct builtin_call *c)
{
    file_tool_gather(c, reply_list);
}

#define CONVERSATION_PROPERTY                                                                      \
    "\"conversationId\":{\"type\":\"string\",\"description\":\"Files of this conversation "        \
    "instead "                                                                                     \
    "of the current one\"}"

const struct builtin_tool BUILTIN_FILES_LIST = {
    .name = "list",
    .title = "List files",
    .description = "List the files of this conversation, of its project, and those that the user "
                   "has given, the latest first.",
    .schema = "{\"type\":\"object\",\"properties\":{" CONVERSATION_PROPERTY ","
              "\"search\":{\"type\":\"string\",\"description\":\"Only with this text in the "
              "name\"},"
              "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":200,\"description\":\"How "
              "many (50)\"}},\"additionalProperties\":false}",
    .is_read_only = true,
    .call = list_files,
};

/* ---- search ---- */

static void add_found(struct builtin_call *c, struct json *results, const struct store_file_hit *h,
                      struct buf *b)
{
    struct arena *a = &c->call.arena;
    str snippet = query_unmarked(a, h->snippet);
    struct json *o = json_push(a, results, *json_new(a, JSON_OBJECT));
    json_set(a, o, STR("id"), json_of_str(arena_str(a, h->file->id)));
    json_set(a, o, STR("name"), json_of_str(arena_str(a, h->file->name)));
    json_set(a, o, STR("offset"), json_of_int((int64_t)h->offset));
    json_set(a, o, STR("snippet"), json_of_str(snippet));
    buf_printf(b, "%.*s  %.*s  offset %llu\n  %.*s\n", STR_ARG(h->file->id), STR_ARG(h->file->name),
               (unsigned long long)h->offset, STR_ARG(snippet));
}

static void on_files_found(void *ctx, const struct err *err, const struct store_file_hits *h)
{
    struct builtin_call *c = ctx;
    struct arena *a = &c->call.arena;
    struct buf b;
    c->op = NULL;
    if (err) {
        conv_tool_fail(c, err);
        return;
    }
    struct json *out = json_new(a, JSON_OBJECT), *results = json_new(a, JSON_ARRAY);
    buf_init(&b, FILES_TOOL_CHARS * 4);
    for (size_t i = 0; i < h->n; i++)
        add_found(c, results, &h->hits[i], &b);
    json_set(a, out, STR("results"), *results);
    json_set(a, out, STR("isPartial"), json_of_bool(h->is_partial));
    if (h->n == 0)
        buf_add_lit(&b, "Nothing was found.\n");
    if (h->is_partial)
        buf_add_lit(&b, "Not all files have been read yet: search again for the rest.\n");
    builtin_reply_json(c, buf_str(&b), out);
    buf_done(&b);
}

static void search_set(struct builtin_call *c, const struct file_set *set)
{
    struct store_file_query q = {
        .conv_id = set->nconv > 0 ? set->conv_id : STR_NONE,
        .files = set->items,
        .n = set->n,
        .nconv = set->nconv,
        .text = json_get_string(c->call.args, "query"),
        .limit = (size_t)json_get_int(c->call.args, "limit", FOUND_DEFAULT),
    };
    if (json_get(c->call.args, "file")) {
        q.files = file_tool_pick(c, set);
        if (!q.files)
            return;
        q.nconv = q.files < set->items + set->nconv;
        q.conv_id = q.nconv > 0 ? set->conv_id : STR_NONE;
        q.n = 1;
    }
    c->op = store_search_files(conv_tool_store(c), &q, on_files_found, c);
}

static void search_files(struct builtin_call *c)
{
    file_tool_gather(c, search_set);
}

const struct builtin_tool BUILTIN_FILES_SEARCH = {
    .name = "search",
    .title = "Search in files",
    .description = "Search the text of the files of this conversation, of its project, and of "
                   "those that the user has given. Words, \"phrases\", prefix*; all of them must "
                   "be near each other. "
                   "files__read with the offset of a result reads that place.",
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"query\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":2000},"
              "\"file\":{\"type\":\"string\",\"description\":\"Only in this file: id or "
              "name\"}," CONVERSATION_PROPERTY ","
              "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":30,\"description\":\"How "
              "many places (10)\"}},"
              "\"required\":[\"query\"],\"additionalProperties\":false}",
    .is_read_only = true,
    .call = search_files,
};
