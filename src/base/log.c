#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/text/log_scrub.h"
#include "base/utf8.h"

#define LINE_MAX_BYTES    (8u * 1024)
#define HEAD_MAX_BYTES    128u /* time, level and area, quoted */
#define ID_MAX_BYTES      64u
#define IDS_NAMES_BYTES   32u            /* the names of two ids, quoted */
#define MESSAGE_MAX_BYTES (1024u * 1024) /* before it is cut; scrubbing must see whole secrets */
#define SECRETS_MAX       64
#define SECRET_MIN_BYTES  8

static const char *const LEVELS[] = {"debug", "info", "warn", "error", "off"};

struct logger {
    enum log_level level;
    enum log_format format;
    log_sink sink;
    void *ctx;
    str *secrets; /* longest first: a secret may be the start of another */
    size_t secret_count;
};

struct logger *logger_new(enum log_level level, enum log_format format, log_sink sink, void *ctx)
{
    struct logger *l = xcalloc(1, sizeof(*l));
    l->level = level;
    l->format = format;
    l->sink = sink;
    l->ctx = ctx;
    return l;
}

void logger_free(struct logger *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->secret_count; i++) {
        explicit_bzero((char *)l->secrets[i].p, l->secrets[i].n);
        free((char *)l->secrets[i].p);
    }
    free(l->secrets);
    free(l);
}

void log_secret(struct logger *l, str secret)
{
    if (!l || secret.n < SECRET_MIN_BYTES)
        return;
    /* No ceiling: the operator sets these, and one left out would be printed. */
    l->secrets = xrealloc(l->secrets, (l->secret_count + 1) * sizeof(str));
    size_t at = l->secret_count++;
    for (; at > 0 && l->secrets[at - 1].n < secret.n; at--)
        l->secrets[at] = l->secrets[at - 1];
    l->secrets[at] = (str){str_dup(secret), secret.n};
}

bool log_enabled(const struct logger *l, enum log_level level)
{
    return l && level >= l->level && level < LOG_OFF;
}

/* One line of clean UTF-8: a message must not forge a second line or steer a terminal. */
static void flatten(struct buf *b)
{
    for (size_t i = 0; i < b->n; i++)
        if ((unsigned char)b->p[i] < 0x20 || b->p[i] == 0x7f)
            b->p[i] = ' ';
}

/* The longest prefix that takes at most `room` bytes once quotes and backslashes are
 * escaped for JSON. */
static str fit(str s, size_t room, bool escaped)
{
    size_t n = 0, cost = 0;
    for (; n < s.n; n++) {
        cost += escaped && (s.p[n] == '"' || s.p[n] == '\\') ? 2 : 1;
        if (cost > room)
            break;
    }
    return utf8_truncate(s, n);
}

struct log_line {
    const char *time;
    enum log_level level;
    const char *area;
    struct log_ids ids;
    str msg;
};

static void write_text_line(struct buf *line, const struct log_line *m)
{
    (void)buf_printf(line, "%s %-5s %s: ", m->time, LEVELS[m->level], m->area);
    (void)buf_add_str(line, m->msg);
    if (m->ids.request.n > 0)
        (void)buf_printf(line, " request=%.*s", STR_ARG(m->ids.request));
    if (m->ids.trace.n > 0)
        (void)buf_printf(line, " trace=%.*s", STR_ARG(m->ids.trace));
}

static void write_json(struct buf *line, const struct log_line *m)
{
    struct json_writer w;
    jw_init(&w, line);
    jw_object(&w);
    jw_kstr(&w, "ts", str_from(m->time));
    jw_kstr(&w, "level", str_from(LEVELS[m->level]));
    jw_kstr(&w, "area", str_from(m->area));
    jw_kstr(&w, "msg", m->msg);
    jw_kstr_if(&w, "requestId", m->ids.request);
    jw_kstr_if(&w, "traceId", m->ids.trace);
    jw_end(&w);
}

static void log_emit(struct logger *l, struct log_line *m)
{
    char time[CLOCK_ISO_LEN + 1];
    clock_iso(clock_now_ms(), time);
    m->time = time;
    bool is_json = l->format == LOG_JSON;
    struct buf line;
    buf_init(&line, LINE_MAX_BYTES);
    size_t ids = m->ids.request.n + m->ids.trace.n;
    size_t head = HEAD_MAX_BYTES + ids + (ids > 0 ? IDS_NAMES_BYTES : 0);
    m->msg = fit(m->msg, LINE_MAX_BYTES - head, is_json);
    (is_json ? write_json : write_text_line)(&line, m);
    (void)buf_add_char(&line, '\n');
    if (!buf_failed(&line))
        l->sink(l->ctx, m->level, buf_str(&line));
    buf_done(&line);
}

/* Ids are made by nb, or were checked: what is not one is left out. */
static str plain_id(str id)
{
    for (size_t i = 0; i < id.n; i++)
        if ((unsigned char)id.p[i] <= ' ' || id.p[i] == '"' || id.p[i] == '\\' || id.p[i] > '~')
            return STR_NONE;
    return id.n <= ID_MAX_BYTES ? id : STR_NONE;
}

static void log_list(struct logger *l, struct log_line *m, const char *fmt, va_list ap)
{
    struct buf raw, scrubbed, clean;
    buf_init(&raw, MESSAGE_MAX_BYTES);
    buf_init(&scrubbed, 4 * MESSAGE_MAX_BYTES);
    buf_init(&clean, 4 * LINE_MAX_BYTES);
    if (buf_vprintf(&raw, fmt, ap) == 0) {
        log_scrub(&scrubbed, buf_str(&raw), l->secrets, l->secret_count);
        (void)utf8_sanitise(&clean, utf8_truncate(buf_str(&scrubbed), LINE_MAX_BYTES));
        flatten(&clean);
    } else {
        (void)buf_add_lit(&clean, "(a message of more than 1 MiB was dropped)");
    }
    m->msg = buf_str(&clean);
    log_emit(l, m);
    buf_done(&raw);
    buf_done(&scrubbed);
    buf_done(&clean);
}

void log_msg(struct logger *l, enum log_level level, const char *area, const char *fmt, ...)
{
    struct log_line m = {.level = level, .area = area};
    va_list ap;
    if (!log_enabled(l, level))
        return;
    va_start(ap, fmt);
    log_list(l, &m, fmt, ap);
    va_end(ap);
}

void log_msg_for(struct logger *l, enum log_level level, const char *area,
                 const struct log_ids *ids, const char *fmt, ...)
{
    struct log_line m = {.level = level, .area = area};
    va_list ap;
    if (!log_enabled(l, level))
        return;
    m.ids = (struct log_ids){plain_id(ids->request), plain_id(ids->trace)};
    va_start(ap, fmt);
    log_list(l, &m, fmt, ap);
    va_end(ap);
}

int log_level_parse(str name, enum log_level *ret)
{
    ptrdiff_t i = STR_INDEX(name, LEVELS);
    if (i < 0)
        return -EINVAL;
    *ret = (enum log_level)i;
    return 0;
}
