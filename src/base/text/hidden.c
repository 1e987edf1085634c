#include "base/text/hidden.h"

#include "base/utf8.h"

#define REPLACEMENT     0xfffd
#define JOINER          0x200d
#define EMOJI_STYLE     0xfe0f
#define FIRST_SYMBOL    0x2190 /* arrows, dingbats, emoji: from here on */
#define SHOWN_BYTES_MAX 10     /* of one character: \u{10FFFF} */

struct hidden_range {
    uint32_t first, last;
};

bool hidden_is(uint32_t cp)
{
    static const struct hidden_range RANGES[] = {
        {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f}, {0x061c, 0x061c},
        {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f}, {0x200b, 0x200f},
        {0x2028, 0x202e},   {0x2060, 0x206f},   {0x3164, 0x3164}, {0xfe00, 0xfe0f},
        {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3},
        {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
    };
    if (cp < 0x20)
        return cp != '\n' && cp != '\t';
    for (size_t i = 0; cp >= RANGES[0].first && i < ARRAY_LEN(RANGES); i++)
        if (cp >= RANGES[i].first && cp <= RANGES[i].last)
            return true;
    return false;
}

/* One character off the front of `rest`, and whether it is hidden where it stands. */
static uint32_t hidden_take_char(str *rest, uint32_t *before, bool *ret_is_hidden)
{
    uint32_t cp = REPLACEMENT;
    size_t n = utf8_decode(*rest, &cp);
    *rest = str_skip(*rest, n ? n : 1);
    bool is_emoji_part = (cp == EMOJI_STYLE && *before != EMOJI_STYLE && *before != JOINER) ||
                         (cp == JOINER && *before != JOINER);
    *ret_is_hidden = hidden_is(cp) && !(is_emoji_part && *before >= FIRST_SYMBOL);
    *before = cp;
    return n ? cp : REPLACEMENT;
}

bool hidden_in(str text)
{
    uint32_t before = 0;
    bool is_hidden = !utf8_valid(text);
    while (!is_hidden && text.n > 0) {
        /* Most text is ASCII: nothing to decode. */
        unsigned char c = (unsigned char)text.p[0];
        if (c >= 0x20 && c < 0x7f) {
            text = str_skip(text, 1);
            before = c;
            continue;
        }
        (void)hidden_take_char(&text, &before, &is_hidden);
    }
    return is_hidden;
}

str hidden_strip(struct arena *a, str text)
{
    struct buf out;
    uint32_t before = 0;
    bool is_hidden;
    if (!hidden_in(text))
        return text;
    buf_init(&out, 3 * text.n + 8);
    while (text.n > 0) {
        uint32_t cp = hidden_take_char(&text, &before, &is_hidden);
        if (!is_hidden)
            (void)utf8_encode(&out, cp);
    }
    return buf_keep(&out, a);
}

str hidden_show(struct arena *a, str text)
{
    struct buf out;
    uint32_t before = 0;
    bool is_hidden;
    if (!hidden_in(text))
        return text;
    buf_init(&out, SHOWN_BYTES_MAX * text.n + 8);
    while (text.n > 0) {
        uint32_t cp = hidden_take_char(&text, &before, &is_hidden);
        if (is_hidden)
            (void)buf_printf(&out, "\\u{%X}", cp);
        else
            (void)utf8_encode(&out, cp);
    }
    return buf_keep(&out, a);
}

bool hidden_in_json(const struct json *v, bool is_key)
{
    bool is_found = v && v->type == JSON_STRING && !is_key && hidden_in(v->s);
    if (json_is(v, JSON_ARRAY))
        for (size_t i = 0; !is_found && i < v->len; i++)
            is_found = hidden_in_json(json_at(v, i), is_key);
    if (json_is(v, JSON_OBJECT))
        for (size_t i = 0; !is_found && i < v->len; i++)
            is_found = (is_key && hidden_in(v->members[i].key)) ||
                       hidden_in_json(&v->members[i].value, is_key);
    return is_found;
}

static void strip_in_place(struct arena *a, struct json *v)
{
    if (v->type == JSON_STRING)
        v->s = hidden_strip(a, v->s);
    for (size_t i = 0; v->type == JSON_ARRAY && i < v->len; i++)
        strip_in_place(a, &v->items[i]);
    for (size_t i = 0; v->type == JSON_OBJECT && i < v->len; i++)
        strip_in_place(a, &v->members[i].value);
}

const struct json *hidden_strip_json(struct arena *a, const struct json *v)
{
    if (!hidden_in_json(v, false))
        return v;
    struct json *copy = json_clone(a, v);
    strip_in_place(a, copy);
    return copy;
}
