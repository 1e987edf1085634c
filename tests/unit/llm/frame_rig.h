/* frame_rig.h - frames of an AWS event stream, as a server writes them. */
#pragma once

#include "base/buf.h"

/* Bit by bit, as the definition says. */
static inline uint32_t rig_crc(str s)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < s.n * 8; i++) {
        uint32_t bit = (crc ^ (uint32_t)((uint8_t)s.p[i / 8] >> (i % 8))) & 1;
        crc = crc >> 1 ^ (bit ? 0xedb88320u : 0);
    }
    return ~crc;
}

static inline void rig_u32(struct buf *out, uint32_t v)
{
    char bytes[] = {(char)(v >> 24), (char)(v >> 16), (char)(v >> 8), (char)v};
    (void)buf_add_str(out, str_make(bytes, 4));
}

static inline void rig_header(struct buf *out, str name, str value)
{
    char head[] = {7, (char)(value.n >> 8), (char)value.n};
    (void)buf_add_char(out, (char)name.n);
    (void)buf_add_str(out, name);
    (void)buf_add_str(out, str_make(head, sizeof head));
    (void)buf_add_str(out, value);
}

static inline void rig_frame(struct buf *out, str headers, str payload)
{
    size_t begin = out->n;
    rig_u32(out, (uint32_t)(16 + headers.n + payload.n));
    rig_u32(out, (uint32_t)headers.n);
    rig_u32(out, rig_crc(str_skip(buf_str(out), begin)));
    (void)buf_add_str(out, headers);
    (void)buf_add_str(out, payload);
    rig_u32(out, rig_crc(str_skip(buf_str(out), begin)));
}

/* One with a type, the name of an event or an exception, and a payload. */
static inline void rig_event_frame(struct buf *out, str type, str name, str payload)
{
    struct buf h;
    buf_init(&h, 4096);
    rig_header(&h, STR(":message-type"), type);
    rig_header(&h, str_eq(type, STR("event")) ? STR(":event-type") : STR(":exception-type"), name);
    rig_header(&h, STR(":content-type"), STR("application/json"));
    rig_frame(out, buf_str(&h), payload);
    buf_done(&h);
}
