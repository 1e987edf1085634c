#include "attach/sniff.h"

#include "base/utf8.h"

struct type_mark {
    unsigned at;
    str bytes;
    unsigned then_at; /* a second mark; 0 = none */
    str then;
    const char *mime;
};

#define BYTES(lit) STR_INIT(lit)

static const struct type_mark MARKS[] = {
    {0, BYTES("\x89PNG\r\n\x1a\n"), 0, {0}, "image/png"},
    {0, BYTES("\xff\xd8\xff"), 0, {0}, "image/jpeg"},
    {0, BYTES("GIF87a"), 0, {0}, "image/gif"},
    {0, BYTES("GIF89a"), 0, {0}, "image/gif"},
    {0, BYTES("RIFF"), 8, BYTES("WEBP"), "image/webp"},
    {0, BYTES("RIFF"), 8, BYTES("WAVE"), "audio/wav"},
    {0, BYTES("%PDF-"), 0, {0}, "application/pdf"},
    {0, BYTES("PK\x03\x04"), 0, {0}, "application/zip"},
    {0, BYTES("\x1f\x8b"), 0, {0}, "application/gzip"},
    {0, BYTES("OggS"), 0, {0}, "audio/ogg"},
    {0, BYTES("fLaC"), 0, {0}, "audio/flac"},
    {0, BYTES("ID3"), 0, {0}, "audio/mpeg"},
    {0, BYTES("\xff\xfb"), 0, {0}, "audio/mpeg"},
    {4, BYTES("ftypM4A"), 0, {0}, "audio/mp4"},
    {4, BYTES("ftyp"), 0, {0}, "video/mp4"},
    {0, BYTES("\x1a\x45\xdf\xa3"), 0, {0}, "video/webm"},
};

static bool has(str head, unsigned at, str bytes)
{
    return str_starts(str_skip(head, at), bytes);
}

/* The last character may be cut by the end of the head. */
static bool is_text(str head)
{
    size_t valid = utf8_valid_prefix(head);
    if (valid < head.n && (head.n < SNIFF_BYTES || head.n - valid > 3))
        return false;
    for (size_t i = 0; i < valid; i++) {
        unsigned char c = (unsigned char)head.p[i];
        if ((c < 0x20 && !strchr("\t\n\r\f\x1b", c)) || c == 0 || c == 0x7f)
            return false;
    }
    return true;
}

const char *sniff_type(str head)
{
    head = str_slice(head, 0, SNIFF_BYTES);
    for (size_t i = 0; i < ARRAY_LEN(MARKS); i++) {
        const struct type_mark *m = &MARKS[i];
        if (has(head, m->at, m->bytes) && (m->then_at == 0 || has(head, m->then_at, m->then)))
            return m->mime;
    }
    return is_text(head) ? "text/plain" : "application/octet-stream";
}

const char *sniff_known(str mime)
{
    for (size_t i = 0; i < ARRAY_LEN(MARKS); i++)
        if (str_eq(mime, str_from(MARKS[i].mime)))
            return MARKS[i].mime;
    return sniff_is_text(mime) ? "text/plain" : "application/octet-stream";
}

const char *sniff_part(str mime)
{
    return str_starts(mime, STR("image/"))   ? "image"
           : str_starts(mime, STR("audio/")) ? "audio"
                                             : "file";
}

bool sniff_is_text(str mime)
{
    return str_eq(mime, STR("text/plain"));
}

static uint32_t big(str s, size_t at, size_t n)
{
    uint32_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = v << 8 | (unsigned char)s.p[at + i];
    return v;
}

static uint32_t little(str s, size_t at, size_t n)
{
    uint32_t v = 0;
    for (size_t i = n; i-- > 0;)
        v = v << 8 | (unsigned char)s.p[at + i];
    return v;
}

/* The frame header of a JPEG is behind segments of any number. */
static bool jpeg_size(str s, uint32_t *w, uint32_t *h)
{
    size_t at = 2;
    while (at + 9 < s.n && (unsigned char)s.p[at] == 0xff) {
        unsigned kind = (unsigned char)s.p[at + 1];
        bool is_frame =
            kind >= 0xc0 && kind <= 0xcf && kind != 0xc4 && kind != 0xc8 && kind != 0xcc;
        if (is_frame) {
            *h = big(s, at + 5, 2);
            *w = big(s, at + 7, 2);
            return true;
        }
        at += 2 + big(s, at + 2, 2);
    }
    return false;
}

static bool webp_size(str s, uint32_t *w, uint32_t *h)
{
    if (s.n < 30)
        return false;
    if (has(s, 12, STR("VP8X"))) {
        *w = little(s, 24, 3) + 1;
        *h = little(s, 27, 3) + 1;
    } else if (has(s, 12, STR("VP8 "))) {
        *w = little(s, 26, 2) & 0x3fff;
        *h = little(s, 28, 2) & 0x3fff;
    } else if (has(s, 12, STR("VP8L"))) {
        uint32_t bits = little(s, 21, 4);
        *w = (bits & 0x3fff) + 1;
        *h = (bits >> 14 & 0x3fff) + 1;
    } else {
        return false;
    }
    return true;
}

bool sniff_size(str head, uint32_t *ret_width, uint32_t *ret_height)
{
    str mime = str_from(sniff_type(head));
    if (str_eq(mime, STR("image/png")) && head.n >= 24) {
        *ret_width = big(head, 16, 4);
        *ret_height = big(head, 20, 4);
        return true;
    }
    if (str_eq(mime, STR("image/gif")) && head.n >= 10) {
        *ret_width = little(head, 6, 2);
        *ret_height = little(head, 8, 2);
        return true;
    }
    if (str_eq(mime, STR("image/jpeg")))
        return jpeg_size(head, ret_width, ret_height);
    return str_eq(mime, STR("image/webp")) && webp_size(head, ret_width, ret_height);
}
