/* import_chatgpt.c - one conversation of a ChatGPT export (conversations.json).
 *
 * Relied on: conversation_id or id, title, create_time (seconds, a fraction), current_node,
 * mapping {node id: {message or null, parent, children}}; message {id, author {role, name},
 * create_time, recipient ("all", or a tool), content {content_type, parts, text, result,
 * thoughts [{content}], content}, metadata {model_slug, is_visually_hidden_from_conversation,
 * attachments [{id, name}]}}. A part that is a picture or a file is {asset_pointer:
 * "file-service://ID" or "sediment://ID"}; the file itself is beside conversations.json, and its
 * name begins with ID. The talk is the path from the root to current_node; messages of other
 * branches (edited questions, regenerated answers) are counted as not imported. */
#include "base/map.h"
#include "transfer/import_impl.h"

enum { PATH_NODES_MAX = 1000000 };

bool import_is_chatgpt(const struct json *v)
{
    return json_is(json_get(v, "mapping"), JSON_OBJECT);
}

static int64_t ms_of(const struct json *seconds)
{
    double s = json_double(seconds, 0);
    return s > 0 && s < 1e11 ? (int64_t)(s * 1000) : 0;
}

/* ---- the path ---- */

struct path {
    const struct json **nodes; /* from the root on; in the arena */
    size_t n;
};

static void index_nodes(const struct json *mapping, struct map *ret)
{
    for (uint32_t i = 0; i < mapping->len; i++)
        map_put(ret, mapping->members[i].key, &mapping->members[i].value);
}

/* Without a current_node: the newest leaf below the first root. */
static const struct json *last_leaf(const struct json *mapping, const struct map *nodes)
{
    const struct json *node = mapping->len ? &mapping->members[0].value : NULL;
    for (uint32_t i = 0; i < mapping->len; i++) {
        if (!json_get_string(&mapping->members[i].value, "parent").n) {
            node = &mapping->members[i].value;
            break;
        }
    }
    for (uint32_t steps = 0; node && steps < mapping->len; steps++) {
        const struct json *children = json_get(node, "children");
        size_t n = json_is(children, JSON_ARRAY) ? children->len : 0;
        const struct json *next =
            n ? map_get(nodes, json_string(json_at(children, n - 1), STR_NONE)) : NULL;
        if (!next)
            break;
        node = next;
    }
    return node;
}

static struct path find_path(struct arena *a, const struct json *v)
{
    const struct json *mapping = json_get(v, "mapping");
    struct map nodes;
    size_t max = mapping->len < PATH_NODES_MAX ? mapping->len : PATH_NODES_MAX;
    struct path p = {.nodes = arena_array(a, max + 1, sizeof(*p.nodes))};
    map_init(&nodes);
    index_nodes(mapping, &nodes);
    const struct json *node = map_get(&nodes, json_get_string(v, "current_node"));
    if (!node)
        node = last_leaf(mapping, &nodes);
    while (node && p.n < max) { /* no node comes twice: a circle of parents would repeat them */
        p.nodes[p.n++] = node;
        str parent = json_get_string(node, "parent");
        node = parent.n ? map_del(&nodes, parent) : NULL;
        if (node == p.nodes[0])
            break;
    }
    for (size_t i = 0; i < p.n / 2; i++) {
        const struct json *swapped = p.nodes[i];
        p.nodes[i] = p.nodes[p.n - 1 - i];
        p.nodes[p.n - 1 - i] = swapped;
    }
    map_done(&nodes);
    return p;
}

/* ---- messages ---- */

static bool is_hidden(const struct json *m)
{
    return json_get_bool(json_get(m, "metadata"), "is_visually_hidden_from_conversation", false);
}

enum { IN_ANSWER, IN_QUESTION, IN_RESULT }; /* where files can be shown, and how */

static str pointer_id(const struct json *part)
{
    str pointer = json_get_string(part, "asset_pointer");
    return str_skip(pointer, (size_t)(str_rfind_char(pointer, '/') + 1));
}

static const struct json *attachments_of(const struct json *m)
{
    const struct json *all = json_get(json_get(m, "metadata"), "attachments");
    return json_is(all, JSON_ARRAY) ? all : NULL;
}

/* The attachments of a question by their ids. A message may have very many, and as many parts. */
static void index_attachments(const struct json *m, struct map *ret)
{
    const struct json *all = attachments_of(m);
    map_init(ret);
    for (size_t i = all ? all->len : 0; i > 0; i--) { /* the first of an id counts */
        str id = json_get_string(&all->items[i - 1], "id");
        if (id.n > 0)
            map_put(ret, id, &all->items[i - 1]);
    }
}

static void add_asset(struct talk *t, struct arena *a, const struct map *named,
                      const struct json *part, int where, struct json *parts)
{
    str id = pointer_id(part);
    bool is_added = false;
    if (where == IN_QUESTION) /* with the name that the person gave it */
        is_added = talk_add_file(t, a, parts, id, json_get_string(map_get(named, id), "name"));
    else if (where == IN_RESULT)
        is_added = talk_add_picture(t, a, parts, id);
    if (!is_added)
        talk_skip(t, "an image or a file");
}

/* Documents are attachments only; pictures are parts as well. */
static void add_attachments(struct talk *t, struct arena *a, const struct json *m,
                            struct json *parts)
{
    const struct json *all = attachments_of(m);
    const struct json *given = json_get(json_get(m, "content"), "parts");
    struct map shown;
    map_init(&shown);
    for (size_t i = 0; all && json_is(given, JSON_ARRAY) && i < given->len; i++) {
        str id = pointer_id(&given->items[i]);
        if (id.n > 0)
            map_put(&shown, id, &given->items[i]);
    }
    for (size_t i = 0; all && i < all->len; i++) {
        str id = json_get_string(&all->items[i], "id");
        if (!map_get(&shown, id) &&
            !talk_add_file(t, a, parts, id, json_get_string(&all->items[i], "name")))
            talk_skip(t, "an image or a file");
    }
    map_done(&shown);
}

/* All text of a message as content parts, and the files in it. */
static struct json *parts_of(struct talk *t, struct arena *a, const struct json *m, int where)
{
    static const char *const TEXTS[] = {"text", "result"};
    struct json *parts = json_new(a, JSON_ARRAY);
    const struct json *content = json_get(m, "content"), *given = json_get(content, "parts");
    struct map named;
    index_attachments(where == IN_QUESTION ? m : NULL, &named);
    if (where == IN_QUESTION)
        add_attachments(t, a, m, parts);
    for (size_t i = 0; json_is(given, JSON_ARRAY) && i < given->len; i++) {
        const struct json *part = &given->items[i];
        str text = json_is(part, JSON_STRING) ? part->s : json_get_string(part, "text");
        if (json_is(part, JSON_OBJECT) && !text.n)
            add_asset(t, a, &named, part, where, parts);
        talk_add_text(a, parts, text);
    }
    map_done(&named);
    for (size_t i = 0; i < ARRAY_LEN(TEXTS); i++)
        talk_add_text(a, parts, json_get_string(content, TEXTS[i]));
    return parts;
}

static void tell_thoughts(struct talk *t, const struct json *content)
{
    const struct json *thoughts = json_get(content, "thoughts");
    for (size_t i = 0; json_is(thoughts, JSON_ARRAY) && i < thoughts->len; i++)
        talk_reasoning(t, json_get_string(&thoughts->items[i], "content"));
    talk_reasoning(t, json_get_string(content, "content"));
}

/* The input of a tool: parsed if it is JSON, otherwise as text. */
static const struct json *input_of(struct arena *a, const struct json *parts)
{
    str text = json_get_string(json_at(parts, 0), "text");
    struct json *v;
    if (json_parse(a, text, JSON_COPY, &v, NULL) == 0 && json_is(v, JSON_OBJECT))
        return v;
    v = json_new(a, JSON_OBJECT);
    json_set(a, v, STR("text"), json_of_str(text));
    return v;
}

static void tell_answer(struct talk *t, struct arena *a, const struct json *m)
{
    const struct json *content = json_get(m, "content");
    str recipient = json_get_string(m, "recipient");
    str type = json_get_string(content, "content_type");
    str id = json_get_string(m, "id");
    talk_answer(t, id, json_get_string(json_get(m, "metadata"), "model_slug"));
    if (str_eq(type, STR("thoughts")) || str_eq(type, STR("reasoning_recap"))) {
        tell_thoughts(t, content);
        return;
    }
    const struct json *parts = parts_of(t, a, m, IN_ANSWER);
    if (recipient.n && !str_eq(recipient, STR("all"))) {
        talk_call(t, id, recipient, input_of(a, parts));
        return;
    }
    for (size_t i = 0; i < parts->len; i++)
        talk_text(t, json_get_string(&parts->items[i], "text"));
}

/* call: the message before it, which may have called the tool. */
static void tell_message(struct talk *t, struct arena *a, const struct json *m, str *call)
{
    const struct json *author = json_get(m, "author");
    str role = json_get_string(author, "role");
    bool is_empty = !json_is(json_get(m, "content"), JSON_OBJECT);
    talk_at_ms(t, ms_of(json_get(m, "create_time")));
    if (is_empty || is_hidden(m)) {
        talk_skip(t, "a hidden message");
    } else if (str_eq(role, STR("user"))) {
        talk_user(t, parts_of(t, a, m, IN_QUESTION));
    } else if (str_eq(role, STR("assistant"))) {
        tell_answer(t, a, m);
        *call = json_get_string(m, "id");
    } else if (str_eq(role, STR("tool"))) {
        talk_result(t, call->n ? *call : json_get_string(m, "id"), json_get_string(author, "name"),
                    true, parts_of(t, a, m, IN_RESULT));
    } else if (parts_of(t, a, m, IN_ANSWER)->len) {
        talk_skip(t, "a system message");
    }
}

static int64_t count_messages(const struct json *mapping)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < mapping->len; i++)
        n += json_is(json_get(&mapping->members[i].value, "message"), JSON_OBJECT);
    return n;
}

void import_chatgpt(struct talk *t, struct arena *a, const struct json *v, struct conv_create *conv)
{
    str id = json_get_string(v, "conversation_id");
    if (!id.n)
        id = json_get_string(v, "id");
    *conv = (struct conv_create){.id = talk_conv_id(t, a, "chatgpt", id),
                                 .created_ms = ms_of(json_get(v, "create_time")),
                                 .metadata = import_metadata(a, "chatgpt", id)};
    talk_at_ms(t, conv->created_ms);
    struct path path = find_path(a, v);
    int64_t told = 0;
    str call = STR_NONE;
    for (size_t i = 0; i < path.n; i++) {
        const struct json *m = json_get(path.nodes[i], "message");
        if (!json_is(m, JSON_OBJECT))
            continue;
        tell_message(t, a, m, &call);
        told++;
    }
    for (int64_t n = count_messages(json_get(v, "mapping")); n > told; n--)
        talk_skip(t, "a message of another branch");
    talk_finish(t);
    talk_title(t, json_get_string(v, "title"));
}
