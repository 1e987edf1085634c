#include <assert.h>
#include <errno.h>

#include "api/compat/compat.h"
#include "base/map.h"
#include "base/utf8.h"

struct compat_message *compat_message(struct compat_request *q, bool is_assistant, struct err *e)
{
    if (q->n > 0 && q->messages[q->n - 1].is_assistant == is_assistant)
        return &q->messages[q->n - 1];
    if (q->n == COMPAT_MESSAGES_MAX) {
        err_set(e, -EINVAL, "The request has more than %d messages.", COMPAT_MESSAGES_MAX);
        return NULL;
    }
    ARENA_GROW(q->arena, q->messages, q->n, q->cap);
    struct compat_message *m = &q->messages[q->n++];
    *m = (struct compat_message){.is_assistant = is_assistant};
    return m;
}

int compat_add(struct compat_request *q, struct compat_message *m, struct compat_block b,
               struct err *e)
{
    if (++q->nblocks > COMPAT_BLOCKS_MAX)
        return err_set(e, -EINVAL, "The messages have more than %d parts.", COMPAT_BLOCKS_MAX);
    if (b.text.n > COMPAT_TEXT_MAX || b.args.n > COMPAT_TEXT_MAX)
        return err_set(e, -EINVAL, "A text of the messages has more than %u bytes.",
                       COMPAT_TEXT_MAX);
    ARENA_GROW(q->arena, m->blocks, m->n, m->cap);
    m->blocks[m->n++] = b;
    return 0;
}

int compat_add_text(struct compat_request *q, struct compat_message *m, str text, struct err *e)
{
    if (text.n == 0)
        return 0;
    return compat_add(q, m, (struct compat_block){.type = COMPAT_TEXT, .text = text}, e);
}

int compat_add_file(struct compat_request *q, struct compat_message *m, struct compat_file f,
                    struct err *e)
{
    assert((f.id.n > 0) != (f.base64.n > 0));
    if (q->nfiles == COMPAT_FILES_MAX)
        return err_set(e, -EINVAL, "The request has more than %d pictures and files.",
                       COMPAT_FILES_MAX);
    q->files[q->nfiles] = f;
    struct compat_block b = {.type = COMPAT_FILE, .file = q->nfiles++};
    return compat_add(q, m, b, e);
}

/* They are joined once, at the end: a request may have many. */
void compat_instruct(struct compat_request *q, str text)
{
    if (text.n == 0)
        return;
    ARENA_GROW(q->arena, q->orders, q->norders, q->orders_cap);
    q->orders[q->norders++] = text;
}

str compat_join(struct arena *a, const str *texts, size_t n)
{
    if (n < 2)
        return n == 0 ? STR_NONE : texts[0];
    str *parts = arena_array(a, 2 * n, sizeof *parts);
    for (size_t i = 0; i < n; i++) {
        parts[2 * i] = i > 0 ? STR("\n\n") : STR_NONE;
        parts[2 * i + 1] = texts[i];
    }
    return arena_join(a, parts, 2 * n);
}

/* ---- tools ---- */

static bool is_tool_name(str s)
{
    return s.n > 0 && s.n <= TOOL_NAME_MAX && str_is_made_of(s, "_-");
}

/* Model services refuse a request whose schema does not say that the arguments are an object. */
static int check_schema(struct compat_request *q, const char *where, struct llm_tool *tool,
                        struct err *e)
{
    const struct json *type = json_get(tool->schema, "type");
    if (!tool->schema || tool->schema->type == JSON_NULL)
        tool->schema = json_new(q->arena, JSON_OBJECT);
    if (tool->schema->type != JSON_OBJECT ||
        (type && !str_eq(json_string(type, STR_NONE), STR("object"))))
        return err_set(e, -EINVAL, "%s: the schema of '%.*s' must be of type object", where,
                       STR_ARG(tool->name));
    if (json_to_str(q->arena, tool->schema).n > COMPAT_SCHEMA_MAX)
        return err_set(e, -EINVAL, "%s: the schema of '%.*s' has more than %u bytes", where,
                       STR_ARG(tool->name), COMPAT_SCHEMA_MAX);
    if (!type) {
        struct json *own = json_clone(q->arena, tool->schema);
        json_set(q->arena, own, STR("type"), json_of_str(STR("object")));
        tool->schema = own;
    }
    return 0;
}

int compat_add_tool(struct compat_request *q, const char *where, struct llm_tool tool,
                    struct err *e)
{
    if (!is_tool_name(tool.name))
        return err_set(e, -EINVAL, "%s: a name has 1 to %u of the characters a-z A-Z 0-9 _ -",
                       where, TOOL_NAME_MAX);
    for (size_t i = 0; i < q->ntools; i++)
        if (str_eq(q->tools[i].name, tool.name))
            return err_set(e, -EINVAL, "%s: there are two tools '%.*s'", where, STR_ARG(tool.name));
    if (q->ntools == TURN_CLIENT_TOOLS_MAX)
        return err_set(e, -EINVAL, "The request has more than %d tools.", TURN_CLIENT_TOOLS_MAX);
    int r = check_schema(q, where, &tool, e);
    if (r < 0)
        return r;
    if (!q->tools)
        q->tools = arena_array(q->arena, TURN_CLIENT_TOOLS_MAX, sizeof *q->tools);
    q->tools[q->ntools++] = tool;
    return 0;
}

/* ---- the whole ---- */

static int check_block(struct map *calls, const struct compat_block *b, struct err *e)
{
    if (b->type == COMPAT_CALL)
        map_put(calls, b->id, (void *)b);
    if (b->type != COMPAT_RESULT || map_get(calls, b->id))
        return 0;
    return err_set(e, -EINVAL,
                   "The result of '%.*s' has no call: send the message of the assistant that made "
                   "it, too.",
                   STR_ARG(utf8_truncate(b->id, 80)));
}

/* The results of a conversation that nb has belong to calls in its log. */
static int check_results(const struct compat_request *q, struct err *e)
{
    struct map calls; /* so far, by id */
    int r = 0;
    map_init(&calls);
    for (size_t i = 0; i < q->n && q->conversation_id.n == 0; i++)
        for (size_t k = 0; k < q->messages[i].n && r == 0; k++)
            r = check_block(&calls, &q->messages[i].blocks[k], e);
    map_done(&calls);
    return r;
}

int compat_check(struct compat_request *q, struct err *e)
{
    q->instructions = compat_join(q->arena, q->orders, q->norders);
    if (q->n == 0 || q->messages[q->n - 1].n == 0)
        return err_set(e, -EINVAL, "The request has no message to answer.");
    if (q->messages[q->n - 1].is_assistant)
        return err_set(e, -EINVAL,
                       "The last message must be one of the user, or the result of a tool: nb "
                       "does not continue an answer that the program began.");
    if (q->conversation_id.n > 0 && q->n > 1)
        return err_set(e, -EINVAL,
                       "A request that continues a conversation has only what is new: messages "
                       "of the user, and results of tools.");
    if (q->max_tokens < 0)
        return err_set(e, -EINVAL, "The maximum of tokens must be at least 1.");
    if (q->instructions.n > COMPAT_TEXT_MAX)
        return err_set(e, -EINVAL, "The instructions have more than %u bytes.", COMPAT_TEXT_MAX);
    return check_results(q, e);
}
