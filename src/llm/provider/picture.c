#include "base/bytes/base64.h"
#include "llm/provider/normalise.h"

#define HEAD_CHARS 16 /* of base64: twelve bytes, enough for every signature below */

static const struct {
    str mime;
    size_t at;
    str magic;
} KINDS[] = {
    {STR_INIT("image/png"), 0, STR_INIT("\x89PNG\r\n\x1a\n")},
    {STR_INIT("image/jpeg"), 0, STR_INIT("\xff\xd8\xff")},
    {STR_INIT("image/gif"), 0, STR_INIT("GIF8")},
    {STR_INIT("image/webp"), 8, STR_INIT("WEBP")},
};

static bool is_base64(str s)
{
    size_t n = s.n;
    while (n > 0 && s.n - n < 2 && s.p[n - 1] == '=')
        n--;
    for (size_t i = 0; i < n; i++) {
        char c = s.p[i];
        bool is_letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!is_letter && !(c >= '0' && c <= '9') && c != '+' && c != '/')
            return false;
    }
    return s.n > 0 && s.n % 4 == 0;
}

static str mime_of(str bytes)
{
    for (size_t i = 0; i < ARRAY_LEN(KINDS); i++)
        if (bytes.n >= KINDS[i].at && str_starts(str_skip(bytes, KINDS[i].at), KINDS[i].magic))
            return KINDS[i].mime;
    return STR_NONE;
}

str picture_mime(str base64, const char **ret_problem)
{
    struct buf head;
    str mime = STR_NONE;
    if (base64.n > PICTURE_BASE64_MAX) {
        *ret_problem = "it is too large";
        return STR_NONE;
    }
    *ret_problem = "it is not a PNG, JPEG, GIF or WebP picture";
    if (!is_base64(base64))
        return STR_NONE;
    buf_init(&head, HEAD_CHARS);
    if (base64_decode(&head, str_slice(base64, 0, HEAD_CHARS)) == 0)
        mime = mime_of(buf_str(&head));
    buf_done(&head);
    return mime;
}
