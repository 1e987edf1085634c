#include "attach/file_name.h"

#include "base/bytes/base64.h"
#include "base/utf8.h"

enum { GIVEN_MAX = 16 * 1024 };

static bool is_shown(uint32_t cp)
{
    bool is_control = cp < 0x20 || (cp >= 0x7f && cp < 0xa0);
    bool turns = cp == 0x061c || (cp >= 0x200b && cp <= 0x200f) || (cp >= 0x2028 && cp <= 0x202e) ||
                 (cp >= 0x2060 && cp <= 0x206f) || cp == 0xfeff;
    return !is_control && !turns;
}

static str last_component(str s)
{
    size_t from = 0;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '/' || s.p[i] == '\\')
            from = i + 1;
    return str_skip(s, from);
}

static str without_dots(str s)
{
    while (s.n > 0 && strchr(" .", s.p[0]))
        s = str_skip(s, 1);
    while (s.n > 0 && strchr(" .", s.p[s.n - 1]))
        s = str_slice(s, 0, s.n - 1);
    return s;
}

str file_name_clean(struct arena *a, str given)
{
    struct buf valid, out;
    uint32_t cp;
    buf_init(&valid, GIVEN_MAX);
    buf_init(&out, GIVEN_MAX);
    (void)utf8_sanitise(&valid, str_slice(last_component(given), 0, GIVEN_MAX / 4));
    str rest = buf_str(&valid);
    for (size_t n; rest.n > 0 && (n = utf8_decode(rest, &cp)) > 0; rest = str_skip(rest, n))
        if (is_shown(cp))
            buf_add_str(&out, str_slice(rest, 0, n));
    str name = without_dots(utf8_truncate(without_dots(buf_str(&out)), FILE_NAME_MAX));
    name = name.n > 0 ? arena_str(a, name) : STR("file");
    buf_done(&valid);
    buf_done(&out);
    return name;
}

str file_name_decode(struct arena *a, str given)
{
    char *out = arena_alloc(a, given.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < given.n; i++) {
        int high = given.p[i] == '%' && i + 2 < given.n ? hex_digit(given.p[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(given.p[i + 2]) : -1;
        if (given.p[i] == '%' && low < 0)
            return given;
        out[n++] = low < 0 ? given.p[i] : (char)(high * 16 + low);
        i += low < 0 ? 0 : 2;
    }
    out[n] = '\0';
    return str_make(out, n);
}

static void add_encoded(struct buf *b, str name)
{
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                        (c >= 'A' && c <= 'Z') || (c && strchr("-._~", c));
        if (is_plain)
            buf_add_char(b, (char)c);
        else
            buf_printf(b, "%%%02X", c);
    }
}

str file_name_disposition(struct arena *a, str name)
{
    struct buf b;
    buf_init(&b, GIVEN_MAX);
    buf_add_lit(&b, "attachment; filename=\"");
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        buf_add_char(&b, c < 0x20 || c >= 0x7f || strchr("\"\\%", c) ? '_' : (char)c);
    }
    buf_add_lit(&b, "\"; filename*=UTF-8''");
    add_encoded(&b, name);
    return buf_keep(&b, a);
}
