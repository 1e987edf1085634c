#include "media/helper/headers.h"

#define TAG_ORIENTATION 0x0112
#define TYPE_SHORT      3
#define ENTRY_BYTES     12
#define FRAME_HEAD      16 /* of an ANMF chunk, before the chunks of the frame */

/* n bytes as a number; 0 behind the end. */
static uint32_t number(str s, size_t at, size_t n, bool is_little)
{
    uint32_t v = 0;
    if (at > s.n || n > s.n - at)
        return 0;
    for (size_t i = 0; i < n; i++)
        v = v << 8 | (unsigned char)s.p[is_little ? at + n - 1 - i : at + i];
    return v;
}

/* The first directory of a TIFF has the orientation of the picture. */
static unsigned tiff_orientation(str tiff)
{
    bool is_little = str_starts(tiff, STR("II*\0"));
    if (!is_little && !str_starts(tiff, STR("MM\0*")))
        return 1;
    size_t at = number(tiff, 4, 4, is_little);
    size_t n = number(tiff, at, 2, is_little);
    for (size_t i = 0; i < n && at + 2 + (i + 1) * ENTRY_BYTES <= tiff.n; i++) {
        size_t entry = at + 2 + i * ENTRY_BYTES;
        if (number(tiff, entry, 2, is_little) != TAG_ORIENTATION ||
            number(tiff, entry + 2, 2, is_little) != TYPE_SHORT)
            continue;
        unsigned v = number(tiff, entry + 8, 2, is_little);
        return v >= 1 && v <= 8 ? v : 1;
    }
    return 1;
}

/* Segments before the image data: FF, marker, length with itself. */
static str jpeg_exif(str file)
{
    size_t at = 2;
    while (at + 4 <= file.n && (unsigned char)file.p[at] == 0xff) {
        unsigned marker = (unsigned char)file.p[at + 1];
        size_t length = number(file, at + 2, 2, false);
        str body = str_slice(file, at + 4, at + 2 + length);
        if (marker == 0xe1 && length >= 8 && str_starts(body, STR("Exif\0\0")))
            return str_skip(body, 6);
        if (marker == 0xda || length < 2)
            break;
        at += 2 + length;
    }
    return STR_NONE;
}

static str png_exif(str file)
{
    size_t at = 8;
    while (at + 8 <= file.n) {
        size_t length = number(file, at, 4, false);
        str kind = str_slice(file, at + 4, at + 8);
        if (str_eq(kind, STR("eXIf")))
            return str_slice(file, at + 8, at + 8 + length);
        if (str_eq(kind, STR("IEND")) || length > file.n)
            break;
        at += 12 + length;
    }
    return STR_NONE;
}

/* The content of the first chunk of this kind in a RIFF file. */
static str webp_chunk(str file, str kind)
{
    size_t at = 12;
    while (at + 8 <= file.n) {
        size_t length = number(file, at + 4, 4, true);
        if (str_eq(str_slice(file, at, at + 4), kind))
            return str_slice(file, at + 8, at + 8 + length);
        if (length > file.n)
            break;
        at += 8 + length + (length & 1);
    }
    return STR_NONE;
}

unsigned headers_orientation(str file)
{
    if (str_starts(file, STR("\xff\xd8")))
        return tiff_orientation(jpeg_exif(file));
    if (str_starts(file, STR("\x89PNG")))
        return tiff_orientation(png_exif(file));
    if (!str_starts(file, STR("RIFF")))
        return 1;
    str exif = webp_chunk(file, STR("EXIF"));
    return tiff_orientation(str_starts(exif, STR("Exif\0\0")) ? str_skip(exif, 6) : exif);
}

str headers_webp_frame(str file)
{
    str frame = webp_chunk(file, STR("ANMF"));
    return frame.n > FRAME_HEAD ? str_skip(frame, FRAME_HEAD) : file;
}
