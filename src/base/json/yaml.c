#include "base/json/yaml.h"

#include <errno.h>
#include <yaml.h>

#include "base/utf8.h"

/* Keys are compared one by one, so a mapping has a ceiling of its own. */
enum { KEYS_MAX = 256 };

struct yaml_reader {
    yaml_parser_t parser;
    struct arena *arena;
    unsigned first_line;
    struct err *e;
};

static int fail_at(struct yaml_reader *r, yaml_mark_t mark, const char *reason)
{
    return err_set(r->e, -EINVAL, "line %zu: %s", mark.line + r->first_line, reason);
}

/* The caller deletes the event, but only after success. */
static int next_event(struct yaml_reader *r, yaml_event_t *event)
{
    if (yaml_parser_parse(&r->parser, event))
        return 0;
    const char *problem = r->parser.problem;
    return fail_at(r, r->parser.problem_mark, problem ? problem : "not valid YAML");
}

static const char *refusal(const yaml_event_t *event)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return "aliases are not supported; write the value out";
    case YAML_SCALAR_EVENT:
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
        break;
    default:
        break;
    }
    if (anchor)
        return "anchors are not supported";
    return tag ? "tags are not supported; quote the value to make it text" : NULL;
}

static str event_text(const yaml_event_t *event)
{
    return str_make((const char *)event->data.scalar.value, event->data.scalar.length);
}

static int read_node(struct yaml_reader *r, yaml_event_t *event, int depth, struct json *ret);

static int read_sequence(struct yaml_reader *r, int depth, struct json *arr)
{
    for (;;) {
        yaml_event_t event;
        struct json item;
        int status = next_event(r, &event);
        if (status < 0)
            return status;
        bool at_end = event.type == YAML_SEQUENCE_END_EVENT;
        if (!at_end)
            status = read_node(r, &event, depth, &item);
        yaml_event_delete(&event);
        if (status < 0 || at_end)
            return status;
        json_push(r->arena, arr, item);
    }
}

/* The key is the text of a scalar, whatever type it would have as a value. */
static int read_key(struct yaml_reader *r, const yaml_event_t *event, const struct json *obj,
                    str *ret)
{
    const char *refused = refusal(event);
    if (refused)
        return fail_at(r, event->start_mark, refused);
    if (event->type != YAML_SCALAR_EVENT)
        return fail_at(r, event->start_mark, "a key must be plain text");
    if (obj->len >= KEYS_MAX)
        return fail_at(r, event->start_mark, "too many keys in one mapping");
    str key = event_text(event);
    if (json_get_str(obj, key))
        return err_set(r->e, -EINVAL, "line %zu: the key \"%.*s\" appears twice",
                       event->start_mark.line + r->first_line, STR_ARG(utf8_truncate(key, 80)));
    *ret = arena_str(r->arena, key);
    return 0;
}

static int read_value(struct yaml_reader *r, int depth, struct json *ret)
{
    yaml_event_t event;
    int status = next_event(r, &event);
    if (status < 0)
        return status;
    status = read_node(r, &event, depth, ret);
    yaml_event_delete(&event);
    return status;
}

static int read_mapping(struct yaml_reader *r, int depth, struct json *obj)
{
    for (;;) {
        yaml_event_t event;
        str key;
        struct json value;
        int status = next_event(r, &event);
        if (status < 0)
            return status;
        bool at_end = event.type == YAML_MAPPING_END_EVENT;
        if (!at_end)
            status = read_key(r, &event, obj, &key);
        yaml_event_delete(&event);
        if (status < 0 || at_end)
            return status;
        status = read_value(r, depth, &value);
        if (status < 0)
            return status;
        json_set(r->arena, obj, key, value);
    }
}

/* Recursion ends at YAML_DEPTH_MAX. */
static int read_node(struct yaml_reader *r, yaml_event_t *event, int depth, struct json *ret)
{
    const char *refused = refusal(event);
    if (refused)
        return fail_at(r, event->start_mark, refused);
    if (event->type == YAML_SCALAR_EVENT) {
        str text = event_text(event);
        *ret = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE
                   ? yaml_plain(r->arena, text)
                   : json_of_str(arena_str(r->arena, text));
        return 0;
    }
    if (depth >= YAML_DEPTH_MAX)
        return fail_at(r, event->start_mark, "nested too deeply");
    bool is_mapping = event->type == YAML_MAPPING_START_EVENT;
    *ret = (struct json){.type = is_mapping ? JSON_OBJECT : JSON_ARRAY};
    return is_mapping ? read_mapping(r, depth + 1, ret) : read_sequence(r, depth + 1, ret);
}

/* One document at most; an empty stream is null. */
static int read_stream(struct yaml_reader *r, struct json *ret)
{
    int documents = 0;
    for (;;) {
        yaml_event_t event;
        int status = next_event(r, &event);
        if (status < 0)
            return status;
        yaml_event_type_t type = event.type;
        if (type == YAML_DOCUMENT_START_EVENT && documents++ > 0)
            status = fail_at(r, event.start_mark, "a second document begins here");
        else if (type == YAML_SCALAR_EVENT || type == YAML_ALIAS_EVENT ||
                 type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT)
            status = read_node(r, &event, 0, ret);
        yaml_event_delete(&event);
        if (status < 0 || type == YAML_STREAM_END_EVENT)
            return status;
    }
}

static unsigned line_of(str text, size_t at)
{
    unsigned lines = 0;
    for (size_t i = 0; i < at; i++)
        lines += text.p[i] == '\n';
    return lines;
}

int yaml_parse(struct arena *a, str text, unsigned first_line, struct json **ret, struct err *e)
{
    if (text.n > YAML_BYTES_MAX)
        return err_set(e, -EINVAL, "line %u: more than %u KiB of YAML", first_line,
                       YAML_BYTES_MAX / 1024);
    size_t good = utf8_valid_prefix(text);
    if (good < text.n)
        return err_set(e, -EINVAL, "line %u: not valid UTF-8", line_of(text, good) + first_line);
    struct yaml_reader r = {.arena = a, .first_line = first_line, .e = e};
    if (!yaml_parser_initialize(&r.parser))
        return err_set(e, -ENOMEM, "cannot start the YAML parser");
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const yaml_char_t *)(text.p ? text.p : ""), text.n);
    struct json *v = json_new(a, JSON_NULL);
    int status = read_stream(&r, v);
    yaml_parser_delete(&r.parser);
    if (status == 0)
        *ret = v;
    return status;
}

static bool is_fence(str line)
{
    while (line.n > 3 &&
           (line.p[line.n - 1] == ' ' || line.p[line.n - 1] == '\t' || line.p[line.n - 1] == '\r'))
        line.n--;
    return str_eq(line, STR("---"));
}

/* Moves *rest behind the next fence. Returns what was in front of it, p == NULL if there is
 * none. */
static str take_until_fence(str *rest)
{
    str all = *rest, line;
    for (size_t at = 0; str_split(rest, '\n', &line); at = all.n - rest->n)
        if (is_fence(line))
            return str_slice(all, 0, at);
    return STR_NONE;
}

int yaml_frontmatter(struct arena *a, str text, struct json **ret_meta, str *ret_body,
                     struct err *e)
{
    if (str_starts(text, STR("\xef\xbb\xbf")))
        text = str_skip(text, 3);
    str rest = text, line = STR_NONE;
    if (!str_split(&rest, '\n', &line) || !is_fence(line)) {
        *ret_meta = NULL;
        *ret_body = text;
        return 0;
    }
    str yaml = take_until_fence(&rest);
    if (!yaml.p)
        return err_set(e, -EINVAL, "line 1: the frontmatter that begins here has no closing ---");
    struct json *meta = NULL;
    int status = yaml_parse(a, yaml, 2, &meta, e);
    if (status < 0)
        return status;
    if (meta->type == JSON_NULL)
        *meta = (struct json){.type = JSON_OBJECT};
    if (meta->type != JSON_OBJECT)
        return err_set(e, -EINVAL, "line 2: the frontmatter must be a mapping (key: value)");
    *ret_meta = meta;
    *ret_body = rest;
    return 0;
}
