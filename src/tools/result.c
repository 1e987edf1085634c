#include "tools/result.h"

#include "store/event/blobs.h"

#define TEXT_BYTES_MAX (64u << 20)

struct tool_result tool_result_text(struct arena *a, str text)
{
    struct json *content = json_new(a, JSON_ARRAY);
    struct json *block = json_push(a, content, *json_new(a, JSON_OBJECT));

    json_set(a, block, STR("type"), json_of_str(STR("text")));
    json_set(a, block, STR("text"), json_of_str(text));
    return (struct tool_result){.content = content};
}

struct tool_result tool_result_error(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct tool_result r = tool_result_text(a, arena_vprintf(a, fmt, ap));
    va_end(ap);
    r.is_error = r.is_absent = true;
    return r;
}

static struct json file_link(struct arena *a, const struct attached *f)
{
    struct json *link = json_new(a, JSON_OBJECT);
    json_set(a, link, STR("type"), json_of_str(STR("resource_link")));
    json_set(a, link, STR("uri"), json_of_str(arena_concat(a, STR(FILE_URI), f->id)));
    json_set(a, link, STR("name"), json_of_str(arena_str(a, f->name)));
    json_set(a, link, STR("mimeType"), json_of_str(arena_str(a, f->mime)));
    json_set(a, link, STR("size"), json_of_int((int64_t)f->bytes));
    return *link;
}

static struct json *longer_list(struct arena *a, const struct json *list)
{
    struct json *out = json_new(a, JSON_ARRAY);
    for (uint32_t i = 0; json_is(list, JSON_ARRAY) && i < list->len; i++)
        json_push(a, out, list->items[i]);
    return out;
}

void tool_result_add_file(struct arena *a, struct tool_result *r, const struct attached *f)
{
    struct json *content = longer_list(a, r->content), *files = longer_list(a, r->files);
    json_push(a, content, file_link(a, f));
    json_push(a, files, file_parts_make(a, f));
    r->content = content;
    r->files = files;
}

static size_t count_chars(str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

/* Recursion is bounded by the reader's JSON_DEPTH_MAX. */
static size_t value_chars(const struct json *v)
{
    if (!v)
        return 0;
    size_t n = 0;
    switch (v->type) {
    case JSON_STRING:
    case JSON_NUMBER:
        return count_chars(v->s);
    case JSON_ARRAY:
        for (uint32_t i = 0; i < v->len; i++)
            n += value_chars(&v->items[i]);
        return n;
    case JSON_OBJECT:
        for (uint32_t i = 0; i < v->len; i++)
            n += count_chars(v->members[i].key) + value_chars(&v->members[i].value);
        return n;
    default:
        return 1;
    }
}

size_t tool_result_chars(const struct tool_result *r)
{
    return value_chars(r->content) + value_chars(r->structured) + value_chars(r->meta);
}

str tool_result_to_text(struct arena *a, const struct tool_result *r)
{
    struct buf out;
    buf_init(&out, TEXT_BYTES_MAX);
    for (size_t i = 0; i < (r->content ? r->content->len : 0); i++) {
        const struct json *text = json_get(json_at(r->content, i), "text");
        if (!json_is(text, JSON_STRING))
            continue;
        if (out.n > 0)
            buf_add_char(&out, '\n');
        buf_add_str(&out, text->s);
    }
    return buf_keep(&out, a);
}
