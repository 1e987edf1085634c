#include "net/sse_parse.h"

#include <errno.h>

/* Longest field name with its colon and space, so that max_event_bytes counts data alone. */
#define FIELD_NAME_ROOM 8

/* A buffer that grew beyond this for one large event gives its memory back afterwards. */
#define KEEP_BYTES (64u * 1024)

struct sse_field {
    str name;
    void (*take)(struct sse_parser *p, str value);
};

static void set_name(struct sse_parser *p, struct buf *b, str value)
{
    buf_clear(b);
    if (buf_add_str(b, value) < 0)
        p->failed = true;
}

static void take_data(struct sse_parser *p, str value)
{
    if (p->has_data)
        (void)buf_add_char(&p->data, '\n');
    (void)buf_add_str(&p->data, value);
    p->has_data = true;
    if (buf_failed(&p->data))
        p->failed = true;
}

static void take_event(struct sse_parser *p, str value)
{
    set_name(p, &p->event, value);
}

static void take_id(struct sse_parser *p, str value)
{
    if (str_find_char(value, '\0') >= 0) /* the standard ignores such an id */
        return;
    set_name(p, &p->id, value);
    p->has_field = true;
}

static void take_retry(struct sse_parser *p, str value)
{
    uint64_t ms;
    if (parse_u64(value, &ms) < 0 || ms > INT64_MAX)
        return;
    p->retry_ms = (int64_t)ms;
    p->has_field = true;
}

static const struct sse_field FIELDS[] = {
    {STR_INIT("data"), take_data},
    {STR_INIT("event"), take_event},
    {STR_INIT("id"), take_id},
    {STR_INIT("retry"), take_retry},
};

static void drop_block(struct sse_parser *p)
{
    if (p->data.cap > KEEP_BYTES)
        buf_reset(&p->data);
    else
        buf_clear(&p->data);
    buf_clear(&p->event);
    p->has_data = p->has_field = false;
}

static void sse_dispatch(struct sse_parser *p)
{
    if (p->has_data || (p->wants_empty && p->has_field)) {
        struct sse_event ev = {
            .event = p->event.n > 0 ? buf_str(&p->event) : STR("message"),
            .data = buf_str(&p->data),
            .id = buf_str(&p->id),
            .retry_ms = p->retry_ms,
        };
        p->on_event(p->ctx, &ev);
        p->retry_ms = -1;
    }
    drop_block(p);
}

static void take_line(struct sse_parser *p, str line)
{
    if (p->at_start && str_starts(line, STR("\xEF\xBB\xBF")))
        line = str_skip(line, 3);
    p->at_start = false;
    if (line.n == 0) {
        sse_dispatch(p);
        return;
    }
    ptrdiff_t colon = str_find_char(line, ':');
    str name = colon < 0 ? line : str_slice(line, 0, (size_t)colon);
    str value = colon < 0 ? STR_NONE : str_skip(line, (size_t)colon + 1);
    if (value.n > 0 && value.p[0] == ' ')
        value = str_skip(value, 1);
    for (size_t i = 0; i < ARRAY_LEN(FIELDS); i++) {
        if (str_eq(name, FIELDS[i].name)) {
            FIELDS[i].take(p, value);
            return;
        }
    }
}

/* Ends a line with `tail`, the part of it that lies in the current chunk. */
static void end_line(struct sse_parser *p, str tail)
{
    if (p->line.n == 0 && tail.n <= p->line.max) {
        take_line(p, tail);
        return;
    }
    if (buf_add_str(&p->line, tail) < 0) {
        p->failed = true;
        return;
    }
    take_line(p, buf_str(&p->line));
    if (p->line.cap > KEEP_BYTES)
        buf_reset(&p->line);
    else
        buf_clear(&p->line);
}

/* Finds line ends in one chunk. The next LF is remembered, so that a chunk of short lines
 * that end in CR is not searched to its end for each of them. */
struct sse_scanner {
    const char *at, *end;
    const char *lf; /* next LF at or after `at`; `end` when there is none */
};

static const char *find_or(const char *from, const char *end, char c)
{
    const char *hit = from < end ? memchr(from, c, (size_t)(end - from)) : NULL;
    return hit ? hit : end;
}

static const char *find_line_end(struct sse_scanner *s)
{
    if (s->lf < s->at)
        s->lf = find_or(s->at, s->end, '\n');
    return find_or(s->at, s->lf, '\r');
}

void sse_parser_init(struct sse_parser *p, size_t max_event_bytes, sse_event_fn fn, void *ctx)
{
    *p = (struct sse_parser){.retry_ms = -1, .at_start = true, .on_event = fn, .ctx = ctx};
    buf_init(&p->line, max_event_bytes + FIELD_NAME_ROOM);
    buf_init(&p->data, max_event_bytes);
    buf_init(&p->event, SSE_NAME_MAX);
    buf_init(&p->id, SSE_NAME_MAX);
}

void sse_parser_done(struct sse_parser *p)
{
    buf_done(&p->line);
    buf_done(&p->data);
    buf_done(&p->event);
    buf_done(&p->id);
}

int sse_parser_feed(struct sse_parser *p, str bytes)
{
    if (bytes.n == 0)
        return p->failed ? -EMSGSIZE : 0;
    struct sse_scanner s = {.at = bytes.p, .end = bytes.p + bytes.n};
    s.lf = find_or(s.at, s.end, '\n');
    while (s.at < s.end && !p->failed) {
        if (p->after_cr && *s.at == '\n')
            s.at++;
        p->after_cr = false;
        const char *eol = find_line_end(&s);
        str part = {s.at, (size_t)(eol - s.at)};
        if (eol == s.end) {
            if (buf_add_str(&p->line, part) < 0)
                p->failed = true;
            break;
        }
        p->after_cr = *eol == '\r';
        s.at = eol + 1;
        end_line(p, part);
    }
    return p->failed ? -EMSGSIZE : 0;
}
