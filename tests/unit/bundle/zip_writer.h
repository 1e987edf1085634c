/* zip_writer.h - ZIP archives for tests, right or wrong on purpose. Entries are stored. */
#pragma once

#include "base/buf.h"

struct zip_test_entry {
    str name;
    str content;
    unsigned mode;          /* Unix mode with its type bits; 0 = not from Unix */
    uint32_t claimed_size;  /* uncompressed, when not 0 */
    uint16_t method, flags; /* 0 = stored, plain */
};

static void zip_u16(struct buf *b, unsigned v)
{
    char bytes[] = {(char)(v & 255), (char)(v >> 8 & 255)};
    buf_add(b, bytes, sizeof bytes);
}

static void zip_u32(struct buf *b, uint32_t v)
{
    zip_u16(b, v & 0xffff);
    zip_u16(b, v >> 16);
}

static uint32_t zip_crc(str s)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < s.n; i++) {
        crc ^= (unsigned char)s.p[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static void zip_common(struct buf *b, const struct zip_test_entry *t)
{
    zip_u16(b, t->flags);
    zip_u16(b, t->method);
    zip_u32(b, 0x5a210000); /* a date */
    zip_u32(b, zip_crc(t->content));
    zip_u32(b, (uint32_t)t->content.n);
    zip_u32(b, t->claimed_size ? t->claimed_size : (uint32_t)t->content.n);
    zip_u16(b, (unsigned)t->name.n);
    zip_u16(b, 0);
}

static void zip_write(struct buf *out, const struct zip_test_entry *all, size_t n)
{
    struct buf central;
    buf_init(&central, 64u << 20);
    for (size_t i = 0; i < n; i++) {
        const struct zip_test_entry *t = &all[i];
        uint32_t at = (uint32_t)out->n;
        zip_u32(out, 0x04034b50);
        zip_u16(out, 20);
        zip_common(out, t);
        buf_add_str(out, t->name);
        buf_add_str(out, t->content);
        zip_u32(&central, 0x02014b50);
        zip_u16(&central, t->mode ? 3 << 8 | 20 : 20);
        zip_u16(&central, 20);
        zip_common(&central, t);
        zip_u16(&central, 0); /* comment, disk, internal attributes */
        zip_u16(&central, 0);
        zip_u16(&central, 0);
        zip_u32(&central, t->mode << 16);
        zip_u32(&central, at);
        buf_add_str(&central, t->name);
    }
    uint32_t start = (uint32_t)out->n;
    buf_add_str(out, buf_str(&central));
    zip_u32(out, 0x06054b50);
    zip_u32(out, 0);
    zip_u16(out, (unsigned)n);
    zip_u16(out, (unsigned)n);
    zip_u32(out, (uint32_t)central.n);
    zip_u32(out, start);
    zip_u16(out, 0);
    buf_done(&central);
}
