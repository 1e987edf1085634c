#include "store/event/parts.h"

#include <assert.h>

#include "attach/library.h"
#include "base/utf8.h"

enum { WORDS_MAX = 4096, WORD_MAX = 512, TYPE_MAX = 32, VALUE_MEMBERS_MAX = 16 };

struct outline {
    struct json_writer *w;
    const struct parts_form *form;
    size_t text_left, words_left;
};

/* ---- blocks ---- */

static const struct json *inside(const struct json *block)
{
    const struct json *resource = json_get(block, "resource");
    return json_is(resource, JSON_OBJECT) ? resource : block;
}

str parts_base64(const struct json *block)
{
    const struct json *in = inside(block);
    return json_get_string(in, in == block ? "data" : "blob");
}

str parts_text(const struct json *block)
{
    return json_get_string(inside(block), "text");
}

str parts_mime(const struct json *block)
{
    return json_get_string(inside(block), "mimeType");
}

size_t parts_decoded_size(str base64)
{
    size_t n = base64.n;
    while (n > 0 && base64.p[n - 1] == '=')
        n--;
    return n / 4 * 3 + (n % 4 > 0 ? n % 4 - 1 : 0);
}

const char *parts_shown_type(str mime)
{
    static const char *const SHOWN[] = {"image/png", "image/jpeg",  "image/gif",  "image/webp",
                                        "audio/wav", "audio/x-wav", "audio/mpeg", "audio/mp4",
                                        "audio/ogg", "audio/webm",  "audio/aac",  "audio/flac"};
    ptrdiff_t i = STR_INDEX(mime, SHOWN);
    return i >= 0 ? SHOWN[i] : NULL;
}

static void add_label_word(struct buf *b, str word, size_t *n)
{
    if (word.n == 0)
        return;
    buf_add_lit(b, (*n)++ == 0 ? ": " : ", ");
    buf_add_str(b, utf8_truncate(word, WORD_MAX));
}

static void add_label_size(struct buf *b, int64_t bytes, size_t *n)
{
    char text[32];
    if (bytes <= 0)
        return;
    if (bytes < 1000)
        snprintf(text, sizeof text, "%lld bytes", (long long)bytes);
    else
        snprintf(text, sizeof text, "%lld kB", (long long)(bytes / 1000));
    add_label_word(b, str_from(text), n);
}

str parts_label(struct arena *a, const struct json *part)
{
    const struct json *in = inside(part);
    str type = json_get_string(part, "type"), base64 = parts_base64(part);
    struct buf b;
    size_t n = 0;
    if (type.n == 0 || str_eq(type, STR("text")) || str_eq(type, STR("structured")))
        return STR_NONE;
    buf_init(&b, 4096);
    buf_add_char(&b, '[');
    buf_add_str(&b, utf8_truncate(type, TYPE_MAX));
    add_label_word(&b, json_get_string(in, "title"), &n);
    add_label_word(&b, json_get_string(in, "uri"), &n);
    add_label_word(&b, json_get_string(in, "mimeType"), &n);
    int64_t said = json_get_int(in, "size", json_get_int(part, "bytes", 0));
    add_label_size(&b, base64.n > 0 ? (int64_t)parts_decoded_size(base64) : said, &n);
    buf_add_char(&b, ']');
    return buf_keep(&b, a);
}

const struct json *parts_find(const struct json *result, str name)
{
    uint64_t index;
    if (str_eq(name, STR("structured")))
        return json_get(result, "structuredContent");
    return parse_u64(name, &index) == 0 ? json_at(json_get(result, "content"), (size_t)index)
                                        : NULL;
}

bool parts_are_text(const struct json *result)
{
    const struct json *content = json_get(result, "content");
    bool is_text = !json_get(result, "$blob") && !json_get(result, "structuredContent");
    for (size_t i = 0; is_text && json_is(content, JSON_ARRAY) && i < content->len; i++)
        is_text = str_eq(json_get_string(&content->items[i], "type"), STR("text"));
    return is_text;
}

/* ---- writing ---- */

static void write_word(struct outline *o, const struct json *in, const char *key)
{
    str word = utf8_truncate(json_get_string(in, key),
                             o->words_left < WORD_MAX ? o->words_left : WORD_MAX);
    assert(word.n <= o->words_left);
    o->words_left -= word.n;
    jw_kstr_if(o->w, key, word);
}

/* The size says that there is more at the address. */
static void write_size(struct outline *o, size_t bytes, str name)
{
    char address[512];
    jw_kint(o->w, "bytes", (int64_t)bytes);
    int n = snprintf(address, sizeof address, "%.*s%.*s", STR_ARG(o->form->address), STR_ARG(name));
    if (o->form->address.n > 0 && n > 0 && (size_t)n < sizeof address)
        jw_kstr(o->w, "address", str_from(address));
}

/* A link to a file of the conversation gets the address of the file: the form's address is that of
 * a call in the same conversation. If the conversation does not have it, nothing is found there. */
static void write_file_address(struct outline *o, str uri)
{
    char address[512];
    str id = str_skip(uri, strlen(FILE_URI)), sha256;
    ptrdiff_t calls = str_find(o->form->address, STR("/calls/"), 0);
    if (!str_starts(uri, STR(FILE_URI)) || !library_id_sha(id, &sha256) || calls < 0)
        return;
    int n = snprintf(address, sizeof address, "%.*s/files/%.*s", (int)calls, o->form->address.p,
                     STR_ARG(id));
    if (n > 0 && (size_t)n < sizeof address)
        jw_kstr(o->w, "address", str_from(address));
}

static void write_part_text(struct outline *o, const struct json *text, str name)
{
    str kept = utf8_truncate(text->s, o->text_left);
    o->text_left -= kept.n;
    jw_kstr(o->w, "text", kept);
    if (kept.n < text->s.n)
        write_size(o, text->s.n, name);
}

static void write_block(struct outline *o, const struct json *block, str name)
{
    static const char *const WORDS[] = {"uri", "name", "title", "description", "mimeType"};
    const struct json *in = inside(block), *text = json_get(in, "text");
    str base64 = parts_base64(block);
    jw_object(o->w);
    jw_kstr(o->w, "type", utf8_truncate(json_get_string(block, "type"), TYPE_MAX));
    for (size_t i = 0; i < ARRAY_LEN(WORDS); i++)
        write_word(o, in, WORDS[i]);
    if (json_is(json_get(in, "size"), JSON_INT))
        jw_kint(o->w, "size", json_get_int(in, "size", 0));
    if (str_eq(json_get_string(block, "type"), STR("resource_link")))
        write_file_address(o, json_get_string(in, "uri"));
    else if (base64.n > 0)
        write_size(o, parts_decoded_size(base64), name);
    else if (json_is(text, JSON_STRING))
        write_part_text(o, text, name);
    jw_end(o->w);
}

static bool is_kept(const struct json *value)
{
    return value->type != JSON_ARRAY && value->type != JSON_OBJECT;
}

/* The members of an object that are not nested, with their texts cut: each gets an equal part of
 * the room that keys and numbers leave. Nothing is written if those alone are too long. */
static void write_abridged(struct outline *o, const struct json *value)
{
    size_t used = 0, ntexts = 0;
    uint32_t n = json_is(value, JSON_OBJECT) ? value->len : 0;
    n = n < VALUE_MEMBERS_MAX ? n : VALUE_MEMBERS_MAX;
    for (uint32_t i = 0; i < n; i++) {
        const struct json_member *m = &value->members[i];
        used += is_kept(&m->value) ? m->key.n : 0;
        used += m->value.type == JSON_NUMBER ? m->value.s.n : 0;
        ntexts += m->value.type == JSON_STRING;
    }
    if (n == 0 || used > o->form->value_max)
        return;
    size_t left = o->form->value_max - used;
    jw_kobject(o->w, "value");
    for (uint32_t i = 0; i < n; i++) {
        struct json cut = value->members[i].value;
        if (!is_kept(&cut))
            continue;
        if (cut.type == JSON_STRING) {
            assert(ntexts > 0);
            cut.s = utf8_truncate(cut.s, left / ntexts--);
            left -= cut.s.n;
        }
        jw_key_str(o->w, value->members[i].key);
        jw_value(o->w, &cut);
    }
    jw_end(o->w);
}

static void write_structured(struct outline *o, const struct json *value)
{
    struct buf whole;
    buf_init(&whole, 64u << 20);
    (void)json_write(&whole, value);
    jw_object(o->w);
    jw_kstr(o->w, "type", STR("structured"));
    if (whole.n <= o->form->value_max) {
        jw_kraw(o->w, "value", buf_str(&whole));
    } else {
        write_abridged(o, value);
        write_size(o, whole.n, STR("structured"));
    }
    jw_end(o->w);
    buf_done(&whole);
}

/* Parts of a reference: they get addresses only. */
static void write_known(struct outline *o, const struct json *part, size_t index)
{
    char name[24];
    bool is_structured = str_eq(json_get_string(part, "type"), STR("structured"));
    snprintf(name, sizeof name, "%zu", index);
    jw_object(o->w);
    for (uint32_t i = 0; json_is(part, JSON_OBJECT) && i < part->len; i++) {
        const struct json_member *m = &part->members[i];
        if (str_eq(m->key, STR("bytes")) || str_eq(m->key, STR("address")))
            continue;
        jw_key_str(o->w, m->key);
        jw_value(o->w, &m->value);
    }
    if (json_get(part, "bytes"))
        write_size(o, (size_t)json_get_int(part, "bytes", 0),
                   is_structured ? STR("structured") : str_from(name));
    jw_end(o->w);
}

void parts_write(struct json_writer *w, const struct json *result, const struct parts_form *form)
{
    struct outline o = {w, form, form->text_max, WORDS_MAX};
    const struct json *known = json_get(result, "$blob") ? json_get(result, "parts") : NULL;
    const struct json *content = json_get(result, "content");
    const struct json *structured = json_get(result, "structuredContent");
    jw_array(w);
    for (size_t i = 0; json_is(known, JSON_ARRAY) && i < known->len; i++)
        write_known(&o, &known->items[i], i);
    for (size_t i = 0; json_is(content, JSON_ARRAY) && i < content->len && i < PARTS_MAX; i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        write_block(&o, &content->items[i], str_from(name));
    }
    if (structured)
        write_structured(&o, structured);
    jw_end(w);
}
