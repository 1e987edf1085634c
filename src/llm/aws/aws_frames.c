#include "llm/aws/aws_frames.h"

#include <assert.h>
#include <errno.h>

#define PRELUDE     12 /* two lengths and their checksum */
#define FRAME_MIN   16 /* with the checksum behind the payload */
#define TYPE_STRING 7

void aws_frames_init(struct aws_frames *r, size_t max_frame_bytes, aws_frame_fn fn, void *ctx)
{
    assert(max_frame_bytes >= FRAME_MIN);
    *r = (struct aws_frames){.max = max_frame_bytes, .on_frame = fn, .ctx = ctx};
    buf_init(&r->bytes, max_frame_bytes);
}

void aws_frames_done(struct aws_frames *r)
{
    buf_done(&r->bytes);
}

static uint32_t read_u32(const char *p)
{
    const uint8_t *b = (const uint8_t *)p;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* CRC-32 of IEEE 802.3, four bits at a time: frames are short. */
static uint32_t crc32_of(str s)
{
    static const uint32_t NIBBLES[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                         0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                         0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                         0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < s.n; i++) {
        crc ^= (uint8_t)s.p[i];
        crc = crc >> 4 ^ NIBBLES[crc & 15];
        crc = crc >> 4 ^ NIBBLES[crc & 15];
    }
    return ~crc;
}

/* Bytes of a header's value, by its type; -1 = no such type. */
static int value_size(uint8_t type)
{
    static const int8_t SIZES[] = {0, 0, 1, 2, 4, 8, -2, -2, 8, 16}; /* -2: a length comes first */
    return type < sizeof SIZES ? SIZES[type] : -1;
}

static bool take(str *from, size_t n, str *ret)
{
    if (from->n < n)
        return false;
    *ret = str_slice(*from, 0, n);
    *from = str_skip(*from, n);
    return true;
}

static bool take_header(str *from, str *ret_name, str *ret_value)
{
    str length, type;
    if (!take(from, 1, &length) || !take(from, (uint8_t)length.p[0], ret_name) ||
        !take(from, 1, &type))
        return false;
    int size = value_size((uint8_t)type.p[0]);
    if (size == -2) {
        if (!take(from, 2, &length))
            return false;
        size = (uint8_t)length.p[0] << 8 | (uint8_t)length.p[1];
    }
    bool is_fine = size >= 0 && take(from, (size_t)size, ret_value);
    if (is_fine && type.p[0] != TYPE_STRING)
        *ret_value = STR_NONE;
    return is_fine;
}

static bool read_headers(str headers, struct aws_frame *ret)
{
    while (headers.n > 0) {
        str name, value;
        if (!take_header(&headers, &name, &value))
            return false;
        if (str_eq(name, STR(":message-type")))
            ret->message_type = value;
        else if (str_eq(name, STR(":event-type")) || str_eq(name, STR(":exception-type")) ||
                 str_eq(name, STR(":error-code")))
            ret->name = value;
        else if (str_eq(name, STR(":error-message")))
            ret->payload = value;
    }
    return true;
}

/* The length of the frame that begins here; 0 = not known yet, or negative. */
static int64_t frame_length(const struct aws_frames *r, str s)
{
    if (s.n < PRELUDE)
        return 0;
    uint32_t total = read_u32(s.p), headers = read_u32(s.p + 4);
    if (read_u32(s.p + 8) != crc32_of(str_slice(s, 0, 8)) || total < FRAME_MIN ||
        headers > total - FRAME_MIN)
        return -EBADMSG;
    return total <= r->max ? (int64_t)total : -EMSGSIZE;
}

static int deliver(struct aws_frames *r, str frame)
{
    struct aws_frame f = {0};
    size_t headers = read_u32(frame.p + 4), end = frame.n - 4;
    if (read_u32(frame.p + end) != crc32_of(str_slice(frame, 0, end)) ||
        !read_headers(str_slice(frame, PRELUDE, PRELUDE + headers), &f))
        return -EBADMSG;
    if (f.payload.n == 0)
        f.payload = str_slice(frame, PRELUDE + headers, end);
    r->on_frame(r->ctx, &f);
    return 0;
}

/* Delivers the frames that are complete; the rest stays. */
static int drain(struct aws_frames *r, str *s)
{
    int64_t n;
    while ((n = frame_length(r, *s)) > 0 && s->n >= (size_t)n) {
        int rc = deliver(r, str_slice(*s, 0, (size_t)n));
        if (rc < 0)
            return rc;
        *s = str_skip(*s, (size_t)n);
    }
    return n < 0 ? (int)n : 0;
}

/* One frame is collected at a time, so that the buffer never holds more than `max`. */
int aws_frames_feed(struct aws_frames *r, str bytes)
{
    int rc = r->has_failed ? -EBADMSG : 0;
    while (rc == 0 && bytes.n > 0) {
        int64_t length = frame_length(r, buf_str(&r->bytes));
        size_t want = length > 0 ? (size_t)length : PRELUDE;
        str part, whole;
        (void)take(&bytes, bytes.n < want - r->bytes.n ? bytes.n : want - r->bytes.n, &part);
        (void)buf_add_str(&r->bytes, part);
        whole = buf_str(&r->bytes);
        rc = drain(r, &whole);
        if (rc == 0 && whole.n == 0)
            buf_clear(&r->bytes);
    }
    r->has_failed = rc < 0;
    return rc;
}
